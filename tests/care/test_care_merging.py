"""Merging into a client's file as text: nothing else changes, and all can be taken back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_mcp.setup.client_files import (
    NotJsonError,
    entry_of,
    merge_entry,
    remove_entry,
    restore_text,
    servers_of,
)
from iac_mcp.setup.clients import CLIENTS, Launch, install_server, installed_entry, uninstall_server

ENTRY = {"command": "/usr/bin/python3", "args": ["-P", "-m", "iac_mcp", "serve"]}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
# Servers under their key, or none; never one of our name, for that would be another's.
objects = st.dictionaries(st.text(), json_values, max_size=4).flatmap(
    lambda rest: (
        st.none()
        | st.dictionaries(st.text().filter(lambda key: key != "iac"), json_values, max_size=3)
    ).map(
        lambda servers: (
            {k: v for k, v in rest.items() if k != "mcpServers"}
            if servers is None
            else {**rest, "mcpServers": servers}
        )
    )
)
layouts = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 2, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " : "), (",\n ", ": ")]),
    }
)
edges = st.sampled_from(["", " ", "\n", "\r\n", "\t\n\n"])


def written(value: Any, layout: dict[str, Any], before: str, after: str) -> str:
    text = f"{before}{json.dumps(value, **layout)}{after}"
    # A lone surrogate cannot stand in a file of UTF-8; as an escape it can.
    return text if layout["ensure_ascii"] else text.encode("utf-8", "replace").decode()


@given(objects, layouts, edges, edges, st.sampled_from(["", "\ufeff"]))
def test_any_json_object_is_merged_and_given_back_to_the_byte(
    value: dict[str, Any], layout: dict[str, Any], before: str, after: str, mark: str
) -> None:
    text = mark + written(value, layout, before, after)
    if "\r\n" in before + after:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    whole = json.loads(text.removeprefix("\ufeff"))
    done = merge_entry(text, "mcpServers", "iac", ENTRY)
    expected = {**whole, "mcpServers": {**whole.get("mcpServers", {}), "iac": ENTRY}}
    assert json.loads(done.removeprefix("\ufeff")) == expected
    assert done.startswith(mark)
    assert merge_entry(done, "mcpServers", "iac", ENTRY) == done
    assert restore_text(done, "mcpServers", "iac", text) == text
    # Without the backup, all that is left of it is an empty key where there was none.
    left = json.loads(remove_entry(done, "mcpServers", "iac").removeprefix("\ufeff"))
    assert left == {**whole, "mcpServers": whole.get("mcpServers", {})}


@given(objects, layouts, json_values)
def test_what_was_changed_meanwhile_stays(
    value: dict[str, Any], layout: dict[str, Any], later: Any
) -> None:
    text = written(value, layout, "", "")
    done = json.loads(merge_entry(text, "mcpServers", "iac", ENTRY))
    done["mcpServers"]["later"] = later
    changed = written(done, layout, "", "\n")
    left = restore_text(changed, "mcpServers", "iac", text)
    assert left is not None
    del done["mcpServers"]["iac"]
    assert json.loads(left) == json.loads(written(done, layout, "", ""))


def test_it_is_spaced_like_its_neighbours() -> None:
    text = '{\n    "mcpServers": {\n        "other": {"command": "x"}\n    },\n    "n": 1.0e5\n}\n'
    assert merge_entry(text, "mcpServers", "iac", {"command": "p", "args": []}) == (
        '{\n    "mcpServers": {\n        "other": {"command": "x"},\n'
        '        "iac": {\n            "command": "p",\n            "args": []\n        }\n'
        '    },\n    "n": 1.0e5\n}\n'
    )


def test_keys_that_a_person_added_to_the_entry_stay() -> None:
    text = '{"mcpServers": {"iac": {"command": "old", "timeout": 6.0e1, "args": ["serve"]}}}'
    done = merge_entry(text, "mcpServers", "iac", {**ENTRY, "env": {"A": "b"}})
    assert '"timeout": 6.0e1' in done
    assert entry_of(done, "mcpServers", "iac") == {**ENTRY, "timeout": 60.0, "env": {"A": "b"}}


def test_an_entry_that_is_no_object_is_replaced_whole() -> None:
    done = merge_entry('{"mcpServers": {"iac": null}}', "mcpServers", "iac", ENTRY)
    assert json.loads(done) == {"mcpServers": {"iac": ENTRY}}


def test_a_key_that_stands_there_twice_counts_once_and_goes_for_good() -> None:
    text = '{"mcpServers": {"iac": {"command": "a"}, "b": {}, "iac": {"command": "c"}}}'
    assert entry_of(text, "mcpServers", "iac") == {"command": "c"}
    assert json.loads(remove_entry(text, "mcpServers", "iac")) == {"mcpServers": {"b": {}}}


@pytest.mark.parametrize("text", [None, "", "  \n", "\ufeff"])
def test_a_blank_file_becomes_a_whole_one_and_is_given_back(text: str | None) -> None:
    done = merge_entry(text, "servers", "iac", ENTRY)
    assert servers_of(done, "servers") == {"iac": ENTRY}
    assert restore_text(done, "servers", "iac", text) == text


def test_a_damaged_backup_is_as_good_as_none() -> None:
    done = merge_entry('{"a": 1}', "mcpServers", "iac", ENTRY)
    assert json.loads(restore_text(done, "mcpServers", "iac", "{broken") or "") == {
        "a": 1,
        "mcpServers": {},
    }


@pytest.mark.parametrize(("text", "reason"), [
    ('{"a": 1, // words\n}', "line 1 column 10"), ('{"a": 1,}', "line 1"), ("[]", "not an object"),
    ('{"mcpServers": []}', '"mcpServers" is not an object'), ('{"a": NaN}', "NaN is not JSON"),
    ('{"a": 1} {"b": 2}', "extra data"), ('{"a":' * 100_000, "nested too deep"),
    ('{"a": "\n"}', "invalid control character"),
])  # fmt: skip
def test_what_is_not_plain_json_is_refused_with_the_place(text: str, reason: str) -> None:
    with pytest.raises(NotJsonError, match=reason):
        merge_entry(text, "mcpServers", "iac", ENTRY)


def test_a_number_of_thousands_of_digits_stays_as_it_is() -> None:
    text = '{"n": ' + "9" * 5000 + "}"
    assert merge_entry(text, "mcpServers", "iac", ENTRY).startswith(text[:-1])
    with pytest.raises(NotJsonError, match="infinite number"):
        entry_of('{"s": {"iac": {"n": ' + "9" * 5000 + "}}}", "s", "iac")


GAPS = st.sampled_from(
    ["", " ", "\n", "\n  ", "// c\n", ' // "c", {\n  ', "/* c,} */", "\n/* c\n*/ ", "\t"]
)


@st.composite
def commented(draw: st.DrawFn, servers: bool = True) -> str:
    """An object with gaps wherever they may be, commas behind the last members too."""

    def value(depth: int) -> str:
        if depth == 0 or draw(st.booleans()):
            return draw(st.sampled_from(["1", '"a // b"', "null", '"},"', "[1, 2,]", "{}"]))
        return whole(depth - 1, [])

    def whole(depth: int, fixed: list[str]) -> str:
        names = [f'"k{number}"' for number in range(draw(st.integers(0, 2)))]
        members = [
            f"{draw(GAPS)}{name}{draw(GAPS)}:{draw(GAPS)}{value(depth)}{draw(GAPS)}"
            for name in names
        ] + fixed
        comma = "," if members and draw(st.booleans()) else ""
        return "{" + ",".join(members) + comma + draw(GAPS) + "}"

    fixed = [f'{draw(GAPS)}"s"{draw(GAPS)}:{draw(GAPS)}{whole(1, [])}{draw(GAPS)}']
    return draw(GAPS) + whole(2, fixed if servers and draw(st.booleans()) else []) + draw(GAPS)


@given(commented(), st.booleans())
def test_a_file_with_comments_keeps_them_and_is_given_back(text: str, again: bool) -> None:
    before = servers_of(text, "s", "jsonc")
    done = merge_entry(text, "s", "iac", ENTRY, "jsonc")
    assert servers_of(done, "s", "jsonc") == {**before, "iac": ENTRY}
    for piece in ("// c", "/* c"):
        assert done.count(piece) == text.count(piece)
    assert restore_text(done, "s", "iac", text, "jsonc") == text
    if again:
        left = remove_entry(done, "s", "iac", "jsonc")
        assert servers_of(left, "s", "jsonc") == before
        assert left.count("// c") == text.count("// c")
        assert left.count("/* c") == text.count("/* c")


COMMENTED = """// Mine.
{
  "theme": "dark", // as at home
  /* the servers */
  "ROOT": {
    // one of a friend
    "other": {"command": "x", "args": ["a", "b",]}, // keep
  },
}
"""
TOML = '# Mine.\nmodel = "x"  # fast\n\n[mcp_servers.other]\ncommand = "y"\n'


@pytest.mark.parametrize("key", ["cursor", "vscode", "zed", "gemini", "codex"])
def test_comments_and_layout_stay(tmp_path: Path, key: str) -> None:
    client, path = CLIENTS[key], tmp_path / "settings"
    text = TOML if client.form == "toml" else COMMENTED.replace("ROOT", client.root)
    path.write_text(text)
    launch = Launch("/usr/bin/python3", tuple(ENTRY["args"]))
    assert install_server(client, path, "iac", launch).changed
    assert installed_entry(client, path, "iac")
    lines = path.read_text().splitlines()
    assert [line for line in text.splitlines() if line not in lines] == []
    assert not install_server(client, path, "iac", launch).changed
    assert uninstall_server(client, path, "iac") == "as before"
    assert path.read_text() == text
