"""From a path to the element it means now, and from an element to its path.

A path is resolved anew at each use; what it was made from is in `marks`.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

from iac_accessibility.bridge import Bridge, Reader
from iac_accessibility.errors import LOOK_AGAIN, StaleError, UiError
from iac_accessibility.faults import Fault, Gone, Silent
from iac_accessibility.marks import Book, Found, Mark, found_at, surroundings
from iac_accessibility.model import App, Handle, Node, Want
from iac_accessibility.paths import Step, path_text
from iac_accessibility.traverse import Limits, steps_of, walk
from iac_base.errors import near_text, quoted

__all__ = [
    "Retracing",
    "check",
    "confirm",
    "fresh_path",
    "path_of",
    "reading",
    "refuse_stale",
    "resolve",
    "with_row",
]

SIBLINGS: Final = 5_000
"""Children of one element among which a path is followed."""

_TARGET: Final = Want.IDENTIFIER | Want.VALUE | Want.CHILDREN | Want.ACTIONS | Want.DESCRIPTION


@runtime_checkable
class Retracing(Protocol):
    """A reader that says of a way whether it still is one, in one exchange."""

    def retrace(self, way: Sequence[Node], want: Want, timeout: float) -> list[Node | Fault] | None:
        """Return the elements of a way (the app, a window, …, the element) as they are now.

        Each has to be where it was among the children of the one before. Of the window role,
        title and states are read, of the last what is wanted (but children), of the others the
        title where they had one.

        Returns:
            None where one is not at its place, or the last is of another kind; the path then has
            to be followed.
        """
        ...


def resolve(bridge: Bridge, app: App, steps: tuple[Step, ...], *, seconds: float) -> Found:
    """Return the element that a path leads to now.

    Raises:
        UiError: No element, or several, fit a step.
        Fault: The app cannot be read.
    """
    end = time.monotonic() + seconds
    reader = bridge.reader(app, whole=False, timeout=seconds)
    node = root = _one(reader, bridge.root(app, seconds), Want.CHILDREN, seconds)
    way: list[Node] = []
    for number, step in enumerate(steps):
        left = end - time.monotonic()
        if left <= 0:
            raise Silent("the path could not be followed in time")
        last = number == len(steps) - 1
        want = _TARGET if last else Want.CHILDREN
        node = _follow(reader, node, step, want, left, path_text(steps[:number]), app)
        way.append(node)
    return Found(root, tuple(way), path_text(steps))


def confirm(
    bridge: Bridge, app: App, found: Found, *, seconds: float, acting: bool
) -> Found | None:
    """Return an element that was found before as it is now, if its path still leads to it.

    One exchange or two instead of some for each step: where every element on the way is where it
    was, and is called as it was, following the path again ends at the same element. None where
    anything differs; the path then has to be followed.

    Args:
        acting: Whether to leave its actions as they were, since performing one asks for them.

    Raises:
        Silent: The app does not answer.
    """
    before = (found.root, *found.way)
    want = _TARGET & ~Want.ACTIONS if acting else _TARGET
    after = _again(bridge.reader(app, whole=False, timeout=seconds), before, want, seconds)
    nodes: list[Node] = []
    for answer in after or ():
        if isinstance(answer, Silent):
            raise answer
        if isinstance(answer, Node):
            nodes.append(answer)
    if len(nodes) != len(before):
        return None
    for old, new in zip(before, nodes, strict=True):
        if (old.role, old.title) != (new.role, new.title):
            return None
    if acting:
        nodes[-1] = nodes[-1]._replace(actions=found.node.actions)
    return found._replace(way=tuple(nodes[1:]))


def _again(
    reader: Reader, before: Sequence[Node], want: Want, seconds: float
) -> Sequence[Node | Fault] | None:
    if isinstance(reader, Retracing):
        return reader.retrace(before, want, seconds)
    end = time.monotonic() + seconds
    above = reader.read([node.handle for node in before[:-1]], Want.CHILDREN, seconds)
    for old, new in zip(before, above, strict=False):
        if isinstance(new, Node) and old.children != new.children:
            return None
    left = max(end - time.monotonic(), 0.0)
    return [*above, *reader.read([before[-1].handle], want, left)]


def _follow(
    reader: Reader, parent: Node, step: Step, want: Want, seconds: float, where: str, app: App
) -> Node:
    ask = Want.IDENTIFIER if step.identifier is not None else Want.NOTHING
    if len(parent.children) <= _FEW:
        # For few children one round that reads all costs less than a second round.
        ask |= want
    answers = reader.read(parent.children[:SIBLINGS], ask, seconds)
    nodes = [answer for answer in answers if isinstance(answer, Node)]
    if not nodes and answers and isinstance(answers[0], Silent):
        raise answers[0]
    alike = [node for node in nodes if node.role == step.role]
    if step.title is not None:
        found = [node for node in alike if node.title == step.title]
    elif step.identifier is not None:
        found = [node for node in alike if node.identifier == step.identifier]
    else:
        at = step.number or 0
        found = alike[at : at + 1]
    if len(found) == 1:
        return found[0] if want in ask else _one(reader, found[0].handle, want, seconds)
    place = f" in {where}" if where else ""
    if found:
        raise UiError(
            "NOT_FOUND",
            f"{len(found)} elements fit {quoted(step.text, 120)}{place}.",
            "Name one by number: " + ", ".join(_numbers(alike, found)[:5]) + ".",
            reason="no_element",
            app=app.name,
        )
    raise UiError(
        "NOT_FOUND",
        f"There is no {quoted(step.text, 120)}{place}.",
        _nearest(step, alike, nodes),
        reason="no_element",
        app=app.name,
    )


_FEW: Final = 40


def _numbers(alike: list[Node], found: list[Node]) -> list[str]:
    return [Step(node.role, number=alike.index(node)).text for node in found]


def _nearest(step: Step, alike: list[Node], nodes: list[Node]) -> str:
    visible = [node for node in alike if node.visible]
    if step.title is not None and visible:
        return near_text(step.title, [node.title for node in visible if node.title]) or LOOK_AGAIN
    if visible:
        return f"There are {len(alike)} of that role. {LOOK_AGAIN}"
    roles = dict.fromkeys(node.role for node in nodes if node.visible)
    return f"There are: {', '.join(list(roles)[:8])}." if roles else LOOK_AGAIN


def _one(reader: Reader, handle: Handle, want: Want, seconds: float) -> Node:
    answer = reader.read([handle], want, seconds)[0]
    if isinstance(answer, Fault):
        raise answer
    return answer


def path_of(bridge: Bridge, app: App, handle: Handle, *, seconds: float) -> Found:
    """Return the canonical path of an element that is known by its handle.

    Raises:
        Fault: It is gone, or the app does not answer.
    """
    end = time.monotonic() + seconds
    ways = bridge.ancestors(app, handle, seconds)
    reader = bridge.reader(app, whole=False, timeout=seconds)
    node = root = _one(reader, bridge.root(app, seconds), Want.CHILDREN, seconds)
    way: list[Node] = []
    texts: list[str] = []
    for number, following in enumerate(ways):
        left = max(end - time.monotonic(), 0.01)
        if following not in node.children:
            raise Gone("the element is not where it says it is")
        answers = reader.read(node.children[:SIBLINGS], bridge.free, left)
        siblings = [answer for answer in answers if isinstance(answer, Node)]
        steps = steps_of(siblings, whole=len(siblings) == node.total)
        at = next((n for n, one in enumerate(siblings) if one.handle == following), None)
        if at is None:
            raise Silent("an element did not answer")
        texts.append(steps[at].text)
        last = number == len(ways) - 1
        node = _one(reader, following, _TARGET if last else Want.CHILDREN, left)
        way.append(node)
    if not way:
        raise Gone("the element is the app itself")
    return Found(root, tuple(way), "/".join(texts))


def reading(
    bridge: Bridge, app: App, *, seconds: float
) -> Callable[[Sequence[Handle]], list[Node]]:
    """Return what reads elements for `surroundings`, each once, within `seconds`.

    It raises `Silent` where the app does not answer.
    """
    end = time.monotonic() + seconds
    reader = bridge.reader(app, whole=False, timeout=seconds)
    held: dict[Handle, Node | Fault] = {}

    def read(handles: Sequence[Handle]) -> list[Node]:
        asked = [handle for handle in dict.fromkeys(handles) if handle not in held]
        if asked:
            left = max(end - time.monotonic(), 0.0)
            got = reader.read(asked, Want.CHILDREN | Want.VALUE, left)
            held.update(zip(asked, got, strict=True))
        nodes: list[Node] = []
        for handle in handles:
            answer = held[handle]
            if isinstance(answer, Silent):
                raise answer
            if isinstance(answer, Node):
                nodes.append(answer)
        return nodes

    return read


def with_row(bridge: Bridge, app: App, found: Found, *, seconds: float) -> Found:
    """Return an element with the texts of the row that it is in now.

    Raises:
        Silent: The app does not answer.
    """
    return found._replace(row=surroundings(found.way, reading(bridge, app, seconds=seconds)))


def check(mark: Mark, found: Found) -> str:
    """Return how the element at a path differs from what the path was made from; empty if not.

    Its handle is compared whatever it is called: in a list many elements have one name.
    """
    node = found.node
    told: list[str] = []
    if node.role != mark.role:
        told.append(f"it was {mark.role}, it is {node.role}")
    elif node.title != mark.title and not (len(found.way) == 1 and node.handle == mark.handle):
        told.append(f"it was {quoted(mark.title, 60)}, it is {quoted(node.title, 60)}")
    if mark.identifier is not None and node.identifier != mark.identifier:
        told.append(f"its identifier was {quoted(mark.identifier, 60)}")
    if found.window.handle != mark.window:
        told.append(f"it was in another window, {quoted(mark.window_title, 60)}")
    elif node.handle != mark.handle and not told:
        now = f", {node.role} {quoted(node.title, 60)}" if node.title else f", {node.role}"
        told.append(f"another element has taken its place{now}{_in_row(found.row)}")
    elif mark.row is not None and found.row is not None and mark.row != found.row:
        told.append(f"its row has changed, it is now{_in_row(found.row) or ' in none'}")
    return "; ".join(told)


def _in_row(row: tuple[str, ...] | None) -> str:
    return f" in the row {quoted(' '.join(row), 80)}" if row else ""


def fresh_path(bridge: Bridge, app: App, mark: Mark, book: Book, *, seconds: float) -> str:
    """Return where the element of a mark is now, or one that is like it; empty if not found."""
    try:
        found = path_of(bridge, app, mark.handle, seconds=seconds)
        found = with_row(bridge, app, found, seconds=seconds)
        if (found.node.role, found.node.title) == (mark.role, mark.title):
            if mark.row not in (None, found.row):
                # The handle stands for what is in another row now.
                return ""
            book.keep(app, found.path, found.mark)
            return found.path
    except Fault:
        pass
    try:
        reader = bridge.reader(app, whole=True, timeout=seconds)
        root = _one(reader, bridge.root(app, seconds), Want.CHILDREN, seconds)
        seen = walk(reader, root, bridge.free, Limits(seconds, 50))
    except Fault:
        return ""
    alike = [
        branch
        for branch in seen.order
        if (branch.node.role, branch.node.title) == (mark.role, mark.title)
    ]
    if len(alike) != 1:
        return ""
    try:
        row = with_row(bridge, app, found_at(alike[0]), seconds=seconds).row
    except Fault:
        return ""
    if row != mark.row:
        # The only one that is left may be that of another row.
        return ""
    known = bool(bridge.free & Want.IDENTIFIER)
    book.keep_all(app, alike, known=known, row=lambda _: row)
    return alike[0].path


def refuse_stale(
    bridge: Bridge, app: App, path: str, mark: Mark, differences: str, book: Book
) -> StaleError:
    """Return the refusal of a stale path, with where the element is now."""
    fresh = fresh_path(bridge, app, mark, book, seconds=1.0)
    return StaleError(path, differences, fresh, app=app.name)
