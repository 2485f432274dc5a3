"""quickjs-ng as an engine.

It cannot be interrupted from inside the process: its binding knows a time limit only while no
Python function is bound, and without one no event could be sent. A script that computes for ever
ends with its process; give the time limit to a process (`iac-osascript`), or use JavaScriptCore.
"""

from collections.abc import Callable
from typing import Final

from iac_simulator.engine import Check, EngineError, MissingEngineError

try:
    import quickjs  # type: ignore[import-untyped]
except ImportError:
    raise MissingEngineError(
        "The engine quickjs is not installed: pip install quickjs-ng, or use the engine jsc."
    ) from None

_STACK: Final = 1024 * 1024
"""Bytes of stack that a script may use; a proxy chain costs more than plain calls do."""

_MEMORY: Final = 256 * 1024 * 1024
"""Bytes that a script may take: a runaway one ends with an error, not with the process."""


class _QuickJS:
    """It has no moment at which it could ask `_check`."""

    translated = True

    def __init__(self, _check: Check) -> None:
        self._context = quickjs.Context()
        self._context.set_max_stack_size(_STACK)
        self._context.set_memory_limit(_MEMORY)
        self._raised: list[BaseException] = []

    def bind(self, name: str, function: Callable[[str], str]) -> None:
        raised = self._raised

        # It must not hold this object: a circle around a context is freed only when Python next
        # looks for circles, and a context is a megabyte.
        def guarded_call(text: str) -> str:
            if not raised:
                try:
                    return function(text)
                except BaseException as stopped:
                    raised.append(stopped)
            # A JavaScript `catch` would lose a Python exception: it is raised again in `call`.
            return '{"missing": "stopped"}'

        self._context.add_callable(name, guarded_call)

    def evaluate(self, source: str) -> None:
        self._context.eval(source)

    def call(self, name: str, argument: str) -> str:
        function = self._context.get(name)
        try:
            text = function(argument)
        except quickjs.JSException as raised:
            raise self._raised.pop() if self._raised else EngineError(str(raised)) from None
        if self._raised:
            raise self._raised.pop()
        return str(text)


new: Final = _QuickJS
