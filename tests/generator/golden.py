"""Golden cases: each directory of tests/cases holds a dictionary and what must come of it.

    python tests/generator/golden.py [--write] [NAME...]

A case is built alone, with the bundled standard suites and without quirks; the dictionary's
title names the app. A file that is lost gives an empty module. `--write` rewrites what differs,
prints it, and then ends with 1, so that it cannot stay switched on unnoticed.
"""

import argparse
import difflib
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
MODULE = "expected.py"
DIAGNOSTICS = "expected.txt"


@cache
def standard() -> Mapping[str, Dictionary]:
    """Return the bundled standard suites, a Mac's own left aside."""
    with as_file(files("iac_gen") / "snapshots" / "standard" / "CocoaStandard.json") as path:
        return {STANDARD: read_snapshot(path).dictionary}


def names() -> list[str]:
    """Return the names of all cases."""
    return sorted(path.parent.name for path in CASES.glob(f"*/{DICTIONARY}"))


def built(name: str) -> dict[str, str]:
    """Return the files that case `name` should hold beside its dictionary."""
    try:
        dictionary, found = parse_dictionary((CASES / name / DICTIONARY).read_bytes(), DICTIONARY)
    except LoadError as lost:
        return {MODULE: "", DIAGNOSTICS: f"{lost}\n"}
    title = dictionary.title
    source = Source(dictionary, title, f"com.example.{title.replace(' ', '')}", title)
    made, report = build_folder(
        BuildInputs([LoadedDictionary(source, tuple(found))], standard(), [])
    )
    told = [*report.failed, *(one for app in report.apps for one in app.diagnostics)]
    return {
        MODULE: "".join(made[f"{app.key}.py"] for app in report.apps),
        DIAGNOSTICS: "".join(f"{one}\n" for one in told),
    }


def committed(name: str) -> dict[str, str | None]:
    """Return what case `name` holds, None for a file that is missing."""
    folder = CASES / name
    return {
        file: (folder / file).read_text(encoding="utf-8") if (folder / file).is_file() else None
        for file in (MODULE, DIAGNOSTICS)
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
