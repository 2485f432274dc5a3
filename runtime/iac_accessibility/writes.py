"""The tools that change an element: what is going to be done, by its own action or its value."""

import math
from collections.abc import Mapping
from typing import Any, Final

from iac_accessibility.apps import UiSession
from iac_accessibility.calls import UiCall
from iac_accessibility.changes import ElementChange, check_action, check_enabled, describe_element
from iac_accessibility.errors import LOOK_AGAIN, UiError
from iac_accessibility.identity import ElementFound
from iac_accessibility.levels import holds_secret
from iac_accessibility.model import AcceptedValue, UiApp, UiNode
from iac_accessibility.paths import BOOLEAN_ROLES, action_name
from iac_accessibility.shapes import (
    ActionDone,
    AppName,
    ChangeDone,
    ElementName,
    ElementValue,
    Scalar,
    Seconds,
)
from iac_accessibility.texts import TextEntry, put_number, put_text
from iac_accessibility.toolset import change_tool
from iac_base.errors import quote_text
from iac_base.text import escape_hidden
from iac_runtime.tool import tool

_SWITCHES: Final = ("press", "toggle", "check", "uncheck")
_TRUE: Final = frozenset(("true", "yes", "on", "1", "checked"))
_FALSE: Final = frozenset(("false", "no", "off", "0", "unchecked"))


@change_tool
def plan_perform_action(session: UiSession, call: UiCall) -> ElementChange:
    """Perform one of the element's own actions.

    Raises:
        UiError: The path leads nowhere or elsewhere, or the element has no such action.
    """
    found = call.resolve_element(session)
    action = action_name(call.arguments["action"])
    check_action(found.node, action, call.arguments["action"])
    return ElementChange(
        found,
        f"{action} {describe_element(found, call.app)}",
        lambda node, seconds: session.bridge.perform_action(node.handle, action, seconds),
        action=action,
        words=(action,),
        more={"action": action},
    )


@tool(
    level="MODIFY",
    ceiling="DANGEROUS",
    plan=plan_perform_action,
    answer=ActionDone,
    words="button check checkbox click collapse control dialog disclosure dismiss expand hit"
    " icon link popup press push radio select tab tap tick triangle uncheck untick",
    example={"app": "Preview", "element": "window[0]/button[@title='Close']", "action": "press"},
    timeout=5.0,
)
def perform_action(
    *,
    app: AppName | None = None,
    element: ElementName,
    action: str,
    timeout: Seconds | None = None,
) -> None:
    """Perform one of an element's own actions, such as press, and return the element's state.

    Args:
        action: One of the element's own actions, such as press or show_menu.
    """


@change_tool
def plan_set_value(session: UiSession, call: UiCall) -> ElementChange:
    """Set a value, by pressing what is switched, and by paste or keys where nothing else does.

    Raises:
        UiError: The path leads nowhere or elsewhere, the element takes no value, or not this one.
    """
    found = call.resolve_element(session)
    return value_change(session, call.app, found, call.arguments["value"], call.seconds)


class ValueDone(ChangeDone):
    """What set_value answers."""

    previous_value: Scalar
    new_value: Scalar


@tool(
    level="MODIFY",
    ceiling="DANGEROUS",
    plan=plan_set_value,
    answer=ValueDone,
    words="address box checkbox drag enter field fill form put search slider text type value write",
    example={
        "app": "Safari",
        "element": "window[0]/toolbar[0]/text_field[0]",
        "value": "example.com",
    },
    timeout=5.0,
)
def set_value(
    *,
    app: AppName | None = None,
    element: ElementName,
    value: ElementValue,
    timeout: Seconds | None = None,
) -> None:
    """Set the value of a text field, slider or check box, and read it back. If it cannot be
    set directly, IAC pastes or types it, and the result says so.
    """


def value_change(
    session: UiSession, app: UiApp, found: ElementFound, given: str | float | bool, seconds: float
) -> ElementChange:
    """Return the change that sets the value of an element.

    Raises:
        UiError: The element takes no value, or not this one.
    """
    bridge = session.bridge
    node = found.node
    check_enabled(node)
    takes = bridge.accepted_value(node.handle, seconds)
    switch = next((name for name in _SWITCHES if name in node.actions), "")
    switched = bool(switch) and node.role in BOOLEAN_ROLES
    typed = not switched and takes.kind is None
    if typed and not node.states >= {"editable", "focusable"}:
        raise UiError(
            "NOT_SUPPORTED",
            f"The value of {describe_element(found, app)} cannot be set.",
            f"Its actions: {', '.join(node.actions)}." if node.actions else LOOK_AGAIN,
            reason="not_settable",
        )
    value = coerce_value(given, node, takes)

    def write_value(now: UiNode, seconds: float) -> Mapping[str, Any] | None:
        if not switched and isinstance(value, str):
            return put_text(session, TextEntry(app, found.now(now), value, whole=True), seconds)
        if not switched and isinstance(value, float):
            return put_number(session, app, found, value, seconds)
        if not switched:
            bridge.set_value(now.handle, value, seconds)
        elif bool(now.value) is not value:
            bridge.perform_action(now.handle, switch, seconds)
        return None

    return ElementChange(
        found,
        f"set {describe_element(found, app)} to {_shown(value, node, 200)}",
        write_value,
        "action" if switched else "value",
        switch if switched else "",
        value,
    )


def coerce_value(
    value: str | float | bool, node: UiNode, takes: AcceptedValue
) -> str | float | bool:
    """Return `value` as the element takes it: texts of numbers as numbers, 1 as true.

    Raises:
        UiError: It does not fit; the message says what would.
    """
    if node.role in BOOLEAN_ROLES or takes.kind == "boolean":
        return _coerce_boolean(value, node)
    if takes.kind == "number":
        return _coerce_number(value, node, takes)
    if isinstance(value, bool):
        raise _unfit_error(node, f"takes a text, not {_shown(value, node)}")
    text = value if isinstance(value, str) else f"{value:.15g}"
    if takes.choices and text not in takes.choices:
        choices = f"It takes: {', '.join(map(quote_text, takes.choices[:10]))}."
        raise _unfit_error(node, f"does not take {_shown(text, node)}", choices)
    return text


def _coerce_boolean(value: str | float | bool, node: UiNode) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else f"{value:g}"
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise _unfit_error(node, f"takes true or false, not {_shown(value, node)}")


def _coerce_number(value: str | float | bool, node: UiNode, takes: AcceptedValue) -> float:
    limits = ""
    if takes.minimum is not None and takes.maximum is not None and takes.minimum < takes.maximum:
        limits = f" from {takes.minimum:g} to {takes.maximum:g}"
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _unfit_error(node, f"takes a number{limits}, not {_shown(value, node)}")
    if limits and not (takes.minimum or 0.0) <= number <= (takes.maximum or 0.0):
        raise _unfit_error(node, f"takes a number{limits}, not {_shown(number, node)}")
    return number


def _unfit_error(node: UiNode, what: str, guidance: str = "Give a value of this kind.") -> UiError:
    name = f" {quote_text(node.title, 60)}" if node.title else ""
    message = f"The {node.role.replace('_', ' ')}{name} {what}."
    return UiError("INVALID_PARAMETER", message, guidance, reason="bad_value")


def _shown(value: str | float | bool, node: UiNode, limit: int = 80) -> str:
    if holds_secret(node):
        return "a secret"
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote_text(escape_hidden(value), limit) if isinstance(value, str) else f"{value:g}"
