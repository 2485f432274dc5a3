"""Running a script through osascript, held to its apps where macOS can; checking one.

Confined means: a Seatbelt profile that denies by default, lets osascript start and send Apple
events to the named destinations, and nothing else: no fork, no network, no writes. Taken from the
shape that public projects use. Nothing of it was confirmed on a Mac yet, `sandbox-exec` is marked
as deprecated, and without a probe that passed nothing is confined: then the question to the user
says so.

What is printed is read in the source form of both languages. AppleScript's: AppleScript Language
Guide, "Class Reference". JavaScript's is JSON but for objects of apps, dates and paths, which stay
text.
"""

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from iac_applescript.analysis.analyser import JavaScriptBounds
from iac_applescript.failures import ScriptFailure, explain_failure
from iac_applescript.wrapping import WrappedScript, wrap_script
from iac_base.errors import ErrorType, ToolError
from iac_base.text import clean_value
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.toolkit import Completed, Runner

SANDBOX: Final = "/usr/bin/sandbox-exec"
_OSASCRIPT: Final = "/usr/bin/osascript"
_BUNDLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,200}\Z")
_PROBE_SECONDS: Final = 10.0

_PROFILE: Final = """\
(version 1)
(deny default)
(allow process-exec (literal "/usr/bin/osascript"))
(deny process-fork)
(deny network*)
(allow file-read*)
(deny file-write*)
(allow file-write-data (literal "/dev/null"))
(allow sysctl-read)
(allow mach-lookup)
(allow signal (target self))
"""

_PROBE: Final = b"""\
try
	do shell script "echo 42"
	return "not confined"
end try
return 6 * 7
"""
"""Reckons, and tries what a confined script cannot do; both in one run."""


_TOKEN: Final = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>-?\d+(?:[.,]\d+)?(?:E[+-]?\d+)?)(?![\w.])'
    r"|(?P<word>true|false|missing value|null)(?!\w)|(?P<mark>[{},:]))",
    re.DOTALL,
)
_KEY: Final = re.compile(r"\s*(\|[^|]*\||[A-Za-z][\w ]*?)\s*:(?!:)")
_WORDS: Final = {"true": True, "false": False, "missing value": None, "null": None}
_DEEPEST: Final = 32


LANGUAGES: Final = {"applescript": "AppleScript", "javascript": "JavaScript"}
_COMPILE_SECONDS: Final = 20.0

_TYPES: Final[dict[str, ErrorType]] = {
    "automation_denied": "PERMISSION_DENIED",
    "accessibility_denied": "PERMISSION_DENIED",
    "keystrokes_denied": "PERMISSION_DENIED",
    "silent": "PERMISSION_DENIED",
    "app_not_found": "APP_NOT_FOUND",
    "app_not_running": "APP_NOT_RUNNING",
    "cancelled": "USER_CANCELLED",
    "timeout": "TIMEOUT",
    "not_found": "NOT_FOUND",
    "index_out_of_range": "NOT_FOUND",
}


def sandbox_profile(targets: Sequence[str], lets: Iterable[str] = ()) -> str:
    """Return the profile for these bundle ids, with lines of its own at its end.

    Raises:
        ValueError: One is not a bundle id; nothing of it may enter the profile.
    """
    lines = []
    for target in targets:
        if not _BUNDLE.match(target):
            raise ValueError(f"{target[:40]!r} is not a bundle id")
        lines.append(f'(allow appleevent-send (appleevent-destination "{target}"))\n')
    return _PROFILE + "".join(lines) + "".join(f"{line}\n" for line in lets)


class Confinement:
    """Runs osascript under the profile, once it is known that this works here.

    Args:
        runner: Runs the probe.
        program: The program that confines.
        platform: The system, as `sys.platform` names it; only `darwin` has the program.
    """

    def __init__(
        self, runner: Runner, program: str = SANDBOX, platform: str = sys.platform
    ) -> None:
        self._runner = runner
        self._program = program
        # Another osascript than the system's is not what the profile lets start.
        own = os.environ.get("IAC_OSASCRIPT", _OSASCRIPT) == _OSASCRIPT
        self._here = platform == "darwin" and own
        self._works: bool | None = None if self._here else False
        self._lock = threading.Lock()

    def is_working(self) -> bool:
        """Say whether it works here; tried when it is first asked, and known from then on."""
        with self._lock:
            if self._works is None:
                self._works = Path(self._program).exists() and self._run_probe()
            return self._works

    def is_broken(self) -> bool:
        """Say whether it should work here, and does not."""
        return self._here and not self.is_working()

    def confined_command(
        self, argv: Sequence[str], targets: Sequence[str], lets: Iterable[str] = ()
    ) -> list[str]:
        """Return the command that runs `argv` under the profile of `targets`."""
        return [self._program, "-p", sandbox_profile(targets, lets), _OSASCRIPT, *argv[1:]]

    def _run_probe(self) -> bool:
        argv = self.confined_command(["osascript", "-l", "AppleScript", "-"], ())
        try:
            done = self._runner(argv, _PROBE, _PROBE_SECONDS)
        except (OSError, ToolError):
            return False
        return done.status == 0 and done.stdout.strip() == b"42"


class ScriptAnswer(NamedTuple):
    """A value and its kind: text, number, boolean, list, record, reference, nothing."""

    value: Any
    kind: str


class _UnreadableValueError(ValueError):
    """The text is no value of this form."""


def read_answer(printed: str, language: str) -> ScriptAnswer:
    """Return the value of what was printed with `-s s`; text that is no value is a reference."""
    text = printed.removesuffix("\n")
    if not text.strip() or text in ("undefined", "null", "missing value"):
        return ScriptAnswer(None, "nothing")
    try:
        value = _parse_json(text) if language == "javascript" else _parse_source(text)
    except (ValueError, RecursionError):
        return ScriptAnswer(text, "reference")
    return ScriptAnswer(value, _value_kind(value))


def _value_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = ((str, "text"), (int | float, "number"), (list, "list"), (dict, "record"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "nothing")


def _parse_json(text: str) -> Any:
    value = json.loads(text)
    # What a script turns into JSON itself arrives as the text of it.
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _parse_source(text: str) -> Any:
    value, end = _parse_value(text, 0, 0)
    if text[end:].strip():
        raise _UnreadableValueError(text[:40])
    return value


def _parse_value(text: str, at: int, depth: int) -> tuple[Any, int]:
    match = _TOKEN.match(text, at)
    if depth > _DEEPEST:
        raise _UnreadableValueError("too deep")
    if match is None or match["mark"] not in (None, "{"):
        if depth == 0:
            raise _UnreadableValueError(text[:40])
        return _parse_object_source(text, at)
    if match["text"]:
        return re.sub(r"\\(.)", r"\1", match["text"][1:-1], flags=re.DOTALL), match.end()
    if match["number"]:
        number = match["number"].replace(",", ".")
        return (int(number) if number.lstrip("-").isdigit() else float(number)), match.end()
    if match["word"]:
        return _WORDS[match["word"]], match.end()
    return _parse_group(text, match.end(), depth + 1)


def _parse_object_source(text: str, at: int) -> tuple[str, int]:
    """Read the source form of an object inside a list: up to a comma outside quotes."""
    end, quoted = at, False
    while end < len(text) and (quoted or text[end] not in ",}"):
        quoted ^= text[end] == '"'
        end += 1
    if not text[at:end].strip():
        raise _UnreadableValueError(text[:40])
    return text[at:end].strip(), end


def _parse_group(text: str, at: int, depth: int) -> tuple[Any, int]:
    items: list[Any] = []
    fields: dict[str, Any] = {}
    while True:
        if (closing := re.compile(r"\s*\}").match(text, at)) is not None:
            if items and fields:
                raise _UnreadableValueError(text[:40])
            return (fields or items), closing.end()
        key = _KEY.match(text, at)
        value, at = _parse_value(text, key.end() if key else at, depth)
        if key:
            fields[key[1].strip("|")] = value
        else:
            items.append(value)
        comma = re.compile(r"\s*,").match(text, at)
        if comma:
            at = comma.end()
        elif not re.compile(r"\s*\}").match(text, at):
            raise _UnreadableValueError(text[:40])


class ScriptRun(NamedTuple):
    """What came of a run: an answer or a failure, and how long it took."""

    answer: ScriptAnswer | None
    failure: ScriptFailure | None
    original: str
    milliseconds: float


def osascript_program() -> str:
    """Return the program: the environment's IAC_OSASCRIPT, else osascript."""
    return os.environ.get("IAC_OSASCRIPT") or "osascript"


def run_script(
    runner: Runner,
    script: str,
    language: str,
    timeout: float,
    confine: Callable[[Sequence[str]], Sequence[str]] = list,
    asked: JavaScriptBounds | None = None,
    given: Sequence[Any] = (),
    *,
    readable: bool = False,
) -> ScriptRun:
    """Run a script.

    Args:
        runner: Runs osascript.
        script, language: What to run.
        timeout: Seconds; its events have as many.
        confine: Makes the command one that is confined; the command itself if left out.
        asked: What a JavaScript is held to; it runs as it is if left out.
        given: What its `run` handler is given, any JSON; never a part of its text.
        readable: Whether its value is wanted as a text for people, not as a value.

    Raises:
        ToolError: osascript could not be started, the call was cancelled, or the answer is too
            large.
    """
    worn = wrap_script(script, language, timeout, asked, given)
    form = "h" if readable else "s"
    argv = [osascript_program(), "-l", LANGUAGES[language], "-s", form, "-", *worn.arguments]
    begun = time.monotonic()
    try:
        done = runner(confine(argv), worn.text.encode("utf-8", "replace"), timeout)
    except OSError as error:
        message = f"{argv[0]} could not be started ({error.strerror or error})."
        raise ToolError("UNAVAILABLE", message, "Scripts run only on a Mac.") from error
    spent = round((time.monotonic() - begun) * 1000, 1)
    failed = _find_failure(done, script, language, timeout, worn)
    if failed is not None:
        return ScriptRun(None, *failed, spent)
    printed = done.stdout.decode("utf-8", "replace")
    if readable:
        text = printed.removesuffix("\n")
        return ScriptRun(ScriptAnswer(text, "text"), None, "", spent)
    return ScriptRun(read_answer(printed, language), None, "", spent)


def _find_failure(
    done: Completed, script: str, language: str, timeout: float, worn: WrappedScript
) -> tuple[ScriptFailure, str] | None:
    if done.cancelled:
        raise ToolError(
            "USER_CANCELLED", "The call was cancelled.", "Check whether the change happened."
        )
    if done.too_large:
        raise ToolError("EXECUTION_ERROR", "The script's result is too long.", "Return less.")
    if done.timed_out:
        failure = explain_failure("", -1712, script, language)
        return failure, f"stopped after {timeout:g} seconds"
    if done.status == 0:
        return None
    original = worn.restore_positions(done.stderr.decode("utf-8", "replace")).strip()[-2000:]
    # What a script logs goes to the same stream: the last line is osascript's own.
    return explain_failure(_error_text(original), None, script, language), original


def _error_text(text: str) -> str:
    """Return the error itself: from the last line that names one to the end."""
    for mark in ("execution error:", "syntax error:"):
        place = text.rfind(mark)
        if place >= 0:
            return text[text.rfind("\n", 0, place) + 1 :]
    return text


def failure_to_error(failure: ScriptFailure, original: str = "") -> ToolError:
    """Return a failure as the error of a call."""
    known = APPLE_ERRORS.get(failure.number) if failure.number is not None else None
    kind = _TYPES.get(failure.cause) or (known.type if known else "EXECUTION_ERROR")
    fixes = " ".join(failure.fixes[:2])
    return ToolError(kind, failure.message, fixes, number=failure.number, original=original)


def compile_script(runner: Runner, script: str, language: str) -> str:
    """Return what osacompile complains of, empty if nothing. It looks terms up and runs nothing.

    Raises:
        OSError: osacompile could not be started.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="iac-compile-") as folder:
        argv = ["osacompile", "-l", LANGUAGES[language], "-o", f"{folder}/script.scpt", "-"]
        done = runner(argv, script.encode("utf-8", "replace"), _COMPILE_SECONDS)
    if done.status == 0 and not done.timed_out:
        return ""
    return done.stderr.decode("utf-8", "replace").strip()[-1000:] or "osacompile gave no reason."


_SECONDS: Final = 5.0

_SCRIPTS: Final[Mapping[str, str]] = {
    "front_app": """
ObjC.import('AppKit');
const app = $.NSWorkspace.sharedWorkspace.frontmostApplication;
JSON.stringify({name: app.localizedName.js, bundle_id: app.bundleIdentifier.js,
  pid: Number(app.processIdentifier)});
""",
    "running_apps": """
ObjC.import('AppKit');
const found = [];
const all = $.NSWorkspace.sharedWorkspace.runningApplications;
for (let i = 0; i < Number(all.count); i++) {
  const app = all.objectAtIndex(i);
  if (Number(app.activationPolicy) === 0) {
    found.push({name: app.localizedName.js, bundle_id: app.bundleIdentifier.js});
  }
}
JSON.stringify(found);
""",
    "windows": """
const events = Application('com.apple.systemevents');
const front = events.applicationProcesses.whose({frontmost: true});
JSON.stringify(front.windows.name()[0]);
""",
    "volume": """
const app = Application.currentApplication();
app.includeStandardAdditions = true;
JSON.stringify(app.getVolumeSettings());
""",
    "appearance": """
ObjC.import('Foundation');
const style = $.NSUserDefaults.standardUserDefaults.stringForKey('AppleInterfaceStyle');
JSON.stringify(style.isNil() ? 'light' : style.js.toLowerCase());
""",
    "displays": """
ObjC.import('AppKit');
const found = [];
const all = $.NSScreen.screens;
for (let i = 0; i < Number(all.count); i++) {
  const screen = all.objectAtIndex(i);
  found.push({width: screen.frame.size.width, height: screen.frame.size.height,
    scale: Number(screen.backingScaleFactor), main: i === 0});
}
JSON.stringify(found);
""",
}


def _battery_state() -> Any:
    import psutil

    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is None:
        return None
    return {"percent": round(battery.percent), "charging": bool(battery.power_plugged)}


def _network_interfaces() -> Any:
    import psutil

    addresses = psutil.net_if_addrs()
    up = [name for name, stats in psutil.net_if_stats().items() if stats.isup]
    kinds = {"AF_INET", "AF_INET6"}
    return [
        name
        for name in sorted(up)
        if not name.startswith("lo")
        and any(address.family.name in kinds for address in addresses.get(name, ()))
    ]


_SYSTEM: Final[Mapping[str, Callable[[], Any]]] = {
    "battery": _battery_state,
    "network": _network_interfaces,
}

StatePart = Literal[
    "front_app", "running_apps", "windows", "volume", "appearance", "displays", "battery", "network"
]
"""A part; network is the interfaces that are up, without addresses."""

PARTS: Final[tuple[StatePart, ...]] = get_args(StatePart)


def read_state(runner: Runner, parts: Sequence[str] = PARTS) -> dict[str, dict[str, Any]]:
    """Return each part as `{"value": ...}`, or `{"error": one line}` where it cannot be had."""
    return {part: _read_part(runner, part) for part in parts}


def _read_part(runner: Runner, part: str) -> dict[str, Any]:
    system = _SYSTEM.get(part)
    if system is not None:
        try:
            return {"value": clean_value(system())}
        except (OSError, RuntimeError, ImportError, AttributeError) as error:
            return {"error": f"{part} cannot be read on this machine ({type(error).__name__})."}
    argv = [osascript_program(), "-l", "JavaScript", "-"]
    try:
        done = runner(argv, _SCRIPTS[part].strip().encode(), _SECONDS)
    except OSError as error:
        return {"error": f"osascript could not be started ({error.strerror})."}
    if done.timed_out:
        return {"error": f"No answer about {part} came within {_SECONDS:g} seconds."}
    if done.status != 0:
        failure = explain_failure(done.stderr.decode("utf-8", "replace"), language="javascript")
        return {"error": " ".join((failure.message, *failure.fixes[:1]))}
    try:
        return {"value": clean_value(json.loads(done.stdout.decode("utf-8", "replace")))}
    except (ValueError, RecursionError):
        return {"error": f"The answer about {part} cannot be read."}
