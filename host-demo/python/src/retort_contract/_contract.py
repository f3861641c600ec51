"""The contract of a host: what it knows of its database, its callers and its clock, and all that it can ask."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from . import errors, mcp, raw, retry
from .capture import capture
from .memory import AttemptMemory, Attempts, RetryBudget
from .operation import Operation
from .verdict import CodeRow, Envelope, Finding, Fingerprint, Redaction, Verdict

S = TypeVar("S", bound=object)
T = TypeVar("T")

_log = logging.getLogger("retort_contract")


class Contract:
    """What every report of a host has in common.

    Args:
        system: The database system, as OpenTelemetry spells it (`postgresql`). `None`: told by the error's shape.
        driver: The driver's name. `None`: an adapter tells it.
        policy: `base_ms`, `cap_ms`, `max_attempts`, `capacity`, `conceal_conflicts`.
        context: Asks the session who calls: given the MCP SDK's context (`None` outside a tool), it returns members of
            the report's `context`, such as `trace_id`, `authorized` or `reference`, and `principal`, by which operation
            keys are kept apart. Nothing in it may come from a tool's arguments.
        on_verdict: Gets every verdict, for the restricted log and for metrics.
        attempts: Counts attempts across calls. `None`: each call is its first attempt.
        budget: The retry budget. `None`: no budget is kept.
        clock: Seconds that never go back.
        sleep: Waits, in seconds.
        sleep_async: Waits, in seconds, in asynchronous code.
        random: A random number below 2**32: the only source of jitter.
    """

    def __init__(
        self,
        *,
        system: str | None = None,
        driver: str | None = None,
        policy: Mapping[str, Any] | None = None,
        context: Callable[[Any], Mapping[str, Any]] | None = None,
        on_verdict: Callable[[Verdict], None] | None = None,
        attempts: Attempts | Literal["memory"] | None = "memory",
        budget: RetryBudget | Literal["memory"] | None = "memory",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        sleep_async: Callable[[float], Awaitable[None]] = retry.sleep_async,
        random: Callable[[], int] = lambda: secrets.randbits(32),
    ) -> None:
        self.system = system
        self.driver = driver
        self.policy = dict(policy or {})
        self.clock = clock
        self.sleep = sleep
        self.sleep_async = sleep_async
        self.random = random
        self.attempts: Attempts | None = AttemptMemory(clock) if attempts == "memory" else attempts
        self.budget: RetryBudget | None = RetryBudget(_budget) if budget == "memory" else budget
        self._context = context
        self._on_verdict = on_verdict

    # What an error means.

    def evaluate(self, report: Mapping[str, Any] | str) -> Verdict:
        """Judges one error. The report is a mapping or JSON text; `error` may be an exception. Never raises."""
        return Verdict.from_text(raw.evaluate(_text(report)))

    def evaluate_many(self, reports: Sequence[Mapping[str, Any]]) -> list[Verdict]:
        """Judges several errors, in order."""
        return Verdict.many_from_text(raw.evaluate_many(f"[{','.join(map(_text, reports))}]"))

    def reconcile(self, earlier: Verdict | Envelope, receipt: str, **known: Any) -> Verdict:
        """Judges an earlier verdict anew.

        Args:
            earlier: The verdict, or its envelope.
            receipt: What the look-up of its key said: committed, absent, pending, expired, unavailable.
            **known: `fenced`, `payload_differs`, and `operation`, `attempt`, `context`, `policy`, `seed` of a report.
        """
        envelope = earlier.envelope if isinstance(earlier, Verdict) else earlier
        reconciliation = {"verdict": json.loads(envelope.text), "receipt": receipt, "seed": self.random(), **known}
        return Verdict.from_text(raw.reconcile(_text(reconciliation)))

    def summarise(self, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        """Folds the attempts of one operation, in order, into one record of OpenTelemetry attributes."""
        record: dict[str, Any] = json.loads(raw.summarise(json.dumps([dict(row.attempt) for row in verdicts])))
        return record

    # Texts.

    def redact(self, text: str, level: Literal["diagnostic", "strict"] = "diagnostic") -> Redaction:
        """Replaces what should not be published."""
        answer = json.loads(raw.redact(json.dumps({"text": text, "level": level})))
        return Redaction(answer["text"], _findings(answer))

    def inspect(self, text: str) -> tuple[Finding, ...]:
        """Finds what should not be published: the gate for any tool output."""
        return _findings(json.loads(raw.inspect(json.dumps({"text": text}))))

    def fingerprint(self, statement: str, dialect: str | None = None) -> Fingerprint:
        """Strips a statement of literals and comments."""
        asked = {"text": statement} if dialect is None else {"text": statement, "dialect": dialect}
        return Fingerprint(**json.loads(raw.fingerprint(json.dumps(asked))))

    def render(self, error: Verdict | Envelope, carrier: Literal["mcp", "problem", "status", "text"] = "mcp") -> str:
        """Writes an envelope for a carrier: CallToolResult, RFC 9457, google.rpc.Status, or text for people."""
        envelope = error.envelope if isinstance(error, Verdict) else error
        return raw.render(f'{{"envelope":{envelope.text},"as":"{carrier}"}}')

    def codes(self) -> list[CodeRow]:
        """The whole table of public codes."""
        return [CodeRow(**row) for row in json.loads(raw.codes())]

    def version(self) -> str:
        """The component's version."""
        return raw.version()

    # Operations.

    def operation(
        self,
        effect: str = "write",
        *,
        key: str | None = None,
        dedupe: str | None = None,
        key_expires_ms: int | None = None,
        key_constraint: str | None = None,
        unit: str | None = None,
        origin: str | None = None,
        replays: str | None = None,
        statement: str | None = None,
        receipt: str | None = None,
        fenced: bool | None = None,
        max_attempts: int | None = None,
        deadline_ms: int | None = None,
        expected_ms: int | None = None,
        context: Mapping[str, Any] | None = None,
        session: object = None,
        memory_key: str | None = None,
    ) -> Operation:
        """An operation, whose block tracks how far it gets. The words are those of the report's `operation`.

        Args:
            effect: read, idempotent_write, write.
            key: The operation key.
            max_attempts: The most attempts; the policy's.
            deadline_ms: The whole budget in milliseconds from the operation's start.
            expected_ms: How long one attempt usually takes.
            context: Members of the report's `context` beside the session's.
            session: What the context callable is asked with.
            memory_key: By which a principal's attempts are counted across calls; the operation key.
        """
        said = {**self._session_context(session), **(context or {})}
        principal = said.pop("principal", "")
        counted = key if memory_key is None else memory_key
        memory_key = None if counted is None else json.dumps([principal, counted], default=repr)
        words = {
            "operation_key": key,
            "dedupe": dedupe,
            "key_expires_ms": key_expires_ms,
            "key_constraint": key_constraint,
            "unit": unit,
            "origin": origin,
            "replays": replays,
            "statement": statement,
            "receipt": receipt,
            "fenced": fenced,
        }
        limits = {"max": max_attempts, "deadline_ms": deadline_ms, "expected_ms": expected_ms}
        return Operation(self, effect, words=words, limits=limits, context=said, memory_key=memory_key)

    def run(self, work: Callable[[Operation], T], effect: str = "write", **options: Any) -> T | Verdict:
        """Runs the work, repeats it as decisions say, and gives its result or the last verdict.

        Args:
            work: Called once per attempt.
            effect: read, idempotent_write, write.
            **options: `scope` (what the work repeats: statement, transaction or operation, the default) and those of
                `operation`.
        """
        return retry.run(self, work, effect, **options)

    async def run_async(
        self, work: Callable[[Operation], Awaitable[T]], effect: str = "write", **options: Any
    ) -> T | Verdict:
        """As `run`, for asynchronous work."""
        return await retry.run_async(self, work, effect, **options)

    def tool(self, effect: str | Mapping[str, str] = "write", **options: Any) -> mcp.Decorator:
        """Makes a function a tool of the MCP SDK that answers failures with the envelope: see `mcp.tool`."""
        return mcp.tool(self, effect, **options)

    def guard(self, server: S) -> S:
        """Covers a tool's success whose value the MCP SDK then refuses: see `mcp.guard`."""
        return mcp.guard(self, server)

    def check(self, value: T | Verdict | Envelope) -> T:
        """The value, where it is none of a failed operation; otherwise raises the typed error: see `errors`."""
        return errors.check(value)

    def observe(self, verdict: Verdict) -> None:
        """Hands a verdict to `on_verdict`, whose own failure changes nothing."""
        if self._on_verdict is None:
            return
        try:
            self._on_verdict(verdict)
        except Exception as error:
            _log.error("on_verdict failed: %s", type(error).__name__)

    def _session_context(self, session: object) -> dict[str, Any]:
        """What the session says of the caller; nothing where asking fails, so that nobody is authorized by accident."""
        said: dict[str, Any] = {"trace_id": secrets.token_hex(16)}
        if self._context is None:
            return said
        try:
            said.update(self._context(session))
        except Exception as error:
            _log.error("the context callable failed: %s", type(error).__name__)
        return said


def _budget(tokens: int, event: str, capacity: int) -> int:
    change = {"tokens": tokens, "event": event, "capacity": capacity}
    return int(json.loads(raw.budget(json.dumps(change)))["tokens"])


def _findings(answer: Mapping[str, Any]) -> tuple[Finding, ...]:
    return tuple(Finding(**row) for row in answer["findings"])


def _text(report: Mapping[str, Any] | str) -> str:
    """The report as JSON text; what has no JSON is left out, first of all the error."""
    if isinstance(report, str):
        return report
    for candidate in (report, {name: value for name, value in report.items() if name != "error"}):
        try:
            return json.dumps(candidate, default=_plain, skipkeys=True)
        except (TypeError, ValueError, RecursionError):
            continue
    return ""


def _plain(value: object) -> Any:
    return capture(value) if isinstance(value, BaseException) else None
