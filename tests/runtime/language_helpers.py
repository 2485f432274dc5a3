"""Reading references, filters and values as one line each."""

from typing import Any

from iac_runtime.language.reader import AppReader
from iac_runtime.language.references import PathKind, Reference
from iac_runtime.language.steps import Filter, Value
from iac_runtime.tools.tables import Tables

HOME = "/Users/me"


def parse_reference(text: str, tables: Tables, *, strict: bool = True) -> Reference:
    return AppReader(tables, HOME, strict).read_reference(text)


def read_filter(raw: Any, classes: tuple[str, ...] | None, tables: Tables) -> Filter:
    return AppReader(tables, HOME).read_filter(raw, classes)


def marshal(
    value: Any,
    kind: str,
    tables: Tables,
    home: str = HOME,
    *,
    where: str = "value",
    last: PathKind = "folder",
    direct: bool = False,
) -> Value:
    return AppReader(tables, home).read_value(value, kind, where, last=last, direct=direct)
