"""One item of an output folder is poisoned: it alone is lost, and a line of the log names it."""

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iac_runtime.search.index import Index
from iac_runtime.serve.listing import Choice, chosen_lines
from iac_runtime.tools.catalogue import Catalogue, read_tool_folders, shipped_folder
from iac_simulator.osascript import load_tables

SHIPPED = shipped_folder()
assert SHIPPED is not None
WHOLE = Catalogue([SHIPPED])
APPS = sorted(WHOLE.apps)
BAD = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["id", "name", "module", "key"]), st.integers(), max_size=2),
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    assert SHIPPED is not None
    with TemporaryDirectory(dir=tmp_path) as place:
        copy = Path(place) / "tools"
        shutil.copytree(SHIPPED, copy, ignore=shutil.ignore_patterns("__pycache__"))
        yield copy


def served(folder: Path) -> set[str]:
    """Return the tools that every reader of a folder serves."""
    catalogue = Catalogue([folder])
    listed = {entry["name"] for entry in catalogue.read_listing()}
    lines = chosen_lines(read_tool_folders([folder]), Choice(("all",)))
    assert {json.loads(line)["name"] for line in lines} == listed
    return listed & {*catalogue.tools}


def change_json(path: Path, part: str, key: str, value: Any) -> None:
    data = json.loads(path.read_text("utf-8"))
    data[part][key] = value
    path.write_text(json.dumps(data), "utf-8")


def change_line(path: Path, start: str, text: str) -> None:
    lines = path.read_text("utf-8").splitlines()
    (at,) = (at for at, line in enumerate(lines) if line.startswith(start))
    path.write_text("\n".join([*lines[:at], text, *lines[at + 1 :], ""]), "utf-8")


POISONING = settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.mark.property
@POISONING
@given(st.sampled_from(sorted(WHOLE.tools)), BAD)
def test_a_tool_whose_row_is_poisoned_is_lost_alone(
    folder: Path, caplog: pytest.LogCaptureFixture, name: str, value: Any
) -> None:
    shutil.copy(SHIPPED / "catalogue.json", folder)  # type: ignore[operator]
    caplog.clear()
    change_json(folder / "catalogue.json", "tools", name, value)
    assert served(folder) == {*WHOLE.tools} - {name}
    assert {record.getMessage().count(f'"{name}" ') for record in caplog.records} == {1}


@pytest.mark.property
@POISONING
@given(st.sampled_from(APPS), BAD)
def test_an_app_whose_row_is_poisoned_is_lost_alone_in_server_and_simulator(
    folder: Path, caplog: pytest.LogCaptureFixture, key: str, value: Any
) -> None:
    shutil.copy(SHIPPED / "catalogue.json", folder)  # type: ignore[operator]
    caplog.clear()
    change_json(folder / "catalogue.json", "apps", key, value)
    lost = {name for name, row in WHOLE.tools.items() if row.app.key == key}
    assert served(folder) == {*WHOLE.tools} - lost
    assert {one.key for one in load_tables([folder])} == {one.key for one in WHOLE.dictionaries} - {
        key
    }
    assert {record.getMessage().count(f'"{key}" ') for record in caplog.records} == {1}


@pytest.mark.property
@POISONING
@given(st.sampled_from(sorted(WHOLE.tools)), BAD.map(json.dumps) | st.just('{"name":'))
def test_a_tool_whose_line_of_the_listing_is_poisoned_is_lost_alone(
    folder: Path, caplog: pytest.LogCaptureFixture, name: str, text: str
) -> None:
    shutil.copy(SHIPPED / "listing.jsonl", folder)  # type: ignore[operator]
    caplog.clear()
    change_line(folder / "listing.jsonl", f'{{"name":"{name}"', text)
    assert served(folder) == {*WHOLE.tools} - {name}
    assert {record.getMessage().count(f'"{name}" ') for record in caplog.records} == {1}


@pytest.mark.property
@POISONING
@given(st.sampled_from([key for key in APPS if key != "notes"]), BAD)
def test_an_app_whose_words_are_poisoned_is_not_found_and_the_others_are(
    folder: Path, caplog: pytest.LogCaptureFixture, key: str, value: Any
) -> None:
    shutil.copy(SHIPPED / "words.jsonl", folder)  # type: ignore[operator]
    caplog.clear()
    change_line(folder / "words.jsonl", f'{{"key":"{key}"', f'{{"key":"{key}","rows":{value!r}')
    found = Index(Catalogue([folder])).find("make a new note in Notes")
    assert found[0].tool.startswith("notes_")
    (record,) = caplog.records
    assert key in record.getMessage()


@pytest.mark.parametrize(
    "text", ["x = 1\n", "def f(:\n", "raise RuntimeError('no')\n", "import nothing_of_that\n", None]
)
def test_an_app_whose_module_cannot_be_used_is_lost_alone_in_the_simulator(
    folder: Path, caplog: pytest.LogCaptureFixture, text: str | None
) -> None:
    path = folder / "mail.py"
    path.unlink()
    if text is not None:
        path.write_text(text)
    with caplog.at_level(logging.WARNING):
        kept = {one.key for one in load_tables([folder])}
    assert kept == {one.key for one in WHOLE.dictionaries} - {"mail"}
    (record,) = caplog.records
    assert "mail.py" in record.getMessage()
    catalogue = Catalogue([folder])
    assert catalogue.load_tool(catalogue.find_row("notes_list")).name == "notes_list"
