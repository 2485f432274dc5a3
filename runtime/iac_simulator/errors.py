"""Errors: those an app answers with, and those of a world that is not as its dictionary says."""

from iac_simulator.texts import text_of

__all__ = ["AppError", "StateError", "Unreachable"]


class AppError(Exception):
    """An app refused an event with this number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{text_of(number, 'the app')} ({number})")
        self.number = number


class Unreachable(Exception):  # noqa: N818 - the name of the condition
    """JXA itself finds no such application: a plain JavaScript error, without a number."""


class StateError(ValueError):
    """A world cannot be used; the text is one line that says where and what would be right."""

    def __init__(self, text: str) -> None:
        # Keys and values of a state file are foreign and may hold line breaks of any kind.
        super().__init__(" ".join(text.splitlines()))
