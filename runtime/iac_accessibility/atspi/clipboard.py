"""The clipboard of an X server, lent for one paste and given back as it was.

Who owns a selection is asked for it each time somebody pastes: what was there before is read whole
and handed out again from then on, until another program copies something.
Source: Inter-Client Communication Conventions Manual 2.0, "Peer-to-Peer Communication".
"""

import contextlib
import select
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import Xlib.threaded  # noqa: F401 (one display is used by two threads)
from Xlib import X, Xatom, display, error
from Xlib.protocol import event
from Xlib.protocol.request import SetSelectionOwner

from iac_accessibility.model import ActionFailed

_MOST: Final = 200_000
"""Bytes that are handed out in one piece; more would need the incremental way."""

_SECONDS: Final = 2.0
_SETTLE: Final = 0.25
"""Seconds after which somebody who has asked for the text is not going to ask again."""


_NO_DATA: Final = (
    *("MULTIPLE", "SAVE_TARGETS", "TIMESTAMP"),
    *("DELETE", "INSERT_PROPERTY", "INSERT_SELECTION"),
)
"""Targets that do something, or say something of the selection."""


class Clipboard:
    """Owns the clipboard where it has to; a thread answers whoever pastes."""

    def __init__(self, name: str) -> None:
        self._display = display.Display(name)
        atom = self._display.intern_atom
        self._clipboard, self._targets = atom("CLIPBOARD"), atom("TARGETS")
        self._texts = (atom("UTF8_STRING"), atom("text/plain;charset=utf-8"), Xatom.STRING)
        self._incremental, self._into = atom("INCR"), atom("IAC_CLIPBOARD")
        self._window = self._display.screen().root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
        self._held: dict[int, tuple[int, int, bytes]] = {}
        self._asked = threading.Event()
        self._answers: dict[int, Any] = {}
        self._news = threading.Condition()
        self._closed = False
        self._owned = False
        self._thread = threading.Thread(target=self._serve_requests, name="clipboard", daemon=True)
        self._thread.start()

    def paste_text(self, text: str, press: Callable[[], None]) -> None:
        """Put in a text, have it pasted by `press`, and put back what was there.

        Raises:
            ActionFailed: What is there cannot be kept, or nobody asked for the text.
        """
        data = text.encode()
        if len(data) > _MOST:
            raise ActionFailed("the text is too long for the clipboard")
        before = dict(self._held) if self._owned else self._read_all()
        self._take_ownership({target: (target, 8, data) for target in self._texts})
        try:
            self._asked.clear()
            press()
            if not self._asked.wait(_SECONDS):
                raise ActionFailed("the app did not paste")
            time.sleep(_SETTLE)
        finally:
            self._take_ownership(before)

    def close(self) -> None:
        """Let go; what was kept is gone with it."""
        self._closed = True
        self._thread.join(1.0)
        with contextlib.suppress(OSError, error.ConnectionClosedError):
            self._display.close()

    def _take_ownership(self, contents: dict[int, tuple[int, int, bytes]]) -> None:
        self._held, self._owned = contents, bool(contents)
        selection = self._clipboard
        if contents:
            self._window.set_selection_owner(selection, X.CurrentTime)
        elif self._display.get_selection_owner(selection) == self._window:
            inner = self._display.display
            SetSelectionOwner(display=inner, window=X.NONE, selection=selection, time=X.CurrentTime)
        self._display.sync()

    def _read_all(self) -> dict[int, tuple[int, int, bytes]]:
        """Return target -> type, format and data of what the clipboard holds now."""
        if not self._display.get_selection_owner(self._clipboard):
            return {}
        listed = self._request_target(self._targets)
        if listed is None:
            return {}
        contents: dict[int, tuple[int, int, bytes]] = {}
        skipped = {self._targets, *map(self._display.intern_atom, _NO_DATA)}
        for target in [one for one in listed.value if one not in skipped][:30]:
            got = self._request_target(target)
            if got is None:
                continue
            if got.property_type == self._incremental:
                raise ActionFailed("the clipboard contains something too large to be restored")
            if got.format != 8:
                continue
            value = got.value
            data = value.encode("latin-1") if isinstance(value, str) else bytes(value)
            contents[target] = (got.property_type, got.format, data)
        return contents

    def _request_target(self, target: int) -> Any:
        with self._news:
            self._answers.pop(target, None)
            self._window.convert_selection(self._clipboard, target, self._into, X.CurrentTime)
            self._display.flush()
            end = time.monotonic() + _SECONDS
            while target not in self._answers:
                if not self._news.wait(max(end - time.monotonic(), 0.0)):
                    return None
            if self._answers[target] == X.NONE:
                return None
        return self._window.get_full_property(self._into, X.AnyPropertyType)

    def _serve_requests(self) -> None:
        while not self._closed:
            if not self._display.pending_events():
                select.select([self._display.fileno()], [], [], 0.05)
                continue
            came = self._display.next_event()
            if came.type == X.SelectionRequest:
                with contextlib.suppress(error.XError):
                    self._hand_out(came)
            elif came.type == X.SelectionNotify:
                with self._news:
                    self._answers[came.target] = came.property
                    self._news.notify_all()
            elif came.type == X.SelectionClear:
                self._owned = False

    def _hand_out(self, came: Any) -> None:
        into = came.property or came.target
        if came.target == self._targets:
            came.requestor.change_property(into, Xatom.ATOM, 32, [self._targets, *self._held])
        elif came.target in self._held:
            kind, size, data = self._held[came.target]
            came.requestor.change_property(into, kind, size, data)
        else:
            into = X.NONE
        answer = event.SelectionNotify(
            time=came.time,
            requestor=came.requestor,
            selection=came.selection,
            target=came.target,
            property=into,
        )
        came.requestor.send_event(answer)
        self._display.flush()
        if came.target in self._texts:
            self._asked.set()
