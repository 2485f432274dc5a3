"""What the answers of an AT-SPI app say of an element, and the calls that ask for it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from iac_accessibility.atspi.wire import BusCall
from iac_accessibility.model import (
    BOOLEAN_ROLES,
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
from iac_accessibility.risk import mark_secret

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


_SAYS: Final = frozenset(
    "icon list_item tree_item cell button toggle_button tab link menu_item static_text heading"
    " status_bar".split()
)


class ElementItem(NamedTuple):
    """What is known of an element after the first round; `children` is None where not known."""

    role: int
    name: str
    states: int
    description: str = ""
    identifier: str = ""
    children: tuple[Handle, ...] | None = None
    total: int = 0

    @property
    def may_say(self) -> bool:
        """Whether it has no name, and may have a text of its own in place of one."""
        return not (self.name or self.total) and role_of(self) in _SAYS


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
    title = plain_name(role[0], property_value(name, ""))
    return ElementItem(role[0], title, bits, property_value(description, ""))


_CLASS_NAME: Final = re.compile(
    r"(?:Gtk|Gdk|Adw|Hdy|Vte|WebKit|Panel)[A-Z]\w+|__main__(?:\+\w+)+"
    r"|[a-z_]\w*(?:\+\w+)*\+[A-Z][a-z]+[A-Z]\w+"
)
"""What GTK 4 calls an element that nobody named: by its class, `module+Class` of Python's own."""


def plain_name(role: int, name: str) -> str:
    """Return the name of an element; empty where it is the name of its class only."""
    return (
        "" if _CLASS_NAME.fullmatch(name) and ROLES[role : role + 1] != ("static_text",) else name
    )


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
        frame_of(frame),
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


def frame_of(answer: Answer | None) -> Frame | None:
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


def method_call(
    handle: Any, interface: str, member: str, signature: str = "", *body: Any
) -> BusCall:
    """Return a call of an element; `interface` without its prefix."""
    return BusCall(handle[0], handle[1], ATSPI + interface, member, signature, body)


def property_call(handle: Any, interface: str, name: str) -> BusCall:
    """Return the call that reads a property."""
    return BusCall(handle[0], handle[1], PROPERTIES, "Get", "ss", (ATSPI + interface, name))
