"""A PostgreSQL server of the tests' own: a temporary folder, a free port, gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SETTINGS = ("fsync=off", "max_connections=40", "log_min_messages=fatal", "lc_messages=C")


def programs() -> Path | None:
    """The folder with the server's programs, as Debian packages them; `None` where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def server() -> Iterator[str]:
    """Runs a server; gives the connection string of its superuser."""
    folder = programs()
    if folder is None:
        raise RuntimeError("PostgreSQL's server programs are not installed")
    home = Path(tempfile.mkdtemp(prefix="retort-postgres-"))
    # initdb refuses to run as root.
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(home, "postgres", "postgres")
    data = home / "data"
    try:
        run(
            [
                *prefix,
                str(folder / "initdb"),
                "-D",
                str(data),
                "-U",
                "tester",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
            ]
        )
        port = free_port()
        settings = [f"unix_socket_directories={home}", f"port={port}", "listen_addresses=127.0.0.1", *_SETTINGS]
        options = " ".join(f"-c {setting}" for setting in settings)
        control = [*prefix, str(folder / "pg_ctl"), "-D", str(data), "-w", "-t", "60"]
        run([*control, "-o", options, "-l", str(home / "log"), "start"])
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(home, ignore_errors=True)


def run(command: list[str]) -> None:
    """Runs a command that must succeed."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/")


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
