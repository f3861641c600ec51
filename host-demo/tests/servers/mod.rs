//! Real servers for tests: started in a folder of their own, on sockets only they know, and stopped at the end.

#![allow(dead_code, reason = "every test file uses some of the servers")]

use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

/// A server that is stopped when it goes out of scope.
pub struct Server {
    process: Child,
    folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to be done about a failure here.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// The folder of the server's sockets and data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The program, from the search path or from Debian's folders of versions.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(program));
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    on_path
        .chain(versions.map(|version| version.path().join("bin").join(program)))
        .find(|file| file.is_file())
}

/// Says why a test did not run, and gives no server.
fn skipped(program: &str) -> Option<Server> {
    eprintln!("SKIPPED: there is no {program} here; install it to run this test");
    None
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("retort-").tempdir().expect("a temporary folder can be made")
}

fn wait_until(what: &str, mut is_ready: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if is_ready() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("{what} did not start within a minute");
}

/// A server's socket is there a moment before the server listens on it.
fn takes_connections(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// Redis or Valkey, on a socket in its folder. `None` where neither is installed.
pub fn redis() -> Option<Server> {
    let Some(program) = find("redis-server").or_else(|| find("valkey-server")) else {
        return skipped("redis-server");
    };
    let folder = folder();
    let socket = redis_socket(folder.path());
    let process = Command::new(program)
        .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server starts");
    wait_until("redis-server", || takes_connections(&socket));
    Some(Server { process, folder })
}

/// Redis' socket in its server's folder.
pub fn redis_socket(folder: &Path) -> PathBuf {
    folder.join("redis.sock")
}

/// PostgreSQL, on a socket in its folder, for the user `postgres`. `None` where it is not installed.
pub fn postgres() -> Option<Server> {
    start_postgres(&["-c", "listen_addresses="])
}

/// The same, which also listens on this port, and asks for passwords there.
pub fn postgres_on(port: u16) -> Option<Server> {
    start_postgres(&["-c", "listen_addresses=127.0.0.1", "-p", &port.to_string()])
}

fn start_postgres(listens: &[&str]) -> Option<Server> {
    let (Some(initdb), Some(postgres)) = (find("initdb"), find("postgres")) else {
        return skipped("postgres");
    };
    let folder = folder();
    // PostgreSQL refuses to run as root.
    let user = nix::unistd::User::from_name("postgres").ok().flatten();
    let user = user.filter(|_| nix::unistd::geteuid().is_root());
    let as_user = |program: &Path| {
        let mut command = Command::new(program);
        if let Some(user) = &user {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    if let Some(user) = &user {
        std::os::unix::fs::chown(folder.path(), Some(user.uid.as_raw()), Some(user.gid.as_raw()))
            .expect("root may give a folder away");
    }
    let data = folder.path().join("data");
    let made = as_user(&initdb)
        .args([
            "--username",
            "postgres",
            "--auth-local",
            "trust",
            "--auth-host",
            "scram-sha-256",
            "--no-sync",
            "--pgdata",
        ])
        .arg(&data)
        .status()
        .expect("initdb runs");
    assert!(made.success(), "initdb makes a cluster");
    let process = as_user(&postgres)
        .arg("-D")
        .arg(&data)
        .args(listens)
        .args(["-c", "fsync=off", "-c"])
        .arg(format!("unix_socket_directories={}", folder.path().display()))
        .spawn()
        .expect("postgres starts");
    // It takes connections before it is ready to serve them.
    let state = data.join("postmaster.pid");
    wait_until("postgres", || std::fs::read_to_string(&state).is_ok_and(|state| state.contains("ready")));
    Some(Server { process, folder })
}

/// MariaDB, on a socket in its folder, for the user `root` without a password. `None` where it is not installed.
pub fn mariadb() -> Option<Server> {
    start_mariadb(&["--skip-networking"])
}

/// The same, which also listens on this port.
pub fn mariadb_on(port: u16) -> Option<Server> {
    start_mariadb(&["--bind-address=127.0.0.1", "--skip-name-resolve", &format!("--port={port}")])
}

/// A free port, below those that the system gives to connections: nobody else gets it until a server listens.
pub fn free_port() -> u16 {
    let mut ports = std::iter::repeat_with(|| fastrand::u16(10_000..20_000)).take(100);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port is free")
}

fn start_mariadb(listens: &[&str]) -> Option<Server> {
    let (Some(install), Some(mariadbd)) = (find("mariadb-install-db"), find_server("mariadbd")) else {
        return skipped("mariadbd");
    };
    let folder = folder();
    // MariaDB refuses to run as root unless it is told to be root.
    let user = nix::unistd::geteuid().is_root().then_some("--user=root");
    let data = format!("--datadir={}", folder.path().join("data").display());
    let made = Command::new(install)
        .args(["--no-defaults", &data, "--auth-root-authentication-method=normal", "--skip-name-resolve"])
        .args(user)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("mariadb-install-db runs");
    assert!(made.success(), "mariadb-install-db makes a data folder");
    let socket = mariadb_socket(folder.path());
    let process = Command::new(mariadbd)
        .args(["--no-defaults", &data, "--innodb-buffer-pool-size=32M"])
        .args(listens)
        .arg(format!("--socket={}", socket.display()))
        .args(user)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("mariadbd starts");
    wait_until("mariadbd", || takes_connections(&socket));
    Some(Server { process, folder })
}

/// MariaDB's socket in its server's folder.
pub fn mariadb_socket(folder: &Path) -> PathBuf {
    folder.join("mariadb.sock")
}

/// A program that is in the search path of root alone.
fn find_server(program: &str) -> Option<PathBuf> {
    find(program).or_else(|| Some(Path::new("/usr/sbin").join(program)).filter(|file| file.is_file()))
}
