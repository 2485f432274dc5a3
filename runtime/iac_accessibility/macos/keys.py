"""Synthetic keys on a Mac: text as Unicode, posted to the process that is meant.

Source: Quartz Event Services, CGEvent.h. A key event holds at most 20 UTF-16 units of text.
"""

from typing import Any, Final

from iac_accessibility.macos.frameworks import Quartz

__all__ = ["select_all", "type_text"]

_CHUNK: Final = 20
_KEY_A: Final = 0
_KEY_DELETE: Final = 51
"""Virtual key codes of an ANSI keyboard (Carbon, Events.h)."""


def select_all(pid: int) -> None:
    """Press Command-A."""
    _press(pid, _KEY_A, Quartz.kCGEventFlagMaskCommand)


def type_text(pid: int, text: str) -> None:
    """Type over what is selected; an empty text deletes it."""
    if not text:
        _press(pid, _KEY_DELETE, 0)
    for part in _parts(text):
        for down in (True, False):
            event = Quartz.CGEventCreateKeyboardEvent(None, 0, down)
            units = len(part.encode("utf-16-le")) // 2
            Quartz.CGEventKeyboardSetUnicodeString(event, units, part)
            Quartz.CGEventPostToPid(pid, event)


def _press(pid: int, key: int, flags: int) -> None:
    for down in (True, False):
        event: Any = Quartz.CGEventCreateKeyboardEvent(None, key, down)
        Quartz.CGEventSetFlags(event, flags)
        Quartz.CGEventPostToPid(pid, event)


def _parts(text: str) -> list[str]:
    """Return the text in pieces of at most 20 UTF-16 units, no character torn apart."""
    parts: list[str] = []
    part, units = "", 0
    for char in text:
        size = 2 if ord(char) > 0xFFFF else 1
        if units + size > _CHUNK:
            parts.append(part)
            part, units = "", 0
        part += char
        units += size
    return [*parts, part] if part else parts
