"""JavaScriptCore, the engine of the real osascript, as the oracle of the simulator's own engine.

It is called through its C API: on a Mac the system's framework (to be confirmed on a Mac), on Linux
the library of WebKitGTK. As a program this is `iac-osascript` with that engine; as a plugin
(`PYTHONPATH=tests/simulator pytest -p javascript_core`) it puts the engine under all tests.
"""

import ctypes
import sys
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import pytest

from iac_simulator import errors, host, osascript
from iac_simulator.engine import EngineError, script_sources

_SONAMES: Final = (
    "libjavascriptcoregtk-4.0.so.18",
    "libjavascriptcoregtk-4.1.so.0",
    "libjavascriptcoregtk-6.0.so.1",
)
_FRAMEWORK: Final = "/System/Library/Frameworks/JavaScriptCore.framework/JavaScriptCore"
_P = ctypes.c_void_p
_E = ctypes.POINTER(_P)
_Call = ctypes.CFUNCTYPE(_P, _P, _P, _P, ctypes.c_size_t, _E, _E)

_FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "JSContextGroupCreate": (_P, ()),
    "JSContextGroupRelease": (None, (_P,)),
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
    """Return JavaScriptCore with its functions declared; skip the test where it is missing."""
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
    pytest.skip("apt-get install libjavascriptcoregtk-4.0-18 (or 4.1-0, 6.0-1)")


def own_words(error: Mapping[str, Any], _script: str, _prefix: int) -> str:
    """Stand for the translation of an error into this engine's words."""
    return str(error["text"])


class JavaScriptCore:
    """A fresh global scope, like `iac_simulator.engine.Engine`."""

    def __init__(self, send: Callable[[str], str]) -> None:
        self._lib = load_library()
        self._raised: BaseException | None = None
        # ctypes does not keep a callback alive for the library.
        self._kept: list[Any] = []
        self._group = self._lib.JSContextGroupCreate()
        self._context = self._lib.JSGlobalContextCreateInGroup(self._group, None)
        self.bind("__send", send)
        for source in script_sources():
            self.evaluate(source)

    def __del__(self) -> None:
        if getattr(self, "_context", None):
            self._lib.JSGlobalContextRelease(self._context)
            self._lib.JSContextGroupRelease(self._group)

    def bind(self, name: str, function: Callable[[str], str]) -> None:
        # A callback must not hold this object, or both are freed only when Python next looks for
        # circles, and a context is megabytes.
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


def pytest_configure(config: object = None) -> None:
    """Put this engine into the place of the simulator's own."""
    vars(host)["Engine"], vars(errors)["_jsc_wording"] = JavaScriptCore, own_words


if __name__ == "__main__":
    pytest_configure()
    sys.exit(osascript.main())
