"""Writes the table of docs/mac.md: what only a Mac can answer, and on which system it was proven.

Run it with `python docs/make_mac.py` after a file came into `evidence/`; a test holds the page to
what it writes.
"""

import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).with_name("mac.md")
sys.path.insert(0, str(PAGE.parents[1] / "tests" / "mac"))

from evidence import FOLDER, QUESTIONS, Fact, differences, read, simulated  # noqa: E402

BRIDGE_START = "<!-- accessibility: written by docs/make_mac.py -->\n"
BRIDGE_END = "<!-- end of accessibility -->\n"
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
    tables = ((START, END, table), (BRIDGE_START, BRIDGE_END, bridge))
    for start, end, made in tables:
        before, _, rest = text.partition(start)
        text = before + start + made(files, own) + end + rest.partition(end)[2]
    return text


if __name__ == "__main__":
    found = [read(path) for path in sorted(FOLDER.glob("*.json"))]
    PAGE.write_text(page(PAGE.read_text("utf-8"), found, simulated() if found else []), "utf-8")
    sys.exit(0)
