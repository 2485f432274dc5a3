"""What a server lists: patterns, pins, read-only, and folders that hide one another."""

import json
from pathlib import Path

import pytest

from iac_base.errors import SetupError
from iac_runtime.serve.listing import Choice, chosen_lines
from iac_runtime.tools.catalogue import read_tool_folders

Row = tuple[str, str, str]


def tool_folder(folder: Path, apps: dict[str, list[Row]]) -> Path:
    """Write an output folder of tools given as (function, level, ceiling)."""
    folder.mkdir(parents=True)
    lines, tools = b"", {}
    for key, rows in apps.items():
        for function, level, ceiling in rows:
            name = f"{key}_{function}"
            tools[name] = {
                "module": key, "function": function, "level": level, "ceiling": ceiling,
            }  # fmt: skip
            lines += json.dumps({"name": name, "from": folder.name}).encode() + b"\n"
    catalogue = {
        "format": 1,
        "apps": {
            key: {"id": f"com.{key}", "name": key.title(), "kind": "application"} for key in apps
        },
        "tools": tools,
    }
    (folder / "catalogue.json").write_text(json.dumps(catalogue))
    (folder / "listing.jsonl").write_bytes(lines)
    return folder


READ, WRITE, REACH = (
    ("get", "SAFE", "SAFE"),
    ("make", "MODIFY", "MODIFY"),
    ("open", "SAFE", "DANGEROUS"),
)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    own = tool_folder(tmp_path / "own", {"mail": [READ]})
    shipped = tool_folder(
        tmp_path / "shipped",
        {"mail": [READ, WRITE], "notes": [READ, WRITE, REACH], "safari": [READ]},
    )
    return [own, shipped]


def listed(folders: list[Path], choice: Choice) -> list[str]:
    return [json.loads(line)["name"] for line in chosen_lines(read_tool_folders(folders), choice)]


def test_search_lists_no_generated_tool(folders: list[Path]) -> None:
    assert listed(folders, Choice()) == []


def test_a_pinned_app_is_listed_beside_search(folders: list[Path]) -> None:
    assert listed(folders, Choice(pins=("safari", "mail"))) == ["mail_get", "safari_get"]
    assert listed(folders, Choice(pins=("SAFARI", "Mail.app"))) == ["mail_get", "safari_get"]


@pytest.mark.parametrize(("expose", "names"), [
    (("all",), ["mail_get", "notes_get", "notes_make", "notes_open", "safari_get"]),
    (("*_get",), ["mail_get", "notes_get", "safari_get"]),
    (("mail_*", "safari"), ["mail_get", "safari_get"]), (("notes_make",), ["notes_make"]),
    (("Apple Mail", "Safari.app"), ["mail_get", "safari_get"]),
])  # fmt: skip
def test_patterns_and_keys_choose(
    folders: list[Path], expose: tuple[str, ...], names: list[str]
) -> None:
    assert listed(folders, Choice(expose)) == names


def test_an_earlier_folder_hides_the_app_of_a_later_one_whole(folders: list[Path]) -> None:
    lines = chosen_lines(read_tool_folders(folders), Choice(("mail",)))
    assert [json.loads(line)["from"] for line in lines] == ["own"]


def test_read_only_leaves_out_what_can_change_something(folders: list[Path]) -> None:
    assert listed(folders, Choice(("all",), read_only=True)) == [
        "mail_get",
        "notes_get",
        "safari_get",
    ]


@pytest.mark.parametrize(("choice", "words"), [
    (Choice(("mali_*",)), "No tool is called mali_*"), (Choice(("safary",)), "Nearest: safari"),
    (Choice(pins=("notse",)), "There are no tools for notse. Nearest: notes."),
])  # fmt: skip
def test_a_pattern_that_names_nothing_is_one_clear_line(
    folders: list[Path], choice: Choice, words: str
) -> None:
    with pytest.raises(SetupError) as caught:
        listed(folders, choice)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("file", "text", "words"), [
    ("catalogue.json", "{", "damaged"), ("catalogue.json", "[]", "another version"),
    ("catalogue.json", '{"format": 99}', "another version"),
    ("catalogue.json", '{"format": 1}', "damaged"), ("catalogue.json", None, "missing"),
    ("listing.jsonl", None, "damaged"),
])  # fmt: skip
def test_a_damaged_folder_says_how_to_mend_it(
    tmp_path: Path, file: str, text: str | None, words: str
) -> None:
    folder = tool_folder(tmp_path / "one", {"mail": [READ]})
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)
    with pytest.raises(SetupError, match=words) as caught:
        listed([folder], Choice(("all",)))
    assert "iac-gen build" in str(caught.value)


def test_no_folder_at_all_says_what_to_do() -> None:
    with pytest.raises(SetupError, match="iac-gen build"):
        read_tool_folders([])
