"""Typed functions become the rows of tools that a server reads."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from iac_gen.toolsets import read_docstring, toolset_rows, type_schema
from iac_runtime.tool import limits, tool

ROOT = Path(__file__).parents[2]


class Place(TypedDict):
    """A place."""

    name: str
    size: NotRequired[float]


def plan_move() -> None:
    """Plan it."""


@tool(level="MODIFY", ceiling="DANGEROUS", plan=plan_move, answer=Place, timeout=2.0)
def move(
    target: Annotated[str, "What to move."], *, times: Annotated[int, limits(minimum=1)] = 1
) -> None:
    """Move a thing. It may
    break.

    Args:
        times: How often, or
            else once.
    """


def test_a_function_says_all_that_a_client_is_told() -> None:
    (row,) = toolset_rows([sys.modules[__name__]])
    assert row == {
        "name": "move",
        "purpose": "Move a thing. It may break.",
        "input": {
            "type": "object",
            "properties": {
                "target": {"type": "string", "description": "What to move."},
                "times": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "How often, or else once.",
                    "default": 1,
                },
            },
            "required": ["target"],
            "additionalProperties": False,
        },
        "perform": f"{__name__}:plan_move",
        "output": type_schema(Place),
        "level": "MODIFY",
        "ceiling": "DANGEROUS",
        "timeout": 2.0,
    }


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (list[bool], {"type": "array", "items": {"type": "boolean"}}),
        (dict[str, Any], {"type": "object"}),
        (float | None, {"anyOf": [{"type": "number"}, {"type": "null"}]}),
        (
            Place,
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "size": {"type": "number"}},
                "required": ["name"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_a_type_has_one_schema(kind: Any, schema: dict[str, Any]) -> None:
    assert type_schema(kind) == schema


def test_a_type_without_a_schema_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        type_schema(bytes)


def test_what_is_no_argument_is_not_described() -> None:
    text = "Do it.\n\nArgs:\n    one: First.\n\nRaises:\n    ValueError: Bad."
    assert read_docstring(text) == ("Do it.", {"one": "First."})


def test_the_committed_files_are_what_the_functions_say() -> None:
    subprocess.run([sys.executable, "docs/make_toolsets.py", "--check"], cwd=ROOT, check=True)
