"""Watching an app for a while, and going on where the last look ended.

A watch goes on collecting for a minute after the call that began it, so that nothing is lost
between two calls; the cursor names it and says how far it was read.
"""

import itertools
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from iac_accessibility.bridge import Bridge, ChangeQueue
from iac_accessibility.errors import UiError
from iac_accessibility.model import (
    ALIVE_CHANGES,
    AppNotResponding,
    ChangeKind,
    Detail,
    UiApp,
    UiEvent,
    UiFault,
    UiNode,
)
from iac_accessibility.overview import as_json, byte_budget, count_fitting
from iac_accessibility.render import DATA_NOTE, app_facts, element_state
from iac_base.cancellation import Cancellation

KEPT_SECONDS: Final = 60.0
MOST: Final = 500
TOKENS: Final = 4_000
"""Changes in one answer, and what they take."""

_OPEN: Final = 8
"""Watches that may be open at once; the one unused for longest gives way."""

_STEP: Final = 0.25
_PROBE: Final = 0.5


@dataclass(slots=True, eq=False)
class _OpenWatch:
    """A watch that is open, and what has come in and was not yet answered."""

    app: UiApp
    watch: ChangeQueue
    changes: list[UiEvent] = field(default_factory=list)
    used: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Watches:
    """The open watches of one server. Thread-safe."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenWatch] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._timer: threading.Timer | None = None

    def observe_changes(
        self, bridge: Bridge, app: UiApp, arguments: Mapping[str, Any], cancel: Cancellation
    ) -> dict[str, Any]:
        """Return `{app, changes, result_count, cursor, has_more_results, seconds, notes}`.

        Args:
            cancel: Ends it early, and is told how far it is.

        Raises:
            UiError: The cursor is unknown.
            UiFault: The app cannot be watched.
        """
        kinds: Collection[ChangeKind] = arguments.get("events") or ALIVE_CHANGES
        seconds = float(arguments.get("duration", 5))
        cursor: str = arguments.get("cursor", "")
        key, held = self._open_watch(bridge, app, kinds, cursor)
        with held.lock:
            began = time.monotonic()
            while (spent := time.monotonic() - began) < seconds and not cancel.is_cancelled:
                held.changes += held.watch.wait_for_changes(min(_STEP, seconds - spent))
                cancel.word = f"{len(held.changes)} changes so far"
                if not bridge.is_alive(app):
                    break
            held.changes += held.watch.wait_for_changes(0)
            held.used = time.monotonic()
            merged = _merge_repeated(held.changes)
            rows = _change_rows(bridge, app, merged[:MOST])
            kept = count_fitting(map(as_json, rows), byte_budget(TOKENS))
            held.changes = merged[kept:]
            notes = [DATA_NOTE]
            if not bridge.is_alive(app):
                notes.append(f"{app.name} has ended.")
            return {
                "app": app_facts(app),
                "changes": rows[:kept],
                "result_count": kept,
                "has_more_results": bool(held.changes),
                "cursor": key,
                "seconds": round(time.monotonic() - began, 3),
                "notes": notes,
            }

    def close(self) -> None:
        """End all watches."""
        with self._lock:
            held, self._open = list(self._open.values()), {}
            if self._timer is not None:
                self._timer.cancel()
        for one in held:
            one.watch.close()

    def _open_watch(
        self, bridge: Bridge, app: UiApp, kinds: Collection[ChangeKind], cursor: str
    ) -> tuple[str, _OpenWatch]:
        self._close_unused()
        if cursor:
            with self._lock:
                known = self._open.get(cursor)
            if known is None or (known.app.pid, known.app.started) != (app.pid, app.started):
                raise UiError(
                    "INVALID_PARAMETER",
                    "This cursor is unknown. It belongs to another app, or was not used for a"
                    " minute.",
                    "Call without a cursor to start again.",
                    reason="bad_cursor",
                )
            known.used = time.monotonic()
            return cursor, known
        # Without permission a watch hears nothing, as if nothing changed. An app that is busy may
        # be watched all the same.
        with suppress(AppNotResponding):
            bridge.app_element(app, _PROBE)
        opened = _OpenWatch(app, bridge.watch_changes(app, kinds))
        with self._lock:
            key = f"watch-{next(self._numbers)}"
            self._open[key] = opened
        self._close_unused()
        return key, opened

    def _close_idle(self) -> None:
        if self._open:
            self._close_unused()

    def _close_unused(self) -> None:
        now = time.monotonic()
        with self._lock:
            rows = sorted(self._open.items(), key=lambda row: row[1].used)
            old = [key for key, held in rows if now - held.used > KEPT_SECONDS]
            excess = max(len(rows) - len(old) - _OPEN, 0)
            old += [key for key, _ in rows if key not in old][:excess]
            ended = [self._open.pop(key) for key in old]
            if self._timer is not None:
                self._timer.cancel()
            # A watch that nobody asks for again is not to go on until the next call.
            self._timer = threading.Timer(KEPT_SECONDS + 1, self._close_idle)
            self._timer.daemon = True
            self._timer.start()
        for held in ended:
            held.watch.close()


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
    if handles:
        try:
            reader = bridge.open_reader(app, whole=False, timeout=1.0)
            answers = reader.read(handles, Detail.VALUE, 1.0)
        except UiFault:
            answers = []
        nodes = {
            handle: node
            for handle, node in zip(handles, answers, strict=False)
            if isinstance(node, UiNode)
        }
    rows = []
    for change in changes:
        row: dict[str, Any] = {"event": change.kind, "at": round(change.seconds, 3)}
        node = nodes.get(change.handle)
        if node is not None:
            row["element"] = element_state(app, node)
        if change.detail:
            row["detail"] = change.detail
        rows.append(row)
    return rows
