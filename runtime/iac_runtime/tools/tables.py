"""Reading the tables of a generated module: one view for references, values and the simulator."""

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import NamedTuple

from iac_base.words import fold
from iac_runtime.tool import App, Class, Element, Enum, Property, Record, Spec, spec_of

__all__ = ["APPLICATION", "Tables", "tables_of"]

APPLICATION = "application"
"""The class at which every reference begins; each module with classes has it."""


class Tables(NamedTuple):
    """The tables of one module; `key` is the module's name and the prefix of its tools."""

    key: str
    app: App
    classes: Mapping[str, Class]
    enums: Mapping[str, Enum]
    records: Mapping[str, Record]
    tools: Mapping[str, Spec]

    def lineage(self, term: str) -> Iterator[tuple[str, Class]]:
        """Yield the class `term` and those it inherits from, nearest first; cycles end."""
        seen: set[str] = set()
        name: str | None = term
        while name is not None and name not in seen and name in self.classes:
            seen.add(name)
            yield name, self.classes[name]
            name = self.classes[name].inherits

    def descends(self, term: str, ancestor: str) -> bool:
        """Say whether the class `term` is `ancestor` or inherits from it."""
        return any(name == ancestor for name, _ in self.lineage(term))

    def properties(self, term: str) -> Iterator[Property]:
        """Yield the properties of the class `term`, its own first; an overridden one once."""
        seen: set[str] = set()
        for _, row in self.lineage(term):
            for prop in row.properties:
                if prop.term not in seen:
                    seen.add(prop.term)
                    yield prop

    def elements(self, term: str) -> Iterator[Element]:
        """Yield what the class `term` contains, its own first."""
        seen: set[str] = set()
        for _, row in self.lineage(term):
            for element in row.elements:
                if element.term not in seen:
                    seen.add(element.term)
                    yield element

    def find_class(self, name: str) -> str | None:
        """Return the term of the class called `name`, singular or plural, in either spelling."""
        wanted = fold(name)
        for term, row in self.classes.items():
            if wanted in (fold(term), fold(row.plural)):
                return term
        return None

    def find_property(self, term: str, name: str) -> Property | None:
        """Return the property `name` of the class `term`, in either spelling."""
        wanted = fold(name)
        return next((p for p in self.properties(term) if fold(p.term) == wanted), None)


def tables_of(module: ModuleType) -> Tables:
    """Return the tables of an imported generated module."""
    key = module.__name__.rpartition(".")[2]
    tools = {
        name: spec
        for name in module.__all__
        if (spec := spec_of(getattr(module, name))) is not None
    }
    return Tables(key, module.APP, module.CLASSES, module.ENUMS, module.RECORDS, tools)
