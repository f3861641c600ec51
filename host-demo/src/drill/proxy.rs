//! A TCP proxy that knows where a protocol's messages end, and breaks connections at a chosen one.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Target;
use super::faults::{Fault, Faults};

/// How long a server gets to act on a message before its answer is thrown away with the connection.
const GRACE: Duration = Duration::from_millis(30);

/// The proxy; it ends with the value.
pub struct Proxy {
    faults: Faults,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Stands before the server.
    pub async fn start(server: SocketAddr, target: Target) -> std::io::Result<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let faults = Faults::default();
        let shared = faults.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let faults = shared.clone();
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        join(client, server, target, &faults).await;
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

/// Joins the two ends until one of them is done or the plan breaks them.
async fn join(client: TcpStream, server: TcpStream, target: Target, faults: &Faults) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let (muted, is_muted) = watch::channel(false);
    tokio::select! {
        () = forward(from_client, to_server, target, faults, muted) => (),
        () = answer(from_server, to_client, is_muted) => (),
    }
}

/// Client to server, message by message.
async fn forward(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    target: Target,
    faults: &Faults,
    muted: watch::Sender<bool>,
) {
    let mut buffer = Vec::new();
    let mut is_first = true;
    while client.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
        while let Some(length) = message(target, &buffer, is_first) {
            is_first = false;
            let message: Vec<u8> = buffer.drain(..length).collect();
            let fault = faults.judge(&message);
            if fault == Some(Fault::CutBefore) {
                return;
            }
            if matches!(fault, Some(Fault::CutAfter | Fault::BlackHole)) {
                muted.send_replace(true);
            }
            if server.write_all(&message).await.is_err() {
                return;
            }
            match fault {
                Some(Fault::CutAfter) => return tokio::time::sleep(GRACE).await,
                Some(Fault::CutAtOnce) => return,
                _ => (),
            }
        }
    }
}

/// Server to client; nothing once it is muted.
async fn answer(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, muted: watch::Receiver<bool>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = server.read(&mut buffer).await {
        if !*muted.borrow() && client.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// The length of the first whole message in the buffer.
fn message(target: Target, buffer: &[u8], is_first: bool) -> Option<usize> {
    let length = match (target, is_first) {
        // Three bytes of length, little-endian, and a sequence number.
        (Target::Mariadb, _) => match buffer {
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

fn big_endian(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| (number << 8) + usize::from(*byte))
}
