"""What an element is known by, and what paths were made from, for the length of the server.

So that an element that has taken another's place is noticed and never acted on.
"""

import itertools
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from iac_accessibility.bridge import Bridge, time_left
from iac_accessibility.model import AppNotResponding, Detail, Handle, UiApp, UiFault, UiNode
from iac_accessibility.traverse import Branch, Walk
from iac_base.errors import quote_text

K = TypeVar("K")
V = TypeVar("V")

_WAYS: Final = 1_000
_WALKS: Final = 4
"""Ways to single elements, and whole walks, that are remembered: they are large."""

_ID: Final = re.compile(r"e[0-9]{1,9}\Z")

_ROW_ROLES: Final = frozenset(("row", "list_item", "tree_item", "article", "comment"))
_PLAIN_ROLES: Final = frozenset(("group", "grouping"))
_TEXT_DETAIL: Final = Detail.CHILDREN | Detail.VALUE
_TEXTS: Final = frozenset(("static_text", "heading", "paragraph", "link", "cell"))
_FEW: Final = 12
"""Most children of a plain group that is taken for a row."""

_ROW_LEVELS: Final = 3
_ROW_PARTS: Final = 60
"""Levels below a row, and elements of each, whose texts tell it from others."""


class Row(NamedTuple):
    """The row that an element is in: its texts, the first of which names it; none where in none.

    `beside` are the names of the rows before and after it.
    """

    texts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


class Fingerprint(NamedTuple):
    """What an element is known by. `identifier` and `row` are None where they were not read.

    Toolkits that show long lists use a few elements for all rows, so that an element of the same
    handle and name can belong to another row: `row` is the row that it is in.
    """

    role: str
    title: str
    identifier: str | None
    handle: Handle
    window: Handle
    window_title: str
    row: Row | None = None


class ElementFound(NamedTuple):
    """An element that a path leads to: its app, the way from its window to itself, its path.

    `row` is the row that it is in, None where it was not read; `around` is what was read for that.
    `id` is the short id that it was asked for by, empty where by its path.
    """

    root: UiNode
    way: tuple[UiNode, ...]
    path: str
    row: Row | None = None
    around: tuple[Handle, ...] = ()
    id: str = ""

    @property
    def node(self) -> UiNode:
        """The element."""
        return self.way[-1]

    @property
    def window(self) -> UiNode:
        """The window (or menu bar) that it is in."""
        return self.way[0]

    def now(self, node: UiNode) -> "ElementFound":
        """Return it with the element as it is now."""
        return self._replace(way=(*self.way[:-1], node))

    @property
    def fingerprint(self) -> Fingerprint:
        """What it is known by from now on."""
        return fingerprint_of(self.node, self.window, known=True, row=self.row)


def element_of_branch(branch: Branch) -> ElementFound:
    """Return an element of a walk as one that its path led to."""
    way: list[UiNode] = []
    above = branch
    while above.parent is not None:
        way.append(above.node)
        above = above.parent
    return ElementFound(above.node, tuple(way[::-1]), branch.path)


def branch_of(element: ElementFound) -> Branch:
    """Return an element in its place, for a walk of what is below it."""
    branch = Branch(element.root, 0, None)
    for depth, node in enumerate(element.way, 1):
        branch = Branch(node, depth, branch, read=())
    # Its steps were followed already; those beside it were not read.
    branch.__dict__["path"] = element.path
    return branch


def fingerprint_of(
    node: UiNode, window: UiNode, *, known: bool, row: Row | None = None
) -> Fingerprint:
    """Return what an element is known by; `known` says that its identifier was read."""
    identifier = node.identifier if known else None
    at = (node.handle, window.handle, window.title)
    return Fingerprint(node.role, node.title, identifier, *at, row)


def read_row(way: Sequence[UiNode], read: Callable[[Sequence[Handle]], Sequence[UiNode]]) -> Row:
    """Return the row that the last element of a way is in.

    A row is an element of such a role, or a small group beside another group. What can be pressed
    or filled in is left out: it changes with use.

    Args:
        read: Answers with elements, their children and values read; those that are gone left out.
    """
    at = next((at for at in range(len(way) - 1, 0, -1) if way[at].role in _ROW_ROLES), 0)
    if not at and len(way) > 2 and _is_row(way[-2], way[-3], read):
        at = len(way) - 2
    if not at:
        return Row()
    row, beside = way[at], _handles_beside(way[at], way[at - 1])
    texts: dict[Handle, list[str]] = {row.handle: [row.title], **{one: [] for one in beside}}
    level = dict.fromkeys(row.children[:_ROW_PARTS], row.handle) | {one: one for one in beside}
    for _ in range(_ROW_LEVELS):
        if not level:
            break
        below: dict[Handle, Handle] = {}
        for node in read([*level]):
            owner = level[node.handle]
            if node.is_visible and (node.handle == owner or node.role in _TEXTS):
                said = node.value if node.role in _TEXTS else None
                texts[owner].append(node.title or str(said or ""))
            if node.is_visible:
                below |= dict.fromkeys(node.children[:_ROW_PARTS], owner)
        level = below
    # An editor marks what is not saved.
    plain = [[*filter(None, (one.strip("*•").strip() for one in held))] for held in texts.values()]
    return Row(tuple(plain[0]), tuple(one[0] for one in plain[1:] if one))


def is_same_row(before: Row | None, now: Row | None) -> bool:
    """Say whether two readings are of one row: by all texts, or by its name and its neighbours.

    Where a neighbour has the same name, the neighbours have to be the same too: in a long list the
    element may have become that of the other row.
    """
    if before is None or now is None:
        return True
    names = before.texts[:1]
    if names and (names[0] in before.beside or names[0] in now.beside):
        return before == now
    return before.texts == now.texts or (
        bool(names) and names == now.texts[:1] and before.beside == now.beside
    )


def _handles_beside(node: UiNode, above: UiNode) -> tuple[Handle, ...]:
    # Lists may have thousands: it is looked for once.
    try:
        at = above.children.index(node.handle)
    except ValueError:
        return ()
    return (*above.children[max(at - 1, 0) : at], *above.children[at + 1 : at + 2])


def row_lookup(seen: Walk, read: Mapping[Handle, UiNode]) -> Callable[[Branch], Row | None]:
    """Return what says of the elements of a walk which row they are in; None if it was cut.

    Args:
        read: Elements that were read once more, with their values.
    """
    if seen.deeper or not seen.complete:
        return lambda _: None
    known = {node.handle: node for branch in (seen.root, *seen.order) for node in branch.read}
    known |= read
    of_parent: dict[int, Row] = {}

    def row_of_branch(branch: Branch) -> Row:
        # But for rows themselves it is the same for all that is beside it.
        key = id(branch if branch.node.role in _ROW_ROLES else branch.parent)
        if key not in of_parent:
            of_parent[key] = read_row(
                element_of_branch(branch).way,
                lambda handles: [known[one] for one in handles if one in known],
            )
        return of_parent[key]

    return row_of_branch


def _is_row(
    node: UiNode, above: UiNode, read: Callable[[Sequence[Handle]], Sequence[UiNode]]
) -> bool:
    if node.role not in _PLAIN_ROLES or not 1 < len(node.children) <= _FEW:
        return False
    beside = _handles_beside(node, above)
    return bool(beside) and any(one.role == node.role for one in read(beside))


def _merge_fingerprints(before: Fingerprint | None, seen: Fingerprint) -> Fingerprint | None:
    """Return all that is known of an element that was read twice; None if it is not the same.

    What was not read the second time stays as it was: who saw it then means that.
    """
    if before is None or not is_same_row(before.row, seen.row):
        return None
    identifier = before.identifier if seen.identifier is None else seen.identifier
    row = before.row if seen.row is None else seen.row
    now = seen._replace(identifier=identifier, row=row)
    was = before._replace(
        identifier=identifier if before.identifier is None else before.identifier,
        row=row,
        window_title=now.window_title,
    )
    return now if was == now else None


class RowReader:
    """Reads elements for `read_row`, each once, within `seconds`.

    Args:
        before: What was read for the same element the last time; it is read in one exchange.

    Raises:
        Silent: On a call, where the app does not answer.
    """

    def __init__(
        self, bridge: Bridge, app: UiApp, seconds: float, before: Sequence[Handle] = ()
    ) -> None:
        self._end = time.monotonic() + seconds
        self._reader = bridge.open_reader(app, whole=False, timeout=seconds)
        self._before = before
        self._held: dict[Handle, UiNode | UiFault] = {}
        self.asked: dict[Handle, None] = {}
        """What was read for whoever asked, in order."""

    def __call__(self, handles: Sequence[Handle]) -> list[UiNode]:
        self.asked.update(dict.fromkeys(handles))
        new = [handle for handle in dict.fromkeys(handles) if handle not in self._held]
        if new:
            new += [one for one in self._before if one not in self._held and one not in handles]
            self._read(new, Detail.CHILDREN)
            # What a field holds is not asked: it says nothing of a row, and may be a secret.
            self._read([one for one in new if self._is_unnamed_text(one)], _TEXT_DETAIL)
        nodes: list[UiNode] = []
        for handle in handles:
            answer = self._held[handle]
            if isinstance(answer, AppNotResponding):
                raise answer
            if isinstance(answer, UiNode):
                nodes.append(answer)
        return nodes

    def _read(self, handles: Sequence[Handle], want: Detail) -> None:
        if handles:
            got = self._reader.read(handles, want, time_left(self._end, 0.0))
            self._held.update(zip(handles, got, strict=True))

    def _is_unnamed_text(self, handle: Handle) -> bool:
        node = self._held[handle]
        return isinstance(node, UiNode) and node.role in _TEXTS and not node.title


def with_row(bridge: Bridge, app: UiApp, element: ElementFound, *, seconds: float) -> ElementFound:
    """Return an element with the row that it is in now.

    Raises:
        Silent: The app does not answer.
    """
    read = RowReader(bridge, app, seconds, element.around)
    return element._replace(row=read_row(element.way, read), around=tuple(read.asked))


def describe_differences(before: Fingerprint, element: ElementFound) -> str:
    """Return how the element at a path differs from what the path was made from; empty if not.

    Its handle is compared whatever it is called: in a list many elements have one name.
    """
    node = element.node
    told: list[str] = []
    if node.role != before.role:
        told.append(f"it was {before.role}, it is {node.role}")
    elif node.title != before.title and not (
        len(element.way) == 1 and node.handle == before.handle
    ):
        told.append(f"it was {quote_text(before.title, 60)}, it is {quote_text(node.title, 60)}")
    if before.identifier is not None and node.identifier != before.identifier:
        told.append(f"its identifier was {quote_text(before.identifier, 60)}")
    if element.window.handle != before.window:
        told.append(f"it was in another window, {quote_text(before.window_title, 60)}")
    elif node.handle != before.handle and not told:
        now = f", {node.role} {quote_text(node.title, 60)}" if node.title else f", {node.role}"
        told.append(f"another element has taken its place{now}{_in_row(element.row)}")
    elif not is_same_row(before.row, element.row):
        told.append(f"its row has changed, it is now{_in_row(element.row) or ' in none'}")
    return "; ".join(told)


def _in_row(row: Row | None) -> str:
    return f" in the row {quote_text(' '.join(row.texts), 80)}" if row and row.texts else ""


def is_id(text: str) -> bool:
    """Say whether a text is a short id of an element, `e12`, rather than a path."""
    return _ID.match(text) is not None


class ElementId(NamedTuple):
    """What a short id stands for: the process (id and start), and what the element was."""

    process: tuple[int, float]
    path: str
    fingerprint: Fingerprint


class PathMemory:
    """Remembers what ids and paths were made from; the oldest go when there are too many.

    An element keeps its id as long as it is read as the same; an id never stands for another one.
    Thread-safe.
    """

    def __init__(self, limit: int = 50_000) -> None:
        self._limit = limit
        self._made_from: OrderedDict[tuple[int, float, str], Fingerprint] = OrderedDict()
        # Which process of an app a path was last made from.
        self._owners: OrderedDict[tuple[str, str, str], tuple[int, float]] = OrderedDict()
        self._ids: OrderedDict[str, ElementId] = OrderedDict()
        self._named: OrderedDict[tuple[int, float, Handle], str] = OrderedDict()
        self._numbers = itertools.count(1)
        self._ways: OrderedDict[tuple[int, float, str], ElementFound] = OrderedDict()
        self._walks: OrderedDict[tuple[int, float], dict[str, Branch]] = OrderedDict()
        self._lock = threading.Lock()

    def remember_element(self, app: UiApp, element: ElementFound) -> str:
        """Remember what the path of an element was made from; return its id."""
        return self._remember_paths(app, [(element.path, element.fingerprint)])[0]

    def remember_branches(
        self,
        app: UiApp,
        branches: Sequence[Branch],
        *,
        known: bool,
        row: Callable[[Branch], Row | None] = lambda _: None,
        ways: bool = False,
    ) -> None:
        """Remember the elements of a walk, and give each its id.

        Args:
            known: Whether identifiers were read.
            row: The row that an element is in; None where it was not read.
            ways: Whether to remember the way to each, as `remember_way` does.
        """
        rows = [
            (one.path, fingerprint_of(one.node, one.window, known=known, row=row(one)))
            for one in branches
        ]
        for branch, given in zip(branches, self._remember_paths(app, rows), strict=True):
            branch.id = given
            if ways:
                self.remember_way(app, element_of_branch(branch))

    def _remember_paths(self, app: UiApp, rows: Iterable[tuple[str, Fingerprint]]) -> list[str]:
        process, name = (app.pid, app.started), (app.id, app.name)
        given: list[str] = []
        with self._lock:
            for path, seen in rows:
                key = (*process, seen.handle)
                known = self._ids.get(self._named.get(key, ""))
                joined = _merge_fingerprints(known and known.fingerprint, seen)
                made = self._named[key] if joined else f"e{next(self._numbers)}"
                fingerprint = joined or seen
                _put_last(self._made_from, (*process, path), fingerprint, self._limit)
                _put_last(self._owners, (*name, path), process, self._limit)
                _put_last(self._named, key, made, self._limit)
                _put_last(self._ids, made, ElementId(process, path, fingerprint), self._limit)
                given.append(made)
        return given

    def lookup_id(self, text: str) -> ElementId | None:
        """Return what an id stands for, or None for one that was not given here."""
        with self._lock:
            return self._ids.get(text)

    def forget_element(self, app: UiApp, handle: Handle) -> None:
        """Take the next reading of an element that was found to have changed as it is."""
        with self._lock:
            self._named.pop((app.pid, app.started, handle), None)

    def remember_way(self, app: UiApp, element: ElementFound) -> None:
        """Remember where the path of an element led to, for `last_element`."""
        with self._lock:
            _put_last(self._ways, (app.pid, app.started, element.path), element, _WAYS)

    def remember_walk(self, app: UiApp, seen: Walk) -> None:
        """Remember all ways of a walk, for `last_element`."""
        ways = {branch.path: branch for branch in seen.order}
        with self._lock:
            _put_last(self._walks, (app.pid, app.started), ways, _WALKS)

    def last_element(self, app: UiApp, path: str) -> ElementFound | None:
        """Return what `path` led to when it was last followed or made; not how it is now."""
        with self._lock:
            element = self._ways.get((app.pid, app.started, path))
            branch = self._walks.get((app.pid, app.started), {}).get(path)
        return element or (element_of_branch(branch) if branch else None)

    def known_fingerprint(self, app: UiApp, path: str) -> Fingerprint | None:
        """Return what `path` was made from, or None for a path that was not made here."""
        with self._lock:
            return self._made_from.get((app.pid, app.started, path))

    def fingerprint_elsewhere(self, app: UiApp, path: str) -> Fingerprint | None:
        """Return what `path` was made from in another process of the app, if only there."""
        with self._lock:
            owner = self._owners.get((app.id, app.name, path))
            if owner is None or owner == (app.pid, app.started):
                return None
            return self._made_from.get((*owner, path))


def _put_last(rows: OrderedDict[K, V], key: K, value: V, limit: int) -> None:
    """Put in what goes last, whether it was there or not; the oldest goes."""
    rows[key] = value
    rows.move_to_end(key)
    if len(rows) > limit:
        rows.popitem(last=False)
