"""The generated modules are a typed library: right calls pass, wrong ones are found."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from editor import Editor
from type_check import CHECKERS, CheckerError, Finding, different, expected_file, findings, samples

pytestmark = pytest.mark.process


@pytest.fixture(params=CHECKERS)
def checker(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name == "pyright":
        try:
            findings(name, [])
        except CheckerError as error:
            pytest.skip(f"pyright could not be had: {str(error).strip()[-200:]}")
    return name


@pytest.mark.slow
def test_each_checker_says_of_each_sample_what_is_expected(checker: str) -> None:
    assert different(checker) == {}


def test_every_wrong_line_is_found(checker: str) -> None:
    for sample in samples("wrong"):
        text = expected_file(sample, checker).read_text(encoding="utf-8")
        lines = {int(line.partition(":")[0]) for line in text.splitlines()}
        source = sample.read_text(encoding="utf-8").splitlines()
        wrong = {row for row, line in enumerate(source, 1) if line.endswith("# wrong")}
        assert lines == wrong, sample.name


def test_a_right_sample_has_no_expected_findings(checker: str) -> None:
    for sample in samples("right"):
        assert not expected_file(sample, checker).exists()


def test_a_finding_is_one_line_without_long_types() -> None:
    row = Finding(Path("x.py"), 3, "arg-type", f'Argument "a" is no "Literal[{"x" * 90}]"')
    assert str(row) == '3: arg-type: Argument "a" is no "Literal[xxxxxxxxxxxxxxxxxxxxx…"'


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    try:
        opened = Editor(tmp_path_factory.mktemp("editor"))
    except (EOFError, BrokenPipeError):
        pytest.skip("pyright's language server could not be had")
    with opened:
        yield opened


@pytest.mark.sweep
@pytest.mark.parametrize(("line", "offered", "not_offered"), [
    ("notes.|", {"make", "close", "list_notes"}, {"open_for_access"}),
    ('notes.make("|")', {'"note"', '"folder"'}, {'"message"'}),
    ('notes.set("notes[0]", properties={"|": 1})', {'"body"', '"name"'}, {'"subject"'}),
    ('notes.get("notes[0]", properties=["|"])', {'"modification date"'}, {'"sender"'}),
    ('notes.close("documents[0]", |)', {"saving=", "saving_in="}, {"save="}),
    ('notes.close("documents[0]", saving="|")', {'"yes"', '"no"', '"ask"'}, {'"maybe"'}),
    ("mail.app.inbox.messages[0].|", {"subject", "read_status", "recipients", "move", "exists"},
     {"start_date", "uid"}),
    ("mail.app.inbox.messages[0].subject.|", {"get"}, {"set"}),
    ("notes.app.notes[notes.Note.|", {"creation_date", "name"}, {"subject"}),
    ('notes.app.notes.select("|")', {'"modification_date"'}, {'"subject"'}),
    ('calendar.switch_view(to="|")', {'"week view"'}, {'"year view"'}),
    ('iac_runtime.connect(allow="|")', {'"SAFE"', '"DANGEROUS"'}, {'"ALL"'}),
])  # fmt: skip
def test_an_editor_offers_the_names(
    editor: Editor, line: str, offered: set[str], not_offered: set[str]
) -> None:
    found = editor.offers(
        f"import iac_runtime\nfrom iac_tools import calendar, mail, notes\n\n{line}\n"
    )
    assert offered <= found
    assert not not_offered & found
