"""Handles of rows: what a model reads and writes in place of a long reference.

A handle is a number and the mark of this process: `r12kfqz`. It stands for one reference of one app
as long as the process lives and never for another; after a restart the mark is another, and an old
handle fails with one line. It is replaced before a call is planned, so policy, approval and audit
see the reference. A client reads and uses only the handles that it was given.
"""

import itertools
import os
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from iac_base.errors import InvalidParameterError, quote_text
from iac_base.words import fold_name
from iac_runtime.language.terms import find_properties
from iac_runtime.tools.shape import Tool
from iac_runtime.tools.tables import Operation
from iac_runtime.types import parse_type, reading_of

_HANDLE: Final = re.compile(r"(r[1-9][0-9]*[a-z]{4})(?=[.\[]|\Z)")
_WRITTEN: Final = re.compile(r"""['"]r[1-9][0-9]*[a-z]{4}['".\[]""")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_POSITION: Final = re.compile(r"\[[-0-9]")
_MOST: Final = 100_000
"""Handles of a process; beyond, rows are told by their references."""

_SHORT: Final = 9
"""Characters of a reference that needs no handle."""

_TEXTS: Final = frozenset({"class name", "plain", "property", "text"})
"""How types are read of which a text is no reference."""


_Row: TypeAlias = tuple[str, str, str]
"""An app, the client that was told of it, and the reference."""


def new_mark() -> str:
    """Return letters that hardly any other process has."""
    return "".join(chr(ord("a") + byte % 26) for byte in os.urandom(4))


class RowHandles:
    """The handles that one process has given out."""

    def __init__(self) -> None:
        self._mark, self._numbers = new_mark(), itertools.count(1)
        self._handles: dict[_Row, str] = {}
        self._rows: dict[str, _Row] = {}

    def handle_of(self, reference: str, app: str, holder: str) -> str:
        """Return the handle of a reference for a client; the reference itself where it is as short,
        and where a position in it, and no id after it, says which object it is."""
        row = (app.casefold(), holder, reference)
        known = self._handles.get(row)
        if known is None:
            bare = _QUOTED.sub("", reference)
            is_moving = not bare.endswith(")") and _POSITION.search(bare)
            if is_moving or len(reference) <= _SHORT or len(self._rows) >= _MOST:
                return reference
            # A number is given out once; of two threads with one row, both handles are good.
            known = f"r{next(self._numbers)}{self._mark}"
            self._rows[known] = row
            self._handles[row] = known
        return known

    def with_references(self, given: Any, tool: Tool, holder: str) -> Any:
        """Return the arguments of a call with references in place of the handles in them.

        A text in a place that takes only text is never read as a handle.

        Raises:
            InvalidParameterError: A handle is of another process, client or app.
        """
        if not isinstance(given, Mapping) or not _WRITTEN.search(repr(given)):
            return given
        operation = tool.operation
        params = operation.spec.params if operation is not None else {}
        kinds = {fold_name(key): row.type for key, row in params.items()}
        return {
            # What our own tools take at the top are texts.
            key: value
            if operation is None and isinstance(value, str)
            else self._replace_in(value, kinds.get(fold_name(str(key)), ""), operation, holder)
            for key, value in given.items()
        }

    def _replace_in(self, value: Any, kind: str, operation: Operation | None, holder: str) -> Any:
        """Return a value of a type; below the name of a property the type is the property's."""
        if isinstance(value, Mapping):
            return {
                key: self._replace_in(part, _kind_of(key, operation) or kind, operation, holder)
                for key, part in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._replace_in(part, kind, operation, holder) for part in value]
        found = _HANDLE.match(value) if isinstance(value, str) else None
        readings = {reading_of(part.name) for part in parse_type(kind)}
        if found is None or readings <= _TEXTS:
            return value
        app, known, reference = self._rows.get(found[1], ("", "", ""))
        here = operation.tables.app.id.casefold() if operation is not None else app
        if not reference or (app, known) != (here, holder):
            if readings & {*_TEXTS, "any"}:
                return value
            raise InvalidParameterError(
                f"{quote_text(found[1])} is not a row that this app listed in this session.",
                "List the objects again, and use a handle from that answer.",
            )
        return reference + value[found.end() :]


def _kind_of(name: object, operation: Operation | None) -> str:
    """Return the types of the properties of a name."""
    tables = operation and operation.tables
    rows = find_properties(tuple(tables.classes), str(name), tables) if tables else ()
    return " | ".join(dict.fromkeys(row.type for row in rows))
