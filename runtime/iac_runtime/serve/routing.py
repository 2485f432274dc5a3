"""What the front does with a message: answer it as the SDK would, or hand it to an era's session.

The rule is per message: a client may speak both eras on one connection, as some do when they look
for the newer one first.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from iac_base.errors import IacError
from iac_runtime.serve.messages import (
    BATCHED_VERSION,
    CAPABILITIES,
    CHANGED,
    CLIENT_INFO,
    INVALID_REQUEST,
    Era,
    Sender,
    ServerIdentity,
    discover_result,
    error_message,
    initialize_result,
    listing_result,
    result_message,
    to_json,
)
from iac_runtime.serve.plain import (
    RETRIED,
    can_elicit,
    has_no_params,
    invalid_reason,
    is_envelope,
    is_handshake,
    is_modern,
    is_request,
    is_request_id,
    is_supported_request,
    shows_views,
)

if TYPE_CHECKING:
    from iac_runtime.serve.answering import RequestPool


class Backend(Protocol):
    """The sessions of the SDK behind the front."""

    def prepare(self) -> None:
        """Begin to import what a session needs; returns at once."""

    def feed_message(self, era: Era, line: bytes) -> None:
        """Hand a message to the session of an era, which is begun if need be."""

    def replay_handshake(self, line: bytes) -> None:
        """Give the legacy session the client's `initialize`; its answer is kept from the client."""

    def has_started(self, era: Era) -> bool:
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
        answering: Answers what leads behind the listings, where the SDK need not.
    """

    def __init__(
        self,
        identity: ServerIdentity,
        lines: Callable[[], list[bytes]],
        backend: Backend,
        write: Callable[[bytes], None],
        others: Mapping[str, Callable[[], list[bytes]]] = {},
        answering: "RequestPool | None" = None,
    ) -> None:
        self._identity = identity
        self._lists = {**others, "tools/list": lines}
        self._backend = backend
        self._write = write
        self._answering = answering
        self._opening: bytes | None = None
        self._opened: Mapping[str, Any] = {}
        self._initialized: bytes | None = None
        self._asked: dict[str | int, Era] = {}

    @property
    def is_listening(self) -> bool:
        """Whether a legacy client has said that it is ready for notifications."""
        return self._initialized is not None

    def handle_line(self, line: bytes) -> None:
        """Deal with one line of input; one that is no message is said on standard error only."""
        try:
            message = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, list):
            self._handle_message(message if isinstance(message, dict) else {}, line)
            return
        for part in message:
            if self._opened.get("protocolVersion") == BATCHED_VERSION and isinstance(part, dict):
                self._handle_message(part, to_json(part))
            elif isinstance(part, dict) and is_request(part):
                text = "This version of the protocol does not allow batches."
                self._write(error_message(part["id"], text, INVALID_REQUEST))

    def _handle_message(self, message: dict[str, Any], line: bytes) -> None:
        wrong = invalid_reason(message, line)
        if wrong is not None:
            self._write(error_message(message["id"], str(wrong), wrong.code))
            return
        method, id_, params = (message.get(key) for key in ("method", "id", "params"))
        if message.get("jsonrpc") == "2.0" and isinstance(method, str) and is_request_id(id_):
            if not self._answer_here(method, id_, params, line):
                self._forward_request(method, id_, params, line)
        elif method is not None and "id" not in message:
            self._handle_notification(method, params, line)
        elif self._answering is None or not self._answering.deliver_reply(message):
            self._forward_line("modern" if self._is_only_modern() else "legacy", line)

    def _answer_here(self, method: str, id_: str | int, params: Any, line: bytes) -> bool:
        if method == "initialize":
            return self._answer_initialize(id_, params, line)
        if is_modern(params):
            return self._answer_modern(method, id_, params)
        if method == "ping" and params in (None, {}):
            self._write(result_message(id_, {}))
            return True
        if self._opening is None:
            return False
        if method in self._lists and has_no_params(params):
            return self._answer_listing(method, id_, self._opened["capabilities"], modern=False)
        client = self._opened.get("clientInfo", {})
        return self._submit_request(
            method, id_, params, client, self._opened.get("capabilities"), ()
        )

    def _identity_for(self, capabilities: Any) -> ServerIdentity:
        """Return what the server says of itself to a client of these capabilities."""
        if not shows_views(capabilities):
            return self._identity
        from iac_runtime.serve.views import identity_with_views

        return identity_with_views(self._identity)

    def _answer_initialize(self, id_: str | int, params: Any, line: bytes) -> bool:
        if not is_handshake(params):
            return False
        self._opening, self._opened = line, params
        # A second handshake is the session's business: it knows what the first one set up.
        if self._backend.has_started("legacy"):
            return False
        said = self._identity_for(params["capabilities"])
        self._write(result_message(id_, initialize_result(said, params["protocolVersion"])))
        return True

    def _answer_modern(self, method: str, id_: str | int, params: Any) -> bool:
        if not is_envelope(params):
            return False
        if method == "server/discover" and params.keys() == {"_meta"}:
            said = self._identity_for(params["_meta"][CAPABILITIES])
            self._write(result_message(id_, discover_result(said)))
            return True
        meta = params["_meta"]
        if method in self._lists:
            return has_no_params(params) and self._answer_listing(
                method, id_, meta[CAPABILITIES], modern=True
            )
        client = meta.get(CLIENT_INFO, {})
        return self._submit_request(method, id_, params, client, meta[CAPABILITIES], RETRIED)

    def _answer_listing(
        self, method: str, id_: str | int, capabilities: Any, *, modern: bool
    ) -> bool:
        try:
            lines = self._lists[method]()
        except IacError:
            # The session says what is wrong with the tools.
            return False
        if shows_views(capabilities):
            from iac_runtime.serve.views import with_views

            lines = with_views(method, lines)
        result = listing_result(lines, self._identity, modern=modern, method=method)
        self._write(result_message(id_, result))
        if method == "tools/list":
            # Calls will follow.
            (self._answering or self._backend).prepare()
        return True

    def _submit_request(
        self,
        method: str,
        id_: str | int,
        params: Any,
        client: Mapping[str, Any],
        capabilities: Any,
        more: Collection[str],
    ) -> bool:
        """Have a request answered here, if it is one of these and beyond doubt."""
        if self._answering is None or not is_supported_request(method, params, more):
            return False
        meta = params.get("_meta", {})
        sender = Sender(
            *(client.get("name", ""), bool(more), can_elicit(capabilities)),
            *(meta.get("progressToken"), shows_views(capabilities)),
        )
        self._answering.submit(method, id_, params, sender)
        return True

    def notify_changed(self) -> None:
        """Tell a client of the older era that the lists are others; from any thread.

        One of the newer era hears it from the session, where it listens.
        """
        if self.is_listening:
            for notification in CHANGED:
                self._write(notification)

    def _forward_request(self, method: str, id_: str | int, params: Any, line: bytes) -> None:
        era: Era = "modern" if method != "initialize" and is_modern(params) else "legacy"
        self._asked[id_] = era
        if len(self._asked) > 10_000:
            self._asked.pop(next(iter(self._asked)))
        self._forward_line(era, line)

    def _handle_notification(self, method: Any, params: Any, line: bytes) -> None:
        if method == "notifications/initialized":
            began = self._backend.has_started("legacy")
            self._initialized = line
            if not began:
                return
        if method == "notifications/cancelled" and isinstance(params, dict):
            wanted = params.get("requestId")
            if not is_request_id(wanted) or (
                self._answering and self._answering.cancel_request(wanted)
            ):
                return
            era = self._asked.get(wanted)
            if era is not None:
                self._forward_line(era, line)
            return
        if self._answering is not None and method == "notifications/progress":
            # Nothing here asks for word of it; a session need not be begun for that.
            return
        self._forward_line(
            "modern" if is_modern(params) or self._is_only_modern() else "legacy", line
        )

    def _is_only_modern(self) -> bool:
        return self._opening is None and self._backend.has_started("modern")

    def _forward_line(self, era: Era, line: bytes) -> None:
        if (
            era == "legacy"
            and not self._backend.has_started("legacy")
            and self._opening is not None
        ):
            self._backend.replay_handshake(self._opening)
            if self._initialized is not None:
                self._backend.feed_message("legacy", self._initialized)
        self._backend.feed_message(era, line)
