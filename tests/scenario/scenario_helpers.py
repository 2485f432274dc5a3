"""Types of the fixtures of these tests."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Ran(NamedTuple):
    """What a command line came to."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]
Make = Callable[..., Path]
