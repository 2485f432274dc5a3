"""What the commands of `iac-mcp` share: options, examples, arguments as JSON, answers, files."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import click

from iac_base.errors import SetupError

HELP: Final = {"help_option_names": ["-h", "--help"]}

NAME: Final = click.option(
    "--name", default="iac", show_default=True, help="The server's name in the client's settings."
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
    help="A folder of generated tools that is searched before the others.",
)


@cache
def _load_examples() -> Mapping[str, str]:
    """Return examples of the commands, one a line, by the words that name a command."""
    return tomllib.loads(Path(__file__).with_name("examples.toml").read_text(encoding="utf-8"))


def with_examples(command: click.Command, words: str) -> click.Command:
    """Return a command whose help ends with its examples, those below it included."""
    if words in _load_examples():
        lines = "\n".join(f"  {line}" for line in _load_examples()[words].splitlines())
        command.epilog = f"\b\nExamples:\n{lines}"
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            with_examples(inner, f"{words} {name}")
    return command


def _parse_arguments(
    _context: click.Context, _parameter: click.Parameter, words: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments of a tool as they were given on the command line.

    Either one JSON object, or `name=value` each: a value that is JSON is what it says, any other is
    a text.

    Raises:
        UsageError: They are neither.
    """
    if words and not words[0].startswith(("{", "[")):
        return dict(map(_parse_argument, words))
    try:
        given = json.loads(" ".join(words) or "{}")
    except (ValueError, RecursionError) as error:
        raise click.UsageError(
            f"The arguments are not JSON ({error}); give one JSON object."
        ) from None
    if not isinstance(given, dict):
        raise click.UsageError(
            'Give the arguments as one JSON object, such as {"element": "note"}.'
        )
    return given


ARGUMENTS: Final = click.argument(
    "arguments", nargs=-1, metavar="[JSON | NAME=VALUE ...]", callback=_parse_arguments
)


def _parse_argument(word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise click.UsageError(
            f"{word!r} is not an argument. Write NAME=VALUE, or one JSON object."
        )
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one JSON object for people and programs."""
    click.echo(json.dumps(facts, ensure_ascii=False, indent=2))


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Tell in one line what keeps a file from being written.

    Raises:
        SetupError: It cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
