"""The options of `iac-mcp serve`, in one table for the quick reading here and for click.

The quick reading takes what is beyond doubt and nothing else: `--help`, a misspelt option or a
missing value is left to click, which explains it and takes its time.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

CALL_SECONDS: Final = 54.0
"""Seconds for a call: 60, less what ending a process that resists takes, and a little."""


class ServeOption(NamedTuple):
    """One option.

    Attributes:
        kind: `flag`; `value` (one); `values` (repeatable); `maybe` (its value may be left out).
        metavar: What the value is, in the help.
    """

    flag: str
    kind: Literal["flag", "value", "values", "maybe"]
    help: str
    metavar: str = ""

    @property
    def name(self) -> str:
        """The key under which its value is passed on."""
        return self.flag.lstrip("-").replace("-", "_")


HTTP_OPTIONS: Final = (
    ServeOption("--http", "flag", "Serve over HTTP, to clients with tokens (iac-mcp clients)."),
    ServeOption("--host", "value", "With --http: the address to listen on (127.0.0.1).", "ADDRESS"),
    ServeOption("--port", "value", "With --http: the port (8722); 0 picks a free port.", "NUMBER"),
    ServeOption("--cert", "value", "With --http: the certificate for TLS.", "FILE"),
    ServeOption("--key", "value", "With --http: the certificate's private key.", "FILE"),
    ServeOption(
        "--behind-proxy", "flag", "With --http: a proxy in front of this server handles TLS."
    ),
)

SERVE_OPTIONS: Final = (
    ServeOption(
        "--tools",
        "values",
        "A folder of generated tools that is searched before the others.",
        "FOLDER",
    ),
    ServeOption(
        "--expose",
        "value",
        "The tools to list: search (a few tools that find and call the rest), all, or patterns "
        "such as 'mail_*,safari'.",
        "WHAT",
    ),
    ServeOption("--toolset", "value", "List the tools of one app or toolset.", "NAME"),
    ServeOption("--pin", "value", "Apps whose tools are listed too, such as notes,finder.", "APPS"),
    ServeOption("--read-only", "flag", "Use only tools that never change anything."),
    ServeOption("--policy", "value", "The policy file to use instead of your own.", "FILE"),
    ServeOption(
        "--allow", "value", "The highest level that runs without approval (SAFE).", "LEVEL"
    ),
    ServeOption("--launch", "values", "An app that a call may start even if it only reads.", "APP"),
    ServeOption("--rate-limit", "value", "How many writes per second may run (10).", "NUMBER"),
    ServeOption("--blocklist", "values", "Bundle ids of more apps that no tool may change.", "IDS"),
    ServeOption("--server", "value", "This server's name in the rules of the policy.", "NAME"),
    ServeOption("--timeout", "value", "How many seconds a call may take (30).", "SECONDS"),
    ServeOption(
        "--simulate",
        "maybe",
        "Use simulated apps; STATE is a file that keeps their state.",
        "[STATE]",
    ),
    *HTTP_OPTIONS,
    ServeOption("--log-file", "value", "Also write the log to this file.", "FILE"),
    ServeOption("--verbose", "flag", "Show more detail on standard error."),
)

CALL_OPTIONS: Final = tuple(
    option
    for option in SERVE_OPTIONS
    if option not in HTTP_OPTIONS
    and option.flag not in ("--expose", "--toolset", "--pin", "--log-file", "--verbose")
)
"""Those that `iac-mcp call` has too."""

_BY_FLAG: Final = {option.flag: option for option in SERVE_OPTIONS}


def read_quickly(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the values by name (absent options are absent), or None if click should read them."""
    found: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        option = _BY_FLAG.get(flag)
        if option is None or (option.kind != "values" and option.name in found):
            return None
        if option.kind == "flag":
            if equals:
                return None
            found[option.name] = True
            continue
        if not equals:
            if rest and not rest[0].startswith("-"):
                value = rest.pop(0)
            elif option.kind != "maybe":
                return None
        if option.kind == "values":
            found.setdefault(option.name, []).append(value)
        else:
            found[option.name] = value
    return found
