"""What a running script reaches: the apps, its streams, the clock, its environment, its process."""

import codecs
import errno
import io
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from iac_simulator.dispatcher import OPERATIONS, Dispatcher
from iac_simulator.errors import EventRefusedError, Unreachable, missing_app, text_of
from iac_simulator.scenario import InjectedFault

__all__ = [
    "AVAILABLE",
    "Buffers",
    "Descriptors",
    "Exit",
    "Outside",
    "RunSetting",
    "TimedOut",
    "handler",
    "suffer",
]

AVAILABLE: Final = 0
"""The size that asks for what there is, and waits until there is something."""

_CHUNK: Final = 65536


class Descriptors:
    """The file descriptors of this process; each method raises OSError as the system does."""

    def read(self, descriptor: int, size: int | None) -> bytes:
        """Return `size` bytes, fewer at the end; None for all of them, or `AVAILABLE`."""
        if size == AVAILABLE:
            return os.read(descriptor, _CHUNK)
        with open(descriptor, "rb", buffering=0, closefd=False) as stream:
            if size is None:
                return stream.read()
            found = b""
            while len(found) < size and (part := stream.read(min(size - len(found), _CHUNK))):
                found += part
            return found

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`."""
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)


@dataclass(frozen=True)
class Buffers:
    """The three standard streams of a run inside another program.

    That program's own descriptors are not the script's: a read or a write of one is refused.
    """

    stdin: io.BytesIO
    written: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})

    def read(self, descriptor: int, size: int | None) -> bytes:
        if descriptor != 0:
            raise _no_descriptor(descriptor)
        return self.stdin.read() if size is None or size == AVAILABLE else self.stdin.read(size)

    def write(self, descriptor: int, data: bytes) -> None:
        if descriptor not in self.written:
            raise _no_descriptor(descriptor)
        self.written[descriptor].extend(data)

    def close(self, descriptor: int) -> None:
        if descriptor not in (0, *self.written):
            raise _no_descriptor(descriptor)


def _no_descriptor(descriptor: int) -> OSError:
    text = (
        f"descriptor {descriptor} does not exist in a simulator inside a program: run"
        " iac-osascript, which has all of them"
    )
    return OSError(errno.EBADF, text)


Streams = Descriptors | Buffers


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


class RunSetting(NamedTuple):
    """What a run has around it.

    `dispatcher` is asked for at each request; `handled(request, operation)` is called around each
    request to an app and may load and save around it; `moment` is what `new Date()` is, None for
    the real clock; `engine` names the engine.
    """

    dispatcher: Callable[[], Dispatcher]
    outside: Outside
    handled: Callable[[Mapping[str, Any], Callable[[Any], Any]], Any]
    moment: datetime | None
    engine: str


def handler(setting: RunSetting) -> Callable[[str], str]:
    """Return the `__send` of a run: a request as JSON in, its answer as JSON out.

    Raises:
        Exit: The script ended itself.
        TimedOut: The run is past its deadline; it is noticed at the next request only.
    """
    host, outside, dispatcher = _Host(setting.outside), setting.outside, setting.dispatcher

    def send(text: str) -> str:
        outside.check()
        request = json.loads(text)
        name = request["op"]
        struck: list[InjectedFault] = []
        try:
            if name in OPERATIONS:
                value = setting.handled(request, lambda r: dispatcher().answer(name, r, struck))
            else:
                value = getattr(host, name)(request)
            reply = {"value": value}
        except EventRefusedError as error:
            message = _message(dispatcher(), request, error)
            reply = {"error": {"number": error.number, "message": message}}
        except Unreachable:
            reply = {"missing": missing_app(dispatcher().language)}
        except OSError as error:
            reply = {"missing": str(error.strerror)}
        suffer(struck, outside)
        return json.dumps(reply)

    return send


def _message(dispatcher: Dispatcher, request: Mapping[str, Any], error: EventRefusedError) -> str:
    world = dispatcher.worlds.get(request.get("root", {}).get("key"))
    name = world.tables.app.name if world is not None else "osascript"
    return text_of(error.number, name, dispatcher.language)


_SEGFAULT: Final = 139


def suffer(faults: Sequence[InjectedFault], outside: Outside) -> None:
    """Carry out what `faults` say about the process, in order: wait, fork, write, end.

    Inside another program (`outside.own` is False) nothing is forked and no signal touched; a
    segmentation fault there is the status -11, as a caller of the program would see it.

    Raises:
        Exit: A fault ends the script.
    """
    for fault in faults:
        if fault.ignore_term and outside.own:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if fault.fork and outside.own:
            _fork(fault)
        if fault.delay:
            outside.sleep(fault.delay)
            outside.check()
        if fault.write:
            outside.streams.write(fault.descriptor, fault.write.encode() * fault.repeat)
        if fault.exit is not None:
            if fault.exit == _SEGFAULT:
                _crash(outside)
            raise Exit(fault.exit)


def _fork(fault: InjectedFault) -> None:
    """Leave a child behind that holds all descriptors and sleeps; it is ready at the return."""
    ready, said = os.pipe()
    if os.fork() == 0:
        try:
            if fault.setsid:
                os.setsid()
            os.close(said)
            time.sleep(fault.fork)
        finally:
            os._exit(0)
    os.close(said)
    os.read(ready, 1)
    os.close(ready)


def _crash(outside: Outside) -> None:
    if outside.own:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    raise Exit(-signal.SIGSEGV)
