"""The JavaScript engine that scripts run in: quickjs-ng, with JXA's globals.

It cannot be interrupted from inside the process: its binding knows a time limit only while no
Python function is bound, and without one no event could be sent. A script that computes for ever
ends with its process; give the time limit to a process (`iac-osascript`).
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

_SOURCES: Final = ("jxa.js", "bridge.js", "foundation.js", "descriptors.js", "script.js")

_STACK: Final = 1024 * 1024
"""Bytes of stack that a script may use; a proxy chain costs more than plain calls do."""

_MEMORY: Final = 256 * 1024 * 1024
"""Bytes that a script may take: a runaway one ends with an error, not with the process."""


class EngineError(Exception):
    """The engine gave up on a script in a way that the script cannot catch."""


class MissingEngineError(ImportError):
    """The engine is not installed; the text says what to do."""


def load_quickjs() -> Any:
    """Return the module of the engine, which is imported when it is first used.

    Raises:
        MissingEngineError: It is not installed.
    """
    try:
        import quickjs  # type: ignore[import-untyped]
    except ImportError:
        raise MissingEngineError(
            "The engine quickjs is not installed: pip install quickjs-ng."
        ) from None
    return quickjs


@cache
def script_sources() -> tuple[str, ...]:
    """Return the scripts that give an engine JXA's globals, in the order to run them."""
    folder = Path(__file__).parent
    return tuple(folder.joinpath(name).read_text("utf-8") for name in _SOURCES)


class Engine:
    """A fresh global scope in which one script runs; its events go through `send`, as JSON.

    Raises:
        MissingEngineError: The engine is not installed.
    """

    def __init__(self, send: Callable[[str], str]) -> None:
        self._quickjs = load_quickjs()
        self._context = self._quickjs.Context()
        self._context.set_max_stack_size(_STACK)
        self._context.set_memory_limit(_MEMORY)
        self._raised = raised = list[BaseException]()

        # It must not hold this object: a circle around a context is freed only when Python next
        # looks for circles, and a context is a megabyte.
        def guarded_send(text: str) -> str:
            if not raised:
                try:
                    return send(text)
                except BaseException as stopped:
                    raised.append(stopped)
            # A JavaScript `catch` would lose a Python exception: it is raised again in `call`.
            return '{"missing": "stopped"}'

        self._context.add_callable("__send", guarded_send)
        for source in script_sources():
            self._context.eval(source)

    def call(self, name: str, argument: str) -> str:
        """Call the global function `name` and return its text.

        Raises:
            EngineError: It ended without an answer.
        """
        function = self._context.get(name)
        try:
            text = function(argument)
        except self._quickjs.JSException as raised:
            raise self._raised.pop() if self._raised else EngineError(str(raised)) from None
        if self._raised:
            raise self._raised.pop()
        return str(text)
