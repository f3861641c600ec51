"""Tools of the official MCP SDK that answer every failure with the envelope.

    @server.tool()
    @contract.tool(effect="write")
    async def add_order(customer: int, amount: int) -> str: ...

A failed tool gives a `CallToolResult` with `isError`, exactly one text block with the envelope, and the same object in
`_meta["dev.retort/error"]`; nothing is thrown through the SDK, whose own error texts quote the exception.

Works with `mcp` 1.x (`FastMCP`) and 2.x (`MCPServer`), and on the handler of a low-level `Server` (`(name, arguments)`
in 1.x, `(context, params)` in 2.x).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from .operation import ConditionError, Operation
from .verdict import Envelope, Verdict

if TYPE_CHECKING:
    from ._contract import Contract

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound=object)

#: The tools whose function has succeeded in the call that a guard watches.
_succeeded: ContextVar[list[Operation] | None] = ContextVar("retort_contract.succeeded", default=None)

META_KEY = "dev.retort/error"
"""The key of the envelope in a result's `_meta`."""
KEY_ARGUMENT = "operation_key"
"""The argument by which a client names an operation."""

#: The SDK passes its context in here where the tool itself has no parameter for it.
_CONTEXT_PARAMETER = "retort_context"
_KEY = re.compile(r"[!-~]{1,256}", re.ASCII)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
_BEFORE_SENDING = ("validate", "authorize", "acquire", "connect")
#: Asks the client for something before the tool goes on: part of the protocol, and no failure.
_ELICITATION = "UrlElicitationRequiredError"
#: From this version on the SDK does not hold an error's result against the tool's output schema.
_EXEMPTS_ERRORS = (2, 1)


class Decorator(Protocol):
    """Wraps a tool's function; its signature stays, except for what the SDK passes in."""

    def __call__(self, function: F) -> F:
        """The wrapped function."""
        ...


@dataclass(frozen=True)
class _Call:
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, Any]
    session: object


def tool(
    contract: Contract,
    effect: str | Mapping[str, str] = "write",
    *,
    name: str | None = None,
    require_key: bool | None = None,
    **options: Any,
) -> Decorator:
    """Wraps a tool, or the call handler of a low-level server.

    A plain write gets a required argument `operation_key` in its input schema, unless the function has one of its own:
    clients re-send a lost call, and only a key that they chose before tells a repetition from a second operation.

    Args:
        contract: The host's contract.
        effect: read, idempotent_write, write; for a low-level server also a mapping from tools to effects.
        name: The tool's name; the function's.
        require_key: Must calls name their operation? `None`: plain writes must.
        **options: As for `Contract.operation`, for example `dedupe="receipt"`.
    """

    def wrap(function: F) -> F:
        signature, hints = _signature(function)
        context_name = next((key for key, hint in hints.items() if _is_context(hint)), None)
        wants_key = effect == "write" if require_key is None else require_key
        adds_key = wants_key and KEY_ARGUMENT not in signature.parameters

        def call(positional: tuple[Any, ...], named: dict[str, Any]) -> _Call:
            low_level = _low_level_call(positional, named)
            if low_level is not None:
                return low_level
            session = named.pop(_CONTEXT_PARAMETER, None) if context_name is None else named.get(context_name)
            arguments = {**dict(zip(signature.parameters, positional, strict=False)), **named}
            if adds_key:
                named.pop(KEY_ARGUMENT, None)
            arguments.pop(context_name or "", None)
            return _Call(name or function.__name__, arguments, session)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wrapper(*positional: Any, **named: Any) -> Any:
                asked = call(positional, named)
                operation = _operation(contract, effect, asked, options)
                try:
                    async with operation:
                        _check_key(operation, require_key, asked)
                        return _settled(operation, await function(*positional, **named))
                except Exception as error:
                    return _failed(contract, operation, error)
        else:

            @functools.wraps(function)
            def wrapper(*positional: Any, **named: Any) -> Any:
                asked = call(positional, named)
                operation = _operation(contract, effect, asked, options)
                try:
                    with operation:
                        _check_key(operation, require_key, asked)
                        return _settled(operation, function(*positional, **named))
                except Exception as error:
                    return _failed(contract, operation, error)

        _publish_signature(wrapper, signature, hints, adds_key=adds_key, adds_context=context_name is None)
        return cast(F, wrapper)

    return wrap


def guard(contract: Contract, server: S) -> S:
    """Makes a server answer with the envelope also where a wrapped tool has succeeded and the SDK then fails over its
    value, for example against the output schema: of a write it has to be told that it was applied.

    Takes an `MCPServer`, a `FastMCP` or a low-level `Server` whose handlers are in place; gives the server.
    """
    middleware = getattr(server, "middleware", None)
    if isinstance(middleware, list):  # mcp 2.x

        async def guarded(context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
            if context.method != "tools/call":
                return await call_next(context)
            return await _guarded(contract, functools.partial(call_next, context), lambda answer: answer)

        middleware.append(guarded)
        return server

    types: Any = importlib.import_module("mcp.types")
    low_level: Any = getattr(server, "_mcp_server", server)
    handlers = low_level.request_handlers
    handler = handlers[types.CallToolRequest]

    async def handle(request: Any) -> Any:
        return await _guarded(contract, functools.partial(handler, request), types.ServerResult)

    handlers[types.CallToolRequest] = handle
    return server


async def _guarded(contract: Contract, call: Callable[[], Awaitable[Any]], wrap: Callable[[Any], Any]) -> Any:
    """A call's answer; the envelope's where the answer is the SDK's own error over a tool that had succeeded."""
    succeeded: list[Operation] = []
    token = _succeeded.set(succeeded)
    try:
        answer = await call()
    except Exception as error:
        if not succeeded:
            raise
        return wrap(_lost(contract, succeeded[-1], error))
    finally:
        _succeeded.reset(token)
    if not succeeded or not _is_error(getattr(answer, "root", answer)):
        return answer
    return wrap(_lost(contract, succeeded[-1], ValueError("the value does not fit the tool's output")))


def _lost(contract: Contract, operation: Operation, error: Exception) -> Any:
    """The result of a tool whose value did not get through."""
    operation.done()
    verdict = operation.judge(error)
    contract.observe(verdict)
    return result(contract, verdict)


def result(contract: Contract, error: Verdict | Envelope) -> Any:
    """The SDK's `CallToolResult` of a failed operation."""
    from mcp.types import CallToolResult

    return CallToolResult.model_validate(json.loads(contract.render(error, "mcp")))


def _settled(operation: Operation, value: Any) -> Any:
    """The tool's value. One that asks for more or tells of a failure does not end the operation."""
    if _is_error(value) or type(value).__name__ == "InputRequiredResult":
        operation.inconclusive()
    elif (succeeded := _succeeded.get()) is not None:
        succeeded.append(operation)
    return value


def _is_error(value: Any) -> bool:
    """Is it a result, of either generation of the SDK or as JSON, that tells of a failure?"""
    if isinstance(value, Mapping):
        return value.get("isError") is True
    return getattr(value, "is_error", getattr(value, "isError", False)) is True


def _failed(contract: Contract, operation: Operation, error: Exception) -> Any:
    """The result of a failed call."""
    if type(error).__name__ == _ELICITATION and operation.phase in _BEFORE_SENDING:
        raise error
    return result(contract, operation.verdict or operation.judge(error))


def _operation(
    contract: Contract, effect: str | Mapping[str, str], call: _Call, options: Mapping[str, Any]
) -> Operation:
    """The operation of a call. Who calls comes from the session; of the arguments only the key is used."""
    context = {"tool": call.tool, **_trace(call.session)}
    key = call.arguments.get(KEY_ARGUMENT)
    key = key if isinstance(key, str) else None
    effect = effect if isinstance(effect, str) else effect.get(call.tool, "write")
    asked: object = key if key is not None else call.arguments
    counted = json.dumps([call.tool, asked], default=repr, sort_keys=True)
    is_counted = key is not None or effect == "read"
    memory_key = hashlib.sha256(counted.encode("utf-8", "replace")).hexdigest() if is_counted else None
    return contract.operation(effect, key=key, context=context, session=call.session, memory_key=memory_key, **options)


def _check_key(operation: Operation, require_key: bool | None, call: _Call) -> None:
    """A plain write without a key that could be looked up is refused before anything is sent."""
    key = call.arguments.get(KEY_ARGUMENT)
    wants_key = operation.effect == "write" if require_key is None else require_key
    if key is None and not wants_key:
        return
    phase = operation.phase
    operation.validating()
    if key is None:
        raise ConditionError("MISSING_ARGUMENT", [(KEY_ARGUMENT, "required")])
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ConditionError("INVALID_KEY", [(KEY_ARGUMENT, "pattern")])
    operation.phase = phase


def _trace(session: object) -> dict[str, str]:
    """The trace id of the request's `traceparent`, which is not secret."""
    request = getattr(session, "request_context", session)
    meta = getattr(request, "meta", None)
    parent = meta.get("traceparent") if isinstance(meta, Mapping) else getattr(meta, "traceparent", None)
    match = _TRACEPARENT.fullmatch(parent) if isinstance(parent, str) else None
    return {"trace_id": match[1]} if match else {}


def _low_level_call(positional: tuple[Any, ...], named: Mapping[str, Any]) -> _Call | None:
    """The call of a low-level server's handler; `None` where it is a tool's own function."""
    if named or len(positional) != 2:
        return None
    first, second = positional
    if isinstance(first, str) and (second is None or isinstance(second, Mapping)):
        return _Call(first, second or {}, _request_context())
    if isinstance(getattr(second, "name", None), str) and hasattr(second, "arguments"):
        return _Call(second.name, second.arguments or {}, first)
    return None


def _request_context() -> object:
    """What `mcp` 1.x knows of the request that a low-level handler answers."""
    from mcp.server.lowlevel import server

    variable = getattr(server, "request_ctx", None)
    return variable.get(None) if variable is not None else None


def _signature(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    """The signature with its annotations evaluated where that is possible."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:
        signature = inspect.signature(function)
    hints = {name: row.annotation for name, row in signature.parameters.items() if row.annotation is not row.empty}
    return signature, hints


def _publish_signature(
    wrapper: Callable[..., Any],
    signature: inspect.Signature,
    hints: dict[str, Any],
    *,
    adds_key: bool,
    adds_context: bool,
) -> None:
    """Shows the SDK what it makes the tool's schemas of."""
    kinds = inspect.Parameter
    added: dict[str, Any] = {}
    if adds_key:
        added[KEY_ARGUMENT] = str
    context = _context_class() if adds_context else None
    if context is not None:
        added[_CONTEXT_PARAMETER] = context
    parameters = list(signature.parameters.values())
    keywords = [row for row in parameters if row.kind is kinds.VAR_KEYWORD]
    own = [row for row in parameters if row.kind is not kinds.VAR_KEYWORD]
    new = [kinds(name, kinds.KEYWORD_ONLY, annotation=hint) for name, hint in added.items()]
    returned = signature.return_annotation
    if not _exempts_errors() and returned is not signature.empty:
        # This SDK would hold an error's result against an output schema: the tool publishes none.
        from mcp.types import CallToolResult

        returned = CallToolResult
    published = signature.replace(parameters=[*own, *new, *keywords], return_annotation=returned)
    annotations = {**hints, **added}
    if returned is not signature.empty:
        annotations["return"] = returned
    vars(wrapper).update(__signature__=published)
    wrapper.__annotations__ = annotations


def _context_class() -> type | None:
    """The class by which the SDK's high-level server knows where to pass its context."""
    for module in ("mcp.server.mcpserver", "mcp.server.fastmcp"):
        try:
            return cast(type, importlib.import_module(module).Context)
        except ImportError:
            continue
    return None


def _is_context(hint: object) -> bool:
    context = _context_class()
    kind = getattr(hint, "__origin__", hint)
    return context is not None and inspect.isclass(kind) and issubclass(kind, context)


@functools.cache
def _exempts_errors() -> bool:
    """Does the SDK leave an error's result unchecked?"""
    import importlib.metadata

    release = importlib.metadata.version("mcp").split(".")
    return tuple(int(part) for part in release[:2]) >= _EXEMPTS_ERRORS
