"""The component under wasmtime: bounded, fail closed, cached without trusting anybody, callable from any thread."""

from __future__ import annotations

import json
import os
import re
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wasmtime
from test_golden import CORPUS
from wasmtime import component

from retort_contract import Contract, _cache, _closed, _engine, _locate, raw

REPORT = json.dumps(
    {"error": {"sqlstate": "40001"}, "operation": {"phase": "execute", "transaction": "open"}, "seed": 7}
)

#: A small component with the interface's name.
SMALL = """
(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
    (func (export "call") (param i32 i32) (result i32) {body}))
  (core instance $i (instantiate $m))
  (func $f (param "report" string) (result string)
    (canon lift (core func $i "call") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
  (instance $json (export "evaluate" (func $f)))
  (export "retort:contract/json@0.1.0" (instance $json)))
"""


@pytest.fixture
def wasm() -> bytes:
    return _locate.component_path().read_bytes()


#: Gives the text back.
ECHO = "(i32.store (i32.const 16) (local.get 0)) (i32.store (i32.const 20) (local.get 1)) i32.const 16"


def small(body: str) -> bytes:
    return bytes(wasmtime.wat2wasm(SMALL.format(body=body)))


def faulty(body: str) -> _engine.Engine:
    return _engine.Engine(small(body), deadline_ticks=1)


@pytest.mark.parametrize("body", ["unreachable", "(loop $l br $l) unreachable", "i32.const -4"])
def test_a_trap_is_a_fault_and_the_next_call_gets_a_new_instance(body: str) -> None:
    engine = faulty(body)
    for _ in range(3):
        with pytest.raises(_engine.ComponentFault, match=r"^(WasmtimeError|Trap)$"):
            engine.call("evaluate", REPORT)


def test_after_a_fault_the_same_engine_answers_again(wasm: bytes) -> None:
    engine = _engine.Engine(wasm)
    before = engine.call("evaluate", REPORT)
    engine._deadline_ticks = 0
    with pytest.raises(_engine.ComponentFault):
        engine.call("evaluate", REPORT)
    engine._deadline_ticks = _engine.DEADLINE_TICKS
    assert engine.call("evaluate", REPORT) == before


def test_too_little_memory_is_a_fault(wasm: bytes) -> None:
    with pytest.raises(_engine.ComponentFault):
        _engine.Engine(wasm, memory_bytes=1 << 16).call("evaluate", REPORT)


@pytest.mark.parametrize("size", [1 << 20, 3 << 20])
def test_a_large_report_is_judged_within_the_limits_and_its_instance_not_kept(wasm: bytes, size: int) -> None:
    engine = _engine.Engine(wasm)
    report = json.dumps(
        {"error": {"message": "x " * (size // 2)}, "operation": {"effect": "write", "phase": "execute"}}
    )
    assert json.loads(engine.call("evaluate", report))["envelope"]["outcome"] == "unknown"
    assert "instance" not in engine._idle.__dict__


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", "\ud800", '{"error": "\ud800 \U0001f600"}', "\x00", "[" * 10_000]
)
def test_every_text_gives_a_verdict(text: str) -> None:
    assert json.loads(raw.evaluate(text))["envelope"]["retryable"] is False


def test_threads_get_the_same_bytes() -> None:
    expected = raw.evaluate(REPORT)
    answers: list[str] = []

    def work() -> None:
        answers.extend(raw.evaluate(REPORT) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [expected] * 400


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_still_interrupts_a_call_that_never_ends() -> None:
    engine = faulty("(loop $l br $l) unreachable")
    with pytest.raises(_engine.ComponentFault):
        engine.call("evaluate", REPORT)
    child = os.fork()
    if child == 0:
        try:
            engine.call("evaluate", REPORT)
        except _engine.ComponentFault:
            os._exit(7)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


FAULTS = [json.loads(line) for line in (CORPUS / "faults.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case["name"])
def test_a_fault_is_answered_as_every_host_answers_it(monkeypatch: pytest.MonkeyPatch, case: dict[str, str]) -> None:
    monkeypatch.setattr(_engine, "shared", lambda: faulty("unreachable"))
    function = getattr(raw, case["function"].replace("-", "_"))
    output = function() if case["function"] == "codes" else function(case["input"])
    assert re.sub("[0-9a-f]{32}", "0" * 32, output) == case["output"]


def test_the_closed_verdicts_use_the_contract_s_own_texts() -> None:
    messages = {row.code: (row.message, row.category) for row in Contract().codes()}
    for effect in ("read", "write"):
        envelope = _closed.verdict({"operation": {"effect": effect}})["envelope"]
        assert (envelope["message"], envelope["category"]) == messages[envelope["code"]]


def test_a_fault_in_any_other_function_lets_nothing_through(monkeypatch: pytest.MonkeyPatch) -> None:
    contract = Contract()
    failed = contract.evaluate(REPORT)
    monkeypatch.setattr(_engine, "shared", lambda: faulty("unreachable"))
    assert contract.redact("password=hunter2").text == "[withheld]"
    assert [(row.kind, row.start, row.end) for row in contract.inspect("né")] == [("unreadable", 0, 3)]
    assert contract.fingerprint("DELETE FROM t").shape == ""
    assert json.loads(contract.render(failed))["isError"] is True
    assert contract.reconcile(failed, "absent").envelope.outcome == "unknown"
    assert [row.envelope.code for row in contract.evaluate_many([{}, {}])] == ["OUTCOME_UNKNOWN"] * 2
    assert contract.summarise([failed])["retort.duplicates_possible"] is True
    assert contract.codes() == []


def test_a_missing_component_fails_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_engine, "_shared", None)
    monkeypatch.setenv(_locate.ENVIRONMENT_VARIABLE, str(tmp_path / "none.wasm"))
    assert Contract().evaluate(REPORT).envelope.code == "OUTCOME_UNKNOWN"


# The cache.


@pytest.fixture
def echo() -> bytes:
    return small(ECHO)


def cached(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(_cache.ENVIRONMENT_VARIABLE, str(folder))
    return folder


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with every compilation."""
    counted: list[int] = []
    compile_component = component.Component

    class Counting(compile_component):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any) -> None:
            counted.append(1)
            super().__init__(*arguments)

    monkeypatch.setattr(component, "Component", Counting)
    return counted


def test_the_second_start_does_not_compile(echo: bytes, folder: Path, compilations: list[int]) -> None:
    first = _engine.Engine(echo).call("evaluate", REPORT)
    assert _engine.Engine(echo).call("evaluate", REPORT) == first
    assert len(compilations) == 1
    [file] = cached(folder)
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(folder.stat().st_mode)) == (0o600, 0o700)


def corrupt(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


def open_to_others(file: Path) -> None:
    file.chmod(0o666)


def open_folder(file: Path) -> None:
    file.parent.chmod(0o777)


def replace_by_link(file: Path) -> None:
    moved = file.parent.parent / "moved"
    file.rename(moved)
    file.symlink_to(moved)


@pytest.mark.parametrize("tamper", [corrupt, truncate, open_to_others, open_folder, replace_by_link])
def test_a_cached_file_that_somebody_may_have_touched_is_not_used(
    echo: bytes, folder: Path, compilations: list[int], tamper: Callable[[Path], None]
) -> None:
    expected = _engine.Engine(echo).call("evaluate", REPORT)
    tamper(cached(folder)[0])
    assert _engine.Engine(echo).call("evaluate", REPORT) == expected
    assert len(compilations) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_cached_file_of_another_user_is_not_used(echo: bytes, folder: Path, compilations: list[int]) -> None:
    _engine.Engine(echo)
    os.chown(cached(folder)[0], 65534, 65534)
    _engine.Engine(echo)
    assert len(compilations) == 2


def test_without_a_place_for_the_cache_everything_works(
    echo: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[int]
) -> None:
    for place in ("", str(tmp_path / "file" / "below")):
        (tmp_path / "file").write_text("not a folder")
        monkeypatch.setenv(_cache.ENVIRONMENT_VARIABLE, place)
        _engine.Engine(echo).call("evaluate", REPORT)
    assert len(compilations) == 2


def test_starts_at_the_same_time_leave_one_whole_file(echo: bytes, folder: Path) -> None:
    threads = [threading.Thread(target=_cache.store, args=("name", bytes([index]) * 100_000)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    payload = _cache.load("name")
    assert payload is not None and len(set(payload)) == 1 and len(payload) == 100_000
    assert [file.name for file in cached(folder)] == ["name"]
