"""A MariaDB server of the tests' own: a temporary folder, a free port, gone afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql

from postgres import free_port, run

_SERVERS = ("/usr/sbin/mariadbd", "/usr/sbin/mysqld")


def program() -> str | None:
    """The server, as Debian packages it; `None` where there is none."""
    found = [name for name in _SERVERS if Path(name).exists()]
    return found[0] if found and shutil.which("mariadb-install-db") else None


@contextmanager
def server() -> Iterator[int]:
    """Runs a server with the user `tester` and the database `test`; gives its port."""
    daemon = program()
    if daemon is None:
        raise RuntimeError("MariaDB's server is not installed")
    home = Path(tempfile.mkdtemp(prefix="retort-mariadb-"))
    data = home / "data"
    user: list[str] = []
    if os.geteuid() == 0:
        # The server refuses to run as root, and Debian's core package makes no user of its own.
        shutil.chown(home, "nobody")
        user = ["--user=nobody"]
    port = free_port()
    setup = home / "setup.sql"
    setup.write_text(
        "CREATE DATABASE IF NOT EXISTS test;\nCREATE USER tester@127.0.0.1;\nGRANT ALL ON *.* TO tester@127.0.0.1;\n"
    )
    setup.chmod(0o644)
    try:
        run(
            [
                "mariadb-install-db",
                "--no-defaults",
                *user,
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
            ]
        )
        options = [f"--datadir={data}", f"--socket={home}/socket", f"--port={port}", f"--init-file={setup}"]
        more = [
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            f"--pid-file={home}/pid",
            "--innodb-lock-wait-timeout=1",
        ]
        with subprocess.Popen(
            [daemon, "--no-defaults", *user, *options, *more],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                _wait(port)
                yield port
            finally:
                process.terminate()
                process.wait(30)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _wait(port: int) -> None:
    for _ in range(600):
        try:
            pymysql.connect(host="127.0.0.1", port=port, user="tester", database="test").close()
        except pymysql.err.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("MariaDB did not start")
