"""Any exception → the `error` of a report.

What is taken goes into the component, which publishes none of it. Statements and parameters are still left out: they
say nothing about the error, and SQLAlchemy writes parameters into `str()` of its errors. Taking never fails, whatever
the exception's own code does, and is bounded in depth, number and size.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST = 8
"""The deepest cause that is followed."""
MOST_ERRORS = 24
"""The most exceptions of one chain or group."""
MOST_ITEMS = 32
"""The most items of a list or members of an object."""
LONGEST_TEXT = 16 << 10
"""The longest text, in characters; head and tail are kept."""
MOST_CHARACTERS = 128 << 10
"""The most characters of all texts together."""

#: Attributes that hold codes where drivers define them in classes, properties or C code.
_CODES = ("sqlstate", "pgcode", "errno", "sqlite_errorcode", "sqlite_errorname", "winerror", "code", "number")
#: Further attributes that say something about the error, wherever they are defined.
_ATTRIBUTES = (
    *_CODES,
    "diag",
    "status",
    "status_code",
    "reason",
    "details",
    "response",
    "full_code",
    "isrecoverable",
    "msg",
    "raw_msg",
    "timeout",
    "constraint_name",
    "severity",
    "severity_en",
    "connection_invalidated",
)
#: Attributes of objects that are no exceptions (psycopg's diagnostic, oracledb's error, an HTTP response).
_OBJECT_ATTRIBUTES = (
    *_ATTRIBUTES,
    "message",
    "severity_nonlocalized",
    "message_primary",
    "message_detail",
    "message_hint",
    "context",
    "schema_name",
    "table_name",
    "column_name",
    "datatype_name",
    "source_file",
    "source_function",
    "offset",
    "value",
)
#: The application's own words: statements, parameters, documents, and what is needed to reach the server.
_CONTENT = frozenset(
    {
        "args", "bindings", "command", "connection", "cursor", "doc", "document", "error_document", "filename",
        "filename2", "input", "internal_query", "ismulti", "item", "keyvalue", "kwargs", "object", "op", "parameters",
        "params", "payload", "pgconn", "pgresult", "queries", "query", "request", "row", "rows", "sql", "statement",
        "statements", "values",
    }
)  # fmt: skip
#: Attributes with the error beneath, in the order in which they are told.
_CAUSES = ("orig", "driver_exception", "original_exception", "original_error")
#: What Python raises where the program is at fault.
_PROGRAM_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    RecursionError,
    StopAsyncIteration,
    StopIteration,
    SyntaxError,
    TypeError,
    ValueError,
)
#: The labels that MongoDB's server and driver attach.
_LABELS = (
    "NoWritesPerformed",
    "RetryableError",
    "RetryableWriteError",
    "SystemOverloadedError",
    "TransientTransactionError",
    "UnknownTransactionCommitResult",
)


def capture(error: BaseException) -> dict[str, Any]:
    """The exception as a report's `error`: JSON values only. Never raises."""
    try:
        return _Capture().error(error, 0)
    except Exception:
        # Not one attribute could be trusted: the class is left to say something.
        return {"name": _class_name(type(error))}


class _Capture:
    """One walk through a chain of exceptions."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._characters_left = MOST_CHARACTERS

    def error(self, error: BaseException, depth: int) -> dict[str, Any]:
        self._seen.add(id(error))
        kind = type(error)
        taken: dict[str, Any] = {"name": _class_name(kind)}
        bases = [_class_name(base) for base in kind.__mro__[1:] if base not in (BaseException, Exception, object)]
        if bases:
            taken["bases"] = bases[:MOST_ITEMS]
        arguments = _get(error, "args")
        arguments = arguments if isinstance(arguments, tuple) else ()
        has_parameters = _get(error, "params") is not None or _get(error, "statement") is not None
        message = self._message(error, arguments, has_parameters)
        if message:
            taken["detail" if _is_program_fault(error) else "message"] = message
        if not has_parameters and not (len(arguments) == 1 and isinstance(arguments[0], str)):
            values = [
                value for value in (self.value(item, depth) for item in arguments[:MOST_ITEMS]) if value is not None
            ]
            if values:
                taken["args"] = values
        for name, value in self._attributes(error):
            kept = self._call(value) if name in ("code", "details") and callable(value) else self.value(value, depth)
            if kept is not None:
                taken[name] = kept
        labels = self._labels(error)
        if labels:
            taken["errorLabels"] = labels
        taken.update(self._causes(error, depth))
        return taken

    def value(self, value: object, depth: int) -> Any:
        """A JSON value; `None` for what says nothing or is not known to be harmless."""
        if isinstance(value, enum.Enum):
            return self.value(value.name, depth)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            return int(value) if -(2**63) <= value < 2**63 else None
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else None
        if isinstance(value, (bytes, bytearray)):
            return self._text(bytes(value[:LONGEST_TEXT]).decode("utf-8", "replace"))
        if depth >= DEEPEST:
            return None
        if isinstance(value, BaseException):
            return self._nested(value, depth)
        if isinstance(value, Mapping):
            return self._members(value, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = (self.value(item, depth + 1) for item in list(value)[:MOST_ITEMS])
            return [item for item in items if item is not None]
        return self._object(value, depth)

    def _message(self, error: BaseException, arguments: tuple[Any, ...], has_parameters: bool) -> str | None:
        """The first argument where it is a text; `str()` only of errors that hold no statement."""
        if arguments and isinstance(arguments[0], str) and (len(arguments) == 1 or has_parameters):
            return self._text(str.__str__(arguments[0]))
        if has_parameters:
            return None
        try:
            return self._text(str.__str__(str(error)))
        except Exception:
            return None

    def _attributes(self, error: BaseException) -> Iterator[tuple[str, Any]]:
        """The known attributes, wherever they are defined, and the instance's own public ones."""
        own = _get(error, "__dict__")
        names = dict.fromkeys(_ATTRIBUTES)
        if isinstance(own, dict):
            names.update(dict.fromkeys(name for name in list(own)[:MOST_ITEMS] if isinstance(name, str)))
        for name in names:
            if name.startswith("_") or name.lower() in _CONTENT or name in _CAUSES:
                continue
            value = _get(error, name)
            if value is not None:
                yield name, value

    def _call(self, method: Any) -> Any:
        """The value of a gRPC error's `code()` or `details()`."""
        try:
            return self.value(method(), DEEPEST)
        except Exception:
            return None

    def _labels(self, error: BaseException) -> list[str]:
        has_label = _get(error, "has_error_label")
        if not callable(has_label):
            return []
        try:
            return [label for label in _LABELS if has_label(label) is True]
        except Exception:
            return []

    def _causes(self, error: BaseException, depth: int) -> dict[str, Any]:
        """The errors beneath. What was merely being handled counts only where the error has no words of its own."""
        beneath: dict[str, Any] = {name: _get(error, name) for name in _CAUSES}
        beneath["cause"] = error.__cause__
        if error.__cause__ is None and not error.__suppress_context__ and not _speaks_for_itself(error):
            beneath["context"] = error.__context__
        taken: dict[str, Any] = {}
        for name, cause in beneath.items():
            nested = self._nested(cause, depth) if isinstance(cause, BaseException) else None
            if nested is not None:
                taken[name] = nested
        members = _get(error, "exceptions")
        if isinstance(members, (tuple, list)):
            nested_members = [self._nested(item, depth) for item in members if isinstance(item, BaseException)]
            taken["exceptions"] = [item for item in nested_members if item is not None]
        return taken

    def _nested(self, error: BaseException, depth: int) -> dict[str, Any] | None:
        if depth >= DEEPEST or len(self._seen) >= MOST_ERRORS or id(error) in self._seen:
            return None
        return self.error(error, depth + 1)

    def _members(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        taken: dict[str, Any] = {}
        for name in list(value)[:MOST_ITEMS]:
            if isinstance(name, str) and name.lower() not in _CONTENT:
                kept = self.value(value[name], depth + 1)
                # MongrelDB says "unknown" with `committed: null`: there a null is an answer.
                if kept is not None or value[name] is None:
                    taken[str(self._text(str.__str__(name)))] = kept
        return taken

    def _object(self, value: object, depth: int) -> dict[str, Any] | None:
        """The known attributes of an object; `None` where it has none."""
        taken = {}
        for name in _OBJECT_ATTRIBUTES:
            member = _get(value, name)
            if isinstance(member, (str, int, float, bool, bytes, Mapping)):
                kept = self.value(member, depth + 1)
                if kept is not None:
                    taken[name] = kept
        return taken or None

    def _text(self, text: str) -> str | None:
        longest = min(LONGEST_TEXT, self._characters_left)
        if len(text) > longest:
            tail = longest // 4
            text = text[: longest - tail] + text[len(text) - tail :]
        self._characters_left -= len(text)
        return text or None


def _get(value: object, name: str) -> Any:
    """An attribute; `None` where there is none or reading it fails."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _class_name(kind: type) -> str:
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _is_program_fault(error: BaseException) -> bool:
    """Is it Python's own word on the program? Its text must not be read as a server's: both say "division by zero"."""
    return isinstance(error, _PROGRAM_FAULTS) and not any(_has(error, name) for name in _CODES)


def _speaks_for_itself(error: BaseException) -> bool:
    """Is it a driver's or the system's own error, and not the program's?"""
    if isinstance(error, (OSError, EOFError)) or type(error).__name__.endswith("TimeoutError"):
        return True
    arguments = _get(error, "args")
    has_code = isinstance(arguments, tuple) and bool(arguments) and isinstance(arguments[0], int)
    return has_code or any(_has(error, name) for name in _CODES)


def _has(value: object, name: str) -> bool:
    try:
        return hasattr(value, name)
    except Exception:
        return True
