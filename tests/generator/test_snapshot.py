"""Snapshots: the same dictionary comes back, facts hold no prose, bad ones cost one line."""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from builds import Built
from dictionaries import DICTIONARIES
from hypothesis import given
from hypothesis import strategies as st
from making import sdef, source

from iac_gen.model import Include, SdefClass, SdefCommand, Source
from iac_gen.snapshot import facts_only, load_snapshot, read_snapshot, write_snapshot
from iac_gen.text import sanitize_dictionary
from iac_gen.xml import LoadError


def without_lines(value: Any) -> Any:
    """Return `value` as a snapshot keeps it: every line is 0."""
    if isinstance(value, tuple):
        return tuple(without_lines(item) for item in value)
    if not hasattr(value, "__dataclass_fields__"):
        return value
    changed = {name: without_lines(getattr(value, name)) for name in value.__dataclass_fields__}
    if "line" in changed:
        changed["line"] = 0
    return replace(value, **changed)


def again(one: Source, folder: Path) -> Source:
    path = folder / "again.json"
    path.write_text(write_snapshot(one), encoding="utf-8")
    return read_snapshot(path)


def same(one: Source, other: Source) -> bool:
    """Say whether two sources hold the same facts, apart from the file and `known`."""
    here = replace(one, known=True, dictionary=replace(one.dictionary, file=""))
    there = replace(other, dictionary=replace(other.dictionary, file=""))
    return bool(without_lines(here) == there)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


def test_every_real_dictionary_comes_back_as_it_was(corpus_build: Built, tmp_path: Path) -> None:
    assert len(corpus_build.loaded) == 60
    for loaded in corpus_build.loaded:
        assert same(loaded.source, again(loaded.source, tmp_path)), loaded.source.name


@given(DICTIONARIES, st.sampled_from(["application", "addition"]))
def test_any_dictionary_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, dictionary: Any, kind: Any
) -> None:
    one = replace(source(dictionary, version="1.2"), kind=kind)
    text = write_snapshot(one)
    text.encode("utf-8", "surrogatepass")
    folder = tmp_path_factory.getbasetemp()
    path = folder / "any.json"
    try:
        path.write_text(text, encoding="utf-8")
    except UnicodeEncodeError:
        # Only a description may hold a lone surrogate here, and XML cannot.
        one = replace(one, dictionary=facts_only(dictionary))
        path.write_text(write_snapshot(one), encoding="utf-8")
    # What cannot be seen or named does not come back.
    clean, told = sanitize_dictionary(one.dictionary)
    assert same(replace(one, dictionary=clean), read_snapshot(path))
    assert [str(found).partition(" ")[2] for found in load_snapshot(path).diagnostics] == [
        str(replace(found, line=0)).partition(" ")[2] for found in told
    ]


@given(DICTIONARIES)
def test_facts_hold_no_prose(dictionary: Any) -> None:
    data = json.loads(write_snapshot(source(facts_only(dictionary))))
    assert "description" not in set(keys(data))
    assert data["title"] == ""


def test_facts_of_real_dictionaries_hold_no_prose(corpus_build: Built) -> None:
    for loaded in corpus_build.loaded:
        facts = replace(loaded.source, dictionary=facts_only(loaded.source.dictionary))
        assert "description" not in set(keys(json.loads(write_snapshot(facts))))


def test_bundled_snapshots_hold_no_prose() -> None:
    with as_file(files("iac_gen") / "snapshots") as folder:
        paths = sorted(folder.rglob("*.json"))
        assert len(paths) >= 15
        for path in paths:
            data = json.loads(path.read_text(encoding="utf-8"))
            assert "description" not in set(keys(data)), path.name
            assert data["title"] == "", path.name


GOOD: dict[str, Any] = json.loads(write_snapshot(source()))


def refused(path: Path) -> str:
    with pytest.raises(LoadError) as caught:
        read_snapshot(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(str(path))
    return text


@pytest.mark.parametrize(("content", "expected"), [
    ("", ":1: error: is not JSON"), ("{", ":1: error: is not JSON"),
    ('{"format": 1,\n"name": }', ":2: error: is not JSON"), (json.dumps(GOOD)[:-40], "is not JSON"),
    (sdef().decode(), "is not JSON"),
    ("[]", "is not a snapshot of format 1; make one with iac-gen snapshot"),
    ("{}", "is not a snapshot of format 1"),
    (json.dumps({**GOOD, "format": 2}), "is not a snapshot of format 1"),
    (json.dumps({**GOOD, "format": "1"}), "is not a snapshot of format 1"),
    ("[" * 100_000, "is nested too deeply"),
])  # fmt: skip
def test_what_is_no_snapshot_is_refused(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    assert expected in refused(path)


def test_a_snapshot_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    assert "is not a file" in refused(tmp_path / "none.json")
    assert "is not a file" in refused(tmp_path)
    path = tmp_path / "bad.json"
    path.write_bytes(b"\xff\xfe")
    assert "cannot be read" in refused(path)


@pytest.mark.parametrize("key", sorted(GOOD.keys() - {"format"}))
def test_a_snapshot_without_one_of_its_keys_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({name: value for name, value in GOOD.items() if name != key}))
    assert key in refused(path)


WRONG_SUITES: tuple[object, ...] = (
    None, {}, "Suite", [None], [7], ["Suite"], [{}], [{"is": "Gadget"}], [{"is": []}],
    [{"is": "Class", "name": "c", "code": "clas"}], [{"is": "Suite"}],
    [{"is": "Suite", "name": 7, "code": "diar"}],
    [{"is": "Suite", "name": "S", "code": "diar", "colour": "red"}],
    [{"is": "Suite", "name": "S", "code": "diar", "hidden": "yes"}],
    [{"is": "Suite", "name": "S", "code": "diar", "items": {"is": "Class"}}],
    [{"is": "Suite", "name": "S", "code": "diar", "items": [{"is": "Suite", "name": "T"}]}],
)  # fmt: skip


@pytest.mark.parametrize("suites", WRONG_SUITES)
def test_wrong_types_are_refused(tmp_path: Path, suites: object) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({**GOOD, "suites": suites}))
    assert "is not a complete snapshot" in refused(path)


def test_what_may_be_left_out_may_be_null(tmp_path: Path) -> None:
    path = tmp_path / "null.json"
    text = write_snapshot(source())
    path.write_text(text.replace('"name": "make", ', '"name": "make", "direct": null, '))
    assert same(source(), read_snapshot(path))


def test_a_wrong_access_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(write_snapshot(source()).replace('"access": "r"', '"access": "x"'))
    assert "'x' is not one of" in refused(path)


def test_a_type_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    inner = '{"name": "", "items": [' * 300 + '{"name": "text"}' + "]}" * 300
    path = tmp_path / "bad.json"
    text = write_snapshot(source()).replace('"types": [{"name": "text"}]', f'"types": [{inner}]', 1)
    assert inner in text
    path.write_text(text)
    assert "is nested too deeply" in refused(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.data())
def test_any_value_in_any_place_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = json.loads(json.dumps(GOOD))
    node: Any = whole
    while True:
        place = data.draw(
            st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node)))
        )
        if not (isinstance(node[place], dict | list) and node[place] and data.draw(st.booleans())):
            break
        node = node[place]
    node[place] = data.draw(JSON)
    path = tmp_path_factory.getbasetemp() / "odd.json"
    path.write_text(json.dumps(whole))
    try:
        read_snapshot(path)
    except LoadError as error:
        assert "\n" not in str(error)


def changed(folder: Path, **values: Any) -> Path:
    path = folder / "Diary.json"
    path.write_text(json.dumps({**GOOD, **values}))
    return path


def told(path: Path) -> list[str]:
    return [str(one).removeprefix(f"{path}: ") for one in load_snapshot(path).diagnostics]


@pytest.mark.parametrize(("item", "expected"), [
    ({"is": "Command", "name": "go", "code": "short"}, "command go has the code 'short'"),
    ({"is": "Command", "name": "go", "code": "漢字漢字漢字漢字"}, "command go has the code"),
    ({"is": "Class", "name": "row", "code": "x"}, "class row has the code 'x', not 4"),
    ({"is": "Enumeration", "name": "e", "code": "\n"}, "enumeration e has the code '\\n'"),
    ({"is": "ValueType", "name": "v", "code": "abc"}, "valuetype v has the code 'abc'"),
    ({"is": "Command", "name": "g\ro", "code": "diargogo"}, "command g o has a control char"),
    ({"is": "Class", "name": "\ud800w", "code": "rowr"}, "class w has a control character"),
    ({"is": "Class", "name": "\u200b", "code": "rowr"}, "class has a name of which nothing"),
])  # fmt: skip
def test_a_malformed_item_costs_that_item(
    tmp_path: Path, item: dict[str, str], expected: str
) -> None:
    suite = {**GOOD["suites"][0], "items": [*GOOD["suites"][0]["items"], item]}
    path = changed(tmp_path, suites=[suite])
    assert same(source(), read_snapshot(path))
    assert any(one.startswith(f"error: {expected}") for one in told(path))


def test_a_malformed_part_costs_that_part(tmp_path: Path) -> None:
    items = [
        {"is": "Command", "name": "go", "code": "diargogo",
         "parameters": [{"name": "a", "code": "a", "types": []},
                        {"name": "b", "code": "bbbb", "types": []}]},
        {"is": "Class", "name": "row", "code": "rowr",
         "properties": [{"name": "p", "code": "toolong", "types": []}]},
        {"is": "Class", "name": "", "code": "", "extends": "row"},
        {"is": "ValueType", "name": "v", "code": ""},
    ]  # fmt: skip
    path = changed(tmp_path, suites=[{"is": "Suite", "name": "S", "code": "odd", "items": items}])
    command, row, *rest = read_snapshot(path).dictionary.declared_items()
    assert isinstance(command, SdefCommand)
    assert isinstance(row, SdefClass)
    assert [one.name for one in command.parameters] == ["b"]
    assert row.properties == ()
    assert len(rest) == 2
    assert told(path) == [
        "error: parameter a has the code 'a', not 4 characters [code]",
        "error: property p has the code 'toolong', not 4 characters [code]",
    ]


@pytest.mark.parametrize("identifier", ["", "../x", "com.example/x", "a" * 300, "x\u202e", "\n"])
def test_an_odd_bundle_id_makes_the_app_a_local_one(tmp_path: Path, identifier: str) -> None:
    path = changed(tmp_path, id=identifier)
    assert read_snapshot(path).id == "local.diary"
    (one,) = told(path)
    assert "is not a valid bundle id; the app gets a local one [bundle-id]" in one
    assert one.isprintable()


@pytest.mark.parametrize(
    "stem", ["", ".", "..", "../../x", "/x", "a/b", "a\\b", "C:x", ".x", "a\nb", "a" * 300, " x"]
)
def test_a_stem_never_leads_out_of_a_folder(tmp_path: Path, stem: str) -> None:
    path = changed(tmp_path, stem=stem)
    found = read_snapshot(path).stem
    assert found == "Diary" or (found == " ".join(stem.split()) and "/" not in found)
    assert (tmp_path / f"{found}.json").resolve().parent == tmp_path.resolve()


def test_an_app_without_a_name_gets_that_of_the_file(tmp_path: Path) -> None:
    path = changed(tmp_path, name="\u200b\n")
    assert read_snapshot(path).name == "Diary"
    assert told(path) == ["error: has no name of an app; the name of the file is used [name]"]


@pytest.mark.parametrize("digest", ["", "g" * 64, "A" * 64, "0" * 65, 7, None])
def test_a_digest_that_is_none_is_refused(tmp_path: Path, digest: object) -> None:
    assert "is not a complete snapshot" in refused(changed(tmp_path, digest=digest))


def test_half_a_character_costs_a_description_and_nothing_else(tmp_path: Path) -> None:
    item = {"is": "Class", "name": "row", "code": "rowr", "description": "a\ud800b"}
    path = changed(tmp_path, suites=[{"is": "Suite", "name": "S", "code": "diar", "items": [item]}])
    (row,) = read_snapshot(path).dictionary.declared_items()
    assert isinstance(row, SdefClass)
    assert (row.name, row.description) == ("row", "")
    assert told(path) == ["warning: 1 invisible character removed from class row [cleaned]"]


def test_a_number_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"format": ' + "9" * 5000 + "}")
    assert "too many digits" in refused(path)


def test_lint_sees_a_snapshot_as_it_is_written(tmp_path: Path) -> None:
    items = [
        {"is": "Class", "name": "ro\u200bw", "code": "x"},
        {"is": "ValueType", "name": "v\n", "code": "abcd"},
    ]
    path = changed(tmp_path, suites=[{"is": "Suite", "name": "S", "code": "diar", "items": items}])
    loaded = load_snapshot(path, as_written=True)
    names = [
        one.name
        for one in loaded.source.dictionary.declared_items()
        if not isinstance(one, Include)
    ]
    assert names == ["ro\u200bw", "v\n"]
    assert loaded.diagnostics == ()
