"""Keys by name: what a combination is, and what it does in nearly every app.

    "ctrl+shift+s", "cmd+q", "Return", "F5", "a", "+"

The key stands last, the modifiers before it. A key is one character or a name of `KEYS`; case of
names does not matter, that of a character does not either where a modifier is beside it.
"""

from typing import Final, Literal, NamedTuple

from iac_accessibility.errors import UiError
from iac_base.errors import near_text, quote_text

Modifier = Literal["shift", "control", "option", "command"]

_MODIFIERS: Final[dict[str, Modifier]] = {
    "shift": "shift",
    **dict.fromkeys(("ctrl", "control", "strg"), "control"),
    **dict.fromkeys(("alt", "option", "opt"), "option"),
    **dict.fromkeys(("cmd", "command", "super", "meta", "win"), "command"),
}

_NAMES: Final = {
    "return": "enter",
    "escape": "esc",
    "backspace": "",
    "delete": "del forward_delete",
    "tab": "",
    "space": "spacebar",
    "up": "arrow_up up_arrow",
    "down": "arrow_down down_arrow",
    "left": "arrow_left left_arrow",
    "right": "arrow_right right_arrow",
    "home": "",
    "end": "",
    "page_up": "pageup pgup prior",
    "page_down": "pagedown pgdn next",
    "insert": "ins",
    "menu": "context_menu",
    **{f"f{number}": "" for number in range(1, 21)},
}
KEYS: Final = {other: name for name, others in _NAMES.items() for other in (name, *others.split())}
"""Every name of a key that is no character -> the one name that bridges know."""


class Stroke(NamedTuple):
    """A key, and what is held down with it; `key` is one character or a value of `KEYS`."""

    modifiers: frozenset[Modifier]
    key: str

    @property
    def text(self) -> str:
        """The combination as it is shown."""
        held = [
            name for name in ("control", "option", "shift", "command") if name in self.modifiers
        ]
        return "+".join((*held, self.key))

    @property
    def is_character(self) -> bool:
        """Whether it types a character."""
        return len(self.key) == 1 and not self.modifiers - {"shift"}


def parse_stroke(text: str) -> Stroke:
    """Return the combination that a text names.

    Raises:
        UiError: A part of it is no modifier, or the last no key.
    """
    plain = text.strip()
    # A plus sign is a key as well: "ctrl++", "+".
    last = "+" if plain.endswith("+") else plain.rpartition("+")[2].strip()
    before = plain[: len(plain) - len(last)].rstrip("+ ")
    held: list[Modifier] = []
    for part in filter(None, (one.strip().lower() for one in before.split("+"))):
        if part not in _MODIFIERS:
            raise _unknown_key_error(text, part, tuple(_MODIFIERS))
        held.append(_MODIFIERS[part])
    key = last if len(last) == 1 else KEYS.get(last.lower().replace(" ", "_").replace("-", "_"), "")
    if not key or not key.isprintable():
        raise _unknown_key_error(text, last, tuple(KEYS))
    if len(key) == 1 and frozenset(held) - {"shift"}:
        key = key.lower()
    return Stroke(frozenset(held), "space" if key == " " else key)


def _unknown_key_error(text: str, part: str, known: tuple[str, ...]) -> UiError:
    return UiError(
        "INVALID_PARAMETER",
        f"{quote_text(text, 60)} is not a key combination: there is no key {quote_text(part, 30)}.",
        near_text(part, known) or 'Write combinations like "ctrl+shift+s", "Return" or "F5".',
        reason="bad_value",
    )


_EFFECTS: Final = {
    "ends a session or loses work": (
        "command+q control+q option+f4 command+w control+w control+shift+w option+command+w"
        " shift+command+w control+f4 shift+command+q option+command+escape control+option+delete"
        " control+option+backspace option+command+q control+shift+q"
    ),
    "destroys": (
        "delete backspace command+backspace control+backspace shift+delete control+delete"
        " option+delete option+backspace shift+command+backspace control+shift+delete"
        " command+delete"
    ),
    "sends": "command+return control+return shift+command+d control+shift+return option+return",
    "runs something": "option+f2 command+space command+r control+option+t",
}
_DOES: Final = {parse_stroke(one): what for what, rows in _EFFECTS.items() for one in rows.split()}


def stroke_effect(stroke: Stroke, *, in_text: bool) -> str:
    """Return what a combination does, in the words of the levels; empty where nothing is known.

    Args:
        in_text: Whether a text has the keyboard: what destroys elsewhere takes characters there.
    """
    does = _DOES.get(stroke, "")
    return "" if in_text and does == "destroys" else does
