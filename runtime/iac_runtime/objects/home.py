"""What the classes of an app share, found by the name of their module.

`mail_objects` stands beside `mail`, which has the functions and the tables.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from iac_runtime.tool import spec_of

if TYPE_CHECKING:
    from iac_runtime.objects.base import Object
    from iac_runtime.tools.tables import Tables

__all__ = ["APPLICATION", "AppObjects", "home_of"]

_SUFFIX: Final = "_objects"
APPLICATION: Final = "application"


class AppObjects:
    """What the generated classes of one app share. `objects` is term -> class, collection."""

    def __init__(self, name: str) -> None:
        here = sys.modules[name]
        self.name = name
        self.module = import_module(name.removesuffix(_SUFFIX))
        self.objects: Mapping[str, tuple[type[Object], type[Any] | None]] = here.OBJECTS
        self.fields: Mapping[str, str] = getattr(here, "FIELDS", {})
        self.terms = {cls: term for term, (cls, _) in self.objects.items()}
        self._members: dict[type[Object], dict[str, str]] = {}

    @property
    def tables(self) -> "Tables":
        """The `Tables` of the app."""
        from iac_runtime.tools.catalogue import module_tables

        return module_tables(self.module)

    def function(self, name: str) -> Callable[..., Any]:
        """Return a tool's function.

        Raises:
            InvalidParameterError: The app has none of that name.
        """
        found: Callable[..., Any] | None = getattr(self.module, name, None)
        if found is None or spec_of(found) is None:
            from iac_base.errors import InvalidParameterError

            raise InvalidParameterError(f"{self.module.APP.name} has no command {name}.")
        return found

    def class_of(self, term: str) -> "type[Object]":
        return self.objects[term][0]

    def items_of(self, term: str) -> type[Any]:
        found = self.objects[term][1]
        assert found is not None
        return found

    def members(self, owner: "type[Object]") -> Mapping[str, str]:
        """Return Python name -> JavaScript name of the properties and elements of a class."""
        if owner not in self._members:
            rows: dict[str, str] = {}
            for cls in reversed(owner.__mro__):
                named = ((name, getattr(row, "name", None)) for name, row in vars(cls).items())
                rows |= {name: jxa for name, jxa in named if isinstance(jxa, str)}
            self._members[owner] = rows
        return self._members[owner]

    def python_names(self, owner: "type[Object]") -> Mapping[str, str]:
        """Return folded name -> Python name of the properties of a class."""
        from iac_base.words import fold_name

        return {fold_name(jxa): name for name, jxa in self.members(owner).items()}


_homes: Final[dict[str, AppObjects]] = {}


def home_of(owner: type) -> AppObjects:
    """Return what the generated class `owner` shares with the other classes of its app."""
    found = _homes.get(owner.__module__)
    if found is None:
        found = _homes[owner.__module__] = AppObjects(owner.__module__)
    return found
