//! Real database servers in temporary folders, on free ports, as an unprivileged user.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use tempfile::TempDir;

use super::{Error, Target, mongreldb};

/// How long a server may take to answer after its start.
pub const START: Duration = Duration::from_secs(60);
/// Where servers listen.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// A server; stopped and removed with the value.
pub struct Server {
    process: Mutex<Child>,
    command: Mutex<Command>,
    port: u16,
    target: Target,
    folder: TempDir,
}

impl Server {
    /// Starts a server of this kind.
    pub fn start(target: Target) -> Result<Server, Error> {
        let folder = TempDir::new()?;
        let user = unprivileged()?;
        give(folder.path(), user.as_ref())?;
        let port = free_port()?;
        let data = folder.path().join("data");
        let mut command = match target {
            Target::Postgres => postgres(&data, port, user.as_ref())?,
            Target::Mariadb => mariadb(&data, port, user.as_ref())?,
            Target::Mongreldb => mongreldb(&data, port)?,
            Target::Sqlite | Target::Mysql => return Err(Error::NoServer),
        };
        let log = fs::File::create(folder.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = as_user(&mut command, user.as_ref()).spawn()?;
        let (process, command) = (Mutex::new(process), Mutex::new(command));
        let server = Server { process, command, port, target, folder };
        server.await_port()?;
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// A folder that the server can write to.
    pub fn new_folder(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = self.folder.path().join(name);
        fs::create_dir(&folder)?;
        give(&folder, unprivileged()?.as_ref())?;
        Ok(folder)
    }

    /// Kills all processes of the server at once, as a lost machine would.
    pub fn kill(&self) {
        let mut process = locked(&self.process);
        let id = process.id();
        // Stopped first, so that it can neither fork nor tidy up while its children are listed.
        signal(id, Signal::SIGSTOP);
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            signal(child, Signal::SIGKILL);
        }
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Asks the server to end its sessions and itself, and waits for it.
    pub fn stop(&self) -> Result<(), Error> {
        let mut process = locked(&self.process);
        // PostgreSQL's SIGTERM waits for its clients to go; SIGINT ends their sessions.
        signal(process.id(), if self.target == Target::Postgres { Signal::SIGINT } else { Signal::SIGTERM });
        process.wait()?;
        Ok(())
    }

    /// Has it ended?
    pub fn has_ended(&self) -> bool {
        !matches!(locked(&self.process).try_wait(), Ok(None))
    }

    /// Starts it again, with the same data at the same port.
    pub fn start_again(&self) -> Result<(), Error> {
        let ends = Instant::now() + START;
        loop {
            *locked(&self.process) = locked(&self.command).spawn()?;
            match self.await_port() {
                // PostgreSQL refuses to start as long as one of its killed processes is not quite gone.
                Err(Error::Ended { .. }) if Instant::now() < ends => {
                    thread::sleep(Duration::from_millis(100))
                }
                started => return started,
            }
        }
    }

    fn await_port(&self) -> Result<(), Error> {
        let ends = Instant::now() + START;
        while Instant::now() < ends {
            if let Some(status) = locked(&self.process).try_wait()? {
                return Err(Error::Ended { server: self.target.name(), status: status.to_string() });
            }
            if std::net::TcpStream::connect(self.address()).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(Error::Silent { server: self.target.name() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing of the folder is wanted any more; PostgreSQL's SIGQUIT gives its shared memory back.
        signal(locked(&self.process).id(), Signal::SIGQUIT);
        let ends = Instant::now() + Duration::from_secs(5);
        while !self.has_ended() && Instant::now() < ends {
            thread::sleep(Duration::from_millis(20));
        }
        if !self.has_ended() {
            self.kill();
        }
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn signal(process: u32, signal: Signal) {
    if let Ok(id) = i32::try_from(process) {
        let _ = kill(Pid::from_raw(id), signal);
    }
}

fn give(folder: &Path, user: Option<&User>) -> std::io::Result<()> {
    user.map_or(Ok(()), |user| chown(folder, Some(user.uid.as_raw()), Some(user.gid.as_raw())))
}

fn postgres(data: &Path, port: u16, user: Option<&User>) -> Result<Command, Error> {
    let missing = "PostgreSQL is not installed: apt-get install postgresql";
    let initdb = find("initdb", "/usr/lib/postgresql", missing)?;
    let mut init = Command::new(&initdb);
    init.args(["--username=retort", "--auth=trust", "--no-sync", "--encoding=UTF8", "--pgdata"]).arg(data);
    finish(as_user(&mut init, user), "initdb")?;
    let mut server = Command::new(initdb.with_file_name("postgres"));
    server.arg("-D").arg(data).args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
    // What the kernel has is safe: processes are killed here, machines are not.
    server.args(["-c", "fsync=off", "-c", "max_connections=60", "-c", "deadlock_timeout=50ms"]);
    server.args(["-p", &port.to_string()]);
    Ok(server)
}

fn mariadb(data: &Path, port: u16, user: Option<&User>) -> Result<Command, Error> {
    let missing = "MariaDB is not installed: apt-get install mariadb-server";
    let install = find("mariadb-install-db", "/usr/bin", missing)?;
    let mut init = Command::new(install);
    init.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
    init.args(["--auth-root-authentication-method=normal", "--skip-name-resolve"]);
    finish(as_user(&mut init, user), "mariadb-install-db")?;
    let mut server = Command::new(find("mariadbd", "/usr/sbin", missing)?);
    server.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
    server.arg(format!("--socket={}", data.join("socket").display()));
    server.args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=2"]);
    server.args(["--innodb-buffer-pool-size=64M", "--max-connections=60", &format!("--port={port}")]);
    Ok(server)
}

fn mongreldb(data: &Path, port: u16) -> Result<Command, Error> {
    let missing = "MongrelDB is not installed: make target/tools/bin/mongreldb-server";
    let mut server = Command::new(find("mongreldb-server", "target/tools/bin", missing)?);
    server.arg(data).args(["--port", &port.to_string()]).args(mongreldb::ARGUMENTS);
    Ok(server)
}

fn finish(command: &mut Command, name: &'static str) -> Result<(), Error> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::Ended { server: name, status: output.status.to_string() }),
    }
}

/// A program in the search path, else in the folder or one level of folders below it (`VERSION/bin`), newest last.
fn find(program: &str, folder: &str, missing: &'static str) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|place| place.join(program));
    let mut below: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin").join(program))
        .collect();
    below.sort();
    let places = in_path.chain([Path::new(folder).join(program)]).chain(below.into_iter().rev());
    let found = places.into_iter().find(|place| place.is_file()).ok_or(Error::Missing(missing))?;
    // The server may run in another folder than the drill.
    Ok(std::path::absolute(found)?)
}

/// The user to be where the servers refuse root; `None` where the caller is no root anyway.
fn unprivileged() -> Result<Option<User>, Error> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let user = ["postgres", "nobody"].iter().find_map(|name| User::from_name(name).ok().flatten());
    user.map(Some).ok_or(Error::Missing("the servers refuse root, and there is no user nobody"))
}

fn as_user<'a>(command: &'a mut Command, user: Option<&User>) -> &'a mut Command {
    if let Some(user) = user {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw()).env("HOME", "/tmp").current_dir("/tmp");
    }
    command
}

/// A port that is free, below those that the system gives to connections: until the server listens nobody else gets it,
/// and no attempt to connect to it can meet itself there.
fn free_port() -> Result<u16, Error> {
    let mut ports = std::iter::repeat_with(|| fastrand::u16(PORTS)).take(100);
    let free = ports.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.ok_or(Error::Missing("there is no free port from 20000 to 29999"))
}
