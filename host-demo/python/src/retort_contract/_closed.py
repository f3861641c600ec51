"""What the host answers in the component's place after a fault: constants, cautious, nothing of the error in them.

Of a report only four things are used: whether it says read, and the trace id, the operation key and the statement's
first word.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any

_CHECK_AFTER_MS = 1000
_TRACE_ID = re.compile(r"[A-Za-z0-9._:/@+#-]{1,128}", re.ASCII)
_KEY = re.compile(r"[!-~]{1,256}", re.ASCII)
_SELECT = re.compile(r"\s*select\b", re.IGNORECASE)

#: Code, category, outcome, message of a read and of a write; texts as in the contract's table of codes.
_READ = (
    "DATABASE_ERROR",
    "permanent",
    "not_committed",
    "The database reported an error that a retry does not mend.",
)
_WRITE = (
    "OUTCOME_UNKNOWN",
    "unknown_outcome",
    "unknown",
    "It is not known whether the operation took effect. Do not repeat it before that is known.",
)


def answer(function: str, text: str | None) -> str:
    """The answer to a call of the JSON interface that the component could not give."""
    closed = _ANSWERS.get(function)
    return _dump(closed(text or "")) if closed else ""


def verdict(report: object) -> dict[str, Any]:
    """The verdict on a report that could not be judged."""
    report = report if isinstance(report, Mapping) else {}
    operation = _mapping(report, "operation")
    is_read = operation.get("effect") == "read" and _selects(operation.get("statement"))
    trace_id = _matching(_TRACE_ID, _mapping(report, "context").get("trace_id")) or secrets.token_hex(16)
    key = None if is_read else _matching(_KEY, operation.get("operation_key"))
    code, category, outcome, message = _READ if is_read else _WRITE
    next_step = "stop" if is_read else "reconcile" if key else "escalate"
    envelope: dict[str, Any] = {
        "code": code,
        "category": category,
        "retryable": False,
        "outcome": outcome,
        "trace_id": trace_id,
        "message": message,
        "next": next_step,
    }
    delay: dict[str, Any] = {}
    if key:
        envelope |= {"operation_key": key, "check_after_ms": _CHECK_AFTER_MS}
        delay = {"delay_ms": _CHECK_AFTER_MS}
    return {
        "envelope": envelope,
        "decision": {
            "action": next_step,
            **delay,
            "scope": "operation",
            "cleanup": "cancel_then_discard",
            "reason": "tool_fault",
            "attempts_left": 0,
        },
        "diagnostic": {
            "trace_id": trace_id,
            "code": code,
            "system": "_OTHER",
            "rule": "host/fault",
            "proof": "nothing",
            "native_codes": [],
            "phase": "unknown",
            "phase_conflict": False,
            "transaction": "unknown",
            "cancel": "none",
            "connection": "unknown",
            "message": "",
            "causes": [],
            "attempt_number": 1,
        },
        "attempt": {
            "error.type": code,
            "db.system.name": "_OTHER",
            "db.response.status_code": "_OTHER",
            "retort.attempt.number": 1,
            "retort.category": category,
            "retort.outcome": outcome,
            "retort.retryable": False,
            "retort.next": next_step,
            "retort.final": True,
        },
    }


def _verdicts(text: str) -> list[dict[str, Any]]:
    reports = _parse(text)
    return [verdict(report) for report in reports] if isinstance(reports, list) else [verdict(None)]


def _reconciled(text: str) -> dict[str, Any]:
    """An earlier verdict that could not be judged anew: its outcome stays open."""
    reconciliation = _parse(text)
    given = reconciliation if isinstance(reconciliation, Mapping) else {}
    operation = {**_mapping(given, "operation"), "effect": "write"}
    earlier = _mapping(given, "verdict")
    if "operation_key" not in operation:
        operation["operation_key"] = _mapping(earlier, "envelope").get("operation_key", earlier.get("operation_key"))
    return verdict({"operation": operation, "context": given.get("context")})


def _rendered() -> dict[str, Any]:
    envelope = verdict(None)["envelope"]
    content = [{"type": "text", "text": _dump(envelope)}]
    return {"content": content, "isError": True, "_meta": {"dev.retort/error": envelope}}


def _whole(text: str) -> list[dict[str, Any]]:
    """One finding over the whole text, so that the gate stays shut."""
    asked = _parse(text)
    inner = asked.get("text") if isinstance(asked, Mapping) else None
    text = inner if isinstance(inner, str) else text
    return [{"kind": "unreadable", "start": 0, "end": len(text.encode("utf-8", "replace"))}]


_NO_RECORD = {
    "retort.attempts": 0,
    "retort.total_delay_ms": 0,
    "error.type": "OUTCOME_UNKNOWN",
    "retort.category": "unknown_outcome",
    "retort.outcome": "unknown",
    "retort.duplicates_possible": True,
    "retort.final": True,
}

_ANSWERS: dict[str, Callable[[str], object]] = {
    "evaluate": lambda text: verdict(_parse(text)),
    "evaluate-many": _verdicts,
    "reconcile": _reconciled,
    "summarise": lambda text: _NO_RECORD,
    "budget": lambda text: {"tokens": 0},
    "redact": lambda text: {"text": "[withheld]", "findings": _whole(text)},
    "inspect": lambda text: {"findings": _whole(text)},
    "fingerprint": lambda text: {"fingerprint": "0" * 16, "shape": "", "operation": "", "summary": ""},
    "render": lambda text: _rendered(),
    "codes": lambda text: [],
}


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    member = value.get(name)
    return member if isinstance(member, Mapping) else {}


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _selects(statement: object) -> bool:
    return statement is None or (isinstance(statement, str) and _SELECT.match(statement) is not None)
