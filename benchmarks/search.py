"""How well and how fast tools are found: recall at five, and the time of a search.

    python benchmarks/search.py [FILE.jsonl [TOOLS]] [--times N] [--enough SHARE]

`--times 9` takes every app nine times, under other names, to measure as many tools as that, and
prints what the first `find_tools` of a process takes.
`--enough` is the recall below which it ends with 1, else 0.95.

A line of FILE is a request and what serves it, in the terms of a dictionary:

    {"query": "anything new?", "accept": [{"app": "Mail", "command": "check for new mail"},
                                          {"app": "Mail", "op": "list", "class": "message"}]}

`app` is a name, a key, a bundle id or the stem of a dictionary's file. A hit serves a request if
it is
- the tool of that command of that app, or a recipe that binds it;
- or, for `op`, the object tool of that operation of that app, or a recipe that binds it. With a
  `class`, the hit must be for the class: it suggests it, or the tool offers it in its enumeration
  of classes; a recipe must bind it, or a reference; `get` and `set` take a reference to any
  object, so they are for every class. A recipe on an object of no class (a property of the app)
  is for every class too;
- or, for `{"tool": "click_menu"}`, the tool of that name, which is of no app.
`property` is not asked for: a request is served by the tool that reads or sets it. The stricter
figure, printed beside, counts only hits that suggest the class themselves.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from iac_base.words import fold_name
from iac_gen.output import read_rows, renamed_rows, word_lines
from iac_runtime.search import Index, SearchHit
from iac_runtime.serve.tool_pages import added_apps
from iac_runtime.tools.catalogue import AppRow, Catalogue

ROOT = Path(__file__).parent.parent
REQUESTS = ROOT / "tests" / "search" / "requests.jsonl"
TOOLS = ROOT / "generated" / "iac_tools"
AT = 5
ENOUGH = 0.95
WARM_UP = 20


class Outcome(NamedTuple):
    """One request: the hits, the seconds it took, whether one serves, whether one suggests."""

    query: str
    hits: list[SearchHit]
    seconds: float
    served: bool
    suggested: bool


def is_app(name: str, app: AppRow) -> bool:
    """Say whether `name` means this app."""
    wanted = fold_name(name)
    known = (fold_name(app.name), fold_name(app.key), fold_name(app.id))
    # A dictionary's file stem is the last of the words of a name: Illustrator, Chrome.
    return wanted in known or (known[0].endswith(wanted) and wanted != "")


def serves(hit: SearchHit, wanted: Mapping[str, str], catalogue: Catalogue) -> bool:
    """Say whether a hit is what is wanted (see the module)."""
    if "tool" in wanted:
        return hit.tool == wanted["tool"]
    row = catalogue.tools.get(hit.tool)
    if row is None or not is_app(wanted["app"], row.app):
        return False
    tool = catalogue.load_tool(row)
    spec = catalogue.load_operation(row.name).spec
    if "command" in wanted:
        names = {fold_name(row.function), fold_name(spec.jxa)}
        return spec.op == "command" and fold_name(wanted["command"]) in names
    if spec.op != wanted["op"]:
        return False
    term = wanted.get("class")
    if term is None or spec.op in ("get", "set"):
        return True
    if spec.bind:
        return spec.bind.get("element") in (term, None)
    return hit.element == term or term in tool.input["properties"]["element"].get("enum", ())


def suggests(hit: SearchHit, wanted: Mapping[str, str], catalogue: Catalogue) -> bool:
    """Say whether a hit serves and names the class itself."""
    term = wanted.get("class")
    return serves(hit, wanted, catalogue) and (term is None or hit.element == term)


def ask(index: Index, catalogue: Catalogue, row: Mapping[str, Any]) -> Outcome:
    """Search once."""
    # The time of this thread, which other programs on the machine do not lengthen.
    start = time.thread_time()
    hits = index.find(row["query"], limit=AT)
    seconds = time.thread_time() - start
    pairs = [(hit, wanted) for hit in hits for wanted in row["accept"]]
    served = any(serves(hit, wanted, catalogue) for hit, wanted in pairs)
    suggested = any(suggests(hit, wanted, catalogue) for hit, wanted in pairs)
    return Outcome(row["query"], hits, seconds, served, suggested)


def multiplied(folder: Path, times: int, into: Path) -> Path:
    """Return a folder that holds every app of another several times, under other names."""
    catalogue = json.loads((folder / "catalogue.json").read_text())
    apps, tools, words, listing = {}, {}, [], []
    lines = (folder / "listing.jsonl").read_text().splitlines()
    by_name = {json.loads(line)["name"]: json.loads(line) for line in lines}
    rows = read_rows((folder / "words.jsonl").read_text())
    for number in range(times):
        end = str(number + 1) if number else ""
        for key, row in catalogue["apps"].items():
            apps[key + end] = {**row, "id": row["id"] + end, "name": f"{row['name']} {end}".strip()}
            names = [name for name, tool in catalogue["tools"].items() if tool["module"] == key]
            new = {name: f"{key}{end}{name.removeprefix(key)}" for name in names}
            words.append(
                {**renamed_rows(rows[key], new), "key": key + end, "name": apps[key + end]["name"]}
            )
            (into / f"{key}{end}.py").symlink_to(folder / f"{key}.py")
            for name in names:
                line = json.dumps({**by_name[name], "name": new[name]}, separators=(",", ":"))
                listing.append(line + "\n")
                tools[new[name]] = {**catalogue["tools"][name], "module": key + end}
    (into / "catalogue.json").write_text(json.dumps({**catalogue, "apps": apps, "tools": tools}))
    (into / "listing.jsonl").write_text("".join(listing))
    (into / "words.jsonl").write_text("".join(word_lines(words)))
    return into


FIRST = """
import resource, sys, time
from pathlib import Path
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.serve.tool_pages import ToolSearch
def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
before, start = held(), time.process_time()
catalogue = Catalogue([Path(sys.argv[1])])
read, middle = time.process_time() - start, held()
ToolSearch(lambda: catalogue, read_only=False).find({"query": "unread mails of today"})
found = time.process_time() - start - read
print(f"catalogue {read:.3f} s of the processor, {middle - before:.1f} MB;", end=" ")
print(f"first find_tools {found:.3f} s, {held() - middle:.1f} MB more")
"""
"""What the first `find_tools` of a process takes, and what memory it leaves behind."""


def main() -> int:
    """Print each miss, recall and times; end with 1 where recall is too low."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=REQUESTS)
    parser.add_argument("tools", nargs="?", type=Path, default=TOOLS)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--enough", type=float, default=ENOUGH)
    chosen = parser.parse_args()
    held = tempfile.TemporaryDirectory()
    folder = chosen.tools.resolve()
    if chosen.times > 1:
        folder = multiplied(folder, chosen.times, Path(held.name))
    catalogue = Catalogue([folder])
    start = time.perf_counter()
    index = Index(catalogue, added_apps)
    index.find("the first search opens it")
    made = time.perf_counter() - start
    tools = len(catalogue.tools)
    lines = chosen.file.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    for row in rows[:WARM_UP]:
        index.find(row["query"])
    outcomes = [ask(index, catalogue, row) for row in rows]
    for one in outcomes:
        if not one.served:
            print(f"miss: {one.query}")
            for hit in one.hits:
                print(f"    {hit.tool:<44} {hit.score:5.2f}  {hit.why}")
    recall = sum(one.served for one in outcomes) / len(outcomes)
    strict = sum(one.suggested for one in outcomes) / len(outcomes)
    times = sorted(one.seconds * 1000 for one in outcomes)
    tail = times[min(len(times) - 1, int(len(times) * 0.95))]
    print(f"{len(outcomes)} requests, {tools} tools, index opened in {made:.2f} s")
    if chosen.times > 1:
        subprocess.run([sys.executable, "-c", FIRST, str(folder)], check=True)
    print(f"recall@{AT} {recall:.3f} (at least {chosen.enough}); class suggested {strict:.3f}")
    middle = statistics.median(times)
    print(f"a search takes {middle:.2f} ms (median), {tail:.2f} (p95), {times[-1]:.2f} (slowest)")
    held.cleanup()
    return 0 if recall >= chosen.enough else 1


if __name__ == "__main__":
    sys.exit(main())
