"""What a build has to say: per app, and as a whole."""

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from iac_gen.ir import Module, level_span
from iac_gen.model import Diagnostic, Dictionary, RecordType, SdefClass, SdefCommand
from iac_gen.output import AppFiles
from iac_gen.text import clean
from iac_runtime.tool import LEVELS


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each there are; `properties` includes the fields of record types."""

    commands: int
    classes: int
    properties: int
    elements: int


def declared_counts(dictionary: Dictionary) -> Counts:
    """Count what the file itself declares: hidden items too, includes not."""
    found: Counter[str] = Counter()
    for item in dictionary.declared():
        if isinstance(item, SdefCommand):
            found["commands"] += not item.event
        elif isinstance(item, SdefClass):
            found["classes"] += not item.extends
            found["properties"] += sum(not prop.contents for prop in item.properties)
            found["elements"] += len(item.elements)
        elif isinstance(item, RecordType):
            found["properties"] += len(item.properties)
    return Counts(found["commands"], found["classes"], found["properties"], found["elements"])


def built_counts(module: Module, commands: int) -> Counts:
    """Count what stands in the tables of a module; `commands` are the visible ones."""
    fields = sum(len(row.properties) for row in module.records.values())
    return Counts(
        commands,
        len(module.classes),
        fields + sum(len(row.properties) for row in module.classes.values()),
        sum(len(row.elements) for row in module.classes.values()),
    )


@dataclass(frozen=True, slots=True)
class AppReport:
    """One app that was built: `levels` counts tools by level, `tokens` are bytes/4."""

    key: str
    name: str
    id: str
    tools: int
    levels: dict[str, int]
    tokens: int
    declared: Counts
    built: Counts
    diagnostics: tuple[Diagnostic, ...]

    @property
    def cleaned(self) -> int:
        """Items whose text held what nobody can see; it was removed."""
        return sum(one.code == "cleaned" for one in self.diagnostics)

    def data(self) -> dict[str, Any]:
        """Return the report of the app as JSON-ready data; `read` takes it back."""
        return {**asdict(self), "skipped": self.skipped, "cleaned": self.cleaned}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "AppReport":
        """Return the report that `data` was made from."""
        given = {name: data[name] for name in cls.__slots__}
        given["declared"], given["built"] = Counts(**data["declared"]), Counts(**data["built"])
        given["diagnostics"] = tuple(Diagnostic(**one) for one in data["diagnostics"])
        return cls(**given)

    @property
    def skipped(self) -> int:
        """Items that cost something: an error cost the item it names."""
        return sum(one.level == "error" for one in self.diagnostics)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole build. `failed` are the inputs that gave no module, `gone` keys without input."""

    apps: tuple[AppReport, ...]
    failed: tuple[Diagnostic, ...] = ()
    gone: tuple[str, ...] = ()
    falls: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """What a listing of every tool costs a client that takes them all at once: bytes/4."""
        return sum(app.tokens for app in self.apps)

    def data(self) -> dict[str, Any]:
        """Return the report as JSON-ready data; `read` takes it back."""
        apps = [app.data() for app in self.apps]
        failed = [asdict(one) for one in self.failed]
        rest = {"gone": list(self.gone), "falls": list(self.falls)}
        return {"apps": apps, "tokens": self.tokens, "failed": failed, **rest}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Report":
        """Return the report that `data` was made from."""
        return cls(
            tuple(AppReport.read(app) for app in data["apps"]),
            tuple(Diagnostic(**one) for one in data["failed"]),
            tuple(data["gone"]),
            tuple(data["falls"]),
        )


def changes(old: Mapping[str, AppFiles], new: Mapping[str, AppFiles]) -> list[str]:
    """Return a line a change, apps by key; empty where a reviewer has nothing to see."""
    lines: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        if key not in old:
            lines.append(f"{key}: new app, {len(new[key].tools)} tools")
        elif key not in new:
            lines.append(f"{key}: app gone, {len(old[key].tools)} tools with it")
        else:
            lines += [f"{key}: {line}" for line in _app(old[key], new[key])]
    return lines


def differences(old: Mapping[str, str], new: Mapping[str, str], folder: str) -> list[str]:
    """Return a unified diff for each file that is not in `old` as it is in `new`."""
    found = []
    for name in sorted(new):
        if old.get(name) == new[name]:
            continue
        lines = difflib.unified_diff(
            old.get(name, "").splitlines(),
            new[name].splitlines(),
            f"{folder}/{name}",
            f"{folder}/{name} (fresh)",
            lineterm="",
        )
        # What the folder holds may be anybody's: nothing of it steers a terminal.
        found.append("\n".join(clean(line) for line in lines))
    return found


def _app(old: AppFiles, new: AppFiles) -> Iterator[str]:
    if old.row["id"] != new.row["id"]:
        yield f"another app: {old.row['id']} became {new.row['id']}"
    if old.version != new.version:
        yield f"version {old.version or 'unknown'} became {new.version or 'unknown'}"
    elif old.row["digest"] != new.row["digest"]:
        yield "the dictionary changed"
    for name in sorted(old.tools.keys() | new.tools.keys()):
        if name not in old.tools:
            row = new.tools[name]
            yield f"{name} added ({level_span(row['level'], row['ceiling'])})"
        elif name not in new.tools:
            yield f"{name} removed"
        else:
            for line in _tool_changes(old, new, name):
                yield f"{name}: {line}"


def _tool_changes(old: AppFiles, new: AppFiles, name: str) -> Iterator[str]:
    before, after = old.tools[name], new.tools[name]
    for word in ("level", "ceiling"):
        if before[word] != after[word]:
            raised = LEVELS.index(after[word]) > LEVELS.index(before[word])
            verb = "raised" if raised else "lowered"
            yield f"{word} {verb} from {before[word]} to {after[word]}"
    if before["digest"] == after["digest"]:
        return
    one, other = json.loads(old.lines[name]), json.loads(new.lines[name])
    said = list(_parameters(one["inputSchema"], other["inputSchema"]))
    if one.get("outputSchema") != other.get("outputSchema"):
        said.append("the result's schema changed")
    if one["description"] != other["description"]:
        said.append(f"described as {other['description']!r}")
    if not said and (before["level"], before["ceiling"]) == (after["level"], after["ceiling"]):
        said.append("another event is sent")
    yield from said


def _parameters(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
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
        if one[key] != other[key]:
            yield f"parameter {key}: {_schema_change(one[key], other[key])}"


def _schema_change(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if old.get("type") != new.get("type") or ("anyOf" in old) != ("anyOf" in new):
        return f"takes {_kind(new)} instead of {_kind(old)}"
    gone = [value for value in old.get("enum", ()) if value not in new.get("enum", ())]
    come = [value for value in new.get("enum", ()) if value not in old.get("enum", ())]
    parts = []
    if come:
        parts.append(f"takes also {', '.join(come)}")
    if gone:
        parts.append(f"no longer takes {', '.join(gone)}")
    return "; ".join(parts) or "schema changed"


def _kind(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"a list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))
