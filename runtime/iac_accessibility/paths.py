r"""Paths of elements: `window[0]/toolbar[0]/button[@title='Close']`.

    path = step *("/" step)
    step = role "[" (index / "@title=" text / "@identifier=" text) "]"
    text = "'" *(character / "\\" / "\'" / "\n" / "\t") "'"

An index counts the elements of that role under one parent, from 0 and in the app's order. A title
or identifier stands in a step where no other element of that role under that parent has it. The
first step is a child of the app: a window or a menu bar.
"""

import re
from typing import Final, NamedTuple

from iac_accessibility.roles import role_name

__all__ = ["MAX_STEPS", "PathError", "Step", "parse_path", "path_text"]

MAX_STEPS: Final = 100
_MAX_LENGTH: Final = 20_000
_STEP: Final = re.compile(
    r"(?P<role>[A-Za-z][A-Za-z0-9_ ]*)"
    r"(?:\[(?:(?P<index>[0-9]{1,9})|@(?P<key>title|identifier)=(?P<quote>['\"])"
    r"(?P<text>(?:[^\\'\"]|\\.|(?!(?P=quote))['\"])*)(?P=quote))\])?",
    re.DOTALL,
)
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"})
_MEANING: Final = {"n": "\n", "t": "\t"}


class PathError(ValueError):
    """A path cannot be read; the text says where and why."""


class Step(NamedTuple):
    """One step: a role, and which element of that role (exactly one of the three is set)."""

    role: str
    number: int | None = None
    title: str | None = None
    identifier: str | None = None

    @property
    def text(self) -> str:
        """The step as a path has it."""
        if self.title is not None:
            return f"{self.role}[@title='{_escaped(self.title)}']"
        if self.identifier is not None:
            return f"{self.role}[@identifier='{_escaped(self.identifier)}']"
        return f"{self.role}[{self.number}]"


def path_text(steps: tuple[Step, ...]) -> str:
    """Return the canonical text of a path."""
    return "/".join(step.text for step in steps)


def parse_path(text: str) -> tuple[Step, ...]:
    """Return the steps of a path. Roles may be spelled any usual way; no index means the first.

    Raises:
        PathError: It is no path.
    """
    if not text.strip():
        raise PathError("the path is empty")
    if len(text) > _MAX_LENGTH:
        raise PathError(f"the path has more than {_MAX_LENGTH} characters")
    steps: list[Step] = []
    at = 0
    while True:
        found = _STEP.match(text, at)
        if found is None:
            raise PathError(f"a role is expected at character {at + 1}")
        steps.append(_step(found))
        at = found.end()
        if len(steps) > MAX_STEPS:
            raise PathError(f"the path has more than {MAX_STEPS} steps")
        if at == len(text):
            return tuple(steps)
        if text[at] != "/":
            raise PathError(f"'/' is expected at character {at + 1}")
        at += 1


def _step(found: re.Match[str]) -> Step:
    role = role_name(found["role"])
    if found["key"] is None:
        return Step(role, number=int(found["index"] or 0))
    text = re.sub(
        r"\\(.)", lambda match: _MEANING.get(match[1], match[1]), found["text"], flags=re.S
    )
    if found["key"] == "title":
        return Step(role, title=text)
    return Step(role, identifier=text)


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
