"""The reading tools: the tree, finding, the focus, the windows."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from iac_accessibility.apps import app_facts
from iac_accessibility.errors import AppError, UiError, from_fault
from iac_accessibility.faults import Fault, Silent
from iac_accessibility.locate import path_of, reading, with_row
from iac_accessibility.marks import Found, found_at, surroundings
from iac_accessibility.model import App, Node, Want
from iac_accessibility.render import DATA_NOTE, Attribute, element_state, line_of, outline
from iac_accessibility.roles import WINDOW_ROLES, role_name
from iac_accessibility.session import Session, hides_values
from iac_accessibility.traverse import Branch, Limits, Walk, walk
from iac_accessibility.waking import woken
from iac_base.errors import InvalidParameterError

__all__ = ["find_element", "get_focused_element", "get_ui_tree", "list_windows"]

_WANTED: Final[Mapping[Attribute, Want]] = {
    "actions": Want.ACTIONS,
    "description": Want.DESCRIPTION,
    "identifier": Want.IDENTIFIER,
    "position": Want.FRAME,
}
_SHALLOW: Final = 3
"""Down to this depth a tree is read element by element; deeper, in bulk where that is possible."""

_DEEPEST: Final = 200
_DETAILS: Final = Want.VALUE | Want.IDENTIFIER | Want.DESCRIPTION | Want.FRAME | Want.ACTIONS


def get_ui_tree(
    session: Session, app: App, arguments: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    """Return `{app, tree, result_count, depth, has_more_results, incomplete, cuts, notes}`."""
    add: Sequence[Attribute] = arguments.get("include_attributes", ())
    roles = {role_name(role) for role in arguments.get("filter_roles", ())}
    depth: int = arguments.get("depth", 3)
    want = session.bridge.free | Want.VALUE
    for name in add:
        want |= _WANTED.get(name, Want.NOTHING)
    limits = Limits(seconds, depth)
    seen, notes = _walked(session, app, want, limits, whole=depth > _SHALLOW)
    session.book.keep_all(app, seen.order, known=Want.IDENTIFIER in want, row=_rows(seen))
    session.book.keep_walk(app, seen)
    private = _private(app, seen)
    if roles:
        shown = [branch for branch in seen.order if branch.node.role in roles]
        tree = "\n".join(
            line_of(branch.node, branch.path, add, private(branch.node)) for branch in shown
        )
    else:
        shown = seen.order
        tree = outline(seen.root.children, add, private)
    return {
        "app": app_facts(app),
        "tree": tree,
        "result_count": len(shown),
        "depth": max((branch.depth for branch in seen.order), default=0),
        "has_more_results": seen.deeper or not seen.complete,
        "incomplete": not seen.complete,
        "cuts": _cuts(seen, depth),
        "notes": [DATA_NOTE, *notes],
    }


def find_element(
    session: Session, app: App, arguments: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    """Return `{app, elements, result_count, has_more_results, incomplete, cuts, notes}`."""
    end = time.monotonic() + seconds
    most: int = arguments.get("max_results", 20)
    want = session.bridge.free
    if "value" in arguments:
        want |= Want.VALUE
    if "identifier" in arguments:
        want |= Want.IDENTIFIER
    fits = _Fits(arguments)
    found: list[Branch] = []
    checked = 0

    def enough(order: Sequence[Branch]) -> bool:
        nonlocal checked
        found.extend(branch for branch in order[checked:] if fits(branch.node))
        checked = len(order)
        return len(found) > most

    limits = Limits(seconds, _DEEPEST, nodes=20_000)
    seen, notes = _walked(session, app, want, limits, whole=True, enough=enough)
    enough(seen.order)
    shown = found[:most]
    read = reading(session.bridge, app, seconds=max(end - time.monotonic(), 0.2))

    def row(branch: Branch) -> tuple[str, ...] | None:
        try:
            return surroundings(found_at(branch).way, read)
        except Fault:
            return None

    session.book.keep_all(app, shown, known=Want.IDENTIFIER in want, row=row)
    for branch in shown:
        session.book.keep_way(app, branch.path, found_at(branch))
    return {
        "app": app_facts(app),
        "elements": _described(session, app, shown, max(end - time.monotonic(), 0.2)),
        "result_count": len(shown),
        "has_more_results": len(found) > most,
        "incomplete": not seen.complete,
        "cuts": _cuts(seen, _DEEPEST),
        "notes": [DATA_NOTE, *notes],
    }


class _Fits:
    """Whether an element is one that is looked for."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        if not any(key in arguments for key in ("role", "title", "value", "identifier")):
            raise InvalidParameterError(
                "find_element needs one of role, title, value, identifier.",
                "get_ui_tree shows what is there.",
            )
        self._role = role_name(arguments["role"]) if "role" in arguments else None
        self._title = str(arguments["title"]).casefold() if "title" in arguments else None
        self._value = str(arguments["value"]).casefold() if "value" in arguments else None
        self._identifier = arguments.get("identifier")

    def __call__(self, node: Node) -> bool:
        if self._role is not None and node.role != self._role:
            return False
        if self._title is not None and self._title not in node.title.casefold():
            return False
        if self._identifier is not None and node.identifier != self._identifier:
            return False
        if self._value is None:
            return True
        # A secret is not to be guessed by looking for it.
        if element_state(node, False).get("value") == "[secret]" or node.value is None:
            return False
        text = f"{node.value:g}" if isinstance(node.value, float) else str(node.value)
        return self._value in text.casefold()


def get_focused_element(session: Session, app: App | None, seconds: float) -> dict[str, Any]:
    """Return `{app, element, has_focus, notes}`; element is null where nothing has the focus."""
    if app is None:
        app = next((one for one in session.apps() if one.frontmost), None)
    if app is None:
        return {"element": None, "has_focus": False, "notes": ["No app has the keyboard."]}
    end = time.monotonic() + seconds
    session.open(app, seconds, whole=False)
    try:
        handle = session.bridge.focused(app, seconds)
        found = None
        if handle is not None:
            left = max(end - time.monotonic(), 0.3)
            found = path_of(session.bridge, app, handle, seconds=left)
            found = with_row(session.bridge, app, found, seconds=max(end - time.monotonic(), 0.1))
    except Silent as fault:
        raise from_fault(fault, app) from None
    except Fault:
        found = None
    if found is None:
        return {"app": app_facts(app), "element": None, "has_focus": False, "notes": []}
    session.book.keep(app, found.path, found.mark)
    return {
        "app": app_facts(app),
        "element": _state(app, found),
        "has_focus": True,
        "notes": [DATA_NOTE],
    }


def list_windows(
    session: Session, app: App | None, arguments: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    """Return `{windows, result_count, incomplete, notes}`; positions from the top left corner."""
    end = time.monotonic() + seconds
    minimized: bool = arguments.get("include_minimized", False)
    windows: list[dict[str, Any]] = []
    notes = [DATA_NOTE]
    complete = True
    # Listed anew for one app too: which is in front is to be true now.
    apps = session.apps()
    if app is not None:
        apps = [one for one in apps if (one.pid, one.key) == (app.pid, app.key)] or [app]
    for one in apps:
        left = end - time.monotonic()
        if left <= 0:
            complete = False
            notes.append("The time was up; other apps were not asked.")
            break
        try:
            reader, root = session.open(one, left if app else min(left, 0.4), whole=False)
        except AppError:
            raise
        except UiError as error:
            # What the system refuses, it refuses of all apps: an empty list would hide that.
            if app or error.type == "PERMISSION_DENIED":
                raise
            complete = False
            notes.append(f"{one.name}: {error.message}")
            continue
        left = max(end - time.monotonic(), 0.1)
        seen = walk(reader, root, session.bridge.free | Want.FRAME, Limits(left, 1))
        complete = complete and seen.complete
        shown = [branch for branch in seen.order if branch.node.role in WINDOW_ROLES]
        session.book.keep_all(one, shown, known=Want.IDENTIFIER in session.bridge.free)
        windows += [_window(one, branch) for branch in shown]
    windows = [row for row in windows if minimized or not row["minimized"]]
    return {
        "windows": windows,
        "result_count": len(windows),
        "incomplete": not complete,
        "notes": notes,
    }


def _window(app: App, branch: Branch) -> dict[str, Any]:
    node = branch.node
    row = element_state(node, False)
    return {
        "title": node.title,
        **{key: row[key] for key in ("position", "size") if key in row},
        "minimized": "minimized" in node.states,
        "frontmost": app.frontmost and "active" in node.states,
        "app": app_facts(app),
        "path": branch.path,
    }


def _walked(
    session: Session,
    app: App,
    want: Want,
    limits: Limits,
    *,
    whole: bool,
    enough: Callable[[Sequence[Branch]], bool] = lambda _: False,
) -> tuple[Walk, list[str]]:
    """Walk an app's tree; an app whose tree is empty until asked is woken and walked again."""
    end = time.monotonic() + limits.seconds
    reader, root = session.open(app, limits.seconds, whole=whole)
    seen = walk(reader, root, want, _left(limits, end), enough=enough)
    done = woken(session, app, seen, end)
    if not done:
        return seen, []
    reader, root = session.open(app, max(end - time.monotonic(), 0.3), whole=whole)
    return walk(reader, root, want, _left(limits, end), enough=enough), [done]


def _rows(seen: Walk) -> Callable[[Branch], tuple[str, ...] | None]:
    """Return what says of the elements of a walk which row they are in; None if it was cut."""
    if seen.deeper or not seen.complete:
        return lambda _: None
    known = {node.handle: node for branch in (seen.root, *seen.order) for node in branch.read}
    return lambda branch: surroundings(
        found_at(branch).way, lambda handles: [known[one] for one in handles if one in known]
    )


def _left(limits: Limits, end: float) -> Limits:
    return limits._replace(seconds=max(end - time.monotonic(), 0.2))


def _private(app: App, seen: Walk) -> Callable[[Node], bool]:
    roles = {branch.node.role for branch in seen.order}
    hidden = {role for role in roles if hides_values(app, Node(None, role))}
    return lambda node: node.role in hidden


def _cuts(seen: Walk, depth: int) -> list[dict[str, str]]:
    cuts = [{"where": cut.where, "why": cut.why} for cut in seen.cuts]
    if seen.deeper:
        cuts.append({"where": "the lowest level", "why": f"depth {depth} was asked for"})
    return cuts


def _described(
    session: Session, app: App, branches: Sequence[Branch], seconds: float
) -> list[dict[str, Any]]:
    """Return elements with all that is known of them; what cannot be read twice stays short."""
    if not branches:
        return []
    reader = session.bridge.reader(app, whole=False, timeout=seconds)
    answers = reader.read([branch.node.handle for branch in branches], _DETAILS, seconds)
    rows = []
    for branch, answer in zip(branches, answers, strict=True):
        node = answer if isinstance(answer, Node) else branch.node
        rows.append(element_state(node, hides_values(app, node), branch.path))
    return rows


def _state(app: App, found: Found) -> dict[str, Any]:
    return element_state(found.node, hides_values(app, found.node), found.path)
