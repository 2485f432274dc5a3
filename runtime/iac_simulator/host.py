"""What a running script reaches: the apps, its streams, the clock, its environment."""

import codecs
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from iac_simulator.desk import OPERATIONS, Desk
from iac_simulator.errors import AppError, Unreachable, missing_app, text_of
from iac_simulator.scenario import Fault
from iac_simulator.streams import Streams

__all__ = ["Exit", "Outside", "TimedOut", "handler"]


class Exit(BaseException):
    """The script called `$.exit`."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class TimedOut(BaseException):
    """The script ran past its time."""


class Outside(NamedTuple):
    """The world outside of the apps, as one run has it.

    `sleep` takes seconds; `check` raises `TimedOut` once the run is past its deadline; `own` says
    that the process is the script's own.
    """

    streams: Streams
    sleep: Callable[[float], None]
    check: Callable[[], None]
    own: bool = False


@dataclass(frozen=True)
class _Host:
    outside: Outside

    def log(self, request: Mapping[str, Any]) -> None:
        self.outside.streams.write(2, request["text"].encode("utf-8", "replace") + b"\n")

    def delay(self, request: Mapping[str, Any]) -> None:
        self.outside.sleep(max(0.0, float(request["seconds"] or 0)))
        self.outside.check()

    def read(self, request: Mapping[str, Any]) -> str:
        data = self.outside.streams.read(int(request["descriptor"]), request["size"])
        return data.decode("latin-1")

    def write(self, request: Mapping[str, Any]) -> None:
        self.outside.streams.write(int(request["descriptor"]), request["data"].encode("latin-1"))

    def close(self, request: Mapping[str, Any]) -> None:
        self.outside.streams.close(int(request["descriptor"]))

    def encode(self, request: Mapping[str, Any]) -> str:
        return str(request["text"].encode("utf-8", "replace").decode("latin-1"))

    def decode(self, request: Mapping[str, Any]) -> str | None:
        try:
            return codecs.decode(request["data"].encode("latin-1"), "utf-8")
        except UnicodeDecodeError:
            return None

    def environment(self, request: Mapping[str, Any]) -> str | None:
        return os.environ.get(request["name"])

    def surroundings(self, _request: Mapping[str, Any]) -> dict[str, str]:
        return dict(os.environ)

    def pid(self, _request: Mapping[str, Any]) -> int:
        return os.getpid()

    def exit(self, request: Mapping[str, Any]) -> None:
        raise Exit(int(request["status"]))


Handled = Callable[[Mapping[str, Any], Callable[[Any], Any]], Any]


def handler(
    desk: Callable[[], Desk],
    outside: Outside,
    handled: Handled,
    settle: Callable[[Sequence[Fault]], None],
) -> Callable[[str], str]:
    """Return the `__send` of a run: a request as JSON in, its answer as JSON out.

    Requests to apps go through `handled(request, operation)`, which may load and save around them;
    the faults that struck go to `settle` when that is done.

    Raises:
        Exit: The script ended itself.
        TimedOut: The run is past its deadline; it is noticed at the next request only.
    """
    host = _Host(outside)

    def send(text: str) -> str:
        outside.check()
        request = json.loads(text)
        name = request["op"]
        struck: list[Fault] = []
        try:
            if name in OPERATIONS:
                value = handled(request, lambda r: desk().answer(name, r, struck))
            else:
                value = getattr(host, name)(request)
            reply = {"value": value}
        except AppError as error:
            reply = {"error": {"number": error.number, "message": _message(desk(), request, error)}}
        except Unreachable:
            reply = {"missing": missing_app(desk().language)}
        except OSError as error:
            reply = {"missing": str(error.strerror)}
        settle(struck)
        return json.dumps(reply)

    return send


def _message(desk: Desk, request: Mapping[str, Any], error: AppError) -> str:
    world = desk.worlds.get(request.get("root", {}).get("key"))
    name = world.tables.app.name if world is not None else "osascript"
    return text_of(error.number, name, desk.language)
