"""What happens in a run, in order, as values; the forms of output are made from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from iac_scenario.expectations import Miss
from iac_scenario.failures import Told
from iac_scenario.model import Failure
from iac_scenario.outcome import Outcome

__all__ = ["Answered", "Called", "Ended", "Event", "Failed", "Said"]


@dataclass(frozen=True, slots=True)
class Said:
    """The assistant's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A call that the assistant makes."""

    id: str
    tool: str
    input: Any


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of a call, the expectations that it misses, and how many it had."""

    id: str
    tool: str
    outcome: Outcome
    misses: tuple[Miss, ...]
    checks: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure of the model's service instead of a reply."""

    failure: Failure
    told: Told


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of what one prompt led to: scripted time in milliseconds, and tokens."""

    prompt: str
    duration_ms: int
    usage: Mapping[str, int]


Event: TypeAlias = Said | Called | Answered | Failed | Ended
