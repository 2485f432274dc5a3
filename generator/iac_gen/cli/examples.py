"""Examples of the commands of `iac-gen`; shown by `--help`."""

from collections.abc import Mapping
from typing import Final

import click

__all__ = ["EXAMPLES", "with_examples"]

EXAMPLES: Final[Mapping[str, str]] = {
    "build": "iac-gen build\n"
    "iac-gen build notes com.omnigroup.OmniFocus4\n"
    "iac-gen build OmniFocus --output src/mytools\n"
    "iac-gen build --dictionary snapshots --output tools",
    "check": "iac-gen check\niac-gen check --dictionary snapshots --output src/mytools",
    "diff": "iac-gen diff mail",
    "lint": "iac-gen lint App.sdef",
    "list": "iac-gen list",
    "show": "iac-gen show notes\niac-gen show --unbound mail",
    "snapshot": "iac-gen snapshot App.sdef --facts --output snapshots",
    "verify-names": "iac-gen verify-names finder",
}
"""One example a line."""


def with_examples(command: click.Command, name: str) -> click.Command:
    """Return a command whose help ends with its examples."""
    if name in EXAMPLES:
        lines = "\n".join(f"  {line}" for line in EXAMPLES[name].splitlines())
        command.epilog = f"\b\nExamples:\n{lines}"
    return command
