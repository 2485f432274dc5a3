"""What judging one script may cost, counted in steps: any text is judged within a second.

Steps are counted, not seconds, so that a script is judged alike on every machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Final

STEPS: Final = 60_000
"""Of one script. A step is about what looking at one expression takes."""

DEEPEST: Final = 200
"""Expressions that are followed within one another, through calls too."""


class OverBudgetError(Exception):
    """A script takes more steps than are followed."""


@dataclass(slots=True)
class _Budget:
    left: float


_BUDGET: Final[ContextVar[_Budget]] = ContextVar("budget")
_UNBOUND: Final = _Budget(inf)


@contextmanager
def within_budget() -> Iterator[None]:
    """Hold what is done inside to the steps of one script."""
    token = _BUDGET.set(_Budget(STEPS))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def spend(steps: int) -> None:
    """Count steps.

    Raises:
        OverBudgetError: More were taken than one script may.
    """
    budget = _BUDGET.get(_UNBOUND)
    budget.left -= steps
    if budget.left < 0:
        raise OverBudgetError
