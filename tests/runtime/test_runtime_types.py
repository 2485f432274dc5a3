"""The table of types: what it says of a type holds wherever a value of it is read."""

import pytest
from language_helpers import marshal

from iac_base.errors import InvalidParameterError
from iac_base.secrets import is_secret
from iac_runtime.tool import App, Class, Property
from iac_runtime.tools.tables import Tables
from iac_runtime.types import CODES, SPELLINGS, TYPES, Alternative, find_type, parse_type

ROWS = (Property("name", "pnam", "name", "text", "rw", "MODIFY"),)
TABLES = Tables(
    "notes",
    App("com.apple.Notes", "Notes"),
    {"application": Class("capp", "application", "applications", None, "SAFE", "SAFE", ROWS)},
    {},
    {},
    {},
)


@pytest.mark.parametrize("name", [name for name, row in TYPES.items() if row.example is not None])
def test_the_example_of_a_type_is_read(name: str) -> None:
    marshal(TYPES[name].example, name, TABLES)


@pytest.mark.parametrize("name", [*TYPES, *(a for row in TYPES.values() for a in row.aliases)])
def test_every_type_is_read_or_refused_in_one_line(name: str) -> None:
    for value in ("name", 1, True, [1, 0, 0], {}):
        try:
            marshal(value, name, TABLES)
        except InvalidParameterError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("name", TYPES)
def test_what_cannot_hold_a_secret_is_not_taken_for_one(name: str) -> None:
    assert is_secret("password", name) is TYPES[name].secret


def test_spellings_and_codes_mean_types_that_there_are() -> None:
    meant = {*SPELLINGS.values(), *CODES.values()}
    assert {kind.name for text in meant for kind in parse_type(text)} <= TYPES.keys()
    assert all(len(code) == 4 for code in CODES)


def test_an_older_module_may_call_a_type_otherwise() -> None:
    assert find_type("alias") is TYPES["file"]
    assert find_type("note") is None


def test_one_grammar_names_alternatives_and_lists() -> None:
    assert parse_type("list of note | missing value") == (
        Alternative("note", many=True),
        Alternative("missing value"),
    )
    assert parse_type("list of text|number")[:2] == (
        Alternative("text", many=True),
        Alternative("number", many=True),
    )
    assert parse_type("") == (Alternative("any"),)
