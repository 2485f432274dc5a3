"""Elements of an AT-SPI app as nodes: two rounds of calls for any number of them.

The first round asks what every element has, the second what only some have (children, value).
GTK hands out its whole tree at once (`Cache.GetItems`); what the snapshot leaves out (menus that
were never open, cells of tables) is asked for. Identifiers are not in the snapshot.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from iac_accessibility.atspi.names import ATSPI, CACHE_PATH, PROPERTIES, ROLES, STATES, bit
from iac_accessibility.atspi.wire import Call, Pool
from iac_accessibility.faults import Fault, Gone, Silent
from iac_accessibility.model import VALUE_LIMIT, Frame, Handle, Node, Scalar, Want, cleaned
from iac_accessibility.roles import BOOLEAN_ROLES, TEXT_ROLES, action_name

__all__ = ["CHILD_LIMIT", "AtspiReader", "Item", "get", "method", "named", "snapshot"]

CHILD_LIMIT: Final = 2_000
"""Children of one element that are read; a table of a million rows answers with its first."""

_NUMERIC: Final = frozenset(
    ("slider", "incrementor", "progress_indicator", "scroll_bar", "level_bar", "dial", "rating")
)
_SHOWN: Final = (
    *("active", "checked", "default", "editable", "enabled", "expanded", "focusable"),
    *("focused", "minimized", "modal", "pressed", "selected", "showing", "visible"),
)
# As plain numbers: flags of an enumeration are slow, and are asked for every element.
_CHILDREN: Final = Want.CHILDREN.value
_VALUE: Final = Want.VALUE.value
_IDENTIFIER: Final = Want.IDENTIFIER.value
_FRAME: Final = Want.FRAME.value
_ACTIONS: Final = Want.ACTIONS.value
_DESCRIPTION: Final = Want.DESCRIPTION.value
_NO_NODE: Final = "/org/a11y/atspi/null"


class Item(NamedTuple):
    """What is known of an element after the first round; `children` is None where not known."""

    role: int
    name: str
    states: int
    description: str = ""
    identifier: str = ""
    children: tuple[Handle, ...] | None = None
    total: int = 0


def method(handle: Any, interface: str, member: str, signature: str = "", *body: Any) -> Call:
    """Return a call of an element; `interface` without its prefix."""
    return Call(handle[0], handle[1], ATSPI + interface, member, signature, body)


def get(handle: Any, interface: str, name: str) -> Call:
    """Return the call that reads a property."""
    return Call(handle[0], handle[1], PROPERTIES, "Get", "ss", (ATSPI + interface, name))


def snapshot(pool: Pool, bus: str, timeout: float) -> dict[Handle, Item]:
    """Return the elements that the app hands out at once; empty where its toolkit does not."""
    try:
        (rows,) = pool.call(Call(bus, CACHE_PATH, ATSPI + "Cache", "GetItems"), timeout)
    except (Fault, ValueError):
        return {}
    below: dict[Handle, list[tuple[int, Handle]]] = {}
    for row in rows:
        below.setdefault(row[2], []).append((row[3], row[0]))
    items: dict[Handle, Item] = {}
    for ref, _app, _parent, _index, count, _interfaces, name, role, description, words in rows:
        children = tuple(handle for _, handle in sorted(below.get(ref, ())))
        known = children if len(children) == count else None
        items[ref] = Item(role, name, _bits(words), description, "", known, count)
    return items


class AtspiReader:
    """Reads elements; `items` are those that are known from a snapshot."""

    def __init__(self, pool: Pool, items: Mapping[Handle, Item]) -> None:
        self._pool = pool
        self._items = items

    def read(self, handles: Sequence[Handle], want: Want, timeout: float) -> list[Node | Fault]:
        """Return one node or fault per handle."""
        end = time.monotonic() + timeout
        bits = want.value
        found = self._first(handles, bits, timeout)
        left = max(end - time.monotonic(), 0.0)
        return self._second(handles, found, bits, left)

    def _first(self, handles: Sequence[Handle], want: int, timeout: float) -> list[Item | Fault]:
        calls: list[Call] = []
        for handle in handles:
            calls += self._questions(handle, want)
        answers = iter(self._pool.calls(calls, timeout))
        return [self._item(handle, want, answers) for handle in handles]

    def _questions(self, handle: Handle, want: int) -> list[Call]:
        known = self._items.get(handle)
        calls = []
        if known is None:
            calls = [
                get(handle, "Accessible", "Name"),
                method(handle, "Accessible", "GetRole"),
                method(handle, "Accessible", "GetState"),
            ]
            if want & _DESCRIPTION:
                calls.append(get(handle, "Accessible", "Description"))
        if want & _IDENTIFIER:
            calls.append(get(handle, "Accessible", "AccessibleId"))
        if want & _CHILDREN and (known is None or known.children is None):
            calls.append(get(handle, "Accessible", "ChildCount"))
        return calls

    def _item(
        self, handle: Handle, want: int, answers: Iterator[tuple[Any, ...] | Fault]
    ) -> Item | Fault:
        held = self._items.get(handle)
        item: Item | Fault
        if held is None:
            name, role, states = next(answers), next(answers), next(answers)
            said = next(answers) if want & _DESCRIPTION else ("",)
            item = _known(name, role, states, said)
        else:
            item = held
        identifier = next(answers) if want & _IDENTIFIER else None
        asked = want & _CHILDREN and (held is None or held.children is None)
        total = next(answers) if asked else None
        if isinstance(item, Fault):
            return item
        if identifier is not None:
            item = item._replace(identifier=cleaned(_variant(identifier, "")))
        if isinstance(total, Silent):
            return total
        if total is not None:
            item = item._replace(total=max(_variant(total, 0), 0), children=None)
        return item

    def _second(
        self,
        handles: Sequence[Handle],
        items: Sequence[Item | Fault],
        want: int,
        timeout: float,
    ) -> list[Node | Fault]:
        calls: list[Call] = []
        spans: list[list[tuple[str, int]]] = []
        for handle, item in zip(handles, items, strict=True):
            asked: list[tuple[str, int]] = []
            if isinstance(item, Item):
                for what, questions in _more(handle, item, want):
                    asked.append((what, len(questions)))
                    calls += questions
            spans.append(asked)
        end = time.monotonic() + timeout
        answers = iter(self._pool.calls(calls, timeout))
        nodes: list[Node | Fault] = []
        for handle, item, asked in zip(handles, items, spans, strict=True):
            got = {what: [next(answers) for _ in range(count)] for what, count in asked}
            if actions := _first_body(got.get("actions")):
                left = max(end - time.monotonic(), 0.05)
                got["actions"] = [(named(self._pool, handle, actions[0], left),)]
            nodes.append(item if isinstance(item, Fault) else _node(handle, item, want, got))
        return nodes


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
        name or ("" if isinstance(answer, Fault) else str(answer[0]))
        for name, answer in zip(names, answers, strict=True)
    ]


def _known(*answers: tuple[Any, ...] | Fault) -> Item | Fault:
    for answer in answers[:3]:
        if isinstance(answer, Fault):
            return answer
    name, role, states, said = answers
    assert isinstance(role, tuple)
    assert isinstance(states, tuple)
    bits = _bits(states[0])
    if bits >> STATES["defunct"] & 1:
        return Gone("the element is defunct")
    return Item(role[0], _variant(name, ""), bits, _variant(said, ""))


def _more(handle: Handle, item: Item, want: int) -> Iterator[tuple[str, list[Call]]]:
    """Yield what is asked in the second round: a word and the calls."""
    if want & _CHILDREN and item.children is None and item.total > 0:
        if item.total <= CHILD_LIMIT:
            yield "children", [method(handle, "Accessible", "GetChildren")]
        else:
            yield (
                "each",
                [
                    method(handle, "Accessible", "GetChildAtIndex", "i", at)
                    for at in range(CHILD_LIMIT)
                ],
            )
    role = role_of(item)
    if want & _VALUE and role != "secure_text_field":
        if role in _NUMERIC:
            yield "number", [get(handle, "Value", "CurrentValue")]
        elif role in TEXT_ROLES or bit(item.states, "editable"):
            yield "text", [method(handle, "Text", "GetText", "ii", 0, VALUE_LIMIT)]
    if want & _FRAME:
        yield "frame", [method(handle, "Component", "GetExtents", "u", 0)]
    if want & _ACTIONS:
        yield "actions", [method(handle, "Action", "GetActions")]


def _node(
    handle: Handle, item: Item, want: int, got: Mapping[str, list[tuple[Any, ...] | Fault]]
) -> Node | Fault:
    for answers in got.values():
        for answer in answers:
            if isinstance(answer, Silent):
                return answer
    role = role_of(item)
    value = _value(role, item, want, got)
    states = states_of(item.states)
    if role == "secure_text_field":
        states |= {"secure"}
    if value is True:
        states |= {"checked"}
    frame = _first_body(got.get("frame"))
    actions = _first_body(got.get("actions"))
    children = _children(item, got)
    return Node(
        handle,
        role,
        cleaned(item.name),
        item.identifier,
        states,
        children if want & _CHILDREN else (),
        max(item.total, len(children)),
        value,
        cleaned(item.description) if want & _DESCRIPTION else "",
        Frame(*map(float, frame[0])) if frame else None,
        tuple(dict.fromkeys(action_name(name) for name in actions[0] if name)) if actions else (),
    )


@lru_cache(maxsize=1_024)
def states_of(bits: int) -> frozenset[str]:
    """Return the names of the states among the bits."""
    return frozenset(name for name in _SHOWN if bit(bits, name))


def role_of(item: Item) -> str:
    """Return the role in the inner spelling."""
    role = ROLES[item.role] if 0 <= item.role < len(ROLES) else "unknown"
    return "text_area" if role == "text_field" and bit(item.states, "multi_line") else role


def _value(
    role: str, item: Item, want: int, got: Mapping[str, list[tuple[Any, ...] | Fault]]
) -> Scalar:
    if not want & _VALUE:
        return None
    if role in BOOLEAN_ROLES:
        return bit(item.states, "checked") or bit(item.states, "pressed")
    if number := _first_body(got.get("number")):
        return float(number[0][1])
    if text := _first_body(got.get("text")):
        return cleaned(str(text[0]).replace("\ufffc", ""), VALUE_LIMIT)
    return None


def _children(item: Item, got: Mapping[str, list[tuple[Any, ...] | Fault]]) -> tuple[Handle, ...]:
    if item.children is not None:
        return item.children
    if whole := _first_body(got.get("children")):
        return tuple(ref for ref in whole[0] if ref[1] != _NO_NODE)
    each = [answer for answer in got.get("each", ()) if not isinstance(answer, Fault)]
    return tuple(answer[0] for answer in each if answer[0][1] != _NO_NODE)


def _first_body(answers: list[tuple[Any, ...] | Fault] | None) -> tuple[Any, ...] | None:
    if not answers or isinstance(answers[0], Fault):
        return None
    return answers[0]


def _variant(answer: tuple[Any, ...] | Fault, otherwise: Any) -> Any:
    if isinstance(answer, Fault) or not answer:
        return otherwise
    held = answer[0]
    return held[1] if isinstance(held, tuple) else held


def _bits(words: Sequence[int]) -> int:
    return words[0] | words[1] << 32 if len(words) > 1 else (words[0] if words else 0)
