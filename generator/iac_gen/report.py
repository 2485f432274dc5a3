"""What a build has to say, per app and as a whole; and why a level is what it is."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from iac_base.errors import near_text
from iac_gen import output
from iac_gen.classify import LevelJudgment, LevelVerdict
from iac_gen.ir import Module, ToolFunction, level_span
from iac_gen.model import (
    UNFORESEEN,
    Diagnostic,
    Dictionary,
    GeneratorError,
    RecordType,
    SdefClass,
    SdefCommand,
    class_lineage,
)
from iac_runtime.tool import Class

LEFT_OUT: Final = ("hidden", "hook", "left-out")
"""Codes of what says that a command gets no tool because of what its dictionary says."""


@dataclass(frozen=True, slots=True)
class TermCounts:
    """How many of each there are; `properties` includes the fields of record types."""

    commands: int
    classes: int
    properties: int
    elements: int


def declared_counts(dictionary: Dictionary) -> TermCounts:
    """Count what the file itself declares: hidden items too, includes not."""
    count: Counter[str] = Counter()
    for item in dictionary.declared_items():
        if isinstance(item, SdefCommand):
            count["commands"] += not item.event
        elif isinstance(item, SdefClass):
            count["classes"] += not item.extends
            count["properties"] += sum(not prop.contents for prop in item.properties)
            count["elements"] += len(item.elements)
        elif isinstance(item, RecordType):
            count["properties"] += len(item.properties)
    return TermCounts(count["commands"], count["classes"], count["properties"], count["elements"])


def built_counts(module: Module, commands: int) -> TermCounts:
    """Count what stands in the tables of a module; `commands` are the visible ones."""
    fields = sum(len(row.properties) for row in module.records.values())
    properties = fields + sum(len(row.properties) for row in module.classes.values())
    elements = sum(len(row.elements) for row in module.classes.values())
    return TermCounts(commands, len(module.classes), properties, elements)


@dataclass(frozen=True, slots=True)
class AppReport:
    """One app that was built: `levels` counts tools by level, `tokens` are bytes/4."""

    key: str
    name: str
    id: str
    tools: int
    levels: dict[str, int]
    tokens: int
    declared: TermCounts
    built: TermCounts
    diagnostics: tuple[Diagnostic, ...]
    gain: str = ""
    """Of intents: what a person gains by them."""

    @property
    def cleaned_count(self) -> int:
        """Items whose text held what nobody can see; it was removed."""
        return sum(one.code == "cleaned" for one in self.diagnostics)

    def to_data(self) -> dict[str, Any]:
        """Return the report of the app as JSON-ready data; `from_data` takes it back."""
        return {**asdict(self), "skipped": self.skipped_count, "cleaned": self.cleaned_count}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "AppReport":
        """Return the report that `data` was made from."""
        given = {name: data[name] for name in cls.__slots__}
        given |= {name: TermCounts(**data[name]) for name in ("declared", "built")}
        given["diagnostics"] = tuple(Diagnostic(**one) for one in data["diagnostics"])
        return cls(**given)

    @property
    def skipped_count(self) -> int:
        """Items that cost something: an error cost the item it names."""
        return sum(one.level == "error" for one in self.diagnostics)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """A whole build. `failed` are the inputs that gave no module, `gone` keys without input.

    `falls` stop a build, so that of one that is remembered there are none. `templates` names
    those of a team, which are its code.
    """

    apps: tuple[AppReport, ...]
    failed: tuple[Diagnostic, ...] = ()
    gone: tuple[str, ...] = ()
    falls: tuple[output.LevelFall, ...] = ()
    templates: str = ""

    @property
    def tokens(self) -> int:
        """What a listing of every tool costs a client that takes them all at once: bytes/4."""
        return sum(app.tokens for app in self.apps)

    @property
    def lost(self) -> list[Diagnostic]:
        """The inputs that gave no module, and the items that an unforeseen error cost."""
        losses = (one for app in self.apps for one in app.diagnostics if one.code == UNFORESEEN)
        return [*self.failed, *losses]

    def to_data(self) -> dict[str, Any]:
        """Return the report as JSON-ready data; `from_data` takes it back."""
        apps = [app.to_data() for app in self.apps]
        failed = [asdict(one) for one in self.failed]
        rest = {"gone": list(self.gone), "falls": [one._asdict() for one in self.falls]}
        own = {"templates": self.templates} if self.templates else {}
        return {"apps": apps, "tokens": self.tokens, "failed": failed, **rest, **own}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "BuildReport":
        """Return the report that `data` was made from."""
        return cls(
            tuple(AppReport.from_data(app) for app in data["apps"]),
            tuple(Diagnostic(**one) for one in data["failed"]),
            tuple(data["gone"]),
            templates=data.get("templates", ""),
        )


_SHOWN = 5
"""So many properties that reach a ceiling are named."""


def explain_level(module: Module, name: str) -> list[str]:
    """Return lines about the levels of what `name` is: a tool, a class, a `class.property`.

    Raises:
        GeneratorError: Nothing of the app is called so.
    """
    lines: list[str] = []
    for tool in module.tools:
        if name in (tool.name, tool.function):
            lines += [tool.name, *_evidence_lines(tool.judged), *_result_lines(tool, module)]
    owner = _declaring_name(module, name)
    for action, judged in module.judged.get(owner, {}).items():
        came_to = f"result: {judged.level}, {judged.reason}"
        lines += [f"{action} {module.key}.{owner}", *_evidence_lines(judged), came_to]
    if not lines:
        known = [*(tool.name for tool in module.tools), *module.judged]
        hint = near_text(name, known)
        raise GeneratorError(f"{module.key} has no tool, class or property called {name}. {hint}")
    return lines


def _declaring_name(module: Module, name: str) -> str:
    """Return `name`, or the same property of the ancestor that declares it."""
    owner, _, term = name.partition(".")
    names = (f"{one}.{term}" for one in class_lineage(owner, module.classes))
    return next((one for one in names if one in module.judged), name)


def _evidence_lines(judged: LevelJudgment) -> Iterator[str]:
    rows: tuple[LevelVerdict, ...] = judged.evidence
    if judged.quirk:
        rows = (*rows, judged.quirk)
    for number, row in enumerate(rows, 1):
        counts = "can only raise" if row.raises else "decides alone"
        quirk = f", a quirk, which {counts}" if row is judged.quirk else ""
        yield f"{number}. {row.level}, {row.reason} ({row.source}{quirk})"


def _result_lines(tool: ToolFunction, module: Module) -> Iterator[str]:
    yield f"result: {level_span(tool.level, tool.ceiling)}, {tool.reason}"
    if tool.level == tool.ceiling:
        return
    reach = [
        term for name, row in module.classes.items() for term in _ceiling_terms(name, row, tool)
    ]
    rest = f" and {len(reach) - _SHOWN} more" if len(reach) > _SHOWN else ""
    yield f"{tool.ceiling} with {', '.join(reach[:_SHOWN])}{rest}"


def _ceiling_terms(name: str, row: Class, tool: ToolFunction) -> Iterator[str]:
    """Yield what of a class takes a call of `tool` to its ceiling."""
    if tool.op != "set" and row.make == tool.ceiling:
        yield name
    for prop in row.properties:
        if prop.access != "r" and prop.level == tool.ceiling:
            yield f"{name}.{prop.term}"
