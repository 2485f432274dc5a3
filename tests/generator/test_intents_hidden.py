"""Built intents are listed nowhere and run by nobody: their pages say declared, not verified."""

import sys
from pathlib import Path

import pytest
from golden import standard
from making import put, sdef
from making import read as read_sdef
from metadata import content, loaded

from iac_base.errors import DeclaredToolError
from iac_gen.model import Source
from iac_gen.output import PreviousBuild
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.xml import LoadedDictionary
from iac_runtime.search.index import Index
from iac_runtime.serve.listing import Choice, chosen_lines
from iac_runtime.serve.tool_pages import any_page, known_names
from iac_runtime.tools.catalogue import Catalogue, find_tool, load_module
from iac_runtime.tools.lock import lock_digest

DICTIONARY = LoadedDictionary(Source(read_sdef(sdef()), "Diary", "com.example.Diary", "Diary", "1"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of an app's dictionary and its intents."""
    made, report = build_folder(BuildInputs([DICTIONARY, loaded(content())], standard(), []))
    assert not report.failed
    path = tmp_path_factory.mktemp("both")
    put(path, made)
    return path


@pytest.fixture(scope="module")
def catalogue(folder: Path) -> Catalogue:
    return Catalogue([folder])


def test_both_sources_of_an_app_are_in_one_folder(folder: Path) -> None:
    assert {"diary.py", "diary_intents.py"} <= {one.name for one in folder.iterdir()}


def test_no_list_and_no_search_has_them(catalogue: Catalogue) -> None:
    names = known_names(catalogue)
    assert any(name.startswith("diary_") for name in names)
    assert not any("_intent_" in name for name in names)
    assert list(catalogue.apps) == ["diary"]
    lines = chosen_lines(catalogue.tool_folders, Choice(("all",)))
    assert lines
    assert not any(b"_intent_" in line for line in lines)
    hits = Index(catalogue).find("delete entries of the diary", limit=20)
    assert not any("_intent_" in hit.tool for hit in hits)


def test_whoever_names_one_is_told_what_it_is(catalogue: Catalogue) -> None:
    for ask in (catalogue.find_row, lambda name: any_page(catalogue, name)):
        with pytest.raises(
            DeclaredToolError, match=r"App Intent \(an action that its app declares\), not verified"
        ):
            ask("diary_intent_delete_entries")


def test_a_call_from_python_sends_nothing(folder: Path) -> None:
    module = load_module(folder, "diary_intents")
    try:
        with pytest.raises(DeclaredToolError):
            find_tool(module, "delete_entries", "diary_intent_delete_entries")
        with pytest.raises(DeclaredToolError):
            module.delete_entries(entries=['entries.byId("1")'])
    finally:
        sys.modules.pop(module.__name__)


def test_an_approval_of_the_dictionary_outlives_a_change_of_the_intents(
    folder: Path, tmp_path: Path
) -> None:
    made, _ = build_folder(BuildInputs([DICTIONARY], standard(), []))
    put(tmp_path, made)
    assert lock_digest(tmp_path, "diary_get") == lock_digest(folder, "diary_get")
    assert lock_digest(folder, "diary_intent_pay") != lock_digest(folder, "diary_get")


def test_a_build_of_one_source_keeps_the_other(folder: Path) -> None:
    names = ("catalogue.json", "listing.jsonl", "tools.lock", "search.jsonl")
    before = PreviousBuild.read(*((folder / name).read_text() for name in names))
    _, report = build_folder(BuildInputs([DICTIONARY], standard(), [], previous=before))
    assert report.gone == ()
    _, report = build_folder(BuildInputs([loaded(content())], standard(), [], previous=before))
    assert report.gone == ()
