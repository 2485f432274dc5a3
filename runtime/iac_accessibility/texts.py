"""Texts and numbers put into elements, with the keyboard where nothing else does.

A text goes in by the toolkit's own interface first, is pasted second and typed key by key last;
what does not stand there exactly is taken back.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from iac_accessibility.apps import UiSession
from iac_accessibility.bridge import InputDevices, read_one
from iac_accessibility.errors import UiError
from iac_accessibility.hands import (
    SHOWN,
    STATE_SECONDS,
    STEP,
    TAKE,
    UNREAD,
    FocusProof,
    ask_until,
    bring_window,
    require_input_devices,
    wait_for_change,
)
from iac_accessibility.identity import ElementFound
from iac_accessibility.keys import parse_stroke
from iac_accessibility.levels import holds_secret, return_does
from iac_accessibility.model import ActionFailed, Detail, Handle, UiApp, UiFault
from iac_accessibility.paths import TEXT_ROLES
from iac_accessibility.pointing import aim_at, click_at
from iac_base.errors import quote_text

_HIDDEN: Final = "The text is hidden, so it was not read back."
_DELETE: Final = parse_stroke("delete")


def focus_element(
    session: UiSession, app: UiApp, found: ElementFound, seconds: float
) -> FocusProof:
    """Bring a window to the front and give an element the keyboard; return the proof of it.

    A text that does not take the keyboard when it is asked to (GTK 4) is clicked.

    Raises:
        UiError: One of them does not take it.
    """
    node = found.node
    proof = replace(bring_window(session, app, found.window, seconds), handle=node.handle)

    def grab_focus() -> None:
        try:
            session.bridge.grab_focus(node.handle, STATE_SECONDS)
        except UiFault:
            if node.role in TEXT_ROLES:
                click_at(aim_at(session, app, found))

    ask_until(proof, grab_focus, min(seconds, TAKE))
    return proof


@dataclass(frozen=True, slots=True)
class TextEntry:
    """A text that is to stand in an element: `whole` in place of all, else behind what is there."""

    app: UiApp
    found: ElementFound
    text: str
    whole: bool

    def expected_text(self, before: str) -> str:
        """Return what the element is to hold."""
        return self.text if self.whole else before + self.text


def put_text(session: UiSession, given: TextEntry, seconds: float) -> Mapping[str, Any]:
    """Put a text in; return `method` and `notes`.

    Raises:
        UiError: It did not stand there exactly, and was taken back (or not, which is said).
    """
    bridge, handle = session.bridge, given.found.node.handle
    # What a terminal shows is not what was typed into it.
    is_terminal = given.found.node.role == "terminal"
    before = None if is_terminal else bridge.full_text(handle, seconds)
    end = time.monotonic() + seconds
    tried: list[str] = []
    if bridge.accepted_value(handle, seconds).kind == "text":
        try:
            if given.whole:
                bridge.set_value(handle, given.text, seconds)
            else:
                bridge.insert_text(handle, given.text, seconds)
        except (ActionFailed, UiFault) as fault:
            tried.append(f"its text interface: {fault}")
        else:
            if before is None:
                return {"method": "value", "notes": [_HIDDEN]}
            if _holds_text(session, handle, given.expected_text(before)):
                return {"method": "value"}
            tried.append("its text interface")
            with suppress(UiFault):
                bridge.set_value(handle, before, seconds)
    hands = require_input_devices(session)
    proof = focus_element(session, given.app, given.found, seconds)
    for name in ("paste", "keys"):
        if name == "keys" and "\n" in given.text and (does := return_does(given.found.way)):
            tried.append(f"keys: a line break there is Return, which {does}")
            continue
        try:
            _enter_text(hands, proof, given.text, name, before, whole=given.whole)
        except ActionFailed as fault:
            tried.append(f"{name}: {fault}")
            continue
        if before is None:
            return {"method": name, "notes": [UNREAD]}
        if _holds_text(session, handle, given.expected_text(before)):
            return {"method": name}
        tried.append(name)
        now = bridge.full_text(handle, seconds)
        if now != before:
            with suppress(ActionFailed):
                _enter_text(hands, proof, before, "paste", now, whole=True)
            if not _holds_text(session, handle, before):
                break
        if time.monotonic() > end:
            break
    now = bridge.full_text(handle, STATE_SECONDS)
    back = (
        "was set back to its old text"
        if now == before
        else "could not be set back"
        if holds_secret(given.found.node)
        else f"could not be set back; its text is now {quote_text(now or '', 80)}"
    )
    raise UiError(
        "EXECUTION_ERROR",
        f"The element did not accept the exact text, and it {back}.",
        f"Tried: {', '.join(tried)}. The element may forbid some characters, or change its text.",
        reason="not_exact",
    )


def put_number(
    session: UiSession, app: UiApp, found: ElementFound, value: float, seconds: float
) -> Mapping[str, Any] | None:
    """Set a number; where that does nothing (a date in Chromium), type it."""
    bridge, handle = session.bridge, found.node.handle
    reader = bridge.open_reader(app, whole=False, timeout=seconds)

    def has_value(end: float) -> bool:
        while read_one(reader, handle, Detail.VALUE, seconds).value != value:
            if time.monotonic() > end:
                return False
            time.sleep(STEP)
        return True

    bridge.set_value(handle, value, seconds)
    if has_value(time.monotonic() + SHOWN) or "focusable" not in found.node.states:
        return None
    proof = focus_element(session, app, found, seconds)
    hands, text = require_input_devices(session), f"{value:.15g}"
    held = read_one(reader, handle, Detail.VALUE, seconds).value
    hands.type_text(text[:1], proof)
    if text[:1].isdigit() and held != float(text[:1]):
        wait_for_change(lambda: read_one(reader, handle, Detail.VALUE, seconds).value, held)
    hands.type_text(text[1:], proof)
    has_value(time.monotonic() + SHOWN)
    return {"method": "keys"}


def _enter_text(
    hands: InputDevices, proof: FocusProof, text: str, how: str, before: str | None, *, whole: bool
) -> None:
    """Paste or type, over what is there or behind it.

    Of what is typed the first character has to show before the second is sent.
    """
    bridge, handle = proof.session.bridge, proof.handle
    read = partial(bridge.full_text, handle, STATE_SECONDS)
    proof()
    if whole:
        done = False
        with suppress(UiFault):
            done = bridge.select_all(handle, STATE_SECONDS)
        if not done:
            hands.press_stroke(bridge.select_all_keys)
    else:
        hands.press_stroke(bridge.text_end_keys)
    time.sleep(STEP)
    proof()
    if how == "paste" and text:
        hands.paste_text(text)
        return
    if not text or (whole and before == text[:1]):
        hands.press_stroke(_DELETE)
        before = before and ""
    hands.type_text(text[:1], proof)
    if before is not None and text[1:]:
        wait_for_change(read, before)
    hands.type_text(text[1:], proof)


def _holds_text(session: UiSession, handle: Handle, text: str) -> bool:
    end = time.monotonic() + SHOWN
    while True:
        now = session.bridge.full_text(handle, STATE_SECONDS)
        if now == text:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(STEP)
