"""Elements of an AT-SPI app as nodes: two rounds of calls for any number of them.

The first round asks what every element has, the second what only some have (children, value).
GTK hands out its whole tree at once (`Cache.GetItems`); what the snapshot leaves out (menus that
were never open, cells of tables) is asked for. Identifiers are not in the snapshot.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from iac_accessibility.atspi.items import (
    ACTIONS,
    ATSPI,
    CACHE_PATH,
    CHILDREN,
    DESCRIPTION,
    FRAME,
    IDENTIFIER,
    LABEL,
    LABELLED_BY,
    PROPERTIES,
    VALUE,
    Answer,
    ElementItem,
    bit,
    bits_of,
    first_body,
    item_of,
    kind_of,
    node_of,
    text_of,
    variant,
)
from iac_accessibility.atspi.wire import BusCall, Pool
from iac_accessibility.levels import marked
from iac_accessibility.model import (
    VALUE_LIMIT,
    Handle,
    Scalar,
    Silent,
    UiFault,
    UiNode,
    Want,
    cleaned,
)
from iac_accessibility.paths import BOOLEAN_ROLES, TEXT_ROLES

CHILD_LIMIT: Final = 2_000
"""Children of one element that are read; a table of a million rows answers with its first."""

_NUMERIC: Final = frozenset(
    ("slider", "incrementor", "progress_indicator", "scroll_bar", "level_bar", "dial", "rating")
)
_NOT_HELD: Final = IDENTIFIER | FRAME | ACTIONS | LABEL
_LABELLED: Final = TEXT_ROLES | BOOLEAN_ROLES | _NUMERIC | {"button", "link", "image", "icon"}
_OPTIONS: Final = 100
"""Most options of a combo box among which the selected one is looked for."""


def method(handle: Any, interface: str, member: str, signature: str = "", *body: Any) -> BusCall:
    """Return a call of an element; `interface` without its prefix."""
    return BusCall(handle[0], handle[1], ATSPI + interface, member, signature, body)


def get(handle: Any, interface: str, name: str) -> BusCall:
    """Return the call that reads a property."""
    return BusCall(handle[0], handle[1], PROPERTIES, "Get", "ss", (ATSPI + interface, name))


def snapshot(pool: Pool, bus: str, timeout: float) -> dict[Handle, ElementItem]:
    """Return the elements that the app hands out at once; empty where its toolkit does not."""
    try:
        (rows,) = pool.call(BusCall(bus, CACHE_PATH, ATSPI + "Cache", "GetItems"), timeout)
    except (UiFault, ValueError):
        return {}
    below: dict[Handle, list[tuple[int, Handle]]] = {}
    for row in rows:
        below.setdefault(row[2], []).append((row[3], row[0]))
    items: dict[Handle, ElementItem] = {}
    for ref, _app, _parent, _index, count, _interfaces, name, role, description, words in rows:
        children = tuple(handle for _, handle in sorted(below.get(ref, ())))
        known = children if len(children) == count else None
        items[ref] = ElementItem(role, name, bits_of(words), description, "", known, count)
    return items


class AtspiReader:
    """Reads elements; `items` are those that are known from a snapshot."""

    def __init__(self, pool: Pool, items: Mapping[Handle, ElementItem]) -> None:
        self._pool = pool
        self._items = items

    def read(self, handles: Sequence[Handle], want: Want, timeout: float) -> list[UiNode | UiFault]:
        """Return one node or fault per handle."""
        bits = want.value
        held = [self._held(handle, bits) for handle in handles]
        asked = [handle for handle, node in zip(handles, held, strict=True) if node is None]
        if not asked:
            return list(filter(None, held))
        end = time.monotonic() + timeout
        items = self._first(asked, bits, timeout)
        left = max(end - time.monotonic(), 0.0)
        answers = iter(self._second(asked, items, bits, left))
        return [node or next(answers) for node in held]

    def _held(self, handle: Handle, want: int) -> UiNode | None:
        """Return an element of which the snapshot says all that is wanted."""
        item = self._items.get(handle)
        if item is None or want & _NOT_HELD or (item.children is None and want & CHILDREN):
            return None
        if want & VALUE and any(_details(handle, *kind_of(item), bool(item.name), VALUE)):
            return None
        node = node_of(handle, item, want, {})
        return node if isinstance(node, UiNode) else None

    def retrace(
        self, way: Sequence[UiNode], want: Want, timeout: float
    ) -> list[UiNode | UiFault] | None:
        """Return a way as it is now, or None; see `locate.Retracing`.

        The child at a place costs the same among thousands; the list of them costs milliseconds.
        """
        end = time.monotonic() + timeout
        bits = want.value & ~CHILDREN
        window, between, last = way[1], way[2:-1], way[-1]
        read = [window, last] if len(way) > 2 else [last]
        calls = _children_of(way)
        if not calls:
            return None
        calls += [get(node.handle, "Accessible", "Name") for node in between if node.title]
        asked = [self._questions(node.handle, bits if node is last else 0) for node in read]
        calls += [call for questions in asked for call in questions.values()]
        kind = (last.role, "editable" in last.states)
        details = list(_details(last.handle, *kind, bool(last.title), bits))
        calls += [call for _, call in details]
        answers = iter(self._pool.calls(calls, timeout))
        for node in way[1:]:
            child = next(answers)
            if isinstance(child, Silent):
                return [child]
            if isinstance(child, UiFault) or child[0] != node.handle:
                return None
        middle = [_renamed(node, next(answers)) if node.title else node for node in between]
        items = [
            self._item(node.handle, {what: next(answers) for what in questions})
            for node, questions in zip(read, asked, strict=True)
        ]
        if isinstance(items[-1], ElementItem) and kind != kind_of(items[-1]):
            return None
        got = {what: [next(answers)] for what, _ in details}
        ends = [
            self._complete(node.handle, item, bits, got if node is last else {}, end)
            for node, item in zip(read, items, strict=True)
        ]
        if "relations" in got:
            self._label(ends, {len(ends) - 1: got["relations"]}, end)
        now = [*ends[:-1], *middle, ends[-1]]
        return [way[0], *(_with_children(one, old) for one, old in zip(now, way[1:], strict=True))]

    def _first(
        self, handles: Sequence[Handle], want: int, timeout: float
    ) -> list[ElementItem | UiFault]:
        asked = [self._questions(handle, want) for handle in handles]
        calls = [call for questions in asked for call in questions.values()]
        answers = iter(self._pool.calls(calls, timeout))
        return [
            self._item(handle, {what: next(answers) for what in questions})
            for handle, questions in zip(handles, asked, strict=True)
        ]

    def _questions(self, handle: Handle, want: int) -> dict[str, BusCall]:
        """Return what is asked in the first round, by what it is for."""
        known = self._items.get(handle)
        calls = {}
        if known is None:
            calls["name"] = get(handle, "Accessible", "Name")
            calls["role"] = method(handle, "Accessible", "GetRole")
            calls["states"] = method(handle, "Accessible", "GetState")
            if want & DESCRIPTION:
                calls["description"] = get(handle, "Accessible", "Description")
        if want & IDENTIFIER:
            calls["identifier"] = get(handle, "Accessible", "AccessibleId")
        if want & CHILDREN and (known is None or known.children is None):
            calls["total"] = get(handle, "Accessible", "ChildCount")
        return calls

    def _item(self, handle: Handle, got: Mapping[str, Answer]) -> ElementItem | UiFault:
        """Return what the answers to `_questions` say."""
        item: ElementItem | UiFault | None = self._items.get(handle)
        if item is None:
            said = got.get("description", ("",))
            item = item_of(got["name"], got["role"], got["states"], said)
        if isinstance(item, UiFault):
            return item
        if "identifier" in got:
            item = item._replace(identifier=cleaned(variant(got["identifier"], "")))
        total = got.get("total")
        if isinstance(total, Silent):
            return total
        if total is not None:
            item = item._replace(total=max(variant(total, 0), 0), children=None)
        return item

    def _second(
        self,
        handles: Sequence[Handle],
        items: Sequence[ElementItem | UiFault],
        want: int,
        timeout: float,
    ) -> list[UiNode | UiFault]:
        asked = [
            dict(_more(handle, item, want)) if isinstance(item, ElementItem) else {}
            for handle, item in zip(handles, items, strict=True)
        ]
        calls = [call for more in asked for questions in more.values() for call in questions]
        end = time.monotonic() + timeout
        answers = iter(self._pool.calls(calls, timeout))
        nodes: list[UiNode | UiFault] = []
        relations: dict[int, list[Answer]] = {}
        for at, (handle, item, more) in enumerate(zip(handles, items, asked, strict=True)):
            got = {what: [next(answers) for _ in questions] for what, questions in more.items()}
            nodes.append(self._complete(handle, item, want, got, end))
            if "relations" in got:
                relations[at] = got["relations"]
        if relations:
            self._label(nodes, relations, end)
        if want & VALUE:
            self._fill(nodes, end)
        return nodes

    def _label(
        self,
        nodes: list[UiNode | UiFault],
        relations: Mapping[int, list[Answer]],
        end: float,
    ) -> None:
        """Put in what the elements that label these are called."""
        named = [
            (at, target)
            for at, answers in relations.items()
            if (body := first_body(answers))
            for kind, targets in body[0]
            if kind == LABELLED_BY
            for target in targets[:1]
        ]
        calls = [get(target, "Accessible", "Name") for _, target in named]
        answers = self._pool.calls(calls, max(end - time.monotonic(), 0.05))
        for (at, _), answer in zip(named, answers, strict=True):
            node = nodes[at]
            if isinstance(node, UiNode) and (name := cleaned(variant(answer, ""))):
                nodes[at] = marked(node._replace(label=name))

    def _fill(self, nodes: list[UiNode | UiFault], end: float) -> None:
        """Put in the values that take a further round.

        Qt hands out no text at all where more is asked for than there is; a list of options shows
        its value by the option that is selected, one or two levels below (Chromium).
        """
        empty = {
            at: node
            for at, node in enumerate(nodes)
            if isinstance(node, UiNode) and node.value == "" and node.role in TEXT_ROLES
        }
        if not empty:
            return
        counts = self._pool.calls(
            [get(node.handle, "Text", "CharacterCount") for node in empty.values()],
            max(end - time.monotonic(), 0.05),
        )
        for (at, node), answer in zip(empty.items(), counts, strict=True):
            left = max(end - time.monotonic(), 0.05)
            value: Scalar = None
            if node.role == "combo_box":
                value = self._selected(node, left)
            elif count := min(int(variant(answer, 0)), VALUE_LIMIT):
                (text,) = self._pool.calls(
                    [method(node.handle, "Text", "GetText", "ii", 0, count)], left
                )
                value = None if isinstance(text, UiFault) else text_of(text[0])
            if value:
                nodes[at] = node._replace(value=value)

    def _selected(self, node: UiNode, seconds: float) -> str | None:
        """Return the title of the option that is selected in a combo box."""
        end = time.monotonic() + seconds
        level: Sequence[Handle] = [node.handle]
        for _ in range(3):
            left = max(end - time.monotonic(), 0.05)
            lists = self._pool.calls(
                [method(one, "Accessible", "GetChildren") for one in level], left
            )
            level = [
                tuple(ref) for body in lists if not isinstance(body, UiFault) for ref in body[0]
            ]
            level = level[:_OPTIONS]
            for one in self._first(level, 0, max(end - time.monotonic(), 0.05)):
                if isinstance(one, ElementItem) and bit(one.states, "selected"):
                    return cleaned(one.name)
        return None

    def _complete(
        self,
        handle: Handle,
        item: ElementItem | UiFault,
        want: int,
        got: dict[str, list[Answer]],
        end: float,
    ) -> UiNode | UiFault:
        if isinstance(item, UiFault):
            return item
        if actions := first_body(got.get("actions")):
            left = max(end - time.monotonic(), 0.05)
            got["actions"] = [(named(self._pool, handle, actions[0], left),)]
        return node_of(handle, item, want, got)


def _children_of(way: Sequence[UiNode]) -> list[BusCall]:
    """Return what asks each element for the child that the next was; empty where one was none."""
    calls: list[BusCall] = []
    for above, below in pairwise(way):
        if below.handle not in above.children:
            return []
        place = above.children.index(below.handle)
        calls.append(method(above.handle, "Accessible", "GetChildAtIndex", "i", place))
    return calls


def named(pool: Pool, handle: Handle, rows: Sequence[Any], timeout: float) -> list[str]:
    """Return the names of an element's actions, from the rows that GetActions answers with.

    Chromium answers with rows without names there, and names them one by one.
    """
    names = [str(row[0]) for row in rows[:20]]
    if all(names):
        return names
    answers = pool.calls(
        [method(handle, "Action", "GetName", "i", at) for at in range(len(names))], timeout
    )
    return [
        name or ("" if isinstance(answer, UiFault) else str(answer[0]))
        for name, answer in zip(names, answers, strict=True)
    ]


def _more(handle: Handle, item: ElementItem, want: int) -> Iterator[tuple[str, list[BusCall]]]:
    """Yield what is asked in the second round: a word and the calls."""
    if want & CHILDREN and item.children is None and item.total > 0:
        if item.total <= CHILD_LIMIT:
            yield "children", [method(handle, "Accessible", "GetChildren")]
        else:
            calls = (("Accessible", "GetChildAtIndex", "i", at) for at in range(CHILD_LIMIT))
            yield "each", [method(handle, *call) for call in calls]
    for what, call in _details(handle, *kind_of(item), bool(item.name), want):
        yield what, [call]


def _details(
    handle: Handle, role: str, editable: bool, titled: bool, want: int
) -> Iterator[tuple[str, BusCall]]:
    # Whoever reads the value of a text has to know whether it is a secret by what it is called.
    text = bool(want & VALUE) and (role in TEXT_ROLES or editable)
    if not titled and (text or (want & LABEL and (role in _LABELLED or editable))):
        yield "relations", method(handle, "Accessible", "GetRelationSet")
        yield "attributes", method(handle, "Accessible", "GetAttributes")
        yield "said", get(handle, "Accessible", "Description")
    if text and not want & IDENTIFIER:
        yield "identifier", get(handle, "Accessible", "AccessibleId")
    if want & VALUE and role != "secure_text_field":
        if role in _NUMERIC:
            yield "number", get(handle, "Value", "CurrentValue")
        elif role in TEXT_ROLES or editable:
            yield "text", method(handle, "Text", "GetText", "ii", 0, VALUE_LIMIT)
    if want & FRAME:
        yield "frame", method(handle, "Component", "GetExtents", "u", 0)
    if want & ACTIONS:
        yield "actions", method(handle, "Action", "GetActions")


def _with_children(now: UiNode | UiFault, before: UiNode) -> UiNode | UiFault:
    if isinstance(now, UiFault):
        return now
    return now._replace(children=before.children, total=before.total)


def _renamed(node: UiNode, name: Answer) -> UiNode | UiFault:
    if isinstance(name, UiFault):
        return name
    return node._replace(title=cleaned(variant(name, "")))
