"""Worked recipes that a person can choose in a client, and the text that they become.

The front answers for them before the SDK is there: this module needs none of it.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import InvalidParameterError, quote_text


class PromptArgument(NamedTuple):
    """What a person may fill in.

    Attributes:
        default: What holds where nothing was; an argument without one is required.
        values: What completion offers.
    """

    name: str
    description: str
    default: str = ""
    values: Sequence[str] = ()


class Prompt(NamedTuple):
    """A recipe.

    Attributes:
        apps: Bundle ids; it is offered where all of them have tools.
        text: What the model is told; `{name}` stands for an argument.
        guide: The argument that names the guide of an app, which is put below the text.
    """

    name: str
    title: str
    description: str
    apps: Sequence[str]
    text: str
    arguments: tuple[PromptArgument, ...] = ()
    guide: str = ""


def _load_prompts() -> Iterator[Prompt]:
    rows = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))["prompt"]
    for row in rows:
        arguments = tuple(PromptArgument(**given) for given in row.pop("arguments", ()))
        yield Prompt(**row, arguments=arguments)


PROMPTS: Final = tuple(_load_prompts())


def offered_prompts(ids: Collection[str]) -> list[Prompt]:
    """Return the recipes whose apps are among the bundle ids `ids`."""
    known = {id_.casefold() for id_ in ids}
    return [prompt for prompt in PROMPTS if all(app.casefold() in known for app in prompt.apps)]


def prompt_entry(prompt: Prompt) -> dict[str, Any]:
    """Return the entry of a recipe in prompts/list."""
    entry: dict[str, Any] = {
        "name": prompt.name,
        "title": prompt.title,
        "description": prompt.description,
    }
    if prompt.arguments:
        entry["arguments"] = [
            {
                "name": row.name,
                "description": f"{row.description} Default: {row.default}."
                if row.default
                else row.description,
                "required": not row.default,
            }
            for row in prompt.arguments
        ]
    return entry


def find_prompt(name: str, ids: Collection[str]) -> Prompt:
    """Return the recipe called `name`.

    Raises:
        InvalidParameterError: None that is offered has the name; the nearest are named.
    """
    known = {prompt.name: prompt for prompt in offered_prompts(ids)}
    if name not in known:
        raise InvalidParameterError(
            f"There is no prompt {quote_text(name)}.", said=name, known=known
        )
    return known[name]


def prompt_text(prompt: Prompt, given: Mapping[str, str]) -> str:
    """Return the text of a recipe, filled in.

    Raises:
        InvalidParameterError: An argument is missing, empty or not known.
    """
    rows = {row.name: row for row in prompt.arguments}
    for name in given:
        if name not in rows:
            raise InvalidParameterError(
                f"{prompt.name} has no argument {quote_text(name)}.", said=name, known=rows
            )
    # On one line, so that a value cannot look like a step of the recipe.
    words = {name: " ".join(value.split()) for name, value in given.items()}
    values = {name: words.get(name) or row.default for name, row in rows.items()}
    for name, value in values.items():
        if not value:
            raise InvalidParameterError(f"{prompt.name} needs {name}.", rows[name].description)
    return prompt.text.format(**values)
