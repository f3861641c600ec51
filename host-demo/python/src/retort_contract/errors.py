"""Typed errors above the envelope, in the classes that MongrelDB's clients use.

Raising them is a choice: only `check` does. An outcome that nobody knows is a class of its own, whatever else the
error is, because a caller that takes it for a conflict or a failed query repeats a write that may have taken effect.
"""

from __future__ import annotations

from typing import TypeVar

from .verdict import Envelope, Verdict

T = TypeVar("T")


class RetortError(Exception):
    """A database operation failed. Its text is the public code and its constant message."""

    def __init__(self, envelope: Envelope) -> None:
        super().__init__(f"{envelope.code}: {envelope.message}")
        self.envelope = envelope
        """The public error."""

    @property
    def code(self) -> str:
        """The public code."""
        return self.envelope.code


class AuthError(RetortError):
    """Refused, without a hint why (the 401 and 403 kind)."""


class NotFoundError(RetortError):
    """What was asked for does not exist."""


class ConflictError(RetortError):
    """The data's present state is in the way, and the operation had no effect."""

    @property
    def op_index(self) -> int | None:
        """The operation of a batch that failed, counted from 0."""
        return self.envelope.op_index


class QueryError(RetortError):
    """Any other failure: a malformed request, the server, the transport, an encoding."""


class UnknownOutcomeError(RetortError):
    """Nobody knows whether the write took effect. Look `envelope.operation_key` up; do not repeat the write."""


_CLASSES: dict[str, type[RetortError]] = {
    "authorization": AuthError,
    "not_found": NotFoundError,
    "conflict": ConflictError,
    "unknown_outcome": UnknownOutcomeError,
}


def error(envelope: Envelope) -> RetortError:
    """The typed error of an envelope."""
    if envelope.outcome == "unknown" and not envelope.retryable:
        return UnknownOutcomeError(envelope)
    return _CLASSES.get(envelope.category, QueryError)(envelope)


def check(value: T | Verdict | Envelope) -> T:
    """The value, where it is none of a failed operation.

    Raises:
        RetortError: The value is a verdict or an envelope.
    """
    if isinstance(value, Verdict):
        raise error(value.envelope)
    if isinstance(value, Envelope):
        raise error(value)
    return value
