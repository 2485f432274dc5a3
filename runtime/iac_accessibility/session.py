"""Apps: which one a caller means, what is shared between calls on it, how its tree is had.

An app can be watched for a while. A watch goes on collecting for a minute after the call that began
it, so that nothing is lost between two calls; the cursor names it and says how far it was read.
"""

import itertools
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from iac_accessibility.bridge import Bridge, ChangeQueue, ElementReader, read_one, time_left
from iac_accessibility.element_identity import PathMemory
from iac_accessibility.errors import UiError, error_context
from iac_accessibility.model import (
    WINDOW_ROLES,
    AppNotResponding,
    ChangeKind,
    Detail,
    ElementGone,
    Handle,
    UiApp,
    UiEvent,
    UiFault,
    UiNode,
)
from iac_accessibility.outline import (
    DATA_NOTE,
    InterfaceView,
    app_facts,
    as_json,
    byte_budget,
    count_fitting,
    element_state,
)
from iac_accessibility.risk import HIDDEN
from iac_accessibility.traverse import Branch, Walk, WalkLimits, walk_tree
from iac_base.errors import Cancellation, ToolError, near_text, quote_text
from iac_base.words import fold_name

_LISTING_SECONDS: Final = 2.0
_BROWSERS: Final = re.compile(
    r"chrom|electron|brave|vivaldi|opera|msedge|slack|discord|vscode|signal|notion|figma|spotify"
    r"|teams|obsidian|postman|firefox|webkit|safari",
    re.IGNORECASE,
)
_EMPTY: Final = frozenset(("group", "unknown"))
_STEP: Final = 0.15
_SHORT: Final = 0.6
KEPT_SECONDS: Final = 60.0
MOST: Final = 500
TOKENS: Final = 4_000
"""Changes in one answer, and what they take."""

_OPEN: Final = 8
"""Watches that may be open at once; the one unused for longest gives way."""

_WATCH_STEP: Final = 0.25
_PROBE: Final = 0.5


@dataclass(slots=True, eq=False)
class _OpenWatch:
    """A watch that is open, and what has come in and was not yet answered."""

    app: UiApp
    watch: ChangeQueue
    changes: list[UiEvent] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    timer: threading.Timer | None = None


class Watches:
    """The open watches of one server. Thread-safe."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenWatch] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def observe_changes(
        self,
        bridge: Bridge,
        app: UiApp,
        kinds: Collection[ChangeKind],
        seconds: float,
        cursor: str,
        cancel: Cancellation,
    ) -> dict[str, Any]:
        """Return `{app, changes, result_count, cursor, has_more_results, seconds, notes}`.

        Args:
            cancel: Ends it early, and is told how far it is.

        Raises:
            UiError: The cursor is unknown.
            UiFault: The app cannot be watched.
        """
        key, opened = self._open_watch(bridge, app, kinds, cursor)
        with opened.lock:
            began = time.monotonic()
            while (spent := time.monotonic() - began) < seconds and not cancel.is_cancelled:
                opened.changes += opened.watch.wait_for_changes(min(_WATCH_STEP, seconds - spent))
                cancel.word = f"{len(opened.changes)} changes so far"
                if not bridge.is_alive(app):
                    break
            opened.changes += opened.watch.wait_for_changes(0)
            self._keep_watch(key, opened)
            merged = _merge_repeated(opened.changes)
            rows = _change_rows(bridge, app, merged[:MOST])
            kept = count_fitting(map(as_json, rows), byte_budget(TOKENS))
            opened.changes = merged[kept:]
            notes = [DATA_NOTE]
            if not bridge.is_alive(app):
                notes.append(f"{app.name} has ended.")
            return {
                "app": app_facts(app),
                "changes": rows[:kept],
                "result_count": kept,
                "has_more_results": bool(opened.changes),
                "cursor": key,
                "seconds": round(time.monotonic() - began, 3),
                "notes": notes,
            }

    def close(self) -> None:
        """End all watches."""
        for key in [*self._open]:
            self._close_watch(key)

    def _open_watch(
        self, bridge: Bridge, app: UiApp, kinds: Collection[ChangeKind], cursor: str
    ) -> tuple[str, _OpenWatch]:
        known = self._open.get(cursor)
        if known is not None and (known.app.pid, known.app.started) == (app.pid, app.started):
            self._keep_watch(cursor, known)
            return cursor, known
        if cursor:
            message = (
                "This cursor is unknown. It belongs to another app, or was not used for a minute."
            )
            guidance = "Call without a cursor to start again."
            raise UiError("INVALID_PARAMETER", message, guidance, reason="bad_cursor")
        # Without permission a watch hears nothing, as if nothing changed. An app that is busy may
        # be watched all the same.
        with suppress(AppNotResponding):
            bridge.app_element(app, _PROBE)
        opened = _OpenWatch(app, bridge.watch_changes(app, kinds))
        key = f"watch-{next(self._numbers)}"
        self._keep_watch(key, opened)
        return key, opened

    def _keep_watch(self, key: str, opened: _OpenWatch) -> None:
        """Keep a watch open from now on; the one unused for longest gives way to many."""
        with self._lock:
            self._open.pop(key, None)
            self._open[key] = opened
            excess = [*self._open][:-_OPEN]
            if opened.timer is not None:
                opened.timer.cancel()
            # A watch that nobody asks for again is not to go on until the next call.
            opened.timer = threading.Timer(KEPT_SECONDS, self._close_watch, (key,))
            opened.timer.daemon = True
            opened.timer.start()
        for one in excess:
            self._close_watch(one)

    def _close_watch(self, key: str) -> None:
        with self._lock:
            opened = self._open.pop(key, None)
        if opened is not None:
            if opened.timer is not None:
                opened.timer.cancel()
            opened.watch.close()


@dataclass(slots=True)
class UiSession:
    """The bridge and what is remembered between calls. Safe to share between threads."""

    bridge: Bridge
    memory: PathMemory = field(default_factory=PathMemory)
    watches: Watches = field(default_factory=Watches)
    views: dict[tuple[int, float], InterfaceView] = field(default_factory=dict)
    asked_for_trees: set[tuple[int, float]] = field(default_factory=set)
    """Processes that were asked to build their tree, as pid and start."""

    opened_dialogs: set[tuple[int, Handle]] = field(default_factory=set)
    """Elements, each with its process, whose action opened a dialog that kept it silent."""

    _listed: dict[int, UiApp] = field(default_factory=dict)

    def resolve_app(self, wanted: str | int) -> UiApp:
        """Return the running app that is meant.

        One that is meant by its process id and was listed before is not looked for again while
        that process runs; whether it is in front is then as it was.

        Raises:
            UiError: There is not exactly one, or the apps cannot be listed.
        """
        known = self._listed.get(wanted) if isinstance(wanted, int) else None
        if known is not None and self.bridge.is_alive(known):
            return known
        return find_app(wanted, self.running_apps(), self.bridge)

    def running_apps(self) -> list[UiApp]:
        """Return the running apps, with a `UiError` where they cannot be listed."""
        with error_context(None):
            apps = self.bridge.running_apps(_LISTING_SECONDS)
        # Of several with one process id, the first is meant.
        self._listed = {app.pid: app for app in reversed(apps)}
        return apps

    def forget_app(self, app: UiApp) -> None:
        """Sight for the app anew the next time: what the bridge knew it by is gone."""
        self._listed.pop(app.pid, None)

    def open_app(self, app: UiApp, seconds: float, *, whole: bool) -> tuple[ElementReader, UiNode]:
        """Return a reader and the app's own element with its children.

        Raises:
            UiError: The app has ended, does not answer, or may not be looked into.
        """
        end = time.monotonic() + seconds
        with error_context(app):
            try:
                # An app that does not answer is to cost less than the whole time of the call.
                root = self.bridge.app_element(app, min(seconds, 1.0))
                reader = self.bridge.open_reader(app, whole=whole, timeout=time_left(end))
                return reader, read_one(reader, root, Detail.CHILDREN, min(time_left(end), 1.0))
            except ElementGone:
                self.forget_app(app)
                raise
            except AppNotResponding as fault:
                raise modal_error(self.bridge, app) or fault from None

    def read_nodes(
        self, app: UiApp, handles: Sequence[Handle], want: Detail, seconds: float
    ) -> Sequence[UiNode | UiFault]:
        """Return elements as they are now, a node or fault each."""
        reader = self.bridge.open_reader(app, whole=False, timeout=seconds)
        return reader.read(handles, want, seconds)

    def read_node(self, app: UiApp, handle: Handle, want: Detail, seconds: float) -> UiNode:
        """Return an element as it is now.

        Raises:
            UiFault: It is gone, or the app does not answer.
        """
        return read_one(
            self.bridge.open_reader(app, whole=False, timeout=seconds), handle, want, seconds
        )

    def read_branches(
        self, app: UiApp, branches: Sequence[Branch], want: Detail, seconds: float
    ) -> Iterator[tuple[Branch, UiNode | UiFault]]:
        """Yield elements of a walk, each with what it is now."""
        handles = [branch.node.handle for branch in branches]
        return zip(branches, self.read_nodes(app, handles, want, seconds), strict=True)

    def check_alive(self, app: UiApp) -> None:
        """Raise if the process has ended or its id belongs to another one now."""
        if not self.bridge.is_alive(app):
            message = f"{app.name} (process {app.pid}) has ended."
            guidance = "Call list_windows to see the running apps."
            raise UiError("APP_NOT_RUNNING", message, guidance, reason="app_gone", app=app.name)

    def close(self) -> None:
        """End all watches and let go of the platform."""
        self.watches.close()
        self.bridge.close()


@contextmanager
def modal_error_context(bridge: Bridge, app: UiApp) -> Iterator[None]:
    """Say of an app that falls silent in the block whether a dialog of its own is why."""
    try:
        yield
    except AppNotResponding:
        error = modal_error(bridge, app)
        if error is None:
            raise
        raise error from None


def modal_error(bridge: Bridge, app: UiApp) -> UiError | None:
    """Return what to say of an app that does not answer while a dialog of its own is open."""
    try:
        front = bridge.input_devices.front_window()
    except UiFault:
        return None
    if front is None or front.pid != app.pid or not front.dialog:
        return None
    return UiError(
        "TIMEOUT",
        f"{app.name} shows its dialog {quote_text(front.title, 60)} and answers only after the"
        " dialog is closed.",
        "Close it with press_keys: Escape cancels, Return confirms. The next click on the same"
        " element uses the pointer, so that the app can answer.",
        reason="app_modal",
        more={"dialog": front.title},
    )


def find_app(wanted: str | int, apps: Sequence[UiApp], bridge: Bridge) -> UiApp:
    """Return the running app that `wanted` names: a name, a bundle id or a process id.

    A name is compared without case and punctuation; part of a name is not enough. Where no app is
    called so, its program, its desktop entry's name and the titles of its windows count.

    Raises:
        UiError: It is not running, several are meant (they are listed), or there is nothing like it
            (the nearest are named).
    """
    text = str(wanted).strip()
    if isinstance(wanted, int) or text.isdecimal():
        return _by_pid(int(text), apps)
    matches = [app for app in apps if app.id and app.id.casefold() == text.casefold()]
    matches = matches or [app for app in apps if app.name.casefold() == text.casefold()]
    matches = matches or [
        app for app in apps if fold_name(text) and fold_name(app.name) == fold_name(text)
    ]
    if not matches and (plain := fold_name(text)):
        matches = [app for app in apps if plain in map(fold_name, bridge.other_names(app))]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UiError(
            "INVALID_PARAMETER",
            f"{len(matches)} running apps have the name {quote_text(text)}.",
            f"Give the process id of one of them: {_format_apps(matches)}.",
            reason="app_ambiguous",
            more={"matches": [app_facts(app) for app in matches]},
        )
    if text and bridge.is_installed(text):
        message = f"{quote_text(text)} is not running, or has no windows or menus."
        guidance = "Start the app with app_launch, then try again."
        raise UiError("APP_NOT_RUNNING", message, guidance, reason="app_not_running", app=text)
    message = f"There is no app {quote_text(text)}."
    guidance = near_text(text, [app.name for app in apps]) or "No app with an interface is running."
    raise UiError("APP_NOT_FOUND", message, guidance, reason="app_unknown")


def _by_pid(pid: int, apps: Sequence[UiApp]) -> UiApp:
    for app in apps:
        if app.pid == pid:
            return app
    message = f"No app with windows or menus has the process id {pid}."
    guidance = f"Running: {_format_apps(apps)}." if apps else "No app with an interface is running."
    raise UiError("APP_NOT_RUNNING", message, guidance, reason="app_not_running")


def _format_apps(apps: Sequence[UiApp]) -> str:
    rows = [f"{app.pid} ({app.name}{', in front' if app.frontmost else ''})" for app in apps[:10]]
    return ", ".join(rows) + (", …" if len(apps) > 10 else "")


def walk_app(
    session: UiSession,
    app: UiApp,
    want: Detail,
    limits: WalkLimits,
    *,
    whole: bool,
    enough: Callable[[Sequence[Branch]], bool] = lambda _: False,
) -> tuple[Walk, list[str]]:
    """Walk an app's tree; an app that builds it on demand is asked for it, and walked again.

    Browsers and Electron apps build their tree only when somebody asks. Reports say that on macOS
    the switches often answer with an error and work all the same, and that what counts is the time
    since the app got the focus; only a Mac can confirm that. So an app is asked once per process,
    given a short while, and read again.

    Returns:
        The walk, and what was done, as sentences.
    """
    end = time.monotonic() + limits.seconds

    def walk_once(least: float) -> Walk:
        reader, root = session.open_app(app, time_left(end, least), whole=whole)
        rest = limits._replace(seconds=time_left(end, 0.2))
        return walk_tree(reader, root, want, rest, enough=enough)

    seen = walk_once(0.0)
    process = (app.pid, app.started)
    if not _is_unbuilt(app, seen) or process in session.asked_for_trees:
        return seen, []
    session.asked_for_trees.add(process)
    try:
        done = session.bridge.request_tree(app)
    except UiFault as fault:
        done = f"the app could not be asked to build its tree ({fault})"
    if not done:
        return seen, []
    # Without a browser it is most likely a window with nothing in it.
    browser = _BROWSERS.search(f"{app.name} {app.id}")
    grown = _wait_until_built(session, app, end if browser else min(end, time.monotonic() + _SHORT))
    state = "" if grown else "; it is still empty, so try again in a few seconds"
    return walk_once(0.3), [f"The tree was empty: {done}{state}."]


def _is_unbuilt(app: UiApp, seen: Walk) -> bool:
    """Say whether a tree looks as if it had not been built: windows without anything in them.

    On a Mac the menu bar is there in any case, and so are the buttons of a title bar.
    """
    areas = [branch for branch in seen.order if branch.node.role == "web_area"]
    if areas:
        return not any(branch.node.children for branch in areas)
    browser = bool(_BROWSERS.search(f"{app.name} {app.id}"))
    windows = [branch for branch in seen.order if branch.node.role in WINDOW_ROLES]
    waiting = list(windows)
    while waiting:
        branch = waiting.pop()
        role, depth, title = branch.node.role, branch.depth, branch.node.title
        title_bar = role in ("button", "static_text") and title in ("", HIDDEN, branch.window.title)
        if depth > 1 and role not in _EMPTY and not (depth == 2 and title_bar):
            return False
        if branch.node.children and not branch.children and seen.deeper:
            # It was not looked at, so that nothing is known of it.
            return False
        waiting += branch.children
    return browser or bool(windows)


def _wait_until_built(session: UiSession, app: UiApp, end: float) -> bool:
    while time.monotonic() + _STEP < end:
        time.sleep(_STEP)
        try:
            reader, root = session.open_app(app, time_left(end, 0.1), whole=False)
        except ToolError:
            continue
        limits = WalkLimits(time_left(end, 0.1), 4, nodes=300)
        if not _is_unbuilt(app, walk_tree(reader, root, Detail.NOTHING, limits)):
            return True
    return False


def _merge_repeated(changes: Sequence[UiEvent]) -> list[UiEvent]:
    """Return the changes in order; of equal ones in a row (typing, a slider) the last is kept."""
    merged: list[UiEvent] = []
    for change in changes:
        if merged and (merged[-1].kind, merged[-1].handle) == (change.kind, change.handle):
            merged[-1] = change
        else:
            merged.append(change)
    return merged


def _change_rows(bridge: Bridge, app: UiApp, changes: Sequence[UiEvent]) -> list[dict[str, Any]]:
    """Return the changes with the elements as they are now, where they still are."""
    handles = list(dict.fromkeys(change.handle for change in changes))
    nodes: dict[Any, UiNode] = {}
    with suppress(UiFault):
        reader = bridge.open_reader(app, whole=False, timeout=1.0)
        answers = reader.read(handles, Detail.VALUE, 1.0)
        nodes = {node.handle: node for node in answers if isinstance(node, UiNode)}
    rows = []
    for change in changes:
        row: dict[str, Any] = {"event": change.kind, "at": round(change.seconds, 3)}
        node = nodes.get(change.handle)
        if node is not None:
            row["element"] = element_state(node)
        if change.detail:
            row["detail"] = change.detail
        rows.append(row)
    return rows
