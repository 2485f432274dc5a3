"""What changed in an app since it was last looked at, for the answer of a tool that acted.

An act is over before what it does is seen, so the app is read until something differs, for a
short while. Only an app that was read as a whole before is compared; what a call without that
costs does not change.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from iac_accessibility.element_identity import row_lookup
from iac_accessibility.model import WINDOW_ROLES, Detail, Handle, UiApp, UiFault, UiNode
from iac_accessibility.outline import (
    InterfaceView,
    OutlineItem,
    all_items,
    item_line,
    line_bytes,
    line_without_id,
    open_within_budget,
    outline_items,
    outline_lines,
    remember_view,
    shown_items,
)
from iac_accessibility.session import UiSession, walk_app
from iac_accessibility.traverse import Walk, WalkLimits
from iac_base.errors import ToolError

ROOM: Final = 1_600
"""Bytes that the changes may take in an answer."""

_WAITS: Final = (0.03, 0.07, 0.15)
"""Seconds before each look; the last is taken as it is."""

_SLOW: Final = 0.15
"""Seconds of one look after which there is no other."""

_DEEPEST: Final = 200


def changes_since_view(session: UiSession, app: UiApp, seconds: float) -> list[str] | None:
    """Return what differs from the last look, a line each: `+` new, `~` other, `-` gone.

    None where the app was not looked at as a whole before.
    """
    before = session.views.get((app.pid, app.started))
    if before is None:
        return None
    end = time.monotonic() + seconds
    lines: list[str] = []
    for wait in _WAITS:
        if time.monotonic() + wait > end:
            break
        time.sleep(wait)
        began = time.monotonic()
        try:
            lines = _compare_views(session, app, before, max(end - began, 0.1))
        except (UiFault, ToolError):
            # It is busy or has ended; the act has its own answer.
            return lines
        if lines or time.monotonic() - began > _SLOW:
            break
    return lines


def _compare_views(
    session: UiSession, app: UiApp, before: InterfaceView, seconds: float
) -> list[str]:
    seen, _ = walk_app(session, app, session.bridge.free, WalkLimits(seconds, _DEEPEST), whole=True)
    read = _read_again(session, app, seen, before, seconds)
    tops = outline_items(seen.root.children)
    now = {shape.node.handle: shape for shape in all_items(tops)}
    parents = {child.node.handle: one for one in now.values() for child in one.children}
    new = [
        shape
        for handle, shape in now.items()
        if handle not in before.said
        and (handle not in parents or parents[handle].node.handle in before.said)
    ]
    # A window that opened is what matters most.
    new.sort(key=lambda shape: shape.node.role not in WINDOW_ROLES)
    other = [
        shape
        for handle, shape in now.items()
        if handle in before.full and before.said.get(handle) != line_without_id(shape)
    ]
    gone = [
        text
        for handle, text in before.said.items()
        # What was in it is gone with it.
        if handle not in now and (handle not in before.above or before.above[handle] in now)
    ]
    if not (new or other or gone):
        return []
    if not seen.complete:
        gone = []
    room = ROOM
    told: list[str] = []
    for shape in other:
        session.memory.remember_branches(
            app, [shape.branch], known=False, row=row_lookup(seen, read)
        )
        line = f"~ {item_line(shape, ())}, was: {before.said[shape.node.handle][:80]}"
        told.append(line)
    told += [f"- {text[:80]}" for text in gone]
    room -= sum(map(line_bytes, told[: ROOM // 100]))
    fresh = _new_element_lines(session, app, seen, new, read, max(room, ROOM // 2))
    kept: list[str] = []
    room = ROOM
    for line in (*fresh, *told):
        room -= line_bytes(line)
        if room < 0:
            kept.append(f"… {len(fresh) + len(told) - len(kept)} more; get_ui_tree shows them")
            break
        kept.append(line)
    shown = [shape for shape in now.values() if shape.node.handle in before.full | {*read}]
    session.views[app.pid, app.started] = remember_view(tops, [*shown, *shown_items(new)])
    return kept


def _new_element_lines(
    session: UiSession,
    app: UiApp,
    seen: Walk,
    new: Sequence[OutlineItem],
    read: Mapping[Handle, UiNode],
    room: int,
) -> list[str]:
    """Return the lines of what is new, opened as far as there is room, with ids."""
    if not new:
        return []
    open_within_budget(new, lambda shape: f"+ e0000 {item_line(shape, ())}", room)
    branches = [shape.branch for shape in shown_items(new)]
    row = row_lookup(seen, read)
    session.memory.remember_branches(app, branches, known=False, row=row, ways=True)
    return [f"+ {line}" for line in outline_lines(new, lambda shape: item_line(shape, ()))]


def _read_again(
    session: UiSession, app: UiApp, seen: Walk, before: InterfaceView, seconds: float
) -> dict[Handle, UiNode]:
    """Read what was read in full before, in full; the branches hold it then."""
    asked = [branch for branch in seen.order if branch.node.handle in before.full]
    want = session.bridge.free | Detail.VALUE | Detail.LABEL
    nodes: dict[Handle, UiNode] = {}
    for branch, answer in session.read_branches(app, asked, want, seconds):
        if isinstance(answer, UiNode):
            old = branch.node
            branch.node = answer._replace(children=old.children, total=old.total)
            nodes[old.handle] = branch.node
    return nodes
