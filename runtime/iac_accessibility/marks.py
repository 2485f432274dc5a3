"""What paths were made from, remembered for the length of the server.

So that an element that has taken another's place is noticed and never acted on.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from iac_accessibility.model import App, Handle, Node
from iac_accessibility.traverse import Branch, Walk

__all__ = ["Book", "Found", "Mark", "found_at", "mark_of", "surroundings"]

_WAYS: Final = 1_000
_WALKS: Final = 4
"""Ways to single elements, and whole walks, that are remembered: they are larger than marks."""

_ROW_ROLES: Final = frozenset(("row", "list_item", "tree_item", "article", "comment"))
_PLAIN_ROLES: Final = frozenset(("group", "grouping"))
_TEXTS: Final = frozenset(("static_text", "heading", "paragraph", "link", "cell"))
_FEW: Final = 12
"""Most children of a plain group that is taken for a row."""

_ROW_LEVELS: Final = 3
_ROW_PARTS: Final = 60
"""Levels below a row, and elements of each, whose texts tell it from others."""


class Mark(NamedTuple):
    """What an element is known by. `identifier` and `row` are None where they were not read.

    Toolkits that show long lists use a few elements for all rows, so that an element of the same
    handle and name can belong to another row: `row` are the texts of the row it is in, empty
    where it is in none.
    """

    role: str
    title: str
    identifier: str | None
    handle: Handle
    window: Handle
    window_title: str
    row: tuple[str, ...] | None = None


class Found(NamedTuple):
    """An element that a path leads to: its app, the way from its window to itself, its path.

    `row` are the texts of the row that it is in; None where they were not read.
    """

    root: Node
    way: tuple[Node, ...]
    path: str
    row: tuple[str, ...] | None = None

    @property
    def node(self) -> Node:
        """The element."""
        return self.way[-1]

    @property
    def window(self) -> Node:
        """The window (or menu bar) that it is in."""
        return self.way[0]

    @property
    def mark(self) -> Mark:
        """What it is known by from now on."""
        return mark_of(self.node, self.window, known=True, row=self.row)


def found_at(branch: Branch) -> Found:
    """Return an element of a walk as one that its path led to."""
    way: list[Node] = []
    above = branch
    while above.parent is not None:
        way.append(above.node)
        above = above.parent
    return Found(above.node, tuple(way[::-1]), branch.path)


def mark_of(node: Node, window: Node, *, known: bool, row: tuple[str, ...] | None = None) -> Mark:
    """Return what an element is known by; `known` says that its identifier was read."""
    identifier = node.identifier if known else None
    return Mark(node.role, node.title, identifier, node.handle, window.handle, window.title, row)


def surroundings(
    way: Sequence[Node], read: Callable[[Sequence[Handle]], Sequence[Node]]
) -> tuple[str, ...]:
    """Return the texts of the row that the last element of a way is in; empty where in none.

    A row is an element of such a role, or a small group beside another group. What can be pressed
    or filled in is left out: it changes with use.

    Args:
        read: Answers with elements, their children and values read; those that are gone left out.
    """
    row = next((node for node in reversed(way[1:]) if node.role in _ROW_ROLES), None)
    if row is None and len(way) > 2 and _is_row(way[-2], way[-3], read):
        row = way[-2]
    if row is None:
        return ()
    texts = [row.title]
    level = row.children[:_ROW_PARTS]
    for _ in range(_ROW_LEVELS):
        if not level:
            break
        nodes = [node for node in read(level) if node.visible]
        texts += [node.title or str(node.value or "") for node in nodes if node.role in _TEXTS]
        level = tuple(handle for node in nodes for handle in node.children)[:_ROW_PARTS]
    return tuple(filter(None, texts))


def _is_row(node: Node, above: Node, read: Callable[[Sequence[Handle]], Sequence[Node]]) -> bool:
    if node.role not in _PLAIN_ROLES or not 1 < len(node.children) <= _FEW:
        return False
    if node.handle not in above.children:
        return False
    at = above.children.index(node.handle)
    beside = (*above.children[max(at - 1, 0) : at], *above.children[at + 1 : at + 2])
    return bool(beside) and any(one.role == node.role for one in read(beside))


class Book:
    """Remembers what paths were made from; the oldest go when there are too many. Thread-safe."""

    def __init__(self, limit: int = 50_000) -> None:
        self._limit = limit
        self._marks: OrderedDict[tuple[int, float, str], Mark] = OrderedDict()
        # Which process of an app a path was last made from.
        self._owners: OrderedDict[tuple[str, str, str], tuple[int, float]] = OrderedDict()
        self._ways: OrderedDict[tuple[int, float, str], Found] = OrderedDict()
        self._walks: OrderedDict[tuple[int, float], dict[str, Branch]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, app: App, path: str, mark: Mark) -> None:
        """Remember what `path` was made from."""
        self._keep(app, [(path, mark)])

    def keep_all(
        self,
        app: App,
        branches: list[Branch],
        *,
        known: bool,
        row: Callable[[Branch], tuple[str, ...] | None] = lambda _: None,
    ) -> None:
        """Remember the elements of a walk.

        Args:
            known: Whether identifiers were read.
            row: The texts of the row that an element is in; None where they were not read.
        """
        self._keep(
            app,
            [
                (branch.path, mark_of(branch.node, branch.window, known=known, row=row(branch)))
                for branch in branches
            ],
        )

    def _keep(self, app: App, rows: Iterable[tuple[str, Mark]]) -> None:
        process, name = (app.pid, app.started), (app.id, app.name)
        marks, owners = self._marks, self._owners
        with self._lock:
            for path, mark in rows:
                # Out and in again: what is kept last goes last.
                marks.pop((*process, path), None)
                marks[*process, path] = mark
                owners.pop((*name, path), None)
                owners[*name, path] = process
            while len(marks) > self._limit:
                marks.popitem(last=False)
            while len(owners) > self._limit:
                owners.popitem(last=False)

    def keep_way(self, app: App, path: str, found: Found) -> None:
        """Remember where `path` led to, for `found`."""
        with self._lock:
            self._ways[app.pid, app.started, path] = found
            self._ways.move_to_end((app.pid, app.started, path))
            if len(self._ways) > _WAYS:
                self._ways.popitem(last=False)

    def keep_walk(self, app: App, seen: Walk) -> None:
        """Remember all ways of a walk, for `found`."""
        ways = {branch.path: branch for branch in seen.order}
        with self._lock:
            self._walks[app.pid, app.started] = ways
            self._walks.move_to_end((app.pid, app.started))
            if len(self._walks) > _WALKS:
                self._walks.popitem(last=False)

    def found(self, app: App, path: str) -> Found | None:
        """Return what `path` led to when it was last followed or made; not how it is now."""
        with self._lock:
            found = self._ways.get((app.pid, app.started, path))
            branch = self._walks.get((app.pid, app.started), {}).get(path)
        return found or (found_at(branch) if branch else None)

    def mark(self, app: App, path: str) -> Mark | None:
        """Return what `path` was made from, or None for a path that was not made here."""
        with self._lock:
            return self._marks.get((app.pid, app.started, path))

    def of_other_process(self, app: App, path: str) -> Mark | None:
        """Return what `path` was made from in another process of the app, if only there."""
        with self._lock:
            owner = self._owners.get((app.id, app.name, path))
            if owner is None or owner == (app.pid, app.started):
                return None
            return self._marks.get((*owner, path))
