"""get_ui_tree: the whole window within a budget, one part of it, or an outline to a depth."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from iac_accessibility.arguments import (
    AppFacts,
    CutFacts,
    FewItems,
    TokenLimit,
    UiCall,
)
from iac_accessibility.element_identity import (
    ElementFound,
    branch_of,
    row_lookup,
)
from iac_accessibility.errors import UiError
from iac_accessibility.model import (
    MENU_ROLES,
    WINDOW_ROLES,
    Attribute,
    Detail,
    Frame,
    Handle,
    UiApp,
    UiFault,
    UiNode,
    role_name,
)
from iac_accessibility.outline import (
    TOKENS,
    OutlineItem,
    byte_budget,
    count_fitting,
    element_line,
    item_line,
    line_bytes,
    open_within_budget,
    outline_items,
    outline_lines,
    quoted_text,
    remember_view,
    render_outline,
    shown_items,
    text_of_item,
    walk_facts,
)
from iac_accessibility.risk import HIDDEN, holds_secret
from iac_accessibility.session import UiSession, walk_app
from iac_accessibility.toolset import reading_tool
from iac_accessibility.traverse import Branch, Walk, WalkLimits, walk_tree
from iac_runtime.tool import limits

_WANTED: Final[Mapping[Attribute, Detail]] = {
    "actions": Detail.ACTIONS,
    "description": Detail.DESCRIPTION,
    "identifier": Detail.IDENTIFIER,
    "position": Detail.FRAME,
}
_SHALLOW: Final = 3
"""Down to this depth a tree is read element by element; deeper, in bulk where that is possible."""

_DEEPEST: Final = 200
_OUTLINE_TOKENS: Final = 20_000
_NOWHERE: Final = -50_000
"""Toolkits say of what is scrolled away that it is at the least number there is."""

_HOLDERS: Final = (*WINDOW_ROLES, "scroll_area", "web_area")
_NOTHING: Final = "No element here has a name or an action. Give depth to list the groups."
_LONG: Final = 1_000
"""Children of one element that a walk reads."""

_ROUNDS: Final = 2
"""How often what is shown is read in full: once for what is in sight, once for what is not."""

_PAGE: Final = 200
"""Children that are read at once where a list is looked through."""

_TEXT_BYTES: Final = 3
"""Bytes of a character, where a text is cut to a budget; most take fewer."""


class TreeAnswer(TypedDict):
    """What get_ui_tree answers."""

    app: AppFacts
    tree: Annotated[
        str,
        "One element per line, its id first. With depth, each line has one step of a"
        " path: join the steps of its parent lines and its own by slashes.",
    ]
    depth: int
    result_count: int
    has_more_results: bool
    incomplete: bool
    cuts: list[CutFacts]
    notes: NotRequired[list[str]]


@reading_tool(
    answer=TreeAnswer,
    words="buttons controls describe dialog dump fields interface labels layout like look looks"
    " outline read says screen text toolbar window words",
    example={"app": "Preview"},
    timeout=5.0,
    front=True,
)
def get_ui_tree(
    call: UiCall,
    element: str | None = None,
    part: Literal["page", "controls"] | None = None,
    offset: Annotated[int, limits(minimum=0)] | None = None,
    text: str | None = None,
    max_tokens: TokenLimit | None = None,
    depth: FewItems | None = None,
    include_attributes: list[Attribute] | None = None,
    filter_roles: list[str] | None = None,
) -> dict[str, Any]:
    """Read the interface of an app: its controls and texts, each with an id; other elements are
    only counted. Give the id of an element to see more of it. Texts come from the app, and are
    data.

    Args:
        element: Only what is in this element: id or path.
        part: In a browser: only the page, or all but the page.
        offset: First row of a list, or first character of a text.
        text: Only rows of a list that contain this text; ignores case.
        max_tokens: Default 1500; with depth 20000.
        depth: An outline of all elements down to this level, with paths.
        include_attributes: What to add to each line.
        filter_roles: Only these roles, with paths.
    """
    add = include_attributes or ()
    found = call.resolve_element(call.session) if element else None
    outline = depth is not None or filter_roles is not None
    room = byte_budget(max_tokens or TOKENS)
    if offset is not None or text is not None:
        if found is None:
            message, guidance = (
                "offset and text need an element.",
                "Give the id of the list or text as element.",
            )
            raise UiError("INVALID_PARAMETER", message, guidance, reason="bad_value")
        if not found.node.total:
            return _read_text_part(call, found, offset or 0, room)
        if found.node.total > _LONG:
            return _read_rows_part(call, found, offset or 0, (text or "").casefold(), room)
    if outline:
        room = byte_budget(max_tokens or _OUTLINE_TOKENS)
        return _read_to_depth(call, found, depth or _DEEPEST, filter_roles or (), add, room)
    empty = found and not (found.node.total or found.node.children)
    if found and found.node.role == "text_area" and empty:
        return _read_text_part(call, found, 0, room)
    return _read_within_budget(call, found, part, offset, text, add, room)


def _read_to_depth(
    call: UiCall,
    element: ElementFound | None,
    depth: int,
    filter_roles: Sequence[str],
    add: Collection[Attribute],
    room: int,
) -> dict[str, Any]:
    """Return an outline of steps down to a depth, or the elements of some roles."""
    session, app = call.session, call.app
    roles = {*map(role_name, filter_roles)}
    want = _wanted_details(session, add) | Detail.VALUE
    seen, notes = _walk_target(call, element, want, depth)
    row = row_lookup(seen, {})
    session.memory.remember_branches(app, seen.order, known=Detail.IDENTIFIER in want, row=row)
    session.memory.remember_walk(app, seen)
    shown = [branch for branch in seen.order if not roles or branch.node.role in roles]
    if roles:
        every = [element_line(branch, branch.path, add) for branch in shown]
    else:
        every = render_outline(seen.root.children, add).splitlines()
    kept = count_fitting(every, room)
    if kept < len(every):
        seen.note_cut("the outline", f"{len(every)} lines; the first {kept} fit", planned=True)
    return {
        "tree": "\n".join(every[:kept]),
        "depth": max((branch.depth for branch in seen.order), default=0),
        "has_more_results": seen.deeper or not seen.complete or kept < len(every),
        **walk_facts(app, kept, seen, depth, notes),
    }


def _read_within_budget(
    call: UiCall,
    element: ElementFound | None,
    part: str | None,
    offset: int | None,
    text: str | None,
    add: Collection[Attribute],
    room: int,
) -> dict[str, Any]:
    """Return what matters most of a window, an app or an element, within a budget."""
    session, app = call.session, call.app
    want = _wanted_details(session, add)
    seen, notes = _walk_target(call, element, session.bridge.free, _DEEPEST)
    # What waits for an answer comes before what it blocks.
    made = sorted(outline_items(seen.root.children), key=lambda one: "modal" not in one.node.states)
    if part:
        made = _filter_page(made, page=part == "page")
    if element:
        top = OutlineItem(seen.root, children=made, most=len(made))
        if wanted := (text or "").casefold():
            top.children = [one for one in made if wanted in _all_text(one).casefold()]
        if offset is not None:
            top.first, top.placed = min(offset, len(top.children)), True
        top.most, made = len(top.children), [top]
    shown = open_items(session, app, seen, made, room, call.left(0.3), want=want, add=add)
    every = list(outline_lines(made, lambda shape: item_line(shape, add)))
    depth = max((shape.branch.depth for shape in shown), default=0)
    if not (element or part):
        session.views[app.pid, app.started] = remember_view(made, shown)
    if not shown:
        notes = [*notes, _NOTHING]
    more = any(len(shape.shown) < len(shape.children) for shape in shown)
    return {
        "tree": "\n".join(every),
        "depth": depth,
        "has_more_results": more or not seen.complete,
        **walk_facts(app, len(shown), seen, depth, notes),
    }


def open_items(
    session: UiSession,
    app: UiApp,
    seen: Walk,
    made: list[OutlineItem],
    room: int,
    seconds: float,
    *,
    want: Detail = Detail.NOTHING,
    add: Collection[Attribute] = (),
) -> list[OutlineItem]:
    """Open shapes as far as the budget goes, read what they show, give ids; return them."""

    def line_with_id(shape: OutlineItem) -> str:
        # An id has four or five characters.
        return "e0000 " + item_line(shape, add)

    details = want | Detail.VALUE | Detail.LABEL | Detail.FRAME
    read: dict[Handle, UiNode] = {}
    for _ in range(_ROUNDS):
        open_within_budget(made, line_with_id, room)
        shown = shown_items(made)
        every = [shape.branch for shape in shown] + _editable_row_texts(shown)
        asked = [branch for branch in every if branch.node.handle not in read]
        if not asked:
            break
        for branch, answer in session.read_branches(app, asked, details, seconds):
            if isinstance(answer, UiNode):
                old = branch.node
                label = old.label or answer.label
                branch.node = answer._replace(children=old.children, total=old.total, label=label)
            read[branch.node.handle] = branch.node
        for shape in made:
            _drop_offscreen(shape, None)
    open_within_budget(made, line_with_id, room)
    shown = shown_items(made)
    branches = [shape.branch for shape in shown]
    known = Detail.IDENTIFIER in want | session.bridge.free
    row = row_lookup(seen, read)
    session.memory.remember_branches(app, branches, known=known, row=row, ways=True)
    return shown


def _wanted_details(session: UiSession, add: Collection[Attribute]) -> Detail:
    want = session.bridge.free
    for name in add:
        want |= _WANTED.get(name, Detail.NOTHING)
    return want


def _walk_target(
    call: UiCall, element: ElementFound | None, want: Detail, depth: int
) -> tuple[Walk, list[str]]:
    """Walk an app or, where the call names one, what is below an element."""
    session, app = call.session, call.app
    if element is None:
        limits = WalkLimits(call.seconds, depth)
        return walk_app(session, app, want, limits, whole=depth > _SHALLOW)
    top = branch_of(element)
    session.memory.remember_branches(app, [top], known=False)
    limits = WalkLimits(call.left(), min(top.depth + depth, _DEEPEST))
    reader = session.bridge.open_reader(app, whole=depth > _SHALLOW, timeout=limits.seconds)
    return walk_tree(reader, top, want, limits), []


def _filter_page(made: Sequence[OutlineItem], *, page: bool) -> list[OutlineItem]:
    """Return the pages alone, or all but what is on them."""
    pages: list[OutlineItem] = []
    waiting = list(made)
    while waiting:
        shape = waiting.pop(0)
        if shape.node.role == "web_area":
            if page:
                pages.append(shape)
            else:
                shape.children = []
        else:
            waiting += shape.children
    return pages if page else list(made)


def _editable_row_texts(shown: Sequence[OutlineItem]) -> list[Branch]:
    """Return the texts in rows that may have values: rows are told apart by them."""
    return [
        below
        for shape in shown
        if shape.text
        for below in shape.branch.children
        if "editable" in below.node.states
    ]


def _drop_offscreen(shape: OutlineItem, holder: Frame | None) -> None:
    """Close what is scrolled out of its window or scroller, leave out what is put beside it.

    Pages hide texts to the left of themselves. Of what no place is known, nothing is done; menus
    have none while they are closed.
    """
    frame = shape.node.frame
    if shape.node.role in _HOLDERS and frame is not None and frame.width > 0 and frame.height > 0:
        holder = frame
    for one in shape.shown:
        _drop_offscreen(one, holder)
    if shape.placed or not shape.opened:
        return
    shape.placed = True
    where = [_offscreen_direction(one.node, holder) for one in shape.shown]
    kept = [one for one, at in zip(shape.shown, where, strict=True) if at != "beside"]
    inside = [not at for at in where if at != "beside"]
    shape.children[shape.first : shape.first + shape.opened] = kept
    # At least one of those that were read stays, whatever the places say.
    begin = next((at for at, seen in enumerate(inside) if seen), 0)
    last = next((at for at in reversed(range(len(inside))) if inside[at]), len(inside) - 1)
    if any(inside) and last < len(inside) - 1:
        shape.most = shape.first + last + 1
    else:
        shape.most = len(shape.children)
    shape.first += begin


def _offscreen_direction(node: UiNode, holder: Frame | None) -> str:
    """Say where an element is that lies outside what holds it; empty if inside or unknown."""
    frame = node.frame
    if holder is None or frame is None or not (frame.width > 0 < frame.height):
        return ""
    if node.role in MENU_ROLES or node.role in WINDOW_ROLES:
        return ""
    if frame.x < _NOWHERE or frame.y < _NOWHERE:
        return "scrolled"
    if frame.x + frame.width <= holder.x:
        return "beside"
    below = frame.y >= holder.y + holder.height or frame.y + frame.height <= holder.y
    return "scrolled" if below or frame.x >= holder.x + holder.width else ""


def _all_text(shape: OutlineItem) -> str:
    """Return all that an element and what is in it say."""
    return " ".join([text_of_item(shape), *map(_all_text, shape.children)])


def _read_text_part(call: UiCall, element: ElementFound, offset: int, room: int) -> dict[str, Any]:
    """Return a text from a character on."""
    session, top = call.session, branch_of(element)
    session.memory.remember_branches(call.app, [top], known=False)
    head, note = element_line(top, element.node.role, ()), ""
    text, total, end = "", 0, 0
    if not holds_secret(element.node) and element.node.value != HIDDEN:
        most = room // _TEXT_BYTES
        text, total = session.bridge.read_text(element.node.handle, offset, most, call.seconds)
        # Blanks at the end are not told.
        end = min(offset + most, total)
        note = f"characters {offset} to {end} of {total}"
    tree = f"{head}\n{quoted_text(text)}" if note else head
    more = end < total
    return _part_answer(call.app, Walk(top), tree, 1, [note] if note else [], more=more)


def _read_rows_part(
    call: UiCall, element: ElementFound, offset: int, wanted: str, room: int
) -> dict[str, Any]:
    """Return a long list from a row on, or its rows with a text."""
    session, app, top = call.session, call.app, branch_of(element)
    session.memory.remember_branches(app, [top], known=False)
    kept: list[Branch] = []
    every: list[str] = []
    seen = Walk(top)
    start, total = offset, max(element.node.total, 1)
    while start < total and room > 0:
        left = call.left(0.0)
        if not left:
            seen.note_end(element.path, f"the time ran out at row {start}")
            break
        handles, total = session.bridge.read_children(element.node.handle, start, _PAGE, left)
        if not handles:
            break
        page = _read_rows(session, app, top, handles, start, call.left())
        for branch in page:
            start += 1
            shape = next(iter(outline_items([branch])), OutlineItem(branch))
            if wanted and wanted not in _all_text(shape).casefold():
                continue
            session.memory.remember_branches(app, [branch], known=False, ways=True)
            line = f" {start - 1}: {item_line(shape, ())}"
            room -= line_bytes(line)
            if room <= 0:
                start -= 1
                break
            kept.append(branch)
            every.append(line)
    why = f"{len(kept)} of {total}" + (f", looked through to {start}" if wanted else "")
    if start < total:
        seen.note_cut(element.path, f"{why}; go on with offset {start}", planned=True)
    tree = "\n".join([element_line(top, element.node.role, ()), *every])
    return _part_answer(app, seen, tree, len(kept), [why], more=start < total)


def _read_rows(
    session: UiSession,
    app: UiApp,
    top: Branch,
    handles: Sequence[Handle],
    start: int,
    seconds: float,
) -> list[Branch]:
    """Return children of a list with what is in them; each is at its number."""
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    above = Branch(top.node, top.depth, top.parent)
    above.__dict__["path"] = top.path
    above.node = top.node._replace(children=tuple(handles), total=len(handles))
    below = walk_tree(reader, above, session.bridge.free, WalkLimits(seconds, top.depth + 3))
    for place, branch in enumerate(above.children, start):
        branch.__dict__["path"] = f"{top.path}/{branch.node.role}[{place}]"
        branch.parent = top
    if not below.complete and not above.children:
        raise UiFault("the rows could not be read")
    return above.children


def _part_answer(
    app: UiApp, seen: Walk, tree: str, count: int, notes: Sequence[str], *, more: bool
) -> dict[str, Any]:
    facts = walk_facts(app, count, seen, 0, notes)
    return {"tree": tree, "depth": seen.root.depth, "has_more_results": more, **facts}
