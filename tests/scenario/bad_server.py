"""A server that keeps to the protocol except for what its file of faults says of one of them.

    bad_server.py FAULTS NAME

A fault is a row of `protocol_faults.toml`: `before`, `instead` and `after` name a request, with the
raw text that is written around its answer, where `{id}` stands for the id of the request and
`{token}` for its token of progress. `patch` changes the answer itself. `ends` is how it ends.
"""

import json
import signal
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

FAULT: dict[str, Any] = tomllib.loads(Path(sys.argv[1]).read_text())[sys.argv[2]]
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
ENDS = FAULT.get("ends", [])


def merge(base: Any, changes: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    merged = {**base, **{key: merge(base.get(key), value) for key, value in changes.items()}}
    return {key: value for key, value in merged.items() if value != "GONE"}


def result(message: dict[str, Any]) -> dict[str, Any]:
    version = message.get("params", {}).get("protocolVersion")
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": FAULT.get("revision", version),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bad", "version": "1"},
        },
        "tools/list": {"tools": FAULT.get("tools", [TOOL])},
        "tools/call": {"content": [{"type": "text", "text": "hi"}]},
        "ping": {},
    }
    if message["method"] == "server/discover":
        results["server/discover"] = {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
        }
    modern = {"resultType": "complete"} if FAULT.get("modern") else {}
    if modern and message["method"] != "tools/call":
        modern |= {"ttlMs": 0, "cacheScope": "private"}
    return {**results[message["method"]], **modern}


def write(text: str, message: dict[str, Any]) -> None:
    token = message.get("params", {}).get("_meta", {}).get("progressToken")
    text = text.replace("{id}", json.dumps(message["id"])).replace("{token}", json.dumps(token))
    sys.stdout.buffer.write(text.encode("latin-1"))
    sys.stdout.buffer.flush()


def answer(message: dict[str, Any]) -> None:
    method = message["method"]
    document: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "server/discover" and not FAULT.get("modern"):
        document["error"] = {"code": -32601, "message": "Method not found"}
    else:
        document["result"] = result(message)
    here = FAULT.get("at", "tools/call") == method
    if here and "patch" in FAULT:
        document = merge(document, FAULT["patch"])
    write(FAULT.get("before", "") if here else "", message)
    write(FAULT["instead"] if here and "instead" in FAULT else json.dumps(document) + "\n", message)
    write(FAULT.get("after", "") if here else "", message)


if "terminated" in ENDS:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    given = json.loads(line)
    if "id" in given and "method" in given:
        answer(given)
if ENDS:
    time.sleep(60)
