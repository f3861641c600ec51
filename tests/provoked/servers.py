"""Servers of the checks' own, from Debian's packages: in a temporary folder, on a free port, never as root."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from model import BOUND_SECONDS


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until(holds: Callable[[], object], what: str) -> None:
    """Waits until something holds, with a bound."""
    deadline = time.monotonic() + BOUND_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.01)


class Server:
    """A program that listens on a port, with a folder of its own."""

    def __init__(self, account: str) -> None:
        self.port = free_port()
        self.home = Path(tempfile.mkdtemp(prefix="retort-provoked-"))
        self._user = account if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(self.home, self._user)
        self._command: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: Sequence[str], text: str | None = None) -> None:
        """Runs a program that must succeed."""
        subprocess.run(
            command, check=True, user=self._user, cwd=self.home, capture_output=True, input=text, text=True,
            env={**os.environ, "HOME": str(self.home)},
        )  # fmt: skip

    def start(self, command: Sequence[str] | None = None) -> None:
        """Starts the server, or starts it again."""
        self._command = list(command or self._command)
        self._process = subprocess.Popen(
            self._command, user=self._user, cwd=self.home, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until(self._listens, "the server does not listen")

    def stop_now(self, with_signal: int = signal.SIGKILL) -> None:
        """Ends the server at once, as a failure of its machine would."""
        self._end(with_signal)

    def stop(self, with_signal: int = signal.SIGTERM) -> None:
        """Ends the server and removes its folder."""
        self._end(with_signal)
        shutil.rmtree(self.home, ignore_errors=True)

    def _end(self, with_signal: int) -> None:
        assert self._process
        self._process.send_signal(with_signal)
        self._process.wait(BOUND_SECONDS)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def postgres_programs() -> Path:
    """The folder with PostgreSQL's programs."""
    return sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))[-1].parent
