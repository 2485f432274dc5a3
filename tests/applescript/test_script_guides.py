"""Dictionaries drilled down, guides, and what is suggested."""

import os
from pathlib import Path

import pytest
from guide_lint import lint

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.dictionary import PAGE, dictionary_page, find_skill, read_skill
from iac_base.errors import SetupError, ToolError
from iac_runtime.tools.catalogue import Catalogue

OWN = """---
name: finder
app: com.apple.finder
title: My Finder
terms: [selection]
---
- my own rule
"""


def test_lint_finds_what_is_wrong(
    catalogue: Catalogue, analyser: ScriptAnalyzer, tmp_path: Path
) -> None:
    path = tmp_path / "finder.md"
    path.write_text(
        OWN.replace("[selection]", "[frobnication]\ncodes: [zzzz]").replace(
            "- my own rule", '```applescript\ntell application "Finder" to frobnicate\n```'
        ),
        encoding="utf-8",
    )
    found = lint(
        read_skill(path, own=True), catalogue.load_tables(catalogue.apps["finder"]), analyser
    )
    assert [part for part in ("frobnication", "zzzz") if part in " ".join(found)] == [
        "frobnication",
        "zzzz",
    ]
    assert any("frobnicate" in line for line in found)
    other = catalogue.load_tables(catalogue.apps["mail"])
    assert any(
        "is not the app" in line for line in lint(read_skill(path, own=True), other, analyser)
    )


def test_the_users_own_guide_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "finder.md").write_text(OWN, encoding="utf-8")
    found = find_skill("com.apple.finder", tmp_path)
    assert found is not None
    assert found.own
    assert found.title == "My Finder"


def test_a_guide_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "finder.md"
    path.write_text(OWN, encoding="utf-8")
    path.chmod(0o666)
    found = find_skill("finder", tmp_path)
    assert found is not None
    assert not found.own
    path.chmod(0o644)
    os.chmod(tmp_path, 0o777)  # noqa: PTH101
    found = find_skill("finder", tmp_path)
    assert found is not None
    assert not found.own


@pytest.mark.parametrize(("text", "says"), [
    ("no front matter", "front matter"),
    (OWN.replace("name: finder", "name: other"), "name must be"),
    (OWN.replace("title: My Finder\n", ""), "title is missing"),
    (OWN + "x" * 20_000, "longer than"),
])  # fmt: skip
def test_a_bad_guide_is_told_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "finder.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match=says):
        read_skill(path, own=True)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="is not readable text"):
        read_skill(path, own=True)


def test_every_page_of_every_dictionary_is_short(catalogue: Catalogue) -> None:
    for app in catalogue.apps.values():
        tables = catalogue.load_tables(app)
        for term in ("", "own", "standard", "classes", *list(tables.classes)[:6]):
            first = dictionary_page(tables, term)
            for page in range(1, first.pages + 1):
                text = dictionary_page(tables, term, page=page).text
                assert 0 < len(text) <= PAGE
                assert len(text) / 3 < 1500


def test_drilling_down(catalogue: Catalogue) -> None:
    tables = catalogue.load_tables(catalogue.apps["mail"])
    assert "message" in dictionary_page(tables).text
    assert (
        "read status: boolean (rw); JXA readStatus; set MODIFY"
        in dictionary_page(tables, "message").text
    )
    assert "check for new mail" in dictionary_page(tables, "own").text
    assert "for" in dictionary_page(tables, "check for new mail").text
    assert "property:" in dictionary_page(tables, "read status").text
    assert "property read status of message" in dictionary_page(tables, search="read status").text
    assert "No term matches" in dictionary_page(tables, search="zzzzqqq").text
    enumeration = next(iter(tables.enums))
    assert "enumeration" in dictionary_page(tables, enumeration).text
    record = next(iter(tables.records))
    assert "record" in dictionary_page(tables, record).text


def test_an_unknown_term_gets_the_nearest(catalogue: Catalogue) -> None:
    with pytest.raises(ToolError) as caught:
        dictionary_page(catalogue.load_tables(catalogue.apps["mail"]), "mesage")
    assert "message" in caught.value.suggestion
