"""What a host remembers between attempts: how often an operation was tried, and the retry budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .verdict import Outcome

#: AWS SDK's standard mode: the capacity of a retry budget in tokens.
CAPACITY = 500


@dataclass(frozen=True)
class Past:
    """What earlier attempts of one operation came to."""

    attempts: int
    """How many there were."""
    outcome: Outcome | None
    """Their joined outcome; `None` before the first."""
    started: float
    """When the first one began, in seconds of the host's clock."""


class Attempts(Protocol):
    """Remembers attempts across calls; replicas can share one behind this protocol."""

    def get(self, key: str) -> Past | None:
        """What is known of an operation."""

    def put(self, key: str, past: Past) -> None:
        """Remembers an operation."""

    def forget(self, key: str) -> None:
        """The operation is over and may be tried anew."""


class AttemptMemory:
    """Attempts in this process: the latest `most` operations, reads for `seconds` after they began.

    Args:
        clock: Seconds, as the contract's clock counts them.
        most: The most operations.
        seconds: How long after its first attempt a repeated call still counts as the same operation.
    """

    def __init__(self, clock: Callable[[], float], *, most: int = 10_000, seconds: float = 600.0) -> None:
        self._clock = clock
        self._most = most
        self._seconds = seconds
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Past] = OrderedDict()

    def get(self, key: str) -> Past | None:
        """What is known of an operation. One that may have taken effect is never too old."""
        with self._lock:
            past = self._known.get(key)
            if past is None or past.outcome in ("unknown", "committed"):
                return past
            if self._clock() - past.started <= self._seconds:
                return past
            del self._known[key]
            return None

    def put(self, key: str, past: Past) -> None:
        """Remembers an operation, and forgets the oldest where there are too many."""
        with self._lock:
            self._known[key] = past
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)

    def forget(self, key: str) -> None:
        """The operation is over and may be tried anew."""
        with self._lock:
            self._known.pop(key, None)


class RetryBudget:
    """Retry tokens that all operations of this process share; the sums are the component's.

    Args:
        sums: Tokens after an event: `(tokens, event, capacity) -> tokens`.
        capacity: The most tokens, and the number to start with.
    """

    def __init__(self, sums: Callable[[int, str, int], int], capacity: int = CAPACITY) -> None:
        self._sums = sums
        self._capacity = capacity
        self._tokens = capacity
        self._lock = threading.Lock()

    @property
    def tokens(self) -> int:
        """Tokens left."""
        return self._tokens

    def spend(self, tokens: int) -> None:
        """Takes what a decision costs."""
        with self._lock:
            self._tokens = max(0, self._tokens - max(0, tokens))

    def succeeded(self) -> None:
        """An operation succeeded."""
        with self._lock:
            if self._tokens < self._capacity:
                self._tokens = self._sums(self._tokens, "success", self._capacity)
