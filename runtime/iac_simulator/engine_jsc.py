"""JavaScriptCore as an engine, through its C API and ctypes.

On a Mac it is the system's framework (to be confirmed on a Mac), on Linux the library of WebKitGTK.
Source of the functions: JavaScriptCore's public headers, and `JSContextRefPrivate.h` for the time
limit, which both libraries export.
"""

import ctypes
import sys
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from iac_simulator.engine import Check, EngineError, MissingEngineError

_SONAMES: Final = (
    "libjavascriptcoregtk-4.0.so.18",
    "libjavascriptcoregtk-4.1.so.0",
    "libjavascriptcoregtk-6.0.so.1",
)
_FRAMEWORK: Final = "/System/Library/Frameworks/JavaScriptCore.framework/JavaScriptCore"
_WAY: Final = {
    "darwin": "it is a part of macOS; report which system this is",
    "linux": "apt-get install libjavascriptcoregtk-4.0-18 (or 4.1-0, 6.0-1)",
}
_TICK: Final = 0.05
"""Seconds of running script between two looks at the deadline."""

_P = ctypes.c_void_p
_E = ctypes.POINTER(_P)
_Call = ctypes.CFUNCTYPE(_P, _P, _P, _P, ctypes.c_size_t, _E, _E)
_Stop = ctypes.CFUNCTYPE(ctypes.c_bool, _P, _P)

_FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "JSContextGroupCreate": (_P, ()),
    "JSContextGroupRelease": (None, (_P,)),
    "JSContextGroupSetExecutionTimeLimit": (None, (_P, ctypes.c_double, _Stop, _P)),
    "JSGlobalContextCreateInGroup": (_P, (_P, _P)),
    "JSGlobalContextRelease": (None, (_P,)),
    "JSContextGetGlobalObject": (_P, (_P,)),
    "JSEvaluateScript": (_P, (_P, _P, _P, _P, ctypes.c_int, _E)),
    "JSObjectMakeFunctionWithCallback": (_P, (_P, _P, _Call)),
    "JSObjectSetProperty": (None, (_P, _P, _P, _P, ctypes.c_uint, _E)),
    "JSObjectGetProperty": (_P, (_P, _P, _P, _E)),
    "JSObjectCallAsFunction": (_P, (_P, _P, _P, ctypes.c_size_t, _E, _E)),
    "JSValueMakeString": (_P, (_P, _P)),
    "JSValueToStringCopy": (_P, (_P, _P, _E)),
    "JSStringCreateWithCharacters": (_P, (ctypes.c_char_p, ctypes.c_size_t)),
    "JSStringGetLength": (ctypes.c_size_t, (_P,)),
    "JSStringGetCharactersPtr": (_P, (_P,)),
    "JSStringRelease": (None, (_P,)),
}
"""Function -> its result and its arguments."""


@cache
def load_library() -> Any:
    """Return JavaScriptCore with its functions declared.

    Raises:
        MissingEngineError: There is none on this machine; the text says how to get it.
    """
    names = (_FRAMEWORK,) if sys.platform == "darwin" else _SONAMES
    for name in names:
        try:
            loaded = ctypes.CDLL(name)
            for function, (result, arguments) in _FUNCTIONS.items():
                entry = getattr(loaded, function)
                entry.restype, entry.argtypes = result, arguments
        except (OSError, AttributeError):
            continue
        return loaded
    way = _WAY.get(sys.platform, "there is no known library for this system")
    raise MissingEngineError(f"The engine jsc is not installed: {way}. Or use the engine quickjs.")


class _Core:
    """A new engine asks `check` while a script runs, about 20 times a second."""

    translated = False

    def __init__(self, check: Check) -> None:
        self._lib = load_library()
        self._check = check
        self._raised: BaseException | None = None
        # ctypes does not keep a callback alive for the library.
        self._kept: list[Any] = []
        self._group = self._lib.JSContextGroupCreate()
        self._context = self._lib.JSGlobalContextCreateInGroup(self._group, None)
        # A callback must not hold this object, or both are freed only when Python next looks for
        # circles, and a context is megabytes.
        me = weakref.ref(self)
        self._stop = _Stop(lambda *_: (core := me()) is None or core._must_stop())
        self._lib.JSContextGroupSetExecutionTimeLimit(self._group, _TICK, self._stop, None)

    def __del__(self) -> None:
        if getattr(self, "_context", None):
            self._lib.JSGlobalContextRelease(self._context)
            self._lib.JSContextGroupRelease(self._group)

    def _must_stop(self) -> bool:
        try:
            if self._raised is None:
                self._check()
        except BaseException as raised:
            self._raised = raised
        if self._raised is None:
            # The limit counts once: it has to be set again for the next look.
            self._lib.JSContextGroupSetExecutionTimeLimit(self._group, _TICK, self._stop, None)
        return self._raised is not None

    def bind(self, name: str, function: Callable[[str], str]) -> None:
        me = weakref.ref(self)

        def call_back(
            _context: int, _function: int, _this: int, count: int, values: Any, _error: Any
        ) -> int:
            core = me()
            return core._answer_callback(function, values[0] if count else None) if core else 0

        callback = _Call(call_back)
        self._kept.append(callback)
        key = self._make_string(name)
        made = self._lib.JSObjectMakeFunctionWithCallback(self._context, key, callback)
        root = self._lib.JSContextGetGlobalObject(self._context)
        self._lib.JSObjectSetProperty(self._context, root, key, made, 0, None)
        self._lib.JSStringRelease(key)

    def _answer_callback(self, function: Callable[[str], str], value: int | None) -> int:
        reply = '{"missing": "stopped"}'
        if self._raised is None:
            try:
                reply = function("" if value is None else self._read_text(value))
            except BaseException as raised:
                self._raised = raised
        return self._make_value(reply)

    def evaluate(self, source: str) -> None:
        text, origin, error = self._make_string(source), self._make_string("iac"), _P()
        self._lib.JSEvaluateScript(self._context, text, None, origin, 1, ctypes.byref(error))
        self._lib.JSStringRelease(text)
        self._lib.JSStringRelease(origin)
        self._raise_pending(error)

    def call(self, name: str, argument: str) -> str:
        key, error = self._make_string(name), _P()
        root = self._lib.JSContextGetGlobalObject(self._context)
        function = self._lib.JSObjectGetProperty(self._context, root, key, None)
        self._lib.JSStringRelease(key)
        arguments = (_P * 1)(self._make_value(argument))
        value = self._lib.JSObjectCallAsFunction(
            self._context, function, None, 1, arguments, ctypes.byref(error)
        )
        self._raise_pending(error)
        return self._read_text(value)

    def _raise_pending(self, error: Any) -> None:
        if self._raised is not None:
            raise self._raised
        if error.value:
            raise EngineError(self._read_text(error.value))

    def _make_string(self, text: str) -> int:
        units = text.encode("utf-16-le", "surrogatepass")
        made: int = self._lib.JSStringCreateWithCharacters(units, len(units) // 2)
        return made

    def _make_value(self, text: str) -> int:
        string = self._make_string(text)
        value: int = self._lib.JSValueMakeString(self._context, string)
        self._lib.JSStringRelease(string)
        return value

    def _read_text(self, value: int) -> str:
        string = self._lib.JSValueToStringCopy(self._context, value, None)
        if not string:
            return ""
        size = self._lib.JSStringGetLength(string) * 2
        units = ctypes.string_at(self._lib.JSStringGetCharactersPtr(string), size)
        self._lib.JSStringRelease(string)
        return units.decode("utf-16-le", "surrogatepass")


new: Final = _Core
