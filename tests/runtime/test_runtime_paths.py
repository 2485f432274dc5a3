"""Paths where files are objects: in a small app, and in the committed Finder and System Events."""

import importlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from language_helpers import HOME, marshal
from policy_calls import facts_of

from iac_base.errors import InvalidParameterError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.language.reader import AppReader
from iac_runtime.language.references import PathKind, folder_reference, full_path, has_folders
from iac_runtime.language.steps import RefValue
from iac_runtime.language.text import format_reference, format_value
from iac_runtime.tool import App, Class, Element, Property
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import Tables, tables_of
from iac_simulator import Simulator


def _place(term: str, code: str, jxa: str, kind: str = "folder") -> Property:
    return Property(term, code, jxa, kind, "r", "SAFE")


def _class(code: str, name: str, parent: str | None, *elements: str) -> Class:
    rows = tuple(Element(term, "rw") for term in elements)
    return Class(code, name, f"{name}s", parent, "SAFE", "SAFE", (), rows)


APPLICATION = Class(
    "capp",
    "application",
    "applications",
    None,
    "SAFE",
    "SAFE",
    (
        _place("startup disk", "sdsk", "startupDisk"),
        _place("home", "home", "home"),
        _place("desktop", "desk", "desktop"),
    ),
)
FILES = Tables(
    "files",
    App("com.example.Files", "Files"),
    {
        "application": APPLICATION,
        "item": _class("cobj", "item", None),
        "folder": _class("cfol", "folder", "item", "item", "folder"),
        "file": _class("file", "file", "item"),
    },
    {},
    {},
    {},
)


@pytest.mark.parametrize(("path", "last", "text"), [
    ("~", "folder", "home"), ("~/Desktop", "folder", "desktop"),
    ("/Users/me/Desktop/x", "folder", 'desktop.folders["x"]'),
    ("~/Desktop/x", "item", 'desktop.items["x"]'),
    ("~/Documents", "folder", 'home.folders["Documents"]'),
    ("/Users/other/x", "folder", 'startupDisk.folders["Users"].folders["other"].folders["x"]'),
    ("/Users/other/x", "item", 'startupDisk.folders["Users"].folders["other"].items["x"]'),
    ("/", "folder", "startupDisk"), ("/", "item", "startupDisk"),
    ("/Users/meandyou", "folder", 'startupDisk.folders["Users"].folders["meandyou"]'),
    ("/Volumes/USB/x", "folder", 'startupDisk.folders["Volumes"].folders["USB"].folders["x"]'),
    ('/a"b', "folder", 'startupDisk.folders["a\\"b"]'),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["specifier", "file"])
def test_where_files_are_objects_a_path_is_a_folder_or_an_item(
    path: str, last: PathKind, text: str, kind: str
) -> None:
    found = marshal(path, kind, FILES, last=last)
    assert isinstance(found, RefValue)
    assert format_value(found, "app") == f"app.{text}"


@pytest.mark.parametrize(("text", "path"), [
    ("/", "/"), ("~", HOME), ("~/", HOME), ("~/a/./b//../c/", f"{HOME}/a/c"),
    ("/Xcode/X", "/Xcode/X"), ("/../..//x", "/x"), ("//Volumes/USB", "/Volumes/USB"),
    ("/a/~/b", "/a/~/b"),
])  # fmt: skip
def test_a_path_is_made_absolute_and_plain(text: str, path: str) -> None:
    assert full_path(text, HOME) == path


@pytest.mark.parametrize(
    ("text", "home", "message"),
    [
        ("a/b", HOME, 'path: "a/b" is not an absolute path. Start it with / or ~/.'),
        ("~root/x", HOME, 'path: "~root/x" is not an absolute path. Start it with / or ~/.'),
        # Without a home it would be a path from the root.
        ("~/x", "", 'path: "~/x" is not an absolute path. Start it with / or ~/.'),
        ("/a\0b", HOME, 'path: the path "/a b" contains a NUL character.'),
    ],
)
def test_what_is_no_absolute_path_is_refused(text: str, home: str, message: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        full_path(text, home)
    assert f"{caught.value.message} {caught.value.suggestion}".strip() == message


@pytest.mark.parametrize(
    ("missing", "found"), [("", True), ("application", False), ("folder", False)]
)
def test_only_an_app_with_folders_and_a_startup_disk_names_files_by_objects(
    missing: str, found: bool
) -> None:
    classes = {name: row for name, row in FILES.classes.items() if name != missing}
    assert has_folders(Tables("files", FILES.app, classes, {}, {}, {})) == found
    bare = APPLICATION._replace(properties=())
    assert not has_folders(Tables("files", FILES.app, {**classes, "application": bare}, {}, {}, {}))


def test_a_path_ends_in_a_folder_where_nothing_else_is_said() -> None:
    assert format_reference(folder_reference(f"{HOME}/a/b", HOME, FILES)) == (
        'home.folders["a"].folders["b"]'
    )


def committed(generated: Path, key: str) -> Tables:
    assert (generated / f"{key}.py").is_file()
    return tables_of(importlib.import_module(f"iac_tools.{key}"))


@pytest.mark.parametrize(("key", "path", "last", "text", "classes"), [
    ("finder", "~", "folder", "home", ("folder",)),
    ("finder", "~/.Trash", "folder", "trash", ("trash-object",)),
    ("finder", "~/.Trash/x", "item", 'trash.items["x"]', ("item",)),
    ("finder", "~/Desktop", "folder", "desktop", ("desktop-object",)),
    ("finder", "/", "folder", "startupDisk", ("disk",)),
    ("finder", "/Volumes/USB", "folder", 'disks["USB"]', ("disk",)),
    ("finder", "/Volumes/USB/a/b", "item", 'disks["USB"].folders["a"].items["b"]', ("item",)),
    ("finder", "/Volumes", "folder", 'startupDisk.folders["Volumes"]', ("folder",)),
    ("finder", "/x/y.txt", "file", 'startupDisk.folders["x"].files["y.txt"]', ("file",)),
    ("system_events", "~", "folder", "homeFolder", ("folder",)),
    ("system_events", "~/Desktop/a", "item", 'desktopFolder.diskItems["a"]', ("disk item",)),
    ("system_events", "/Volumes/USB", "folder", 'disks["USB"]', ("disk",)),
    ("system_events", "~/.Trash", "folder", "trash", ("folder",)),
])  # fmt: skip
def test_a_path_is_the_reference_of_the_committed_app(
    generated: Path, key: str, path: str, last: PathKind, text: str, classes: tuple[str, ...]
) -> None:
    found = AppReader(committed(generated, key), HOME).read_object(path, last)
    assert found.text == text
    assert found.classes == classes


def test_a_date_of_a_file_is_read_by_its_path_as_apples_guide_does(generated: Path) -> None:
    file = {"name": "My File.txt", "modificationDate": {"date": "2015-09-28T12:00:00.000Z"}}
    folders: list[dict[str, Any]] = [{"name": "Documents", "files": [file]}]
    for name in ("YourUserName", "Users"):
        folders = [{"name": name, "folders": folders}]
    catalogue = Catalogue([generated])
    tables = [catalogue.load_tables(app) for app in catalogue.apps.values() if app.key == "finder"]
    simulator = Simulator(tables, {"finder": {"startupDisk": {"folders": folders}}})
    gate = Gate(catalogue, Executor(simulator), home="/Users/me")
    given = {
        "target": "/Users/YourUserName/Documents/My File.txt",
        "properties": ["modification date"],
    }
    done = gate.call(Call("finder_get", given))
    assert isinstance(done, CompletedCall)
    assert datetime.fromisoformat(done.value["modification date"]) == datetime(
        2015, 9, 28, 12, tzinfo=UTC
    )
    assert simulator.events[-1].direct == (
        'startupDisk.folders["Users"].folders["YourUserName"].folders["Documents"]'
        '.items["My File.txt"].modificationDate'
    )


@pytest.mark.parametrize(
    "path", ["javascript:alert(1)", "smb://evil/x", "file:///etc", "a/b", "~root/x", "", "/a\0b"]
)
def test_what_is_no_path_of_this_mac_is_refused(path: str, tables: Tables) -> None:
    for kind in ("file", "alias", "list of file"):
        with pytest.raises(InvalidParameterError) as caught:
            marshal(path, kind, tables)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "canonical"), [
    ("journals.whose({sourceFile: '~/x'})", None),
    ("pictures.whose({'source file': '~/x'})", "/Users/me/x"),
])  # fmt: skip
def test_the_home_folder_is_expanded_inside_a_filter(
    text: str, canonical: str | None, tables: Tables
) -> None:
    reader = AppReader(tables, HOME)
    if canonical is None:
        with pytest.raises(InvalidParameterError):
            reader.read_reference(text)
        return
    found = reader.read_reference(f"entries[0].{text}")
    assert canonical in found.text
    assert "~" not in found.text


@pytest.mark.parametrize(("tool", "given", "line"), [
    ("read", {"target": "~/a.txt"}, 'app.read(Path("/Users/me/a.txt"))'),
    ("read", {"target": 17}, "app.read(17)"),
    ("get_eof", {"target": "/tmp/a"}, 'app.getEof(Path("/tmp/a"))'),
    ("write", {"target": "/not/a/path", "to": "~/a.txt"},
     'app.write("/not/a/path", {to: Path("/Users/me/a.txt")})'),
])  # fmt: skip
def test_where_a_file_is_due_a_path_is_one_though_the_dictionary_says_any(
    tool: str, given: dict[str, object], line: str
) -> None:
    assert facts_of(f"standard_additions {tool}", given).line.endswith(line)
