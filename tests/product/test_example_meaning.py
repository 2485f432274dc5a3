"""The examples of all tools are calls that a person would make: a kind of fault for each test."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from samples import built

from iac_runtime.search import tool_page
from iac_runtime.tool import Param, Spec
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.types import type_alternatives

ROOT = Path(__file__).parent.parent.parent
COMMITTED = Catalogue([ROOT / "generated" / "iac_tools"])


@pytest.fixture(
    scope="module", params=["committed", pytest.param("real", marks=pytest.mark.stress)]
)
def catalogue(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Catalogue:
    if request.param == "committed":
        return COMMITTED
    corpus: Path = request.getfixturevalue("corpus")
    return built(corpus / "sdef", tmp_path_factory.mktemp("real"))


def shown_examples(catalogue: Catalogue) -> Iterator[tuple[str, Spec, dict[str, Any]]]:
    for name in catalogue.tools:
        yield name, catalogue.load_operation(name).spec, {**tool_page(catalogue, name).example}


def given_values(catalogue: Catalogue) -> Iterator[tuple[str, str, Param, Any]]:
    """Yield each value of each example, with its tool, its parameter's key and row."""
    for name, spec, example in shown_examples(catalogue):
        for key, value in example.items():
            for one in value if isinstance(value, list) else [value]:
                if key in spec.params:
                    yield name, key, spec.params[key], one


def test_no_text_is_a_filler_or_a_reference(catalogue: Catalogue) -> None:
    for name, _, example in shown_examples(catalogue):
        assert "'example'" not in str(example), name
    for name, key, row, value in given_values(catalogue):
        if type_alternatives(row.type) == ["text"]:
            assert not re.search(r"\w\[\d+\]|^application$", value), (name, key, value)


def test_addresses_are_addresses(catalogue: Catalogue) -> None:
    for name, key, row, value in given_values(catalogue):
        if row.type == "text" and key in ("address", "email"):
            assert re.fullmatch(r"[^@ ]+@[^@ ]+", value), (name, key, value)
        if row.type == "text" and key in ("url", "uri"):
            assert re.match(r"[a-z]+:\S", value), (name, key, value)


def test_times_are_local_and_end_after_they_start(catalogue: Catalogue) -> None:
    for name, spec, example in shown_examples(catalogue):
        dates = [
            v
            for key, v in example.items()
            if key in spec.params and spec.params[key].type == "date"
        ]
        assert sorted({*dates}) == dates, name
        assert not any(re.search(r"Z$|[+-]\d\d:\d\d$", date) for date in dates), name
        assert all(len(example[key]) == len("2026-03-01") for key in example if key == "day"), name


def test_what_is_closed_or_saved_is_a_document_or_a_window() -> None:
    # Folders are what the windows of Finder show.
    folders = ("finder", "system_events")
    for name, spec, example in shown_examples(COMMITTED):
        if (
            spec.event in ("coreclos", "coresave")
            and not spec.bind
            and not name.startswith(folders)
        ):
            assert str(example["target"]).startswith(("documents[0]", "windows[0]")), name


def test_what_is_moved_goes_elsewhere() -> None:
    for name, _, example in shown_examples(COMMITTED):
        target, to = example.get("target"), example.get("to")
        # In a document or a window, things change places.
        if isinstance(target, str) and str(to) not in ("None", "documents[0]", "windows[0]"):
            assert not f"{target}.".startswith(f"{to}."), name


def test_what_is_exported_as_a_pdf_is_called_so(catalogue: Catalogue) -> None:
    for name, spec, example in shown_examples(catalogue):
        if "PDF" in (*example.values(), *spec.bind.values()):
            files = [
                example[key]
                for key, row in spec.params.items()
                if row.type == "file" and key in example
            ]
            assert all(file.endswith(".pdf") for file in files), name


def test_no_key_has_the_underscore_of_python(catalogue: Catalogue) -> None:
    for entry in catalogue.read_listing():
        keys = entry["inputSchema"]["properties"]
        assert not [key for key in keys if key.endswith("_")], entry["name"]


def test_a_date_says_how_it_is_written_and_a_filter_what_it_compares_with() -> None:
    for entry in COMMITTED.read_listing():
        for key, row in entry["inputSchema"]["properties"].items():
            if row.get("format") == "date-time":
                assert "today" in row["description"] or "tomorrow" in row["description"], entry[
                    "name"
                ]
            if key == "where":
                assert {">=", "contains", "not"} <= {*row["description"].replace(",", "").split()}
