"""Writes the table of docs/mac.md: what only a Mac can answer, and on which system it was proven.

Run it with `python docs/make_mac.py` after a file came into `evidence/`; a test holds the page to
what it writes.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).with_name("mac.md")
sys.path.insert(0, str(PAGE.parents[1] / "tests" / "mac"))

from evidence import FOLDER, QUESTIONS, Fact, differences, read, simulated  # noqa: E402
from iac_gen.quirks import known_apps, load_field_book, read_facts  # noqa: E402

BRIDGE_START = "<!-- accessibility: written by docs/make_mac.py -->\n"
BRIDGE_END = "<!-- end of accessibility -->\n"
BOOK_START = "<!-- field book: written by docs/make_mac.py -->\n"
BOOK_END = "<!-- end of the field book -->\n"
START, END = "<!-- questions: written by docs/make_mac.py -->\n", "<!-- end of the questions -->\n"


def table(files: Sequence[Mapping[str, Any]], own: Sequence[Fact]) -> str:
    """Return the table for what these files of evidence say; `own` is what the simulator says."""
    lines = ["| # | question | what answers it | confirmed on |", "|---|---|---|---|"]
    for row in tomllib.loads(QUESTIONS.read_text("utf-8"))["question"]:
        proven = "; ".join(filter(None, (_said(row, file, own) for file in files)))
        lines.append(f"| {row['id']} | {row['text']} | {row['by']} | {proven or 'not yet'} |")
    return "\n".join(lines) + "\n"


def bridge(files: Sequence[Mapping[str, Any]], own: Sequence[Fact]) -> str:
    """Return the table of what the accessibility bridge takes a Mac to do."""
    lines = [
        "| assumption about macOS | its source | test that simulates it | confirmed on |",
        "|---|---|---|---|",
    ]
    for row in tomllib.loads(QUESTIONS.read_text("utf-8"))["accessibility"]:
        proven = "; ".join(filter(None, (_said(row, file, own) for file in files)))
        test = f"`{row['test']}`" if row["test"] else "none"
        lines.append(f"| {row['text']} | {row['source']} | {test} | {proven or 'not yet'} |")
    return "\n".join(lines) + "\n"


def book(files: Sequence[Mapping[str, Any]]) -> str:
    """Return how far the reports about each app are known, and what each asked one came to."""
    rows, counts = read_facts(load_field_book()[0]), Counter[tuple[str, str]]()
    names = {app.id: app.name for app in known_apps().values()}
    answers: dict[str, dict[bool, str]] = {f"field.{row.id}": {} for row in rows}
    for file in files:
        for fact in file["facts"]:
            if fact["id"] in answers and "value" in fact:
                answers[fact["id"]][fact["value"]] = f"macOS {file['macos']} ({file['date']})"
    for row in rows:
        is_proven = row.is_proven or True in answers[f"field.{row.id}"]
        for name in (names.get(row.app, row.app and f"`{row.app}`") or "every app", "~"):
            counts[name, "proven" if is_proven else row.confidence] += 1
    lines = ["| app | proven | reported by one | unknown |", "|---|---|---|---|"]
    for name in sorted({name for name, _ in counts}, key=str.casefold):
        cells = (str(counts[name, word]) for word in ("proven", "measured by one", "claimed"))
        lines.append(f"| {'all' if name == '~' else name} | {' | '.join(cells)} |")
    lines += ["", "| if you | what happens | reported by | what a Mac said |", "|---|---|---|---|"]
    for row in (one for one in rows if answers[f"field.{one.id}"]):
        said = answers[f"field.{row.id}"].items()
        told = "; ".join(f"{'so' if is_so else 'not so'} on {where}" for is_so, where in said)
        who = ", ".join(f"`{one}`" for one in row.sources)
        lines.append(f"| {row.act} | {row.happens} | {who} | {told} |")
    return "\n".join(lines) + "\n"


def _said(row: Mapping[str, Any], file: Mapping[str, Any], own: Sequence[Fact]) -> str:
    """Return what a file says of a question: the system, and how much is unlike the simulator."""
    begins = tuple(row["facts"])
    facts = [fact for fact in file["facts"] if fact["id"].startswith(begins)]
    measured = [fact for fact in facts if "unmeasured" not in fact]
    told = "prompts" in begins and file["prompts"]["names"].get("value")
    if not measured and not told:
        return ""
    unlike = len(differences(measured, own))
    where = f"macOS {file['macos']} ({file['date']})"
    parts = [f"{unlike} of {len(measured)} unlike the simulator" if unlike else ""]
    parts += [f"{len(facts) - len(measured)} left out" if len(facts) > len(measured) else ""]
    return ", ".join([where, *filter(None, parts)])


def page(text: str, files: Sequence[Mapping[str, Any]], own: Sequence[Fact]) -> str:
    """Return the page with its tables anew."""
    tables = (
        (START, END, table(files, own)),
        (BRIDGE_START, BRIDGE_END, bridge(files, own)),
        (BOOK_START, BOOK_END, book(files)),
    )
    for start, end, made in tables:
        before, _, rest = text.partition(start)
        text = before + start + made + end + rest.partition(end)[2]
    return text


if __name__ == "__main__":
    found = [read(path) for path in sorted(FOLDER.glob("*.json"))]
    PAGE.write_text(page(PAGE.read_text("utf-8"), found, simulated() if found else []), "utf-8")
    sys.exit(0)
