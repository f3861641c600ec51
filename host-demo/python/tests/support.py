"""What several tests of operations share."""

from __future__ import annotations

from typing import Any

import pytest

from retort_contract import Operation, Verdict


class Clock:
    """Time that only passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


class Busy(Exception):
    """As PostgreSQL's serialization failure."""

    sqlstate = "40001"


def fail(operation: Operation, error: BaseException) -> Verdict:
    with pytest.raises(type(error)), operation:
        operation.begun()
        operation.executing()
        raise error
    assert operation.verdict is not None
    return operation.verdict


def always(error: BaseException) -> Any:
    def work(operation: Operation) -> None:
        operation.begun()
        operation.executing()
        raise error

    return work
