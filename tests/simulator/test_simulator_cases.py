"""The executable JXA cases of the corpus, each run through the simulator."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iac_runtime.execution.process import Completed
from iac_runtime.tables import Tables
from iac_simulator import SentEvent, Simulator

Case = dict[str, Any]

# What a case calls an app is the stem of its dictionary; the rest are called as their module is.
KEYS = {
    "SystemEvents": "system_events",
    "GoogleChrome": "google_chrome",
    "StandardAdditions": "standard_additions",
}

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
  try {
    const v = (0, eval)(SOURCE)
    return JSON.stringify({value: plain(v), display: Automation.getDisplayString(v)})
  } catch (e) {
    return JSON.stringify({error: e && e.errorNumber !== undefined ? e.errorNumber : -2700})
  }
}
"""


def read_cases(corpus: Path) -> list[Case]:
    text = (corpus / "jxa-cases.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def failures(case: Case, simulator: Simulator, folder: Path) -> Iterator[str]:
    if "osascript" in case:
        yield from printed(case, simulator, folder)
    else:
        source = ENCODE.replace("SOURCE", json.dumps(case["script"]))
        done = simulator(["osascript", "-l", "JavaScript", "-e", source], b"", 10)
        yield from answered(case, json.loads(done.stdout))
    if "events" in case:
        yield from sent(case["events"], simulator.events)


def printed(case: Case, simulator: Simulator, folder: Path) -> Iterator[str]:
    file = folder / "script.js"
    file.write_text(case["script"], "utf-8")
    args = [
        a.replace("{script}", case["script"]).replace("{file}", str(file))
        for a in case["osascript"]
    ]
    stdin = case.get("stdin", "").replace("{script}", case["script"])
    done: Completed = simulator(["osascript", *args], stdin.encode(), 10)
    if "stdout" in case and done.stdout.decode() != case["stdout"]:
        yield f"stdout {done.stdout!r}"
    for name, text in (("stdout_regex", done.stdout), ("stderr_regex", done.stderr)):
        if name in case and not re.search(case[name], text.decode()):
            yield f"{name} {text!r}"
    if case.get("status", done.status) != done.status:
        yield f"status {done.status}"


def answered(case: Case, found: dict[str, Any]) -> Iterator[str]:
    if "error" in case and found.get("error") != case["error"]:
        yield f"error {found}"
    if "value" in case and brief(found.get("value")) != case["value"]:
        yield f"value {found}"
    if "display" in case and found.get("display") != case["display"]:
        yield f"display {found}"
    if "display_regex" in case and not re.search(case["display_regex"], found.get("display", "")):
        yield f"display {found}"


def brief(value: Any) -> Any:
    """Write a display form as the cases write references."""
    if isinstance(value, dict) and set(value) == {"ref"}:
        text = re.sub(r'^Application\("[^"]*"\)\.', "", value["ref"])
        return {"ref": re.sub(r"\.(?:byName|at)\(([^)]*)\)", r"[\1]", text)}
    return value


def sent(expected: list[Case], events: list[SentEvent]) -> Iterator[str]:
    if len(expected) != len(events):
        yield f"{len(events)} events: {events}"
        return
    for want, got in zip(expected, events, strict=True):
        if want["event"] != got.event or want.get("timeout", got.timeout) != got.timeout:
            yield f"event {got}"
        if ("direct" in want and want["direct"] != got.direct) or (
            want.get("no_direct") and got.direct is not None
        ):
            yield f"direct {got}"
        for code, value in want.get("params", {}).items():
            if code not in got.params or got.params[code] != value:
                yield f"parameter {code}: {got}"
        if set(want.get("absent", ())) & set(got.params):
            yield f"absent {got}"


def test_the_cases_hold(corpus: Path, shipped: list[Tables], tmp_path: Path) -> None:
    by_key = {tables.key: tables for tables in shipped}
    wrong: dict[str, list[str]] = {}
    judged = 0
    for case in read_cases(corpus):
        stem = case["app"]
        key = KEYS.get(stem, stem.lower()) if stem else None
        if key is not None and key not in by_key:
            continue
        state = {} if key is None else {key: case["world"] or {}}
        simulator = Simulator([by_key[k] for k in {key, "standard_additions"} if k], state)
        found = list(failures(case, simulator, tmp_path))
        judged += 1
        if found:
            wrong[case["id"]] = found
    assert judged >= 118
    assert wrong == {}
