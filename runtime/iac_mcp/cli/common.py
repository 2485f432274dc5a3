"""What the commands of `iac-mcp` share: options, arguments as JSON, answers, files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

__all__ = ["HELP", "NAME", "OUTPUT", "TOOLS", "json_object", "print_json"]

HELP: Final = {"help_option_names": ["-h", "--help"]}

NAME: Final = click.option(
    "--name", default="iac", show_default=True, help="The server's name in the client."
)
OUTPUT: Final = click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of standard output.",
)
TOOLS: Final = click.option(
    "--tools",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder of generated tools to look in first.",
)


def json_object(text: str) -> dict[str, Any]:
    """Return the arguments of a tool as they were given on the command line.

    Raises:
        UsageError: They are no JSON object.
    """
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"The arguments are no JSON ({error}); give one object.") from None
    if not isinstance(given, dict):
        raise click.UsageError('The arguments must be one JSON object, as in {"element": "note"}.')
    return given


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one JSON object for people and programs."""
    click.echo(json.dumps(facts, ensure_ascii=False, indent=2))
