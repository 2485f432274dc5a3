"""Figures with bounds: each is printed beside its bound, and one beyond it ends the run with 1.

Bounds travel between machines where they are ratios of one run. What has no other part to stand
beside is told in spins: a spin is one fixed piece of plain Python, about a millisecond.
"""

import statistics
import sys
import time
from pathlib import Path
from typing import Final

OSASCRIPT: Final = str(Path(sys.executable).with_name("iac-osascript"))
"""The simulator's program, which lies beside the interpreter."""

_missed: Final[list[str]] = []


def hold_at_most(what: str, value: float, bound: float, unit: str = "") -> None:
    """Print a figure that must not be larger than `bound`."""
    _hold(what, value, f"at most {bound:g}", unit, holds=value <= bound)


def hold_at_least(what: str, value: float, bound: float, unit: str = "") -> None:
    """Print a figure that must not be smaller than `bound`."""
    _hold(what, value, f"at least {bound:g}", unit, holds=value >= bound)


def _hold(what: str, value: float, bound: str, unit: str, *, holds: bool) -> None:
    print(f"{what:<44} {value:10.3f} {unit:<6} ({bound}){'' if holds else '  MISSED'}", flush=True)
    if not holds:
        _missed.append(what)


def exit_status() -> int:
    """Return 1 where a figure was beyond its bound."""
    return 1 if _missed else 0


def spin_milliseconds() -> float:
    """Return the milliseconds of the processor that a spin takes now."""
    taken = []
    for _ in range(101):
        began = time.process_time()
        rows = [{"name": f"note {number}", "size": number} for number in range(2_000)]
        sorted(rows, key=lambda row: row["name"])
        taken.append(time.process_time() - began)
    return statistics.median(taken) * 1000
