"""Lint as a whole: every dictionary, real ones and the command."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dictionaries import DICTIONARIES
from golden import standard
from hypothesis import given
from hypothesis import strategies as st
from lint_cases import SOUND
from making import sdef, source, whole

from iac_gen.cli.show import lint_command
from iac_gen.discover import from_bundled_snapshots, from_paths, load_includes
from iac_gen.lint.rules import RULES, lint_source
from iac_gen.model import Dictionary
from iac_gen.quirks import known_apps
from iac_gen.xml import LoadError, parse_dictionary


@given(DICTIONARIES)
def test_lint_takes_every_dictionary(dictionary: Dictionary) -> None:
    for one in lint_source(source(dictionary), standard()):
        assert one.rule in RULES
        assert "\n" not in str(one)
        assert one.consequence.endswith(".")


WORDS = st.sampled_from(["", "application", "entry", "leaf", "list of leaf | text", "name", "in"])
TAGS = st.sampled_from(
    "class class-extension command event enumeration record-type value-type property element"
    " parameter direct-parameter result enumerator type synonym responds-to contents".split()
)
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys("name id plural inherits extends type command".split(), WORDS),
        "code": st.sampled_from(["", "leaf", "entr", "diarleaf", "0x00000001"]),
        "hidden": st.just("yes"),
        "optional": st.just("yes"),
        "list": st.just("yes"),
    },
)


def _xml(tag: str, attributes: dict[str, str], inner: list[str]) -> str:
    given = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{given}>{''.join(inner)}</{tag}>"


NODES = st.recursive(
    st.builds(_xml, TAGS, ATTRIBUTES, st.just([])),
    lambda inner: st.builds(_xml, TAGS, ATTRIBUTES, st.lists(inner, max_size=3)),
    max_leaves=12,
)


@given(st.lists(NODES, max_size=4))
def test_lint_takes_whatever_load_takes(nodes: list[str]) -> None:
    try:
        dictionary, told = parse_dictionary(sdef("".join(nodes)), "app.sdef")
    except LoadError:
        return
    errors = sum(one.level == "error" for one in told)
    findings = lint_source(source(dictionary), standard(), told)
    # Nothing that load left out is kept from the reader, though two may read the same.
    assert bool(errors) <= any(one.severity == "error" for one in findings)


def test_real_dictionaries_give_findings_and_no_more_than_can_be_read(corpus: Path) -> None:
    loaded = whole(from_paths([corpus / "sdef"], known_apps()))
    counts = [len(lint_source(one.source, load_includes(), one.diagnostics)) for one in loaded]
    assert len(counts) == 60
    assert sum(counts) < 1000


def test_snapshots_give_the_findings_of_their_dictionaries(corpus: Path) -> None:
    bundled = {one.source.stem: one.source for one in whole(from_bundled_snapshots())}
    for loaded in whole(from_paths([corpus / "sdef"], known_apps())):
        twin = bundled.get(loaded.source.stem)
        if twin is not None and twin.dictionary.digest == loaded.source.dictionary.digest:
            real = lint_source(loaded.source, standard(), loaded.diagnostics)
            facts = lint_source(twin, standard())
            assert {one.rule for one in facts} == {one.rule for one in real}, twin.stem


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(lint_command, [str(one) for one in arguments])


def saved(folder: Path, items: str, name: str = "Diary.sdef") -> Path:
    path = folder / name
    path.write_bytes(sdef(SOUND + items))
    return path


def test_the_command_prints_a_line_a_finding_and_their_number(tmp_path: Path) -> None:
    path = saved(tmp_path, '<command name="import" code="diarimpt"/>')
    result = run(path)
    assert result.exit_code == 0
    assert result.stdout == (
        f"{path}:7: note: command import: is a Python keyword. In Python it is written import_."
        " [python-keyword]\n"
    )
    assert result.stderr == "iac-gen: 1 finding (1 note) in 1 dictionary\n"


def test_the_command_fails_for_an_error_and_for_what_it_cannot_read(tmp_path: Path) -> None:
    saved(tmp_path, '<command name="stitch" code="bind"/><value-type name="a" code="aaaa"/>')
    assert run(tmp_path).exit_code == 1
    assert run(tmp_path, "--rule", "unused-value-type").exit_code == 0
    (tmp_path / "Torn.sdef").write_text("<dictionary>")
    result = run(tmp_path, "--rule", "unused-value-type", "--rule", "shared-code")
    assert result.exit_code == 1
    assert "skipped" in result.stderr
    assert "Torn.sdef" in result.stderr
    assert "1 finding (1 note) in 1 dictionary" in result.stderr


def test_the_command_prints_json(tmp_path: Path) -> None:
    path = saved(tmp_path, '<command name="import" code="diarimpt"/>')
    (tmp_path / "Torn.sdef").write_text("")
    data = json.loads(run(tmp_path, "--json").stdout)
    assert data["findings"] == [
        {
            "rule": "python-keyword",
            "severity": "note",
            "file": str(path),
            "line": 7,
            "place": "command import",
            "message": "is a Python keyword",
            "consequence": "In Python it is written import_.",
        }
    ]
    assert [one["code"] for one in data["failed"]] == ["empty"]


def test_the_command_says_nothing_of_a_sound_dictionary(tmp_path: Path) -> None:
    result = run(saved(tmp_path, ""), saved(tmp_path, "", "Other.sdef"))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "iac-gen: 0 findings in 2 dictionaries\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.sdef"], "missing.sdef does not exist; check the path"),
        (["--rule", "shared-cod", "x.sdef"], "there is no rule shared-cod; nearest: shared-code"),
        (["--rule", "%%%", "x.sdef"], "there is no rule %%%; the rules are shared-code"),
        ([], "Missing argument 'PATH...'"),
    ],
)
def test_wrong_usage_is_one_line_and_the_code_2(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
