"""What a running script reaches: the apps, its streams, the clock, its environment."""

import codecs
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from iac_simulator.desk import OPERATIONS, Desk
from iac_simulator.errors import AppError, Unreachable, text_of

__all__ = ["Exit", "Outside", "TimedOut", "handler"]


class Exit(BaseException):
    """The script called `$.exit`."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class TimedOut(BaseException):
    """The script ran past its time."""


class Reader(Protocol):
    """Standard input: what `readDataToEndOfFile`, `availableData` and the script's text use."""

    def read(self) -> bytes: ...

    def read1(self, size: int, /) -> bytes: ...


class Outside(NamedTuple):
    """The world outside of the apps, as one run has it.

    `write` takes a file descriptor and bytes; `sleep` takes seconds; `check` raises `TimedOut`
    once the run is past its deadline.
    """

    stdin: Reader
    write: Callable[[int, bytes], None]
    sleep: Callable[[float], None]
    check: Callable[[], None]


@dataclass(frozen=True)
class _Host:
    outside: Outside

    def log(self, request: Mapping[str, Any]) -> None:
        self.outside.write(2, request["text"].encode("utf-8", "replace") + b"\n")

    def delay(self, request: Mapping[str, Any]) -> None:
        self.outside.sleep(max(0.0, float(request["seconds"] or 0)))
        self.outside.check()

    def read(self, request: Mapping[str, Any]) -> str:
        size = request["size"]
        if size is None:
            data = self.outside.stdin.read()
        else:
            data = self.outside.stdin.read1(size) if size else self.outside.stdin.read1(65536)
        return data.decode("latin-1")

    def write(self, request: Mapping[str, Any]) -> None:
        self.outside.write(int(request["descriptor"]), request["data"].encode("latin-1"))

    def encode(self, request: Mapping[str, Any]) -> str:
        return str(request["text"].encode("utf-8", "replace").decode("latin-1"))

    def decode(self, request: Mapping[str, Any]) -> str | None:
        try:
            return codecs.decode(request["data"].encode("latin-1"), "utf-8")
        except UnicodeDecodeError:
            return None

    def environment(self, request: Mapping[str, Any]) -> str | None:
        return os.environ.get(request["name"])

    def exit(self, request: Mapping[str, Any]) -> None:
        raise Exit(int(request["status"]))


Handled = Callable[[Mapping[str, Any], Callable[[Any], Any]], Any]


def handler(desk: Callable[[], Desk], outside: Outside, handled: Handled) -> Callable[[str], str]:
    """Return the `__send` of a run: a request as JSON in, its answer as JSON out.

    Requests to apps go through `handled(request, operation)`, which may load and save around them.

    Raises:
        Exit: The script ended itself.
        TimedOut: The run is past its deadline; it is noticed at the next request only.
    """
    host = _Host(outside)

    def send(text: str) -> str:
        outside.check()
        request = json.loads(text)
        name = request["op"]
        try:
            if name in OPERATIONS:
                value = handled(request, lambda r: desk().operations[name](r))
            else:
                value = getattr(host, name)(request)
            reply = {"value": value}
        except AppError as error:
            reply = {"error": {"number": error.number, "message": _message(desk(), request, error)}}
        except Unreachable as error:
            reply = {"missing": str(error)}
        except OSError as error:
            reply = {"missing": str(error.strerror)}
        return json.dumps(reply)

    return send


def _message(desk: Desk, request: Mapping[str, Any], error: AppError) -> str:
    world = desk.worlds.get(request.get("root", {}).get("key"))
    return text_of(error.number, world.tables.app.name if world is not None else "osascript")
