"""Node's drivers, in one process of Node."""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from model import BOUND_SECONDS, Condition, RemoteError


class Node:
    """The process; calls may come from several threads."""

    def __init__(self) -> None:
        program = Path(__file__).with_name("drivers.mjs")
        self._process = subprocess.Popen(
            ["node", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answers: dict[int, SimpleQueue[Any]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def open(self, driver: str, login: dict[str, Any]) -> NodeSession:
        session = NodeSession(self, next(self._numbers))
        session.id = session.call("open", driver, login)
        return session

    def ask(self, session: int, call: str, args: Sequence[Any]) -> Any:
        number, queue = next(self._numbers), SimpleQueue[Any]()
        self._answers[number] = queue
        line = json.dumps({"id": number, "session": session, "call": call, "args": list(args)})
        with self._lock:
            assert self._process.stdin
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        answer = queue.get(timeout=2 * BOUND_SECONDS)
        if "error" in answer:
            raise RemoteError(answer["error"])
        return answer["value"]

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            answer = json.loads(line)
            self._answers.pop(answer["id"]).put(answer)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(BOUND_SECONDS)


class NodeSession:
    """A session of one of Node's drivers."""

    def __init__(self, node: Node, number: int) -> None:
        self._node = node
        self._number = number
        self.id: int | None = None

    def call(self, name: str, *args: Any) -> Any:
        return self._node.ask(self._number, name, args)

    def execute(self, statement: Any, parameters: Sequence[Any] | None = None) -> None:
        command = self.call("execute", statement, parameters)
        if command == "ROLLBACK" and statement == "COMMIT":
            raise Condition("COMMIT_ROLLED_BACK")

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self.call("many", statement, rows)

    def close(self) -> None:
        self.call("close")
