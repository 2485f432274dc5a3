"""What becomes of App Intents metadata: a table over files, and actions drawn for blind labels.

    python benchmarks/intents.py [FOLDER] [--draw CASES.tsv LEVELS.tsv]

FOLDER holds files of metadata; by default those of the corpus. Prints a row a file in Markdown:
its actions, the tools made of them, what was left out and why, parameters with a type and without,
levels, how many have a shortcut, and tokens of what a list would say. `--draw` writes 80 actions,
drawn by a fixed seed, as the metadata has them, with nothing of ours, and the levels of the same
ids to another file: who labels the first without the second judges the levels blind.
"""

import argparse
import csv
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from iac_gen.classify.judge import judge_command
from iac_gen.discover import from_intents, load_includes, read_sources
from iac_gen.intents.wrappers import missing_shortcut_reason
from iac_gen.pipeline import BuildInputs, build_folder, represent_app
from iac_gen.types import AppTypes
from iac_gen.xml import LoadedDictionary
from iac_runtime.tool import LEVELS

CORPUS: Final = Path(__file__).parent.parent.parent / "shared" / "corpus" / "app-intents"
DRAWN: Final = 80
SEED: Final = 27
HEADS: Final = (
    "file",
    "actions",
    "tools",
    "left out",
    "typed",
    "unknown",
    *LEVELS,
    "shortcuts",
    "tokens",
)
PRIMITIVES: Final = (
    "String", "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "Double", "Date", "DateComponents",
    "Placemark", "URL", "AttributedString",
)  # fmt: skip
COLUMNS: Final = (
    "id", "app", "identifier", "title", "description", "parameters", "output", "protocols", "flags",
)  # fmt: skip


def row_of(one: LoadedDictionary, tokens: int) -> tuple[list[int], Counter[str]]:
    """Return the numbers of a file's row, and why actions were left out."""
    made = represent_app(one, "app_intents", load_includes(), [])
    reasons = Counter(
        row.intent.left_out
        for row in made.resolved.commands
        if row.intent is not None and row.intent.left_out
    )
    types = [row.row.type for tool in made.module.tools for row in tool.parameters]
    unknown = sum(name.endswith("any") for name in types)
    levels = Counter(tool.level for tool in made.module.tools)
    tools = len(made.module.tools)
    numbers = [tools + reasons.total(), tools, reasons.total(), len(types) - unknown, unknown]
    shortcuts = sum(not missing_shortcut_reason(tool, made.module) for tool in made.module.tools)
    return [*numbers, *(levels[level] for level in LEVELS), shortcuts, tokens], reasons


def table(loaded: Sequence[LoadedDictionary]) -> Iterator[str]:
    """Yield the lines of the table."""
    _, report = build_folder(BuildInputs(loaded, load_includes(), [], wording=True))
    rows, reasons = [], Counter[str]()
    for one, app in zip(loaded, report.apps, strict=True):
        numbers, why = row_of(one, app.tokens)
        rows.append((one.source.name, numbers))
        reasons += why
    rows.append(("all", [sum(column) for column in zip(*(row for _, row in rows), strict=True)]))
    yield "| " + " | ".join(HEADS) + " |"
    yield "|---|" + "---:|" * (len(HEADS) - 1)
    for name, numbers in rows:
        yield f"| {name} | " + " | ".join(map(str, numbers)) + " |"
    yield ""
    yield from (f"{count} left out: {reason}" for reason, count in reasons.most_common())


def levels_of(one: LoadedDictionary) -> Iterator[tuple[str, str]]:
    """Yield the identifier and the level of each action, of those that become no tool too."""
    resolved = represent_app(one, "app_intents", load_includes(), []).resolved
    types = AppTypes(resolved, {})
    for row in resolved.commands:
        kinds = [types.type_string(each.types) for each in row.parameters]
        yield row.code, judge_command(row, resolved, kinds).level


def said(value: Any) -> str:
    """Return a text of metadata on one line."""
    row = value if isinstance(value, Mapping) else {}
    return " ".join(str(row.get("defaultValue") or row.get("key") or "").split())


def kind(value: Any) -> str:
    """Return a value type in one word or two, by the names of Apple's framework."""
    (name, payload), *_ = value.items()
    held = payload["wrapper"]
    if name == "array":
        return f"[{kind(held['memberValueType'])}]"
    if name == "primitive":
        return PRIMITIVES[held["typeIdentifier"]]
    more = held.get("typeName") or held.get("identifier") or held.get("typeIdentifier", "")
    return f"{name} {more}".strip()


def case(row: Mapping[str, Any]) -> list[str]:
    """Return an action as its metadata has it."""
    about = row.get("descriptionMetadata") or {}
    parameters = [
        f"{one['name']}: {kind(one['valueType'])}" + (" optional" if one.get("isOptional") else "")
        for one in row["parameters"]
    ]
    names = ("openAppWhenRun", "supportedModes", "isDiscoverable", "visibilityMetadata",
             "outputFlags", "authenticationPolicy")  # fmt: skip
    return [
        row["identifier"],
        said(row.get("title")),
        said(about.get("descriptionText")),
        "; ".join(parameters),
        kind(row["outputType"]) if row.get("outputType") else "",
        " ".join(one.rpartition(".")[2] for one in row.get("systemProtocols", ())),
        ", ".join(f"{name} {row[name]}" for name in names if row.get(name) is not None),
    ]


def draw(loaded: Sequence[LoadedDictionary], cases: Path, levels: Path) -> None:
    """Write the drawn actions and, elsewhere, their levels."""
    rows = []
    for one in loaded:
        found = dict(levels_of(one))
        data = json.loads(Path(one.source.dictionary.file).read_text("utf-8"))
        for key, row in sorted(data["actions"].items()):
            rows.append((one.source.name, case(row), found[key]))
    drawn = random.Random(SEED).sample(rows, min(DRAWN, len(rows)))  # noqa: S311
    with cases.open("w", newline="") as here, levels.open("w", newline="") as there:
        shown, kept = csv.writer(here, "excel-tab"), csv.writer(there, "excel-tab")
        shown.writerow(COLUMNS)
        kept.writerow(("id", "level"))
        for number, (app, fields, level) in enumerate(drawn, 1):
            shown.writerow((number, app, *fields))
            kept.writerow((number, level))


def main() -> None:
    """Print the table, or write what is drawn."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=CORPUS)
    parser.add_argument("--draw", nargs=2, type=Path, metavar=("CASES", "LEVELS"))
    given = parser.parse_args()
    if not given.folder.is_dir():
        raise SystemExit(f"{given.folder} is no folder; name one with files of metadata")
    loaded, failed = read_sources(from_intents([given.folder]))
    if given.draw:
        draw(loaded, *given.draw)
        return
    for line in [*table(loaded), *map(str, failed)]:
        print(line)


if __name__ == "__main__":
    main()
