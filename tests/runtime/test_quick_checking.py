"""What is accepted without jsonschema is what jsonschema accepts: for every schema of a tool."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from iac_runtime.tools.checking import accepts_value
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS, added_tools

TOOLS = Path(__file__).parent.parent.parent / "generated" / "iac_tools"
PARTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2000)
    | st.sampled_from([0.5, 5.0, float("nan")])
    | st.text("ab note", max_size=6),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "contains", "and"]), part, max_size=3)
    ),
    max_leaves=6,
)
LIKELY = st.sampled_from(
    ["note", "mailbox", "SAFE", "name", 3, ["name"], {"name": "x"}, [], {}, ""]
)


@cache
def schemas() -> list[Any]:
    lines = (TOOLS / "listing.jsonl").read_text("utf-8").splitlines()
    own = [*OWN_TOOLS.values(), *META_TOOLS.values(), *added_tools().values()]
    whole = [json.loads(line) for line in lines]
    found = [tool.input for tool in own] + [tool.output for tool in own if tool.output]
    return found + [
        row[key] for row in whole for key in ("inputSchema", "outputSchema") if key in row
    ]


@given(st.data())
def test_what_is_accepted_at_once_fits(data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from(schemas()))
    keys = st.sampled_from([*schema.get("properties", {"x": {}}), "other"])
    value = data.draw(st.dictionaries(keys, LIKELY | PARTS, max_size=4) | PARTS)
    if accepts_value(value, schema):
        assert Draft202012Validator(schema).is_valid(value), (value, schema)


def test_the_examples_of_all_tools_are_accepted_at_once() -> None:
    for tool in (*OWN_TOOLS.values(), *META_TOOLS.values(), *added_tools().values()):
        assert accepts_value(dict(tool.example), tool.input), tool.name
