"""The numbers of Apple events' errors: what each means, and what every part of us does with it.

Numbers and constants: AppleScript Language Guide, error tables B-1 to B-4; MacErrors.h; what is
seen of JXA in public reports. The number decides, because words are in the language of the system.
A new number is a row of apple_errors.json and nothing else. (JSON, for the first call reads it:
TOML would cost that call ten milliseconds.) There, `like` names one of the `shared` rows, a
`suggestion` may name one of `suggestions`, and a pair of numbers is all from the first to the last.
"""

import json
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import ErrorType

Again = Literal["never", "read", "always"]
"""Whether a caller may send the same call again without harm: never, if it only reads, or any."""

Retry = Literal["never", "read", "launch"]
"""Whether the runner itself may send the event again, once: a read as it is; or, with `launch`,
a read or a change that did not reach the app, right after the app was launched for it."""


class AppleError(NamedTuple):
    """What a number means.

    Attributes:
        type, message, suggestion: For whoever called. `{app}` stands for the app's name, `{reason}`
            for its own words, `{process}` for the program that macOS asks about.
        retryable, retry: Whether the caller, or the runner itself, may send it again.
        harness: What the harness does when it meets the number on the way: `stop` ends the request
            at once, `unfiltered` reads a filtered list whole and filters it itself.
        constant: Apple's name of it.
        cause: The cause by which a failed script is explained (`iac_applescript.failures`).
        said: What macOS says, in Apple's words (JXA's where seen).
    """

    type: ErrorType
    message: str
    suggestion: str
    retryable: Again = "never"
    retry: Retry = "never"
    harness: Literal["", "stop", "unfiltered"] = ""
    constant: str = ""
    cause: str = ""
    said: str = "An error occurred."


_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_bytes())


def _parse_error(facts: dict[str, Any]) -> AppleError:
    kept = {key: facts[key] for key in AppleError._fields if key in facts}
    if "suggestion" in kept:
        kept["suggestion"] = _DATA["suggestions"].get(kept["suggestion"], kept["suggestion"])
    like = facts.get("like")
    return _parse_error(_DATA["shared"][like])._replace(**kept) if like else AppleError(**kept)


def _load_errors() -> dict[int, AppleError]:
    errors: dict[int, AppleError] = {}
    for facts in _DATA["errors"]:
        number = facts["number"]
        first, last = number if isinstance(number, list) else (number, number)
        errors |= dict.fromkeys(range(first, last + 1), _parse_error(facts))
    return errors


APP_GONE: Final = _parse_error(_DATA["shared"]["gone"])
UNLOADED: Final = _parse_error(_DATA["shared"]["unloaded"])
APP_ERROR: Final = _parse_error(_DATA["shared"]["app error"])
"""What has no number, or one of the app's own."""

APPLE_ERRORS: Final = _load_errors()
"""Error number -> what it means."""
