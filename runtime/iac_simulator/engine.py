"""The seam between the simulator and a JavaScript engine.

An engine evaluates source text and gives it one function, `__send(json) -> json`. There are two:
quickjs-ng (the default) and JavaScriptCore, the engine of the real osascript, which takes a real
time limit and has its own error texts.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol

VARIABLE: Final = "IAC_SIMULATOR_ENGINE"

ENGINES: Final[Mapping[str, str]] = {
    "quickjs": "iac_simulator.engine_quickjs",
    "jsc": "iac_simulator.engine_jsc",
}
"""Engine -> its module, which offers `new(check)`; imported when it is first used."""

Check = Callable[[], None]
"""Asked now and then while a script runs; an exception ends the script."""


class EngineError(Exception):
    """The engine gave up on a script in a way that the script cannot catch."""


class MissingEngineError(ImportError):
    """An engine is not installed, or there is none of that name; the text says what to do."""


class Engine(Protocol):
    """A fresh global scope in which one script runs."""

    translated: bool
    """Whether the engine's error texts have to be put into JavaScriptCore's words."""

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


_SOURCES: Final = ("jxa.js", "bridge.js", "foundation.js", "descriptors.js", "script.js")


@cache
def _script_sources() -> tuple[str, ...]:
    folder = Path(__file__).parent
    return tuple(folder.joinpath(name).read_text("utf-8") for name in _SOURCES)


def engine_name(name: str | None = None) -> str:
    """Return the engine to use: `name`, else the environment's, else quickjs.

    Raises:
        MissingEngineError: There is no engine of that name.
    """
    wanted = name or os.environ.get(VARIABLE) or "quickjs"
    if wanted not in ENGINES:
        raise MissingEngineError(f"There is no engine {wanted!r}: use one of {', '.join(ENGINES)}.")
    return wanted


def new_engine(name: str, send: Callable[[str], str], check: Check) -> Engine:
    """Return a new engine with JXA's globals whose events go through `send`.

    Raises:
        MissingEngineError: It is not installed.
    """
    engine: Engine = import_module(ENGINES[name]).new(check)
    engine.bind("__send", send)
    for source in _script_sources():
        engine.evaluate(source)
    return engine
