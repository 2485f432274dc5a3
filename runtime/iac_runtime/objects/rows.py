"""What reads give back: small named tuples, and rows that a notebook shows as a table."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Color", "Point", "Rect", "Rows"]

R = TypeVar("R", bound=Mapping[str, Any])
T = TypeVar("T")

_SHOWN: Final = 50
_CELL: Final = 80
"""Rows of a table in a notebook, and characters of a cell."""


class Color(NamedTuple):
    """Red, green and blue from 0 to 1."""

    red: float
    green: float
    blue: float


class Point(NamedTuple):
    """Points from the left and from the top of the main screen."""

    x: float
    y: float


class Rect(NamedTuple):
    """A place and a size, in points from the top left of the main screen."""

    x: float
    y: float
    width: float
    height: float


class Rows(list[R], Generic[T, R]):
    """The rows of a `select`, and in `objects` the object of each."""

    def __init__(self, rows: Iterable[R] = (), objects: "Sequence[T]" = ()) -> None:
        super().__init__(rows)
        self.objects = list(objects)

    def to_dataframe(self) -> Any:
        """Return a `pandas.DataFrame` of the rows, where pandas is installed.

        Raises:
            ImportError: It is not.
        """
        try:
            import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise ImportError("to_dataframe needs pandas, which is not installed") from None
        return pandas.DataFrame(list(self))

    def _repr_html_(self) -> str:
        from html import escape

        def format_cell(value: object) -> str:
            text = str(value)
            return escape(text if len(text) <= _CELL else f"{text[: _CELL - 1]}…")

        names = list(self[0]) if self else []
        head = "".join(f"<th>{format_cell(name)}</th>" for name in names)
        body = "".join(
            f"<tr>{''.join(f'<td>{format_cell(row.get(name))}</td>' for name in names)}</tr>"
            for row in self[:_SHOWN]
        )
        more = f"<p>{_SHOWN} of {len(self)} rows</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
