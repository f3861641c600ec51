"""The verdict and its parts, as typed values.

The component publishes the same as JSON; `Verdict.text` keeps that text, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Category = Literal[
    "validation",
    "clarification",
    "authorization",
    "not_found",
    "conflict",
    "transient",
    "permanent",
    "unknown_outcome",
]
Outcome = Literal["not_started", "not_committed", "committed", "unknown"]


@dataclass(frozen=True)
class Argument:
    """An argument that breaks a rule."""

    argument: str
    """The argument's published name."""
    rule: str
    """The rule, as a JSON Schema keyword."""


@dataclass(frozen=True)
class Envelope:
    """The public error: nothing in it comes from the driver's text."""

    code: str
    """A published code, such as `POOL_BUSY`."""
    category: Category
    """The kind."""
    retryable: bool
    """May the same call be made again?"""
    outcome: Outcome
    """What happened to the write."""
    trace_id: str
    """The trace id, by which operators find the diagnostic."""
    message: str
    """The code's constant text."""
    next: str
    """fix, clarify, escalate, refresh, retry, resubmit, reconcile, done, stop."""
    retry_after_ms: int | None = None
    """Not before this many milliseconds. Only with `retryable`."""
    operation_key: str | None = None
    """The operation key, where a later look-up or resubmission needs it."""
    check_after_ms: int | None = None
    """Look the key up after this many milliseconds."""
    op_index: int | None = None
    """The operation of a batch that failed, counted from 0."""
    arguments: tuple[Argument, ...] = ()
    """The arguments that break a rule."""
    reference: str | None = None
    """The host's reference for people."""
    text: str = field(default="", repr=False, compare=False)
    """The envelope as JSON text: what the model reads."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Envelope:
        """Reads an envelope from its JSON object."""
        return cls(
            code=value["code"],
            category=value["category"],
            retryable=value["retryable"],
            outcome=value["outcome"],
            trace_id=value["trace_id"],
            message=value["message"],
            next=value["next"],
            retry_after_ms=value.get("retry_after_ms"),
            operation_key=value.get("operation_key"),
            check_after_ms=value.get("check_after_ms"),
            op_index=value.get("op_index"),
            arguments=tuple(Argument(row["argument"], row["rule"]) for row in value.get("arguments", ())),
            reference=value.get("reference"),
            text=json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        )


@dataclass(frozen=True)
class Decision:
    """What the program does."""

    action: str
    """The same word as the envelope's `next`."""
    scope: str
    """How much to repeat: statement, transaction, operation."""
    cleanup: str
    """none, rollback, discard_connection, cancel_then_discard: before any envelope leaves the host."""
    reason: str
    """Why."""
    attempts_left: int
    """Attempts left after this one."""
    delay_ms: int | None = None
    """Milliseconds to wait before a retry or a look-up."""
    tokens_left: int | None = None
    """Retry tokens left; `None` where no budget is kept."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Decision:
        """Reads a decision from its JSON object."""
        return cls(
            action=value["action"],
            scope=value["scope"],
            cleanup=value["cleanup"],
            reason=value["reason"],
            attempts_left=value["attempts_left"],
            delay_ms=value.get("delay_ms"),
            tokens_left=value.get("tokens_left"),
        )


@dataclass(frozen=True)
class Verdict:
    """What an error means, for each of its readers."""

    envelope: Envelope
    """For the model. Safe to publish."""
    decision: Decision
    """For the program."""
    diagnostic: Mapping[str, Any]
    """For the operator. Restricted: log it, never publish it."""
    attempt: Mapping[str, Any]
    """For metrics and traces, as flat OpenTelemetry attributes."""
    text: str = field(repr=False)
    """The whole verdict as the component wrote it."""

    @classmethod
    def from_text(cls, text: str) -> Verdict:
        """Reads a verdict from the component's text."""
        return cls._read(json.loads(text), text)

    @classmethod
    def many_from_text(cls, text: str) -> list[Verdict]:
        """Reads an array of verdicts from the component's text."""
        dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        return [cls._read(value, dump(value)) for value in json.loads(text)]

    @classmethod
    def _read(cls, value: Mapping[str, Any], text: str) -> Verdict:
        return cls(
            envelope=Envelope.from_json(value["envelope"]),
            decision=Decision.from_json(value["decision"]),
            diagnostic=value["diagnostic"],
            attempt=value["attempt"],
            text=text,
        )


@dataclass(frozen=True)
class Finding:
    """A place in a text that should not be published, in bytes of its UTF-8."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Redaction:
    """A text without what should not be published."""

    text: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Fingerprint:
    """A statement without its literals."""

    fingerprint: str
    """A stable hash: 16 hexadecimal digits."""
    shape: str
    """The normalised statement. Restricted: it names objects."""
    operation: str
    """The operation's word, such as SELECT."""
    summary: str
    """Verb and targets. Restricted."""


@dataclass(frozen=True)
class CodeRow:
    """A row of the table of public codes."""

    code: str
    category: Category
    transient: bool
    next: str
    message: str
