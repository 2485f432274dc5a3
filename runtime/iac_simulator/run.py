"""One run of osascript: arguments to script, script to result, result to text and status."""

import getopt
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_simulator.engine import Engine, EngineError, MissingEngineError, new_engine
from iac_simulator.errors import error_line, error_text
from iac_simulator.host import (
    HostEnvironment,
    RunSetting,
    ScriptExit,
    apply_process_faults,
    request_handler,
)


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
    if options.language.casefold() != "javascript":
        text = f"the simulator runs JavaScript only, not {options.language}: use -l JavaScript"
        return _write_failure(outside, 2, f"osascript: {text}\n")
    try:
        script = _read_script(options, outside)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        return _write_failure(outside, 2, f"osascript: {options.file or 'stdin'}: {reason}\n")
    try:
        apply_process_faults(setting.dispatcher().faults.due_faults("start"), outside)
        engine = new_engine(setting.engine, request_handler(setting), outside.check)
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
    return "//" + text if text.startswith("#!") else text


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
    text = error_text(reply, script, translated=engine.translated)
    line = error_line(reply["error"], text, script, options.file, style)
    return _write_failure(setting.outside, 1 if options.errors == "o" else 2, line)


def _run_interactive(engine: Engine, script: str, setting: RunSetting) -> int:
    """Answer line by line; a script that was given is loaded first, its `run` is not called."""
    streams = setting.outside.streams
    if script:
        _call_engine(engine, "__step", {"line": script, "now": setting.now})
    streams.write(1, _PROMPT)
    for line in _input_lines(setting.outside):
        reply = _call_engine(engine, "__step", {"line": line, "now": None})
        if "error" in reply:
            text = error_text(reply, line, translated=engine.translated)
            said = f"!! Error on line 1: {text}\n"
        else:
            said = f"=> {reply['text']}\n"
        streams.write(1, said.encode("utf-8", "replace") + _PROMPT)
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
