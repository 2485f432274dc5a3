"""The tools for options, windows, many fields at once, and for waiting."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from iac_accessibility.apps import UiSession, walk_app
from iac_accessibility.bridge import read_one
from iac_accessibility.calls import UiCall
from iac_accessibility.changes import ElementChange, check_enabled, describe_element
from iac_accessibility.errors import LOOK_AGAIN, UiError
from iac_accessibility.hands import (
    bring_window,
    press_strokes,
    require_input_devices,
    screen_window,
)
from iac_accessibility.identity import ElementFound, element_of_branch
from iac_accessibility.keys import parse_stroke
from iac_accessibility.model import (
    AppNotResponding,
    Detail,
    Frame,
    UiApp,
    UiFault,
    UiNode,
)
from iac_accessibility.reads import ElementFilter
from iac_accessibility.render import DATA_NOTE, app_facts, element_state
from iac_accessibility.shapes import (
    ActionDone,
    AppFacts,
    AppName,
    ChangedLines,
    ElementDone,
    ElementFacts,
    ElementName,
    ElementValue,
    RateLimitWarning,
    RoleName,
    Scalar,
    ScreenPoint,
    ScreenSize,
    Seconds,
    TitlePart,
    ValuePart,
    WholeIdentifier,
)
from iac_accessibility.texts import focus_element
from iac_accessibility.toolset import change_tool, read_tool
from iac_accessibility.traverse import WalkLimits
from iac_accessibility.writes import value_change
from iac_base.errors import quote_text
from iac_runtime.tool import limits, tool

_CHOICE_ROLES: Final = frozenset(
    ("list_item", "menu_item", "cell", "tab", "row", "tree_item", "radio_button", "option")
)


@change_tool
def plan_select_option(session: UiSession, call: UiCall) -> ElementChange:
    """Choose an option of a pop-up, a list, a tab bar or a menu by its title.

    Raises:
        UiError: There is no such option; those that are there are named.
    """
    found = call.resolve_element(session)
    return _option_change(session, call.app, found, str(call.arguments["option"]), call.seconds)


@tool(
    level="MODIFY",
    ceiling="DANGEROUS",
    plan=plan_select_option,
    answer=ActionDone,
    words="choice choose combo dropdown list option pick pop popup select switch tab up",
    example={"element": "e12", "option": "Green"},
    timeout=5.0,
)
def select_option(
    *, app: AppName | None = None, element: ElementName, option: str, timeout: Seconds | None = None
) -> None:
    """Choose an option of a pop-up, a combo box, a list, a tab bar or a menu by the option's
    title.

    Args:
        option: Title of the option.
    """


def _option_change(
    session: UiSession, app: UiApp, found: ElementFound, wanted: str, seconds: float
) -> ElementChange:
    check_enabled(found.node)
    options = _list_options(session, app, found, seconds)
    at = _match_option(wanted, [node.title for _, node in options])
    parent, option = options[at]
    place = [node for above, node in options if above == parent].index(option)

    def choose_option(_now: UiNode, seconds: float) -> Mapping[str, Any]:
        bridge = session.bridge
        reader = bridge.open_reader(app, whole=False, timeout=seconds)
        same = read_one(reader, option.handle, Detail.ACTIONS, seconds)
        if same.title != option.title:
            raise UiError(
                "NOT_FOUND",
                f"The option is now called {quote_text(same.title, 60)}. Nothing was done.",
                LOOK_AGAIN,
                reason="stale",
            )
        own = next((one for one in ("press", "pick", "select") if one in same.actions), "")

        def choose_by_keys() -> None:
            # As a person does who has no mouse: from the choice of now to the one that is wanted.
            titles = [node.title for above, node in options if above == parent]
            held = read_one(reader, found.node.handle, Detail.VALUE, seconds)
            now = next((at for at, one in enumerate(titles) if one in (held.title, held.value)), 0)
            keys = ["down" if place > now else "up"] * abs(place - now)
            try:
                proof = focus_element(session, app, found, seconds)
            except UiError:
                # It takes the keyboard only when it is open (Qt).
                opening = {"press", "show_menu"} & set(found.node.actions)
                if not opening:
                    raise
                bridge.perform_action(found.node.handle, min(opening), seconds)
                proof = bring_window(session, app, found.window, seconds)
                keys.append("return")
            press_strokes(
                require_input_devices(session), proof, [parse_stroke(key) for key in keys]
            )

        press = [partial(bridge.perform_action, option.handle, own, seconds)] if own else []
        holders = dict.fromkeys((found.node.handle, parent))
        choose = [partial(bridge.select_child, holder, place, seconds) for holder in holders]
        roads: list[Callable[[], object]]
        if found.node.role in _CLOSED:
            # The menu of a closed pop-up takes a selection, and the pop-up stays as it is.
            roads = [choose[0], *press, *choose[1:], choose_by_keys]
        elif option.role in ("menu_item", "radio_button"):
            roads = [*press, *choose]
        else:
            roads = [*reversed(choose), *press]
        for road in roads:
            with suppress(UiFault, UiError):
                road()
                if _is_chosen(session, app, found, option, seconds):
                    return {"method": "keys" if road is choose_by_keys else "action"}
        raise UiError(
            "EXECUTION_ERROR",
            f"{quote_text(option.title, 60)} was not chosen.",
            "Press the element first, then press the option.",
            reason="failed",
        )

    return ElementChange(
        found,
        f"choose {quote_text(option.title, 60)} in {describe_element(found, app)}",
        choose_option,
        words=(option.title,),
        more={"action": "select", "option": option.title},
    )


def _is_chosen(
    session: UiSession, app: UiApp, found: ElementFound, option: UiNode, seconds: float
) -> bool:
    """Say whether an option is the choice now; of a menu that has closed nothing can be said."""
    end = time.monotonic() + min(seconds, _CHOSEN)
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    while True:
        holder, chosen = reader.read([found.node.handle, option.handle], Detail.VALUE, seconds)
        if not isinstance(holder, UiNode) or found.node.role not in (*_CLOSED, *_LISTS):
            return True
        if option.title in (holder.title, holder.value) or not (holder.title or holder.value):
            return True
        marked = isinstance(chosen, UiNode) and chosen.states & {"selected", "checked"}
        if marked and found.node.role not in _CLOSED:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.02)


_CHOSEN: Final = 0.5
_CLOSED: Final = ("combo_box", "pop_up_button")
_LISTS: Final = ("list", "table", "tree", "tab_group", "outline", "list_box")


def _list_options(
    session: UiSession, app: UiApp, found: ElementFound, seconds: float
) -> list[tuple[Any, UiNode]]:
    """Return the options below an element, each with what it is a child of."""
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    rows: list[tuple[Any, UiNode]] = []
    level = [(found.node.handle, child) for child in found.node.children[:1_000]]
    for _ in range(4):
        below: list[tuple[Any, Any]] = []
        read = reader.read([child for _, child in level], Detail.CHILDREN, seconds)
        for (parent, _), node in zip(level, read, strict=True):
            if not isinstance(node, UiNode):
                continue
            if node.role in _CHOICE_ROLES and node.title:
                rows.append((parent, node))
            else:
                below += [(node.handle, child) for child in node.children[:1_000]]
        if rows or not below:
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


@change_tool
def plan_place_window(session: UiSession, call: UiCall) -> ElementChange:
    """Raise, minimize, move or resize a window, and read back where it is then.

    Raises:
        UiError: Nothing is asked for, or several windows may be the one that is meant.
    """
    app, arguments = call.app, call.arguments
    found = call.resolve_element(session)
    number = screen_window(session, app, found.window).number
    position, size = arguments.get("position"), arguments.get("size")
    shown: str = arguments.get("show", "")
    if not (position or size or shown):
        raise UiError(
            "INVALID_PARAMETER",
            "place_window needs position, size or show.",
            "Give at least one of them.",
            reason="bad_value",
        )

    def arrange_window(_now: UiNode, seconds: float) -> Mapping[str, Any] | None:
        hands = require_input_devices(session)
        if position or size:
            frame = screen_window(session, app, found.window).frame
            told = _place_of(session, app, found.window, frame)
            x, y, width, height = frame
            if position:
                x, y = x + position["x"] - told.x, y + position["y"] - told.y
            if size:
                width += size["width"] - told.width
                height += size["height"] - told.height
            hands.place_window(number, Frame(x, y, max(width, 1), max(height, 1)))
        if shown == "raise":
            hands.raise_window(number)
        elif shown == "minimize":
            hands.minimize_window(number)
        end = time.monotonic() + min(seconds, _PLACED)
        while why := _misplaced(session, app, found.window, number, arguments):
            if time.monotonic() > end:
                return {"success": False, "notes": [why]}
            time.sleep(_LOOK)
        return None

    told = [shown] if shown else []
    told += ["move"] if position else []
    told += ["resize"] if size else []
    line = f"{' and '.join(told)} {describe_element(found, app)}"
    return ElementChange(found, line, arrange_window, "window", more={"action": ", ".join(told)})


@tool(
    level="MODIFY",
    ceiling="DANGEROUS",
    plan=plan_place_window,
    answer=ActionDone,
    words="arrange bring focus front minimize move place position raise resize size window",
    example={"element": "e12", "show": "raise"},
    timeout=5.0,
)
def place_window(
    *,
    app: AppName | None = None,
    element: str,
    show: Literal["raise", "minimize"] | None = None,
    position: ScreenPoint | None = None,
    size: ScreenSize | None = None,
    timeout: Seconds | None = None,
) -> None:
    """Raise, minimize, move or resize a window.

    Args:
        element: The window: its id from list_windows, or its path.
        show: Bring it to the front, or minimize it.
        position: Top left corner, as in list_windows.
        size: Width and height, as in list_windows.
    """


_PLACED: Final = 1.0
"""Seconds that a window may take until it is where it is to be."""


def _place_of(session: UiSession, app: UiApp, node: UiNode, held: Frame) -> Frame:
    """Return where a window is as answers say; `held` is where its content is on the screen."""
    reader = session.bridge.open_reader(app, whole=False, timeout=_LOOK_SECONDS)
    frame = read_one(reader, node.handle, Detail.FRAME, _LOOK_SECONDS).frame
    # GTK 4 does not say where its windows are.
    return held if frame is None or (frame.x, frame.y) == (0, 0) else frame


def _misplaced(
    session: UiSession, app: UiApp, node: UiNode, number: int, asked: Mapping[str, Any]
) -> str:
    """Return how a window stands otherwise than was asked for; empty where it does not."""
    hands = require_input_devices(session)
    held = next((one for one in hands.list_windows() if one.number == number), None)
    if asked.get("show") == "minimize":
        return "" if held is None or held.minimized else "The window was not minimized."
    front = hands.front_window()
    if asked.get("show") == "raise" and (front is None or front.number != number):
        return "The window did not come to the front."
    if held is None:
        return "The window is gone."
    place = _place_of(session, app, node, held.frame)._asdict()
    wanted = {**asked.get("position", {}), **asked.get("size", {})}
    if all(abs(place[name] - value) <= 1 for name, value in wanted.items()):
        return ""
    return (
        "The window is now at {x:g}, {y:g} with size {width:g} x {height:g}, not as asked. The app"
        " or the window manager may limit it."
    ).format(**place)


@change_tool
def plan_fill_form(session: UiSession, call: UiCall) -> list[ElementChange]:
    """Set the values of many elements, asked about once; of a pop-up its option is chosen.

    Raises:
        UiError: One of them is not there or takes no such value; nothing is set then.
    """
    fields: Sequence[Mapping[str, Any]] = call.arguments["fields"]
    changes: list[ElementChange] = []
    for at, row in enumerate(fields):
        found, value = call.resolve_element(session, str(row["element"]), at), row["value"]
        try:
            changes.append(value_change(session, call.app, found, value, call.seconds))
        except UiError as error:
            if error.reason != "not_settable" or found.node.role not in _CLOSED:
                raise
            changes.append(_option_change(session, call.app, found, str(value), call.seconds))
    return changes


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


@tool(
    level="MODIFY",
    ceiling="DANGEROUS",
    plan=plan_fill_form,
    answer=FormDone,
    words="address enter fields fill form login name register set several values",
    example={"fields": [{"element": "e12", "value": "Ada"}, {"element": "e15", "value": True}]},
    timeout=20.0,
)
def fill_form(
    *,
    app: AppName | None = None,
    fields: Annotated[list[FieldValue], limits(minItems=1, maxItems=50)],
    timeout: Seconds | None = None,
) -> None:
    """Set the values of many elements of one app with one approval. Stops at the first element
    that does not take its value.

    Args:
        fields: Elements and their values, in order.
    """


@read_tool
def plan_wait_for(session: UiSession, call: UiCall) -> dict[str, Any]:
    """Wait until an element appears, goes or changes; return `{app, met, seconds, element}`.

    Raises:
        InvalidParameterError: Nothing says which element.
    """
    app, arguments = call.app, call.arguments
    until: str = arguments.get("until", "appears")
    began = time.monotonic()
    end = began + call.seconds
    look = _element_lookup(session, call) if call.path else _search_lookup(session, call)
    first = look()
    while True:
        now = look()
        met = {
            "appears": now is not None,
            "goes": now is None,
            "changes": _comparable_state(now) != _comparable_state(first),
        }[until]
        if met or time.monotonic() > end or call.cancel.is_cancelled:
            break
        time.sleep(_LOOK)
    shown = {} if now is None else {"element": element_state(app, now.node, now.path, now.id)}
    spent = round(time.monotonic() - began, 3)
    return {"app": app_facts(app), "met": met, "seconds": spent, **shown, "notes": [DATA_NOTE]}


class WaitAnswer(TypedDict):
    """What wait_for answers."""

    app: AppFacts
    met: bool
    seconds: float
    element: NotRequired[ElementFacts]
    notes: NotRequired[list[str]]


@tool(
    level="SAFE",
    plan=plan_wait_for,
    answer=WaitAnswer,
    words="appear appears button changes dialog disappear done finished gone loaded progress"
    " ready until wait",
    example={"app": "Safari", "title": "Order placed", "until": "appears"},
    timeout=10.0,
)
def wait_for(
    *,
    app: AppName | None = None,
    element: ElementName | None = None,
    role: RoleName | None = None,
    title: TitlePart | None = None,
    value: ValuePart | None = None,
    identifier: WholeIdentifier | None = None,
    until: Literal["appears", "goes", "changes"] | None = None,
    timeout: Seconds | None = None,
) -> None:
    """Wait until an element appears, disappears or changes, instead of reading it repeatedly.

    Args:
        until: Default: appears.
    """


_LOOK: Final = 0.1


def _comparable_state(found: ElementFound | None) -> tuple[object, ...]:
    return () if found is None else (found.node.title, found.node.value, found.node.states)


def _element_lookup(session: UiSession, call: UiCall) -> Callable[[], ElementFound | None]:
    """Return what reads the element of a call again; None once it is gone."""
    found = call.resolve_element(session)

    def read_element() -> ElementFound | None:
        try:
            reader = session.bridge.open_reader(call.app, whole=False, timeout=_LOOK_SECONDS)
            node = read_one(reader, found.node.handle, Detail.VALUE, _LOOK_SECONDS)
        except AppNotResponding:
            return found
        except UiFault:
            return None
        return found.now(node) if node.is_visible else None

    return read_element


def _search_lookup(session: UiSession, call: UiCall) -> Callable[[], ElementFound | None]:
    """Return what looks for the element that a call describes; None while there is none."""
    fits = ElementFilter(call.arguments)
    want = session.bridge.free | Detail.VALUE

    def search_element() -> ElementFound | None:
        try:
            limits = WalkLimits(_LOOK_SECONDS, _DEEPEST, nodes=20_000)
            seen, _ = walk_app(session, call.app, want, limits, whole=True)
        except UiError:
            return None
        for branch in seen.order:
            if fits(branch.node):
                found = element_of_branch(branch)
                return found._replace(id=session.memory.remember_element(call.app, found))
        return None

    return search_element


_LOOK_SECONDS: Final = 2.0
_DEEPEST: Final = 200
