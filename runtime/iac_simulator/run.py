"""One run of osascript: arguments to script, script to result, result to text and status."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from iac_simulator.command_line import Options, UsageError, read_options
from iac_simulator.desk import Desk
from iac_simulator.engine import EngineError, new_engine
from iac_simulator.host import Exit, Outside, handler
from iac_simulator.wording import in_words

__all__ = ["run_script"]

Handled = Callable[[Mapping[str, Any], Callable[[Any], Any]], Any]

_SELF_NAMED = ("Not authorized",)
"""Messages that JXA prints without the name of the error class before them."""


def run_script(
    argv: Sequence[str],
    desk: Callable[[], Desk],
    outside: Outside,
    handled: Handled,
    moment: datetime | None,
) -> int:
    """Run the arguments of osascript and return the exit status; texts go to `outside.write`.

    Args:
        argv: The arguments without the program's name.
        desk: The apps, asked for at each request.
        outside: Streams and clock.
        handled: Called around each request to an app.
        moment: What `new Date()` is, None for the real clock.

    Raises:
        TimedOut: `outside.check` said so.
    """
    try:
        options = read_options(argv)
    except UsageError as error:
        return _fail(outside, 2, f"{error}\n", 64)
    if options.language.casefold() != "javascript":
        text = f"the simulator runs JavaScript only, not {options.language}: use -l JavaScript"
        return _fail(outside, 2, f"osascript: {text}\n")
    try:
        script = _script(options, outside)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        return _fail(outside, 2, f"osascript: {options.file or 'stdin'}: {reason}\n")
    try:
        return _run(options, script, desk, outside, handled, moment)
    except Exit as ended:
        return ended.status & 0xFF


def _script(options: Options, outside: Outside) -> str:
    if options.lines is not None:
        text = "\n".join(options.lines)
    elif options.file is not None:
        text = Path(options.file).read_bytes().decode("utf-8")
    else:
        text = outside.stdin.read().decode("utf-8")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    # The line stays, so that places in error texts do.
    return "//" + text if text.startswith("#!") else text


def _run(
    options: Options,
    script: str,
    desk: Callable[[], Desk],
    outside: Outside,
    handled: Handled,
    moment: datetime | None,
) -> int:
    engine = new_engine(handler(desk, outside, handled))
    request = {
        "script": script,
        "argv": list(options.argv),
        "form": options.form,
        "now": None if moment is None else moment.timestamp() * 1000,
    }
    reply: dict[str, Any]
    try:
        reply = json.loads(engine.call("__run", json.dumps(request)))
    except EngineError as stopped:
        name = str(stopped).partition("\n")[0] or "the engine stopped"
        reply = {"error": {"text": name, "number": -2700, "coded": True, "message": name}}
    if "error" not in reply:
        if not reply.get("empty"):
            outside.write(1, f"{reply['text']}\n".encode("utf-8", "replace"))
        return 0
    error = reply["error"]
    text = error["text"] if error["coded"] else in_words(error, script, reply.get("prefix", 0))
    if error["message"].startswith(_SELF_NAMED):
        text = error["message"]
    where = f"{options.file}: " if options.file is not None else ""
    line = f"{where}execution error: Error: {text} ({error['number']})\n"
    return _fail(outside, 1 if options.errors == "o" else 2, line)


def _fail(outside: Outside, descriptor: int, text: str, status: int = 1) -> int:
    outside.write(descriptor, text.encode("utf-8", "replace"))
    return status
