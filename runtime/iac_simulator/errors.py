"""Errors: those an app answers with, and those of a world that is not as its dictionary says."""

from typing import Final

from iac_runtime.apple_errors import APP_ERROR, APP_GONE, APPLE_ERRORS

__all__ = ["LANGUAGES", "AppError", "StateError", "Unreachable", "missing_app", "text_of"]

LANGUAGES: Final = ("en", "de")


def text_of(number: int, app: str, language: str = "en") -> str:
    """Return what JXA says for `number` from the app called `app`."""
    row = APPLE_ERRORS.get(number, APP_ERROR)
    return (row.said if language == "en" else row.german).format(app=app)


def missing_app(language: str) -> str:
    """Return what JXA says, without a number, of an app that there is not."""
    return APP_GONE.said if language == "en" else APP_GONE.german


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
