"""`iac-mcp serve`: the front first, from the first byte to the last; everything else when needed.

Imports what the first answers need and no more; the gate and the policy follow in a thread, unless
a policy or a setting must be looked at before anything is listed; the SDK when something needs it.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from iac_base.errors import IacError, SetupError
from iac_base.files import config_file
from iac_runtime.serve.answering import RequestPool
from iac_runtime.serve.changes import BuildWatch, LazyGate
from iac_runtime.serve.listing import SEARCH, Choice, Listings
from iac_runtime.serve.messages import ServerIdentity
from iac_runtime.serve.options import CALL_SECONDS, HTTP_OPTIONS
from iac_runtime.serve.routing import Router
from iac_runtime.serve.sdk import Sessions
from iac_runtime.serve.wire import claim_stdio
from iac_runtime.tools.folders import tool_folders
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

CAPABILITIES: Final = {
    era: {
        "completions": {},
        "prompts": _CHANGES,
        "resources": {**_CHANGES, "subscribe": era == "modern"},
        "tools": _CHANGES,
    }
    for era in ("legacy", "modern")
}

_JUDGED: Final = (
    *("read_only", "rate_limit", "blocklist", "policy"),
    *("allow", "launch", "timeout", "simulate"),
)
"""Options that can be wrong in ways that only the gate knows."""

_VARIABLES: Final = ("IAC_READ_ONLY", "IAC_RATE_LIMIT", "IAC_BLOCKLIST", "ACCESSIBILITY_MCP_")


class _StopError(Exception):
    """A signal asked for the end."""


def serve_stdio(
    identity: ServerIdentity,
    lines: Callable[[], list[bytes]],
    build: Callable[[], Any],
    close: Callable[[], None] = lambda: None,
    options: Callable[[], Any] = lambda: None,
    *,
    others: Mapping[str, Callable[[], list[bytes]]] = {},
    methods: Callable[[], Mapping[str, Any]] | None = None,
    hear: Callable[[Callable[[], None]], object] = lambda _tell: None,
) -> None:
    """Serve until the client closes its end, or TERM or INT arrives; over within a second.

    Args:
        identity: What the server says of itself.
        lines: Returns the finished entries of tools/list.
        build: Makes the SDK's server on first need, in another thread.
        close: Ends what the server began (children, files); called once, at the end.
        options: The SDK's options of the notifications that the server can send.
        others: Returns the finished entries of other listings, by method.
        methods: Opens what answers the requests that lead behind the listings without the SDK.
        hear: Is given what to call, in any thread, when the lists are others.
    """
    wire = claim_stdio()
    sessions = Sessions(build, wire.write, options)
    answering = RequestPool(methods, identity, wire.write) if methods is not None else None
    router = Router(identity, lines, sessions, wire.write, others, answering)
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
    _shut_down(sessions, answering, close, grace)


def _handle_signal(_number: int, _frame: FrameType | None) -> None:
    raise _StopError


def _shut_down(
    sessions: Sessions, answering: RequestPool | None, close: Callable[[], None], grace: float
) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    started = time.monotonic()
    ended = answering is None or answering.close(grace)
    sessions.close(grace)
    failed = sessions.failure or (answering and answering.failure)
    try:
        close()
    finally:
        if time.monotonic() - started > 2 * GRACE or failed or not ended:
            # A thread that does not end must not keep the process.
            os._exit(1 if failed else 0)


def server_identity(surface: str = "", instructions: str = INSTRUCTIONS) -> ServerIdentity:
    """Return what the server says of itself; `surface` is what it lists."""
    plans = "plans" in surface.split(",") and find_spec("pydantic_monty") is not None
    # A session lasts hours: list_apps says what the time is by then.
    today = time.strftime("This session began on %A %Y-%m-%d; the time zone is %Z (%z).\n")
    return ServerIdentity("iac", VERSION, instructions + today + PLANS * plans, CAPABILITIES)


class PreparedServer(NamedTuple):
    """What a server serves, whatever it serves on; `patience` are the seconds for a call."""

    identity: ServerIdentity
    lines: Listings
    gate: LazyGate
    patience: float

    def start_watch(self) -> BuildWatch:
        """Begin to look for tools that are built anew."""
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
    said = server_identity(lines.surface, lines.relevant_instructions(INSTRUCTIONS))
    return PreparedServer(
        said, lines, LazyGate(lines, partial(_open_gate, raw), opened), _call_patience(raw)
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
            lines,
            lambda: gate.build_sdk_server(ready.identity, ready.patience),
            gate.close,
            notification_options,
            others={
                "prompts/list": lines.prompt_lines,
                "resources/list": lines.resource_lines,
                "resources/templates/list": lines.template_lines,
            },
            methods=lambda: gate.open_methods(ready.patience).by_name(),
            hear=gate.changes.subscribe,
        )
    finally:
        watch.close()
    return 0


def notification_options() -> Any:
    """Return the SDK's options of the notifications that the server can send."""
    from mcp.server.lowlevel import NotificationOptions

    return NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)


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


_LATER: Final = 2.0
"""Seconds after the start until a policy is looked at for words that nothing here knows."""


def _warn_unknown_words(gate: Any) -> None:
    from logging import getLogger

    from iac_base.logs import LOGGER
    from iac_runtime.policy.policy_file import unknown_words
    from iac_runtime.tools.own import added_tools

    with suppress(IacError):
        for line in unknown_words(gate.permissions.policy, gate.catalogue, added_tools()):
            getLogger(f"{LOGGER}.policy").warning("%s", line)


def _call_patience(raw: Mapping[str, Any]) -> float:
    """Return the seconds for a call, its wait included; who wants longer calls gets them."""
    return max(CALL_SECONDS, float(raw.get("timeout") or 0.0) + 4.0)


def _listing_choice(raw: Mapping[str, Any], *, read_only: bool) -> Choice:
    toolset = raw.get("toolset")
    expose = _split_words(toolset) if toolset else _split_words(raw.get("expose") or SEARCH)
    return Choice(expose, _split_words(raw.get("pin") or ""), read_only)


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
