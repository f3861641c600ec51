"""What is taken of an exception: everything that says something, nothing of the application's own words."""

from __future__ import annotations

import enum
import json
import sqlite3
from typing import Any, NoReturn

import psycopg
import pymysql
import sqlalchemy
import sqlalchemy.exc

from retort_contract import Contract, capture
from retort_contract import capture as capture_function
from retort_contract.capture import DEEPEST, LONGEST_TEXT, MOST_CHARACTERS, MOST_ERRORS


def raised(work: Any) -> BaseException:
    try:
        work()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def test_a_real_sqlite_error_gives_class_bases_codes_and_message() -> None:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO t VALUES (1)")
        error = raised(lambda: connection.execute("INSERT INTO t VALUES (1)"))
    taken = capture(error)
    connection.close()
    expected: dict[str, Any] = {
        "name": "sqlite3.IntegrityError",
        "bases": ["sqlite3.DatabaseError", "sqlite3.Error"],
        "message": "UNIQUE constraint failed: t.id",
    }
    if hasattr(error, "sqlite_errorcode"):  # Python 3.11
        expected |= {"sqlite_errorcode": 1555, "sqlite_errorname": "SQLITE_CONSTRAINT_PRIMARYKEY"}
    assert taken == expected


def test_a_psycopg_error_gives_its_sqlstate_and_its_whole_diagnostic(orders: psycopg.Connection) -> None:
    taken = capture(raised(lambda: orders.execute("INSERT INTO orders VALUES (1, -7)")))
    assert (taken["name"], taken["sqlstate"]) == ("psycopg.errors.CheckViolation", "23514")
    diagnostic = taken["diag"]
    assert diagnostic["constraint_name"] == "orders_amount_check"
    assert diagnostic["severity_nonlocalized"] == "ERROR"
    assert diagnostic["message_detail"] == "Failing row contains (1, -7)."


def test_a_pymysql_error_gives_its_number_and_text() -> None:
    error = pymysql.err.IntegrityError(1062, "Duplicate entry 'a' for key 'PRIMARY'")
    taken = capture(error)
    assert taken["name"] == "pymysql.err.IntegrityError"
    assert taken["args"] == [1062, "Duplicate entry 'a' for key 'PRIMARY'"]


def test_sqlalchemy_s_statement_and_parameters_are_never_taken() -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    secret = "hunter2-parameter"

    class Hostile(str):
        def __repr__(self) -> NoReturn:
            raise AssertionError("a parameter was turned into text")

    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE t (id TEXT PRIMARY KEY)"))
        insert = sqlalchemy.text("INSERT INTO t VALUES (:value)")
        connection.execute(insert, {"value": secret})
        error = raised(lambda: connection.execute(insert, {"value": Hostile(secret)}))
    engine.dispose()
    assert isinstance(error, sqlalchemy.exc.IntegrityError)
    taken = capture(error)
    assert secret not in json.dumps(taken) and "INSERT" not in json.dumps(taken)
    assert taken["name"] == "sqlalchemy.exc.IntegrityError"
    assert taken["code"] == "gkpj"
    assert taken["orig"]["name"] == "sqlite3.IntegrityError"


def test_causes_are_followed_and_a_suppressed_context_is_not() -> None:
    def chained() -> None:
        try:
            raise ConnectionResetError(104, "Connection reset by peer")
        except ConnectionResetError as error:
            raise RuntimeError("could not save") from error

    def handled() -> None:
        try:
            raise ConnectionResetError(104, "Connection reset by peer")
        except ConnectionResetError:
            raise RuntimeError("could not save")

    def suppressed() -> None:
        try:
            raise ConnectionResetError(104, "Connection reset by peer")
        except ConnectionResetError:
            raise RuntimeError("could not save") from None

    reset = {
        "name": "ConnectionResetError",
        "bases": ["ConnectionError", "OSError"],
        "message": "[Errno 104] Connection reset by peer",
        "args": [104, "Connection reset by peer"],
        "errno": 104,
    }
    assert capture(raised(chained)) == {"name": "RuntimeError", "message": "could not save", "cause": reset}
    assert capture(raised(handled)) == {"name": "RuntimeError", "message": "could not save", "context": reset}
    assert capture(raised(suppressed)) == {"name": "RuntimeError", "message": "could not save"}


def test_what_was_being_handled_does_not_speak_for_a_driver_s_own_error() -> None:
    def lost_while_handling() -> None:
        try:
            raise psycopg.errors.UniqueViolation("duplicate key value")
        except psycopg.errors.UniqueViolation:
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    assert "context" not in capture(raised(lost_while_handling))


def test_the_members_of_a_group_are_taken() -> None:
    class Group(Exception):  # as ExceptionGroup of Python 3.11
        exceptions = (TimeoutError(), pymysql.err.OperationalError(1213, "Deadlock found"))

    taken = capture(Group("two"))
    assert [row["name"] for row in taken["exceptions"]] == ["TimeoutError", "pymysql.err.OperationalError"]


def test_labels_and_status_objects_are_taken() -> None:
    class Status(enum.Enum):
        UNAVAILABLE = 14

    class RpcError(Exception):
        def code(self) -> Status:
            return Status.UNAVAILABLE

        def details(self) -> str:
            return "connection refused"

        def has_error_label(self, label: str) -> bool:
            return label == "NoWritesPerformed"

    taken = capture(RpcError())
    assert (taken["code"], taken["details"]) == ("UNAVAILABLE", "connection refused")
    assert taken["errorLabels"] == ["NoWritesPerformed"]


def test_a_program_s_own_fault_is_not_read_as_the_server_s_words() -> None:
    error = raised(lambda: 1 // 0)
    assert capture(error)["detail"] == "integer division or modulo by zero"
    verdict = Contract().evaluate({"error": ZeroDivisionError("division by zero"), "operation": {"phase": "execute"}})
    assert (verdict.envelope.code, verdict.envelope.outcome) == ("OUTCOME_UNKNOWN", "unknown")


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no attribute")


class BrokenText(Exception):
    sqlstate = "40001"

    def __str__(self) -> str:
        raise RecursionError

    @property
    def diag(self) -> NoReturn:
        raise KeyError("diag")

    @property
    def code(self) -> NoReturn:
        raise OSError


def test_an_exception_whose_own_code_fails_is_taken_as_far_as_it_can_be_read() -> None:
    assert capture(Broken("a", "b"))["name"].endswith("Broken")
    taken = capture(BrokenText(1, 2))
    assert taken["sqlstate"] == "40001" and "diag" not in taken and "message" not in taken


def test_cycles_depth_number_and_size_are_bounded() -> None:
    cycle = RuntimeError("a")
    cycle.__cause__ = cycle
    assert "cause" not in capture(cycle)

    deep: BaseException = RuntimeError("0")
    for index in range(100):
        outer = RuntimeError(str(index))
        outer.__cause__ = deep
        deep = outer
    depth, taken = 0, capture(deep)
    while "cause" in taken:
        depth, taken = depth + 1, taken["cause"]
    assert depth == DEEPEST

    class Group(Exception):
        exceptions = tuple(RuntimeError(str(index)) for index in range(1000))

    assert len(capture(Group())["exceptions"]) == MOST_ERRORS - 1

    long = RuntimeError("head" + "x" * 10_000_000 + "tail")
    message = capture(long)["message"]
    assert len(message) == LONGEST_TEXT and message.startswith("head") and message.endswith("tail")

    many = Exception(*["y" * LONGEST_TEXT] * 30)
    assert len(json.dumps(capture(many))) < 2 * MOST_CHARACTERS


def test_only_json_values_are_given() -> None:
    class Odd(Exception):
        def __init__(self) -> None:
            super().__init__(float("nan"), 2**80, b"\xff", object(), {1: 2, "code": {3}}, [None, "\ud800"])
            self.loop = self
            self.number = float("inf")

    json.dumps(capture(Odd()), allow_nan=False)


def test_the_module_s_function_is_the_package_s() -> None:
    assert capture_function is capture
