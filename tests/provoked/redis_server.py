"""Redis: its drivers, and errors provoked on a real server."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import redis

from model import BOUND_SECONDS, Call, Case, Condition, During, Session
from node import Node
from servers import Server, free_port, until

STOPPED_SCRIPT = "while true do end"


class Redis:
    """A server, a replica of it, and the tester's own connection."""

    system = "redis"
    canaries = ("canary", "127.0.0.1", "sesame")
    drivers = ("redis-py", "ioredis")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._server = Server("nobody")
        self._start(self._server)
        self._replica = Server("nobody")
        self._start(self._replica, "--replicaof", "127.0.0.1", str(self._server.port))
        self._open()

    def _start(self, server: Server, *more: str) -> None:
        server.start(["redis-server", "--port", str(server.port), "--bind", "127.0.0.1", "--save", "", "--dir",
                      str(server.home), "--busy-reply-threshold", "50", "--repl-diskless-sync-delay", "0", *more])  # fmt: skip

    def _open(self) -> None:
        self._own = redis.Redis(port=self._server.port, decode_responses=True)
        until(self._own.ping, "the server does not answer")
        # Serialised values are no text.
        self._raw = redis.Redis(port=self._server.port)
        self._raw.ping()

    def reset(self) -> None:
        for setting, value in {"maxmemory": "0", "maxclients": "100", "min-replicas-to-write": "0"}.items():
            self._own.config_set(setting, value)
        self._own.flushall()
        for user, rules in USERS.items():
            self._own.execute_command("ACL", "SETUSER", user, "reset", *rules.split())
        self._own.mset({"canary:text": "canary-one", "canary:number": "5"})
        self._own.rpush("canary:list", "canary-a", "canary-b")

    def prepare(self, statement: str) -> None:
        self._own.execute_command(*statement.split())

    def connect(self, driver: str, login: Mapping[str, Any]) -> Session:
        where = {"host": "127.0.0.1", "port": self._server.port, **login}
        if where.pop("replica", False):
            where["port"] = self._replica.port
        if driver == "redis-py":
            return RedisPy(where)
        if "timeout" in where:
            where["commandTimeout"] = int(where.pop("timeout") * 1000)
        return self._node.open("ioredis", where)

    def snapshot(self) -> object:
        return [(key, self._raw.dump(key)) for key in sorted(self._raw.keys())]

    def settle(self) -> None:
        until(lambda: sum(at["cmd"] != "replconf" and at["flags"] != "S" for at in self._own.client_list()) == 2,
              "somebody stays connected")  # fmt: skip

    def stop(self) -> None:
        self._own.close()
        self._raw.close()
        self._replica.stop(signal.SIGKILL)
        self._server.stop(signal.SIGKILL)

    def wait_until_busy(self, _session: Any) -> None:
        """Until the server refuses what others ask, as a script runs; or until somebody is blocked."""

        def is_busy() -> bool:
            try:
                return any("b" in at["flags"] for at in self._own.client_list())
            except redis.ResponseError:
                return True

        until(is_busy, "the command does not wait")

    # What happens to the driver's connection.

    def kill_waiting(self) -> None:
        for client in self._own.client_list():
            if "b" in client["flags"]:
                self._own.client_kill_filter(_id=client["id"])

    def stop_script(self) -> None:
        self._own.script_kill()

    def crash(self, _session: Any) -> None:
        """The server dies and comes back, empty."""
        self._own.close()
        self._raw.close()
        self._server.stop_now()
        self._server.start()
        self._open()


USERS = {
    "canary_reader": "on >sesame ~* +@read +select +info +hello +ping",
    "canary_keys": "on >sesame ~other:* +@all",
    "canary_mute": "off >sesame ~* +@all",
}


class RedisPy:
    """redis-py, with one connection, as it comes out of the box but without its own repetitions."""

    def __init__(self, where: dict[str, Any]) -> None:
        if "timeout" in where:
            where["socket_timeout"] = where.pop("timeout")
        where.setdefault("socket_timeout", BOUND_SECONDS)
        self._client = redis.Redis(**where, single_connection_client=True, retry=None)
        try:
            self._client.ping()
        except redis.RedisError:
            self._client.close()
            raise

    def execute(self, statement: Sequence[Any], parameters: Sequence[Any] | None = None) -> None:
        self._client.execute_command(*statement)

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        raise NotImplementedError

    def watched(self, key: str, event: Callable[[], None], commands: Sequence[Sequence[str]]) -> None:
        with self._client.pipeline() as pipeline:
            pipeline.watch(key)
            event()
            pipeline.multi()
            for command in commands:
                pipeline.execute_command(*command)
            pipeline.execute()

    def pipeline(self, commands: Sequence[Sequence[str]]) -> None:
        with self._client.pipeline() as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            pipeline.execute()

    def close(self) -> None:
        self._client.close()


def _watched(world: Any, session: Any) -> None:
    """MULTI behind WATCH, while somebody else touches the key and leaves it as it was."""
    beside, commands = ("SET", "canary:text", "canary-one"), [("SET", "canary:new", "1")]
    if isinstance(session, RedisPy):
        session.watched("canary:text", lambda: world.prepare(" ".join(beside)), commands)
    elif session.call("watched", ["canary:text"], [beside, commands]) == "conflict":
        raise Condition("VERSION_CONFLICT")


def _pipeline(*commands: Sequence[str]) -> Call:
    return Call(lambda _, session: session.pipeline(commands) if isinstance(session, RedisPy)
              else session.call("pipeline", commands))  # fmt: skip


def _while_busy(world: Any, session: Any) -> None:
    """Asks while somebody else's script runs, which is stopped afterwards."""
    other = RedisPy({"host": "127.0.0.1", "port": world._server.port})
    thread = threading.Thread(target=lambda: _quietly(other, ("EVAL", STOPPED_SCRIPT, "0")), daemon=True)
    thread.start()
    world.wait_until_busy(session)
    try:
        session.execute(SET)
    finally:
        world.stop_script()
        thread.join(BOUND_SECONDS)
        other.close()


def _quietly(session: Session, statement: Any) -> None:
    try:
        session.execute(statement)
    except redis.RedisError:
        return


SET = ("SET", "canary:new", "canary-value")
GONE = "0" * 40

CASES = [
    Case("wrong type", "CONTRACT_BROKEN INVALID_ARGUMENT STATE_CONFLICT INVALID_FORMAT", [("INCR", "canary:list")]),
    Case("wrong type of a push", "CONTRACT_BROKEN INVALID_ARGUMENT STATE_CONFLICT INVALID_FORMAT",
         [("LPUSH", "canary:text", "canary-x")]),
    Case("no integer", "INVALID_FORMAT INVALID_ARGUMENT OUT_OF_RANGE", [("INCR", "canary:text")]),
    Case("integer overflow", "OUT_OF_RANGE INVALID_ARGUMENT", [("INCRBY", "canary:number", "9223372036854775807")]),
    Case("no float", "INVALID_FORMAT INVALID_ARGUMENT", [("INCRBYFLOAT", "canary:text", "1.5")]),
    Case("unknown command", "CONTRACT_BROKEN UNSUPPORTED_OPERATION", [("CANARYGONE", "canary:text")]),
    Case("wrong number of arguments", "CONTRACT_BROKEN INVALID_ARGUMENT", [("SET", "canary:new")]),
    Case("syntax", "CONTRACT_BROKEN INVALID_ARGUMENT", [("SET", "canary:new", "1", "CANARY")]),
    Case("no such key", "NOT_FOUND", [("RENAME", "canary:gone", "canary:new")]),
    Case("index out of range", "OUT_OF_RANGE INVALID_ARGUMENT NOT_FOUND", [("LSET", "canary:list", "99", "x")]),
    Case("value out of range", "OUT_OF_RANGE INVALID_ARGUMENT", [("SETRANGE", "canary:text", "-1", "x")]),
    Case("expiry that is none", "INVALID_ARGUMENT OUT_OF_RANGE", [("SET", "canary:new", "1", "EX", "-5")]),
    Case("too long a string", "VALUE_TOO_LONG INVALID_ARGUMENT REQUEST_TOO_LARGE",
         [("SETRANGE", "canary:text", str(1 << 30), "x")]),
    Case("existing group", "ALREADY_EXISTS",
         [("XGROUP", "CREATE", "canary:stream", "canary_group", "0")],
         setup=["XADD canary:stream 1-1 a 1", "XGROUP CREATE canary:stream canary_group 0"]),
    Case("missing group", "NOT_FOUND CONTRACT_BROKEN UNKNOWN_OBJECT",
         [("XREADGROUP", "GROUP", "canary_gone", "me", "STREAMS", "canary:stream", ">")],
         setup=["XADD canary:stream 1-1 a 1"]),
    Case("stream id that is too small", "STATE_CONFLICT INVALID_ARGUMENT OUT_OF_RANGE VERSION_CONFLICT",
         [("XADD", "canary:stream", "1-1", "a", "1")], setup=["XADD canary:stream 5-1 a 1"]),
    Case("no such script", "STALE_PLAN STATE_CONFLICT CONTRACT_BROKEN", [("EVALSHA", GONE, "0")]),
    Case("script that does not compile", "CONTRACT_BROKEN INVALID_QUERY", [("EVAL", "canary canary", "0")]),
    Case("script that fails half way", "PARTIAL_OUTCOME CONTRACT_BROKEN DATABASE_ERROR",
         [("EVAL", "redis.call('SET', 'canary:half', '1') return redis.call('INCR', 'canary:list')", "0")],
         unit="procedure", is_open=True),
    Case("script that is stopped", "CANCELLED DB_TIMEOUT PARTIAL_OUTCOME",
         [During(("EVAL", STOPPED_SCRIPT, "0"), lambda at, _: at.stop_script())], unit="procedure", is_open=True),
    Case("busy with a script", "DB_UNAVAILABLE RESOURCE_EXHAUSTED DB_TIMEOUT LOCK_TIMEOUT",
         [Call(_while_busy)]),
    Case("transaction that is refused whole", "CONTRACT_BROKEN INVALID_ARGUMENT STATE_CONFLICT TRANSACTION_STATE",
         [_pipeline(SET, ("SET", "canary:other"))], unit="batch"),
    Case("transaction of which one command fails", "PARTIAL_OUTCOME CONTRACT_BROKEN INVALID_ARGUMENT STATE_CONFLICT",
         [_pipeline(SET, ("INCR", "canary:list"))], unit="batch", is_open=True),
    Case("watched key was changed", "VERSION_CONFLICT SERIALIZATION_FAILURE STATE_CONFLICT",
         [Call(_watched)]),
    Case("EXEC without MULTI", "TRANSACTION_STATE CONTRACT_BROKEN", [("EXEC",)]),
    Case("wrong password", "CREDENTIALS_REJECTED", login={"username": "canary_reader", "password": "canary-wrong"}),
    Case("user that is off", "CREDENTIALS_REJECTED", login={"username": "canary_mute", "password": "sesame"}),
    Case("command not allowed", "NOT_AUTHORIZED", [SET], login={"username": "canary_reader", "password": "sesame"}),
    Case("key not allowed", "NOT_AUTHORIZED", [SET], login={"username": "canary_keys", "password": "sesame"}),
    Case("no memory", "RESOURCE_EXHAUSTED STORAGE_FULL", [SET], setup=["CONFIG SET maxmemory 1"]),
    Case("read-only replica", "NOT_PRIMARY READ_ONLY", [SET], login={"replica": True}),
    Case("too few replicas", "DB_UNAVAILABLE RESOURCE_EXHAUSTED", [SET], setup=["CONFIG SET min-replicas-to-write 5"]),
    Case("unknown database", "CONFIGURATION CONTRACT_BROKEN INVALID_ARGUMENT OUT_OF_RANGE", [("SELECT", "777")]),
    Case("cluster command", "UNSUPPORTED_OPERATION CONTRACT_BROKEN CONFIGURATION", [("CLUSTER", "INFO")]),
    Case("too many clients", "TOO_MANY_CONNECTIONS CONNECTION_FAILED", setup=["CONFIG SET maxclients 1"]),
    Case("connection refused", "CONNECTION_FAILED", login={"port": free_port()}),
    Case("unresolved host", "CONNECTION_FAILED CONFIGURATION", login={"host": "canary-host.invalid"}),
    Case("client killed while it waits", "OUTCOME_UNKNOWN",
         [During(("BLPOP", "canary:empty", "0"), lambda at, _: at.kill_waiting())], is_open=True),
    Case("client timeout", "OUTCOME_UNKNOWN", [("BLPOP", "canary:empty", "2")], login={"timeout": 0.3}, is_open=True),
    Case("server crash while a command waits", "OUTCOME_UNKNOWN",
         [During(("BLPOP", "canary:empty", "0"), lambda at, session: at.crash(session))], is_open=True),
]  # fmt: skip
