"""Walking a tree of unknown size and temper: bounded in time, elements, depth and per element.

Level by level, so that what is cut is deep rather than whole branches. Elements are read in
batches; one that does not answer is found by asking ever smaller batches, and costs its own time
only. An element that was met before ends its branch: trees of some apps have cycles.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from iac_accessibility.bridge import ElementReader
from iac_accessibility.model import (
    AppNotResponding,
    Detail,
    ElementGone,
    Handle,
    PathStep,
    UiFault,
    UiNode,
)

BATCH: Final = 256
_SILENT_IN_A_ROW: Final = 3
_MOST_CUTS: Final = 10


class WalkLimits(NamedTuple):
    """What a walk may cost.

    Attributes:
        seconds: In all.
        depth: Levels below the app; its windows are the first.
        nodes: Elements that are read.
        node_seconds: Waiting for one element, or one batch of them.
        children: Of one element.
    """

    seconds: float
    depth: int
    nodes: int = 5_000
    node_seconds: float = 0.25
    children: int = 1_000


class WalkCut(NamedTuple):
    """Where something was left out, and why."""

    where: str
    why: str


@dataclass(eq=False)
class Branch:
    """An element in its place; `place` is its number among all that were read of its parent.

    `read` are all of its children that were read, invisible ones too; `whole` says that these are
    all. Steps and path are made when they are asked for: finding asks for few of thousands. `id`
    is given when it is remembered.
    """

    node: UiNode
    depth: int
    parent: "Branch | None"
    place: int = 0
    children: "list[Branch]" = field(default_factory=list)
    read: Sequence[UiNode] = ()
    whole: bool = True
    id: str = ""

    @cached_property
    def _child_steps(self) -> list[PathStep]:
        return steps_of(self.read, whole=self.whole)

    @property
    def step(self) -> str:
        """Its step in a path; empty for the app itself."""
        return self.parent._child_steps[self.place].text if self.parent else ""

    @cached_property
    def path(self) -> str:
        """Its canonical path; empty for the app itself."""
        above = self.parent.path if self.parent else ""
        return f"{above}/{self.step}" if above else self.step

    @property
    def window(self) -> UiNode:
        """The element of the first level that it is in."""
        branch = self
        while branch.parent is not None and branch.parent.parent is not None:
            branch = branch.parent
        return branch.node


@dataclass(slots=True)
class Walk:
    """What was found: `root` is the app itself. `order` is level by level, without the root.

    `complete` is False where anything but the asked depth ended it.
    """

    root: Branch
    order: list[Branch] = field(default_factory=list)
    cuts: list[WalkCut] = field(default_factory=list)
    complete: bool = True
    deeper: bool = False

    def note_cut(self, where: str, why: str, *, planned: bool = False) -> None:
        """Note that something was left out; a planned cut leaves the walk complete."""
        self.complete = self.complete and planned
        if len(self.cuts) < _MOST_CUTS:
            self.cuts.append(WalkCut(where or "the app", why))

    def note_end(self, where: str, why: str) -> None:
        """Note what ended the walk, before all else that was left out."""
        self.complete = False
        self.cuts.insert(0, WalkCut(where or "the app", why))


def walk_tree(
    reader: ElementReader,
    root: UiNode | Branch,
    want: Detail,
    limits: WalkLimits,
    *,
    enough: Callable[[Sequence[Branch]], bool] = lambda _: False,
) -> Walk:
    """Read the tree under `root` (an app or an element in its place, its children read).

    Invisible elements are not descended into, and not part of the answer; they count for the
    numbers in paths, though, as they do for whoever follows a path.

    Args:
        enough: Says after each level, given all that was found so far, whether to end there.
    """
    walker = _Walker(reader, root, want | Detail.CHILDREN, limits)
    walk = walker.found
    level = [walk.root]
    while level and not enough(walk.order):
        if level[0].depth >= limits.depth:
            walk.deeper = any(branch.node.total for branch in level)
            break
        level = walker.read_level(level)
    return walk


def steps_of(siblings: Sequence[UiNode], *, whole: bool = True) -> list[PathStep]:
    """Return the step of each of the children of one element.

    Args:
        whole: Whether these are all; what is unique among some may not be so among all.
    """
    titles = Counter((node.role, node.title) for node in siblings)
    identifiers = Counter((node.role, node.identifier) for node in siblings)
    counts = Counter[str]()
    steps: list[PathStep] = []
    for node in siblings:
        index = counts[node.role]
        counts[node.role] += 1
        if whole and 0 < len(node.title) <= _LONGEST and titles[node.role, node.title] == 1:
            steps.append(PathStep(node.role, title=node.title))
        elif (
            whole
            and 0 < len(node.identifier) <= _LONGEST
            and identifiers[node.role, node.identifier] == 1
        ):
            steps.append(PathStep(node.role, identifier=node.identifier))
        else:
            steps.append(PathStep(node.role, number=index))
    return steps


_LONGEST: Final = 60
"""Characters of a title that names an element in a path."""


class _Walker:
    """Walks level by level; reads in batches that shrink around what does not answer."""

    def __init__(
        self, reader: ElementReader, root: UiNode | Branch, want: Detail, limits: WalkLimits
    ) -> None:
        top = root if isinstance(root, Branch) else Branch(root, 0, None)
        self.found = Walk(top)
        self._reader = reader
        self._want = want
        self._limits = limits
        self._end = time.monotonic() + limits.seconds
        self._seen: dict[Handle, UiNode] = {top.node.handle: top.node}
        self._size = BATCH
        self._silent = 0
        self._ended = ""
        """Why reading ended for good; empty while it goes on."""

    def read_level(self, level: Sequence[Branch]) -> list[Branch]:
        """Read the children of a level; return those to go on with."""
        limits, walk = self._limits, self.found
        for branch in level:
            shown = min(len(branch.node.children), limits.children)
            if branch.node.total < 0:
                walk.note_cut(branch.path, "the app did not say what is in it")
            elif branch.node.total > shown:
                walk.note_cut(
                    branch.path, f"{branch.node.total} children; the first {shown} were read"
                )
        asked = [one for branch in level for one in branch.node.children[: limits.children]]
        room = max(limits.nodes - len(self._seen), 0)
        unique = [handle for handle in dict.fromkeys(asked) if handle not in self._seen]
        if len(unique) > room:
            walk.note_end(level[0].path, f"{limits.nodes} elements were read")
        answers = self._read_batches(unique[:room])
        if self._ended:
            walk.note_end(level[0].path, self._ended)
        return [below for branch in level for below in self._attach_children(branch, answers)]

    def _attach_children(
        self, branch: Branch, answers: dict[Handle, UiNode | UiFault]
    ) -> list[Branch]:
        siblings: list[UiNode] = []
        fresh: list[tuple[int, UiNode]] = []
        handles = branch.node.children[: self._limits.children]
        whole = 0 <= branch.node.total <= len(handles)
        for handle in handles:
            if handle in self._seen:
                siblings.append(self._seen[handle])
                self.found.note_cut(
                    branch.path, "an element that was met before (a cycle)", planned=True
                )
                continue
            answer = answers.get(handle)
            if isinstance(answer, UiNode):
                fresh.append((len(siblings), answer))
                siblings.append(answer)
                continue
            whole = False
            if isinstance(answer, AppNotResponding):
                self.found.note_cut(branch.path, "an element did not answer")
            elif answer is not None and not isinstance(answer, ElementGone):
                self.found.note_cut(branch.path, f"an element could not be read ({answer})")
        for _, node in fresh:
            self._seen[node.handle] = node
        branch.read, branch.whole = siblings, whole
        for place, node in fresh:
            if node.is_visible:
                branch.children.append(Branch(node, branch.depth + 1, branch, place))
        self.found.order += branch.children
        return branch.children

    def _read_batches(self, handles: Sequence[Handle]) -> dict[Handle, UiNode | UiFault]:
        answers: dict[Handle, UiNode | UiFault] = {}
        waiting = list(handles)[::-1]
        while waiting and not self._ended:
            left = self._end - time.monotonic()
            if left <= 0:
                self._ended = f"the time was up ({self._limits.seconds:g} s)"
                break
            batch = [waiting.pop() for _ in range(min(self._size, len(waiting)))]
            got = self._reader.read(batch, self._want, min(self._limits.node_seconds, left))
            answers.update(zip(batch, got, strict=True))
            silent = [handle for handle in batch if isinstance(answers[handle], AppNotResponding)]
            if silent and len(batch) > 1:
                self._size = max(len(batch) // 4, 1)
                waiting += silent[::-1]
            elif silent:
                self._silent += 1
                if self._silent >= _SILENT_IN_A_ROW:
                    self._ended = "the app stopped answering"
            else:
                self._silent = 0
                self._size = min(self._size * 2, BATCH)
        return answers
