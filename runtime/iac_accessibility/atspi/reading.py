"""Elements of an AT-SPI app as nodes: two rounds of calls for any number of them.

The first round asks what every element has, the second what only some have (children, value).
GTK hands out its whole tree at once (`Cache.GetItems`); what the snapshot leaves out (menus that
were never open, cells of tables) is asked for. Identifiers are not in the snapshot.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from iac_accessibility.atspi.wire import BusCall, ConnectionPool
from iac_accessibility.model import (
    BOOLEAN_ROLES,
    TEXT_ROLES,
    VALUE_LIMIT,
    AppNotResponding,
    Detail,
    ElementGone,
    Frame,
    Handle,
    Scalar,
    UiFault,
    UiNode,
    action_name,
    clean_foreign_text,
    role_name,
    takes_typing,
)
from iac_accessibility.risk import mark_secret, needs_neighbours, text_beside

ATSPI: Final = "org.a11y.atspi."
PROPERTIES: Final = "org.freedesktop.DBus.Properties"
ROOT_PATH: Final = "/org/a11y/atspi/accessible/root"
CACHE_PATH: Final = "/org/a11y/atspi/cache"

ROLES: Final = tuple(
    role_name(name)
    for name in (
        "unknown accelerator-label alert animation arrow calendar canvas check-box check-menu-item"
        " color-chooser column-header combo-box date-editor desktop-icon desktop-frame dial dialog"
        " directory-pane drawing-area file-chooser filler focus-traversable font-chooser frame"
        " glass-pane html-container icon image internal-frame label layered-pane list list-item"
        " menu menu-bar menu-item option-pane page-tab page-tab-list panel password-text"
        " popup-menu progress-bar push-button radio-button radio-menu-item root-pane row-header"
        " scroll-bar scroll-pane separator slider spin-button split-pane status-bar table"
        " table-cell table-column-header table-row-header tearoff-menu-item terminal text"
        " toggle-button tool-bar tool-tip tree tree-table unknown viewport window extended header"
        " footer paragraph ruler application autocomplete editbar embedded entry chart caption"
        " document-frame heading page section redundant-object form link input-method-window"
        " table-row tree-item document-spreadsheet document-presentation document-text"
        " document-web document-email comment list-box grouping image-map notification info-bar"
        " level-bar title-bar block-quote audio video definition article landmark log marquee math"
        " rating timer static math-fraction math-root subscript superscript description-list"
        " description-term description-value footnote content-deletion content-insertion mark"
        " suggestion push-button-menu"
    ).split()
)
"""Role number -> name."""

STATES: Final = {
    "active": 1,
    "checked": 4,
    "defunct": 6,
    "editable": 7,
    "expanded": 10,
    "focusable": 11,
    "focused": 12,
    "minimized": 15,
    "modal": 16,
    "multi_line": 17,
    "pressed": 20,
    "selected": 23,
    "enabled": 24,
    "showing": 25,
    "visible": 30,
    "default": 39,
    "read_only": 43,
}
"""State -> bit in the two words that GetState answers with."""


def has_state(states: int, name: str) -> bool:
    """Say whether a state is among the bits."""
    return bool(states >> STATES[name] & 1)


Answer: TypeAlias = tuple[Any, ...] | UiFault
"""The body of an answer, or why there is none."""

_SHOWN: Final = STATES.keys() - {"defunct", "multi_line", "read_only"}
# As plain numbers: flags of an enumeration are slow, and are asked for every element.
CHILDREN: Final = Detail.CHILDREN.value
VALUE: Final = Detail.VALUE.value
IDENTIFIER: Final = Detail.IDENTIFIER.value
FRAME: Final = Detail.FRAME.value
ACTIONS: Final = Detail.ACTIONS.value
DESCRIPTION: Final = Detail.DESCRIPTION.value
LABEL: Final = Detail.LABEL.value
LABELLED_BY: Final = 2
"""Number of the relation (AtspiRelationType)."""

_SAYING: Final = ("placeholder-text", "placeholder", "help", "title")
"""Attributes that stand for a title, in this order."""

_NAMING: Final = frozenset(("id", "class", "name", "html-id", "autocomplete", "text-input-type"))
"""Attributes that call an element something for machines."""

NO_NODE: Final = "/org/a11y/atspi/null"


class ElementItem(NamedTuple):
    """What is known of an element after the first round; `children` is None where not known."""

    role: int
    name: str
    states: int
    description: str = ""
    identifier: str = ""
    children: tuple[Handle, ...] | None = None
    total: int = 0


def item_of(*answers: Answer) -> ElementItem | UiFault:
    """Return what name, role, states and description say, or the first fault among them."""
    for answer in answers[:3]:
        if isinstance(answer, UiFault):
            return answer
    name, role, states, description = answers
    assert isinstance(role, tuple)
    assert isinstance(states, tuple)
    bits = state_bits(states[0])
    if bits >> STATES["defunct"] & 1:
        return ElementGone("the element no longer exists")
    return ElementItem(role[0], property_value(name, ""), bits, property_value(description, ""))


def kind_of(item: ElementItem) -> tuple[str, bool]:
    """Return what says which details an element has: its role, and whether it can be edited."""
    return role_of(item), has_state(item.states, "editable")


def node_of(
    handle: Handle, item: ElementItem, want: int, got: Mapping[str, list[Answer]]
) -> UiNode | UiFault:
    """Return the node of an item, or `AppNotResponding` where one of the answers did not come.

    Args:
        want: What is wanted of it, as numbers of `Detail`.
        got: What was asked beside: `children`, `each`, `number`, `text`, `frame`, `actions`.
    """
    for answers in got.values():
        for answer in answers:
            if isinstance(answer, AppNotResponding):
                return answer
    role = role_of(item)
    value = _element_value(role, item, want, got)
    states = states_of(item.states)
    if role == "secure_text_field":
        states |= {"secure"}
    if value is True:
        states |= {"checked"}
    frame = first_body(got.get("frame"))
    actions = first_body(got.get("actions"))
    of_text = takes_typing(role, states)
    children = _child_handles(item, got)
    node = UiNode(
        handle,
        role,
        clean_foreign_text(item.name),
        item.identifier,
        states,
        children if want & CHILDREN else (),
        max(item.total, len(children)),
        value,
        clean_foreign_text(item.description) if want & DESCRIPTION else "",
        _frame_of(frame),
        tuple(dict.fromkeys(action_name(one, of_text=of_text) for one in actions[0] if one))
        if actions
        else (),
        label_of(item, got) if "relations" in got else "",
    )
    identifier = got.get("identifier", [("",)])[0]
    names = [str(property_value(identifier, "")), *_names_of(got)] if of_text else []
    return mark_secret(node, *names)


def _names_of(got: Mapping[str, list[Answer]]) -> Iterator[str]:
    """Yield what the attributes of an element call it: for pages, for machines."""
    rows = first_body(got.get("attributes"))
    for key, text in rows[0].items() if rows else ():
        if key in _NAMING:
            yield from str(text).split()


def _frame_of(answer: Answer | None) -> Frame | None:
    if not answer or isinstance(answer, UiFault):
        return None
    return Frame(*map(float, answer[0]))


@lru_cache(maxsize=1_024)
def states_of(bits: int) -> frozenset[str]:
    """Return the names of the states among the bits."""
    return frozenset(name for name in _SHOWN if has_state(bits, name))


def role_of(item: ElementItem) -> str:
    """Return the role in the inner spelling."""
    role = ROLES[item.role] if 0 <= item.role < len(ROLES) else "unknown"
    return "text_area" if role == "text_field" and has_state(item.states, "multi_line") else role


def _element_value(
    role: str, item: ElementItem, want: int, got: Mapping[str, list[Answer]]
) -> Scalar:
    if not want & VALUE:
        return None
    if role in BOOLEAN_ROLES:
        return has_state(item.states, "checked") or has_state(item.states, "pressed")
    if number := first_body(got.get("number")):
        return float(number[0][1])
    if text := first_body(got.get("text")):
        return text_of(text[0])
    return None


def text_of(text: object, limit: int = VALUE_LIMIT) -> str:
    """Return a text without the places where elements are embedded in it."""
    return clean_foreign_text(str(text).replace("\ufffc", ""), limit)


def _child_handles(item: ElementItem, got: Mapping[str, list[Answer]]) -> tuple[Handle, ...]:
    if item.children is not None:
        return item.children
    if whole := first_body(got.get("children")):
        return tuple(ref for ref in whole[0] if ref[1] != NO_NODE)
    each = [answer for answer in got.get("each", ()) if not isinstance(answer, UiFault)]
    return tuple(answer[0] for answer in each if answer[0][1] != NO_NODE)


def label_of(item: ElementItem, got: Mapping[str, list[Answer]]) -> str:
    """Return what stands for a title where no other element labels this one."""
    rows = first_body(got.get("attributes"))
    attributes = dict(rows[0]) if rows else {}
    description = first_body(got.get("said"))
    words = [
        *(attributes.get(key, "") for key in _SAYING),
        description[0][1] if description else "",
    ]
    return clean_foreign_text(next(filter(None, words), item.description))


def first_body(answers: list[Answer] | None) -> tuple[Any, ...] | None:
    """Return the body of the first answer, or None if there is none."""
    if not answers or isinstance(answers[0], UiFault):
        return None
    return answers[0]


def property_value(answer: Answer, otherwise: Any) -> Any:
    """Return the value of a property, or `otherwise` where it could not be read."""
    if isinstance(answer, UiFault) or not answer:
        return otherwise
    value = answer[0]
    return value[1] if isinstance(value, tuple) else value


def state_bits(words: Sequence[int]) -> int:
    """Return the words that GetState answers with as one number."""
    return words[0] | words[1] << 32 if len(words) > 1 else (words[0] if words else 0)


CHILD_LIMIT: Final = 2_000
"""Children of one element that are read; a table of a million rows answers with its first."""

_NUMERIC: Final = frozenset(
    ("slider", "incrementor", "progress_indicator", "scroll_bar", "level_bar", "dial", "rating")
)
_NOT_HELD: Final = IDENTIFIER | FRAME | ACTIONS | LABEL
_LABELLED: Final = TEXT_ROLES | BOOLEAN_ROLES | _NUMERIC | {"button", "link", "image", "icon"}
_OPTIONS: Final = 100
"""Most options of a combo box among which the selected one is looked for."""


def method_call(
    handle: Any, interface: str, member: str, signature: str = "", *body: Any
) -> BusCall:
    """Return a call of an element; `interface` without its prefix."""
    return BusCall(handle[0], handle[1], ATSPI + interface, member, signature, body)


def property_call(handle: Any, interface: str, name: str) -> BusCall:
    """Return the call that reads a property."""
    return BusCall(handle[0], handle[1], PROPERTIES, "Get", "ss", (ATSPI + interface, name))


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
        items[ref] = ElementItem(role, name, state_bits(words), description, "", known, count)
    return items


class AtspiReader:
    """Reads elements.

    Args:
        items: Those that are known from a snapshot.
        hides: Whether texts of the app are not shown.
    """

    def __init__(
        self, pool: ConnectionPool, items: Mapping[Handle, ElementItem], *, hides: bool = False
    ) -> None:
        self._pool = pool
        self._items = items
        self._hides = hides

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
        items = self._ask_first_round(asked, bits, timeout)
        answers = iter(self._ask_second_round(asked, items, bits, max(end - time.monotonic(), 0.0)))
        return [node or next(answers) for node in cached]

    def _cached_node(self, handle: Handle, want: int) -> UiNode | None:
        """Return an element of which the snapshot says all that is wanted."""
        item = self._items.get(handle)
        if item is None or want & _NOT_HELD or (item.children is None and want & CHILDREN):
            return None
        if want & VALUE and any(_detail_calls(handle, *kind_of(item), bool(item.name), VALUE)):
            return None
        node = node_of(handle, item, want, {})
        if not isinstance(node, UiNode) or needs_neighbours(node, valued=False):
            return None
        return mark_secret(node, hides=self._hides)

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
            dict(_second_calls(handle, item, want)) if isinstance(item, ElementItem) else {}
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
            if isinstance(node, UiNode) and needs_neighbours(node, valued=bool(want & VALUE))
        }
        beside = dict.fromkeys(asked, "")
        # A field may lie in a box of its own beside its label.
        for _ in range(2):
            places = self._read_places(list(asked.values()), end) if asked else []
            above: dict[int, Handle] = {}
            for at, (parent, frame, texts) in zip(asked, places, strict=True):
                beside[at] = text_beside(frame, texts)
                if not texts and parent is not None:
                    above[at] = parent
            asked = above
        for at, node in enumerate(nodes):
            if isinstance(node, UiNode) and (at in beside or self._hides):
                label = beside.get(at, "")
                now = mark_secret(node, label, hides=self._hides)
                secret = "secure" in now.states - node.states
                nodes[at] = now._replace(label=label) if secret else now

    def _read_places(
        self, handles: Sequence[Handle], end: float
    ) -> list[tuple[Handle | None, Frame | None, list[tuple[str, Frame | None]]]]:
        """Return of each its parent, its place, and the texts before and after it there."""

        def ask(calls: Sequence[BusCall]) -> list[Answer]:
            return list(self._pool.call_all(calls, max(end - time.monotonic(), 0.05)))

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
        items = self._ask_first_round(
            [one for _, one in near], 0, max(end - time.monotonic(), 0.05)
        )
        frames = ask([method_call(one, "Component", "GetExtents", "u", 0) for _, one in near])
        texts: list[list[tuple[str, Frame | None]]] = [[] for _ in handles]
        for (row, _), item, frame in zip(near, items, frames, strict=True):
            if isinstance(item, ElementItem) and role_of(item) == "static_text" and item.name:
                texts[row].append((clean_foreign_text(item.name), _frame_of(frame)))
        return [
            (parent, _frame_of(frame), said)
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
        answers = self._pool.call_all(calls, max(end - time.monotonic(), 0.05))
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
            max(end - time.monotonic(), 0.05),
        )
        for (at, node), answer in zip(empty.items(), counts, strict=True):
            left = max(end - time.monotonic(), 0.05)
            value: Scalar = None
            if node.role == "combo_box":
                value = self._selected_option(node, left)
            elif count := min(int(property_value(answer, 0)), VALUE_LIMIT):
                (text,) = self._pool.call_all(
                    [method_call(node.handle, "Text", "GetText", "ii", 0, count)], left
                )
                value = None if isinstance(text, UiFault) else text_of(text[0])
            if value:
                nodes[at] = node._replace(value=value)

    def _selected_option(self, node: UiNode, seconds: float) -> str | None:
        """Return the title of the option that is selected in a combo box."""
        end = time.monotonic() + seconds
        level: Sequence[Handle] = [node.handle]
        for _ in range(3):
            left = max(end - time.monotonic(), 0.05)
            lists = self._pool.call_all(
                [method_call(one, "Accessible", "GetChildren") for one in level], left
            )
            level = [
                tuple(ref) for body in lists if not isinstance(body, UiFault) for ref in body[0]
            ]
            level = level[:_OPTIONS]
            for one in self._ask_first_round(level, 0, max(end - time.monotonic(), 0.05)):
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
            left = max(end - time.monotonic(), 0.05)
            got["actions"] = [(action_names(self._pool, handle, actions[0], left),)]
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
    handle: Handle, item: ElementItem, want: int
) -> Iterator[tuple[str, list[BusCall]]]:
    """Yield what is asked in the second round: a word and the calls."""
    if want & CHILDREN and item.children is None and item.total > 0:
        if item.total <= CHILD_LIMIT:
            yield "children", [method_call(handle, "Accessible", "GetChildren")]
        else:
            calls = (("Accessible", "GetChildAtIndex", "i", at) for at in range(CHILD_LIMIT))
            yield "each", [method_call(handle, *call) for call in calls]
    for what, call in _detail_calls(handle, *kind_of(item), bool(item.name), want):
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
