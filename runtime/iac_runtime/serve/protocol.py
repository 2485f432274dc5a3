"""The protocol's messages: what may be asked, and what is answered, as the SDK does both.

Each is written out here because the SDK is not imported over standard input and output; a test
compares them with the SDK's own, byte for byte, so that an SDK that changes its mind is noticed.
"""

import json
import math
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

from iac_base.errors import IacError

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

STOP_CALLS: Final = signal.SIGUSR1
END_TASKS: Final = signal.SIGUSR2
"""What the person of a server tells it beside the protocol: end the calls under way, end the tasks
that were approved.
"""

LIST_TTL_MS: Final = 60_000
"""Milliseconds for which a client of the modern era may keep a listing."""

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CONNECTION_CLOSED: Final = -32000
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
"""Codes of errors: those of JSON-RPC, one of the SDK's, two of the newer era."""

BATCHED_VERSION: Final = "2025-03-26"
"""The one version in which a client may send several messages as one list."""


def _without_secrets(text: str) -> str:
    # A server that is asked for lists alone does without.
    from iac_base.secrets import redact_text

    return redact_text(text)


class ProtocolError(IacError):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(_without_secrets(message))
        self.code, self.data = code, data


class Sender(NamedTuple):
    """Who sent a request, as far as it matters for the answer.

    Attributes:
        declared: Whether the client said that it can ask a person.
        token: What it wants word of the progress under, if it does.
        views: Whether it shows views beside results.
        tasks: Whether it takes a handle of a call that goes on.
    """

    name: str
    modern: bool
    declared: bool
    token: str | int | None
    views: bool = False
    tasks: bool = False


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


def error_message(
    id_: str | float | None, message: str, code: int = INTERNAL_ERROR, data: Any = None
) -> bytes:
    """Return the response to the request `id_` that is an error of the protocol."""
    error = {"code": code, "message": message}
    more = {} if data is None else {"data": data}
    return to_json({"jsonrpc": "2.0", "id": id_, "error": {**error, **more}})


def refusal_message(id_: str | float | None, error: ProtocolError) -> bytes:
    """Return the response to the request `id_` that says why it is refused."""
    return error_message(id_, str(error), error.code, error.data)


def notification_message(method: str, params: Mapping[str, Any]) -> bytes:
    """Return a notification for the client."""
    return to_json({"method": method, "params": params, "jsonrpc": "2.0"})


def request_message(id_: str, method: str, params: Mapping[str, Any]) -> bytes:
    """Return a request that the server sends."""
    return to_json({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def modern_result(result: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Return a result of the older era as the newer one wants it, with the keys in its order."""
    complete = {"resultType": "complete", **result}
    if method in ("resources/read", "skills/list", "skills/get"):
        complete |= {"cacheScope": "private", "ttlMs": 0}
    return {key: complete[key] for key in sorted(complete)}


def with_server_info(result: Mapping[str, Any], identity: ServerIdentity) -> dict[str, Any]:
    """Return a result of the newer era with what says whose it is."""
    return {**result, "_meta": {**result.get("_meta", {}), **_server_info(identity)}}


def one_line_error(error: BaseException) -> str:
    """Return what is said of an error that ended something: one line."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return _without_secrets(" ".join(str(error).split())) or type(error).__name__


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


def is_request_id(value: Any) -> TypeGuard[str | int]:
    """Say whether a client can have given this to a request."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def is_request(message: Mapping[str, Any]) -> bool:
    """Say whether a client waits for an answer to this, under an id that can be given back."""
    id_ = message.get("id")
    known = is_request_id(id_) or (isinstance(id_, float) and math.isfinite(id_))
    return known and not message.keys() & {"result", "error"}


def invalid_reason(message: Mapping[str, Any], line: bytes) -> ProtocolError | None:
    """Return what is wrong with a request that is none, though it has an id; `line` holds it."""
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


def is_modern(method: str, params: Mapping[str, Any]) -> bool:
    """Say whether a request is of the newer era, by its envelope."""
    meta = params.get("_meta")
    return method != "initialize" and isinstance(meta, dict) and SPOKEN in meta


def refused_reason(method: str, params: Mapping[str, Any]) -> ProtocolError | None:
    """Return why a request of a client is refused before it is looked at further.

    In the SDK's words and its order: the envelope, the method, the parameters.
    """
    modern = is_modern(method, params)
    if modern and (wrong := _envelope_fault(params["_meta"])):
        return wrong
    shape = (_MODERN_PARAMS if modern else _LEGACY_PARAMS).get(method)
    if shape is None:
        return method_not_found(method)
    return _params_fault({"_meta?": _MODERN_META if modern else _META, **shape}, params)


def extension_fault(method: str, params: Mapping[str, Any]) -> ProtocolError | None:
    """Return what is wrong with a request whose parameters the SDK lets through unread."""
    return _params_fault(_EXTENSION_PARAMS.get(method, {}), params)


def _params_fault(shape: "Mapping[str, _Check]", params: Mapping[str, Any]) -> ProtocolError | None:
    fits = _fits(shape)(params)
    return None if fits else ProtocolError(INVALID_PARAMS, "Invalid request parameters", "")


def method_not_found(method: str) -> ProtocolError:
    """Return the error for a method that is not offered."""
    return ProtocolError(METHOD_NOT_FOUND, "Method not found", method)


def _envelope_fault(meta: Mapping[str, Any]) -> ProtocolError | None:
    if CAPABILITIES not in meta:
        text = f"params._meta is missing the required envelope key(s): {CAPABILITIES}"
        return ProtocolError(INVALID_PARAMS, text)
    if not isinstance(meta[SPOKEN], str):
        text = "the protocol-version envelope value must be a string"
        return ProtocolError(INVALID_PARAMS, text)
    if meta[SPOKEN] != MODERN_VERSION:
        versions = {"supported": [MODERN_VERSION], "requested": meta[SPOKEN]}
        return ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", versions)
    return None


_Check = Callable[[Any], bool]


def _is(kind: type) -> _Check:
    return lambda value: isinstance(value, kind)


def _values(check: _Check) -> _Check:
    """Return a check of the values of an object."""
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _fits(shape: Mapping[str, _Check]) -> _Check:
    """Return a check of an object: a key with ? may be absent or null, others are free."""

    def check_object(value: Any) -> bool:
        return isinstance(value, dict) and all(
            (key[-1] == "?" and value.get(key[:-1]) is None) or check(value.get(key.rstrip("?")))
            for key, check in shape.items()
        )

    return check_object


def _is_token(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and value.is_integer())


_LOG_LEVELS: Final = (
    *("debug", "info", "notice", "warning"),
    *("error", "critical", "alert", "emergency"),
)
_TEXT, _OBJECT = _is(str), _is(dict)
_TEXTS: Final = _values(_TEXT)
_CLIENT: Final = _fits({"name": _TEXT, "version": _TEXT, "title?": _TEXT, "websiteUrl?": _TEXT})
_ABILITIES: Final = _fits(
    dict.fromkeys(
        ("roots?", "sampling?", "elicitation?", "experimental?", "extensions?", "tasks?"), _OBJECT
    )
)
_META: Final = _fits({"progressToken?": _is_token})
_MODERN_META: Final = _fits(
    {
        "progressToken?": _is_token,
        "io.modelcontextprotocol/logLevel?": _LOG_LEVELS.__contains__,
        f"{CLIENT_INFO}?": _CLIENT,
        CAPABILITIES: _ABILITIES,
    }
)


def is_elicited(result: Any) -> bool:
    """Say whether this is the result of `elicitation/create`."""
    return _ELICITED(result)


_ELICITED: Final = _fits(
    {
        "action": ("accept", "decline", "cancel").__contains__,
        "content?": _values(
            lambda value: isinstance(value, str | int | float | None) or _is_text_list(value)
        ),
    }
)
# The client may answer what was not asked: its roots, a message of its model.
_RESPONSES: Final = _values(
    lambda row: isinstance(row, dict) and (is_elicited(row) or "action" not in row)
)
_REFERENCES: Final = {"ref/prompt": _fits({"name": _TEXT}), "ref/resource": _fits({"uri": _TEXT})}
_PARAMS: Final[Mapping[str, Mapping[str, _Check]]] = {
    **{method: {"cursor?": _TEXT} for method in LISTS},
    "tools/call": {
        "name": _TEXT,
        "arguments?": _OBJECT,
        "task?": _OBJECT,
        "requestState?": _TEXT,
        "inputResponses?": _RESPONSES,
    },
    "resources/read": {"uri": _TEXT},
    "prompts/get": {"name": _TEXT, "arguments?": _TEXTS},
    "completion/complete": {
        "ref": lambda row: (
            isinstance(row, dict) and _REFERENCES.get(str(row.get("type")), _is(bool))(row)
        ),
        "argument": _fits({"name": _TEXT, "value": _TEXT}),
        "context?": _fits({"arguments?": _TEXTS}),
    },
}
_LEGACY_PARAMS: Final[Mapping[str, Mapping[str, _Check]]] = {
    **_PARAMS,
    "initialize": {"protocolVersion": _TEXT, "capabilities": _ABILITIES, "clientInfo": _CLIENT},
    "ping": {},
    # Not offered; one that is wrong in itself is told so.
    "logging/setLevel": {"level": _LOG_LEVELS.__contains__},
    "resources/subscribe": {"uri": _TEXT},
    "resources/unsubscribe": {"uri": _TEXT},
}
LISTENED: Final = ("tools", "prompts", "resources")
"""The kinds of lists that a client of the newer era may listen to."""

_EXTENSION_PARAMS: Final[Mapping[str, Mapping[str, _Check]]] = {
    "skills/list": {"cursor?": _TEXT},
    "skills/get": {"uri": _TEXT},
    "tasks/get": {"taskId": _TEXT},
    "tasks/update": {"taskId": _TEXT, "inputResponses": _RESPONSES},
    "tasks/cancel": {"taskId": _TEXT},
}
"""Of methods that the SDK does not know."""

_MODERN_PARAMS: Final[Mapping[str, Mapping[str, _Check]]] = {
    **_PARAMS,
    **_EXTENSION_PARAMS,
    "server/discover": {},
    "subscriptions/listen": {
        "notifications": _fits(
            {
                **{f"{kind}ListChanged?": _is(bool) for kind in LISTENED},
                "resourceSubscriptions?": _is_text_list,
            }
        )
    },
}
"""Method -> what its parameters must be, in each era."""


def can_elicit(capabilities: Mapping[str, Any]) -> bool:
    """Say whether a client can ask a person; one that names kinds must name forms."""
    asking = capabilities.get("elicitation")
    return isinstance(asking, dict) and ("form" in asking or "url" not in asking)


SKILL_EXTENSION: Final = "io.modelcontextprotocol/skills"
"""The extension under which guides are skills."""

TASK_EXTENSION: Final = "io.modelcontextprotocol/tasks"
"""The extension in which a call that takes long is answered with a handle."""


def takes_tasks(capabilities: Mapping[str, Any]) -> bool:
    """Say whether a client takes a handle of a call that goes on."""
    return TASK_EXTENSION in (capabilities.get("extensions") or {})


VIEW_EXTENSION: Final = "io.modelcontextprotocol/ui"
VIEW_TYPE: Final = "text/html;profile=mcp-app"
"""The extension MCP Apps, and the type of document that a client of it must know."""


def shows_views(capabilities: Mapping[str, Any]) -> bool:
    """Say whether a client shows views beside results."""
    extension = (capabilities.get("extensions") or {}).get(VIEW_EXTENSION)
    types = extension.get("mimeTypes") if isinstance(extension, dict) else None
    return isinstance(types, list) and VIEW_TYPE in types
