"""Every golden verdict and call of the repository, replayed: the same bytes as natively and on every other host."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from retort_contract import raw

CORPUS = next(
    parent / "tests" / "corpus"
    for parent in Path(__file__).resolve().parents
    if (parent / "tests" / "corpus" / "dev.jsonl").is_file()
)


def members(line: str) -> dict[str, str]:
    """The members of a JSON object as they are written, so that bytes are compared and not values."""
    decode = json.JSONDecoder().raw_decode
    found: dict[str, str] = {}
    position = 0
    while line[position] != "}":
        name, end = decode(line, position + 1)
        _, position = decode(line, end + 1)
        found[name] = line[end + 1 : position]
    return found


def lines(name: str) -> Iterator[dict[str, str]]:
    text = (CORPUS / name).read_text(encoding="utf-8")
    return (members(line) for line in text.split("\n") if line)


def text(member: str) -> str:
    """A report is written as an object, or as a string where its text is the point."""
    value = json.loads(member)
    return value if isinstance(value, str) else member


def test_every_golden_verdict_is_the_same_bytes() -> None:
    rows = list(lines("golden.jsonl"))
    assert len(rows) > 300
    differing = [row["name"] for row in rows if raw.evaluate(text(row["report"])) != row["verdict"]]
    assert differing == []


def test_every_golden_call_of_the_other_functions_is_the_same_bytes() -> None:
    rows = list(lines("golden-calls.jsonl"))
    assert len(rows) > 50
    differing = []
    for row in rows:
        function = json.loads(row["function"]).replace("_", "-")
        given = text(row["input"])
        answer = raw.call(function) if function in ("codes", "version") else raw.call(function, given)
        if answer != text(row["output"]):
            differing.append(row["name"])
    assert differing == []


def test_the_comparison_sees_a_changed_byte() -> None:
    row = next(lines("golden.jsonl"))
    assert raw.evaluate(text(row["report"])) != row["verdict"].replace("_", "-", 1)


@pytest.mark.parametrize(("line", "expected"), [('{"a":{"b": 1},"c":"x"}', {"a": '{"b": 1}', "c": '"x"'})])
def test_members_are_cut_out_as_written(line: str, expected: dict[str, str]) -> None:
    assert members(line) == expected
