"""What a build has to say, per app and as a whole; and why a level is what it is."""

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from iac_gen.text import clean_text
from iac_runtime.tool import Class, at_most

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


def describe_changes(
    old: Mapping[str, output.AppFiles], new: Mapping[str, output.AppFiles]
) -> list[str]:
    """Return a line a change, apps by key; empty where a reviewer has nothing to see."""
    lines: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        if key not in old:
            lines.append(f"{key}: new app, {len(new[key].tools)} tools")
        elif key not in new:
            lines.append(f"{key}: app gone, {len(old[key].tools)} tools with it")
        else:
            lines += [f"{key}: {line}" for line in _app_changes(old[key], new[key])]
    return lines


def changed_levels(
    old: Mapping[str, output.AppFiles], new: Mapping[str, output.AppFiles]
) -> Mapping[str, list[tuple[str, str, str]]]:
    """Return app -> thing, levels before and after, where they differ; empty for none."""
    changes: dict[str, list[tuple[str, str, str]]] = {}
    for key in sorted(old.keys() & new.keys()):
        before, after = old[key].reviewed_surface(), new[key].reviewed_surface()
        former = _former_names(before, after)
        gone = {name: name for name in before.keys() - former.values()}
        for name, was in sorted({**dict.fromkeys(after, ""), **former, **gone}.items()):
            kind = name.partition(" ")[0]
            one, other = (
                output.levels_in_words(kind, rows[at].levels) if at in rows else ""
                for rows, at in ((before, was), (after, name))
            )
            if one != other:
                changes.setdefault(key, []).append((_thing_title(name), one, other))
    return changes


def file_difference(old: str, new: str, path: str) -> str:
    """Return a unified diff of the file at `path`, as it is and as a build makes it."""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), path, f"{path} (fresh)", lineterm=""
    )
    # What the folder holds may be anybody's: nothing of it steers a terminal.
    return "\n".join(clean_text(line) for line in lines)


def _app_changes(old: output.AppFiles, new: output.AppFiles) -> Iterator[str]:
    if old.row["id"] != new.row["id"]:
        yield f"another app: {old.row['id']} became {new.row['id']}"
    if old.version != new.version:
        yield f"version {old.version or 'unknown'} became {new.version or 'unknown'}"
    elif old.row["digest"] != new.row["digest"]:
        yield "the dictionary changed"
    before, after = old.reviewed_surface(), new.reviewed_surface()
    known = old.terms is not None and new.terms is not None
    former = _former_names(before, after)
    owners = [(_full_name(was), _full_name(name)) for name, was in former.items() if name != was]
    for name in sorted(after):
        kind, title = name.partition(" ")[0], _thing_title(name)
        if kind != "tool" and not known:
            continue
        if name not in former:
            span = output.levels_in_words(kind, after[name].levels)
            yield f"{title} added{f' ({span})' if span else ''}"
            continue
        was = former[name]
        if _is_renamed(was, name, owners):
            yield f"{title}: renamed from {_thing_title(was).removeprefix(f'{kind} ')}"
        yield from (f"{title}: {line}" for line in _row_changes(kind, before[was], after[name]))
        if kind == "tool":
            one, other = old.lines[_full_name(was)], new.lines[_full_name(name)]
            lines = _listed_changes(json.loads(one), json.loads(other))
            yield from (f"{title}: {line}" for line in lines)
    for name in sorted(before.keys() - former.values()):
        if known or name.startswith("tool "):
            yield f"{_thing_title(name)} removed"


def _thing_title(name: str) -> str:
    """Return how a line names a thing: a tool by its name, a term without its app."""
    kind, _, shown = name.partition(" ")
    return shown if kind == "tool" else f"{kind} {shown.partition('.')[2]}"


def _former_names(old: output.Surface, new: output.Surface) -> dict[str, str]:
    """Return name -> former name: the same, else one that is gone and had the codes."""
    gone = output.names_by_codes({name: row for name, row in old.items() if name not in new})
    former = {name: name for name in new if name in old}
    for name in sorted(new.keys() - old.keys()):
        if names := gone.get((name.partition(" ")[0], *new[name].codes)):
            former[name] = names.pop(0)
    return former


def _is_renamed(was: str, name: str, owners: Sequence[tuple[str, str]]) -> bool:
    """Say whether a thing has another name, and not only what it belongs to."""
    one, other = _full_name(was), _full_name(name)
    return one != other and not any(
        one.startswith(f"{old}.") and other == new + one.removeprefix(old) for old, new in owners
    )


def _full_name(name: str) -> str:
    return name.partition(" ")[2]


_LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "tool": ("level", "ceiling"),
    "class": ("level of making", "level of deleting"),
}


def _row_changes(kind: str, old: output.SurfaceRow, new: output.SurfaceRow) -> Iterator[str]:
    if old.codes != new.codes and old.codes and new.codes:
        what = "sends another event" if kind == "tool" else "has another code"
        yield f"{what}: {'/'.join(new.codes)} instead of {'/'.join(old.codes)}"
    for word, before, after in zip(
        _LEVELS.get(kind, ("level",)), old.levels, new.levels, strict=False
    ):
        if before != after:
            verb = "lowered" if at_most(after, before) else "raised"
            yield f"{word} {verb} from {before} to {after}"
    if new.levels and not old.levels:
        yield f"can now be set, {output.levels_in_words(kind, new.levels)}"
    if kind == "tool" and old.facts and new.facts:
        yield from _call_changes(old.facts, new.facts)
        return
    for word, one, other in zip(output.FACTS.get(kind, ()), old.facts, new.facts, strict=False):
        if one != other:
            yield f"{word} changed from {one or 'none'} to {other or 'none'}"


def _call_changes(old: Sequence[Any], new: Sequence[Any]) -> Iterator[str]:
    (result, params, bound), (result_now, params_now, bound_now) = old, new
    for key in params_now:
        if key not in params:
            continue
        (code, kind), (code_now, kind_now) = params[key], params_now[key]
        if code != code_now:
            yield f"parameter {key}: sent as {code_now or 'nothing'} instead of {code or 'nothing'}"
        if kind != kind_now:
            yield f"parameter {key}: type changed from {kind} to {kind_now}"
    if result != result_now:
        yield f"result changed from {result or 'none'} to {result_now or 'none'}"
    if bound != bound_now:
        yield "other arguments are bound"


def _listed_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield what changed in the entry of a listing: parameters, and the words."""
    yield from _parameter_changes(old["inputSchema"], new["inputSchema"])
    if old["description"] != new["description"]:
        yield f"described as {new['description']!r}"
    if _search_words(old) != _search_words(new):
        yield "search words changed"


def _search_words(entry: Mapping[str, Any]) -> Any:
    return entry.get("_meta", {}).get(output.SEARCH_WORDS)


def _parameter_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    one, other = old["properties"], new["properties"]
    for key in one:
        if key not in other:
            yield f"parameter {key} removed"
    for key in other:
        required = key in new.get("required", ())
        if key not in one:
            yield f"parameter {key} added{', required' if required else ''}"
            continue
        if required != (key in old.get("required", ())):
            yield f"parameter {key} is now {'required' if required else 'optional'}"
        before, after = (schema[key].get("enum", ()) for schema in (one, other))
        if come := [value for value in after if value not in before]:
            yield f"parameter {key}: takes also {', '.join(come)}"
        if gone := [value for value in before if value not in after]:
            yield f"parameter {key}: no longer takes {', '.join(gone)}"
        if one[key].get("description") != other[key].get("description"):
            yield f"parameter {key}: described otherwise"


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
