"""One operation on a database: how far it has got, what is open, and what its failure means.

Code or an adapter says where it is; when an exception ends the block, the report is complete::

    with contract.operation("write", key=key) as operation:
        operation.acquiring()
        ...

The exception goes on its way; `operation.verdict` says what it means.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .capture import capture
from .memory import Past
from .verdict import Verdict

if TYPE_CHECKING:
    from ._contract import Contract

_current: ContextVar[Operation | None] = ContextVar("retort_contract.operation", default=None)

Action = Callable[[], object]

#: The states of a transaction on a connection that is in use.
_AT_WORK = ("none", "open", "failed")


def current() -> Operation | None:
    """The innermost operation whose block this code runs in. Adapters report to it."""
    return _current.get()


class ConditionError(Exception):
    """A condition that the host knows itself, by its public code."""

    def __init__(self, condition: str, violations: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(condition)
        self.condition = condition
        """The public code."""
        self.violations = tuple(violations)
        """Arguments and the rules they break, as JSON Schema keywords: `("limit", "maximum")`."""


class CommitRolledBack(ConditionError):
    """COMMIT ended a transaction that the server had declared failed: it rolled back instead of committing."""

    def __init__(self) -> None:
        super().__init__("COMMIT_ROLLED_BACK")


@dataclass(frozen=True)
class _Cleanups:
    rollback: Action | None
    discard: Action | None
    cancel: Action | None


class Operation:
    """One operation. Every entry of its block is an attempt; earlier ones are remembered.

    It follows one connection at a time: statements that run side by side need operations of their own.

    Made by `Contract.operation`, which documents the arguments.
    """

    def __init__(
        self,
        contract: Contract,
        effect: str,
        *,
        words: Mapping[str, Any],
        limits: Mapping[str, Any],
        context: Mapping[str, Any],
        memory_key: str | None,
    ) -> None:
        self._contract = contract
        self._words = {"effect": effect, **{name: value for name, value in words.items() if value is not None}}
        self._limits = {name: value for name, value in limits.items() if value is not None}
        self._context = {"operation_id": secrets.token_hex(8), **context}
        self._memory_key = memory_key
        self._past = Past(0, None, contract.clock())
        self._is_known = False
        self._entered: list[Token[Operation | None]] = []
        self._cleanups: _Cleanups | None = None
        self.verdict: Verdict | None = None
        """What the last attempt's failure means; `None` where there was none."""
        self.system = contract.system
        """The database system, as OpenTelemetry spells it; an adapter sets it where it is not known."""
        self.driver = contract.driver
        """The driver's name; an adapter sets it where it is not known."""
        self.unit: str | None = None
        """What one unit of work is; an adapter sets it where it sends several statements together."""
        self._start_over()

    def _start_over(self) -> None:
        self.phase = "unknown"
        """How far the attempt has got."""
        self.transaction = "unknown"
        """The transaction around the statement."""
        self.steps_done = 0
        """Statements and transactions of this attempt that the server has applied already."""
        self._is_inconclusive = False
        self._judged: tuple[BaseException, Verdict] | None = None
        self._is_judged_within = False
        self.cancel = "none"
        """Was the statement cancelled, and did the server confirm it?"""

    # Where the attempt is.

    def validating(self) -> None:
        """The arguments are being checked."""
        self.phase = "validate"

    def authorizing(self) -> None:
        """The caller's permission is being checked."""
        self.phase = "authorize"

    def acquiring(self) -> None:
        """A pooled connection is waited for."""
        self._wait_for_connection("acquire")

    def acquired(self) -> None:
        """A connection is there: from here on nothing is known to be unsent, unless it is said."""
        self.phase = "unknown"

    def connecting(self) -> None:
        """A connection is being opened."""
        self._wait_for_connection("connect")

    def sending(self) -> None:
        """The statement is being written to the server."""
        self._go_to("send")

    def executing(self) -> None:
        """The statement has been sent and is waited for."""
        self._go_to("execute")

    def fetching(self) -> None:
        """The rows are being read."""
        self.phase = "fetch"

    def committing(self) -> None:
        """COMMIT is being written."""
        self.phase = "commit"
        self.transaction = "committing"

    def rolling_back(self) -> None:
        """ROLLBACK is being written."""
        self.phase = "rollback"

    def done(self) -> None:
        """The server confirmed everything: what fails from here on is only the result."""
        self.phase = "done"
        if self.transaction != "none":
            self.transaction = "committed"

    # What is open.

    def begun(self) -> None:
        """A transaction is open."""
        self._leave_committed()
        self.transaction = "open"

    def autocommit(self) -> None:
        """Every statement is its own transaction."""
        self.transaction = "none"

    def applied(self) -> None:
        """The server confirmed a statement in autocommit."""
        self.steps_done += 1

    def failed(self) -> None:
        """The server declared the transaction failed."""
        self.transaction = "failed"

    def rolled_back(self) -> None:
        """The server confirmed ROLLBACK. After a COMMIT without an answer that says nothing."""
        if self.transaction != "committing":
            self.transaction = "rolled_back"

    def inconclusive(self) -> None:
        """The block ends without an error, but the operation is not over: it asked for more, or answered a failure."""
        self._is_inconclusive = True

    def _go_to(self, phase: str) -> None:
        self._leave_committed()
        self.phase = phase

    def _wait_for_connection(self, phase: str) -> None:
        """Where another connection is at work, an error may be that one's: it must not look as if nothing was sent."""
        self._leave_committed()
        self.phase = "unknown" if self.transaction in _AT_WORK else phase

    def _leave_committed(self) -> None:
        """What comes after a COMMIT, also after one without an answer, is a further step of the operation."""
        if self.transaction in ("committed", "committing", "prepared"):
            self.steps_done += 1
            self.transaction = "unknown"

    def on_failure(
        self,
        *,
        rollback: Action | None = None,
        discard: Action | None = None,
        cancel: Action | None = None,
    ) -> None:
        """How to clean the connection up when the block fails, for code without an adapter.

        In `async with` the actions may return awaitables.
        """
        self._cleanups = _Cleanups(rollback, discard, cancel)

    # What a failure means.

    @property
    def effect(self) -> str:
        """read, idempotent_write, write."""
        return str(self._words["effect"])

    @property
    def attempt(self) -> int:
        """The attempt's number, counted from 1."""
        return self._past.attempts + 1

    def report(self, error: BaseException) -> dict[str, Any]:
        """The report of this attempt's failure."""
        elapsed = round((self._contract.clock() - self._past.started) * 1000)
        attempt: dict[str, Any] = {"number": self.attempt, "elapsed_ms": max(0, elapsed), **self._limits}
        if self._past.outcome is not None:
            attempt["prior"] = self._past.outcome
        if self._contract.budget is not None:
            attempt["tokens"] = self._contract.budget.tokens
        operation = {**self._words, "phase": self.phase, "transaction": self.transaction}
        if self.unit is not None:
            operation.setdefault("unit", self.unit)
        if self.steps_done:
            operation["steps_done"] = self.steps_done
        report: dict[str, Any] = {
            "error": capture(error),
            "operation": operation,
            "attempt": attempt,
            "context": {"attempt_id": f"{self._context['operation_id']}.{self.attempt}", **self._context},
            "policy": dict(self._contract.policy),
            "seed": self._contract.random(),
        }
        named = {"system": self.system, "driver": self.driver}
        report.update({name: value for name, value in named.items() if value is not None})
        if isinstance(error, ConditionError):
            report["error"] = {"condition": error.condition}
            report["violations"] = [{"argument": name, "rule": rule} for name, rule in error.violations]
        elif self.cancel != "none":
            report["cancel"] = self.cancel
        elif not isinstance(error, Exception):
            # Cancelled from outside: whether the server was told, nobody knows here.
            report["cancel"] = "requested"
        return report

    def judge(self, error: BaseException) -> Verdict:
        """What the error means here. The same error of the same attempt is judged once."""
        if self._judged is None or self._judged[0] is not error:
            self._judged = (error, self._contract.evaluate(self.report(error)))
            self._is_judged_within = False
        return self._judged[1]

    # The block.

    def __enter__(self) -> Operation:
        self._enter()
        return self

    async def __aenter__(self) -> Operation:
        self._enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for action in self._exit(error):
            _quietly(action)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for action in self._exit(error):
            result = _quietly(action)
            if inspect.isawaitable(result):
                await _await_quietly(result)

    def _enter(self) -> None:
        memory = self._contract.attempts
        if not self._is_known and memory is not None and self._memory_key is not None:
            self._past = memory.get(self._memory_key) or self._past
        self._is_known = True
        self.verdict = None
        self._start_over()
        self._entered.append(_current.set(self))

    def _exit(self, error: BaseException | None) -> list[Action]:
        """Ends the attempt; what is left to do to the connection, in order."""
        _current.reset(self._entered.pop())
        if error is None:
            if not self._is_inconclusive:
                self._succeed()
            return []
        is_known = self._is_judged_within and self._judged is not None and self._judged[0] is error
        verdict = self.verdict = self.judge(error)
        self._remember(Past(self.attempt, verdict.envelope.outcome, self._past.started))
        if not is_known:
            self._account(verdict)
        outer = _current.get()
        if outer is not None and (self.effect != "read" or outer.effect == "read"):
            outer._judged, outer._is_judged_within = (error, verdict), True
        cleanups, self._cleanups = self._cleanups, None
        return _actions(verdict.decision.cleanup, cleanups) if cleanups else []

    def _succeed(self) -> None:
        if self._contract.budget is not None:
            self._contract.budget.succeeded()
        memory = self._contract.attempts
        if memory is None or self._memory_key is None:
            return
        if self.effect == "read":
            memory.forget(self._memory_key)
        else:
            # A repeated key meets its own effect: what it hits then must not look like somebody else's.
            memory.put(self._memory_key, Past(self.attempt, "committed", self._past.started))

    def _account(self, verdict: Verdict) -> None:
        """Spends what the decision costs and hands the verdict to its readers."""
        budget, tokens_left = self._contract.budget, verdict.decision.tokens_left
        if budget is not None and tokens_left is not None and verdict.envelope.retryable:
            budget.spend(budget.tokens - tokens_left)
        self._contract.observe(verdict)

    def _remember(self, past: Past) -> None:
        self._past = past
        if self._contract.attempts is not None and self._memory_key is not None:
            self._contract.attempts.put(self._memory_key, past)


def _actions(cleanup: str, cleanups: _Cleanups) -> list[Action]:
    """What a decision's `cleanup` asks for; a word of a later version is read as discarding."""
    actions = {
        "none": (),
        "rollback": (cleanups.rollback,),
        "cancel_then_discard": (cleanups.cancel, cleanups.discard),
    }.get(cleanup, (cleanups.discard,))
    return [action for action in actions if action is not None]


def _quietly(action: Action) -> object:
    """Runs a cleanup. Its own failure must not hide the error that it follows."""
    try:
        return action()
    except Exception:
        return None


async def _await_quietly(result: Awaitable[object]) -> None:
    try:
        await result
    except Exception:
        return
