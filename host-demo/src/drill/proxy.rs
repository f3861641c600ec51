//! A TCP proxy that knows where a protocol's messages end, and breaks connections at a chosen one.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, block_in_place};
use tokio::time::timeout;

use super::Target;
use super::faults::{Fault, Faults, Judgement};
use super::upstream::Upstream;

/// How long the answer to the message that can have an effect is awaited, to be thrown away with the connection.
const ANSWER: Duration = Duration::from_secs(5);
/// The same for any other message: many have no answer of their own.
const GRACE: Duration = Duration::from_millis(30);

/// The proxy; it ends with the value.
pub struct Proxy {
    faults: Faults,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Stands before the server.
    pub async fn start(upstream: Arc<Upstream>) -> std::io::Result<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let faults = Faults::default();
        let shared = faults.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (upstream, faults) = (Arc::clone(&upstream), shared.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = TcpStream::connect(upstream.address()).await {
                        join(client, stream, &faults, &upstream).await;
                    }
                });
            }
        });
        Ok(Proxy { faults, address, task })
    }

    /// Where clients connect.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What is to break on its way.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What the two directions of a connection share.
struct Joint<'a> {
    faults: &'a Faults,
    muted: watch::Sender<bool>,
    /// The server has answered while it was muted.
    answered: Notify,
}

/// Joins the two ends until one of them is done or the plan breaks them.
async fn join(client: TcpStream, stream: TcpStream, faults: &Faults, upstream: &Upstream) {
    let _ = (client.set_nodelay(true), stream.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), stream.into_split());
    let joint = Joint { faults, muted: watch::Sender::new(false), answered: Notify::new() };
    tokio::select! {
        () = forward(from_client, to_server, &joint, upstream) => (),
        () = answer(from_server, to_client, &joint) => (),
    }
}

/// Client to server, message by message.
async fn forward(
    mut client: OwnedReadHalf,
    mut stream: OwnedWriteHalf,
    joint: &Joint<'_>,
    upstream: &Upstream,
) {
    let mut buffer = Vec::new();
    let mut is_first = true;
    while client.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
        while let Some(length) = message(upstream.target, &buffer, is_first) {
            is_first = false;
            let message: Vec<u8> = buffer.drain(..length).collect();
            let Judgement { fault, is_marked } = joint.faults.judge(&message);
            if fault == Some(Fault::CutBefore) {
                return;
            }
            if matches!(fault, Some(Fault::CutAfter | Fault::BlackHole)) {
                joint.muted.send_replace(true);
            }
            if send(&mut stream, &message, joint.faults).await.is_err() {
                return;
            }
            match fault {
                Some(Fault::CutAfter) => {
                    let patience = if is_marked { ANSWER } else { GRACE };
                    let _ = timeout(patience, joint.answered.notified()).await;
                    return;
                }
                Some(Fault::CutAtOnce) => return,
                Some(Fault::Kill) => {
                    upstream.own.iter().for_each(|server| block_in_place(|| server.kill()));
                }
                _ => (),
            }
        }
    }
}

/// Server to client; nothing once it is muted.
async fn answer(mut stream: OwnedReadHalf, mut client: OwnedWriteHalf, joint: &Joint<'_>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        if *joint.muted.borrow() {
            joint.answered.notify_one();
        } else if send(&mut client, &buffer[..read], joint.faults).await.is_err() {
            return;
        }
    }
}

/// Sends at the pace that the faults ask for.
async fn send(stream: &mut OwnedWriteHalf, bytes: &[u8], faults: &Faults) -> std::io::Result<()> {
    let mut bytes = bytes.iter();
    while let (Some(pace), Some(byte)) = (faults.pace(), bytes.as_slice().first()) {
        stream.write_u8(*byte).await?;
        bytes.next();
        tokio::time::sleep(pace).await;
    }
    stream.write_all(bytes.as_slice()).await
}

/// The length of the first whole message in the buffer.
fn message(target: Target, buffer: &[u8], is_first: bool) -> Option<usize> {
    let length = match (target, is_first) {
        (Target::Mongreldb, _) => http_request(buffer)?,
        // Three bytes of length, little-endian, and a sequence number.
        (Target::Mariadb | Target::Mysql, _) => match buffer {
            [low, middle, high, _, ..] => {
                usize::from(*low) + (usize::from(*middle) << 8) + (usize::from(*high) << 16) + 4
            }
            _ => return None,
        },
        // The start-up message has no type byte.
        (_, true) => big_endian(buffer.get(..4)?),
        (_, false) => big_endian(buffer.get(1..5)?) + 1,
    };
    (buffer.len() >= length).then_some(length)
}

/// The length of a request with its body, as soon as its head is there.
fn http_request(buffer: &[u8]) -> Option<usize> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(buffer).ok()? else { return None };
    let body = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let body = body.and_then(|header| std::str::from_utf8(header.value).ok()?.parse::<usize>().ok());
    Some(head + body.unwrap_or_default())
}

fn big_endian(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| (number << 8) + usize::from(*byte))
}
