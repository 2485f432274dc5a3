"""From a path to the element it means now, and from an element to its path.

A path is resolved anew at each use; what it was made from is in `identity`.
"""

import time
from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

from iac_accessibility.bridge import Bridge, ElementReader, read_one
from iac_accessibility.element_identity import (
    ElementFound,
    Fingerprint,
    branch_of,
    describe_differences,
    element_of_branch,
    is_same_row,
    with_row,
)
from iac_accessibility.errors import LOOK_AGAIN, StaleError, UiError
from iac_accessibility.model import (
    AppNotResponding,
    Detail,
    ElementGone,
    Handle,
    PathStep,
    UiApp,
    UiFault,
    UiNode,
    parse_path,
    path_text,
)
from iac_accessibility.outline import is_named_by_content, text_inside
from iac_accessibility.session import UiSession
from iac_accessibility.traverse import WalkLimits, steps_of, walk_tree
from iac_base.errors import near_text, quote_text

SIBLINGS: Final = 5_000
"""Children of one element among which a path is followed."""

_FEW: Final = 40
_TARGET: Final = (
    Detail.IDENTIFIER
    | Detail.VALUE
    | Detail.CHILDREN
    | Detail.ACTIONS
    | Detail.DESCRIPTION
    | Detail.LABEL
)


@runtime_checkable
class PathRereader(Protocol):
    """A reader that says of a way whether it still is one, in one exchange."""

    def reread_path(
        self, way: Sequence[UiNode], want: Detail, timeout: float
    ) -> list[UiNode | UiFault] | None:
        """Return the elements of a way (the app, a window, …, the element) as they are now.

        Each has to be where it was among the children of the one before. Of the window role,
        title and states are read, of the last what is wanted (but children), of the others the
        title where they had one.

        Returns:
            None where one is not at its place, or the last is of another kind; the path then has
            to be followed.
        """


def resolve_target(
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
    elsewhere = None if before else memory.fingerprint_elsewhere(app, path)
    if elsewhere is not None:
        why = f"it was made from another process of {app.name}, which may have been started anew"
        raise stale_error(session, app, path, elsewhere, why)
    try:
        last = known or memory.last_element(app, path)
        # The path may have been made anew since, from another element.
        if last is not None and before is not None and last.node.handle == before.handle:
            same = confirm_path(bridge, app, last, seconds=seconds, acting=known is not None)
            if same is not None:
                same = with_row(bridge, app, same, seconds=seconds)
                if not describe_differences(before, same):
                    return _with_label(session, app, same, seconds)._replace(id=id)
        if before is not None and (id or (before.row and before.row.texts)):
            # It may stand elsewhere by now: its row says whether it is the one that is meant.
            element = path_of(bridge, app, before.handle, seconds=seconds)._replace(id=id)
        else:
            element = follow_path(bridge, app, parse_path(path), seconds=seconds)
        element = with_row(bridge, app, element, seconds=seconds)
    except ElementGone:
        session.forget_app(app)
        if before is None:
            raise
        raise stale_error(session, app, path, before, "it is gone") from None
    except UiError:
        if before is None:
            raise
        raise stale_error(session, app, path, before, "there is no such element any more") from None
    if before is not None:
        if why := describe_differences(before, element):
            raise stale_error(session, app, path, before, why)
        memory.remember_way(app, element)
    return _with_label(session, app, element, seconds)


def _with_label(
    session: UiSession, app: UiApp, element: ElementFound, seconds: float
) -> ElementFound:
    """Return an element that is called what the texts in it say with that as its label."""
    if not (is_named_by_content(element.node) and element.node.children):
        return element
    top = branch_of(element)
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    walk_tree(reader, top, session.bridge.free, WalkLimits(seconds, top.depth + 4, nodes=50))
    label = text_inside(top) or element.node.label
    return element.now(element.node._replace(label=label))


def follow_path(
    bridge: Bridge, app: UiApp, steps: tuple[PathStep, ...], *, seconds: float
) -> ElementFound:
    """Return the element that a path leads to now.

    Raises:
        UiError: No element, or several, fit a step.
        UiFault: The app cannot be read.
    """
    end = time.monotonic() + seconds
    reader = bridge.open_reader(app, whole=False, timeout=seconds)
    node = root = read_one(reader, bridge.app_element(app, seconds), Detail.CHILDREN, seconds)
    way: list[UiNode] = []
    for number, step in enumerate(steps):
        left = end - time.monotonic()
        if left <= 0:
            raise AppNotResponding("the path could not be followed in time")
        want = _TARGET if number == len(steps) - 1 else Detail.CHILDREN
        node = _follow_step(reader, node, step, want, left, path_text(steps[:number]))
        way.append(node)
    return ElementFound(root, tuple(way), path_text(steps))


def _follow_step(
    reader: ElementReader, parent: UiNode, step: PathStep, want: Detail, seconds: float, where: str
) -> UiNode:
    ask = Detail.IDENTIFIER if step.identifier is not None else Detail.NOTHING
    if len(parent.children) <= _FEW:
        # For few children one round that reads all costs less than a second round.
        ask |= want
    answers = reader.read(parent.children[:SIBLINGS], ask, seconds)
    nodes = [answer for answer in answers if isinstance(answer, UiNode)]
    if not nodes and answers and isinstance(answers[0], AppNotResponding):
        raise answers[0]
    alike = [node for node in nodes if node.role == step.role]
    if step.title is not None:
        matches = [node for node in alike if node.title == step.title]
    elif step.identifier is not None:
        matches = [node for node in alike if node.identifier == step.identifier]
    else:
        at = step.number or 0
        matches = alike[at : at + 1]
    if len(matches) == 1:
        return matches[0] if want in ask else read_one(reader, matches[0].handle, want, seconds)
    place = f" in {where}" if where else ""
    if matches:
        numbers = [PathStep(node.role, number=alike.index(node)).text for node in matches[:5]]
        message = f"{len(matches)} elements match {quote_text(step.text, 120)}{place}."
        guidance = f"Choose one by its number: {', '.join(numbers)}."
        raise UiError("NOT_FOUND", message, guidance, reason="no_element")
    message = f"There is no element {quote_text(step.text, 120)}{place}."
    raise UiError("NOT_FOUND", message, _nearest_hint(step, alike, nodes), reason="no_element")


def _nearest_hint(step: PathStep, alike: list[UiNode], nodes: list[UiNode]) -> str:
    visible = [node for node in alike if node.is_visible]
    if step.title is not None and visible:
        return near_text(step.title, [node.title for node in visible if node.title]) or LOOK_AGAIN
    if visible:
        return f"There are {len(alike)} of that role. {LOOK_AGAIN}"
    roles = dict.fromkeys(node.role for node in nodes if node.is_visible)
    return f"There are: {', '.join(list(roles)[:8])}." if roles else LOOK_AGAIN


def confirm_path(
    bridge: Bridge, app: UiApp, element: ElementFound, *, seconds: float, acting: bool
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
    before = (element.root, *element.way)
    want = _TARGET & ~Detail.ACTIONS if acting else _TARGET
    after = _reread_path(
        bridge.open_reader(app, whole=False, timeout=seconds), before, want, seconds
    )
    nodes: list[UiNode] = []
    for answer in after or ():
        if isinstance(answer, AppNotResponding):
            raise answer
        if isinstance(answer, UiNode):
            nodes.append(answer)
    if len(nodes) != len(before):
        return None
    for old, new in zip(before, nodes, strict=True):
        if (old.role, old.title) != (new.role, new.title):
            return None
    if acting:
        nodes[-1] = nodes[-1]._replace(actions=element.node.actions)
    return element._replace(way=tuple(nodes[1:]))


def _reread_path(
    reader: ElementReader, before: Sequence[UiNode], want: Detail, seconds: float
) -> Sequence[UiNode | UiFault] | None:
    if isinstance(reader, PathRereader):
        return reader.reread_path(before, want, seconds)
    end = time.monotonic() + seconds
    above = reader.read([node.handle for node in before[:-1]], Detail.CHILDREN, seconds)
    for old, new in zip(before, above, strict=False):
        if isinstance(new, UiNode) and old.children != new.children:
            return None
    return [*above, *reader.read([before[-1].handle], want, max(end - time.monotonic(), 0.0))]


def path_of(bridge: Bridge, app: UiApp, handle: Handle, *, seconds: float) -> ElementFound:
    """Return the canonical path of an element that is known by its handle.

    Raises:
        UiFault: It is gone, or the app does not answer.
    """
    end = time.monotonic() + seconds
    ways = bridge.ancestor_handles(app, handle, seconds)
    reader = bridge.open_reader(app, whole=False, timeout=seconds)
    node = root = read_one(reader, bridge.app_element(app, seconds), Detail.CHILDREN, seconds)
    way: list[UiNode] = []
    texts: list[str] = []
    for number, following in enumerate(ways):
        left = max(end - time.monotonic(), 0.01)
        if following not in node.children:
            raise ElementGone("the element is no longer in its container")
        answers = reader.read(node.children[:SIBLINGS], bridge.free, left)
        siblings = [answer for answer in answers if isinstance(answer, UiNode)]
        steps = steps_of(siblings, whole=len(siblings) == node.total)
        at = next((n for n, one in enumerate(siblings) if one.handle == following), None)
        if at is None:
            raise AppNotResponding("an element did not answer")
        texts.append(steps[at].text)
        last = number == len(ways) - 1
        node = read_one(reader, following, _TARGET if last else Detail.CHILDREN, left)
        way.append(node)
    if not way:
        raise ElementGone("the element is the app itself")
    return ElementFound(root, tuple(way), "/".join(texts))


def stale_error(
    session: UiSession, app: UiApp, path: str, before: Fingerprint, why: str
) -> StaleError:
    """Return the refusal of a stale path, with where the element is now."""
    session.memory.forget_element(app, before.handle)
    return StaleError(path, why, *_find_again(session, app, before, seconds=1.0))


def _find_again(
    session: UiSession, app: UiApp, before: Fingerprint, *, seconds: float
) -> tuple[str, str]:
    """Return path and id of an element now, or of the only one like it; empty if not found."""
    bridge = session.bridge
    kind = (before.role, before.title)
    try:
        element = path_of(bridge, app, before.handle, seconds=seconds)
        element = with_row(bridge, app, element, seconds=seconds)
        if (element.node.role, element.node.title) == kind:
            if not is_same_row(before.row, element.row):
                # The handle stands for what is in another row now.
                return "", ""
            return element.path, session.memory.remember_element(app, element)
    except UiFault:
        pass
    try:
        reader = bridge.open_reader(app, whole=True, timeout=seconds)
        root = read_one(reader, bridge.app_element(app, seconds), Detail.CHILDREN, seconds)
        seen = walk_tree(reader, root, bridge.free, WalkLimits(seconds, 50))
        alike = [one for one in seen.order if (one.node.role, one.node.title) == kind]
        if len(alike) != 1:
            return "", ""
        row = with_row(bridge, app, element_of_branch(alike[0]), seconds=seconds).row
    except UiFault:
        return "", ""
    if before.row is None or row is None or row.texts != before.row.texts:
        # The only one that is left may be that of another row.
        return "", ""
    known = bool(bridge.free & Detail.IDENTIFIER)
    session.memory.remember_branches(app, alike, known=known, row=lambda _: row)
    return alike[0].path, alike[0].id
