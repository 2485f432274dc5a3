"""The corpus of real dictionaries: every one builds, and nothing is lost without a reason."""

import json
from pathlib import Path

import pytest
from builds import Built

from iac_gen.discover import from_paths
from iac_gen.quirks import known_apps
from iac_gen.report import AppReport, BuildReport

# Why the tables of a module hold other numbers than the file: what each diagnostic stands for.
REASONS = {
    "class-again": "a class that is declared twice is one row",
    "contents": "what a class contains counts as a property of it",
    "hidden": "hidden commands are no tools",
    "included": "the standard suites come on top",
    "overload": "overloads of a command are one tool",
    "hook": "what the app calls in a script is no tool",
    "repeated": "what is declared twice in one place is one row",
    "self-inherits": "a class that inherits itself extends the one that was there",
    "synthesised": "a class that is used and not declared was made",
    "unknown-class": "an element of a class that nobody declares has no row",
}


@pytest.fixture
def report(corpus_build: Built) -> BuildReport:
    return corpus_build.report


def by_file(report: BuildReport, corpus: Path) -> dict[str, AppReport]:
    found = from_paths([corpus / "sdef"], known_apps())
    ids = {one.id: Path(one.file).name for one in found.sources}
    return {ids[app.id]: app for app in report.apps}


def test_every_real_dictionary_becomes_a_module(report: BuildReport) -> None:
    assert report.failed == ()
    assert len(report.apps) == 60


def test_what_is_declared_is_what_the_raw_files_hold(report: BuildReport, corpus: Path) -> None:
    raw = json.loads((corpus / "counts.json").read_text())
    for file, app in by_file(report, corpus).items():
        expected = [raw[file].get(k, 0) for k in ("command", "class", "property", "element")]
        got = app.declared
        assert [got.commands, got.classes, got.properties, got.elements] == expected, file


def test_what_is_built_differs_only_for_a_reason_that_is_told(
    report: BuildReport, corpus: Path
) -> None:
    for file, app in by_file(report, corpus).items():
        reasons = {one.code for one in app.diagnostics} & REASONS.keys()
        if not reasons:
            assert app.built == app.declared, file
        elif reasons == {"hidden"}:
            hidden = sum(one.code == "hidden" for one in app.diagnostics)
            assert app.built.commands == app.declared.commands - hidden, file
            assert app.built.classes == app.declared.classes, file
            assert app.built.properties == app.declared.properties, file
            assert app.built.elements == app.declared.elements, file
        elif reasons == {"contents"}:
            extra = sum(one.code == "contents" for one in app.diagnostics)
            assert app.built.properties == app.declared.properties + extra, file


def test_most_dictionaries_need_no_reason(report: BuildReport) -> None:
    same = [app.key for app in report.apps if app.built == app.declared]
    assert len(same) >= 20


def test_a_tool_costs_few_tokens(report: BuildReport) -> None:
    tools = sum(app.tools for app in report.apps)
    assert sum(app.tokens for app in report.apps) / tools <= 165
