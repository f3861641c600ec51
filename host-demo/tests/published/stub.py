"""A server with one tool, whose manners are the argument: what the conformance kit has to tell apart."""

import json
import sys

ENVELOPE = {
    "code": "INVALID_ARGUMENT",
    "category": "validation",
    "retryable": False,
    "outcome": "not_started",
    "message": "An argument has a wrong type or form.",
    "next": "fix",
}
TOOL = {
    "name": "look",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {
        "type": "object",
        "required": ["place"],
        "properties": {"place": {"type": "string", "enum": ["here"]}},
    },
}


def called(arguments, number, manners):
    place = arguments.get("place")
    if place == "here":
        return {"content": [{"type": "text", "text": "nothing"}]}
    if manners == "dying":
        sys.exit(1)
    if manners == "careless":
        return {"content": [{"type": "text", "text": "fine"}]}
    text = json.dumps({**ENVELOPE, "trace_id": f"{number:032x}"})
    if manners == "echoing":
        text = f"there is no place {place}"
    return {"isError": True, "content": [{"type": "text", "text": text}]}


def answer(message, manners):
    parameters = message.get("params") or {}
    match message.get("method"):
        case "initialize":
            return {"protocolVersion": "2025-11-25", "serverInfo": {"name": manners}, "capabilities": {"tools": {}}}
        case "tools/list":
            return {"tools": [TOOL]}
        case "ping":
            return {}
        case "tools/call" if parameters.get("name") == "look":
            return called(parameters.get("arguments") or {}, message["id"], manners)


for line in sys.stdin:
    try:
        message = json.loads(line)
    except json.JSONDecodeError:
        continue
    if not isinstance(message, dict) or "id" not in message:
        continue
    result = answer(message, sys.argv[1])
    outcome = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)
