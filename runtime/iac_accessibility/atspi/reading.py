"""Elements of an AT-SPI app as nodes: two rounds of calls for any number of them.

The first round asks what every element has, the second what only some have (children, value).
GTK hands out its whole tree at once (`Cache.GetItems`); what the snapshot leaves out (menus that
were never open, cells of tables) is asked for. Identifiers are not in the snapshot.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from iac_accessibility.atspi.nodes import (
    ACTIONS,
    ATSPI,
    CACHE_PATH,
    CHILDREN,
    DESCRIPTION,
    FRAME,
    IDENTIFIER,
    LABEL,
    LABELLED_BY,
    NO_NODE,
    VALUE,
    Answer,
    ElementItem,
    first_body,
    frame_of,
    has_state,
    item_of,
    kind_of,
    method_call,
    node_of,
    plain_name,
    property_call,
    property_value,
    role_of,
    state_bits,
    text_of,
)
from iac_accessibility.atspi.wire import BusCall, ConnectionPool
from iac_accessibility.bridge import time_left
from iac_accessibility.model import (
    BOOLEAN_ROLES,
    TEXT_ROLES,
    TITLE_LIMIT,
    VALUE_LIMIT,
    AppNotResponding,
    Detail,
    Frame,
    Handle,
    Scalar,
    UiFault,
    UiNode,
    clean_foreign_text,
)
from iac_accessibility.risk import Hides, mark_secret, needs_neighbours, text_beside

CHILD_LIMIT: Final = 2_000
"""Children of one element that are read; a table of a million rows answers with its first."""

_NUMERIC: Final = frozenset(
    ("slider", "incrementor", "progress_indicator", "scroll_bar", "level_bar", "dial", "rating")
)
_NOT_HELD: Final = IDENTIFIER | FRAME | ACTIONS | LABEL
_LABELLED: Final = TEXT_ROLES | BOOLEAN_ROLES | _NUMERIC | {"button", "link", "image", "icon"}
_OPTIONS: Final = 100
"""Most options of a combo box among which the selected one is looked for."""


def read_cached_elements(
    pool: ConnectionPool, bus: str, timeout: float
) -> dict[Handle, ElementItem]:
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
        title = plain_name(role, name)
        items[ref] = ElementItem(role, title, state_bits(words), description, "", known, count)
    return items


class AtspiReader:
    """Reads elements.

    Args:
        items: Those that are known from a snapshot.
        hides: What of the app is not shown.
    """

    def __init__(
        self, pool: ConnectionPool, items: Mapping[Handle, ElementItem], *, hides: Hides = ""
    ) -> None:
        self._pool = pool
        self._items = items
        self._hides: Hides = hides

    def read(
        self, handles: Sequence[Handle], want: Detail, timeout: float
    ) -> list[UiNode | UiFault]:
        """Return one node or fault per handle."""
        bits = want.value
        cached = [self._cached_node(handle, bits) for handle in handles]
        asked = [handle for handle, node in zip(handles, cached, strict=True) if node is None]
        if not asked:
            return list(filter(None, cached))
        end = time.monotonic() + timeout
        items = self._with_texts(asked, self._ask_first_round(asked, bits, timeout), end)
        answers = iter(self._ask_second_round(asked, items, bits, time_left(end, 0.0)))
        return [node or next(answers) for node in cached]

    def _cached_node(self, handle: Handle, want: int) -> UiNode | None:
        """Return an element of which the snapshot says all that is wanted."""
        item = self._items.get(handle)
        if item is None or want & _NOT_HELD or (item.children is None and want & CHILDREN):
            return None
        if item.may_say:
            return None
        if want & VALUE and any(_detail_calls(handle, *kind_of(item), bool(item.name), VALUE)):
            return None
        node = node_of(handle, item, want, {})
        if not isinstance(node, UiNode) or needs_neighbours(node, valued=False):
            return None
        return mark_secret(node, hides=self._hides) if self._hides else node

    def reread_path(
        self, way: Sequence[UiNode], want: Detail, timeout: float
    ) -> list[UiNode | UiFault] | None:
        """Return a way as it is now, or None; see `PathRereader`.

        The child at a place costs the same among thousands; the list of them costs milliseconds.
        """
        end = time.monotonic() + timeout
        bits = want.value & ~CHILDREN
        window, between, last = way[1], way[2:-1], way[-1]
        read = [window, last] if len(way) > 2 else [last]
        calls = _child_calls(way)
        if not calls:
            return None
        calls += [
            property_call(node.handle, "Accessible", "Name") for node in between if node.title
        ]
        asked = [self._first_calls(node.handle, bits if node is last else 0) for node in read]
        calls += [call for questions in asked for call in questions.values()]
        kind = (last.role, "editable" in last.states)
        details = list(_detail_calls(last.handle, *kind, bool(last.title), bits))
        calls += [call for _, call in details]
        answers = iter(self._pool.call_all(calls, timeout))
        for node in way[1:]:
            child = next(answers)
            if isinstance(child, AppNotResponding):
                return [child]
            if isinstance(child, UiFault) or child[0] != node.handle:
                return None
        middle = [_with_name(node, next(answers)) if node.title else node for node in between]
        items = [
            self._item_from_answers(node.handle, {what: next(answers) for what in questions})
            for node, questions in zip(read, asked, strict=True)
        ]
        if isinstance(items[-1], ElementItem) and kind != kind_of(items[-1]):
            return None
        items = self._with_texts([node.handle for node in read], items, end)
        got = {what: [next(answers)] for what, _ in details}
        ends = [
            self._complete_node(node.handle, item, bits, got if node is last else {}, end)
            for node, item in zip(read, items, strict=True)
        ]
        if "relations" in got:
            self._add_labels(ends, {len(ends) - 1: got["relations"]}, end)
        self._mark_secrets(ends, bits, end)
        now = [*ends[:-1], *middle, ends[-1]]
        return [way[0], *(_with_children(one, old) for one, old in zip(now, way[1:], strict=True))]

    def _with_texts(
        self, handles: Sequence[Handle], items: list[ElementItem | UiFault], end: float
    ) -> list[ElementItem | UiFault]:
        """Return elements with what they say in the place of a name that they lack."""
        lacking = [
            at for at, item in enumerate(items) if isinstance(item, ElementItem) and item.may_say
        ]
        # How many children it has is not always known yet, and a title is not to depend on that.
        calls = [
            call
            for at in lacking
            for call in (
                property_call(handles[at], "Accessible", "ChildCount"),
                method_call(handles[at], "Text", "GetText", "ii", 0, TITLE_LIMIT),
            )
        ]
        answers = self._pool.call_all(calls, time_left(end))
        for at, count, text in zip(lacking, answers[::2], answers[1::2], strict=True):
            item = items[at]
            if isinstance(item, ElementItem) and not (
                property_value(count, 1) or isinstance(text, UiFault)
            ):
                items[at] = item._replace(name=text_of(text[0], TITLE_LIMIT))
        return items

    def _ask_first_round(
        self, handles: Sequence[Handle], want: int, timeout: float
    ) -> list[ElementItem | UiFault]:
        asked = [self._first_calls(handle, want) for handle in handles]
        calls = [call for questions in asked for call in questions.values()]
        answers = iter(self._pool.call_all(calls, timeout))
        return [
            self._item_from_answers(handle, {what: next(answers) for what in questions})
            for handle, questions in zip(handles, asked, strict=True)
        ]

    def _first_calls(self, handle: Handle, want: int) -> dict[str, BusCall]:
        """Return what is asked in the first round, by what it is for."""
        known = self._items.get(handle)
        calls = {}
        if known is None:
            calls["name"] = property_call(handle, "Accessible", "Name")
            calls["role"] = method_call(handle, "Accessible", "GetRole")
            calls["states"] = method_call(handle, "Accessible", "GetState")
            if want & DESCRIPTION:
                calls["description"] = property_call(handle, "Accessible", "Description")
        if want & IDENTIFIER:
            calls["identifier"] = property_call(handle, "Accessible", "AccessibleId")
        if want & CHILDREN and (known is None or known.children is None):
            calls["total"] = property_call(handle, "Accessible", "ChildCount")
        return calls

    def _item_from_answers(
        self, handle: Handle, got: Mapping[str, Answer]
    ) -> ElementItem | UiFault:
        """Return what the answers to `_first_calls` say."""
        item: ElementItem | UiFault | None = self._items.get(handle)
        if item is None:
            description = got.get("description", ("",))
            item = item_of(got["name"], got["role"], got["states"], description)
        if isinstance(item, UiFault):
            return item
        if "identifier" in got:
            item = item._replace(
                identifier=clean_foreign_text(property_value(got["identifier"], ""))
            )
        total = got.get("total")
        if isinstance(total, AppNotResponding):
            return total
        if total is not None:
            item = item._replace(total=max(property_value(total, 0), 0), children=None)
        return item

    def _ask_second_round(
        self,
        handles: Sequence[Handle],
        items: Sequence[ElementItem | UiFault],
        want: int,
        timeout: float,
    ) -> list[UiNode | UiFault]:
        asked = [
            dict(_second_calls(handle, item, want, said=handle in self._items))
            if isinstance(item, ElementItem)
            else {}
            for handle, item in zip(handles, items, strict=True)
        ]
        calls = [call for more in asked for questions in more.values() for call in questions]
        end = time.monotonic() + timeout
        answers = iter(self._pool.call_all(calls, timeout))
        nodes: list[UiNode | UiFault] = []
        relations: dict[int, list[Answer]] = {}
        for at, (handle, item, more) in enumerate(zip(handles, items, asked, strict=True)):
            got = {what: [next(answers) for _ in questions] for what, questions in more.items()}
            nodes.append(self._complete_node(handle, item, want, got, end))
            if "relations" in got:
                relations[at] = got["relations"]
        if relations:
            self._add_labels(nodes, relations, end)
        if want & VALUE:
            self._add_late_values(nodes, end)
        self._mark_secrets(nodes, want, end)
        return nodes

    def _mark_secrets(self, nodes: list[UiNode | UiFault], want: int, end: float) -> None:
        """Take out what is not shown, by what stands beside where an element has no name."""
        asked = {
            at: node.handle
            for at, node in enumerate(nodes)
            if isinstance(node, UiNode)
            and needs_neighbours(node, valued=bool(want & VALUE), labelled=bool(want & LABEL))
            and (want & LABEL or self._may_be_called_secret(node))
        }
        beside = dict.fromkeys(asked, "")
        labels = dict(beside)
        # A field may lie in a box of its own beside its label.
        for _ in range(2):
            places = self._read_places(list(asked.values()), end) if asked else []
            above: dict[int, Handle] = {}
            for at, (parent, frame, texts) in zip(asked, places, strict=True):
                beside[at] = text_beside(frame, texts)
                labels[at] = text_beside(frame, texts, sure=True)
                if not texts and parent is not None:
                    above[at] = parent
            asked = above
        for at, node in enumerate(nodes):
            if isinstance(node, UiNode) and (at in beside or self._hides):
                label = beside.get(at, "")
                now = mark_secret(node, label, hides=self._hides)
                shown = label if "secure" in now.states - node.states else labels.get(at, "")
                nodes[at] = now._replace(label=now.label or shown)

    @cached_property
    def _places(self) -> dict[Handle, tuple[Handle, int]]:
        """Parent and number of each element of the snapshot."""
        return {
            child: (parent, at)
            for parent, item in self._items.items()
            for at, child in enumerate(item.children or ())
        }

    def _may_be_called_secret(self, node: UiNode) -> bool:
        """Say whether a text beside an element may call it secret, as far as a snapshot says."""
        handle = node.handle
        for _ in range(2):
            if handle not in self._places:
                return True
            handle, at = self._places[handle]
            siblings = self._items[handle].children or ()
            near = map(
                self._items.get, (*siblings[max(at - 1, 0) : at], *siblings[at + 1 : at + 2])
            )
            names = [item.name for item in near if item and role_of(item) == "static_text"]
            if any(names):
                return any(mark_secret(node, name) is not node for name in names)
        return False

    def _read_places(
        self, handles: Sequence[Handle], end: float
    ) -> list[tuple[Handle | None, Frame | None, list[tuple[str, Frame | None]]]]:
        """Return of each its parent, its place, and the texts before and after it there."""

        def ask(calls: Sequence[BusCall]) -> list[Answer]:
            return list(self._pool.call_all(calls, time_left(end)))

        first = ask([
            call
            for one in handles
            for call in (
                property_call(one, "Accessible", "Parent"),
                method_call(one, "Accessible", "GetIndexInParent"),
                method_call(one, "Component", "GetExtents", "u", 0),
            )
        ])  # fmt: skip
        rows = [first[at : at + 3] for at in range(0, len(first), 3)]
        parents = [property_value(parent, None) for parent, _, _ in rows]
        spots = [
            (row, parent, place + by)
            for row, (parent, (_, index, _)) in enumerate(zip(parents, rows, strict=True))
            if parent is not None and (place := int(property_value(index, -1))) >= 0
            for by in (-1, 1)
            if place + by >= 0
        ]
        found = ask(
            [method_call(one, "Accessible", "GetChildAtIndex", "i", at) for _, one, at in spots]
        )
        near = [
            (spot[0], answer[0])
            for spot, answer in zip(spots, found, strict=True)
            if not isinstance(answer, UiFault) and answer[0][1] != NO_NODE
        ]
        items = self._ask_first_round([one for _, one in near], 0, time_left(end))
        frames = ask([method_call(one, "Component", "GetExtents", "u", 0) for _, one in near])
        texts: list[list[tuple[str, Frame | None]]] = [[] for _ in handles]
        for (row, _), item, frame in zip(near, items, frames, strict=True):
            if isinstance(item, ElementItem) and role_of(item) == "static_text" and item.name:
                texts[row].append((clean_foreign_text(item.name), frame_of(frame)))
        return [
            (parent, frame_of(frame), said)
            for parent, (_, _, frame), said in zip(parents, rows, texts, strict=True)
        ]

    def _add_labels(
        self, nodes: list[UiNode | UiFault], relations: Mapping[int, list[Answer]], end: float
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
        calls = [property_call(target, "Accessible", "Name") for _, target in named]
        answers = self._pool.call_all(calls, time_left(end))
        for (at, _), answer in zip(named, answers, strict=True):
            node = nodes[at]
            if isinstance(node, UiNode) and (
                name := clean_foreign_text(property_value(answer, ""))
            ):
                nodes[at] = mark_secret(node._replace(label=name))

    def _add_late_values(self, nodes: list[UiNode | UiFault], end: float) -> None:
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
        counts = self._pool.call_all(
            [property_call(node.handle, "Text", "CharacterCount") for node in empty.values()],
            time_left(end),
        )
        for (at, node), answer in zip(empty.items(), counts, strict=True):
            value: Scalar = None
            if node.role == "combo_box":
                value = self._selected_option(node, end)
            elif count := min(int(property_value(answer, 0)), VALUE_LIMIT):
                whole = method_call(node.handle, "Text", "GetText", "ii", 0, count)
                (text,) = self._pool.call_all([whole], time_left(end))
                value = None if isinstance(text, UiFault) else text_of(text[0])
            if value:
                nodes[at] = node._replace(value=value)

    def _selected_option(self, node: UiNode, end: float) -> str | None:
        """Return the title of the option that is selected in a combo box."""
        level: Sequence[Handle] = [node.handle]
        for _ in range(3):
            asked = [method_call(one, "Accessible", "GetChildren") for one in level]
            lists = self._pool.call_all(asked, time_left(end))
            bodies = (body for body in lists if not isinstance(body, UiFault))
            level = [tuple(ref) for body in bodies for ref in body[0]][:_OPTIONS]
            for one in self._ask_first_round(level, 0, time_left(end)):
                if isinstance(one, ElementItem) and has_state(one.states, "selected"):
                    return clean_foreign_text(one.name)
        return None

    def _complete_node(
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
            got["actions"] = [(action_names(self._pool, handle, actions[0], time_left(end)),)]
        return node_of(handle, item, want, got)


def _child_calls(way: Sequence[UiNode]) -> list[BusCall]:
    """Return what asks each element for the child that the next was; empty where one was none."""
    calls: list[BusCall] = []
    for above, below in pairwise(way):
        if below.handle not in above.children:
            return []
        place = above.children.index(below.handle)
        calls.append(method_call(above.handle, "Accessible", "GetChildAtIndex", "i", place))
    return calls


def action_names(
    pool: ConnectionPool, handle: Handle, rows: Sequence[Any], timeout: float
) -> list[str]:
    """Return the names of an element's actions, from the rows that GetActions answers with.

    Chromium answers with rows without names there, and names them one by one.
    """
    names = [str(row[0]) for row in rows[:20]]
    if all(names):
        return names
    answers = pool.call_all(
        [method_call(handle, "Action", "GetName", "i", at) for at in range(len(names))], timeout
    )
    return [
        name or ("" if isinstance(answer, UiFault) else str(answer[0]))
        for name, answer in zip(names, answers, strict=True)
    ]


def _second_calls(
    handle: Handle, item: ElementItem, want: int, *, said: bool
) -> Iterator[tuple[str, list[BusCall]]]:
    """Yield what is asked in the second round: a word and the calls.

    Args:
        said: Whether its description is known from a snapshot.
    """
    if want & CHILDREN and item.children is None and item.total > 0:
        if item.total <= CHILD_LIMIT:
            yield "children", [method_call(handle, "Accessible", "GetChildren")]
        else:
            calls = (("Accessible", "GetChildAtIndex", "i", at) for at in range(CHILD_LIMIT))
            yield "each", [method_call(handle, *call) for call in calls]
    for what, call in _detail_calls(handle, *kind_of(item), bool(item.name), want):
        if what != "said" or not said:
            yield what, [call]


def _detail_calls(
    handle: Handle, role: str, editable: bool, titled: bool, want: int
) -> Iterator[tuple[str, BusCall]]:
    # Whoever reads the value of a text has to know whether it is a secret by what it is called.
    text = bool(want & VALUE) and (role in TEXT_ROLES or editable)
    if not titled and (text or (want & LABEL and (role in _LABELLED or editable))):
        yield "relations", method_call(handle, "Accessible", "GetRelationSet")
        yield "said", property_call(handle, "Accessible", "Description")
    if text or (not titled and want & LABEL and role in _LABELLED):
        yield "attributes", method_call(handle, "Accessible", "GetAttributes")
    if text and not want & IDENTIFIER:
        yield "identifier", property_call(handle, "Accessible", "AccessibleId")
    if want & VALUE and role != "secure_text_field":
        if role in _NUMERIC:
            yield "number", property_call(handle, "Value", "CurrentValue")
        elif role in TEXT_ROLES or editable:
            yield "text", method_call(handle, "Text", "GetText", "ii", 0, VALUE_LIMIT)
    if want & FRAME:
        yield "frame", method_call(handle, "Component", "GetExtents", "u", 0)
    if want & ACTIONS:
        yield "actions", method_call(handle, "Action", "GetActions")


def _with_children(now: UiNode | UiFault, before: UiNode) -> UiNode | UiFault:
    if isinstance(now, UiFault):
        return now
    return now._replace(children=before.children, total=before.total)


def _with_name(node: UiNode, name: Answer) -> UiNode | UiFault:
    if isinstance(name, UiFault):
        return name
    return node._replace(title=clean_foreign_text(property_value(name, "")))
