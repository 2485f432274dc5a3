"""Hold a tree to what an earlier one did.

    python tools/lock/lock.py store FOLDER                keep the facts of this tree and the calls
    python tools/lock/lock.py compare FOLDER [GROUP...]   ask this tree the same, show differences

Run it with the Python of the tree. A difference that is meant is declared in `differences.toml`
beside this file, with its reason: `[[difference]]`, `group` and `key` (globs), `reason`, and where
that is all that changed `was` and `now` (a regular expression, and what stands in its place).
Ends with 1 where a difference is not declared, or a declaration fits none.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from inputs import CORPUS, collect_inputs
from programs import MAY_PRINT, ROOT, Server, find_commands, handshake, run_program

Facts = Iterator[tuple[str, str]]
DECLARED = Path(__file__).with_name("differences.toml")
_SCRIPTS = "execute_applescript"
_UNBUILT = {"helps", "labels", "reference"}
SHOWN = 12
"""Lines of a difference that are shown."""

_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r'(\\*"(?:ms|milliseconds|delay_ms|pid)\\*": )[\d.]+'), r"\1N"),
    (re.compile(r"[0-9a-f]{16}\.txt"), "FILE"),
    (re.compile(r'(\\*"(?:requestState|story|digest|hash|approval)\\*": \\*")[^"\\]+'), r"\1X"),
)


class Asked(NamedTuple):
    """A tree that is asked: what, and where its built tools and its files of this run lie."""

    inputs: Mapping[str, Any]
    folder: Path

    def calls(self) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
        """Yield every call: a key, tool, arguments, and the words that name its tools' folder."""
        for name, rows in self.inputs["calls"].items():
            tools = ("--tools", str(self.folder / name))
            for key, tool, arguments in rows:
                yield f"{name} {key}", tool, json.dumps(arguments), tools


def built(folder: Path, corpus: str) -> dict[str, Path]:
    """Build the bundled dictionaries, and those of the corpus where there is one."""
    sources: dict[str, tuple[str, ...]] = {"bundled": ("--bundled",)}
    if corpus:
        intents = ("--intents", f"{corpus}/app-intents")
        sources["corpus"] = ("--dictionary", f"{corpus}/sdef", *intents)
    for name, words in sources.items():
        told = run_program("iac-gen", "build", *words, "--output", str(folder / name))
        (folder / f"{name}.report").write_text(told, encoding="utf-8")
    return {name: folder / name for name in sources}


def modules(asked: Asked) -> Facts:
    """Yield what a build writes: a row of each tool and word list, each module's source."""
    for name in asked.inputs["calls"]:
        yield f"{name} report", (asked.folder / f"{name}.report").read_text(encoding="utf-8")
        for path in sorted((asked.folder / name).iterdir()):
            if path.suffix == ".py":
                yield f"{name} {path.name}", path.read_text(encoding="utf-8")
            elif path.is_file():
                for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
                    row = re.match(r'\{"(?:name|key)": ?"([^"]+)"|"([^"]+)": \{', line)
                    yield f"{name} {path.name} {row[1] or row[2] if row else number}", line


def helps(_asked: Asked) -> Facts:
    """Yield the help of every command."""
    for program in MAY_PRINT:
        for words in find_commands(program):
            yield " ".join(words), run_program(*words, "--help")


def pages(asked: Asked) -> Facts:
    """Yield the list of all tools, ours too, and the page of each."""
    for name in asked.inputs["calls"]:
        folder = ("--tools", str(asked.folder / name))
        told = run_program("iac-mcp", "tools", *folder)
        yield f"{name} list", told
        for line in told.splitlines()[1:]:
            if line and not line.startswith(" "):
                tool = line.split()[0]
                yield f"{name} {tool}", run_program("iac-mcp", "tools", tool, *folder)


def lines(asked: Asked) -> Facts:
    """Yield the line or raw event of every call."""
    for key, tool, arguments, folder in asked.calls():
        yield key, run_program("iac-mcp", "call", "--dry-run", *folder, tool, arguments)


def decisions(asked: Asked) -> Facts:
    """Yield what is decided on every call without a policy, with level, reasons and line."""
    for key, tool, arguments, folder in asked.calls():
        yield key, run_program("iac-mcp", "policy", "check", *folder, "--json", tool, arguments)


def questions(asked: Asked) -> Facts:
    """Yield the question about every call, where everything is asked and nobody answers."""
    private = asked.folder / "private.toml"
    private.write_text(
        'preset = "private"\napprovers = ["client"]\n'
        "[limits]\nreads_per_second = 1000\ndangerous_per_second = 1000\n"
    )
    private.chmod(0o600)
    rows = asked.inputs["scripts"]
    written = [(f"{way} {text}", _SCRIPTS, _of_script(way, text)) for way, text in rows]
    yield from asked_about(asked, written, private, "scripts", asked.folder / "bundled")
    for name in asked.inputs["calls"]:
        calls = [
            (key, tool, given) for key, tool, given, _ in asked.calls() if key.startswith(name)
        ]
        yield from asked_about(asked, calls, private, f"{name}-questions", asked.folder / name)


def asked_about(asked: Asked, calls: Any, policy: Path, at: str, tools: Path) -> Facts:
    """Yield what a client is asked about calls, and what it is answered when it cancels."""
    words = ("--policy", str(policy), "--tools", str(tools), "--expose", "all")
    server = Server(asked.folder / at, *words, answer={"action": "cancel"})
    list(server.play(handshake()))
    for number, (key, tool, given) in enumerate(calls, 1):
        params = {"name": tool, "arguments": json.loads(given)}
        heard = server.ask({"id": number, "method": "tools/call", "params": params})
        told = json.dumps(heard, indent=1, ensure_ascii=False)
        whole = re.search(r"All of it: (\S+\.txt)", told)
        yield key, told + (Path(whole[1]).read_text(encoding="utf-8") if whole else "")
    server.close()


def policies(asked: Asked) -> Facts:
    """Yield what each policy of the docs decides, why, and asks; its times are tested apart."""
    folder = asked.folder / "policies"
    for kind in ("policies", "timeless"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name, text in asked.inputs[kind].items():
            (folder / kind / name).write_text(text, encoding="utf-8")
            (folder / kind / name).chmod(0o600)
    for path in sorted((folder / "policies").glob("*.expected.toml")):
        yield path.name, run_program("iac-mcp", "policy", "test", str(path))
    examples = [row[1:] for row in asked.inputs["calls"]["bundled"] if row[0].endswith("example")]
    tools = asked.folder / "bundled"
    for path in sorted((folder / "timeless").iterdir()):
        given = ("--tools", str(tools), "--policy", str(path))
        yield path.name, run_program("iac-mcp", "policy", "check", *given)
        doubtful: list[tuple[str, str, str]] = []
        for tool, arguments in [*asked.inputs["expected"], *examples]:
            text = json.dumps(arguments)
            key = f"{path.stem} {tool} {text}"
            decided = run_program("iac-mcp", "policy", "check", *given, "--json", tool, text)
            yield key, decided
            if '"action": "ask"' in decided:
                doubtful.append((f"{key} asked", tool, text))
        for tool, arguments in asked.inputs["expected"]:
            words = ("explain", *given, tool, json.dumps(arguments))
            yield (
                f"{' '.join(words[-2:])} {path.stem} explained",
                run_program("iac-mcp", "policy", *words),
            )
        yield from asked_about(asked, doubtful, path, f"{path.stem}-questions", tools)


def scripts(asked: Asked) -> Facts:
    """Yield level, reasons and effects of every script."""
    words = ("policy", "check", "--tools", str(asked.folder / "bundled"), "--json", _SCRIPTS)
    for language, script in asked.inputs["scripts"]:
        told = run_program("iac-mcp", *words, _of_script(language, script))
        yield f"{language} {script}", told


def _of_script(language: str, script: str) -> str:
    return json.dumps({"script": script, "language": language})


def labels(asked: Asked) -> Facts:
    """Yield the level of every labelled row, with its reason."""
    for name, text in asked.inputs["labels"].items():
        (asked.folder / name).write_text(text, encoding="utf-8")
        for flag in ("--all", "--leave-one-app-out"):
            corpus = asked.inputs["corpus"] or str(asked.folder)
            words = ("--all", *({flag} - {"--all"}), str(asked.folder / name), f"{corpus}/sdef")
            told = run_file("benchmarks/labels.py", *words)
            for line in told.splitlines():
                yield f"{name} {flag} {line.partition(':')[0]}", line


def sessions(asked: Asked) -> Facts:
    """Yield what every recorded session is answered."""
    yes = {"action": "accept", "content": {"answer": "Allow once"}}
    for client, messages in asked.inputs["sessions"].items():
        tools = ("--tools", str(asked.folder / "bundled"))
        server = Server(asked.folder / f"session-{client.split(',')[0]}", *tools, answer=yes)
        for number, heard in enumerate(server.play(messages)):
            yield f"{client} {number}", json.dumps(heard, indent=1, ensure_ascii=False)
        server.close()


def reference(_asked: Asked) -> Facts:
    """Yield the pages of the reference, from the code; of messages, each whatever its file."""
    told = run_file("-c", "import json, make_reference; print(json.dumps(make_reference.pages()))")
    for name, text in json.loads(told).items():
        if name == "messages.md":
            yield from ((f"{name} {line}", line) for line in text.splitlines() if line[:2] == "- ")
        elif name != "rooms.md":
            yield name, text


def run_file(*words: str) -> str:
    """Run a Python file of the tree in a process, with the programs of docs at hand."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'docs'}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=env, capture_output=True)
    return done.stdout.decode()


GROUPS: Mapping[str, Callable[[Asked], Facts]] = {
    group.__name__: group
    for group in (
        *(modules, helps, reference, labels, pages, lines, decisions),
        *(policies, scripts, questions, sessions),
    )
}


def gather(asked: Asked, groups: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each group with its facts, without what differs from run to run."""
    places = ((str(asked.folder), "RUN"), (asked.inputs["corpus"] or "-", "CORPUS"))
    for group in groups or GROUPS:
        began = time.monotonic()
        facts: dict[str, str] = {}
        for key, text in GROUPS[group](asked):
            for old, new in (*places, (str(ROOT), "TREE")):
                key, text = key.replace(old, new), text.replace(old, new)
            for pattern, new in _VARYING:
                text = pattern.sub(new, text)
            facts[key] = text
        print(f"{group}: {len(facts)} facts, {time.monotonic() - began:.0f} s", file=sys.stderr)
        yield group, facts


def store(kept: Path, run: Path) -> int:
    """Keep the facts of this tree."""
    corpus = str(CORPUS) if CORPUS.is_dir() else ""
    inputs = collect_inputs(built(run, corpus))
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "inputs.json").write_text(json.dumps(inputs), encoding="utf-8")
    for group, facts in gather(Asked(inputs, run), []):
        (kept / f"{group}.json").write_text(json.dumps(facts, indent=0), encoding="utf-8")
    return 0


def compare(kept: Path, run: Path, groups: list[str], most: int) -> int:
    """Print in what this tree differs, and why; 1 where that is not declared."""
    inputs = json.loads((kept / "inputs.json").read_bytes())
    if not groups or set(groups) - _UNBUILT:
        built(run, inputs["corpus"])
    rows = tomllib.loads(DECLARED.read_text())["difference"] if DECLARED.exists() else []
    used = dict.fromkeys(range(len(rows)), 0)
    left = 0
    for group, facts in gather(Asked(inputs, run), groups):
        old = json.loads((kept / f"{group}.json").read_bytes())
        changed = [key for key in {**old, **facts} if old.get(key) != facts.get(key)]
        told = 0
        for key in changed:
            if declared(rows, used, group, key, old.get(key), facts.get(key)):
                continue
            left, told = left + 1, told + 1
            if told <= most:
                print(f"{group}: {key[:160]!r}", *delta(old.get(key), facts.get(key)), sep="\n")
        if told > most:
            print(f"{group}: {told - most} more; the option --most shows them")
    for number, count in used.items():
        if not groups or rows[number]["group"] in groups:
            print(
                f"declared, {count} times: {rows[number]['group']} {rows[number]['key']}:", end=" "
            )
            print(rows[number]["reason"])
    print(f"{left} differences are not declared, {list(used.values()).count(0)} rows fit none")
    return int(bool(left) or (not groups and 0 in used.values()))


def declared(
    rows: list[dict[str, str]],
    used: dict[int, int],
    group: str,
    key: str,
    old: str | None,
    new: str | None,
) -> bool:
    """Say whether a fact may differ so; what several rows change adds up. Counts those that do."""
    for number, row in enumerate(rows):
        if fnmatchcase(group, row["group"]) and fnmatchcase(key, row["key"]):
            before = old
            if "was" in row and old is not None:
                old = re.sub(row["was"], row.get("now", ""), old)
            used[number] += "was" not in row or old != before
            if "was" not in row or old == new:
                return True
    return False


def delta(old: str | None, new: str | None) -> Iterator[str]:
    """Yield the lines in which two facts differ, at most a dozen, from where they do."""
    if old is None or new is None:
        yield "  is new" if old is None else "  is gone"
        return
    pairs = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    parts = [line for line in pairs if line[:2] not in ("--", "++", "@@")]
    pair = zip(parts[0][1:], parts[1][1:], strict=False) if len(parts) == 2 else ()
    start = max(0, next((at for at, (a, b) in enumerate(pair) if a != b), 0) - 60)
    for line in parts[:SHOWN]:
        yield f"  {line[0]}{'...' * bool(start)}{line[1 + start : 240 + start]}"


def main() -> int:
    """Store or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("store", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []])
    parser.add_argument("--most", type=int, default=40, help="differences that a group shows")
    given = parser.parse_args()
    if given.what == "compare" and not (given.folder / "inputs.json").is_file():
        parser.error(f"{given.folder} holds no facts; make them with: lock.py store {given.folder}")
    if given.what == "store":
        try:
            given.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"{given.folder} cannot be made: {error.strerror}")
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of some reasons is that of a set.
        os.execve(
            sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"}
        )
    with tempfile.TemporaryDirectory() as run:
        own = {"IAC_DATA": f"{run}/data", "HOME": f"{run}/home", "COLUMNS": "80", "TZ": "UTC"}
        os.environ.update(own, NO_COLOR="1")
        for name in ("data", "home"):
            Path(run, name).mkdir(mode=0o700)
        if given.what == "store":
            return store(given.folder, Path(run))
        return compare(given.folder, Path(run), given.groups, given.most)


if __name__ == "__main__":
    sys.exit(main())
