"""The component's JSON interface as it is: text in, text out, the same bytes as on every other host.

Every function is total. Where the component fails (a trap, no time left, no memory) the answer is a constant of this
package's own, which makes nothing look safe, and the next call gets a new instance.
"""

from __future__ import annotations

import logging

from . import _closed, _engine

_log = logging.getLogger("retort_contract")


def call(function: str, text: str | None = None) -> str:
    """Calls a function of the interface by its WIT name."""
    try:
        return _engine.shared().call(function, text)
    except _engine.ComponentFault as fault:
        _log.error("the component failed (%s in %s); the host answered in its place", fault, function)
        return _closed.answer(function, text)


def evaluate(report: str) -> str:
    """A report in, a verdict out."""
    return call("evaluate", report)


def evaluate_many(reports: str) -> str:
    """An array of reports in, an array of verdicts out."""
    return call("evaluate-many", reports)


def reconcile(reconciliation: str) -> str:
    """An earlier verdict and its receipt in, a verdict out."""
    return call("reconcile", reconciliation)


def summarise(attempts: str) -> str:
    """An array of attempt records in, an operation record out."""
    return call("summarise", attempts)


def budget(change: str) -> str:
    """`{"tokens", "event", "capacity"?}` in, `{"tokens"}` out."""
    return call("budget", change)


def redact(text: str) -> str:
    """`{"text", "level"?}` in, `{"text", "findings"}` out."""
    return call("redact", text)


def inspect(text: str) -> str:
    """`{"text"}` in, `{"findings"}` out."""
    return call("inspect", text)


def fingerprint(statement: str) -> str:
    """`{"text", "dialect"?}` in, `{"fingerprint", "shape", "operation", "summary"}` out."""
    return call("fingerprint", statement)


def render(envelope: str) -> str:
    """`{"envelope" or "verdict", "as"}` in, the rendered text out."""
    return call("render", envelope)


def codes() -> str:
    """The whole table of public codes."""
    return call("codes")


def version() -> str:
    """The component's version; empty where it cannot be loaded."""
    return call("version")
