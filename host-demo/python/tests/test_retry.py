"""Attempts, the budget and the retry loop, with time that only passes when it is told to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retort_contract import Contract, Operation, Verdict, check

from support import Busy, Clock, always, fail


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def contract(clock: Clock) -> Contract:
    return Contract(
        system="postgresql", clock=clock, sleep=clock.sleep, sleep_async=clock.sleep_async, random=lambda: 7
    )


def test_the_loop_waits_as_decided_and_gives_the_result(contract: Contract, clock: Clock) -> None:
    attempts: list[int] = []

    def work(operation: Operation) -> str:
        attempts.append(operation.attempt)
        operation.begun()
        operation.executing()
        if operation.attempt < 3:
            raise Busy
        return "done"

    assert check(contract.run(work)) == "done"
    assert attempts == [1, 2, 3]
    assert len(clock.waits) == 2 and 0.1 <= clock.waits[0] <= 0.2 <= clock.waits[1] <= 0.4


def test_the_loop_ends_when_attempts_deadline_or_tokens_are_gone(contract: Contract, clock: Clock) -> None:
    def reason(**options: Any) -> tuple[str, int]:
        clock.waits.clear()
        verdict = contract.run(always(Busy()), **options)
        assert isinstance(verdict, Verdict) and not verdict.envelope.retryable
        return verdict.decision.reason, len(clock.waits)

    assert reason() == ("attempts", 2)
    assert reason(max_attempts=5) == ("attempts", 4)
    assert reason(max_attempts=50, deadline_ms=1000)[0] == "deadline"
    while contract.budget is not None and contract.budget.tokens >= 5:
        contract.budget.spend(5)
    assert reason() == ("budget", 0)


def test_a_retry_costs_tokens_and_a_success_gives_one_back(contract: Contract) -> None:
    assert contract.budget is not None
    contract.run(always(Busy()))
    assert contract.budget.tokens == 490
    contract.run(lambda operation: None)
    assert contract.budget.tokens == 491


def test_a_loop_does_not_repeat_less_than_the_decision_asks_for(contract: Contract, clock: Clock) -> None:
    contract.run(always(Busy()), scope="statement")
    assert clock.waits == []
    contract.run(always(Busy()), scope="transaction")
    assert len(clock.waits) == 2


def test_a_write_whose_outcome_is_unknown_is_not_repeated(contract: Contract, clock: Clock) -> None:
    def work(operation: Operation) -> None:
        operation.autocommit()
        operation.executing()
        raise ConnectionResetError(104, "Connection reset by peer")

    verdict = contract.run(work, key="k-1")
    assert isinstance(verdict, Verdict)
    assert (verdict.envelope.code, verdict.envelope.next, clock.waits) == ("OUTCOME_UNKNOWN", "reconcile", [])
    looked_up = contract.reconcile(verdict, "committed", operation={"effect": "write"})
    assert (looked_up.envelope.code, looked_up.envelope.outcome) == ("ALREADY_APPLIED", "committed")


def test_an_earlier_attempt_s_unknown_outcome_is_never_forgotten(contract: Contract) -> None:
    def work(operation: Operation) -> None:
        operation.autocommit()
        operation.executing()
        raise ConnectionResetError(104, "Connection reset by peer")

    contract.run(work, key="k-1")
    duplicate = type("UniqueViolation", (Exception,), {"sqlstate": "23505"})()
    verdict = fail(contract.operation(key="k-1"), duplicate)
    assert (verdict.envelope.outcome, verdict.diagnostic["attempt_number"]) == ("unknown", 2)
    other = fail(contract.operation(key="k-1", context={"principal": "somebody else"}), duplicate)
    assert (other.envelope.code, other.diagnostic["attempt_number"]) == ("UNIQUE_VIOLATION", 1)


def test_attempts_of_a_read_are_counted_across_calls_until_it_succeeds_or_is_old(
    contract: Contract, clock: Clock
) -> None:
    def number() -> int:
        verdict = fail(contract.operation("read", memory_key="list"), Busy())
        count: int = verdict.diagnostic["attempt_number"]
        return count

    assert [number(), number()] == [1, 2]
    with contract.operation("read", memory_key="list"):
        pass
    assert [number(), number()] == [1, 2]
    clock.now += 601
    assert number() == 1


@pytest.mark.anyio
async def test_the_asynchronous_loop_does_the_same(contract: Contract, clock: Clock) -> None:
    async def work(operation: Operation) -> int:
        operation.begun()
        operation.executing()
        if operation.attempt == 1:
            raise Busy
        return operation.attempt

    assert await contract.run_async(work) == 2
    assert len(clock.waits) == 1
    verdict = await contract.run_async(lambda operation: asyncio.sleep(0, always(KeyError("x"))(operation)))
    assert isinstance(verdict, Verdict) and len(clock.waits) == 1


def test_what_is_no_failure_of_the_operation_is_not_caught(contract: Contract) -> None:
    with pytest.raises(KeyboardInterrupt):
        contract.run(always(KeyboardInterrupt()))
