"""Whether macOS will let a Python control apps: its signature, read by `codesign`.

A program with the hardened runtime but without the entitlement for Apple events is refused without
a question (-1743); one with no signature, or one made on this machine (ad hoc), is asked about,
but the answer is bound to that very file and lost with the next update. Sources: Apple, "Apple
Events Entitlement"; man codesign. That the answers below read right, only a Mac can confirm.
"""

import plistlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from iac_runtime.execution.process import Runner
from iac_runtime.execution.single import run_process

__all__ = ["Signature", "better", "judged", "signature"]

_CODESIGN: Final = "/usr/bin/codesign"
_ENTITLEMENT: Final = "com.apple.security.automation.apple-events"
_SECONDS: Final = 20.0

_KNOWN: Final = (
    "Library/Frameworks/Python.framework/Versions",
    "opt/homebrew/opt",
    "usr/local/opt",
)
"""Where python.org and Homebrew put theirs; searched for a Python that works."""

_MINORS: Final = ("3.14", "3.13", "3.12", "3.11")


class Signature(NamedTuple):
    """What `codesign` says of a program.

    Attributes:
        by: `nobody`, `ad hoc`, or `a developer`; `unknown` where it cannot be asked.
        hardened: Whether the hardened runtime is on.
        events: Whether it is entitled to send Apple events.
    """

    by: Literal["nobody", "ad hoc", "a developer", "unknown"]
    hardened: bool = False
    events: bool = False


def signature(path: str, run: Runner = run_process, system: str = sys.platform) -> Signature:
    """Return the signature of the program at `path`; `unknown` where this is no Mac."""
    if system != "darwin":
        return Signature("unknown")
    try:
        shown = run([_CODESIGN, "-d", "--verbose=2", path], b"", _SECONDS)
        given = run([_CODESIGN, "-d", "--entitlements", "-", "--xml", path], b"", _SECONDS)
    except OSError:
        return Signature("unknown")
    words = shown.stderr.decode("utf-8", "replace")
    if shown.status != 0:
        unsigned = "not signed" in words
        return Signature("nobody" if unsigned else "unknown")
    flags = next((line for line in words.splitlines() if "flags=" in line), "")
    hardened, events = "runtime" in flags, _entitled(given.stdout)
    return Signature("ad hoc" if "adhoc" in flags else "a developer", hardened, events)


def _entitled(answer: bytes) -> bool:
    try:
        said = plistlib.loads(answer) if answer.strip() else {}
    except Exception:  # plistlib lets through whatever its parsers raise
        return False
    return isinstance(said, dict) and said.get(_ENTITLEMENT) is True


def judged(found: Signature) -> tuple[Literal["ok", "warning", "problem"], str]:
    """Return what a signature means for controlling apps, and one line that says so."""
    if found.by == "unknown":
        return "ok", "Its signature was not looked at: that takes a Mac."
    if found.hardened and not found.events:
        return "problem", (
            "macOS refuses its Apple events without asking: it has the hardened runtime and not"
            " the entitlement for them."
        )
    if found.by == "a developer":
        return "ok", "It is signed, so what you allow it lasts."
    made = "unsigned" if found.by == "nobody" else "signed on this machine only"
    return "warning", f"It is {made}: after an update of it macOS asks you again."


def better(
    run: Runner = run_process, system: str = sys.platform, top: Path = Path("/")
) -> str | None:
    """Return another Python of this Mac that can control apps, None if none is found."""
    for candidate in _candidates(top):
        program = candidate.parent.parent / "Resources/Python.app/Contents/MacOS/Python"
        real = program if program.is_file() else candidate.resolve()
        if judged(signature(str(real), run, system))[0] == "ok":
            return str(candidate)
    return None


def _candidates(top: Path) -> Iterator[Path]:
    for place, minor in ((place, minor) for place in _KNOWN for minor in _MINORS):
        folder: Sequence[str] = (minor,) if place.endswith("Versions") else (f"python@{minor}",)
        path = top.joinpath(place, *folder, "bin", f"python{minor}")
        if path.is_file():
            yield path
