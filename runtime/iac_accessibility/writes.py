"""The tools that change something: what is going to be done, and doing it.

Action first: an action of the element's own, or its settable value. Keys are synthesised for one
thing only, a text whose value cannot be set, and the answer says so.
"""

import time
from collections.abc import Mapping
from typing import Any, Final

from iac_accessibility.errors import LOOK_AGAIN, UiError, from_fault
from iac_accessibility.faults import Fault, Gone
from iac_accessibility.levels import holds_secret
from iac_accessibility.locate import check, refuse_stale, with_row
from iac_accessibility.marks import Found, Mark
from iac_accessibility.menus import follow_menu
from iac_accessibility.model import App, Node, Scalar, Want
from iac_accessibility.plan import Means, Plan, Scope
from iac_accessibility.render import element_state
from iac_accessibility.roles import BOOLEAN_ROLES, action_name
from iac_accessibility.session import Session, hides_values, one
from iac_accessibility.target import judged, steps_of_path, target
from iac_accessibility.values import coerce, same
from iac_base.errors import InvalidParameterError, near_text, quoted
from iac_base.text import escaped
from iac_runtime.tool import at_most

__all__ = ["perform_write", "plan_action", "plan_menu", "plan_value"]

_STATE: Final = Want.VALUE | Want.IDENTIFIER
_SWITCHES: Final = ("press", "toggle", "check", "uncheck")
_SETTLE: Final = 0.4
"""Seconds that an animated press is waited for; presses in between would be lost."""


def plan_action(
    session: Session, app: App, arguments: Mapping[str, Any], seconds: float, bound: Mark | None
) -> Plan:
    """Return the plan of `perform_action`.

    Args:
        bound: What the element has to be; None for what its path was made from.

    Raises:
        UiError: The path leads nowhere or elsewhere, or the element has no such action.
    """
    steps, path = steps_of_path(arguments["element_path"], app)
    mark = bound or session.book.mark(app, path)
    found = target(session, app, steps, path, mark, seconds)
    action = action_name(arguments["action"])
    _own_action(found.node, action, arguments["action"], app, path)
    line = f"{action} {_told(found, app)}"
    verdict = judged(session, app, found, words=(action,))
    return Plan(
        "perform_action", arguments, app, verdict.level, line, seconds, verdict.reasons, "action",
        found.mark, steps, path, action, None, _scope(app, found), found,
    )  # fmt: skip


def plan_menu(
    session: Session, app: App, arguments: Mapping[str, Any], seconds: float, bound: Mark | None
) -> Plan:
    """Return the plan of `click_menu`: the item is looked for, no menu is opened.

    Raises:
        UiError: There is no such menu or item, or it is disabled.
    """
    found, titles = follow_menu(session, app, arguments["menu_path"], seconds)
    found = with_row(session.bridge, app, found, seconds=seconds)
    differences = check(bound, found) if bound else ""
    if bound and differences:
        raise refuse_stale(session.bridge, app, found.path, bound, differences, session.book)
    action = "press" if "press" in found.node.actions else "pick"
    _own_action(found.node, action, "press", app, found.path)
    line = f"choose {' > '.join(quoted(title, 40) for title in titles)} in {_app(app)}"
    verdict = judged(session, app, found, words=tuple(titles))
    steps, path = steps_of_path(found.path, app)
    return Plan(
        "click_menu", arguments, app, verdict.level, line, seconds, verdict.reasons, "action",
        found.mark, steps, path, action, None, _scope(app, found), found,
    )  # fmt: skip


def plan_value(
    session: Session, app: App, arguments: Mapping[str, Any], seconds: float, bound: Mark | None
) -> Plan:
    """Return the plan of `set_value`; `bound` as for `plan_action`.

    Raises:
        UiError: The path leads nowhere or elsewhere, or the element takes no value.
        InvalidParameterError: The value does not fit; the message says what would.
    """
    steps, path = steps_of_path(arguments["element_path"], app)
    mark = bound or session.book.mark(app, path)
    found = target(session, app, steps, path, mark, seconds)
    node = found.node
    _enabled(node, app, path)
    try:
        takes = session.bridge.settable(node.handle, seconds)
    except Fault as fault:
        raise from_fault(fault, app, path) from None
    means: Means
    action = ""
    switch = next((name for name in _SWITCHES if name in node.actions), "")
    if node.role in BOOLEAN_ROLES and switch:
        means = "press"
        action = switch
    elif takes.kind is not None:
        means = "value"
    elif "editable" in node.states and "focusable" in node.states:
        means = "typed"
    else:
        raise UiError(
            "NOT_SUPPORTED",
            f"The value of {_told(found, app)} cannot be set.",
            f"Its actions: {', '.join(node.actions)}." if node.actions else LOOK_AGAIN,
            reason="not_settable",
            app=app.name,
            element_path=path,
        )
    try:
        value = coerce(arguments["value"], node, takes)
    except InvalidParameterError as error:
        raise UiError(
            "INVALID_PARAMETER",
            error.message,
            error.suggestion or "Give a value of that kind.",
            reason="bad_value",
            app=app.name,
            element_path=path,
        ) from None
    verdict = judged(session, app, found, synthetic=means == "typed")
    shown = "a secret" if holds_secret(node) else _shown(value)
    how = " with synthetic keys" if means == "typed" else ""
    line = f"set {_told(found, app)} to {shown}{how}"
    return Plan(
        "set_value", arguments, app, verdict.level, line, seconds, verdict.reasons, means,
        found.mark, steps, path, action, value, _scope(app, found), found,
    )  # fmt: skip


def perform_write(session: Session, plan: Plan) -> dict[str, Any]:
    """Carry out a plan: the path is resolved again, and everything that was judged must hold.

    Raises:
        StaleError: The element is another one now; nothing was done.
        UiError: It reaches further than was judged, or the app failed.
    """
    assert plan.app is not None
    app, end = plan.app, time.monotonic() + plan.timeout
    found = target(session, app, plan.steps, plan.path, plan.mark, plan.timeout, plan.found)
    _still(session, plan, found)
    if plan.means in ("action", "press") and plan.action:
        _own_action(found.node, plan.action, plan.action, app, plan.path)
    before = _readable(app, found.node)
    try:
        _carry_out(session, plan, found.node, max(end - time.monotonic(), 0.2))
    except Gone:
        # Closing a window ends the element before it answers.
        if plan.means not in ("action", "press") or not session.bridge.alive(app):
            return _ended(session, plan, found.node, before)
    except Fault as fault:
        error = from_fault(fault, app, plan.path, writes=True)
        raise error from None
    return _outcome(session, plan, found.node, before, end)


def _carry_out(session: Session, plan: Plan, node: Node, seconds: float) -> None:
    assert plan.app is not None
    bridge, value = session.bridge, plan.value
    if plan.means == "press":
        if bool(node.value) is not value:
            bridge.perform(node.handle, plan.action, seconds)
    elif plan.means == "value":
        assert value is not None
        bridge.set_value(node.handle, value, seconds)
    elif plan.means == "typed":
        bridge.type_text(plan.app, node.handle, str(value), seconds)
    else:
        bridge.perform(node.handle, plan.action, seconds)


def _outcome(
    session: Session, plan: Plan, node: Node, before: Scalar, end: float
) -> dict[str, Any]:
    assert plan.app is not None
    after = _after(session, plan, node, end)
    if plan.tool == "set_value":
        return _value_outcome(plan, node, after, before)
    answer: dict[str, Any] = {"success": True, "action": plan.action, "method": "action"}
    if after is None:
        answer["element_state"] = _gone(node)
        answer["notes"] = ["The element is gone or not readable since; its last state is given."]
    else:
        answer["element_state"] = _state(plan.app, after)
    if plan.tool == "click_menu":
        answer["element_path"] = plan.path
    return answer


def _value_outcome(plan: Plan, node: Node, after: Node | None, before: Scalar) -> dict[str, Any]:
    assert plan.app is not None
    assert plan.value is not None
    notes: list[str] = []
    secret = holds_secret(node)
    now = None if after is None else _readable(plan.app, after)
    done = after is not None and (secret or same(plan.value, after.value))
    if plan.means == "typed":
        notes.append("The value could not be set; it was typed with synthetic keys.")
    if after is None:
        notes.append("The element is gone or not readable since; whether it was set is unknown.")
    elif secret:
        notes.append("The element holds a secret, so the value was not read back.")
    elif not done:
        notes.append("The app holds another value than was set; it may have changed it.")
    return {
        "success": done,
        "previous_value": before,
        "new_value": now,
        "method": {"press": "action", "typed": "synthetic keys"}.get(plan.means, "value"),
        "element_state": _gone(node) if after is None else _state(plan.app, after),
        **({"notes": notes} if notes else {}),
    }


def _after(session: Session, plan: Plan, node: Node, end: float) -> Node | None:
    """Return the element as it is now, once an animation of the press is over; None if gone."""
    assert plan.app is not None
    left = max(end - time.monotonic(), 0.2)
    settled = time.monotonic() + min(_SETTLE, left)
    reader = session.bridge.reader(plan.app, whole=False, timeout=left)
    # A browser takes a value at once and shows it a moment later.
    waits = plan.value is not None and not holds_secret(node)
    try:
        while True:
            now = one(reader, node.handle, _STATE, left)
            pressed = now.role == "button" and "pressed" in now.states
            late = waits and plan.value is not None and not same(plan.value, now.value)
            if not (pressed or late) or time.monotonic() > settled:
                return now
            time.sleep(0.01)
    except Fault:
        return None


def _still(session: Session, plan: Plan, found: Found) -> None:
    """Refuse what reaches further now than when it was judged."""
    assert plan.app is not None
    words: tuple[str, ...] = (plan.action,) if plan.tool == "perform_action" else ()
    verdict = judged(session, plan.app, found, words=words, synthetic=plan.means == "typed")
    if not at_most(verdict.level, plan.level):
        raise UiError(
            "REFUSED",
            f"This call is {verdict.level} now: {', '.join(verdict.reasons)}. Nothing was done.",
            "Ask again; the element has changed since.",
            reason="level_rose",
            app=plan.app.name,
            element_path=plan.path,
        )


def _ended(session: Session, plan: Plan, node: Node, before: Scalar) -> dict[str, Any]:
    assert plan.app is not None
    if plan.tool == "set_value":
        return _value_outcome(plan, node, None, before)
    alive = session.bridge.alive(plan.app)
    note = "The element is gone since." if alive else f"{plan.app.name} has ended since."
    return {
        "success": True,
        "action": plan.action,
        "method": "action",
        "element_state": _gone(node),
        "notes": [note],
    }


def _own_action(node: Node, action: str, asked: str, app: App, path: str) -> None:
    _enabled(node, app, path)
    if action in node.actions:
        return
    offered = near_text(asked, node.actions) if node.actions else "It has no actions."
    raise UiError(
        "NOT_SUPPORTED",
        f"{quoted(asked, 60)} is no action of this {node.role.replace('_', ' ')}.",
        offered,
        reason="no_action",
        app=app.name,
        element_path=path,
        more={"actions": list(node.actions)},
    )


def _enabled(node: Node, app: App, path: str) -> None:
    if "enabled" not in node.states:
        raise UiError(
            "NOT_SUPPORTED",
            f"The {node.role.replace('_', ' ')} {quoted(node.title, 60)} is disabled.",
            "Look what has to be done first, then read it again.",
            reason="disabled",
            app=app.name,
            element_path=path,
        )


def _scope(app: App, found: Found) -> Scope:
    window = found.window.title if found.window.role != "menu_bar" else "menu bar"
    return Scope(app.id, app.pid, app.started, window or found.window.role)


def _told(found: Found, app: App) -> str:
    node = found.node
    name = f" {quoted(node.title, 60)}" if node.title else f" at {found.path[-80:]}"
    place = f"window {quoted(found.window.title, 60)} of " if len(found.way) > 1 else ""
    return escaped(f"{node.role.replace('_', ' ')}{name} in {place}{_app(app)}")


def _app(app: App) -> str:
    return escaped(f"{app.name} ({app.id or 'identity unknown'}, process {app.pid})")


def _shown(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(escaped(value), 200) if isinstance(value, str) else f"{value:g}"


def _readable(app: App, node: Node) -> Scalar:
    if holds_secret(node):
        return "[secret]"
    return "[hidden]" if hides_values(app, node) else node.value


def _state(app: App, node: Node) -> dict[str, Any]:
    return element_state(node, hides_values(app, node))


def _gone(node: Node) -> dict[str, Any]:
    return {"role": node.role, "title": node.title, "gone": True}
