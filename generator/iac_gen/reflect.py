"""Reflect: ask an osascript what JXA's reflection says of an app.

The generator never talks to apps: making the object and asking for its names sends no event and
starts nothing. That this holds, only a Mac can confirm.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from typing import Any, Final

from iac_gen.verify import Names, Printed, Reflection

__all__ = ["NoReflectionError", "ReflectionError", "reflect"]

_SECONDS: Final = 60


class ReflectionError(Exception):
    """An app's names cannot be had; the text is one line."""


class NoReflectionError(ReflectionError):
    """There is nothing that reflection would say of it."""


def reflect(
    names: Names,
    program: Sequence[str],
    seconds: float = _SECONDS,
    environment: Mapping[str, str] | None = None,
) -> Reflection:
    """Return what reflection prints of the app and of each of its classes.

    Args:
        program: The osascript to run, with its first arguments if it needs any.
        seconds: After which it is killed.
        environment: Variables for it beside our own.

    Raises:
        ReflectionError: It cannot be started, fails, hangs, or answers something else.
        NoReflectionError: It answers that it has no names at all.
    """
    request = {
        "app": names.app,
        "kind": names.kind,
        "classes": [[row.name.jxa, row.name.term] for row in names.classes],
    }
    with as_file(files("iac_gen") / "reflection.js") as script:
        try:
            done = subprocess.run(
                [*program, "-l", "JavaScript", str(script)],
                input=json.dumps(request).encode(),
                capture_output=True,
                timeout=seconds,
                check=False,
                env={**os.environ, **(environment or {})},
            )
        except subprocess.TimeoutExpired:
            raise ReflectionError(f"{program[0]} did not end within {seconds:g} seconds") from None
        except OSError as error:
            raise ReflectionError(f"{program[0]} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1] if said else f"status {done.returncode}"
        raise ReflectionError(f"{program[0]} failed: {reason}")
    return _read(done.stdout, names)


def _read(stdout: bytes, names: Names) -> Reflection:
    try:
        answer = json.loads(stdout)
        rows = answer["classes"]
        if len(rows) != len(names.classes):
            raise ValueError("another number of classes")
        printed = {
            owner.name.term: Printed(
                _texts(row["properties"]), _texts(row["elements"]), _text(row["parent"])
            )
            for owner, row in zip(names.classes, rows, strict=True)
        }
        commands = _texts(answer["commands"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ReflectionError("the answer is not that of our script") from None
    if commands is None and not any(row.properties or row.elements for row in printed.values()):
        raise NoReflectionError("it has no reflection, or the dictionary could not be loaded")
    return Reflection(commands, printed)


def _texts(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("no list of names")
    return tuple(value)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError("no name")
