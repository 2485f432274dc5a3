"""`iac-mcp serve`: the front first, from the first byte to the last; everything else when needed.

Imports what the first answers need and no more; the gate and the policy follow in a thread, unless
a policy or a setting must be looked at before anything is listed. A client may speak both eras on
one connection, as some do when they look for the newer one first: what holds is said per message.
"""

import contextlib
import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from iac_base.errors import IacError, SetupError
from iac_base.files import config_file
from iac_runtime.serve.listing import (
    CALL_SECONDS,
    HTTP_OPTIONS,
    SEARCH,
    Choice,
    Listings,
    app_resources,
)
from iac_runtime.serve.protocol import (
    BATCHED_VERSION,
    CAPABILITIES,
    CHANGED,
    CLIENT_INFO,
    END_TASKS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LISTENED,
    SKILL_EXTENSION,
    STOP_CALLS,
    TASK_EXTENSION,
    ProtocolError,
    Sender,
    ServerIdentity,
    can_elicit,
    discover_result,
    error_message,
    initialize_result,
    invalid_reason,
    is_modern,
    is_request,
    is_request_id,
    listing_result,
    method_not_found,
    refusal_message,
    refused_reason,
    result_message,
    shows_views,
    takes_tasks,
    to_json,
)
from iac_runtime.serve.rebuild import BuildWatch, LazyGate
from iac_runtime.serve.workers import RequestPool, request_key
from iac_runtime.tools.catalogue import tool_folders
from iac_runtime.version import VERSION

GRACE: Final = 0.45
"""Seconds that calls have to end when the client closes its end or a signal arrives."""

INSTRUCTIONS: Final = Path(__file__).with_name("instructions.md").read_text(encoding="utf-8")

PLANS: Final = (
    "For steps that depend on each other, or many objects, use run_plan: a short"
    " program that calls tools. The user approves it once, with everything it would change, and"
    " you get its result.\n"
)
"""What is said besides where plans are listed and can run."""

_CHANGES: Final = {"listChanged": True}

DECLARED: Final = {
    era: {
        "completions": {},
        "prompts": _CHANGES,
        "resources": {**_CHANGES, "subscribe": era == "modern"},
        "tools": _CHANGES,
        **({"extensions": {SKILL_EXTENSION: {}, TASK_EXTENSION: {}}} if era == "modern" else {}),
    }
    for era in ("legacy", "modern")
}

_JUDGED: Final = (
    *("read_only", "rate_limit", "blocklist", "policy"),
    *("allow", "launch", "timeout", "simulate"),
)
"""Options that can be wrong in ways that only the gate knows."""

_VARIABLES: Final = ("IAC_READ_ONLY", "IAC_RATE_LIMIT", "IAC_BLOCKLIST", "ACCESSIBILITY_MCP_")

MAX_LINE: Final = 32 * 1024 * 1024
"""Bytes of a message; longer ones are dropped, for they would have to be kept whole."""

_CHUNK: Final = 65_536

PATIENCE: Final = 10.0
"""Seconds for which a client may read nothing at all; a slow one may take any time."""

_LATER: Final = 2.0
"""Seconds after the start until a policy is looked at for words that nothing here knows."""

MAX_LISTENING: Final = 1_024
"""Requests of the newer era that listen for changes at once."""

POOLED: Final = {
    *("tools/call", "resources/read", "prompts/get", "completion/complete"),
    *("skills/list", "skills/get", "tasks/get", "tasks/update", "tasks/cancel"),
}
"""The methods that lead behind the listings."""


class Wire:
    """Messages in and out, one JSON object a line; `write` is safe from any thread.

    Attributes:
        alarm: A descriptor; a byte written to it brings the reader out of its wait, so that it
            sees a signal that another thread was given, or that the client is gone.
        broken: The client went away, or stopped reading; nothing is written any more.
    """

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._woken, self.alarm = os.pipe()
        os.set_blocking(self.alarm, False)
        self._input, self._room = select.poll(), select.poll()
        self._input.register(reading, select.POLLIN)
        self._input.register(self._woken, select.POLLIN)
        self._room.register(writing, select.POLLOUT)
        self._lock = threading.Lock()
        self.broken = False

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines that arrive, without those that are empty or too long."""
        line, dropped = bytearray(), False
        while chunk := self._read_chunk():
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                line += part
                if dropped or len(line) > MAX_LINE:
                    os.write(2, b"iac-mcp: a message of more than 32 MB was dropped.\n")
                elif line and not line.isspace():
                    yield bytes(line)
                line, dropped = bytearray(), False
            line += rest
            if len(line) > MAX_LINE:
                line, dropped = bytearray(), True
        if line and not dropped and not self.broken:
            yield bytes(line)

    def _read_chunk(self) -> bytes:
        """Return what arrived, or nothing at the end of the input or of the client."""
        while not self.broken:
            ready = {fd for fd, _ in self._input.poll()}
            if self._reading in ready:
                return os.read(self._reading, _CHUNK)
            os.read(self._woken, _CHUNK)
        return b""

    def write(self, line: bytes) -> None:
        """Send one message; `line` has no newline in it. After the client is gone, nothing."""
        data = memoryview(line + b"\n")
        with self._lock:
            if self.broken:
                return
            try:
                while data:
                    if not self._room.poll(PATIENCE * 1000):
                        raise TimeoutError
                    # Where there is room, this much is taken without waiting.
                    data = data[os.write(self._writing, data[: select.PIPE_BUF]) :]
            except OSError:
                self.broken = True
        if self.broken:
            with contextlib.suppress(BlockingIOError):
                os.write(self.alarm, b"\0")


def claim_stdio() -> Wire:
    """Take standard input and output for the protocol.

    Afterwards descriptor 0 reads nothing and descriptor 1 goes to standard error: a child or a
    print that uses them cannot disturb the protocol.
    """
    reading, writing = _above_standard(0), _above_standard(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Wire(reading, writing)


def _above_standard(fd: int) -> int:
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


class Router:
    """Answers one message at a time, or has it answered; used by one thread.

    Args:
        identity: What the server says of itself.
        lists: Returns the finished entries of each listing, by method.
        pool: Answers what leads behind the listings.
        write: Sends one message to the client.
    """

    def __init__(
        self,
        identity: ServerIdentity,
        lists: Mapping[str, Callable[[], list[bytes]]],
        pool: RequestPool,
        write: Callable[[bytes], None],
    ) -> None:
        self._identity = identity
        self._lists = lists
        self._pool = pool
        self._write = write
        self._opened: Mapping[str, Any] | None = None
        self._is_told = False
        self._listening: dict[str | int, tuple[str | int, Mapping[str, Any]]] = {}
        self._changing = threading.Lock()

    def handle_line(self, line: bytes) -> None:
        """Deal with one line of input; one that is no message is passed over."""
        try:
            message = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return
        batched = (self._opened or {}).get("protocolVersion") == BATCHED_VERSION
        for part in message if isinstance(message, list) else [message]:
            if not isinstance(part, dict):
                continue
            if isinstance(message, list) and not batched:
                if is_request(part):
                    text = "This version of the protocol does not allow batches."
                    self._write(error_message(part["id"], text, INVALID_REQUEST))
            elif wrong := invalid_reason(part, line):
                self._write(refusal_message(part["id"], wrong))
            else:
                self._handle_message(part)

    def _handle_message(self, message: Mapping[str, Any]) -> None:
        method: Any = message.get("method")
        id_: Any = message.get("id")
        params: Any = message.get("params")
        if is_request(message):
            try:
                self._handle_request(method, id_, params or {})
            except ProtocolError as error:
                self._write(refusal_message(id_, error))
        elif method is None:
            self._pool.deliver_reply(message)
        elif "id" in message:
            return
        elif method == "notifications/initialized":
            self._is_told = True
        elif method == "notifications/cancelled" and isinstance(params, dict):
            self._cancel_request(params.get("requestId"))

    def _cancel_request(self, id_: Any) -> None:
        if is_request_id(id_):
            self._pool.cancel_request(id_)
            self._listening.pop(request_key(id_), None)

    def _handle_request(self, method: str, id_: str | int, params: Mapping[str, Any]) -> None:
        """Answer a request, or have it answered.

        Raises:
            ProtocolError: It is refused.
        """
        if wrong := refused_reason(method, params):
            raise wrong
        modern, meta = is_modern(method, params), params.get("_meta") or {}
        if method == "initialize":
            self._opened = params
        client = self._opened or {}
        abilities = meta[CAPABILITIES] if modern else client.get("capabilities", {})
        info = (meta.get(CLIENT_INFO) or {}) if modern else client.get("clientInfo", {})
        if method not in self._lists and method not in (*POOLED, *_ANSWERED):
            raise method_not_found(method)
        if not modern and self._opened is None and method != "ping":
            raise ProtocolError(INVALID_PARAMS, "Invalid request parameters", "")
        if method in self._lists:
            self._write_listing(method, id_, abilities, modern=modern)
        elif method in POOLED:
            sender = Sender(
                *(info.get("name", ""), modern, can_elicit(abilities)),
                *(meta.get("progressToken"), shows_views(abilities), takes_tasks(abilities)),
            )
            self._pool.submit(method, id_, params, sender)
        elif method == "subscriptions/listen":
            self._listen(id_, params["notifications"])
        else:
            self._write(result_message(id_, self._own_result(method, params, abilities)))

    def _own_result(
        self, method: str, params: Mapping[str, Any], abilities: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the result of a request for what the server says of itself."""
        if method == "ping":
            return {}
        identity = self._identity
        if shows_views(abilities):
            from iac_runtime.serve.resources import identity_with_views

            identity = identity_with_views(identity)
        if method == "initialize":
            return initialize_result(identity, params["protocolVersion"])
        return discover_result(identity)

    def _write_listing(
        self, method: str, id_: str | int, abilities: Mapping[str, Any], *, modern: bool
    ) -> None:
        try:
            lines = self._lists[method]()
        except IacError as error:
            raise ProtocolError(INTERNAL_ERROR, str(error)) from error
        if shows_views(abilities):
            from iac_runtime.serve.resources import with_views

            lines = with_views(method, lines)
        result = listing_result(lines, self._identity, modern=modern, method=method)
        self._write(result_message(id_, result))
        if method == "tools/list":
            # Calls will follow.
            self._pool.prepare()

    def _listen(self, id_: str | int, wanted: Mapping[str, Any]) -> None:
        """Have a client of the newer era hear of changes until it cancels the request."""
        if len(self._listening) >= MAX_LISTENING:
            raise ProtocolError(INTERNAL_ERROR, "Subscription limit reached")
        kinds = (*(f"{kind}ListChanged" for kind in LISTENED), "resourceSubscriptions")
        kept = {kind: wanted[kind] for kind in kinds if wanted.get(kind)}
        with self._changing:
            self._notify(id_, "subscriptions/acknowledged", notifications=kept)
            self._listening[request_key(id_)] = id_, kept

    def _notify(self, listener: str | int, kind: str, **facts: Any) -> None:
        params = {"_meta": {"io.modelcontextprotocol/subscriptionId": listener}, **facts}
        notification = {"method": f"notifications/{kind}", "params": params}
        self._write(to_json({"jsonrpc": "2.0", **notification}))

    def notify_changed(self) -> None:
        """Tell the client that the lists are others; from any thread."""
        if self._is_told:
            for notification in CHANGED:
                self._write(notification)
        with self._changing:
            for id_, kept in list(self._listening.values()):
                for kind in LISTENED:
                    if kept.get(f"{kind}ListChanged"):
                        self._notify(id_, f"{kind}/list_changed")
                if wanted := kept.get("resourceSubscriptions"):
                    for uri in app_resources(self._lists["resources/list"]()):
                        if uri in wanted:
                            self._notify(id_, "resources/updated", uri=uri)


_ANSWERED: Final = ("initialize", "ping", "server/discover", "subscriptions/listen")
"""The methods that are answered by the front itself."""


class _StopError(Exception):
    """A signal asked for the end."""


def serve_stdio(
    identity: ServerIdentity,
    lists: Mapping[str, Callable[[], list[bytes]]],
    methods: Callable[[], Mapping[str, Any]],
    close: Callable[[], None] = lambda: None,
    hear: Callable[[Callable[[], None]], object] = lambda _tell: None,
) -> None:
    """Serve until the client closes its end, or TERM or INT arrives; over within a second.

    Args:
        identity: What the server says of itself.
        lists: Returns the finished entries of each listing, by method.
        methods: Opens what answers the requests that lead behind the listings.
        close: Ends what the server began (children, files); called once, at the end.
        hear: Is given what to call, in any thread, when the lists are others.
    """
    wire = claim_stdio()
    pool = RequestPool(methods, identity, wire.write)
    router = Router(identity, lists, pool, wire.write)
    hear(router.notify_changed)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _handle_signal)
    # The system may hand a signal to any thread; the one that reads must see it.
    signal.set_wakeup_fd(wire.alarm, warn_on_full_buffer=False)
    grace = GRACE
    try:
        for line in wire:
            router.handle_line(line)
    except _StopError:
        grace = 0.0
    _shut_down(pool, close, grace)


def _handle_signal(_number: int, _frame: FrameType | None) -> None:
    raise _StopError


def _shut_down(pool: RequestPool, close: Callable[[], None], grace: float) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    started = time.monotonic()
    ended = pool.close(grace)
    try:
        close()
    finally:
        if time.monotonic() - started > 2 * GRACE or pool.failure or not ended:
            # A thread that does not end must not keep the process.
            os._exit(1 if pool.failure else 0)


def server_identity(surface: str = "", instructions: str = INSTRUCTIONS) -> ServerIdentity:
    """Return what the server says of itself; `surface` is what it lists."""
    plans = "plans" in surface.split(",") and find_spec("pydantic_monty") is not None
    # A session lasts hours: list_apps says what the time is by then.
    today = time.strftime("The session began on %A %Y-%m-%d, time zone %Z (%z).\n")
    return ServerIdentity("iac", VERSION, instructions + today + PLANS * plans, DECLARED)


class PreparedServer(NamedTuple):
    """What a server serves, whatever it serves on; `patience` are the seconds for a call."""

    identity: ServerIdentity
    lines: Listings
    gate: LazyGate
    patience: float

    def start_watch(self) -> BuildWatch:
        """Begin to look for tools that are built anew, and to hear what the page asks for."""
        signal.signal(STOP_CALLS, lambda *_: self.gate.stop_calls())
        signal.signal(END_TASKS, lambda *_: self.gate.end_tasks())
        watch = BuildWatch(self.gate.reload_tools, self.gate.changes)
        watch.start()
        return watch


def prepare_server(raw: Mapping[str, Any]) -> PreparedServer:
    """Return what is served; `raw` are the options by name, as texts.

    Raises:
        SetupError: An option, a folder or the policy is not right.
    """
    if raw.get("verbose") or raw.get("log_file"):
        from iac_base.logs import start_logging

        start_logging(verbose=bool(raw.get("verbose")), file=raw.get("log_file"))

    def find_folders() -> list[Any]:
        return tool_folders([Path(folder) for folder in raw.get("tools") or ()])

    folders = find_folders()
    opened = _open_early(raw)
    read_only = opened.read_only if opened is not None else False
    lines = Listings(folders, _listing_choice(raw, read_only=read_only), find_folders)
    # What is wrong with the folders or the choice is said before a client waits.
    lines()
    identity = server_identity(lines.surface, lines.relevant_instructions(INSTRUCTIONS))
    # Who wants longer calls gets them; what follows a call's end is counted too.
    patience = call_patience(raw)
    return PreparedServer(
        identity, lines, LazyGate(lines, partial(_open_gate, raw), opened), patience
    )


def run_server(raw: Mapping[str, Any]) -> int:
    """Serve until the client goes. Raises as `prepare`; nothing was served then."""
    for option in HTTP_OPTIONS:
        if raw.get(option.name):
            raise SetupError(f"{option.flag} can only be used with --http.")
    ready = prepare_server(raw)
    lines, gate = ready.lines, ready.gate
    watch = ready.start_watch()
    try:
        serve_stdio(
            ready.identity,
            lines.by_method(),
            lambda: gate.open_methods(ready.patience).by_name(),
            gate.close,
            gate.changes.subscribe,
        )
    finally:
        watch.close()
    return 0


def _open_early(raw: Mapping[str, Any]) -> Any:
    """Return the gate where a policy, a setting or a wish must be judged before anything else."""
    named = any(raw.get(key) not in (None, (), False, "") for key in _JUDGED)
    if named or any(key.startswith(_VARIABLES) for key in os.environ) or config_file().exists():
        return _open_gate(raw)
    return None


def _open_gate(raw: Mapping[str, Any]) -> Any:
    from iac_runtime.gate.opening import build_gate, read_options

    options = read_options(raw)
    if options.allow.upper() == "DANGEROUS" and options.simulate is None:
        raise SetupError(
            "serve requires approval for every DANGEROUS call, so --allow can be at most MODIFY"
            " (with --simulate, DANGEROUS)."
        )
    gate = build_gate(options)
    if gate.permissions.policy.path:
        # Later: what it reads is no matter for a start.
        later = threading.Timer(_LATER, _warn_unknown_words, (gate,))
        later.daemon = True
        later.start()
    return gate


def _warn_unknown_words(gate: Any) -> None:
    from logging import getLogger

    from iac_base.logs import LOGGER
    from iac_runtime.policy.policy_file import unknown_words
    from iac_runtime.tools.own import added_tools

    with contextlib.suppress(IacError):
        for line in unknown_words(gate.permissions.policy, gate.catalogue, added_tools()):
            getLogger(f"{LOGGER}.policy").warning("%s", line)


def call_patience(raw: Mapping[str, Any]) -> float:
    """Return the seconds for a call, its wait included; who wants longer calls gets them."""
    return max(CALL_SECONDS, float(raw.get("timeout") or 0.0) + 4.0)


def _listing_choice(raw: Mapping[str, Any], *, read_only: bool) -> Choice:
    toolset = raw.get("toolset")
    expose = _split_words(toolset) if toolset else _split_words(raw.get("expose") or SEARCH)
    return Choice(expose, _split_words(raw.get("pin") or ""), read_only)


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
