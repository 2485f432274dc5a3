"""The seam between the simulator and a JavaScript engine.

An engine evaluates source text and gives it one function, `__send(json) -> json`. quickjs-ng is
the engine of this module; another one has to offer the same three methods.
"""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Protocol

import quickjs  # type: ignore[import-untyped]

__all__ = ["Engine", "EngineError", "new_engine"]

_STACK = 1024 * 1024
"""Bytes of stack that a script may use; a proxy chain costs more than plain calls do."""

_MEMORY = 256 * 1024 * 1024
"""Bytes that a script may take: a runaway one ends with an error, not with the process."""


class EngineError(Exception):
    """The engine gave up on a script in a way that the script cannot catch."""


class Engine(Protocol):
    """A fresh global scope in which one script runs."""

    def bind(self, name: str, function: Callable[[str], str]) -> None:
        """Make `function` a global of the script; an exception in it ends the script."""

    def evaluate(self, source: str) -> None:
        """Run `source` as a global script."""

    def call(self, name: str, argument: str) -> str:
        """Call the global function `name` and return its text.

        Raises:
            EngineError: It ended without an answer.
        """
        ...


class _QuickJS:
    """quickjs-ng. It knows no time limit while a Python function is bound."""

    def __init__(self) -> None:
        self._context = quickjs.Context()
        self._context.set_max_stack_size(_STACK)
        self._context.set_memory_limit(_MEMORY)
        self._raised: BaseException | None = None

    def bind(self, name: str, function: Callable[[str], str]) -> None:
        def guarded(text: str) -> str:
            if self._raised is None:
                try:
                    return function(text)
                except BaseException as raised:
                    self._raised = raised
            # A JavaScript `catch` would lose a Python exception: it is raised again in `call`.
            return '{"missing": "stopped"}'

        self._context.add_callable(name, guarded)

    def evaluate(self, source: str) -> None:
        self._context.eval(source)

    def call(self, name: str, argument: str) -> str:
        function = self._context.get(name)
        try:
            text = function(argument)
        except quickjs.JSException as raised:
            raise self._raised or EngineError(str(raised)) from None
        if self._raised is not None:
            raise self._raised
        return str(text)


@cache
def _sources() -> tuple[str, ...]:
    folder = files("iac_simulator")
    return tuple(folder.joinpath(name).read_text("utf-8") for name in ("jxa.js", "bridge.js"))


def new_engine(send: Callable[[str], str]) -> Engine:
    """Return an engine with JXA's globals whose events go through `send`."""
    engine = _QuickJS()
    engine.bind("__send", send)
    for source in _sources():
        engine.evaluate(source)
    return engine
