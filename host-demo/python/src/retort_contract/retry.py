"""The retry loop: it waits, repeats and stops as decisions say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .operation import Operation
from .verdict import Decision, Verdict

if TYPE_CHECKING:
    from ._contract import Contract

T = TypeVar("T")

#: From the narrowest to the widest. Repeating more than was asked for is always right, repeating less never.
SCOPES = ("statement", "transaction", "operation")


def run(
    contract: Contract, work: Callable[[Operation], T], effect: str, *, scope: str = "operation", **options: Any
) -> T | Verdict:
    """Runs the work until it succeeds or no retry is left; the result, or the last verdict."""
    operation = contract.operation(effect, **options)
    while True:
        try:
            with operation:
                return work(operation)
        except Exception:
            verdict = operation.verdict
            if verdict is None:
                raise
            if not _repeats(verdict, scope):
                return verdict
        contract.sleep(_seconds(verdict.decision))


async def run_async(
    contract: Contract,
    work: Callable[[Operation], Awaitable[T]],
    effect: str,
    *,
    scope: str = "operation",
    **options: Any,
) -> T | Verdict:
    """As `run`, for asynchronous work."""
    operation = contract.operation(effect, **options)
    while True:
        try:
            async with operation:
                return await work(operation)
        except Exception:
            verdict = operation.verdict
            if verdict is None:
                raise
            if not _repeats(verdict, scope):
                return verdict
        await contract.sleep_async(_seconds(verdict.decision))


async def sleep_async(seconds: float) -> None:
    """Waits. Servers that are not asynchronous need not load asyncio for it."""
    import asyncio

    await asyncio.sleep(seconds)


def _repeats(verdict: Verdict, scope: str) -> bool:
    """May the loop repeat what it repeats?"""
    asked = verdict.decision.scope
    is_wide_enough = asked in SCOPES and SCOPES.index(asked) <= SCOPES.index(scope)
    return verdict.envelope.retryable and is_wide_enough


def _seconds(decision: Decision) -> float:
    return (decision.delay_ms or 0) / 1000
