"""From a path to the element it means now, and from an element to its path.

A path is resolved anew at each use; what it was made from is in `identity`.
"""

import time
from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

from iac_accessibility.apps import UiSession
from iac_accessibility.bridge import Bridge, ElementReader, read_one
from iac_accessibility.errors import LOOK_AGAIN, StaleError, UiError
from iac_accessibility.identity import (
    ElementFound,
    Fingerprint,
    differences,
    found_at,
    with_row,
)
from iac_accessibility.model import Gone, Handle, Silent, UiApp, UiFault, UiNode, Want
from iac_accessibility.paths import PathStep, parse_path, path_text
from iac_accessibility.traverse import WalkLimits, steps_of, walk
from iac_base.errors import near_text, quoted

SIBLINGS: Final = 5_000
"""Children of one element among which a path is followed."""

_FEW: Final = 40
_TARGET: Final = Want.IDENTIFIER | Want.VALUE | Want.CHILDREN | Want.ACTIONS | Want.DESCRIPTION


@runtime_checkable
class Retracing(Protocol):
    """A reader that says of a way whether it still is one, in one exchange."""

    def retrace(
        self, way: Sequence[UiNode], want: Want, timeout: float
    ) -> list[UiNode | UiFault] | None:
        """Return the elements of a way (the app, a window, …, the element) as they are now.

        Each has to be where it was among the children of the one before. Of the window role,
        title and states are read, of the last what is wanted (but children), of the others the
        title where they had one.

        Returns:
            None where one is not at its place, or the last is of another kind; the path then has
            to be followed.
        """


def target(
    session: UiSession,
    app: UiApp,
    path: str,
    before: Fingerprint | None,
    seconds: float,
    known: ElementFound | None = None,
    *,
    id: str = "",
) -> ElementFound:
    """Return the element at a path now; `before` is what it has to be, where that is known.

    Args:
        path: In canonical spelling.
        known: What the path led to a moment ago, to be confirmed.
        id: What it was asked for by, in place of the path: it may stand elsewhere by now.

    Raises:
        StaleError: It is another element, or there is none there any more.
        UiError: No element fits, or the app cannot be read.
        UiFault: The app cannot be read.
    """
    bridge, memory = session.bridge, session.memory
    if known is not None:
        # When a call is prepared, the app has just been looked for.
        session.check_alive(app)
    elsewhere = None if before else memory.of_other_process(app, path)
    if elsewhere is not None:
        why = f"it was made from another process of {app.name}, which may have been started anew"
        raise stale(session, app, path, elsewhere, why)
    try:
        last = known or memory.found(app, path)
        # The path may have been made anew since, from another element.
        if last is not None and before is not None and last.node.handle == before.handle:
            same = confirm(bridge, app, last, seconds=seconds, acting=known is not None)
            if same is not None:
                same = with_row(bridge, app, same, seconds=seconds)
                if not differences(before, same):
                    return same._replace(id=id)
        if id and before is not None:
            found = path_of(bridge, app, before.handle, seconds=seconds)._replace(id=id)
        else:
            found = resolve(bridge, app, parse_path(path), seconds=seconds)
        found = with_row(bridge, app, found, seconds=seconds)
    except Gone:
        session.forget(app)
        if before is None:
            raise
        raise stale(session, app, path, before, "it is gone") from None
    except UiError:
        if before is None:
            raise
        raise stale(session, app, path, before, "there is no such element any more") from None
    if before is not None:
        if why := differences(before, found):
            raise stale(session, app, path, before, why)
        memory.keep_way(app, found)
    return found


def resolve(
    bridge: Bridge, app: UiApp, steps: tuple[PathStep, ...], *, seconds: float
) -> ElementFound:
    """Return the element that a path leads to now.

    Raises:
        UiError: No element, or several, fit a step.
        UiFault: The app cannot be read.
    """
    end = time.monotonic() + seconds
    reader = bridge.reader(app, whole=False, timeout=seconds)
    node = root = read_one(reader, bridge.root(app, seconds), Want.CHILDREN, seconds)
    way: list[UiNode] = []
    for number, step in enumerate(steps):
        left = end - time.monotonic()
        if left <= 0:
            raise Silent("the path could not be followed in time")
        want = _TARGET if number == len(steps) - 1 else Want.CHILDREN
        node = _follow(reader, node, step, want, left, path_text(steps[:number]))
        way.append(node)
    return ElementFound(root, tuple(way), path_text(steps))


def _follow(
    reader: ElementReader,
    parent: UiNode,
    step: PathStep,
    want: Want,
    seconds: float,
    where: str,
) -> UiNode:
    ask = Want.IDENTIFIER if step.identifier is not None else Want.NOTHING
    if len(parent.children) <= _FEW:
        # For few children one round that reads all costs less than a second round.
        ask |= want
    answers = reader.read(parent.children[:SIBLINGS], ask, seconds)
    nodes = [answer for answer in answers if isinstance(answer, UiNode)]
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
        return found[0] if want in ask else read_one(reader, found[0].handle, want, seconds)
    place = f" in {where}" if where else ""
    if found:
        numbers = [PathStep(node.role, number=alike.index(node)).text for node in found[:5]]
        raise UiError(
            "NOT_FOUND",
            f"{len(found)} elements match {quoted(step.text, 120)}{place}.",
            f"Choose one by its number: {', '.join(numbers)}.",
            reason="no_element",
        )
    raise UiError(
        "NOT_FOUND",
        f"There is no element {quoted(step.text, 120)}{place}.",
        _nearest(step, alike, nodes),
        reason="no_element",
    )


def _nearest(step: PathStep, alike: list[UiNode], nodes: list[UiNode]) -> str:
    visible = [node for node in alike if node.visible]
    if step.title is not None and visible:
        return near_text(step.title, [node.title for node in visible if node.title]) or LOOK_AGAIN
    if visible:
        return f"There are {len(alike)} of that role. {LOOK_AGAIN}"
    roles = dict.fromkeys(node.role for node in nodes if node.visible)
    return f"There are: {', '.join(list(roles)[:8])}." if roles else LOOK_AGAIN


def confirm(
    bridge: Bridge, app: UiApp, found: ElementFound, *, seconds: float, acting: bool
) -> ElementFound | None:
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
    nodes: list[UiNode] = []
    for answer in after or ():
        if isinstance(answer, Silent):
            raise answer
        if isinstance(answer, UiNode):
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
    reader: ElementReader, before: Sequence[UiNode], want: Want, seconds: float
) -> Sequence[UiNode | UiFault] | None:
    if isinstance(reader, Retracing):
        return reader.retrace(before, want, seconds)
    end = time.monotonic() + seconds
    above = reader.read([node.handle for node in before[:-1]], Want.CHILDREN, seconds)
    for old, new in zip(before, above, strict=False):
        if isinstance(new, UiNode) and old.children != new.children:
            return None
    left = max(end - time.monotonic(), 0.0)
    return [*above, *reader.read([before[-1].handle], want, left)]


def path_of(bridge: Bridge, app: UiApp, handle: Handle, *, seconds: float) -> ElementFound:
    """Return the canonical path of an element that is known by its handle.

    Raises:
        UiFault: It is gone, or the app does not answer.
    """
    end = time.monotonic() + seconds
    ways = bridge.ancestors(app, handle, seconds)
    reader = bridge.reader(app, whole=False, timeout=seconds)
    node = root = read_one(reader, bridge.root(app, seconds), Want.CHILDREN, seconds)
    way: list[UiNode] = []
    texts: list[str] = []
    for number, following in enumerate(ways):
        left = max(end - time.monotonic(), 0.01)
        if following not in node.children:
            raise Gone("the element is no longer in its container")
        answers = reader.read(node.children[:SIBLINGS], bridge.free, left)
        siblings = [answer for answer in answers if isinstance(answer, UiNode)]
        steps = steps_of(siblings, whole=len(siblings) == node.total)
        at = next((n for n, one in enumerate(siblings) if one.handle == following), None)
        if at is None:
            raise Silent("an element did not answer")
        texts.append(steps[at].text)
        last = number == len(ways) - 1
        node = read_one(reader, following, _TARGET if last else Want.CHILDREN, left)
        way.append(node)
    if not way:
        raise Gone("the element is the app itself")
    return ElementFound(root, tuple(way), "/".join(texts))


def stale(session: UiSession, app: UiApp, path: str, before: Fingerprint, why: str) -> StaleError:
    """Return the refusal of a stale path, with where the element is now."""
    session.memory.forget(app, before.handle)
    return StaleError(path, why, *_fresh(session, app, before, seconds=1.0))


def _fresh(
    session: UiSession, app: UiApp, before: Fingerprint, *, seconds: float
) -> tuple[str, str]:
    """Return path and id of an element now, or of the only one like it; empty if not found."""
    bridge = session.bridge
    kind = (before.role, before.title)
    try:
        found = path_of(bridge, app, before.handle, seconds=seconds)
        found = with_row(bridge, app, found, seconds=seconds)
        if (found.node.role, found.node.title) == kind:
            if before.row not in (None, found.row):
                # The handle stands for what is in another row now.
                return "", ""
            return found.path, session.memory.keep(app, found)
    except UiFault:
        pass
    try:
        reader = bridge.reader(app, whole=True, timeout=seconds)
        root = read_one(reader, bridge.root(app, seconds), Want.CHILDREN, seconds)
        seen = walk(reader, root, bridge.free, WalkLimits(seconds, 50))
        alike = [one for one in seen.order if (one.node.role, one.node.title) == kind]
        if len(alike) != 1:
            return "", ""
        row = with_row(bridge, app, found_at(alike[0]), seconds=seconds).row
    except UiFault:
        return "", ""
    if row != before.row:
        # The only one that is left may be that of another row.
        return "", ""
    known = bool(bridge.free & Want.IDENTIFIER)
    session.memory.keep_all(app, alike, known=known, row=lambda _: row)
    return alike[0].path, alike[0].id
