"""What the front does with a message: answer it as the SDK would, or hand it to an era's session.

Each is written out here because the SDK is not imported yet when a client asks; a test compares
them with the SDK's own, so that an SDK that changes its mind is noticed.

The rule is per message: a client may speak both eras on one connection, as some do when they look
for the newer one first.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeGuard

from iac_base.errors import IacError

Era = Literal["legacy", "modern"]

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize`; the last is offered for one not known."""

MODERN_VERSION: Final = "2026-07-28"
"""The version without a handshake: every request says in `_meta` what it speaks."""

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
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
        "_meta": _stamp(identity),
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


def _stamp(identity: ServerIdentity) -> dict[str, Any]:
    info = {"name": identity.name, "version": identity.version}
    return {"io.modelcontextprotocol/serverInfo": info}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Backend(Protocol):
    """The sessions of the SDK behind the front."""

    def prepare(self) -> None:
        """Begin to import what a session needs; returns at once."""

    def feed(self, era: Era, line: bytes) -> None:
        """Hand a message to the session of an era, which is begun if need be."""

    def replay(self, line: bytes) -> None:
        """Give the legacy session the client's `initialize`; its answer is kept from the client."""

    def started(self, era: Era) -> bool:
        """Say whether the session of an era has been begun."""
        ...


class Router:
    """Answers or hands on, one message at a time; used by one thread.

    Args:
        identity: What the server says of itself.
        lines: Returns the finished listing entries.
        backend: Takes every message that is not answered here.
        write: Sends one message to the client.
        others: Returns the finished entries of other listings, by method.
    """

    def __init__(
        self,
        identity: ServerIdentity,
        lines: Callable[[], list[bytes]],
        backend: Backend,
        write: Callable[[bytes], None],
        others: Mapping[str, Callable[[], list[bytes]]] = {},
    ) -> None:
        self._identity = identity
        self._lists = {**others, "tools/list": lines}
        self._backend = backend
        self._write = write
        self._opening: bytes | None = None
        self._initialized: bytes | None = None
        self._asked: dict[str | int, Era] = {}

    @property
    def listening(self) -> bool:
        """Whether a legacy client has said that it is ready for notifications."""
        return self._initialized is not None

    def take(self, line: bytes) -> None:
        """Deal with one line of input; one that is no message is said on standard error only."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        message = message if isinstance(message, dict) else {}
        method, id_, params = (message.get(key) for key in ("method", "id", "params"))
        if message.get("jsonrpc") == "2.0" and isinstance(method, str) and _is_id(id_):
            if not self._answered(method, id_, params, line):
                self._request(method, id_, params, line)
        elif method is not None and "id" not in message:
            self._notification(method, params, line)
        else:
            self._hand_on("modern" if self._only_modern() else "legacy", line)

    def _answered(self, method: str, id_: str | int, params: Any, line: bytes) -> bool:
        if method == "initialize":
            return self._initialize(id_, params, line)
        if _is_modern(params):
            return self._modern(method, id_, params)
        if method == "ping" and params in (None, {}):
            self._write(answer(id_, {}))
            return True
        if method in self._lists and self._opening is not None and _is_bare(params):
            return self._list(method, id_, modern=False)
        return False

    def _initialize(self, id_: str | int, params: Any, line: bytes) -> bool:
        # A second handshake is the session's business: it knows what the first one set up.
        if self._backend.started("legacy") or not _is_handshake(params):
            return False
        self._opening = line
        self._write(answer(id_, initialize_result(self._identity, params["protocolVersion"])))
        return True

    def _modern(self, method: str, id_: str | int, params: Any) -> bool:
        if not _is_envelope(params):
            return False
        if method == "server/discover" and params.keys() == {"_meta"}:
            self._write(answer(id_, discover_result(self._identity)))
            return True
        if method not in self._lists or not _is_bare(params):
            return False
        return self._list(method, id_, modern=True)

    def _list(self, method: str, id_: str | int, *, modern: bool) -> bool:
        try:
            lines = self._lists[method]()
        except IacError:
            # The session says what is wrong with the tools.
            return False
        result = listing_result(lines, self._identity, modern=modern, method=method)
        self._write(answer(id_, result))
        if method == "tools/list":
            self._backend.prepare()
        return True

    def changed(self) -> None:
        """Tell a client of the older era that the lists are others; from any thread.

        One of the newer era hears it from the session, where it listens.
        """
        if self.listening:
            for notification in CHANGED:
                self._write(notification)

    def _request(self, method: str, id_: str | int, params: Any, line: bytes) -> None:
        era: Era = "modern" if method != "initialize" and _is_modern(params) else "legacy"
        self._asked[id_] = era
        if len(self._asked) > 10_000:
            self._asked.pop(next(iter(self._asked)))
        self._hand_on(era, line)

    def _notification(self, method: Any, params: Any, line: bytes) -> None:
        if method == "notifications/initialized":
            began = self._backend.started("legacy")
            self._initialized = line
            if not began:
                return
        if method == "notifications/cancelled" and isinstance(params, dict):
            wanted = params.get("requestId")
            era = self._asked.get(wanted) if _is_id(wanted) else None
            if era is not None:
                self._hand_on(era, line)
            return
        self._hand_on("modern" if _is_modern(params) or self._only_modern() else "legacy", line)

    def _only_modern(self) -> bool:
        return self._opening is None and self._backend.started("modern")

    def _hand_on(self, era: Era, line: bytes) -> None:
        if era == "legacy" and not self._backend.started("legacy") and self._opening is not None:
            self._backend.replay(self._opening)
            if self._initialized is not None:
                self._backend.feed("legacy", self._initialized)
        self._backend.feed(era, line)


def _is_id(value: Any) -> TypeGuard[str | int]:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _meta(params: Any) -> Any:
    return params.get("_meta") if isinstance(params, dict) else None


def _is_modern(params: Any) -> bool:
    meta = _meta(params)
    return isinstance(meta, dict) and _VERSION in meta


def _is_envelope(params: Any) -> bool:
    """Say whether the envelope is beyond doubt; a doubtful one is for the SDK to judge."""
    meta = _meta(params)
    return (
        isinstance(meta, dict)
        and meta.get(_VERSION) == MODERN_VERSION
        and _are_capabilities(meta.get(_CAPABILITIES))
        and (CLIENT_INFO not in meta or _is_implementation(meta[CLIENT_INFO]))
    )


def _is_bare(params: Any) -> bool:
    """Say whether a listing is asked for without anything that the SDK might refuse."""
    if params is None:
        return True
    if not isinstance(params, dict) or params.keys() - {"_meta"}:
        return False
    meta = params.get("_meta", {})
    token = meta.get("progressToken", "") if isinstance(meta, dict) else None
    return isinstance(meta, dict) and _is_id(token)


def _is_handshake(params: Any) -> bool:
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
