"""Keysyms of keys and characters. Source: X11 keysyms, Appendix A."""

from typing import Final

KEYSYMS: Final = {
    **dict(zip(("backspace", "tab"), (0xFF08, 0xFF09), strict=True)),
    "return": 0xFF0D,
    "escape": 0xFF1B,
    "delete": 0xFFFF,
    "space": 0x20,
    "menu": 0xFF67,
    "home": 0xFF50,
    "left": 0xFF51,
    "up": 0xFF52,
    "right": 0xFF53,
    "down": 0xFF54,
    "page_up": 0xFF55,
    "page_down": 0xFF56,
    "end": 0xFF57,
    "insert": 0xFF63,
    **{f"f{number}": 0xFFBD + number for number in range(1, 21)},
}
_SPECIAL: Final = {"\n": 0xFF0D, "\t": 0xFF09}


def keysym_of(char: str) -> int:
    """Return the keysym of a character."""
    code = ord(char)
    return _SPECIAL.get(char) or (code if code <= 0xFF else 0x1000000 + code)
