"""The reading tools: finding, the focus, the windows, what changes, and waiting for it."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from iac_accessibility.arguments import (
    AppFacts,
    AppName,
    CutFacts,
    ElementFacts,
    ElementName,
    ElementState,
    FewItems,
    RoleName,
    ScreenPoint,
    ScreenSize,
    Seconds,
    TitlePart,
    TokenLimit,
    UiCall,
    ValuePart,
    WholeIdentifier,
)
from iac_accessibility.element_identity import (
    ElementFound,
    Row,
    RowReader,
    element_of_branch,
    read_row,
    with_row,
)
from iac_accessibility.errors import UiError
from iac_accessibility.locate import path_of
from iac_accessibility.model import (
    WINDOW_ROLES,
    AppNotResponding,
    ChangeKind,
    Detail,
    Handle,
    UiApp,
    UiFault,
    UiNode,
    role_name,
)
from iac_accessibility.outline import (
    DATA_NOTE,
    app_facts,
    as_json,
    byte_budget,
    count_fitting,
    element_state,
    frame_facts,
    is_active,
    is_named_by_content,
    shorten_row_text,
    text_inside,
    walk_facts,
)
from iac_accessibility.session import UiSession, walk_app
from iac_accessibility.toolset import read_tool
from iac_accessibility.traverse import Branch, WalkLimits, walk_tree
from iac_runtime.tool import limits, tool

_DEEPEST: Final = 200
_DETAILS: Final = ~Detail.CHILDREN
_TOKENS: Final = 4_000
_LABELS: Final = 200
"""Elements without a title that are asked what they are called elsewhere."""


@read_tool
def plan_find_element(session: UiSession, call: UiCall) -> dict[str, Any]:
    """Return `{app, elements, result_count, has_more_results, incomplete, cuts, notes}`."""
    app, arguments = call.app, call.arguments
    end = time.monotonic() + call.seconds
    most: int = arguments["max_results"]
    want = session.bridge.free
    if "value" in arguments:
        want |= Detail.VALUE
    if "identifier" in arguments:
        want |= Detail.IDENTIFIER
    fits = ElementFilter(arguments)
    matches: list[Branch] = []
    checked = 0

    def has_enough(order: Sequence[Branch]) -> bool:
        nonlocal checked
        matches.extend(branch for branch in order[checked:] if fits(branch.node))
        checked = len(order)
        return len(matches) > most

    limits = WalkLimits(call.seconds, _DEEPEST, nodes=20_000)
    seen, notes = walk_app(session, app, want, limits, whole=True, enough=has_enough)
    has_enough(seen.order)
    if "title" in arguments and not any(is_active(one.node) for one in matches):
        left = max(end - time.monotonic(), 0.2)
        matches = _find_by_label(session, app, seen.order, fits, left) + matches
    # "+" is also in "M+": what is called exactly so comes first.
    wanted = str(arguments.get("title", "")).casefold()
    matches.sort(key=lambda one: (one.node.title or one.node.label).casefold() != wanted)
    shown = matches[:most]
    read = RowReader(session.bridge, app, max(end - time.monotonic(), 0.2))
    texts: dict[Handle, str] = {}

    def row_of_branch(branch: Branch) -> Row | None:
        try:
            row = read_row(element_of_branch(branch).way, read)
        except UiFault:
            return None
        texts[branch.node.handle] = shorten_row_text(" | ".join(row.texts))
        return row

    session.memory.remember_branches(app, shown, known=Detail.IDENTIFIER in want, row=row_of_branch)
    for branch in shown:
        session.memory.remember_way(app, element_of_branch(branch))
    rows = _describe_elements(session, app, shown, max(end - time.monotonic(), 0.2))
    for branch, found in zip(shown, rows, strict=True):
        if row := texts.get(branch.node.handle):
            found["row"] = row
        if branch.depth > 1:
            found["window"] = branch.window.title
    kept = count_fitting(map(as_json, rows), byte_budget(arguments["max_tokens"]))
    return {
        "elements": rows[:kept],
        "has_more_results": len(matches) > kept,
        **walk_facts(app, kept, seen, _DEEPEST, notes),
    }


class FoundElements(TypedDict):
    """What find_element answers."""

    app: AppFacts
    elements: list[ElementFacts]
    result_count: int
    has_more_results: bool
    incomplete: bool
    cuts: NotRequired[list[CutFacts]]
    notes: NotRequired[list[str]]


@tool(
    level="SAFE",
    plan=plan_find_element,
    answer=FoundElements,
    words="button control field find interface label link locate toolbar where",
    example={"app": "Preview", "role": "button", "title": "Close"},
    timeout=2.0,
)
def find_element(
    *,
    app: AppName,
    role: RoleName | None = None,
    title: TitlePart | None = None,
    value: ValuePart | None = None,
    identifier: WholeIdentifier | None = None,
    max_results: FewItems = 20,
    max_tokens: TokenLimit = _TOKENS,
    timeout: Seconds | None = None,
) -> None:
    """Find elements of an app's interface by role, title, value or identifier. Use the ids in
    the result with other tools."""


def _find_by_label(
    session: UiSession, app: UiApp, order: Sequence[Branch], fits: "ElementFilter", seconds: float
) -> list[Branch]:
    """Return elements without a title of their own that are called so elsewhere."""
    asked: list[Branch] = []
    found: list[Branch] = []
    for one in order:
        if one.node.title or not is_active(one.node):
            continue
        label = text_inside(one) if is_named_by_content(one.node) else ""
        if label:
            one.node = one.node._replace(label=label)
            found += [one] * fits(one.node._replace(title=label))
        else:
            asked.append(one)
    if not asked:
        return found
    want = session.bridge.free | Detail.LABEL | Detail.VALUE
    for branch, node in session.read_branches(app, asked[:_LABELS], want, seconds):
        if isinstance(node, UiNode) and node.label and fits(node._replace(title=node.label)):
            branch.node = branch.node._replace(label=node.label)
            found.append(branch)
    return found


class ElementFilter:
    """Whether an element is one that is looked for."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        if not any(key in arguments for key in ("role", "title", "value", "identifier")):
            raise UiError(
                "INVALID_PARAMETER",
                "Nothing says which element: give role, title, value or identifier.",
                "To see all elements, call get_ui_tree.",
                reason="bad_value",
            )
        self._role = role_name(arguments["role"]) if "role" in arguments else None
        self._title = str(arguments["title"]).casefold() if "title" in arguments else None
        self._value = str(arguments["value"]).casefold() if "value" in arguments else None
        self._identifier = arguments.get("identifier")

    def __call__(self, node: UiNode) -> bool:
        if self._role is not None and node.role != self._role:
            return False
        if self._title is not None and self._title not in node.title.casefold():
            return False
        if self._identifier is not None and node.identifier != self._identifier:
            return False
        if self._value is None:
            return True
        if node.value is None:
            return False
        text = f"{node.value:g}" if isinstance(node.value, float) else str(node.value)
        return self._value in text.casefold()


@partial(read_tool, front=True)
def plan_get_focused_element(session: UiSession, call: UiCall) -> dict[str, Any]:
    """Return `{app, element, has_focus, notes}`; element is null where nothing has the focus."""
    seconds = call.seconds
    app = call.named
    if app is None:
        return {"element": None, "has_focus": False, "notes": ["No app is in front."]}
    end = time.monotonic() + seconds
    session.open_app(app, seconds, whole=False)
    try:
        handle = session.bridge.focused_element(app, seconds)
        element = None
        if handle is not None:
            element = path_of(session.bridge, app, handle, seconds=max(end - time.monotonic(), 0.3))
            element = with_row(
                session.bridge, app, element, seconds=max(end - time.monotonic(), 0.1)
            )
    except AppNotResponding:
        raise
    except UiFault:
        element = None
    if element is None:
        return {"app": app_facts(app), "element": None, "has_focus": False, "notes": []}
    given = session.memory.remember_element(app, element)
    return {
        "app": app_facts(app),
        "element": element_state(element.node, element.path, given),
        "has_focus": True,
        "notes": [DATA_NOTE],
    }


class FocusAnswer(TypedDict):
    """What get_focused_element answers."""

    app: NotRequired[AppFacts]
    element: ElementState | None
    has_focus: bool
    notes: NotRequired[list[str]]


@tool(
    level="SAFE",
    plan=plan_get_focused_element,
    answer=FocusAnswer,
    words="caret control cursor field focus keyboard typing",
    example={"app": "Safari"},
    timeout=1.0,
)
def get_focused_element(*, app: AppName | None = None, timeout: Seconds | None = None) -> None:
    """Say which element has the keyboard focus, in one app or in the front app."""


@read_tool
def plan_list_windows(session: UiSession, call: UiCall) -> dict[str, Any]:
    """Return `{windows, result_count, incomplete, notes}`; positions from the top left corner."""
    app = call.named
    end = time.monotonic() + call.seconds
    minimized: bool = call.arguments["include_minimized"]
    windows: list[dict[str, Any]] = []
    notes = [DATA_NOTE]
    complete = True
    apps = call.apps
    if app is not None:
        # Listed anew: which is in front is to be true now.
        same = (one for one in session.running_apps() if (one.pid, one.key) == (app.pid, app.key))
        apps = tuple(same) or apps
    for one in apps:
        left = end - time.monotonic()
        if left <= 0:
            complete = False
            notes.append("The time ran out before all apps were read.")
            break
        try:
            reader, root = session.open_app(one, left if app else min(left, 0.4), whole=False)
        except UiError as error:
            # What the system refuses, it refuses of all apps: an empty list would hide that.
            if app or error.type == "PERMISSION_DENIED":
                raise
            complete = False
            notes.append(f"{one.name}: {error.message}")
            continue
        left = max(end - time.monotonic(), 0.1)
        seen = walk_tree(reader, root, session.bridge.free | Detail.FRAME, WalkLimits(left, 1))
        complete = complete and seen.complete
        shown = [branch for branch in seen.order if branch.node.role in WINDOW_ROLES]
        session.memory.remember_branches(one, shown, known=Detail.IDENTIFIER in session.bridge.free)
        windows += [_window_row(one, branch) for branch in shown]
    windows = [row for row in windows if minimized or not row["minimized"]]
    kept = count_fitting(map(as_json, windows), byte_budget(_TOKENS))
    if kept < len(windows):
        complete = False
        notes.append(
            f"{len(windows) - kept} more windows are left out. Name an app to list its windows."
        )
    return {
        "windows": windows[:kept],
        "result_count": kept,
        "incomplete": not complete,
        "notes": notes,
    }


class WindowFacts(TypedDict):
    """A window of an app."""

    title: str
    position: NotRequired[ScreenPoint]
    size: NotRequired[ScreenSize]
    minimized: bool
    frontmost: bool
    app: AppFacts
    path: str
    id: NotRequired[str]


class WindowsAnswer(TypedDict):
    """What list_windows answers."""

    windows: list[WindowFacts]
    result_count: int
    incomplete: bool
    notes: NotRequired[list[str]]


@tool(
    level="SAFE",
    plan=plan_list_windows,
    answer=WindowsAnswer,
    words="minimized open position screen size where window windows",
    example={"app": "Preview"},
    timeout=1.0,
)
def list_windows(
    *,
    app: AppName | None = None,
    include_minimized: bool = False,
    timeout: Seconds | None = None,
) -> None:
    """List the windows of one app or of all: title, position, size, path."""


def _window_row(app: UiApp, branch: Branch) -> dict[str, Any]:
    node = branch.node
    return {
        "title": node.title,
        **(frame_facts(node.frame) if node.frame else {}),
        "minimized": "minimized" in node.states,
        "frontmost": app.frontmost and "active" in node.states,
        "app": app_facts(app),
        "path": branch.path,
        "id": branch.id,
    }


@read_tool
def plan_observe_changes(session: UiSession, call: UiCall) -> dict[str, Any]:
    """Return what changes in an app for a while, as `observe_changes` does."""
    return session.watches.observe_changes(session.bridge, call.app, call.arguments, call.cancel)


class ObservedChange(TypedDict):
    """A change that was seen."""

    event: str
    at: Annotated[float, "Seconds since the watch began."]
    element: NotRequired[ElementState]
    detail: NotRequired[str]


class ChangesAnswer(TypedDict):
    """What observe_changes answers."""

    app: AppFacts
    changes: list[ObservedChange]
    result_count: int
    has_more_results: NotRequired[bool]
    cursor: str
    seconds: NotRequired[float]
    notes: NotRequired[list[str]]


@tool(
    level="SAFE",
    plan=plan_observe_changes,
    answer=ChangesAnswer,
    words="appears button changed changes dialog disappears happens monitor notice notify pops"
    " progress screen title ui until value wait watch when window",
    example={"app": "Preview", "duration": 5},
    timeout=60.0,
)
def observe_changes(
    *,
    app: AppName,
    events: list[ChangeKind] | None = None,
    duration: Annotated[float, limits(exclusiveMinimum=0, maximum=50)] = 5.0,
    cursor: str | None = None,
) -> None:
    """Watch an app for some seconds and list what changed, in order. To continue without a gap,
    give the cursor of the result.

    Args:
        events: Default: values, titles, focus and windows.
        duration: Seconds.
    """


def _describe_elements(
    session: UiSession, app: UiApp, branches: Sequence[Branch], seconds: float
) -> list[dict[str, Any]]:
    """Return elements with all that is known of them; what cannot be read twice stays short."""
    if not branches:
        return []
    rows: list[dict[str, Any]] = []
    for one, now in session.read_branches(app, branches, _DETAILS, seconds):
        node = now if isinstance(now, UiNode) else one.node
        node = node._replace(label=one.node.label or node.label)
        rows.append(element_state(node, one.path, one.id))
    return rows


@read_tool
def plan_wait_for(session: UiSession, call: UiCall) -> dict[str, Any]:
    """Wait until an element appears, goes or changes; return `{app, met, seconds, element}`.

    Raises:
        UiError: Nothing says which element.
    """
    app, arguments = call.app, call.arguments
    until: str = arguments["until"]
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
    shown = {} if now is None else {"element": element_state(now.node, now.path, now.id)}
    spent = round(time.monotonic() - began, 3)
    return {"app": app_facts(app), "met": met, "seconds": spent, **shown, "notes": [DATA_NOTE]}


class WaitAnswer(TypedDict):
    """What wait_for answers."""

    app: AppFacts
    met: bool
    seconds: float
    element: NotRequired[ElementState]
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
    until: Literal["appears", "goes", "changes"] = "appears",
    timeout: Seconds | None = None,
) -> None:
    """Wait until an element appears, disappears or changes, instead of reading it repeatedly."""


_LOOK: Final = 0.1


def _comparable_state(element: ElementFound | None) -> tuple[object, ...]:
    return () if element is None else (element.node.title, element.node.value, element.node.states)


def _element_lookup(session: UiSession, call: UiCall) -> Callable[[], ElementFound | None]:
    """Return what reads the element of a call again; None once it is gone."""
    element = call.resolve_element(session)

    def read_element() -> ElementFound | None:
        try:
            node = session.read_node(call.app, element.node.handle, Detail.VALUE, _LOOK_SECONDS)
        except AppNotResponding:
            return element
        except UiFault:
            return None
        return element.now(node) if node.is_visible else None

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
                element = element_of_branch(branch)
                return element._replace(id=session.memory.remember_element(call.app, element))
        return None

    return search_element


_LOOK_SECONDS: Final = 2.0
