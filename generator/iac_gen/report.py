"""What a build has to say: per app, and as a whole."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iac_gen.diagnostics import Diagnostic
from iac_gen.ir import Module
from iac_gen.model import Class, Command, Dictionary, RecordType

__all__ = ["AppReport", "Counts", "Report", "built_counts", "declared_counts"]


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
        if isinstance(item, Command):
            found["commands"] += not item.event
        elif isinstance(item, Class):
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
        return {
            "key": self.key,
            "name": self.name,
            "id": self.id,
            "tools": self.tools,
            "levels": self.levels,
            "tokens": self.tokens,
            "declared": _counts(self.declared),
            "built": _counts(self.built),
            "skipped": self.skipped,
            "cleaned": self.cleaned,
            "diagnostics": [_diagnostic(one) for one in self.diagnostics],
        }

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "AppReport":
        """Return the report that `data` was made from."""
        return cls(
            data["key"],
            data["name"],
            data["id"],
            data["tools"],
            data["levels"],
            data["tokens"],
            Counts(**data["declared"]),
            Counts(**data["built"]),
            tuple(Diagnostic(**one) for one in data["diagnostics"]),
        )

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
        return {
            "apps": [app.data() for app in self.apps],
            "tokens": self.tokens,
            "failed": [_diagnostic(one) for one in self.failed],
            "gone": list(self.gone),
            "falls": list(self.falls),
        }

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Report":
        """Return the report that `data` was made from."""
        return cls(
            tuple(AppReport.read(app) for app in data["apps"]),
            tuple(Diagnostic(**one) for one in data["failed"]),
            tuple(data["gone"]),
            tuple(data["falls"]),
        )


def _diagnostic(one: Diagnostic) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Diagnostic.__slots__}


def _counts(value: Counts) -> dict[str, int]:
    return {name: getattr(value, name) for name in Counts.__slots__}
