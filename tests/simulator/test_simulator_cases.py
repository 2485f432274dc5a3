"""Executable JXA cases on both engines: those of the corpus, and our own over its dictionaries."""

import json
from pathlib import Path

import conformance
import pytest

OWN = Path(__file__).parent / "cases"

# Hundreds of scripts over the same lines, which other tests count.
pytestmark = pytest.mark.uncounted


def wrong(file: Path, corpus: Path) -> dict[str, tuple[str, ...]]:
    outcomes = conformance.run_cases(conformance.read_cases(file), corpus / "sdef")
    assert [o.case["id"] for o in outcomes if o.failed is None] == []
    return {o.case["id"]: o.failed for o in outcomes if o.failed}


@pytest.mark.sweep
@pytest.mark.usefixtures("engine")
def test_the_cases_of_the_corpus_hold(corpus: Path) -> None:
    assert wrong(corpus / "jxa-cases.jsonl", corpus) == {}


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(OWN.glob("*.jsonl")), ids=lambda file: file.stem)
@pytest.mark.usefixtures("engine")
def test_our_own_cases_hold(corpus: Path, file: Path) -> None:
    assert wrong(file, corpus) == {}


WORLD = {"documents": [{"name": "a"}]}
GET = "Application('TextEdit').documents[0].name()"


@pytest.mark.parametrize(("expectation", "said"), [
    ({"value": "b"}, 'value: expected "b", got "a"'),
    ({"display": "x"}, 'display: expected "x", got "\\"a\\""'),
    ({"display_regex": "^x"}, 'display: expected "^x"'),
    ({"error": -1728}, "error: expected -1728"), ({"events": []}, "events: expected []"),
    ({"events": [{"event": "coresetd"}]}, 'event 1, code: expected "coresetd"'),
    ({"events": [{"event": "coregetd", "timeout": 3}]}, "event 1, timeout: expected 3"),
    ({"events": [{"event": "coregetd", "no_direct": True}]}, "event 1, direct: expected"),
    ({"events": [{"event": "coregetd", "direct": "x"}]}, 'event 1, direct: expected "x"'),
    ({"events": [{"event": "coregetd", "params": {"a": 1}}]}, "event 1, parameter a"),
    ({"world": {"nonsense": 1}}, "world: expected one that fits"),
    ({"osascript": ["-l", "JavaScript", "-e", "{script}"], "stdout": "b\n"}, "stdout:"),
    ({"osascript": ["-l", "JavaScript", "-e", "{script}"], "status": 1}, "status: expected 1"),
    ({"osascript": ["-l", "JavaScript", "-e", "1"], "stdout_regex": "x"}, "stdout_regex"),
    ({"osascript": ["-l", "JavaScript", "-e", "1"], "error": 4}, "error: expected 4"),
])  # fmt: skip
def test_a_case_that_fails_says_what_was_expected_and_what_came(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    expectation: dict[str, object], said: str,
) -> None:  # fmt: skip
    file = tmp_path / "cases.jsonl"
    case = {"id": "T1", "app": "TextEdit", "kind": "get", "script": GET, "world": WORLD}
    rows = [
        {**case, "value": "a", "note": "holds"},
        {**case, **expectation},
        {**case, "app": "NoSuchDictionary"},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", "utf-8")
    assert conformance.main([str(file), str(corpus / "sdef")]) == 1
    out = capsys.readouterr().out
    assert f"T1 (get) {GET}\n" in out
    assert said in out
    assert out.endswith("1 passed, 1 failed, 1 skipped\n")


def test_references_are_equal_by_what_they_name(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cases.jsonl"
    # fmt: off
    script = "Application('TextEdit').documents.whose({name: {_equals: 'a'}})[0]"
    row = {"id": "T", "app": "TextEdit", "script": f"const d = {script}; d.name(); d",
           "world": WORLD, "value": {"ref": "documents.whose({name: 'a'}).at(0)"},
           "events": [{"event": "coregetd", "direct": "documents.whose({name: 'a'})[0].name"}]}
    # fmt: on
    file.write_text(json.dumps(row), "utf-8")
    assert conformance.main([str(file), str(corpus / "sdef")]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed, 0 skipped\n"


@pytest.mark.parametrize(
    ("text", "said"), [("{", ":1: no JSON"), ("3", ":1: a case needs a script"), (None, "No such")]
)
def test_a_file_that_holds_no_cases_gives_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, said: str
) -> None:
    file = tmp_path / "cases.jsonl"
    if text is not None:
        file.write_text(text, "utf-8")
    assert conformance.main([str(file), str(tmp_path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"cases: {file}")
    assert said in line
    assert conformance.main([str(file), str(tmp_path / "none")]) == 2
