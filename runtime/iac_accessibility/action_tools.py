"""The tools that work an element by its own means: actions, values, options, menus.

A menu item is found without opening a menu. Toolkits nest menus in different ways: an item may lead
to its items directly (GTK), or by an element for the menu that opens (macOS, Qt). Such an element
has no name of its own to be given.
"""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from iac_accessibility.arguments import (
    ChangedLines,
    ChangeDone,
    ElementDone,
    ElementName,
    ElementValue,
    RateLimitWarning,
    UiCall,
)
from iac_accessibility.bridge import ElementReader, parse_stroke, time_left, wait_until
from iac_accessibility.deliver import ElementChange, check_action, check_enabled
from iac_accessibility.element_identity import ElementFound, describe_differences, with_row
from iac_accessibility.errors import LOOK_AGAIN, UiError, error_context
from iac_accessibility.locate import path_of, stale_error
from iac_accessibility.model import (
    BOOLEAN_ROLES,
    MENU_ROLES,
    AcceptedValue,
    Detail,
    Handle,
    Scalar,
    UiApp,
    UiFault,
    UiNode,
    action_name,
)
from iac_accessibility.risk import holds_secret
from iac_accessibility.session import UiSession
from iac_accessibility.target import (
    Focus,
    Target,
    describe_app,
    find_target,
)
from iac_accessibility.toolset import acting_tool
from iac_accessibility.traverse import WalkLimits, walk_tree
from iac_base.errors import near_text, quote_text
from iac_base.text import escape_hidden
from iac_runtime.tool import limits

_TRUTH: Final = {
    **dict.fromkeys(("true", "yes", "on", "1", "checked"), True),
    **dict.fromkeys(("false", "no", "off", "0", "unchecked"), False),
}


@acting_tool(
    words="button check checkbox click collapse control dialog disclosure dismiss expand hit"
    " icon link popup press push radio select tab tap tick triangle uncheck untick",
    example={"app": "Preview", "element": "window[0]/button[@title='Close']", "action": "press"},
)
def perform_action(call: UiCall, element: ElementName, action: str) -> ElementChange:
    """Perform one of an element's own actions, such as press or show_menu, and return its state."""
    target, name = find_target(call, element), action_name(action)
    check_action(target.node, name, action)
    line, more = f"{name} {target.name}", {"action": name}
    return ElementChange(
        target, line, lambda now: now.perform(name), action=name, words=(name,), more=more
    )


class ValueDone(ChangeDone):
    """What set_value answers."""

    previous_value: Scalar
    new_value: Scalar


@acting_tool(
    answer=ValueDone,
    words="address box checkbox drag enter field fill form put search slider text type value write",
    example={
        "app": "Safari",
        "element": "window[0]/toolbar[0]/text_field[0]",
        "value": "example.com",
    },
)
def set_value(call: UiCall, element: ElementName, value: ElementValue) -> ElementChange:
    """Set the value of a text field, slider or check box, and read it back. What cannot be set
    directly is pasted or typed."""
    return _value_change(find_target(call, element), value)


def _value_change(target: Target, given: str | float | bool) -> ElementChange:
    """Return the change that sets the value of an element.

    Raises:
        UiError: The element takes no value, or not this one.
    """
    node = target.node
    check_enabled(node)
    takes = target.bridge.accepted_value(node.handle, target.seconds)
    switch = target.own_action("press", "toggle", "check", "uncheck")
    if node.role not in BOOLEAN_ROLES:
        switch = ""
    if not switch and takes.kind is None and not node.states >= {"editable", "focusable"}:
        message = f"The value of {target.name} cannot be set."
        guidance = f"Its actions: {', '.join(node.actions)}." if node.actions else LOOK_AGAIN
        raise UiError("NOT_SUPPORTED", message, guidance, reason="not_settable")
    value = coerce_value(given, node, takes)

    def write_value(now: Target) -> Mapping[str, Any] | None:
        if not switch and isinstance(value, str):
            return now.put_text(value, whole=True)
        if not switch and isinstance(value, float):
            return now.put_number(value)
        if not switch:
            now.bridge.set_value(now.node.handle, value, now.seconds)
        elif bool(now.node.value) is not value:
            now.perform(switch)
        return None

    line = f"set {target.name} to {_shown(value, node, 200)}"
    method: Literal["action", "value"] = "action" if switch else "value"
    return ElementChange(target, line, write_value, method, switch, value)


def coerce_value(
    value: str | float | bool, node: UiNode, takes: AcceptedValue
) -> str | float | bool:
    """Return `value` as the element takes it: texts of numbers as numbers, 1 as true.

    Raises:
        UiError: It does not fit; the message says what would.
    """
    guidance = "Give a value of this kind."
    if node.role in BOOLEAN_ROLES or takes.kind == "boolean":
        word = value.strip().lower() if isinstance(value, str) else f"{float(value):g}"
        if word in _TRUTH:
            return _TRUTH[word]
        what = f"takes true or false, not {_shown(value, node)}"
    elif takes.kind == "number":
        low, high = takes.minimum or 0.0, takes.maximum or 0.0
        bounded = None not in (takes.minimum, takes.maximum) and low < high
        number = math.nan
        with suppress(ValueError):
            number = math.nan if isinstance(value, bool) else float(value)
        if math.isfinite(number) and (not bounded or low <= number <= high):
            return number
        bounds = f" from {low:g} to {high:g}" if bounded else ""
        given = number if math.isfinite(number) else value
        what = f"takes a number{bounds}, not {_shown(given, node)}"
    elif isinstance(value, bool):
        what = f"takes a text, not {_shown(value, node)}"
    else:
        text = value if isinstance(value, str) else f"{value:.15g}"
        if not takes.choices or text in takes.choices:
            return text
        what = f"does not take {_shown(text, node)}"
        guidance = f"It takes: {', '.join(map(quote_text, takes.choices[:10]))}."
    name = f" {quote_text(node.title, 60)}" if node.title else ""
    message = f"The {node.role.replace('_', ' ')}{name} {what}."
    raise UiError("INVALID_PARAMETER", message, guidance, reason="bad_value")


def _shown(value: str | float | bool, node: UiNode, limit: int = 80) -> str:
    if holds_secret(node):
        return "a secret"
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote_text(escape_hidden(value), limit) if isinstance(value, str) else f"{value:g}"


_ARROW: Final = re.compile(r"\s*(?:>|→|▸|›)\s*")
_DOTS: Final = re.compile(r"\s*(?:…|\.\.\.)\s*\Z")
_GAP: Final = re.compile(r"\t| {3,}")


@acting_tool(
    words="bar choose command item menu open pick select submenu",
    example={"app": "TextEdit", "menu_path": "Format > Make Plain Text"},
    named=True,
)
def click_menu(call: UiCall, menu_path: str) -> ElementChange:
    """Choose an item in an app's menu bar.

    Args:
        menu_path: Titles, such as File > Save As…
    """
    app, session = call.app, call.session
    # It is looked for, no menu is opened.
    item, named = _find_menu_item(session, app, menu_path, call.seconds)
    element = with_row(session.bridge, app, item, seconds=call.seconds)
    if call.bound and (why := describe_differences(call.bound[0], element)):
        raise stale_error(session, app, element.path, call.bound[0], why)
    target = Target(session, app, element, call.seconds)
    action = target.own_action("press") or "pick"
    with error_context(app, element.path):
        check_action(element.node, action, "press")
    return ElementChange(
        target,
        f"choose {' > '.join(quote_text(title, 40) for title in named)} in {describe_app(app)}",
        lambda now: now.press(action),
        action=action,
        words=tuple(named),
        more={"action": action, "element_path": element.path},
    )


def _find_menu_item(
    session: UiSession, app: UiApp, text: str, seconds: float
) -> tuple[ElementFound, list[str]]:
    """Return the menu item that a menu path names, and the titles on the way as the app has them.

    Raises:
        UiError: It is no menu path, or there is no menu bar, no such menu or item.
    """
    wanted = [part.strip() for part in _ARROW.split(text.strip())]
    if not 2 <= len(wanted) <= 10 or not all(wanted):
        message = f"{quote_text(text)} is not a menu path."
        guidance = 'Write the menu and the item: "File > Save As…".'
        raise UiError("INVALID_PARAMETER", message, guidance, reason="bad_path")
    end = time.monotonic() + seconds
    session.check_alive(app)
    handles = _menu_bars(session, app, seconds)
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    named: list[str] = []
    for title in wanted:
        item = _match_item(title, _menu_items(reader, handles, end), named, app)
        named.append(item.title)
        handles = [item.handle]
    return path_of(session.bridge, app, handles[0], seconds=time_left(end, 0.2)), named


def _menu_bars(session: UiSession, app: UiApp, seconds: float) -> list[Handle]:
    """Return the app's menu bars: its own, else those of the active window, else of any."""
    reader, root = session.open_app(app, seconds, whole=False)
    limits = WalkLimits(seconds, 8, nodes=3_000)
    seen = walk_tree(
        reader,
        root,
        Detail.NOTHING,
        limits,
        enough=lambda order: any(branch.node.role == "menu_bar" for branch in order),
    )
    bars = [branch for branch in seen.order if branch.node.role == "menu_bar"]
    if not bars:
        message = f"{app.name} has no menu bar, or does not show it."
        guidance = "Use find_element to find a button that opens a menu."
        raise UiError("NOT_SUPPORTED", message, guidance, reason="no_menu")
    active = [bar for bar in bars if "active" in bar.window.states]
    return [bar.node.handle for bar in active or bars]


def _menu_items(reader: ElementReader, handles: list[Handle], end: float) -> list[UiNode]:
    """Return the items below elements, those of menus without a name of their own included."""
    items: list[UiNode] = []
    for _ in range(3):
        parents = reader.read(handles, Detail.CHILDREN, time_left(end, 0.1))
        children = [
            handle for node in parents if isinstance(node, UiNode) for handle in node.children[:500]
        ]
        nodes = [
            node
            for node in reader.read(children, Detail.CHILDREN, time_left(end, 0.1))
            if isinstance(node, UiNode)
        ]
        wrapped = [node for node in nodes if node.role == "menu" and not _names_items(node, nodes)]
        items += [node for node in nodes if node.role in MENU_ROLES and node not in wrapped]
        handles = [node.handle for node in wrapped]
        if not handles:
            break
    return items


def _names_items(menu: UiNode, among: list[UiNode]) -> bool:
    """Say whether a menu among these is itself the item that opens it."""
    return bool(menu.title) and (len(among) > 1 or bool(menu.actions))


def _match_item(title: str, level: list[UiNode], above: list[str], app: UiApp) -> UiNode:
    for plain in (_comparable_title, _without_dots):
        matches = [node for node in level if node.title and plain(node.title) == plain(title)]
        if matches:
            return ([node for node in matches if "enabled" in node.states] or matches)[0]
    place = (
        f"the menu {' > '.join(quote_text(name, 40) for name in above)}"
        if above
        else "the menu bar"
    )
    message = f"There is no item {quote_text(title)} in {place} of {app.name}."
    guidance = near_text(title, dict.fromkeys(node.title for node in level if node.title))
    raise UiError("NOT_FOUND", message, guidance, reason="no_menu")


def _comparable_title(title: str) -> str:
    """Return a title as it is compared: without accelerator, one kind of dots, no case."""
    return _DOTS.sub("…", _GAP.split(title.strip())[0].strip()).casefold()


def _without_dots(title: str) -> str:
    return _comparable_title(title).rstrip("…").rstrip()


_CLOSED: Final = ("combo_box", "pop_up_button")
_LISTS: Final = ("list", "table", "tree", "tab_group", "outline", "list_box")
_CHOICE_ROLES: Final = frozenset(
    ("list_item", "menu_item", "cell", "tab", "row", "tree_item", "radio_button", "option")
)
_CHOSEN: Final = 0.5


@acting_tool(
    words="choice choose combo dropdown list option pick pop popup select switch tab up",
    example={"element": "e12", "option": "Green"},
)
def select_option(call: UiCall, element: ElementName, option: str) -> ElementChange:
    """Choose an option of a pop-up, combo box, list, tab bar or menu by the option's title."""
    return _option_change(find_target(call, element), option)


def _option_change(target: Target, wanted: str) -> ElementChange:
    check_enabled(target.node)
    options = _list_options(target, wanted)
    parent, option = options[_match_option(wanted, [node.title for _, node in options])]
    beside = [node for above, node in options if above == parent]
    place, title = beside.index(option), quote_text(option.title, 60)

    def choose_by_keys(now: Target) -> None:
        # As a person does who has no mouse: from the choice of now to the one that is wanted.
        shown = now.read(now.node.handle, Detail.VALUE)
        chosen = (at for at, one in enumerate(beside) if one.title in (shown.title, shown.value))
        steps = place - next(chosen, 0)
        keys = ["down" if steps > 0 else "up"] * abs(steps)
        try:
            focus = now.take_keyboard()
        except UiError:
            # It takes the keyboard only when it is open (Qt).
            opening = now.own_action("press", "show_menu")
            if not opening:
                raise
            now.perform(opening)
            focus = Focus(now.bring_window().number)
            keys.append("return")
        now.press_strokes([*map(parse_stroke, keys)], focus)

    def choose_option(now: Target) -> Mapping[str, Any]:
        bridge, seconds = now.bridge, now.seconds
        same = now.read(option.handle, Detail.ACTIONS)
        if same.title != option.title:
            message = f"The option is now called {quote_text(same.title, 60)}. Nothing was done."
            raise UiError("NOT_FOUND", message, LOOK_AGAIN, reason="stale")
        own = next((one for one in ("press", "pick", "select") if one in same.actions), "")
        press = [partial(bridge.perform_action, option.handle, own, seconds)] if own else []
        holders = dict.fromkeys((now.node.handle, parent))
        choose = [partial(bridge.select_child, holder, place, seconds) for holder in holders]
        by_keys = partial(choose_by_keys, now)
        roads: list[Callable[[], object]]
        if parent != options[0][0]:
            # Below another option: its place is none among those that the element itself has.
            roads = [*press, choose[-1]]
        elif now.node.role in _CLOSED:
            # The menu of a closed pop-up takes a selection, and the pop-up stays as it is.
            roads = [choose[0], *press, *choose[1:], by_keys]
        elif option.role in ("menu_item", "radio_button"):
            roads = [*press, *choose]
        else:
            roads = [*reversed(choose), *press]
        for road in roads:
            with suppress(UiFault, UiError):
                road()
                if wait_until(lambda: _is_chosen(now, option), min(seconds, _CHOSEN)):
                    return {"method": "keys" if road is by_keys else "action"}
        guidance = "Press the element first, then press the option."
        raise UiError("EXECUTION_ERROR", f"{title} was not chosen.", guidance, reason="failed")

    line, more = f"choose {title} in {target.name}", {"action": "select", "option": option.title}
    return ElementChange(target, line, choose_option, words=(option.title,), more=more)


def _is_chosen(target: Target, option: UiNode) -> bool:
    """Say whether an option is the choice now; of a menu that has closed nothing can be said."""
    role, both = target.node.role, [target.node.handle, option.handle]
    holder, chosen = target.session.read_nodes(target.app, both, Detail.VALUE, target.seconds)
    if not isinstance(holder, UiNode) or role not in (*_CLOSED, *_LISTS):
        return True
    if option.title in (holder.title, holder.value) or not (holder.title or holder.value):
        return True
    marked = isinstance(chosen, UiNode) and chosen.states & {"selected", "checked"}
    return bool(marked) and role not in _CLOSED


def _list_options(target: Target, wanted: str) -> list[tuple[Handle, UiNode]]:
    """Return the options below an element, each with what it is a child of.

    What lies below options (a submenu, a branch of a tree) is looked at where none of them is it.
    """
    reader = target.bridge.open_reader(target.app, whole=False, timeout=target.seconds)
    rows: list[tuple[Handle, UiNode]] = []
    level = [(target.node.handle, child) for child in target.node.children[:1_000]]
    for _ in range(4):
        below: list[tuple[Handle, Handle]] = []
        read = reader.read([child for _, child in level], Detail.CHILDREN, target.seconds)
        for (parent, _), node in zip(level, read, strict=True):
            if not isinstance(node, UiNode):
                continue
            if node.role in _CHOICE_ROLES and node.title:
                rows.append((parent, node))
            below += [(node.handle, child) for child in node.children[:1_000]]
        if not below or any(one.title.casefold() == wanted.casefold() for _, one in rows):
            break
        level = below
    return rows


def _match_option(wanted: str, titles: Sequence[str]) -> int:
    for plain in (str, str.casefold):
        places = [at for at, title in enumerate(titles) if plain(title) == plain(wanted)]
        if len(places) == 1:
            return places[0]
    shown = ", ".join(quote_text(title, 40) for title in titles[:12])
    raise UiError(
        "NOT_FOUND" if not places else "INVALID_PARAMETER",
        f"The title {quote_text(wanted, 60)} belongs to {len(places) or 'no'} options.",
        f"The options are: {shown}."
        if titles
        else "Press the element first, so that it shows options.",
        reason="no_element",
    )


class FieldValue(TypedDict):
    """An element and the value that it gets."""

    element: ElementName
    value: ElementValue


class FieldDone(ElementDone, total=False):
    """What was done to a field."""

    previous_value: Scalar
    new_value: Scalar


class FormDone(TypedDict):
    """What fill_form answers."""

    success: bool
    fields: list[FieldDone]
    changes: NotRequired[ChangedLines]
    rate_limit_warning: NotRequired[RateLimitWarning]
    notes: NotRequired[list[str]]


@acting_tool(
    answer=FormDone,
    words="address enter fields fill form login name register set several values",
    example={"fields": [{"element": "e12", "value": "Ada"}, {"element": "e15", "value": True}]},
    timeout=20.0,
)
def fill_form(
    call: UiCall, fields: Annotated[list[FieldValue], limits(minItems=1, maxItems=50)]
) -> list[ElementChange]:
    """Set the values of many elements of one app in order, with one approval. Stops at the first
    element that does not take its value."""
    changes: list[ElementChange] = []
    for at, row in enumerate(fields):
        target, value = find_target(call, row["element"], at), row["value"]
        try:
            changes.append(_value_change(target, value))
        except UiError as error:
            if error.reason != "not_settable" or target.node.role not in _CLOSED:
                raise
            changes.append(_option_change(target, str(value)))
    return changes
