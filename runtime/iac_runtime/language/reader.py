"""Reading what a caller writes: references, filters and values of one app.

A filter stands in a reference, a value in a filter, a reference in a value. The three are read by
modules that do not know each other; here they meet.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final

from iac_runtime.errors import InvalidParameterError, quoted
from iac_runtime.language.filters import read_filter
from iac_runtime.language.paths import Last, folder_reference, full_path, has_folders, is_path
from iac_runtime.language.references import Reference, start, walk
from iac_runtime.language.steps import Filter, RecordValue, Value
from iac_runtime.language.syntax import application_of, read_syntax
from iac_runtime.language.text import steps_text
from iac_runtime.language.values import Marshal
from iac_runtime.tables import Tables, fold
from iac_runtime.tool import Property

__all__ = ["Reader"]

_MAX_NESTING: Final = 4
"""References inside the filters of references."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads for one app.

    Attributes:
        home: The user's home folder, for `~`; empty where files cannot be meant.
        strict: Names must be declared; an app's own answer may name what its dictionary lacks.
    """

    tables: Tables
    home: str = ""
    strict: bool = True
    _nesting: int = 0

    def reference(self, text: str) -> Reference:
        """Return the reference that `text` stands for; empty text is the application.

        Raises:
            InvalidParameterError: The text is no reference, or a name in it is unknown.
        """
        if self._nesting > _MAX_NESTING:
            raise InvalidParameterError(
                f"References stand in filters of references more than {_MAX_NESTING} deep."
            )
        inner = replace(self, _nesting=self._nesting + 1)
        parts = read_syntax(text)
        if self.strict:
            self._of_this_app(application_of(text))
        return walk(start(self.tables), parts, self.tables, inner.filter, strict=self.strict)

    def _of_this_app(self, name: str) -> None:
        """Refuse a reference that names another app: here it would mean something else."""
        key, app = self.tables.key, self.tables.app
        called = PurePosixPath(name).stem if is_path(name) else name
        if name and fold(called) not in (fold(key), fold(app.id), fold(app.name)):
            raise InvalidParameterError(
                f"The reference is one of {quoted(name)}, and this call goes to {app.name}.",
                "Leave the application out of it, or call a tool of that app.",
            )

    def place(self, text: str, last: Last = "folder") -> Reference:
        """Return the object that a reference, or where files are objects a path, names.

        Raises:
            InvalidParameterError: As `reference`.
        """
        if not (is_path(text) and has_folders(self.tables)):
            return self.reference(text)
        steps = folder_reference(full_path(text, self.home), self.home, self.tables, last)
        return self.reference(steps_text(steps))

    def filter(self, raw: Any, classes: tuple[str, ...] | None) -> Filter:
        """Return the filter that `raw` describes, over objects of `classes` (None: not known).

        Raises:
            InvalidParameterError: A name, an operator or a value is wrong.
        """
        return read_filter(
            raw,
            classes,
            self.tables,
            lambda value, kind, where: self.value(value, kind, where, last="item"),
        )

    def value(
        self,
        value: Any,
        kind: str,
        where: str = "value",
        *,
        last: Last = "folder",
        direct: bool = False,
    ) -> Value:
        """Return `value` as a tagged value; see `Marshal.value`."""
        return self._marshal(last).value(value, kind, where, direct=direct)

    def record(
        self, value: Mapping[str, Any], find: Callable[[str], Property | None]
    ) -> RecordValue:
        """Return a record; `find` gives the field of a name, or None to take it as it is."""
        return self._marshal("item").record(value, find)

    def _marshal(self, last: Last) -> Marshal:
        return Marshal(self.tables, self.home, self.reference, last)
