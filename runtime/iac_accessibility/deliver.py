"""The one way to act: find the element again, judge it again, act, look at what came of it.

Every tool that changes something says as an `ElementChange` what it does to which element.
`deliver` does it; what keeps another element from being reached is here and in `Target`.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from iac_accessibility.bridge import read_one, time_left, wait_until
from iac_accessibility.changes_since import changes_since_view
from iac_accessibility.errors import UiError, error_context
from iac_accessibility.locate import resolve_target
from iac_accessibility.model import (
    CONFIRMS,
    AppNotResponding,
    Detail,
    ElementGone,
    Scalar,
    ScreenWindow,
    UiApp,
    UiFault,
    UiNode,
    is_screen,
)
from iac_accessibility.outline import element_state, shown_value
from iac_accessibility.risk import (
    CONFIRMS_TEXT,
    HIDDEN,
    ChangeFacts,
    ChangeLevel,
    assess_level,
    hidden_in,
    holds_secret,
    is_dialog,
    return_does,
)
from iac_accessibility.session import UiSession, modal_error
from iac_accessibility.target import Target, find_screen_window
from iac_base.errors import ToolError, near_text, quote_text
from iac_runtime.tool import Level, at_most

_STATE: Final = Detail.VALUE | Detail.IDENTIFIER
_SETTLE: Final = 0.4
"""Seconds that an animated press is waited for; presses in between would be lost."""

_LEAST: Final = 0.2
_RETURN: Final = 1.0
"""Seconds that an action of the app's own may take until it is asked whether a dialog is why."""

_DEFAULT_SECONDS: Final = 0.5
_NEWS: Final = 0.8
"""Seconds for what an act changed, beside those of the act."""

_ANNOUNCED: Final = 2.0
_IDLE: Final = 0.25
"""Seconds in which a dialog of another program may come: after a title that announces one, and
after an act of which the app itself shows nothing."""

_OF_FIELD: Final = ("success", "method", "element_state", "previous_value", "new_value")


class ElementChange(NamedTuple):
    """What a tool is going to do to an element.

    Attributes:
        target: The element; when it is acted on, it is looked for again.
        line: What will be done, on one line; the value of a secret is not in it.
        act: Does it, to the element as it is then; what it returns is put in the answer.
        method: How it is done, as the answer says.
        action: The action of its own that is performed; empty if none.
        value: The value that it is to have afterwards; None where that is not known.
        words: What is named beside the element's own title: the menus on the way, the action.
        more: What the answer says beside.
        does: What is known of its effect, in the words of the levels; empty where nothing is.
    """

    target: Target
    line: str
    act: Callable[[Target], Mapping[str, Any] | None]
    method: Literal["action", "value", "keys", "pointer", "window"] = "action"
    action: str = ""
    value: str | float | bool | None = None
    words: tuple[str, ...] = ()
    more: Mapping[str, Any] = {}
    does: str = ""


def assess_change(change: ElementChange) -> ChangeLevel:
    """Return how far a change reaches; the app is asked for the default button of a dialog."""
    app, bridge, element = change.target.app, change.target.bridge, change.target.found
    node = element.node
    # A sheet lies in the window that it belongs to.
    window = next(filter(is_dialog, reversed(element.way)), element.window)
    default = "default" in node.states
    if not default and is_dialog(window) and not is_screen(node.handle):
        try:
            default = bridge.is_default(node.handle, window.handle, _DEFAULT_SECONDS)
        except UiFault:
            # What cannot be known is taken for the worse.
            default = node.role == "button"
    runs = bridge.runs_input(app) or any(one.role == "terminal" for one in element.way)
    does = change.does
    if change.action in CONFIRMS:
        does = does or return_does(element.way) or CONFIRMS_TEXT
    return assess_level(ChangeFacts(app.id, node, window, default, runs, change.words, does))


def deliver_changes(
    session: UiSession,
    app: UiApp,
    judged: Sequence[tuple[ElementChange, ChangeLevel]],
    seconds: float,
    tool: str,
    *,
    form: bool,
    shows: Callable[[UiApp], bool],
) -> dict[str, Any]:
    """Make the changes of a call in order, and return its answer.

    Args:
        judged: The changes, each with what it was judged to need.
        form: Whether the answer has a row for each.
        shows: Whether a person lets us say anything of another app.

    Raises:
        UiError: One could not be made; those before it were, which is said.
    """
    front = _front_window(session)
    answers: list[dict[str, Any]] = []
    for number, (change, was) in enumerate(judged):
        try:
            with error_context(app, change.target.found.path, tool=tool):
                answers.append(deliver(change, was.level, seconds))
        except ToolError as error:
            if number and len(judged) > 1:
                error.message = f"{number} of {len(judged)} were done; then: {error.message}"
            raise
    done = _combine_answers(answers) if form else answers[-1]
    if not done["success"]:
        return done
    with error_context(app, tool=tool):
        seen = changes_since_view(session, app, _NEWS)
        last = judged[-1][0]
        idle = seen == [] and (last.action != "" or last.method == "pointer")
        wait = 0.0 if seen else _ANNOUNCED if last.target.asks else _IDLE if idle else 0.0
        other = _other_dialog(session, app, front, wait, shows)
    if seen is not None:
        done["changes"] = seen
    if other:
        done |= other | {"notes": [*done.get("notes", ()), *other["notes"]]}
    return done


def deliver(change: ElementChange, level: Level, seconds: float) -> dict[str, Any]:
    """Make one change: its element is found again, and everything that was judged must hold.

    Args:
        level: What it was judged to need.

    Raises:
        StaleError: The element is another one now; nothing was done.
        UiError: It reaches further than was judged.
        UiFault: The app failed.
    """
    end = time.monotonic() + seconds
    session, app, before = change.target.session, change.target.app, change.target.found
    if is_screen(before.node.handle):
        element = find_screen_window(session, app, before)
    else:
        element = resolve_target(
            session, app, before.path, before.fingerprint, seconds, before, id=before.id
        )
    target, node = replace(change.target, found=element), element.node
    now = assess_change(change._replace(target=target))
    if not at_most(now.level, level):
        message = f"This call now needs {now.level}: {', '.join(now.reasons)}. Nothing was done."
        guidance = "The element has changed. Read it, then call again."
        raise UiError("REFUSED", message, guidance, reason="level_rose")
    if change.action:
        check_action(node, change.action)
    answer: dict[str, Any] = {"success": True, "method": change.method, **change.more}
    left = time_left(end, _LEAST)
    given = min(left, _RETURN) if change.method == "action" else left
    with error_context(app, before.path, writes=True):
        try:
            # Closing a window ends the element before it answers.
            with suppress(ElementGone):
                answer |= change.act(replace(target, seconds=given)) or {}
            left = min(time_left(end, _LEAST), _RETURN)
            after = _read_settled(target, change.value, left)
        except AppNotResponding as fault:
            answer |= _wait_for_dialog(session, app, end, fault)
            if "dialog" in answer:
                session.opened_dialogs.add((app.pid, node.handle))
                return answer | {"element_state": {"role": node.role, "title": node.title}}
            after = _read_settled(target, change.value, _LEAST)
    notes: list[str] = [*answer.pop("notes", ())]
    if after is None:
        answer["element_state"] = {"role": node.role, "title": node.title, "gone": True}
    else:
        # Its actions cost a further exchange, and hardly ever change.
        seen = after._replace(actions=node.actions)
        answer["element_state"] = element_state(seen, element.path, element.id)
    if change.value is not None:
        outcome = _value_outcome(session, change.value, node, after)
        notes += outcome.pop("notes")
        answer |= outcome
    elif after is None:
        gone = "The element is gone or cannot be read. This is its last known state."
        notes.append(gone if session.bridge.is_alive(app) else f"{app.name} has ended.")
    return answer | ({"notes": notes} if notes else {})


def check_action(node: UiNode, action: str, asked: str = "") -> None:
    """Raise if an element is disabled, or has no such action; `asked` is what it was called."""
    check_enabled(node)
    if action in node.actions:
        return
    asked = asked or action
    message = f"{quote_text(asked, 60)} is not an action of this {node.role.replace('_', ' ')}."
    guidance = near_text(asked, node.actions) if node.actions else "It has no actions."
    raise UiError(
        "NOT_SUPPORTED", message, guidance, reason="no_action", more={"actions": list(node.actions)}
    )


def check_enabled(node: UiNode) -> None:
    """Raise if an element is disabled."""
    if "enabled" not in node.states:
        message = f"The {node.role.replace('_', ' ')} {quote_text(node.title, 60)} is disabled."
        guidance = "Find out why the app has disabled this element. Then read the element again."
        raise UiError("NOT_SUPPORTED", message, guidance, reason="disabled")


def _front_window(session: UiSession) -> ScreenWindow | None:
    with suppress(UiFault):
        return session.bridge.input_devices.front_window()
    return None


def _other_dialog(
    session: UiSession,
    app: UiApp,
    before: ScreenWindow | None,
    seconds: float,
    shows: Callable[[UiApp], bool],
) -> dict[str, Any]:
    """Return what to say of a window of another program that came to the front: a file picker."""

    def came_to_front() -> ScreenWindow | None:
        now = _front_window(session)
        if now is None or now.pid in (0, app.pid) or (before and now.number == before.number):
            return None
        return now

    if before is None or not wait_until(came_to_front, seconds):
        return {}
    # The act is done, whatever is not to be had of the other.
    with suppress(ToolError, UiFault):
        window, running = came_to_front(), session.running_apps()
        for other in running:
            if window is not None and other.pid == window.pid and shows(other):
                title = HIDDEN if hidden_in(other.id) == "texts" else window.title
                note = f"{quote_text(title, 60)} of {other.name} is now in front."
                guidance = f"To work in it, give app {other.pid}."
                return {"dialog": title, "dialog_app": other.pid, "notes": [note, guidance]}
    return {}


def _wait_for_dialog(
    session: UiSession, app: UiApp, end: float, fault: AppNotResponding
) -> Mapping[str, Any]:
    """Return what to say of an act that did not return in time: that a dialog is why, or nothing.

    Raises:
        AppNotResponding: The app shows none, and does not answer either.
    """
    while True:
        if (error := modal_error(session.bridge, app)) is not None:
            notes = [error.message, error.suggestion]
            return {"success": False, "dialog": error.more["dialog"], "notes": notes}
        try:
            session.bridge.app_element(app, _LEAST)
        except AppNotResponding:
            if time.monotonic() > end:
                raise fault from None
        else:
            return {"notes": ["The app took its time, so it is unknown what else it did."]}


def _value_outcome(
    session: UiSession, value: str | float | bool, node: UiNode, after: UiNode | None
) -> dict[str, Any]:
    """Return what an answer says of a value that was set: whether it holds now, and what was."""
    secret = holds_secret(node)
    done = after is not None and (secret or _holds_value(session, value, after))
    note = ""
    if after is None:
        note = "The element is gone or cannot be read, so it is unknown whether the value was set."
    elif secret:
        note = "The element holds a secret, so the value was not read back."
    elif not done:
        note = "The element now has another value than the call set. Perhaps the app changed it."
    return {
        "success": done,
        "previous_value": shown_value(node),
        "new_value": None if after is None else shown_value(after),
        "notes": [note] if note else [],
    }


def _read_settled(
    target: Target, value: str | float | bool | None, seconds: float
) -> UiNode | None:
    """Return the element as it is now, once an animation of the press is over; None if gone."""
    session, node = target.session, target.node
    if is_screen(node.handle):
        with suppress(UiError, UiFault):
            return find_screen_window(session, target.app, target.found).node
        return None
    settled = time.monotonic() + min(_SETTLE, seconds)
    reader = session.bridge.open_reader(target.app, whole=False, timeout=seconds)
    # A browser takes a value at once and shows it a moment later.
    value = None if holds_secret(node) else value
    try:
        while True:
            now = read_one(reader, node.handle, _STATE, seconds)
            pressed = now.role == "button" and "pressed" in now.states
            late = value is not None and not _holds_value(session, value, now)
            if not (pressed or late) or time.monotonic() > settled:
                # GTK 3 keeps the shell of what it destroyed: without any state.
                return now if now.states or not node.states else None
            time.sleep(0.01)
    except ElementGone:
        return None


def is_same_value(wanted: str | float | bool, got: Scalar) -> bool:
    """Say whether a value that was read back is the one that was set."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return got in (0, 1) and bool(got) is wanted
    if isinstance(wanted, str) and isinstance(got, str):
        return wanted.strip() == got.strip()
    with suppress(TypeError, ValueError):
        return math.isclose(
            float(wanted), float(math.nan if got is None else got), rel_tol=1e-6, abs_tol=1e-6
        )
    return False


def _holds_value(session: UiSession, wanted: str | float | bool, node: UiNode) -> bool:
    """Say whether an element holds what was set; of a text a node has but what is shown of it."""
    if is_same_value(wanted, node.value):
        return True
    if not isinstance(wanted, str):
        return False
    with suppress(UiFault):
        return session.bridge.full_text(node.handle, _LEAST) == wanted
    return False


def _combine_answers(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the answers of several changes as one."""
    notes = [note for one in answers for note in one.get("notes", ())]
    rows = [{name: one[name] for name in _OF_FIELD if name in one} for one in answers]
    done = all(one["success"] for one in answers)
    return {"success": done, "fields": rows, **({"notes": notes} if notes else {})}
