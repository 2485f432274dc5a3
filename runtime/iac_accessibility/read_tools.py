"""The reading tools: finding, the focus, the windows, what changes, and waiting for it."""

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from iac_accessibility.arguments import (
    AppFacts,
    CutFacts,
    ElementFacts,
    ElementName,
    ElementState,
    FewItems,
    RoleName,
    ScreenPoint,
    ScreenSize,
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
    ALIVE_CHANGES,
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
from iac_accessibility.toolset import reading_tool
from iac_accessibility.traverse import Branch, WalkLimits, walk_tree
from iac_runtime.tool import limits

ElementFilter: TypeAlias = Callable[[UiNode], bool]

_DEEPEST: Final = 200
_DETAILS: Final = ~Detail.CHILDREN
_TOKENS: Final = 4_000
_LABELS: Final = 200
"""Elements without a title that are asked what they are called elsewhere."""


class FoundElements(TypedDict):
    """What find_element answers."""

    app: AppFacts
    elements: list[ElementFacts]
    result_count: int
    has_more_results: bool
    incomplete: bool
    cuts: NotRequired[list[CutFacts]]
    notes: NotRequired[list[str]]


@reading_tool(
    answer=FoundElements,
    words="button control field find interface label link locate toolbar where",
    example={"app": "Preview", "role": "button", "title": "Close"},
    timeout=2.0,
    named=True,
)
def find_element(
    call: UiCall,
    role: RoleName | None = None,
    title: TitlePart | None = None,
    value: ValuePart | None = None,
    identifier: WholeIdentifier | None = None,
    max_results: FewItems = 20,
    max_tokens: TokenLimit = _TOKENS,
) -> dict[str, Any]:
    """Find elements of an app's interface by role, title, value or identifier. Use the ids in
    the result with other tools."""
    session, app = call.session, call.app
    want = session.bridge.free
    if value is not None:
        want |= Detail.VALUE
    if identifier is not None:
        want |= Detail.IDENTIFIER
    fits = element_filter(role, title, value, identifier)
    matches: list[Branch] = []
    checked = 0

    def has_enough(order: Sequence[Branch]) -> bool:
        nonlocal checked
        matches.extend(branch for branch in order[checked:] if fits(branch.node))
        checked = len(order)
        return len(matches) > max_results

    limits = WalkLimits(call.seconds, _DEEPEST, nodes=20_000)
    seen, notes = walk_app(session, app, want, limits, whole=True, enough=has_enough)
    has_enough(seen.order)
    if title is not None and not any(is_active(one.node) for one in matches):
        matches = _find_by_label(session, app, seen.order, fits, call.left()) + matches
    # "+" is also in "M+": what is called exactly so comes first.
    wanted = (title or "").casefold()
    if wanted:
        matches.sort(key=lambda one: (one.node.title or one.node.label).casefold() != wanted)
    shown = matches[:max_results]
    read = RowReader(session.bridge, app, call.left())
    texts: dict[Handle, str] = {}

    def row_of_branch(branch: Branch) -> Row | None:
        try:
            row = read_row(element_of_branch(branch).way, read)
        except UiFault:
            return None
        texts[branch.node.handle] = shorten_row_text(" | ".join(row.texts))
        return row

    known = Detail.IDENTIFIER in want
    session.memory.remember_branches(app, shown, known=known, row=row_of_branch, ways=True)
    rows = _describe_elements(session, app, shown, call.left())
    for branch, found in zip(shown, rows, strict=True):
        if row := texts.get(branch.node.handle):
            found["row"] = row
        if branch.depth > 1:
            found["window"] = branch.window.title
    kept = count_fitting(map(as_json, rows), byte_budget(max_tokens))
    return {
        "elements": rows[:kept],
        "has_more_results": len(matches) > kept,
        **walk_facts(app, kept, seen, _DEEPEST, notes),
    }


def _find_by_label(
    session: UiSession, app: UiApp, order: Sequence[Branch], fits: ElementFilter, seconds: float
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


def element_filter(
    role: str | None, title: str | None, value: str | None, identifier: str | None
) -> ElementFilter:
    """Return what says whether an element is the one that is looked for."""
    if role is title is value is identifier is None:
        message = "Nothing says which element: give role, title, value or identifier."
        guidance = "To see all elements, call get_ui_tree."
        raise UiError("INVALID_PARAMETER", message, guidance, reason="bad_value")
    wanted = None if role is None else role_name(role)
    name, held = (title or "").casefold(), (value or "").casefold()

    def fits(node: UiNode) -> bool:
        text = f"{node.value:g}" if isinstance(node.value, float) else str(node.value)
        return (
            wanted in (None, node.role)
            and name in node.title.casefold()
            and identifier in (None, node.identifier)
            and (value is None or (node.value is not None and held in text.casefold()))
        )

    return fits


class FocusAnswer(TypedDict):
    """What get_focused_element answers."""

    app: NotRequired[AppFacts]
    element: ElementState | None
    has_focus: bool
    notes: NotRequired[list[str]]


@reading_tool(
    answer=FocusAnswer,
    words="caret control cursor field focus keyboard typing",
    example={"app": "Safari"},
    timeout=1.0,
    front=True,
)
def get_focused_element(call: UiCall) -> dict[str, Any]:
    """Say which element has the keyboard focus, in one app or in the front app."""
    session, app = call.session, call.named
    if app is None:
        return {"element": None, "has_focus": False, "notes": ["No app is in front."]}
    session.open_app(app, call.seconds, whole=False)
    nothing: dict[str, Any] = {
        "app": app_facts(app),
        "element": None,
        "has_focus": False,
        "notes": [],
    }
    try:
        handle = session.bridge.focused_element(app, call.seconds)
        if handle is None:
            return nothing
        element = path_of(session.bridge, app, handle, seconds=call.left(0.3))
        element = with_row(session.bridge, app, element, seconds=call.left(0.1))
    except AppNotResponding:
        raise
    except UiFault:
        return nothing
    given = session.memory.remember_element(app, element)
    shown = element_state(element.node, element.path, given)
    return nothing | {"element": shown, "has_focus": True, "notes": [DATA_NOTE]}


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


@reading_tool(
    answer=WindowsAnswer,
    words="minimized open position screen size where window windows",
    example={"app": "Preview"},
    timeout=1.0,
)
def list_windows(call: UiCall, include_minimized: bool = False) -> dict[str, Any]:
    """List the windows of one app or of all: title, position, size, path."""
    session, app = call.session, call.named
    windows: list[dict[str, Any]] = []
    notes = [DATA_NOTE]
    complete = True
    apps = call.apps
    if app is not None:
        # Listed anew: which is in front is to be true now.
        same = (one for one in session.running_apps() if (one.pid, one.key) == (app.pid, app.key))
        apps = tuple(same) or apps
    for one in apps:
        left = call.left(0.0)
        if not left:
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
        want = session.bridge.free | Detail.FRAME
        seen = walk_tree(reader, root, want, WalkLimits(call.left(0.1), 1))
        complete = complete and seen.complete
        shown = [branch for branch in seen.order if branch.node.role in WINDOW_ROLES]
        session.memory.remember_branches(one, shown, known=Detail.IDENTIFIER in session.bridge.free)
        windows += [_window_row(one, branch) for branch in shown]
    windows = [row for row in windows if include_minimized or not row["minimized"]]
    kept = count_fitting(map(as_json, windows), byte_budget(_TOKENS))
    if cut := len(windows) - kept:
        complete = False
        notes.append(f"{cut} more windows are left out. Name an app to list its windows.")
    facts = {"result_count": kept, "incomplete": not complete, "notes": notes}
    return {"windows": windows[:kept], **facts}


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


@reading_tool(
    answer=ChangesAnswer,
    words="appears button changed changes dialog disappears happens monitor notice notify pops"
    " progress screen title ui until value wait watch when window",
    example={"app": "Preview", "duration": 5},
    timeout=60.0,
    named=True,
    limit=False,
)
def observe_changes(
    call: UiCall,
    events: list[ChangeKind] | None = None,
    duration: Annotated[float, limits(exclusiveMinimum=0, maximum=50)] = 5.0,
    cursor: str | None = None,
) -> dict[str, Any]:
    """Watch an app for some seconds and list what changed, in order. To continue without a gap,
    give the cursor of the result.

    Args:
        events: Default: values, titles, focus and windows.
        duration: Seconds.
    """
    session, kinds = call.session, events or ALIVE_CHANGES
    return session.watches.observe_changes(
        session.bridge, call.app, kinds, duration, cursor or "", call.cancel
    )


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


class WaitAnswer(TypedDict):
    """What wait_for answers."""

    app: AppFacts
    met: bool
    seconds: float
    element: NotRequired[ElementState]
    notes: NotRequired[list[str]]


@reading_tool(
    answer=WaitAnswer,
    words="appear appears button changes dialog disappear done finished gone loaded progress"
    " ready until wait",
    example={"app": "Safari", "title": "Order placed", "until": "appears"},
    timeout=10.0,
)
def wait_for(
    call: UiCall,
    element: ElementName | None = None,
    role: RoleName | None = None,
    title: TitlePart | None = None,
    value: ValuePart | None = None,
    identifier: WholeIdentifier | None = None,
    until: Literal["appears", "goes", "changes"] = "appears",
) -> dict[str, Any]:
    """Wait until an element appears, disappears or changes, instead of reading it repeatedly."""
    app, began = call.app, time.monotonic()
    if element:
        look = _element_lookup(call)
    else:
        look = _search_lookup(call, element_filter(role, title, value, identifier))
    first = look()
    while True:
        now = look()
        met = {
            "appears": now is not None,
            "goes": now is None,
            "changes": _comparable_state(now) != _comparable_state(first),
        }[until]
        if met or not call.left(0.0) or call.cancel.is_cancelled:
            break
        time.sleep(_LOOK)
    shown = {} if now is None else {"element": element_state(now.node, now.path, now.id)}
    spent = round(time.monotonic() - began, 3)
    return {"app": app_facts(app), "met": met, "seconds": spent, **shown, "notes": [DATA_NOTE]}


_LOOK: Final = 0.1


def _comparable_state(element: ElementFound | None) -> tuple[object, ...]:
    return () if element is None else (element.node.title, element.node.value, element.node.states)


def _element_lookup(call: UiCall) -> Callable[[], ElementFound | None]:
    """Return what reads the element of a call again; None once it is gone."""
    session = call.session
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


def _search_lookup(call: UiCall, fits: ElementFilter) -> Callable[[], ElementFound | None]:
    """Return what looks for the element that a call describes; None while there is none."""
    session = call.session
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
