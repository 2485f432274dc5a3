"""The answers that hold for the whole life of a server, as the SDK would give them.

Each is written out here because the SDK is not imported yet when a client asks; a test compares
them with the SDK's own, so that an SDK that changes its mind is noticed.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = [
    "CHANGED",
    "HANDSHAKE_VERSIONS",
    "LISTS",
    "MODERN_VERSION",
    "Identity",
    "answer",
    "discover_result",
    "failure",
    "initialize_result",
    "listing_result",
]

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize`; the last is offered for one not known."""

MODERN_VERSION: Final = "2026-07-28"
"""The version without a handshake: every request says in `_meta` what it speaks."""

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


class Identity(NamedTuple):
    """What a server says of itself.

    Attributes:
        capabilities: By era: `legacy` and `modern`.
    """

    name: str
    version: str
    instructions: str
    capabilities: Mapping[str, Mapping[str, Any]]


def initialize_result(identity: Identity, requested: str) -> dict[str, Any]:
    """Return the result of `initialize` for a client that asks for version `requested`."""
    known = requested in HANDSHAKE_VERSIONS
    return {
        "capabilities": identity.capabilities["legacy"],
        "instructions": identity.instructions,
        "protocolVersion": requested if known else HANDSHAKE_VERSIONS[-1],
        "serverInfo": {"name": identity.name, "version": identity.version},
    }


def discover_result(identity: Identity) -> dict[str, Any]:
    """Return the result of `server/discover`."""
    return {
        "cacheScope": "private",
        "capabilities": identity.capabilities["modern"],
        "instructions": identity.instructions,
        "resultType": "complete",
        "supportedVersions": [MODERN_VERSION],
        "ttlMs": 0,
        "_meta": _stamp(identity),
    }


def listing_result(
    lines: Sequence[bytes], identity: Identity, *, modern: bool, method: str = "tools/list"
) -> bytes:
    """Return the result of a listing from finished entries, one JSON object each."""
    listed = b'{"' + LISTS[method].encode() + b'":[' + b",".join(lines) + b"]"
    if not modern:
        return listed + b"}"
    rest = {
        "cacheScope": "private",
        "resultType": "complete",
        "ttlMs": LIST_TTL_MS,
        "_meta": _stamp(identity),
    }
    return listed + b"," + _json(rest)[1:]


def answer(id_: str | int, result: bytes | Mapping[str, Any]) -> bytes:
    """Return the response to the request `id_`; a result may be finished JSON."""
    body = result if isinstance(result, bytes) else _json(result)
    return b'{"jsonrpc":"2.0","id":' + _json(id_) + b',"result":' + body + b"}"


def failure(id_: str | int, message: str) -> bytes:
    """Return the response to the request `id_` that the server itself could not carry out."""
    # -32603 is JSON-RPC's "internal error".
    error = {"code": -32603, "message": message}
    return _json({"jsonrpc": "2.0", "id": id_, "error": error})


def _stamp(identity: Identity) -> dict[str, Any]:
    info = {"name": identity.name, "version": identity.version}
    return {"io.modelcontextprotocol/serverInfo": info}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
