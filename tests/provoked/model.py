"""Cases of errors that are provoked on a real database, and what is asked about each verdict."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from retort_contract import Verdict, contract

BOUND_SECONDS = 15
"""How long anything that must happen may take."""

TRANSIENT = {row.code for row in contract.codes() if row.category == "transient"}
"""The published codes that may pass by waiting."""


class RemoteError(Exception):
    """An error that a driver of another language threw, captured there."""

    def __init__(self, captured: object) -> None:
        super().__init__("captured elsewhere")
        self.captured = captured


class Condition(Exception):
    """What a host finds out itself, such as a COMMIT that the server answered with ROLLBACK."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Session(Protocol):
    """A connection of a driver in autocommit: transactions are statements."""

    driver: str
    """Its name, set once it is open."""
    ended: threading.Event
    """Has the statement ended, during which something happens?"""

    def execute(self, statement: Any, parameters: Sequence[Any] | None = None) -> None: ...

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None: ...

    def close(self) -> None: ...


class World(Protocol):
    """A database with a way to look at it beside the driver."""

    system: str
    canaries: Sequence[str]

    def reset(self) -> None: ...

    def prepare(self, statement: str) -> None: ...

    def connect(self, driver: str, login: Mapping[str, Any]) -> Session: ...

    def snapshot(self) -> object: ...

    def settle(self) -> None: ...


@dataclass(frozen=True)
class Bound:
    """A statement with parameters."""

    statement: str
    parameters: Sequence[Any]


@dataclass(frozen=True)
class Many:
    """One statement for several rows, as the driver's own `executemany` sends it."""

    statement: str
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class During:
    """A statement, and what happens to it while the server executes it."""

    statement: Any
    event: Callable[[Any, Any], None]


@dataclass(frozen=True)
class Do:
    """Something that happens between two statements; no step of the operation."""

    event: Callable[[Any, Any], None]


@dataclass(frozen=True)
class Call:
    """A step of the operation that a driver has functions of its own for."""

    event: Callable[[Any, Any], None]


@dataclass(frozen=True)
class Case:
    """One provoked error. Exactly one of the steps must fail, or the connecting before them."""

    name: str
    codes: str
    """The published codes that are right, separated by blanks."""
    steps: Sequence[Any] = ()
    setup: Sequence[str] = ()
    """What is done to the database before."""
    unit: str = "statement"
    login: Mapping[str, Any] = field(default_factory=dict)
    is_open: bool = False
    """May the outcome be unknown: is the connection lost, or the unit one that can be applied in part?"""
    drivers: Sequence[str] = ()
    """The drivers that can provoke it; empty: all."""


@dataclass
class Judged:
    """A verdict beside what happened."""

    case: Case
    driver: str
    verdict: Verdict
    blind: Verdict
    report: Mapping[str, Any]
    had_effect: bool
    leaks: list[str]

    def faults(self) -> list[str]:
        """What is wrong with the verdict; empty: nothing."""
        envelope = self.verdict.envelope
        found = []
        if envelope.code not in self.case.codes.split():
            found.append(f"code {envelope.code}, expected {self.case.codes}")
        for name, verdict in (("told", self.verdict), ("blind", self.blind)):
            if claim := over_claim(verdict, self.had_effect):
                found.append(f"over-claim ({name}): {claim}")
        if envelope.retryable and not TRANSIENT.intersection(self.case.codes.split()):
            found.append("retryable, though it is permanent")
        return found + [f"leak of {canary!r}" for canary in self.leaks]

    @property
    def is_needlessly_unknown(self) -> bool:
        return self.verdict.envelope.outcome == "unknown" and not self.case.is_open


def failed(statement: str) -> Do:
    """Brings the transaction into its failed state, by a statement that the database refuses."""

    def fail(_: Any, session: Session) -> None:
        with contextlib.suppress(Exception):
            session.execute(statement)

    return Do(fail)


def over_claim(verdict: Verdict, had_effect: bool) -> str | None:
    """What the verdict says that is not so."""
    outcome, retryable = verdict.envelope.outcome, verdict.envelope.retryable
    if outcome in ("not_started", "not_committed") and had_effect:
        return f"{outcome}, but the write took effect"
    if outcome == "committed" and not had_effect:
        return "committed, but the write took no effect"
    if retryable and had_effect:
        return "retryable, but the write took effect"
    return None


class Progress:
    """What a careful host knows while it runs an operation: its phase and its transaction."""

    def __init__(self) -> None:
        self.phase = "connect"
        self.transaction = "none"

    def begins(self, step: Any) -> None:
        verb = _text(step).split(None, 1)[0].upper() if _text(step).strip() else ""
        self.phase = {"COMMIT": "commit", "END": "commit", "ROLLBACK": "rollback"}.get(verb, "execute")
        if self.phase == "commit" and self.transaction == "open":
            self.transaction = "committing"

    def ended(self, step: Any) -> None:
        words = _text(step).upper().split()
        if words[:1] == ["BEGIN"] or words[:2] == ["START", "TRANSACTION"]:
            self.transaction = "open"
        elif words[:1] in (["COMMIT"], ["END"], ["ROLLBACK"]):
            self.transaction = "none"


def _text(step: Any) -> str:
    text = step if isinstance(step, str) else getattr(step, "statement", "")
    return text if isinstance(text, str) else " ".join(text)


def provoke(world: World, driver: str, case: Case) -> Judged:
    """Runs a case and judges its error; raises where nothing failed."""
    world.reset()
    for statement in case.setup:
        world.prepare(statement)
    before = world.snapshot()
    progress = Progress()
    session: Session | None = None
    error: Exception | None = None
    try:
        session = world.connect(driver, case.login)
        session.driver = driver
        for step in case.steps:
            if isinstance(step, Do):
                step.event(world, session)
                continue
            progress.begins(step)
            _run(world, session, step)
            progress.ended(step)
    except Exception as thrown:
        error = thrown
    if error is None:
        _clean_up(session, "rollback")
        world.settle()
        raise AssertionError(f"{case.name}: nothing failed")
    report = _report(world, driver, case, progress, error)
    verdict = contract.evaluate(report)
    blind = contract.evaluate({**report, "system": None, "driver": None})
    _clean_up(session, verdict.decision.cleanup)
    world.settle()
    public = verdict.envelope.text + json.dumps(dict(verdict.attempt))
    leaks = [canary for canary in world.canaries if canary.lower() in public.lower()]
    return Judged(case, driver, verdict, blind, report, world.snapshot() != before, leaks)


def _report(world: World, driver: str, case: Case, progress: Progress, error: Exception) -> dict[str, Any]:
    match error:
        case RemoteError():
            raw: Any = error.captured
        case Condition():
            raw = {"condition": error.code}
        case _:
            raw = error
    return {
        "error": raw,
        "system": world.system,
        "driver": driver,
        "operation": {
            "effect": "write",
            "phase": progress.phase,
            "transaction": progress.transaction,
            "unit": case.unit,
            "operation_key": "provoked-1",
        },
        "attempt": {"number": 1, "max": 3},
        "context": {"trace_id": "0af7651916cd43dd8448eb211c80319c", "authorized": True},
        "seed": 7,
    }


def _run(world: Any, session: Session, step: Any) -> None:
    match step:
        case Call():
            step.event(world, session)
        case During():
            _during(world, session, step)
        case Many():
            session.many(step.statement, step.rows)
        case Bound():
            session.execute(step.statement, step.parameters)
        case _:
            session.execute(step)


def _during(world: Any, session: Session, step: During) -> None:
    thrown: list[Exception] = []

    def work() -> None:
        try:
            session.execute(step.statement)
        except Exception as error:
            thrown.append(error)
        finally:
            session.ended.set()

    session.ended = threading.Event()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    world.wait_until_busy(session)
    step.event(world, session)
    thread.join(BOUND_SECONDS)
    assert not thread.is_alive(), "the statement goes on"
    if thrown:
        raise thrown[0]


def _clean_up(session: Session | None, cleanup: str) -> None:
    """What the decision asks for; its own failure changes nothing, and the connection is not used again."""
    if session is None:
        return
    if cleanup == "rollback":
        try:
            session.execute("ROLLBACK")
        except Exception:
            pass
    try:
        session.close()
    except Exception:
        pass
