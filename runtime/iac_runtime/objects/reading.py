"""Reading several values of apps in one exchange."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from iac_runtime.objects.base import Readable
from iac_runtime.objects.home import AppObjects

if TYPE_CHECKING:
    from iac_base.errors import ToolError

__all__ = ["read"]

A = TypeVar("A")
B = TypeVar("B")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
T = TypeVar("T")

_SAID: Final = ("type", "message", "suggestion")


@overload
def read(a: Readable[A], /) -> tuple[A]: ...
@overload
def read(a: Readable[A], b: Readable[B], /) -> tuple[A, B]: ...
@overload
def read(a: Readable[A], b: Readable[B], c: Readable[D], /) -> tuple[A, B, D]: ...
@overload
def read(
    a: Readable[A], b: Readable[B], c: Readable[D], d: Readable[E], /
) -> tuple[A, B, D, E]: ...
@overload
def read(
    a: Readable[A], b: Readable[B], c: Readable[D], d: Readable[E], e: Readable[F], /
) -> tuple[A, B, D, E, F]: ...
@overload
def read(*values: Readable[T]) -> tuple[T, ...]: ...
def read(*values: Readable[Any]) -> tuple[Any, ...]:
    """Read several values, up to 100 of an app in one exchange; of several apps one each.

    A property that can hold objects of several classes is read by itself.

    Raises:
        ToolError: One of them cannot be read; the first error is told.
    """
    found: dict[int, Any] = {}
    groups: dict[AppObjects, list[int]] = {}
    for place, value in enumerate(values):
        if value._is_single:
            groups.setdefault(value._home, []).append(place)
        else:
            found[place] = value._read_value()
    for home, places in groups.items():
        rows = home.function("get")(target=[values[place]._ref for place in places])
        for place, row in zip(places, rows, strict=True):
            if "error" in row:
                raise _row_error(row["error"])
            found[place] = values[place]._convert_answer(row["value"])
    return tuple(found[place] for place in range(len(values)))


def _row_error(facts: Mapping[str, Any]) -> "ToolError":
    """Return the error that a row of a read carries."""
    from iac_base.errors import ToolError

    more: dict[str, Any] = {key: value for key, value in facts.items() if key not in _SAID}
    return ToolError(facts["type"], facts["message"], facts.get("suggestion", ""), **more)
