"""What the commands of `iac-mcp` share: options, examples, arguments as JSON, answers, files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from iac_base.errors import SetupError

__all__ = [
    "EXAMPLES",
    "HELP",
    "NAME",
    "OUTPUT",
    "TOOLS",
    "json_object",
    "print_json",
    "with_examples",
    "writing",
]

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


EXAMPLES: Final[Mapping[str, str]] = {
    "audit": "iac-mcp audit tail",
    "audit tail": "iac-mcp audit tail -n 50",
    "audit search": "iac-mcp audit search --level dangerous --since 7d\n"
    "iac-mcp audit search --tool 'mail_*' --result TIMEOUT",
    "audit verify": "iac-mcp audit verify",
    "audit export": "iac-mcp audit export > calls.jsonl",
    "audit drop": "iac-mcp audit drop --before 90d",
    "bundle": "iac-mcp bundle --output mine.mcpb",
    "completion": 'eval "$(iac-mcp completion zsh)"\n'
    "iac-mcp completion fish > ~/.config/fish/completions/iac-mcp.fish",
    "doctor": "iac-mcp doctor\niac-mcp doctor --app mail --app notes\niac-mcp doctor --json",
    "install": "iac-mcp install claude-desktop\n"
    "iac-mcp install claude-code -- --read-only\n"
    "iac-mcp install cursor --python ~/iac-venv/bin/python -- --pin notes,mail\n"
    "iac-mcp install codex --print",
    "patterns": "iac-mcp patterns list",
    "patterns list": "iac-mcp patterns list 'archive old mails'",
    "patterns show": "iac-mcp patterns show 3",
    "patterns forget": "iac-mcp patterns forget 3 4\niac-mcp patterns forget --all",
    "patterns export": "iac-mcp patterns export > patterns.jsonl",
    "patterns import": "iac-mcp patterns import patterns.jsonl",
    "policy": "iac-mcp policy show",
    "policy show": "iac-mcp policy show\niac-mcp policy show --read-only",
    "policy check": 'iac-mcp policy check mail_delete \'{"target": "inbox.messages[0]"}\'',
    "policy edit": "iac-mcp policy edit",
    "policy decisions": "iac-mcp policy decisions\niac-mcp policy decisions --revoke 3",
    "policy resume": "iac-mcp policy resume",
    "probe": "iac-mcp probe --output probe.json\niac-mcp probe 2 11",
    "status": "iac-mcp status\niac-mcp status --json",
    "tools": "iac-mcp tools\niac-mcp tools --app notes",
    "uninstall": "iac-mcp uninstall claude-desktop",
}
"""Examples of the commands, by the words that name a command; one a line. `serve` and `call` have
theirs in their own words."""


def with_examples(command: click.Command, words: str) -> click.Command:
    """Return a command whose help ends with its examples, those below it included."""
    if words in EXAMPLES:
        lines = "\n".join(f"  {line}" for line in EXAMPLES[words].splitlines())
        command.epilog = f"\b\nExamples:\n{lines}"
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            with_examples(inner, f"{words} {name}")
    return command


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


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell in one line what keeps a file from being written.

    Raises:
        SetupError: It cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
