"""What a Mac answers, as facts: collected into a file, and held against the simulator.

    python tests/mac/evidence.py [--unattended] [--stand-in] [--output FOLDER]

On a Mac (`nox -s mac`) it writes `evidence/<macos>-<date>.json`. `--unattended` leaves out what a
person would have to consent to; `--stand-in` asks the simulator, to see that it all works.
"""

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from intents import ran

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.analysis.findings import Language
from iac_base.errors import IacError
from iac_gen.field import Fact as BookRow
from iac_gen.quirks import load_field_book, read_facts
from iac_mcp.cli.probe import (
    ROWS,
    PersonalDetails,
    automation_answer,
    collision_probes,
    personal_details,
    redact_person,
    run_probes,
)
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.mac import automation_permission
from iac_runtime.execution.process import Completed, Runner
from iac_runtime.execution.workers import run_process
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue, shipped_folder
from iac_runtime.tools.tables import Tables
from iac_runtime.version import VERSION
from iac_simulator import Simulator

FORMAT: Final = 1
FOLDER: Final = Path(__file__).parents[2] / "evidence"
QUESTIONS: Final = Path(__file__).with_name("questions.toml")
CALLS: Final = tuple(
    tomllib.loads(Path(__file__).with_name("calls.toml").read_text("utf-8"))["call"]
)
LANGUAGE: Final = tuple(
    tomllib.loads(
        (Path(__file__).parents[1] / "applescript/language_cases.toml").read_text("utf-8")
    )["case"]
)
"""What small AppleScripts come to by Apple's language guide; they need no app."""

APPS: Final = {
    "finder": "com.apple.finder", "system_events": "com.apple.systemevents",
    "textedit": "com.apple.TextEdit", "notes": "com.apple.Notes",
}  # fmt: skip
"""Key -> bundle id of what events are sent to; Standard Additions run in osascript itself."""

LOGGED: Final = 15
"""The row of the probe whose scripts the system logs the events of."""

_CHANNELS: Final = 13
"""The row about descriptors, which the simulator has as a process only."""

_OF_SYSTEM: Final = ("aevtansr", "ascrgdte")
"""Answers, and the question for a dictionary: not what the script sends."""

LANGUAGES: Final = {"applescript": "AppleScript", "javascript": "JavaScript"}

Fact = dict[str, Any]


def shipped() -> tuple[Catalogue, list[Tables]]:
    """Return the catalogue of the committed modules, and their tables."""
    folder = shipped_folder()
    if folder is None:
        raise SystemExit("There are no committed modules beside this checkout.")
    catalogue = Catalogue([folder])
    return catalogue, [catalogue.load_tables(app) for app in catalogue.apps.values()]


def simulated() -> list[Fact]:
    """Return the facts as the simulator has them, inside this process."""
    catalogue, apps = shipped()
    simulator = Simulator(apps)

    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        return simulator(argv[list(argv).index("osascript") :], stdin, timeout)

    found: list[Fact] = []
    # A script runs when its fact is asked for: what was sent since the last one is its own.
    for fact in probed(run, ["osascript"], apps, PersonalDetails(), attended=True):
        sent, simulator.events[:] = [event.event for event in simulator.events], []
        if fact["row"] == LOGGED:
            fact["events"] = sent
        elif fact["row"] == _CHANNELS:
            fact["unmeasured"] = "Only a process has descriptors of its own."
        found.append(fact)
    calls = called(catalogue, Executor(Simulator(apps)), "/Users/Shared", APPS)
    return [*found, *calls, *expected_language()]


def expected_language() -> Iterator[Fact]:
    """Yield what each small AppleScript comes to, as the file of cases has it."""
    for case in LANGUAGE:
        told = (
            {"stdout": case["result"]} if "result" in case else {"error": {"number": case["error"]}}
        )
        yield {"id": f"language.{case['topic']}.{case['name']}", **told}


def replayed_language(runner: Runner, program: Sequence[str]) -> Iterator[Fact]:
    """Yield what each small AppleScript comes to when it runs here."""
    for case, fact in zip(LANGUAGE, expected_language(), strict=True):
        done = runner([*program, "-s", "s", "-e", case["script"]], b"", 30)
        said = done.stderr.decode("utf-8", "replace").strip()
        number = re.search(r"\((-?\d+)\)$", said)
        if done.status == 0:
            yield {"id": fact["id"], "stdout": done.stdout.decode("utf-8", "replace").rstrip("\n")}
        else:
            told = {"number": int(number[1]) if number else None, "text": said}
            yield {"id": fact["id"], "error": told}


def probed(
    runner: Runner,
    program: Sequence[str],
    apps: Sequence[Tables],
    who: PersonalDetails,
    *,
    attended: bool,
    leave: Collection[str] = (),
) -> Iterator[Fact]:
    """Yield what the questions of `iac-mcp probe` are answered with, but for apps of `leave`."""
    more = list(collision_probes(apps))
    rows = [row for row in ROWS if row != 12]
    asked = run_probes(runner, program, rows, more=more, scratch=attended, leave=leave, person=who)
    for answer in asked:
        fact = {**answer, "id": f"probe.{answer['id']}"}
        if answer["row"] == LOGGED and (sent := events_in(answer.get("stderr", ""))):
            fact["events"] = sent
        yield fact


def events_in(log: str) -> list[str]:
    """Return the codes of the events in a log of `AEDebugSends`, as far as its form is known."""
    codes = ("".join(found) for found in re.findall(r"'aevt':\s+(.{4})[/\\](.{4})", log))
    return [code for code in codes if code not in _OF_SYSTEM]


def called(
    catalogue: Catalogue, executor: Executor, scratch: str, allowed: Mapping[str, str]
) -> Iterator[Fact]:
    """Yield what the calls of `calls.toml` come to; those to apps not `allowed` are left out."""
    gate = Gate(catalogue, executor, "DANGEROUS", launch=list(APPS.values()))
    known: dict[str, Any] = {"scratch": scratch, "name": f"IAC scratch {datetime.now(UTC):%H%M%S}"}
    for call in CALLS:
        fact: Fact = {"id": f"call.{call['id']}", "tool": call["tool"]}
        key = next((key for key in APPS if call["tool"].startswith(f"{key}_")), None)
        try:
            arguments = _filled(call["arguments"], known)
        except KeyError as missing:
            yield {**fact, "unmeasured": f"{missing.args[0]} was not had."}
            continue
        if key is not None and key not in allowed:
            yield {**fact, "unmeasured": "Nobody can be asked whether this app may be controlled."}
            continue
        try:
            outcome = gate.call(Call(call["tool"], arguments, Requester("evidence", ())))
        except IacError as error:
            yield {**fact, "error": getattr(error, "type", type(error).__name__)}
            continue
        if not isinstance(outcome, CompletedCall):
            yield {**fact, "error": type(outcome).__name__}
            continue
        value = json.loads(json.dumps(outcome.value, default=str))
        known[call["id"]] = value
        yield {**fact, "value": value if call.get("exact") else kind_of(value)}
    gate.close()


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    """Return arguments with what earlier calls answered.

    Raises:
        KeyError: An earlier call answered nothing.
    """
    if isinstance(value, dict):
        return {key: _filled(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, known) for item in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\{([a-z-]+)(?:\.ref)?\}", lambda name: str(known[name[1]]), value)


def kind_of(value: Any) -> Any:
    """Return the kind of a value: what of it is the same on every Mac."""
    if isinstance(value, dict):
        return {key: kind_of(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        kinds = [kind_of(item) for item in value]
        return [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
    return type(value).__name__


def open_rows(files: Sequence[Mapping[str, Any]]) -> list[BookRow]:
    """Return the rows of the field book that a script can ask, and that no Mac said are so yet."""
    closed = {one["id"] for file in files for one in file["facts"] if one.get("value") is True}
    rows = (row for row in read_facts(load_field_book()[0]) if row.probe and not row.is_proven)
    return [row for row in rows if f"field.{row.id}" not in closed]


def only_reads(language: str, script: str, analyzer: ScriptAnalyzer) -> bool:
    """Say whether a script does no more than read, as far as it is understood."""
    found = analyzer.analyze_script(script, cast("Language", language))
    return found.level != "DANGEROUS" and all(one.verb == "read" for one in found.effects)


def asked_of_book(
    runner: Runner, program: Sequence[str], rows: Sequence[BookRow], may_ask: Callable[[str], bool]
) -> Iterator[Fact]:
    """Yield what a Mac says of rows of the field book: `value`, whether it is as they say."""
    analyzer = ScriptAnalyzer(shipped()[0])
    for row in rows:
        [(language, script)] = row.probe.items()
        fact: Fact = {"id": f"field.{row.id}"}
        if not only_reads(language, script, analyzer):
            yield {**fact, "unmeasured": "The probe would do more than read."}
        elif row.app and not may_ask(row.app):
            yield {**fact, "unmeasured": "The app does not run, or may not be controlled."}
        else:
            done = runner([*program, "-l", LANGUAGES[language], "-e", script], b"", 20.0)
            value = {b"true": True, b"false": False}.get(done.stdout.strip())
            told = {"unmeasured": "There was nothing to look at."} if value is None else {}
            yield {**fact, **(told or {"value": value})}


def names() -> Fact:
    """Return what `iac-gen verify-names` says of JXA's own names of terms."""
    done = subprocess.run(
        [sys.executable, "-m", "iac_gen", "verify-names"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    said = [
        redact_person(line, personal_details()) for line in (done.stdout + done.stderr).splitlines()
    ]
    return {"id": "names", "status": done.returncode, "said": said[:2000]}


def differences(facts: Sequence[Fact], own: Sequence[Fact]) -> list[str]:
    """Return in what the simulator's `own` facts differ from a Mac's, a line each."""
    exact = tuple(tomllib.loads(QUESTIONS.read_text("utf-8"))["exact"])
    ours, found = {fact["id"]: fact for fact in own}, []
    for fact in facts:
        other = ours.get(fact["id"])
        if other is None or "unmeasured" in fact or "unmeasured" in other:
            continue
        keys = ["error", "value"] if fact["id"].startswith("call.") else ["error"]
        keys += ["stdout"] if fact["id"].startswith(exact) else []
        keys += ["events"] if "events" in fact else []
        for key in keys:
            mac, sim = (_number(one.get(key)) for one in (fact, other))
            if mac != sim:
                found.append(f"{fact['id']}: {key} is {mac!r} on a Mac, {sim!r} in the simulator")
    return found


def _number(value: Any) -> Any:
    """Return what counts of an error: its number, for the words are a matter of language."""
    return value["number"] if isinstance(value, dict) and "number" in value else value


def read(path: Path) -> dict[str, Any]:
    """Return the evidence in a file."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    assert found["evidence"] == FORMAT, path
    return found


def collect(*, unattended: bool, stand_in: bool) -> dict[str, Any]:
    """Ask this Mac, or the stand-in, and return what was answered."""
    catalogue, apps = shipped()
    program = [sys.executable, "-m", "iac_simulator.osascript"] if stand_in else ["osascript"]
    executor = (
        Executor(program=str(Path(sys.executable).with_name("iac-osascript")))
        if stand_in
        else Executor()
    )
    before = {key: automation_permission(bundle) for key, bundle in APPS.items()}
    wanted = [key for key in APPS if not unattended or stand_in or before[key] == "yes"]
    who = personal_details()
    scratch = tempfile.mkdtemp(prefix="iac-scratch-")
    try:
        leave = {APPS[key] for key in APPS if key not in wanted}
        asked = probed(run_process, program, apps, who, attended=not unattended, leave=leave)
        facts = list(asked)
        place = "/Users/Shared" if stand_in else str(Path(scratch).resolve())
        facts += called(catalogue, executor, place, {key: APPS[key] for key in wanted})
        facts += [] if stand_in else [names(), *replayed_language(run_process, program)]

        def may_ask(app: str) -> bool:
            ask = f"Application({json.dumps(app)}).running()"
            allowed = stand_in or automation_permission(app) == "yes"
            run = partial(run_process, [*program, "-l", "JavaScript", "-e", ask], b"", 20.0)
            return allowed and run().stdout == b"true\n"

        files = [read(path) for path in sorted(FOLDER.glob("*.json"))]
        facts += asked_of_book(run_process, program, open_rows(files), may_ask)
        facts += [] if stand_in or unattended else ran()
    finally:
        executor.close()
        shutil.rmtree(scratch, ignore_errors=True)
    return {
        "evidence": FORMAT,
        "iac": VERSION,
        "macos": "simulated" if stand_in else platform.mac_ver()[0],
        "machine": platform.machine(),
        "python": platform.python_version(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "unattended": unattended,
        # A "would ask" that is another word afterwards was a prompt that somebody answered.
        "prompts": {
            "names": automation_answer(who, simulate=stand_in),
            "before": before,
            "after": {key: automation_permission(bundle) for key, bundle in APPS.items()},
        },
        "facts": facts,
    }


def main() -> int:
    """Write the file, and say in what the simulator differs."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    options.add_argument("--unattended", action="store_true", help="leave out what needs consent")
    options.add_argument("--stand-in", action="store_true", help="ask the simulator")
    options.add_argument("--output", type=Path, default=FOLDER, help="the folder of the file")
    chosen = options.parse_args()
    if sys.platform != "darwin" and not chosen.stand_in:
        print("This is not a Mac. To see what is asked, add --stand-in --output FOLDER.")
        return 2
    found = collect(unattended=chosen.unattended, stand_in=chosen.stand_in)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / f"{found['macos']}-{found['date']}.json"
    path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    lines = differences(found["facts"], simulated())
    print(*lines, sep="\n")
    print(f"{len(found['facts'])} facts in {path}, {len(lines)} unlike the simulator.")
    print("Look through the file before you send it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
