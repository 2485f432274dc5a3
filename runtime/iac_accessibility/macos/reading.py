"""Elements of a Mac app as nodes: one exchange for the attributes of an element, one for children.

Children come with a limit of their own, for a table of a million rows hands them all out.
"""

import time
from collections.abc import Sequence
from typing import Any, Final

from iac_accessibility.macos.frameworks import HIServices as Ax
from iac_accessibility.macos.frameworks import (
    in_autorelease_pool,
    raise_for_error,
    read_attributes,
    with_timeout,
)
from iac_accessibility.model import (
    BOOLEAN_ROLES,
    VALUE_LIMIT,
    ActionFailed,
    AppNotResponding,
    Detail,
    Frame,
    Handle,
    Scalar,
    UiFault,
    UiNode,
    Unsupported,
    action_name,
    clean_foreign_text,
    role_name,
    takes_typing,
)
from iac_accessibility.risk import Hides, mark_secret, needs_neighbours, text_beside

CHILD_LIMIT: Final = 2_000

_STATES: Final = {
    "focused": Ax.kAXFocusedAttribute,
    "selected": Ax.kAXSelectedAttribute,
    "expanded": Ax.kAXExpandedAttribute,
    "minimized": Ax.kAXMinimizedAttribute,
    "active": Ax.kAXMainAttribute,
    "modal": Ax.kAXModalAttribute,
}
_BASE: Final = (
    *(Ax.kAXRoleAttribute, Ax.kAXSubroleAttribute, Ax.kAXTitleAttribute),
    *(Ax.kAXDescriptionAttribute, Ax.kAXIdentifierAttribute),
    *(Ax.kAXEnabledAttribute, Ax.kAXHiddenAttribute, *_STATES.values()),
)
_SUBROLES: Final = {
    Ax.kAXSecureTextFieldSubrole: "secure_text_field",
    Ax.kAXSearchFieldSubrole: "search_field",
    Ax.kAXDialogSubrole: "dialog",
    Ax.kAXSystemDialogSubrole: "dialog",
    Ax.kAXToggleSubrole: "toggle_button",
    Ax.kAXSwitchSubrole: "switch",
}
_SAYING: Final = (
    Ax.kAXTitleUIElementAttribute,
    Ax.kAXPlaceholderValueAttribute,
    Ax.kAXHelpAttribute,
    Ax.kAXRoleDescriptionAttribute,
)
"""What stands for a title, in this order; a close button is told from others by the last only."""

_BESIDE: Final = (
    *(Ax.kAXRoleAttribute, Ax.kAXValueAttribute, Ax.kAXPositionAttribute, Ax.kAXSizeAttribute),
)
_NAMING: Final = ("AXDOMIdentifier", "AXDOMClassList", Ax.kAXPlaceholderValueAttribute)
"""What calls an element something, of a page too."""

_UNKNOWN: Final = -1
_EDITABLE: Final = frozenset(("text_field", "text_area", "search_field", "secure_text_field"))
_APPLICATION: Final = "application"


class MacReader:
    """Reads elements one by one, each within what is left of the time."""

    def __init__(self, *, hides: Hides = "") -> None:
        self._hides: Hides = hides

    @in_autorelease_pool
    def read(
        self, handles: Sequence[Handle], want: Detail, timeout: float
    ) -> list[UiNode | UiFault]:
        """Return one node or fault per handle; those that were not reached are silent."""
        end = time.monotonic() + timeout
        answers: list[UiNode | UiFault] = []
        for handle in handles:
            left = end - time.monotonic()
            if left <= 0:
                answers.append(AppNotResponding("the element was not read in time"))
                continue
            try:
                node = _read_node(with_timeout(handle, left), want)
                answers.append(mark_secret(node, hides=self._hides))
            except UiFault as fault:
                answers.append(fault)
        return answers


def _read_node(element: Any, want: Detail) -> UiNode:
    names = list(_BASE)
    if Detail.VALUE in want:
        names.append(Ax.kAXValueAttribute)
        names += _NAMING
    if Detail.FRAME in want:
        names += [Ax.kAXPositionAttribute, Ax.kAXSizeAttribute]
    if Detail.LABEL in want:
        names += _SAYING
    values = dict(zip(names, read_attributes(element, names), strict=True))
    role = _SUBROLES.get(values[Ax.kAXSubroleAttribute]) or role_name(
        str(values[Ax.kAXRoleAttribute] or "unknown")
    )
    states = {name for name, key in _STATES.items() if values[key]}
    if values[Ax.kAXEnabledAttribute] is not False:
        states.add("enabled")
    if not values[Ax.kAXHiddenAttribute]:
        states |= {"visible", "showing"}
    if role in _EDITABLE:
        states |= {"editable", "focusable"}
    if role == "secure_text_field":
        states.add("secure")
    value = _convert_value(role, values.get(Ax.kAXValueAttribute))
    if role in BOOLEAN_ROLES and value:
        states.add("checked")
    description = clean_foreign_text(values[Ax.kAXDescriptionAttribute])
    title = clean_foreign_text(values[Ax.kAXTitleAttribute])
    asks = Detail.LABEL in want
    if Detail.VALUE in want and not (asks or title or description) and takes_typing(role, states):
        # Whoever reads the value of a text has to know whether it is a secret by its label.
        values |= dict(zip(_SAYING, read_attributes(element, _SAYING), strict=True))
        asks = True
    children, total = _read_children(element, role) if Detail.CHILDREN in want else ((), 0)
    if not title and role == "static_text" and isinstance(value, str):
        title = clean_foreign_text(value)
    node = UiNode(
        element,
        role,
        # What is read aloud stands for the title of an element without one (a button's picture).
        title or description,
        clean_foreign_text(values[Ax.kAXIdentifierAttribute]),
        frozenset(states),
        children,
        total,
        value,
        description if title else "",
        _read_frame(values) if Detail.FRAME in want else None,
        _read_actions(element) if Detail.ACTIONS in want else (),
        "" if title or description or not asks else _find_label(values),
    )
    names = [str(name) for key in _NAMING if (name := values.get(key)) is not None]
    node = mark_secret(node, *names)
    if not needs_neighbours(node, valued=Detail.VALUE in want, labelled=Detail.LABEL in want):
        return node
    label, sure = _text_beside(element)
    marked = mark_secret(node, label)
    if "secure" in marked.states - node.states:
        return marked._replace(label=label)
    return marked._replace(label=marked.label or sure)


def _text_beside(element: Any) -> tuple[str, str]:
    """Return the text that stands beside an element, or beside the group that it is alone in.

    The second is empty where it may stand there for something else.
    """
    for _ in range(2):
        (parent,) = read_attributes(element, [Ax.kAXParentAttribute])
        if parent is None:
            break
        handles, _ = _read_children(parent, "")
        at = handles.index(element) if element in handles else 0
        texts = []
        for one in (*handles[max(at - 1, 0) : at], *handles[at + 1 : at + 2]):
            values = dict(zip(_BESIDE, read_attributes(one, _BESIDE), strict=True))
            text = values[Ax.kAXValueAttribute]
            if values[Ax.kAXRoleAttribute] == Ax.kAXStaticTextRole and isinstance(text, str):
                texts.append((clean_foreign_text(text), _read_frame(values)))
        if texts:
            own = dict(zip(_BESIDE, read_attributes(element, _BESIDE), strict=True))
            place = _read_frame(own)
            return text_beside(place, texts), text_beside(place, texts, sure=True)
        element = parent
    return "", ""


def _find_label(values: dict[str, Any]) -> str:
    """Return what stands for the title of an element that has none."""
    for name in _SAYING:
        value = values[name]
        if name == Ax.kAXTitleUIElementAttribute and value is not None:
            # A label is a static text: its text is its value.
            titled = read_attributes(value, [Ax.kAXValueAttribute, Ax.kAXTitleAttribute])
            value = next((one for one in titled if isinstance(one, str) and one), None)
        if isinstance(value, str) and (label := clean_foreign_text(value)):
            return label
    return ""


def _convert_value(role: str, value: Any) -> Scalar:
    if role == "secure_text_field" or value is None:
        return None
    if role in BOOLEAN_ROLES and isinstance(value, bool | int | float):
        return bool(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    return clean_foreign_text(value, VALUE_LIMIT) if isinstance(value, str) else None


def _read_children(element: Any, role: str) -> tuple[tuple[Handle, ...], int]:
    """Return children and how many there are; -1 where the app failed to say (it does at times)."""
    try:
        if role == _APPLICATION:
            children = _app_children(element)
            return children, len(children)
        return children_of(element, 0, CHILD_LIMIT)
    except Unsupported:
        return (), 0
    except (AppNotResponding, ActionFailed):
        return (), _UNKNOWN


def children_of(element: Any, start: int, most: int) -> tuple[tuple[Handle, ...], int]:
    """Return children from a number on, and how many there are in all.

    Raises:
        UiFault: It has none, or the app does not say.
    """
    name = Ax.kAXChildrenAttribute
    error, children = Ax.AXUIElementCopyAttributeValues(element, name, start, most, None)
    raise_for_error(error)
    handles = tuple(children or ())
    if len(handles) < most:
        return handles, start + len(handles)
    error, total = Ax.AXUIElementGetAttributeValueCount(element, name, None)
    return handles, int(total) if error == Ax.kAXErrorSuccess else start + len(handles)


def _app_children(element: Any) -> tuple[Handle, ...]:
    """Return the app's windows, minimized ones too, then its menu bar, then its menu extras.

    Extras are no children of the app (Hammerspoon #1074).
    """
    bars = [Ax.kAXMenuBarAttribute, Ax.kAXExtrasMenuBarAttribute]
    names = [Ax.kAXWindowsAttribute, Ax.kAXChildrenAttribute, *bars]
    windows, rest, bar, extras = read_attributes(element, names)
    bars = [one for one in (bar, extras) if one is not None]
    return tuple(dict.fromkeys([*(windows or ()), *bars[:1], *(rest or ()), *bars[1:]]))


def _read_frame(values: dict[str, Any]) -> Frame | None:
    position, size = values[Ax.kAXPositionAttribute], values[Ax.kAXSizeAttribute]
    if position is None or size is None:
        return None
    placed, point = Ax.AXValueGetValue(position, Ax.kAXValueTypeCGPoint, None)
    sized, extent = Ax.AXValueGetValue(size, Ax.kAXValueTypeCGSize, None)
    if not (placed and sized):
        return None
    return Frame(point.x, point.y, extent.width, extent.height)


def _read_actions(element: Any) -> tuple[str, ...]:
    error, names = Ax.AXUIElementCopyActionNames(element, None)
    if error != Ax.kAXErrorSuccess:
        return ()
    return tuple(dict.fromkeys(action_name(str(name)) for name in names or ()))
