"""What a build has to say: per app, and as a whole."""

from collections import Counter
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
    def skipped(self) -> int:
        """Items that cost something: an error cost the item it names."""
        return sum(one.level == "error" for one in self.diagnostics)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole build. `failed` are the inputs that gave no module, `gone` keys without input."""

    apps: tuple[AppReport, ...]
    failed: tuple[Diagnostic, ...] = ()
    gone: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""

        def counts(value: Counts) -> dict[str, int]:
            return {name: getattr(value, name) for name in Counts.__slots__}

        return {
            "apps": [
                {
                    "key": app.key,
                    "name": app.name,
                    "id": app.id,
                    "tools": app.tools,
                    "levels": app.levels,
                    "tokens": app.tokens,
                    "declared": counts(app.declared),
                    "built": counts(app.built),
                    "skipped": app.skipped,
                    "diagnostics": [_diagnostic(one) for one in app.diagnostics],
                }
                for app in self.apps
            ],
            "failed": [_diagnostic(one) for one in self.failed],
            "gone": list(self.gone),
        }


def _diagnostic(one: Diagnostic) -> dict[str, Any]:
    return {
        "file": one.file,
        "line": one.line,
        "code": one.code,
        "level": one.level,
        "message": one.message,
    }
