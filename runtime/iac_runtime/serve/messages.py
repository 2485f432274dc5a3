"""The messages that the front sends, as the SDK would write them.

Each is written out here because the SDK is not imported when a client asks; a test compares them
with the SDK's own, byte for byte, so that an SDK that changes its mind is noticed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import IacError

Era = Literal["legacy", "modern"]

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize`; the last is offered for one not known."""

MODERN_VERSION: Final = "2026-07-28"
"""The version without a handshake: every request says in `_meta` what it speaks."""

SPOKEN: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
"""Keys of the envelope of a request of that version."""

LISTS: Final[Mapping[str, str]] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""A listing's method -> the key of its entries. Clients ask for all that is declared at once."""

CHANGED: Final = tuple(
    f'{{"method":"notifications/{kind}/list_changed","jsonrpc":"2.0"}}'.encode()
    for kind in ("tools", "prompts", "resources")
)
"""What a client of the older era hears when the tools were built anew."""

LIST_TTL_MS: Final = 60_000
"""Milliseconds for which a client of the modern era may keep a listing."""

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CONNECTION_CLOSED: Final = -32000
"""Codes of errors: those of JSON-RPC, and one of the SDK's."""

BATCHED_VERSION: Final = "2025-03-26"
"""The one version in which a client may send several messages as one list."""


class ProtocolError(IacError):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Sender(NamedTuple):
    """Who sent a request, as far as it matters for the answer.

    Attributes:
        declared: Whether the client said that it can ask a person.
        token: What it wants word of the progress under, if it does.
        views: Whether it shows views beside results.
    """

    name: str
    modern: bool
    declared: bool
    token: str | int | None
    views: bool = False


class ServerIdentity(NamedTuple):
    """What a server says of itself.

    Attributes:
        capabilities: By era: `legacy` and `modern`.
    """

    name: str
    version: str
    instructions: str
    capabilities: Mapping[str, Mapping[str, Any]]


def initialize_result(identity: ServerIdentity, requested: str) -> dict[str, Any]:
    """Return the result of `initialize` for a client that asks for version `requested`."""
    known = requested in HANDSHAKE_VERSIONS
    return {
        "capabilities": identity.capabilities["legacy"],
        "instructions": identity.instructions,
        "protocolVersion": requested if known else HANDSHAKE_VERSIONS[-1],
        "serverInfo": {"name": identity.name, "version": identity.version},
    }


def discover_result(identity: ServerIdentity) -> dict[str, Any]:
    """Return the result of `server/discover`."""
    return {
        "cacheScope": "private",
        "capabilities": identity.capabilities["modern"],
        "instructions": identity.instructions,
        "resultType": "complete",
        "supportedVersions": [MODERN_VERSION],
        "ttlMs": 0,
        "_meta": _server_info(identity),
    }


def listing_result(
    lines: Sequence[bytes], identity: ServerIdentity, *, modern: bool, method: str = "tools/list"
) -> bytes:
    """Return the result of a listing from finished entries, one JSON object each."""
    listed = b'{"' + LISTS[method].encode() + b'":[' + b",".join(lines) + b"]"
    if not modern:
        return listed + b"}"
    rest = {
        "cacheScope": "private",
        "resultType": "complete",
        "ttlMs": LIST_TTL_MS,
        "_meta": _server_info(identity),
    }
    return listed + b"," + to_json(rest)[1:]


def result_message(id_: str | int, result: bytes | Mapping[str, Any]) -> bytes:
    """Return the response to the request `id_`; a result may be finished JSON."""
    body = result if isinstance(result, bytes) else to_json(result)
    return b'{"jsonrpc":"2.0","id":' + to_json(id_) + b',"result":' + body + b"}"


def error_message(id_: str | float | None, message: str, code: int = INTERNAL_ERROR) -> bytes:
    """Return the response to the request `id_` that is an error of the protocol."""
    return to_json({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})


def notification_message(method: str, params: Mapping[str, Any]) -> bytes:
    """Return a notification for the client."""
    return to_json({"method": method, "params": params, "jsonrpc": "2.0"})


def request_message(id_: str, method: str, params: Mapping[str, Any]) -> bytes:
    """Return a request that the server sends."""
    return to_json({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def modern_result(result: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Return a result of the older era as the newer one wants it, with the keys in its order."""
    found = {"resultType": "complete", **result}
    if method == "resources/read":
        found |= {"cacheScope": "private", "ttlMs": 0}
    return {key: found[key] for key in sorted(found)}


def with_server_info(result: Mapping[str, Any], identity: ServerIdentity) -> dict[str, Any]:
    """Return a result of the newer era with what says whose it is."""
    return {**result, "_meta": {**result.get("_meta", {}), **_server_info(identity)}}


def one_line_error(error: BaseException) -> str:
    """Return what is said of an error that ended something: one line."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return " ".join(str(error).split()) or type(error).__name__


def _server_info(identity: ServerIdentity) -> dict[str, Any]:
    info = {"name": identity.name, "version": identity.version}
    return {"io.modelcontextprotocol/serverInfo": info}


_SPELLED: Final = re.compile(r"\de-0\d[,\]}]|NaN|Infinity")
"""Where a number may stand that Python writes otherwise than the SDK."""


def to_json(value: Any) -> bytes:
    """Return a value as the SDK would write it, in bytes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if _SPELLED.search(text):
        import pydantic_core

        return pydantic_core.to_json(value, inf_nan_mode="null")
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half a character, in what a client sent.
        return json.dumps(value, separators=(",", ":")).encode()
