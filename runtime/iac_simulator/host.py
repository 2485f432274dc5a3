"""What a running script reaches: the apps, its streams, the clock, its environment, its process."""

import errno
import io
import json
import os
import signal
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from iac_simulator.dispatcher import OPERATIONS, Dispatcher
from iac_simulator.errors import EventRefusedError, Unreachable, error_message
from iac_simulator.scenario import InjectedFault

AVAILABLE: Final = 0
"""The size that asks for what there is, and waits until there is something."""

_CHUNK: Final = 65536
_NOT_FOUND: Final = -10814
"""JXA says the text of this number, and not the number."""


class ProcessStreams:
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
class BufferStreams:
    """The three standard streams of a run inside another program.

    That program's own descriptors are not the script's: a read or a write of one is refused.
    """

    stdin: io.BytesIO
    written: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})

    def read(self, descriptor: int, size: int | None) -> bytes:
        self._check_descriptor(descriptor, (0,))
        return self.stdin.read() if size is None or size == AVAILABLE else self.stdin.read(size)

    def write(self, descriptor: int, data: bytes) -> None:
        self._check_descriptor(descriptor, self.written)
        self.written[descriptor].extend(data)

    def close(self, descriptor: int) -> None:
        self._check_descriptor(descriptor, (0, *self.written))

    def _check_descriptor(self, descriptor: int, there: Collection[int]) -> None:
        if descriptor not in there:
            text = f"descriptor {descriptor} does not exist in a simulator inside a program"
            raise OSError(errno.EBADF, f"{text}: run iac-osascript, which has all of them")


Streams = ProcessStreams | BufferStreams


class ScriptExit(BaseException):
    """The script called `$.exit`."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class ScriptTimeout(BaseException):
    """The script ran past its time."""


class HostEnvironment(NamedTuple):
    """The world outside of the apps, as one run has it.

    `sleep` takes seconds; `check` raises `ScriptTimeout` once the run is past its deadline; `own`
    says that the process is the script's own.
    """

    streams: Streams
    sleep: Callable[[float], None]
    check: Callable[[], None]
    own: bool = False


def _host_services(outside: HostEnvironment) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
    """Return what a script may ask for besides apps, by the name of the request."""
    streams = outside.streams

    def delay_script(request: Mapping[str, Any]) -> None:
        outside.sleep(max(0.0, float(request["seconds"] or 0)))
        outside.check()

    def decode_text(request: Mapping[str, Any]) -> str | None:
        try:
            return str(request["data"].encode("latin-1"), "utf-8")
        except UnicodeDecodeError:
            return None

    def exit_script(request: Mapping[str, Any]) -> None:
        raise ScriptExit(int(request["status"]))

    # Bytes are text of one byte a character on their way.
    return {
        "log": lambda r: streams.write(2, r["text"].encode("utf-8", "replace") + b"\n"),
        "delay": delay_script,
        "read": lambda r: streams.read(int(r["descriptor"]), r["size"]).decode("latin-1"),
        "write": lambda r: streams.write(int(r["descriptor"]), r["data"].encode("latin-1")),
        "close": lambda r: streams.close(int(r["descriptor"])),
        "encode": lambda r: r["text"].encode("utf-8", "replace").decode("latin-1"),
        "decode": decode_text,
        "environment": lambda r: os.environ.get(r["name"]),
        "surroundings": lambda _: dict(os.environ),
        "pid": lambda _: os.getpid(),
        "parent": lambda _: os.getppid(),
        "exit": exit_script,
    }


class RunSetting(NamedTuple):
    """What a run has around it.

    `dispatcher` is asked for at each request; `handled(request, operation)` is called around each
    request to an app and may load and save around it; `now` is what `new Date()` is, in
    milliseconds since 1970, None for the real clock; `engine` names the engine.
    """

    dispatcher: Callable[[], Dispatcher]
    outside: HostEnvironment
    handled: Callable[[Mapping[str, Any], Callable[[Any], Any]], Any]
    now: float | None
    engine: str


def request_handler(setting: RunSetting) -> Callable[[str], str]:
    """Return the `__send` of a run: a request as JSON in, its answer as JSON out.

    Raises:
        Exit: The script ended itself.
        ScriptTimeout: The run is past its deadline; it is noticed at the next request only.
    """
    outside, dispatcher = setting.outside, setting.dispatcher
    services = _host_services(outside)

    def handle_request(text: str) -> str:
        outside.check()
        request = json.loads(text)
        name = request["op"]
        struck: list[InjectedFault] = []
        try:
            if name in OPERATIONS:
                value = setting.handled(
                    request, lambda r: dispatcher().answer_request(name, r, struck)
                )
            else:
                value = services[name](request)
            reply = {"value": value}
        except EventRefusedError as error:
            world = dispatcher().worlds.get(request.get("root", {}).get("key"))
            name = world.tables.app.name if world is not None else "osascript"
            message = error_message(error.number, name, dispatcher().faults.scenario.language)
            reply = {"error": {"number": error.number, "message": message}}
        except Unreachable:
            reply = {
                "missing": error_message(_NOT_FOUND, "", dispatcher().faults.scenario.language)
            }
        except OSError as error:
            reply = {"missing": str(error.strerror)}
        apply_process_faults(struck, outside)
        return json.dumps(reply)

    return handle_request


_SEGFAULT: Final = 139


def apply_process_faults(faults: Sequence[InjectedFault], outside: HostEnvironment) -> None:
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
            _fork_child(fault)
        if fault.delay:
            outside.sleep(fault.delay)
            outside.check()
        if fault.write:
            outside.streams.write(fault.descriptor, fault.write.encode() * fault.repeat)
        if fault.exit is not None:
            if fault.exit != _SEGFAULT:
                raise ScriptExit(fault.exit)
            if outside.own:
                signal.signal(signal.SIGSEGV, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGSEGV)
            raise ScriptExit(-signal.SIGSEGV)


def _fork_child(fault: InjectedFault) -> None:
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
