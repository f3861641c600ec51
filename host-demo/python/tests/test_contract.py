"""Reports, operations, typed errors and the functions beside them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from retort_contract import (
    AuthError,
    ConditionError,
    ConflictError,
    Contract,
    Envelope,
    NotFoundError,
    QueryError,
    RetortError,
    UnknownOutcomeError,
    Verdict,
    check,
    current,
)

from support import Busy, Clock, always, fail


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def contract(clock: Clock) -> Contract:
    return Contract(
        system="postgresql", clock=clock, sleep=clock.sleep, sleep_async=clock.sleep_async, random=lambda: 7
    )


def test_a_report_may_hold_an_exception_or_be_json_text(contract: Contract) -> None:
    operation = {"effect": "write", "phase": "execute", "transaction": "open"}
    report: dict[str, Any] = {"error": Busy(), "operation": operation, "seed": 7, "system": "postgresql"}
    verdict = contract.evaluate(report)
    assert (verdict.envelope.code, verdict.envelope.retryable) == ("SERIALIZATION_FAILURE", True)
    written = {**report, "error": {"name": "Busy", "sqlstate": "40001"}}
    assert contract.evaluate(json.dumps(written)).envelope == verdict.envelope


def test_a_report_without_json_is_judged_by_what_is_left(contract: Contract) -> None:
    circle: dict[str, Any] = {}
    circle["circle"] = circle
    verdict = contract.evaluate({"error": circle, "operation": {"effect": "read", "phase": "execute"}})
    assert (verdict.envelope.code, verdict.envelope.outcome) == ("DATABASE_ERROR", "not_committed")
    assert contract.evaluate({"operation": circle}).envelope.code == "OUTCOME_UNKNOWN"


def test_several_reports_give_their_verdicts_in_order(contract: Contract) -> None:
    reports: list[Mapping[str, Any]] = [
        {"error": {"condition": code}, "operation": {"phase": "acquire"}} for code in ("POOL_BUSY", "RATE_LIMITED")
    ]
    verdicts = contract.evaluate_many(reports)
    assert [verdict.envelope.code for verdict in verdicts] == ["POOL_BUSY", "RATE_LIMITED"]
    assert [Verdict.from_text(verdict.text) for verdict in verdicts] == verdicts


def test_an_operation_reports_phase_transaction_steps_and_budget(contract: Contract, clock: Clock) -> None:
    operation = contract.operation(
        "write",
        key="k-1",
        dedupe="receipt",
        statement="INSERT INTO t VALUES (1)",
        deadline_ms=5000,
        context={"tool": "add"},
    )
    with operation:
        operation.acquiring()
        operation.begun()
        operation.executing()
        operation.applied()
        clock.now += 0.25
        report = operation.report(Busy())
    assert report["operation"] == {
        "effect": "write",
        "operation_key": "k-1",
        "dedupe": "receipt",
        "statement": "INSERT INTO t VALUES (1)",
        "phase": "execute",
        "transaction": "open",
        "steps_done": 1,
    }
    assert report["attempt"] == {"number": 1, "elapsed_ms": 250, "deadline_ms": 5000, "tokens": 500}
    assert report["context"]["tool"] == "add" and len(report["context"]["trace_id"]) == 32
    assert (report["system"], report["seed"]) == ("postgresql", 7)


def test_what_follows_a_commit_without_an_answer_is_a_further_step(contract: Contract) -> None:
    operation = contract.operation("write")
    with pytest.raises(Busy), operation:
        operation.begun()
        operation.executing()
        operation.committing()  # Its answer was lost, and the program went on.
        operation.rolled_back()
        operation.begun()
        operation.executing()
        raise Busy
    assert operation.verdict is not None
    assert (operation.verdict.envelope.code, operation.verdict.envelope.outcome) == ("PARTIAL_OUTCOME", "unknown")


def test_waiting_for_a_second_connection_does_not_make_the_first_one_s_work_unsent(contract: Contract) -> None:
    operation = contract.operation("write")
    with pytest.raises(ConnectionResetError), operation:
        operation.autocommit()
        operation.executing()
        operation.acquiring()
        raise ConnectionResetError(104, "Connection reset by peer")
    assert operation.verdict is not None and operation.verdict.envelope.outcome == "unknown"


def test_the_current_operation_is_the_innermost_one(contract: Contract) -> None:
    assert current() is None
    with contract.operation() as outer:
        with contract.operation("read") as inner:
            assert current() is inner
        assert current() is outer
    assert current() is None


def test_the_error_goes_on_its_way_and_the_verdict_stays(contract: Contract) -> None:
    seen: list[Verdict] = []
    contract = Contract(on_verdict=seen.append, random=lambda: 7)
    verdict = fail(contract.operation(), Busy())
    assert (verdict.envelope.code, verdict.envelope.outcome) == ("SERIALIZATION_FAILURE", "not_committed")
    assert seen == [verdict]


def test_a_failing_reader_of_verdicts_changes_nothing() -> None:
    def broken(verdict: Verdict) -> None:
        raise RuntimeError("log full")

    assert fail(Contract(on_verdict=broken).operation(), Busy()).envelope.code == "SERIALIZATION_FAILURE"


def test_an_inner_operation_s_verdict_is_the_outer_one_s(contract: Contract) -> None:
    seen: list[Verdict] = []
    contract = Contract(on_verdict=seen.append)
    outer, inner = contract.operation("write"), contract.operation("write")
    with pytest.raises(Busy), outer, inner:
        inner.begun()
        inner.executing()
        raise Busy
    assert outer.verdict is inner.verdict
    assert len(seen) == 1


def test_a_failing_read_does_not_speak_for_the_write_around_it(contract: Contract) -> None:
    write, read = contract.operation("write"), contract.operation("read")
    with pytest.raises(Busy), write:
        write.begun()
        write.executing()
        write.committing()
        write.done()
        with read:
            read.executing()
            raise Busy
    assert read.verdict is not None and write.verdict is not None
    assert read.verdict.envelope.retryable
    assert (write.verdict.envelope.code, write.verdict.envelope.outcome) == ("RESULT_LOST", "committed")


def test_cleanups_are_done_as_decided_and_their_failures_are_hidden(contract: Contract) -> None:
    done: list[str] = []

    def cancel() -> None:
        done.append("cancel")
        raise OSError

    operation = contract.operation()
    with pytest.raises(TimeoutError), operation:
        operation.on_failure(
            rollback=lambda: done.append("rollback"), discard=lambda: done.append("discard"), cancel=cancel
        )
        operation.executing()
        operation.cancel = "requested"
        raise TimeoutError
    assert done == ["cancel", "discard"]

    with pytest.raises(Busy), operation:
        operation.on_failure(rollback=lambda: done.append("rollback"), discard=lambda: done.append("discard"))
        operation.begun()
        operation.executing()
        raise Busy
    assert done == ["cancel", "discard", "rollback"]


@pytest.mark.anyio
async def test_asynchronous_cleanups_are_waited_for(contract: Contract) -> None:
    done: list[str] = []

    async def rollback() -> None:
        await asyncio.sleep(0)
        done.append("rollback")

    with pytest.raises(Busy):
        async with contract.operation() as operation:
            operation.on_failure(rollback=rollback)
            operation.begun()
            operation.executing()
            raise Busy
    assert done == ["rollback"]


# Typed errors.


@pytest.mark.parametrize(
    ("condition", "operation", "expected"),
    [
        ("NOT_AUTHORIZED", {"phase": "execute"}, AuthError),
        ("CREDENTIALS_REJECTED", {"phase": "connect"}, AuthError),
        ("NOT_FOUND", {"phase": "execute"}, NotFoundError),
        ("UNIQUE_VIOLATION", {"phase": "execute", "transaction": "open", "op_index": 3}, ConflictError),
        ("OUTCOME_UNKNOWN", {"phase": "execute"}, UnknownOutcomeError),
        ("IN_PROGRESS", {"phase": "execute"}, UnknownOutcomeError),
        ("DB_TIMEOUT", {"phase": "execute", "transaction": "none"}, UnknownOutcomeError),
        ("DB_TIMEOUT", {"phase": "execute", "effect": "read"}, QueryError),
        ("INVALID_ARGUMENT", {"phase": "validate"}, QueryError),
        ("STORAGE_FULL", {"phase": "execute", "transaction": "open"}, QueryError),
    ],
)
def test_checking_raises_the_class_that_fits(
    contract: Contract, condition: str, operation: dict[str, Any], expected: type[RetortError]
) -> None:
    verdict = contract.evaluate(
        {"error": {"condition": condition}, "operation": operation, "context": {"authorized": True}}
    )
    with pytest.raises(RetortError) as raised:
        contract.check(verdict)
    assert type(raised.value) is expected
    assert raised.value.envelope == verdict.envelope
    if isinstance(raised.value, ConflictError):
        assert (raised.value.code, raised.value.op_index) == (condition, 3)
    with pytest.raises(expected):
        check(verdict.envelope)


def test_checking_a_value_gives_the_value(contract: Contract) -> None:
    assert contract.check([1, 2]) == [1, 2]


# The other functions.


def test_envelopes_are_rendered_for_every_carrier(contract: Contract) -> None:
    verdict = contract.evaluate({"error": {"condition": "POOL_BUSY"}, "operation": {"phase": "acquire"}})
    result = json.loads(contract.render(verdict))
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"]) == result["_meta"]["dev.retort/error"]
    assert Envelope.from_json(result["_meta"]["dev.retort/error"]) == verdict.envelope
    assert json.loads(contract.render(verdict, "problem"))["status"] == 503
    assert json.loads(contract.render(verdict.envelope, "status"))["code"] == 14
    assert contract.render(verdict, "text").startswith("POOL_BUSY: ")


def test_texts_are_redacted_inspected_and_fingerprinted(contract: Contract) -> None:
    text = "password=hunter2 for ana@example.com"
    assert "hunter2" not in contract.redact(text).text and "ana@" not in contract.redact(text).text
    assert [row.kind for row in contract.inspect(text)] == ["credential", "email"]
    one, two = (
        contract.fingerprint("SELECT a FROM t WHERE b = 1"),
        contract.fingerprint("select a from t where b = 'x'"),
    )
    assert (one.fingerprint, one.operation) == (two.fingerprint, "SELECT")


def test_attempts_are_folded_into_one_record(contract: Contract) -> None:
    verdicts: list[Verdict] = []
    contract = Contract(on_verdict=verdicts.append, sleep=lambda seconds: None)
    contract.run(always(Busy()))
    record = contract.summarise(verdicts)
    assert (record["retort.attempts"], record["error.type"], record["retort.final"]) == (
        3,
        "SERIALIZATION_FAILURE",
        True,
    )


def test_the_codes_are_a_table(contract: Contract) -> None:
    rows = {row.code: row for row in contract.codes()}
    assert len(rows) > 50 and rows["POOL_BUSY"].transient and rows["NOT_FOUND"].category == "not_found"
    assert contract.version()


def test_a_condition_that_the_host_knows_needs_no_driver(contract: Contract) -> None:
    operation = contract.operation("read")
    with pytest.raises(ConditionError), operation:
        operation.validating()
        raise ConditionError("INVALID_ARGUMENT", [("limit", "maximum")])
    assert operation.verdict is not None
    envelope = operation.verdict.envelope
    assert envelope.category == "validation"
    assert [(row.argument, row.rule) for row in envelope.arguments] == [("limit", "maximum")]


def test_a_context_callable_that_fails_authorizes_nobody() -> None:
    def broken(session: object) -> Mapping[str, Any]:
        raise LookupError

    report = Contract(context=broken).operation().report(Busy())
    assert set(report["context"]) == {"trace_id", "operation_id", "attempt_id"}
