"""Runs executable JXA cases against the simulator: `python conformance.py FILE [DICTIONARIES]`.

A case is a line of JSON: a script, the world it needs, and what has to come of it (events, value,
display text, error, or what osascript prints). docs/simulator.md describes the format.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulated_dictionaries import all_tables, names_in

from iac_runtime.execution.process import Completed
from iac_simulator import SentEvent, Simulator, StateError

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
ADDITIONS = "StandardAdditions"
SECONDS = 30

Case = dict[str, Any]

# The script's completion value as JSON; references as their display text.
ENCODE = """
function plain(v) {
  if (v === undefined) return null
  if (ObjectSpecifier.hasInstance(v)) return {ref: Automation.getDisplayString(v)}
  if (v instanceof Date) return {date: v.toISOString()}
  if (Array.isArray(v)) return v.map(plain)
  if (v === null || typeof v !== 'object') return v
  if (Automation.getDisplayString(v).startsWith('Path(')) return {path: v.toString()}
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, plain(x)]))
}
function run() {
  let v
  try { v = (0, eval)(SOURCE) } catch (e) {
    return JSON.stringify({error: e && e.errorNumber !== undefined ? e.errorNumber : -2700,
      message: String(e)})
  }
  return JSON.stringify({value: plain(v), display: Automation.getDisplayString(v)})
}
"""


def _names(text: str, app: str) -> bool:
    return f"'{app}'" in text or f'"{app}"' in text


class Outcome(NamedTuple):
    """What became of a case: `failed` has a line per difference; None where it was skipped."""

    case: Case
    failed: tuple[str, ...] | None


class Bench:
    """The dictionaries that cases run over."""

    def __init__(self, folder: Path, cases: Sequence[Case]) -> None:
        known = names_in(folder)
        text = "\n".join(case["script"] for case in cases)
        named = {case["app"] for case in cases} | {ADDITIONS}
        used = [s for s, name in known.items() if s in named or _names(text, name)]
        ids = {c["app"]: c["bundle_id"] for c in cases if c["app"] and c.get("bundle_id")}
        self.tables = all_tables(folder, used, ids)

    def run(self, case: Case) -> Outcome:
        """Run one case; it is skipped where its dictionary is missing."""
        if case["app"] is not None and case["app"] not in self.tables:
            return Outcome(case, None)
        try:
            return Outcome(case, tuple(self._failures(case)))
        except StateError as error:
            return Outcome(case, (f"world: expected one that fits, got {error}",))

    def simulator(self, case: Case) -> Simulator:
        """Return a simulator with the world of a case."""
        world = case.get("world")
        key = case["app"] or ("nameless" if world and "@name" in world else None)
        state = {} if key is None else {key: world or {}}
        named = (world or {}).get("@name")
        apps = [tables for tables in self.tables.values() if tables.app.name != named]
        return Simulator(apps, state)

    def _failures(self, case: Case) -> Iterator[str]:
        simulator = self.simulator(case)
        if "osascript" in case:
            with tempfile.TemporaryDirectory() as folder:
                yield from _printed(case, simulator, Path(folder))
        else:
            source = ENCODE.replace("SOURCE", json.dumps(case["script"]))
            done = simulator(["osascript", "-l", "JavaScript", "-e", source], b"", SECONDS)
            if done.status != 0:
                yield f"status: expected 0, got {done.status}: {done.stderr.decode().strip()}"
                return
            yield from self._answered(case, json.loads(done.stdout))
        if "events" in case:
            yield from self._sent(case, simulator.events)

    def _answered(self, case: Case, found: Mapping[str, Any]) -> Iterator[str]:
        if "error" in case:
            if found.get("error") != case["error"]:
                yield _differs("error", case["error"], found)
        elif "error" in found and any(k in case for k in ("value", "display", "display_regex")):
            yield _differs("result", "no error", found)
            return
        if "value" in case and not self.same(case, case["value"], found.get("value")):
            yield _differs("value", case["value"], found.get("value"))
        if "display" in case and found.get("display") != case["display"]:
            yield _differs("display", case["display"], found.get("display"))
        pattern = case.get("display_regex")
        if pattern is not None and not re.search(pattern, found.get("display") or ""):
            yield _differs("display", pattern, found.get("display"))

    def _sent(self, case: Case, events: Sequence[SentEvent]) -> Iterator[str]:
        expected = case["events"]
        if len(expected) != len(events):
            yield _differs("events", [e["event"] for e in expected], [list(e) for e in events])
            return
        for number, (want, got) in enumerate(zip(expected, events, strict=True), 1):
            for name, left, right in self._compared(case, want, got):
                yield _differs(f"event {number}, {name}", left, right)

    def _compared(
        self, case: Case, want: Mapping[str, Any], got: SentEvent
    ) -> Iterator[tuple[str, Any, Any]]:
        if want["event"] != got.event:
            yield "code", want["event"], got.event
        if "timeout" in want and want["timeout"] != got.timeout:
            yield "timeout", want["timeout"], got.timeout
        if want.get("no_direct") and got.direct is not None:
            yield "direct", "none", got.direct
        if "direct" in want:
            left = want["direct"]
            left = {"ref": left} if isinstance(left, str) else left
            right = {"ref": got.direct} if isinstance(got.direct, str) else got.direct
            if not self.same(case, left, right):
                yield "direct", want["direct"], got.direct
        for code, value in want.get("params", {}).items():
            if code not in got.params or not self.same(case, value, got.params[code]):
                yield f"parameter {code}", value, got.params.get(code, "none")
        for code in want.get("absent", ()):
            if code in got.params:
                yield f"parameter {code}", "none", got.params[code]

    def same(self, case: Case, want: Any, got: Any) -> bool:
        """Say whether two values are equal; references by what they name, not by their spelling."""
        if isinstance(want, bool) or isinstance(got, bool):
            return want is got
        if isinstance(want, list) and isinstance(got, list):
            return len(want) == len(got) and all(map(self.same, [case] * len(want), want, got))
        if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
            if want.keys() == {"ref"}:
                return self._reference(case, want["ref"]) == self._reference(case, got["ref"])
            return all(self.same(case, value, got[key]) for key, value in want.items())
        return bool(want == got)

    def _reference(self, case: Case, text: str) -> str:
        """Return the one spelling of a reference: the direct parameter of an event about it."""
        tables = self.tables.get(case["app"] or "")
        name = json.dumps(tables.app.name if tables is not None else "System Events")
        whole = text if text.startswith("Application") else f"Application({name})"
        if not text.startswith("Application"):
            whole += text if text.startswith("[") or not text else f".{text}"
        simulator = self.simulator({**case, "world": None})
        source = f"Application({name}).exists({whole})"
        simulator(["osascript", "-l", "JavaScript", "-e", source], b"", SECONDS)
        direct = simulator.events[0].direct if simulator.events else None
        return direct if isinstance(direct, str) else text


def _printed(case: Case, simulator: Simulator, folder: Path) -> Iterator[str]:
    file = folder / "script.js"
    file.write_text(case["script"], "utf-8")

    def filled(text: str) -> str:
        return text.replace("{script}", case["script"]).replace("{file}", str(file))

    argv = ["osascript", *map(filled, case["osascript"])]
    done: Completed = simulator(argv, filled(case.get("stdin", "")).encode(), SECONDS)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if "stdout" in case and out != case["stdout"]:
        yield _differs("stdout", case["stdout"], out)
    for name, text in (("stdout_regex", out), ("stderr_regex", err)):
        if name in case and not re.search(case[name], text):
            yield _differs(name, case[name], text)
    if case.get("status", done.status) != done.status:
        yield _differs("status", case["status"], f"{done.status}: {err.strip()}")
    if "error" in case and f"({case['error']})" not in out + err:
        yield _differs("error", case["error"], err)


def _differs(what: str, want: Any, got: Any) -> str:
    left, right = (json.dumps(v, ensure_ascii=False, default=str) for v in (want, got))
    return f"{what}: expected {left}, got {right}"


def _is_case(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("script"), str)


def read_cases(file: Path) -> list[Case]:
    """Return the cases of a file, a line each.

    Raises:
        ValueError: A line is no case; the text names the line.
    """
    cases = []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{file}:{number}: no JSON: {error}") from None
        if not _is_case(case):
            raise ValueError(f"{file}:{number}: a case needs a script")
        cases.append({"id": str(number), "app": None, **case})
    return cases


def run_cases(cases: Sequence[Case], folder: Path) -> list[Outcome]:
    """Return the outcome of each case over the dictionaries of `folder`."""
    bench = Bench(folder, cases)
    return [bench.run(case) for case in cases]


def main(arguments: Sequence[str]) -> int:
    """Run a file of cases and print what failed; 1 if anything did, 2 for a bad file."""
    file = Path(arguments[0]) if arguments else CORPUS / "jxa-cases.jsonl"
    folder = Path(arguments[1]) if len(arguments) > 1 else CORPUS / "sdef"
    try:
        if not folder.is_dir():
            raise ValueError(f"{folder} is no folder of dictionaries; name one")
        outcomes = run_cases(read_cases(file), folder)
    except (OSError, ValueError) as error:
        reason = f"{file}: {error.strerror}" if isinstance(error, OSError) else str(error)
        print(f"cases: {reason}", file=sys.stderr)
        return 2
    failed = [outcome for outcome in outcomes if outcome.failed]
    for case, reasons in failed:
        print(f"{case['id']} ({case.get('kind', '?')}) {case['script']}")
        for reason in reasons or ():
            print(f"    {reason}")
    skipped = sum(outcome.failed is None for outcome in outcomes)
    passed = len(outcomes) - len(failed) - skipped
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
