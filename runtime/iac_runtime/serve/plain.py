"""What a client's message is: of which era, wrong, or so plain that the SDK would not refuse it.

What is doubtful is not judged here but handed to the SDK.
"""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeGuard

from iac_runtime.serve.messages import (
    CAPABILITIES,
    CLIENT_INFO,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MODERN_VERSION,
    SPOKEN,
    ProtocolError,
)


def is_request_id(value: Any) -> TypeGuard[str | int]:
    return isinstance(value, str | int) and not isinstance(value, bool)


def is_request(message: Mapping[str, Any]) -> bool:
    """Say whether a client waits for an answer to this, under an id that can be given back."""
    id_ = message.get("id")
    known = is_request_id(id_) or (isinstance(id_, float) and math.isfinite(id_))
    return known and not message.keys() & {"result", "error"}


def invalid_reason(message: Mapping[str, Any], line: bytes) -> ProtocolError | None:
    """Return what is wrong with a request that the SDK would pass over without an answer."""
    if not is_request(message):
        return None
    id_, params = message["id"], message.get("params")
    if message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return ProtocolError(INVALID_REQUEST, "This is not a JSON-RPC 2.0 request.")
    if isinstance(id_, float):
        return ProtocolError(INVALID_REQUEST, "The id of a request must be a text or an integer.")
    if params is not None and not isinstance(params, dict):
        return ProtocolError(INVALID_PARAMS, "The parameters of a request must be one object.")
    if b"\\ud" in line.lower() and not _is_unicode(message):
        return ProtocolError(
            INVALID_REQUEST, "The request contains half a character (a lone surrogate)."
        )
    return None


def _is_unicode(message: Mapping[str, Any]) -> bool:
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _request_meta(params: Any) -> Any:
    return params.get("_meta") if isinstance(params, dict) else None


def is_modern(params: Any) -> bool:
    meta = _request_meta(params)
    return isinstance(meta, dict) and SPOKEN in meta


def is_envelope(params: Any) -> bool:
    """Say whether the envelope is beyond doubt; a doubtful one is for the SDK to judge."""
    meta = _request_meta(params)
    return (
        isinstance(meta, dict)
        and meta.get(SPOKEN) == MODERN_VERSION
        and _are_capabilities(meta.get(CAPABILITIES))
        and (CLIENT_INFO not in meta or _is_implementation(meta[CLIENT_INFO]))
    )


def has_no_params(params: Any) -> bool:
    """Say whether a listing is asked for without anything that the SDK might refuse."""
    return params is None or (
        isinstance(params, dict) and not params.keys() - {"_meta"} and _is_meta(params)
    )


def _is_meta(params: Mapping[str, Any]) -> bool:
    meta = params.get("_meta", {})
    return (
        isinstance(meta, dict)
        and is_request_id(meta.get("progressToken", ""))
        and meta.get("io.modelcontextprotocol/logLevel", "info") in _LOG_LEVELS
    )


_LOG_LEVELS: Final = (
    *("debug", "info", "notice", "warning"),
    *("error", "critical", "alert", "emergency"),
)

RETRIED: Final = ("inputResponses", "requestState")
"""What a call of the newer era may have too: the answers to what its first result asked."""

_WANTED: Final[Mapping[str, Mapping[str, type]]] = {
    "tools/call": {"name": str, "arguments": dict, "requestState": str, "inputResponses": dict},
    "resources/read": {"uri": str},
    "prompts/get": {"name": str, "arguments": dict},
    "completion/complete": {"ref": dict, "argument": dict},
}
"""The methods that are answered here, with their parameters; dictionaries may be left out."""


def is_supported_request(method: str, params: Any, more: Collection[str]) -> bool:
    """Say whether a request is answered here, and has nothing that the SDK might refuse."""
    wanted = _WANTED.get(method)
    if wanted is None or not isinstance(params, dict) or not _is_meta(params):
        return False
    given = params.keys() - {"_meta"}
    if not given <= wanted.keys() - (set(RETRIED) - set(more)):
        return False
    if not all(isinstance(params[key], wanted[key]) for key in given):
        return False
    if not given >= {key for key, kind in wanted.items() if kind is str} - set(RETRIED):
        return False
    match method:
        case "tools/call":
            return all(map(is_elicited, params.get("inputResponses", {}).values()))
        case "prompts/get":
            return _are_texts(params.get("arguments", {}))
        case "completion/complete":
            return _is_completion(**{"ref": {}, "argument": {}, **params})
    return True


def _is_completion(ref: Any, argument: Any, **_rest: Any) -> bool:
    kinds = {"ref/prompt": {"type", "name"}, "ref/resource": {"type", "uri"}}
    return (
        _are_texts(ref)
        and kinds.get(ref.get("type")) == ref.keys()
        and _are_texts(argument)
        and argument.keys() == {"name", "value"}
    )


def _are_texts(value: Mapping[str, Any]) -> bool:
    return all(isinstance(part, str) for part in value.values())


def can_elicit(capabilities: Any) -> bool:
    """Say whether a client can ask a person; one that names kinds must name forms."""
    asking = capabilities.get("elicitation")
    return isinstance(asking, dict) and ("form" in asking or "url" not in asking)


VIEWS: Final = "io.modelcontextprotocol/ui"
VIEW_TYPE: Final = "text/html;profile=mcp-app"
"""The extension MCP Apps, and the type of document that a client of it must know."""


def shows_views(capabilities: Any) -> bool:
    """Say whether a client shows views beside results."""
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    found = extensions.get(VIEWS) if isinstance(extensions, dict) else None
    types = found.get("mimeTypes") if isinstance(found, dict) else None
    return isinstance(types, list) and VIEW_TYPE in types


def is_handshake(params: Any) -> bool:
    return (
        isinstance(params, dict)
        and isinstance(params.get("protocolVersion"), str)
        and _are_capabilities(params.get("capabilities"))
        and _is_implementation(params.get("clientInfo"))
        and params.keys() <= {"protocolVersion", "capabilities", "clientInfo"}
    )


def _are_capabilities(value: Any) -> bool:
    """Say whether a client's capabilities are made of objects and flags, as all known ones are."""
    return isinstance(value, dict) and all(
        isinstance(part, dict) and all(isinstance(leaf, dict | bool) for leaf in part.values())
        for part in value.values()
    )


def _is_implementation(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"name", "version"} <= value.keys()
        and all(isinstance(part, str) for part in value.values())
    )


def is_elicited(result: Any) -> bool:
    """Say whether this is the result of `elicitation/create`."""
    if not isinstance(result, dict) or result.get("action") not in ("accept", "decline", "cancel"):
        return False
    content = result.get("content")
    return content is None or (
        isinstance(content, dict)
        and all(
            isinstance(value, str | int | float | bool | None)
            or (isinstance(value, list) and all(isinstance(part, str) for part in value))
            for value in content.values()
        )
    )
