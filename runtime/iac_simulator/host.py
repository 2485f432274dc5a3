"""One run of osascript: its arguments, what the script reaches, its result as text and status.

A script reaches the apps, its streams, the clock, its environment and its process.
"""

import errno
import getopt
import io
import json
import os
import signal
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_simulator.dispatcher import OPERATIONS, Dispatcher
from iac_simulator.engine import Engine, EngineError, MissingEngineError
from iac_simulator.errors import (
    EventRefusedError,
    Unreachable,
    error_line,
    error_message,
    error_text,
)
from iac_simulator.scenario import InjectedFault

AVAILABLE: Final = 0
"""The size that asks for what there is, and waits until there is something."""

_CHUNK: Final = 65536
_NOT_FOUND: Final = -10814
"""JXA says the text of this number, and not the number."""


_ENCODINGS: Final = {4: "utf-8", 5: "latin-1", 30: "mac_roman"}
"""NSStringEncoding -> Python's name."""


class ProcessStreams:
    """The file descriptors of this process; each method raises OSError as the system does."""

    def read(self, descriptor: int, size: int | None) -> bytes:
        """Return `size` bytes, fewer at the end; None for all of them, or `AVAILABLE`."""
        if size == AVAILABLE:
            return os.read(descriptor, _CHUNK)
        with open(descriptor, "rb", buffering=0, closefd=False) as stream:
            if size is None:
                return stream.read()
            data = b""
            while len(data) < size and (part := stream.read(min(size - len(data), _CHUNK))):
                data += part
            return data

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
    says that the process is the script's own; `clock` counts seconds, those that were slept too.
    """

    streams: Streams
    sleep: Callable[[float], None]
    check: Callable[[], None]
    own: bool = False
    clock: Callable[[], float] = time.monotonic


def _host_services(outside: HostEnvironment) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
    """Return what a script may ask for besides apps, by the name of the request."""
    streams = outside.streams

    def delay_script(request: Mapping[str, Any]) -> None:
        outside.sleep(max(0.0, float(request["seconds"] or 0)))
        outside.check()

    def decode_text(request: Mapping[str, Any]) -> str | None:
        coding = _ENCODINGS.get(request.get("encoding", 4), "utf-8")
        try:
            return str(request["data"].encode("latin-1"), coding)
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
        "base64": lambda r: b64encode(r["data"].encode("latin-1")).decode("ascii"),
        "unbase64": lambda r: b64decode(r["text"]).decode("latin-1"),
        "uptime": lambda _: outside.clock(),
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
    milliseconds since 1970, None for the real clock.
    """

    dispatcher: Callable[[], Dispatcher]
    outside: HostEnvironment
    handled: Callable[[Mapping[str, Any], Callable[[Any], Any]], Any]
    now: float | None


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
            language = dispatcher().faults.scenario.language
            reply = {"missing": error_message(_NOT_FOUND, "", language)}
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
    ready, started = os.pipe()
    if os.fork() == 0:
        try:
            if fault.setsid:
                os.setsid()
            os.close(started)
            time.sleep(fault.fork)
        finally:
            os._exit(0)
    os.close(started)
    os.read(ready, 1)
    os.close(ready)


class CommandLineError(ValueError):
    """An argument that osascript refuses; the text is its one line."""


class CommandLine(NamedTuple):
    """`lines` are those of `-e`, None without one; `file` is None for a script on stdin.

    `interactive` is `-i`: `lines` or `file` are loaded, then lines of standard input answered.
    `form` is `h` or `s` (human or source form), `errors` is `e` or `o` (stderr or stdout).
    """

    language: str
    lines: tuple[str, ...] | None
    file: str | None
    argv: tuple[str, ...]
    form: str
    errors: str
    interactive: bool = False


def read_options(argv: Sequence[str]) -> CommandLine:
    """Return the options of `argv` without the program's name.

    With `-e`, a `--` before the arguments is eaten; after a file name it stays (measured, see
    docs/simulator.md).

    Raises:
        CommandLineError: An unknown option, or a value that is missing.
    """
    language, form, errors, interactive = "AppleScript", "h", "e", False
    lines: list[str] = []
    try:
        options, words = getopt.getopt(list(argv), "il:e:s:")
    except getopt.GetoptError as error:
        fault = "option requires an argument" if "requires" in error.msg else "illegal option"
        letter = error.opt if len(error.opt) == 1 else "-"
        raise CommandLineError(f"osascript: {fault} -- {letter}") from None
    for option, value in options:
        if option == "-i":
            interactive = True
        elif option == "-l":
            language = value
        elif option == "-e":
            lines.append(value)
        else:
            for letter in value:
                if letter not in "hseo":
                    raise CommandLineError(f"osascript: unknown flag {letter!r} for -s")
                form, errors = (letter, errors) if letter in "hs" else (form, letter)
    given = tuple(lines) if lines else None
    file = None if lines or not words else words.pop(0)
    file = None if file == "-" else file
    return CommandLine(language, given, file, tuple(words), form, errors, interactive)


_PROMPT: Final = b">> "


def run_script(argv: Sequence[str], setting: RunSetting) -> int:
    """Run the arguments of osascript and return the exit status; texts go to the streams.

    Args:
        argv: The arguments without the program's name.

    Raises:
        ScriptTimeout: `outside.check` said so.
    """
    outside = setting.outside
    try:
        options = read_options(argv)
    except CommandLineError as error:
        return _write_failure(outside, 2, f"{error}\n", 64)
    language = options.language.casefold()
    if language not in ("javascript", "applescript") or (
        options.interactive and language == "applescript"
    ):
        text = "the simulator runs JavaScript and AppleScript, and line by line JavaScript only"
        return _write_failure(outside, 2, f"osascript: {text}: not {options.language}\n")
    try:
        script = _read_script(options, outside)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        return _write_failure(outside, 2, f"osascript: {options.file or 'stdin'}: {reason}\n")
    try:
        apply_process_faults(setting.dispatcher().faults.due_faults("start"), outside)
        if language == "applescript":
            return _run_applescript(options, script, setting)
        engine = Engine(request_handler(setting))
        if options.interactive:
            return _run_interactive(engine, script, setting)
        return _run_once(engine, options, script, setting)
    except MissingEngineError as error:
        return _write_failure(outside, 2, f"osascript: {error}\n")
    except ScriptExit as ended:
        return ended.status if ended.status < 0 else ended.status & 0xFF


def _read_script(options: CommandLine, outside: HostEnvironment) -> str:
    if options.lines is not None:
        text = "\n".join(options.lines)
    elif options.file is not None:
        text = Path(options.file).read_bytes().decode("utf-8")
    elif options.interactive:
        return ""
    else:
        text = outside.streams.read(0, None).decode("utf-8")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    # The line stays, so that places in error texts do.
    javascript = options.language.casefold() == "javascript"
    return "//" + text if javascript and text.startswith("#!") else text


def _call_engine(engine: Engine, name: str, request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        reply: dict[str, Any] = json.loads(engine.call(name, json.dumps(request)))
    except EngineError as stopped:
        text = str(stopped).partition("\n")[0] or "the engine stopped"
        return {"error": {"text": text, "number": -2700, "coded": True, "message": text}}
    return reply


def _run_once(engine: Engine, options: CommandLine, script: str, setting: RunSetting) -> int:
    request = {"script": script, "argv": options.argv, "form": options.form, "now": setting.now}
    reply = _call_engine(engine, "__run", request)
    if "error" not in reply:
        if not reply.get("empty"):
            setting.outside.streams.write(1, f"{reply['text']}\n".encode("utf-8", "replace"))
        return 0
    style = setting.dispatcher().faults.scenario.error_lines
    text = error_text(reply, script)
    line = error_line(reply["error"], text, script, options.file, style)
    return _write_failure(setting.outside, 1 if options.errors == "o" else 2, line)


def _run_applescript(options: CommandLine, script: str, setting: RunSetting) -> int:
    # A run of JavaScript needs none of it.
    from iac_simulator.applescript.program import ScriptReach, run_applescript

    outside = setting.outside

    def write_log(text: str) -> None:
        outside.streams.write(2, text.encode("utf-8", "replace") + b"\n")

    send = request_handler(setting)
    reach = ScriptReach(send, setting.dispatcher, write_log, outside.sleep, outside.check)
    ended = run_applescript(script, options.argv, options.form, reach)
    if ended.error:
        where = f"{options.file}:" if options.file is not None else ""
        return _write_failure(outside, 1 if options.errors == "o" else 2, where + ended.error)
    if ended.text is not None:
        outside.streams.write(1, f"{ended.text}\n".encode("utf-8", "replace"))
    return 0


def _run_interactive(engine: Engine, script: str, setting: RunSetting) -> int:
    """Answer line by line; a script that was given is loaded first, its `run` is not called."""
    streams = setting.outside.streams
    if script:
        _call_engine(engine, "__step", {"line": script, "now": setting.now})
    streams.write(1, _PROMPT)
    for line in _input_lines(setting.outside):
        reply = _call_engine(engine, "__step", {"line": line, "now": None})
        if "error" in reply:
            line_answer = f"!! Error on line 1: {error_text(reply, line)}\n"
        else:
            line_answer = f"=> {reply['text']}\n"
        streams.write(1, line_answer.encode("utf-8", "replace") + _PROMPT)
    streams.write(1, b"\n")
    return 0


def _input_lines(outside: HostEnvironment) -> Iterator[str]:
    """Yield the lines of standard input as they come; the rest at the end counts as one."""
    rest = b""
    while data := outside.streams.read(0, 0):
        *lines, rest = (rest + data).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines if line.strip())
    if rest.strip():
        yield rest.decode("utf-8", "replace")


def _write_failure(outside: HostEnvironment, descriptor: int, text: str, status: int = 1) -> int:
    outside.streams.write(descriptor, text.encode("utf-8", "replace"))
    return status
