"""A change of an element: planned by a tool, judged, checked again, done and read back.

Action first: an action of the element's own, or its settable value; keys and pointer where neither
is, with the focus proven before each (`hands`).
"""

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple

from iac_accessibility.bridge import read_one
from iac_accessibility.element_identity import ElementFound
from iac_accessibility.errors import UiError, error_context
from iac_accessibility.locate import resolve_target
from iac_accessibility.model import CONFIRMS, Detail, ElementGone, Scalar, UiApp, UiFault, UiNode
from iac_accessibility.outline import element_state, shown_value
from iac_accessibility.risk import (
    CONFIRMS_TEXT,
    ChangeFacts,
    ChangeLevel,
    assess_level,
    holds_secret,
    is_dialog,
    return_does,
)
from iac_accessibility.session import UiSession, modal_error, modal_error_context
from iac_base.errors import near_text, quote_text
from iac_base.text import escape_hidden
from iac_runtime.tool import Level, at_most

_STATE: Final = Detail.VALUE | Detail.IDENTIFIER
_SETTLE: Final = 0.4
"""Seconds that an animated press is waited for; presses in between would be lost."""

_LEAST: Final = 0.2
_DEFAULT_SECONDS: Final = 0.5


class ElementChange(NamedTuple):
    """What a tool is going to do to an element.

    Attributes:
        found: The element; when it is acted on, it is looked for again.
        line: What will be done, on one line; the value of a secret is not in it.
        act: Does it, to the element as it is then, within so many seconds; what it returns is put
            in the answer.
        method: How it is done, as the answer says.
        action: The action of its own that is performed; empty if none.
        value: The value that it is to have afterwards; None where that is not known.
        words: What is named beside the element's own title: the menus on the way, the action.
        more: What the answer says beside.
        does: What is known of its effect, in the words of the levels; empty where nothing is.
        again: Finds what is acted on again, where that is no element of the app's tree.
    """

    found: ElementFound
    line: str
    act: Callable[[UiNode, float], Mapping[str, Any] | None]
    method: Literal["action", "value", "keys", "pointer", "window"] = "action"
    action: str = ""
    value: str | float | bool | None = None
    words: tuple[str, ...] = ()
    more: Mapping[str, Any] = {}
    does: str = ""
    again: Callable[[], ElementFound] | None = None


def assess_change(session: UiSession, app: UiApp, change: ElementChange) -> ChangeLevel:
    """Return how far a change reaches; the app is asked for the default button of a dialog."""
    found = change.found
    node = found.node
    # A sheet lies in the window that it belongs to.
    window = next(filter(is_dialog, reversed(found.way)), found.window)
    default = "default" in node.states
    if not default and is_dialog(window) and change.again is None:
        try:
            default = session.bridge.is_default(node.handle, window.handle, _DEFAULT_SECONDS)
        except UiFault:
            # What cannot be known is taken for the worse.
            default = node.role == "button"
    runs = session.bridge.runs_input(app) or any(one.role == "terminal" for one in found.way)
    does = change.does
    if change.action in CONFIRMS:
        does = does or return_does(found.way) or CONFIRMS_TEXT
    return assess_level(ChangeFacts(app.id, node, window, default, runs, change.words, does))


def approval_scope(app: UiApp, found: ElementFound) -> str:
    """Return a digest of what an answer covers while this server runs: a process and a window."""
    window = found.window.title if found.window.role != "menu_bar" else "menu bar"
    scope = (app.id, app.pid, app.started, window or found.window.role)
    return hashlib.sha256(repr(scope).encode()).hexdigest()


def apply_change(
    session: UiSession, app: UiApp, change: ElementChange, level: Level, seconds: float
) -> dict[str, Any]:
    """Make a change: the path is resolved again, and everything that was judged must hold.

    Args:
        level: What it was judged to need.

    Raises:
        StaleError: The element is another one now; nothing was done.
        UiError: It reaches further than was judged.
        UiFault: The app failed.
    """
    end = time.monotonic() + seconds
    before = change.found
    if change.again is not None:
        found = change.again()
    else:
        found = resolve_target(
            session, app, before.path, before.fingerprint, seconds, before, id=before.id
        )
    node = found.node
    now = assess_change(session, app, change._replace(found=found))
    if not at_most(now.level, level):
        raise UiError(
            "REFUSED",
            f"This call now needs {now.level}: {', '.join(now.reasons)}. Nothing was done.",
            "The element has changed. Read it, then call again.",
            reason="level_rose",
        )
    if change.action:
        check_action(node, change.action)
    # Closing a window ends the element before it answers.
    more: Mapping[str, Any] | None = None
    with (
        error_context(app, before.path, writes=True),
        suppress(ElementGone),
        modal_error_context(session.bridge, app),
    ):
        more = change.act(node, max(end - time.monotonic(), _LEAST))
    left = max(end - time.monotonic(), _LEAST)
    after = node if change.again is not None else _read_settled(session, app, change, node, left)
    state: dict[str, Any] = {"role": node.role, "title": node.title, "gone": True}
    answer = {
        "success": True,
        "method": change.method,
        "element_state": state if after is None else element_state(app, after, id=found.id),
        **change.more,
        **(more or {}),
    }
    if change.value is not None:
        told_of = _value_outcome(app, change.value, node, after)
        notes = [*answer.get("notes", ()), *told_of.get("notes", ())]
        return answer | told_of | ({"notes": notes} if notes else {})
    if after is not None:
        return answer
    if (error := modal_error(session.bridge, app)) is not None:
        # It took the action, opened a dialog, and does not answer before that is closed.
        state.pop("gone")
        said = [*answer.get("notes", ()), error.message, error.suggestion]
        return answer | {"success": False, "dialog": error.more["dialog"], "notes": said}
    alive = session.bridge.is_alive(app)
    note = "The element is gone or cannot be read. This is its last known state."
    note = note if alive else f"{app.name} has ended."
    return answer | {"notes": [*answer.get("notes", ()), note]}


def _value_outcome(
    app: UiApp, value: str | float | bool, node: UiNode, after: UiNode | None
) -> dict[str, Any]:
    """Return what an answer says of a value that was set: whether it holds now, and what was."""
    notes: list[str] = []
    secret = holds_secret(node)
    done = after is not None and (secret or is_same_value(value, after.value))
    if after is None:
        notes.append(
            "The element is gone or cannot be read, so it is unknown whether the value was set."
        )
    elif secret:
        notes.append("The element holds a secret, so the value was not read back.")
    elif not done:
        notes.append(
            "The element now has another value than the call set. Perhaps the app changed it."
        )
    return {
        "success": done,
        "previous_value": shown_value(app, node),
        "new_value": None if after is None else shown_value(app, after),
        **({"notes": notes} if notes else {}),
    }


def _read_settled(
    session: UiSession, app: UiApp, change: ElementChange, node: UiNode, seconds: float
) -> UiNode | None:
    """Return the element as it is now, once an animation of the press is over; None if gone."""
    settled = time.monotonic() + min(_SETTLE, seconds)
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    # A browser takes a value at once and shows it a moment later.
    value = None if holds_secret(node) else change.value
    try:
        while True:
            now = read_one(reader, node.handle, _STATE, seconds)
            pressed = now.role == "button" and "pressed" in now.states
            late = value is not None and not is_same_value(value, now.value)
            if not (pressed or late) or time.monotonic() > settled:
                return now
            time.sleep(0.01)
    except UiFault:
        return None


def is_same_value(wanted: str | float | bool, got: Scalar) -> bool:
    """Say whether a value that was read back is the one that was set."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    if isinstance(wanted, str) or isinstance(got, str):
        return str(wanted).strip() == str(got).strip()
    return got is not None and math.isclose(wanted, got, rel_tol=1e-6, abs_tol=1e-6)


def check_action(node: UiNode, action: str, asked: str = "") -> None:
    """Raise if an element is disabled, or has no such action; `asked` is what it was called."""
    check_enabled(node)
    if action in node.actions:
        return
    asked = asked or action
    raise UiError(
        "NOT_SUPPORTED",
        f"{quote_text(asked, 60)} is not an action of this {node.role.replace('_', ' ')}.",
        near_text(asked, node.actions) if node.actions else "It has no actions.",
        reason="no_action",
        more={"actions": list(node.actions)},
    )


def check_enabled(node: UiNode) -> None:
    """Raise if an element is disabled."""
    if "enabled" not in node.states:
        raise UiError(
            "NOT_SUPPORTED",
            f"The {node.role.replace('_', ' ')} {quote_text(node.title, 60)} is disabled.",
            "Find out why the app has disabled this element. Then read the element again.",
            reason="disabled",
        )


def describe_element(found: ElementFound, app: UiApp) -> str:
    """Return an element in words: its role and title, its window, its app."""
    node = found.node
    name = f" {quote_text(node.title, 60)}" if node.title else f" at {found.path[-80:]}"
    place = f"window {quote_text(found.window.title, 60)} of " if len(found.way) > 1 else ""
    row = f"the row {quote_text(' '.join(found.row), 80)}, " if found.row else ""
    return escape_hidden(f"{node.role.replace('_', ' ')}{name} in {row}{place}{describe_app(app)}")


def describe_app(app: UiApp) -> str:
    """Return an app in words: its name, its identity, its process."""
    return escape_hidden(f"{app.name} ({app.id or 'identity unknown'}, process {app.pid})")
