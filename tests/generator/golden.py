"""Golden cases: each directory of tests/cases holds a dictionary and what must come of it.

    python tests/generator/golden.py [--write] [NAME...]

A case is built alone, with the bundled standard suites and without quirks; the dictionary's
title names the app. A case holds how its module differs from BASE, a committed module of a real
app, part by part: a part is a statement, or a row of a table. A file that is lost gives an empty
module. `--write` rewrites what differs, prints it, and then ends with 1, so that it cannot stay
switched on unnoticed.

A difference lists the parts of BASE that the case is `without`, then each part that differs (`-`
what BASE has, `+` what the case has) or that only the case has, with the part that it comes after.
A line that is only added follows the line before it. The facts of the app (title, identifier,
digest, what to change) count as equal; blank lines between parts and the breaks of short statements
are black's.
"""

import argparse
import ast
import difflib
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from iac_gen.model import Dictionary, Source
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.resolve import STANDARD
from iac_gen.snapshot import read_snapshot
from iac_gen.xml import LoadedDictionary, LoadError, parse_dictionary

CASES = Path(__file__).parent.parent / "cases"
DICTIONARY = "app.sdef"
BASE = Path(__file__).parents[2] / "generated" / "iac_tools" / "shortcuts.py"
"""The committed module with the fewest differences; `nox -s drift` holds it to what is built."""
DIFFERENCE = "expected.diff"
DIAGNOSTICS = "expected.txt"


@cache
def standard() -> Mapping[str, Dictionary]:
    """Return the bundled standard suites, a Mac's own left aside."""
    with as_file(files("iac_gen") / "snapshots" / "standard" / "CocoaStandard.json") as path:
        return {STANDARD: read_snapshot(path).dictionary}


def names() -> list[str]:
    """Return the names of all cases."""
    return sorted(path.parent.name for path in CASES.glob(f"*/{DICTIONARY}"))


def build_case(name: str) -> tuple[str, str]:
    """Return the module of case `name` and its diagnostics, one a line."""
    try:
        dictionary, found = parse_dictionary((CASES / name / DICTIONARY).read_bytes(), DICTIONARY)
    except LoadError as lost:
        return "", f"{lost}\n"
    title = dictionary.title
    source = Source(dictionary, title, f"com.example.{title.replace(' ', '')}", title)
    made, report = build_folder(
        BuildInputs([LoadedDictionary(source, tuple(found))], standard(), [])
    )
    told = [*report.failed, *(one for app in report.apps for one in app.diagnostics)]
    module = "".join(made[f"{app.key}.py"] for app in report.apps)
    return module, "".join(f"{one}\n" for one in told)


def built(name: str) -> dict[str, str]:
    """Return the files that case `name` should hold beside its dictionary."""
    module, diagnostics = build_case(name)
    return {DIFFERENCE: compare_with_base(module) if module else "", DIAGNOSTICS: diagnostics}


def compare_with_base(module: str) -> str:
    """Return how the module of a case differs from BASE."""
    base = BASE.read_text(encoding="utf-8")
    for old, new in zip(_facts_of(base), _facts_of(module), strict=True):
        base = base.replace(old, new)
    return compare_modules(base, module)


def _facts_of(module: str) -> tuple[str, ...]:
    """Return what each module has of its own: the digest and what to change, the identifier, the
    name of the objects and the title."""
    source = re.search(r"sha256 (\w+)\)\. Do not edit:\n(.+)", module)
    app = re.search(r'^APP: Final = App\("([\w.]+)", "(.+)"\)$', module, re.MULTILINE)
    assert source is not None
    assert app is not None, "a module names its app"
    return *source.groups(), app[1], f"{app[2].lower().replace(' ', '_')}_objects", app[2]


def split_module(module: str) -> dict[str, list[str]]:
    """Return the lines of a module's statements and of its tables' rows, by name."""
    lines = module.splitlines()
    parts: dict[str, list[str]] = {}
    end = 0
    for node in ast.parse(module).body:
        start = next(at for at in range(end, len(lines)) if lines[at])
        end = node.end_lineno or node.lineno
        named = re.match(r"(?:def )?((?:from |if )?[\w.]+)", lines[node.lineno - 1])
        name, part = named[1] if named else "docstring", lines[start:end]
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            parts[name] = [line.removesuffix("}") for line in lines[start : node.lineno]]
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                assert key is not None
                parts[f"{name} {ast.literal_eval(key)}"] = lines[key.lineno - 1 : value.end_lineno]
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.ImportFrom):
            parts[name] = [" ".join(map(str.strip, part))]
        else:
            parts[name] = part
    return parts


def compare_modules(base: str, module: str) -> str:
    """Return how a case's module differs from the base's, part by part."""
    old, new = split_module(base), split_module(module)
    told = (
        [f"without {', '.join(gone)}"]
        if (gone := [name for name in old if name not in new])
        else []
    )
    before = ""
    for name, lines in new.items():
        if name not in old:
            told += [f"@@ {name}, after {before} @@", *(f"+{line}" for line in lines)]
        elif old[name] != lines:
            told += [f"@@ {name} @@", *_compare_lines(old[name], lines)]
        before = name
    return "".join(f"{line}\n" for line in told)


def _compare_lines(old: list[str], new: list[str]) -> list[str]:
    """Return the lines that differ; those of `new` alone where that is shorter."""
    told: list[str] = []
    for kind, at, to, there, until in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if kind == "insert" and at:
            told.append(f" {old[at - 1]}")
        if kind != "equal":
            told += [f"-{line}" for line in old[at:to]]
            told += [f"+{line}" for line in new[there:until]]
    return min(told, [f"+{line}" for line in new], key=len)


def committed(name: str) -> dict[str, str | None]:
    """Return what case `name` holds, None for a file that is missing."""
    folder = CASES / name
    return {
        file: (folder / file).read_text(encoding="utf-8") if (folder / file).is_file() else None
        for file in (DIFFERENCE, DIAGNOSTICS)
    }


def difference(name: str, file: str, old: str | None, new: str) -> str:
    """Return how the committed text differs from the built one, as a unified diff."""
    here, there = (text.splitlines(keepends=True) for text in (old or "", new))
    return "".join(difflib.unified_diff(here, there, f"{name}/{file}", "built"))


def main(arguments: list[str] | None = None) -> int:
    """Compare, or with `--write` rewrite; return 1 when anything differed."""
    parser = argparse.ArgumentParser(description="Compare golden cases with a fresh build.")
    parser.add_argument("--write", action="store_true", help="rewrite what differs")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases (default: all)")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(names()))
    if unknown:
        parser.error(f"no case is called {unknown[0]}")
    differ = False
    for name in chosen.names or names():
        old = committed(name)
        for file, text in built(name).items():
            if old[file] == text:
                continue
            differ = True
            if chosen.write:
                (CASES / name / file).write_text(text, encoding="utf-8")
                print(CASES.parent.name, CASES.name, name, file, sep="/")
            else:
                print(difference(name, file, old[file], text), end="")
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
