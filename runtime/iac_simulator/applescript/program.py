"""Running the text of an AppleScript: what osascript prints of its result or its error."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from iac_runtime.language.applescript_expressions import ScriptSyntaxError
from iac_simulator.applescript.app_events import AppEvents
from iac_simulator.applescript.statements import Evaluator, has_result
from iac_simulator.applescript.values import (
    AppleScriptError,
    UnsupportedError,
    human_text,
    source_text,
)
from iac_simulator.dispatcher import Dispatcher


class ScriptOutcome(NamedTuple):
    """How a script ended: what it printed; `error` is its line on stderr, empty for none."""

    text: str | None
    error: str = ""


class ScriptReach(NamedTuple):
    """What a script reaches: the apps by `send`, its log, and time."""

    send: Callable[[str], str]
    dispatcher: Callable[[], Dispatcher]
    log: Callable[[str], None]
    sleep: Callable[[float], None]
    check: Callable[[], None]


def run_applescript(
    script: str, argv: Sequence[str], form: str, reach: ScriptReach
) -> ScriptOutcome:
    """Run a script and return how it ended; `form` is `h` or `s`, as osascript has it."""
    events = AppEvents(reach.send, reach.dispatcher)
    evaluator = Evaluator(events, reach.log, reach.sleep, reach.check)
    try:
        value = evaluator.run(events.parse(script), argv)
    except ScriptSyntaxError as fault:
        if fault.named:
            return ScriptOutcome(None, _refusal(script, fault.message, fault.start))
        place = f"{fault.start}:{fault.start + 1}"
        return ScriptOutcome(None, f"{place}: syntax error: {fault.message} (-2741)\n")
    except UnsupportedError as refused:
        what, start, *_ = (*refused.args, 0, 0)
        return ScriptOutcome(None, _refusal(script, str(what), start))
    except AppleScriptError as error:
        start = error.start or 0
        end = next((at for at in range(start, len(script)) if script[at] in "\r\n"), len(script))
        said = f"execution error: {error.message} ({error.number})"
        return ScriptOutcome(None, f"{start}:{end}: {said}\n")
    except RecursionError:
        return ScriptOutcome(None, "0:1: execution error: Stack overflow. (-2706)\n")
    if not has_result(value):
        return ScriptOutcome(None)
    return ScriptOutcome(source_text(value) if form == "s" else human_text(value))


def _refusal(script: str, what: str, start: int) -> str:
    line = script.count("\n", 0, start) + 1
    said = f"the simulator does not run {what} (line {line})"
    return f"{start}:{start + 1}: execution error: {said} (-2700)\n"
