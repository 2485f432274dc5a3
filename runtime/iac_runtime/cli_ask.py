"""A question on a terminal, for `iac-mcp call` where a person types it."""

import sys

import click

from iac_runtime.policy.question import ANSWERS, Question, Verdict

__all__ = ["ask_terminal", "terminal_at_hand"]


def terminal_at_hand() -> bool:
    """Say whether a person can be asked here: both ends are a terminal, nothing is piped."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_terminal(question: Question) -> Verdict:
    """Put a question on standard error and read the answer; anything unclear is no yes."""
    click.echo(f"\n{question.text}\n", err=True)
    words = {label.split()[0].lower(): label for label in question.answers}
    choice = "/".join(words)
    try:
        given = click.prompt(f"Your answer ({choice})", default="deny", err=True, type=str)
    except click.Abort:
        return "unanswered"
    label = words.get(given.strip().lower(), "")
    return ANSWERS.get(label, "unanswered")
