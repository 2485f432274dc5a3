"""Examples of the commands of `iac-mcp`, by the words that name a command; shown by `--help`."""

from collections.abc import Mapping
from typing import Final

import click

__all__ = ["EXAMPLES", "with_examples"]

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
"""One example a line. `serve` and `call` have theirs in their own words."""


def with_examples(command: click.Command, words: str) -> click.Command:
    """Return a command whose help ends with its examples, those below it included."""
    if words in EXAMPLES:
        lines = "\n".join(f"  {line}" for line in EXAMPLES[words].splitlines())
        command.epilog = f"\b\nExamples:\n{lines}"
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            with_examples(inner, f"{words} {name}")
    return command
