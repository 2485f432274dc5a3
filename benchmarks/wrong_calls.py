"""Wrong calls as models made them: what comes back, and whether the `next` of an error helps.

    python benchmarks/wrong_calls.py CALLS.jsonl [KIND]

Each line of the file has a `kind`, and `tool` and `arguments` as a client sent them. Each is sent
to a server with simulated apps. A call that was taken has been put right; else its error is to have
a `next`, or, where it is no read of an app, to say what to decide. `runs`: that call is answered,
or a person would be asked. `keeps`: nothing but what was wrong is another. With KIND (a part of the
word) each call is printed.
"""

import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from bounds import exit_status, hold_at_least, hold_at_most

from iac_base.errors import Cancellation
from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.serve.call import CallMethod, RemoteClient
from iac_runtime.serve.tool_pages import any_page
from iac_runtime.tools.own import CALL_TOOLS, OWN_TOOLS, added_tools

NOBODY: Final = frozenset({"UNANSWERED", "REFUSED"})
"""What an error is called where a person would have been asked."""

DOORS: Final = frozenset(CALL_TOOLS.values())
MOST_ROWS: Final = 20


class Client:
    """A client that cannot ask a person."""

    name = "benchmark"
    modern = declared = views = False
    remote: RemoteClient | None = None

    def report(self, *_said: Any) -> None:
        """Hear how long a call has run."""

    def elicit(self, *_question: Any) -> Any:
        """Put no question to anybody."""
        raise AssertionError


def count_rows(value: Any) -> int:
    """Return the rows of the longest list in an answer."""
    if isinstance(value, Mapping):
        return max(map(count_rows, value.values()), default=0)
    return len(value) if isinstance(value, list) else 0


def inner_call(call: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the tool that a call reaches, and what it gives it."""
    given = call["arguments"]
    if call["tool"] not in DOORS:
        return call["tool"], given
    return str(given.get("name", "")), given.get("arguments", {"calls": given.get("calls")})


def leaves_of(value: Any, way: str = "") -> Iterator[tuple[str, str]]:
    """Yield the plain values of arguments, each with the names before it."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves_of(part, f"{way}.{key}")
    elif isinstance(value, list):
        for part in value:
            yield from leaves_of(part, way)
    else:
        yield way, json.dumps(value)


def keeps_intention(row: Mapping[str, Any], then: Mapping[str, Any], known: Container[str]) -> bool:
    """Say whether a next call is the one that was made, but for the one thing that was wrong.

    The tool is the same, and all values under their names but one; what was not given may be
    added. Where there is no such tool, one of the app has all that was given; where an object is
    not there, its own collection is listed.
    """
    (tool, given), (other, arguments) = inner_call(row), inner_call(then)
    kept = [*leaves_of(arguments)]
    lost = list((Counter(leaves_of(given)) - Counter(kept)).elements())
    if tool == other:
        # Of a list several words may be wrong.
        ways = {way for way, _ in lost}
        return len(lost) <= 1 or (len(ways) == 1 and ways <= {way for way, _ in kept})
    app = other.split("_")[0]
    if tool not in known:
        return not lost and (app in tool or arguments.get("app") in tool.split("_"))
    missing = str(given.get("target", ""))
    kind = str(arguments.get("element", "")).rstrip("y")
    listed = other == f"{tool.rpartition('_')[0]}_list" and kind in missing.rpartition("[")[0]
    return row["kind"].startswith("stale") and listed


def main(file: str, shown: str = "") -> int:
    """Send every call of a file, and print what came of each kind and the sums."""
    rows = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]
    gate = build_gate(GateOptions(simulate="", rate_limit=100_000))
    catalogue = gate.catalogue
    assert catalogue is not None
    known = {*catalogue.tools, *OWN_TOOLS, *added_tools()}
    send = CallMethod(gate, lambda: catalogue)

    def ask(call: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        params = {"name": call["tool"], "arguments": call["arguments"]}
        try:
            answer = send(params, Client(), Cancellation())
        except Exception as error:
            return {"isError": True}, {"type": type(error).__name__, "message": str(error)}
        return answer, json.loads(answer["content"][0]["text"])

    sums: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    most = 0
    for row in rows:
        answer, facts = ask(row)
        found = kinds[row["kind"]]
        told = ["calls"]
        then = facts.get("next") if answer["isError"] else None
        if not answer["isError"]:
            told.append("taken")
        elif facts.get("type", "") in NOBODY:
            told.append("asked")
        else:
            told.append("errors")
        if told[-1] == "errors" and then is None:
            tool = catalogue.tools.get(inner_call(row)[0])
            fault = facts.get("error", facts)
            writes = tool is None or any_page(catalogue, tool.name).acts
            told.append("decide" if writes and fault.get("suggestion") else "none")
        reply: dict[str, Any] = {}
        if then is not None:
            told.append("next")
            outcome, reply = ask(then)
            lists = count_rows(reply) if not outcome["isError"] else 0
            most = max(most, lists)
            told += ["runs"] * (not outcome["isError"] or reply.get("type", "") in NOBODY)
            told += ["keeps"] * keeps_intention(row, then, known)
            told += ["long"] * (lists > MOST_ROWS)
        found.update(told)
        sums.update(told)
        if shown and shown in row["kind"]:
            print(" ".join(told), json.dumps(row["arguments"], ensure_ascii=False))
            says = (
                f"{facts.get('message')} | {facts.get('suggestion')}" if answer["isError"] else ""
            )
            print("    ", says[:300])
            print("    ", json.dumps(then, ensure_ascii=False), str(reply.get("message", ""))[:200])
    columns = (
        "calls",
        "taken",
        "asked",
        "errors",
        "decide",
        "none",
        "next",
        "runs",
        "keeps",
        "long",
    )
    print(f"{'':36}{''.join(f'{name:>8}' for name in columns)}")
    for kind, counts in [*sorted(kinds.items()), ("all", sums)]:
        print(f"{kind:36}{''.join(f'{counts[name]:>8}' for name in columns)}")
    hold_at_most("errors of reads without a next", sums["none"], 0)
    hold_at_least("next calls that run", sums["runs"] / max(sums["next"], 1), 0.98)
    hold_at_least("next calls that keep the intention", sums["keeps"] / max(sums["next"], 1), 0.90)
    hold_at_most("rows of a next call", most, MOST_ROWS)
    return exit_status()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IAC_DATA"] = folder
        sys.exit(main(*sys.argv[1:]))
