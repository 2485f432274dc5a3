"""How well levels are decided: the classifier against labels that people gave.

    python benchmarks/labels.py [--all | --strict] [--no-floors | --leave-one-app-out]
        [FILE.tsv [DICTIONARIES]]

FILE has a header and tab-separated columns: app, kind (command, property_set, implicit, osax),
name, code, label, accept; bundle_id, takes, answers where there are. `accept` holds the levels that
a careful person may also give. DICTIONARIES is a folder of .sdef files. A row whose app or term has
no dictionary is judged by its name and code, and by its types: `takes` lists parameters as in
`document; to: file` (one without a name is the direct one), `answers` is the type of the result. By
default both are those of the corpus. `--no-floors` judges as if no code but the standard ones had
been seen before; `--leave-one-app-out` as if the app of each row had never been: without the floors
of the codes that it declares, without quirks, under another name and id.

Beside this file lie rows that readers of the dictionaries alone labelled. `labels_held_out.tsv`: of
six apps of the corpus (CotEditor, Database Events, Illustrator, Numbers, Terminal, Xcode), taken by
chance, which no rule was mended on since; who mends one on a row takes it out. Those of the other
apps, mended on, are in tests/generator/labels_blind.tsv. `labels_elsewhere.tsv`: of apps whose
dictionaries the corpus has not, mostly mended on; name a folder that has them. `labels-open.tsv` in
`shared/field`, with `shared/field/dictionaries`: half of what readers said of apps that no rule had
been written on; the other half is kept for acceptance. `labels_from_memory.tsv`: terms of some
sixty kinds of apps, written and labelled before the rules met them, mended on since.

Prints each row that misses its accept set (with `--strict` each that differs from its label, with
`--all` every row), the figures, and the bounds that are missed; ends with 1 when any is.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from iac_gen.classify.evidence import LevelFloors, LevelVerdict, shipped_floors
from iac_gen.classify.judge import judge_command, judge_setter
from iac_gen.discover import from_paths, load_includes, read_sources
from iac_gen.model import (
    Dictionary,
    SdefClass,
    SdefCommand,
    SdefParameter,
    SdefProperty,
    Source,
    Suite,
    TypeRef,
)
from iac_gen.quirks import QuirkDecisions, QuirkFile, apply_quirks, known_apps, load_quirks
from iac_gen.resolve import ResolvedDictionary, resolve_dictionary
from iac_gen.types import AppTypes
from iac_runtime.tool import LEVELS, Level
from iac_runtime.types import TYPES

__all__ = ["App", "Figures", "Label", "Outcome", "bounds_missed", "figures", "judge", "read_labels"]

CORPUS: Final = Path(__file__).parent.parent.parent / "shared" / "corpus"

# The verbs that every app answers, declared or not (AERegistry.h).
_INTRINSIC: Final = {
    "activate": "miscactv", "close": "coreclos", "count": "corecnte", "delete": "coredelo",
    "duplicate": "coreclon", "exists": "coredoex", "get": "coregetd", "launch": "ascrnoop",
    "make": "corecrel", "move": "coremove", "open": "aevtodoc", "print": "aevtpdoc",
    "quit": "aevtquit", "reopen": "aevtrapp", "save": "coresave", "set": "coresetd",
}  # fmt: skip
# What is described by rows alone has objects, whichever they are.
_APPLICATION: Final = SdefClass(
    "application", "capp", properties=(SdefProperty("name", "pnam", (TypeRef("text"),), "r"),)
)
_EVERY_APP: Final = ("*", "osax", "")


@dataclass(frozen=True, slots=True)
class Label:
    """What a person said of a command or of setting `class.property`; `line` is the file's."""

    line: int
    app: str
    bundle: str
    kind: str
    name: str
    code: str
    level: Level
    accept: tuple[Level, ...]
    takes: str = ""
    answers: str = ""


@dataclass(frozen=True, slots=True)
class App:
    """A dictionary with the quirks that hold for it; without one, of what its rows describe."""

    resolved: ResolvedDictionary
    decisions: QuirkDecisions
    types: AppTypes
    declared: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """A label and the classifier's verdict; `declared` is false where no dictionary has it."""

    label: Label
    verdict: LevelVerdict
    declared: bool

    @property
    def under(self) -> bool:
        """Whether the verdict is lower than every accepted level."""
        return _rank(self.verdict.level) < min(map(_rank, self.label.accept))

    @property
    def over(self) -> bool:
        """Whether the verdict is higher than every accepted level."""
        return _rank(self.verdict.level) > max(map(_rank, self.label.accept))

    def __str__(self) -> str:
        label = self.label
        code = f" [{label.code}]" if label.code else ""
        accepts = ", ".join(label.accept)
        return (
            f"line {label.line}: {label.app} {label.kind} {label.name}{code}: {self.verdict.level}"
            f" ({self.verdict.reason}); labelled {label.level}, accepts {accepts}"
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a run: counts, and shares between 0 and 1."""

    rows: int
    strict: float
    lenient: float
    dangerous_below: int
    dangerous_safe: int
    under: float
    over: float


def _rank(level: Level) -> int:
    return LEVELS.index(level)


def read_labels(path: Path) -> list[Label]:
    """Return the rows of a label file.

    Raises:
        ValueError: A row has no level where one belongs; the text says which line.
    """
    found: list[Label] = []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        for line, row in enumerate(rows, 2):
            accept = tuple(_level(one, line) for one in (row["accept"] or row["label"]).split(","))
            found.append(
                Label(
                    line,
                    row["app"],
                    row.get("bundle_id") or "",
                    row["kind"],
                    row["name"],
                    row["code"] or "",
                    _level(row["label"], line),
                    accept,
                    row.get("takes") or "",
                    row.get("answers") or "",
                )
            )
    return found


def _level(text: str, line: int) -> Level:
    for level in LEVELS:
        if text.strip() == level:
            return level
    raise ValueError(f"line {line}: {text!r} is no level; there are {', '.join(LEVELS)}")


class Shelf:
    """The dictionaries of a folder, by app; `labels` describe the apps that have none there."""

    def __init__(self, folder: Path, labels: Iterable[Label] = ()) -> None:
        loaded, _ = read_sources(from_paths([folder], known_apps()))
        self._sources: dict[str, Source] = {}
        for one in loaded:
            for name in (one.source.id, one.source.stem, one.source.name):
                self._sources.setdefault(_plain(name), one.source)
        self._described: dict[str, list[SdefCommand | SdefClass]] = {}
        for label in labels:
            row = _bare(label, label.code) if label.kind == "command" else _bare_class(label)
            self._described.setdefault(label.app, [_APPLICATION]).append(row)

    def app(self, label: Label) -> App:
        """Return the app of a label: its dictionary under its bundle id, or what its rows say."""
        found = self._sources.get(_plain(label.app)) or self._sources.get(_plain(label.bundle))
        bundle = "" if label.bundle in _EVERY_APP else label.bundle
        if found is not None:
            return _app(replace(found, id=bundle or found.id))
        suite = Suite(label.app, "", tuple(self._described.get(label.app, ())))
        nothing = Dictionary(label.app, "", suites=(suite,))
        name = bundle or f"local.{_plain(label.app)}"
        return replace(_app(Source(nothing, label.app, name, label.app)), declared=False)


def _plain(name: str) -> str:
    return "".join(ch for ch in name.lower() if ch.isalnum())


@cache
def _app(source: Source) -> App:
    resolved, decisions, _ = apply_quirks(resolve_dictionary(source, _includes())[0], _quirks())
    return App(resolved, decisions, AppTypes(resolved, {}))


@cache
def _includes() -> Mapping[str, Dictionary]:
    return load_includes()


@cache
def _quirks() -> list[QuirkFile]:
    return load_quirks()[0]


def judge(label: Label, app: App, floors: LevelFloors | None = None) -> Outcome:
    """Return the verdict on what `label` is about; `floors` stand in for those that ship."""
    if label.kind == "property_set":
        return _judge_property(label, app, floors)
    code = label.code or (_INTRINSIC.get(label.name, "") if label.kind == "implicit" else "")
    commands = app.resolved.commands if app.declared else ()
    found = next(_commands(commands, label.name, code), None)
    command = found or _bare(label, code)
    decided = app.decisions.level_for("command", command.name) if found else None
    if decided:
        return Outcome(label, decided, True)
    kinds = _kinds(command, app, bare=found is None)
    judged = judge_command(command, app.resolved, kinds, floors=floors)
    return Outcome(label, judged.verdict, found is not None)


def left_out(label: Label, app: App) -> Outcome:
    """Return the verdict as if nobody had ever seen the app: no floors, no quirks, no name."""
    known = {row.code for row in app.resolved.commands}
    known |= {row.code for row in app.resolved.classes}
    every = shipped_floors()
    floors = LevelFloors(
        {code: level for code, level in every.events.items() if code not in known},
        {key: level for key, level in every.setters.items() if key[0] not in known},
    )
    source = replace(app.resolved.source, id="com.example.nobody", name="Nobody", stem="Nobody")
    nobody = replace(app, resolved=replace(app.resolved, source=source), decisions=QuirkDecisions())
    return judge(label, nobody, floors)


def _commands(commands: Sequence[SdefCommand], name: str, code: str) -> Iterator[SdefCommand]:
    """Yield the commands that are meant, the best first."""
    yield from (c for c in commands if c.name == name and c.code == code)
    yield from (c for c in commands if code and c.code == code)
    yield from (c for c in commands if c.name == name and not code)


def _bare(label: Label, code: str) -> SdefCommand:
    """Return the command that a row describes by itself."""
    rows: list[SdefParameter] = []
    for part in filter(None, label.takes.split(";")):
        name, _, kinds = part.rpartition(":")
        types = tuple(_type(kind.strip()) for kind in kinds.split("|"))
        rows.append(SdefParameter(name.strip(), "" if name else "----", types))
    direct = next((row for row in rows if not row.name), None)
    named = tuple(row for row in rows if row.name)
    answer = (_type(label.answers),) if label.answers else None
    return SdefCommand(label.name, code, direct=direct, parameters=named, result=answer)


def _bare_class(label: Label) -> SdefClass:
    """Return the class whose property a row is about, with that property alone."""
    owner, _, name = label.name.partition(".")
    one = SdefProperty(name, label.code, (TypeRef(label.takes or "text"),))
    return SdefClass(owner, "", properties=(one,))


def _type(name: str) -> TypeRef:
    item = name.removeprefix("list of ")
    return TypeRef(item, list=item != name)


def _kinds(command: SdefCommand, app: App, *, bare: bool) -> list[str]:
    """Return the types of the parameters; of a `bare` command those not Apple's are objects."""
    shown = [parameter for parameter in command.parameters if not parameter.hidden]
    rows = [*([command.direct] if command.direct else []), *shown]
    if not bare:
        return [app.types.type_string(row.types) for row in rows]
    return [app.types.type_string(tuple(map(_known, row.types))) for row in rows]


def _known(ref: TypeRef) -> TypeRef:
    return ref if ref.name in TYPES else replace(ref, name="specifier")


def _judge_property(label: Label, app: App, floors: LevelFloors | None) -> Outcome:
    owner, _, name = label.name.partition(".")
    rows = app.resolved.classes if app.declared else ()
    for row, prop in _properties(rows, owner, name, label.code):
        decided = app.decisions.level_for("property", (row.name, prop.name))
        judged = replace(judge_setter(row, prop, floors=floors), quirk=decided)
        return Outcome(label, judged.verdict, True)
    own = [one for row in app.resolved.classes if row.name == owner for one in row.properties]
    (bare,) = _bare_class(label).properties
    described = SdefClass(owner, "", properties=(*own, bare))
    return Outcome(label, judge_setter(described, bare, floors=floors).verdict, False)


def _properties(
    rows: Iterable[SdefClass], owner: str, name: str, code: str
) -> Iterator[tuple[SdefClass, SdefProperty]]:
    """Yield the properties that are meant, the owner's first, then those of any class."""
    every = [(row, prop) for row in rows for prop in row.properties if prop.access != "r"]
    yield from ((r, p) for r, p in every if r.name == owner and p.name == name)
    yield from ((r, p) for r, p in every if r.name == owner and p.code == code)
    yield from ((r, p) for r, p in every if p.name == name and code in ("", p.code))


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Return the figures of a run; there must be a row of each level."""
    total = len(outcomes)
    dangerous = [one for one in outcomes if one.label.level == "DANGEROUS"]
    others = [one for one in outcomes if one.label.level != "DANGEROUS"]
    return Figures(
        total,
        sum(one.verdict.level == one.label.level for one in outcomes) / total,
        sum(one.verdict.level in one.label.accept for one in outcomes) / total,
        sum(one.under for one in dangerous),
        sum(one.verdict.level == "SAFE" for one in dangerous),
        sum(one.under for one in outcomes) / total,
        sum(one.over for one in others) / max(len(others), 1),
    )


def bounds_missed(found: Figures) -> list[str]:
    """Return a line for each bound that the figures miss."""
    checks = (
        (found.dangerous_below > 0, f"{found.dangerous_below} DANGEROUS below their accept set"),
        (found.dangerous_safe > 0, f"{found.dangerous_safe} DANGEROUS called SAFE"),
        (found.under > 0.01, f"{found.under:.1%} under-classified, at most 1 % may be"),
        (found.over > 0.05, f"{found.over:.1%} of SAFE and MODIFY over, at most 5 % may be"),
        (found.strict < 0.90, f"{found.strict:.1%} strict, at least 90 % are wanted"),
        (found.lenient < 0.97, f"{found.lenient:.1%} lenient, at least 97 % are wanted"),
    )
    return [text for missed, text in checks if missed]


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a label file, print what misses and the figures; 1 when a bound is missed."""
    parser = argparse.ArgumentParser(description="Compare levels with labels.")
    parser.add_argument("--all", action="store_true", help="print every row")
    parser.add_argument("--strict", action="store_true", help="print what differs from the label")
    without = parser.add_mutually_exclusive_group()
    without.add_argument("--no-floors", action="store_true", help="judge without floors by code")
    without.add_argument(
        "--leave-one-app-out", action="store_true", help="judge each app as if nobody had seen it"
    )
    parser.add_argument("file", nargs="?", type=Path, default=CORPUS / "permission-labels.tsv")
    parser.add_argument("dictionaries", nargs="?", type=Path, default=CORPUS / "sdef")
    chosen = parser.parse_args(arguments)
    for path in (chosen.file, chosen.dictionaries):
        if not path.exists():
            parser.error(f"{path} does not exist; name a label file and a folder of dictionaries")
    floors = LevelFloors() if chosen.no_floors else None
    try:
        labels = read_labels(chosen.file)
        shelf = Shelf(chosen.dictionaries, labels)
        outcomes = [
            left_out(row, shelf.app(row))
            if chosen.leave_one_app_out
            else judge(row, shelf.app(row), floors)
            for row in labels
        ]
    except (ValueError, KeyError) as error:
        parser.error(f"{chosen.file} is no label file: {error}")
    for one in outcomes:
        strict = one.verdict.level == one.label.level
        if chosen.all or one.under or one.over or (chosen.strict and not strict):
            print(one)
    found = figures(outcomes)
    levels = Counter(one.label.level for one in outcomes)
    print(f"{found.rows} rows: {', '.join(f'{levels[level]} {level}' for level in LEVELS)}")
    print(f"{sum(not one.declared for one in outcomes)} of them declared by no dictionary")
    print(f"strict {found.strict:.1%}, lenient {found.lenient:.1%}")
    print(f"DANGEROUS below the accept set {found.dangerous_below}, SAFE {found.dangerous_safe}")
    print(f"under {found.under:.1%} of all, over {found.over:.1%} of SAFE and MODIFY")
    missed = bounds_missed(found)
    for text in missed:
        print(f"missed: {text}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
