//! Real database servers in temporary folders, on free ports, as an unprivileged user.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use tempfile::TempDir;

use super::{Error, Target};

/// How long a server may take to answer after its start.
const START: Duration = Duration::from_secs(60);

/// A running server; stopped and removed with the value.
pub struct Server {
    process: Child,
    port: u16,
    target: Target,
    _folder: TempDir,
}

impl Server {
    /// Starts a server of this kind.
    pub fn start(target: Target) -> Result<Server, Error> {
        let folder = TempDir::new()?;
        let user = unprivileged()?;
        if let Some(user) = &user {
            chown(folder.path(), Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
        }
        let port = free_port()?;
        let data = folder.path().join("data");
        let mut command = match target {
            Target::Postgres => postgres(&data, port, user.as_ref())?,
            Target::Mariadb => mariadb(&data, port, user.as_ref())?,
            Target::Sqlite => return Err(Error::NoServer),
        };
        let log = fs::File::create(folder.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = as_user(&mut command, user.as_ref()).spawn()?;
        let mut server = Server { process, port, target, _folder: folder };
        server.await_answer()?;
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Its URL, through another port such as a proxy's.
    pub fn url(&self, port: u16) -> String {
        match self.target {
            Target::Mariadb => format!("mysql://root@127.0.0.1:{port}/test?ssl-mode=disabled"),
            _ => format!("postgres://retort@127.0.0.1:{port}/postgres?sslmode=disable"),
        }
    }

    /// The port it listens at itself.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn await_answer(&mut self) -> Result<(), Error> {
        let ends = Instant::now() + START;
        while Instant::now() < ends {
            if let Some(status) = self.process.try_wait()? {
                return Err(Error::Ended { server: self.target.name(), status: status.to_string() });
            }
            if std::net::TcpStream::connect(self.address()).is_ok() {
                // A server that is still recovering refuses the first sessions.
                thread::sleep(Duration::from_millis(500));
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(Error::Silent { server: self.target.name() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGTERM would wait for sessions; nothing of the folder is wanted any more.
        if let Ok(id) = i32::try_from(self.process.id()) {
            let _ = kill(Pid::from_raw(id), Signal::SIGQUIT);
        }
        thread::sleep(Duration::from_millis(200));
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn postgres(data: &Path, port: u16, user: Option<&User>) -> Result<Command, Error> {
    let missing = "PostgreSQL is not installed: apt-get install postgresql";
    let initdb = find("initdb", "/usr/lib/postgresql", missing)?;
    let mut init = Command::new(&initdb);
    init.args(["--username=retort", "--auth=trust", "--no-sync", "--encoding=UTF8", "--pgdata"]).arg(data);
    finish(as_user(&mut init, user), "initdb")?;
    let mut server = Command::new(initdb.with_file_name("postgres"));
    server.arg("-D").arg(data).args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
    server.args(["-c", "fsync=off", "-c", "max_connections=60", "-p", &port.to_string()]);
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
    server.args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"]);
    server.args(["--innodb-buffer-pool-size=64M", &format!("--port={port}")]);
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
    places.into_iter().find(|place| place.is_file()).ok_or(Error::Missing(missing))
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

fn free_port() -> Result<u16, Error> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
