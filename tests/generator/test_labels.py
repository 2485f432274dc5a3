"""The benchmark of levels: what it measures, what it prints, and that the bounds hold.

`labels.tsv` holds our own labels. They were made before the verdicts were seen (one was corrected
afterwards), but rules were mended on them since, so its figures flatter. Rows of apps in the corpus
are judged by their dictionary. Those that list what a command `takes` are of other apps and
describe it by themselves; most were written from memory, so their codes are not to be relied on.
"""

import runpy
import sys
from pathlib import Path

import pytest
from floors import dictionaries, floors_text, judged, lower
from floors import main as floors_main

from iac_gen.classify.evidence import shipped_floors

HERE = Path(__file__).parent
SCRIPT = HERE.parent.parent / "benchmarks" / "labels.py"
HEADER = "app\tkind\tcode\tname\ttakes\tanswers\tlabel\taccept\n"


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    """Run the script in this process; return its exit code and all that it printed."""
    old, sys.argv = sys.argv, ["labels.py", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(SCRIPT), run_name="__main__")
    finally:
        sys.argv = old
    told = capsys.readouterr()
    return ended.value.code, told.out + told.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the dictionary of one small app."""
    (tmp_path / "Diary.sdef").write_text(
        '<dictionary><suite name="Diary" code="diar">'
        '<command name="erase" code="diareras"/>'
        '<command name="peruse" code="diarperu" hidden="yes"/>'
        '<class name="entry" code="entr"><property name="mood" code="mood" type="text"/></class>'
        "</suite></dictionary>"
    )
    return tmp_path


def write(folder: Path, *rows: str) -> Path:
    path = folder / "labels.tsv"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


GOOD = (
    "Diary\tcommand\tdiareras\terase\t\t\tDANGEROUS\tDANGEROUS",
    "Diary\tcommand\tdiarperu\tperuse\t\t\tMODIFY\tMODIFY",
    "Diary\tproperty_set\tmood\tentry.mood\t\t\tMODIFY\tMODIFY",
    "Diary\timplicit\t\tcount\t\t\tSAFE\tSAFE",
    "Elsewhere\tcommand\telseread\tread aloud\ttext; to: file\t\tDANGEROUS\tDANGEROUS",
    "Elsewhere\tproperty_set\t\taccount.password\t\t\tDANGEROUS\tDANGEROUS",
)


def test_rows_with_and_without_a_dictionary_are_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(write(folder, *GOOD), folder, capsys=capsys)
    assert code == 0, told
    assert "6 rows: 1 SAFE, 2 MODIFY, 3 DANGEROUS" in told
    assert "3 of them declared by no dictionary" in told
    assert "strict 100.0%, lenient 100.0%" in told


def test_a_miss_is_told_with_its_line_and_reason_and_fails(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "Diary\tcommand\t\tpurge nothing\t\t\tSAFE\tSAFE"
    low = "Diary\tcommand\t\tshow diary\t\t\tDANGEROUS\tMODIFY,DANGEROUS"
    code, told = run(write(folder, *GOOD, wrong, low), folder, capsys=capsys)
    assert code == 1
    assert "line 8: Diary command purge nothing: DANGEROUS (destroys); labelled SAFE" in told
    assert "missed: 1 DANGEROUS below their accept set" in told
    assert "missed: 1 DANGEROUS called SAFE" in told


def test_what_is_no_label_file_is_said_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = write(folder, "Diary\tcommand\t\terase\t\t\tHARMLESS\t")
    assert "line 2: 'HARMLESS' is no level" in run(odd, folder, capsys=capsys)[1]
    assert "does not exist" in run(folder / "none.tsv", folder, capsys=capsys)[1]


def test_all_rows_are_printed_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, told = run("--all", write(folder, *GOOD), folder, capsys=capsys)
    assert told.count("line ") == len(GOOD)


def test_the_bounds_hold_for_the_labels_of_the_corpus(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(capsys=capsys)
    assert code == 0, told


def test_the_bounds_hold_for_our_own_labels(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(HERE / "labels.tsv", corpus / "sdef", capsys=capsys)
    assert code == 0, told


def test_the_bounds_hold_for_labels_that_readers_of_the_dictionaries_alone_gave(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They knew neither the rules nor the words; rules were mended on all of these rows since."""
    code, told = run("--no-floors", HERE / "labels_blind.tsv", corpus / "sdef", capsys=capsys)
    assert (code, "missed" in told) == (0, False), told


def test_the_bounds_hold_without_what_is_known_by_code_alone(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run("--no-floors", HERE / "labels.tsv", corpus / "sdef", capsys=capsys)
    assert code == 0, told


def test_the_bounds_hold_as_if_no_app_had_ever_been_seen(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run("--leave-one-app-out", HERE / "labels.tsv", corpus / "sdef", capsys=capsys)
    assert code == 0, told


def test_the_floors_are_no_lower_than_what_is_judged_today() -> None:
    assert lower(shipped_floors(), judged(dictionaries([]))) == []
    assert floors_main([]) == 0


def test_floors_of_a_new_dictionary_are_told_and_not_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert floors_main([str(folder)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "events 'diareras': SAFE, judged DANGEROUS",
        "events 'diarperu': SAFE, judged MODIFY",
        "setters ('entr', 'mood'): SAFE, judged MODIFY",
    ]


def test_the_file_of_floors_is_what_its_writer_writes(corpus: Path) -> None:
    path = Path(sys.modules["iac_gen.classify.evidence"].__file__ or "").with_name("floors.json")
    want = floors_text(judged(dictionaries([corpus / "sdef"])))
    assert path.read_text(encoding="utf-8") == want
