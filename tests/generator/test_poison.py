"""One poisoned part, in each stage: it alone is lost, and a line names it and says why."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from golden import standard
from making import COCOA, sdef, source
from metadata import DIARY as INTENTS
from metadata import loaded

from iac_gen import pipeline, xml
from iac_gen.intents import read as intents_read
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.xml import LoadedDictionary, parse_dictionary

ITEMS = """
<class name="application" code="capp"><element type="entry"/><element type="{element}"/></class>
<class name="entry" code="entr"><property name="body" code="body" type="text"/>
<property name="{property}" code="prop" type="text"/></class>
<class name="{class}" code="clas"><property name="ink" code="inkk" type="text"/></class>
<class name="leaf" code="leaf"/>
<enumeration name="{enumeration}" code="enum"><enumerator name="red" code="redd"/></enumeration>
<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/>
<enumerator name="{enumerator}" code="valu"/></enumeration>
<record-type name="{record type}" code="reco"><property name="a" code="aaaa" type="text"/>
</record-type>
<value-type name="{value type}" code="valt"/>
<command name="reread" code="diarrere"><direct-parameter type="entry"/>
<parameter name="{parameter}" code="para" type="boolean" optional="yes"/></command>
<command name="{command}" code="diarcomm"/>
<command name="make" code="corecrel"><parameter name="new" code="kocl" type="type"/></command>
"""
KINDS = (
    "class", "command", "element", "enumeration", "enumerator", "parameter", "property",
    "record type", "value type",
)  # fmt: skip
STAGES = (
    "resolve_dictionary", "apply_quirks", "build_module", "render_module", "render_objects",
    "verify_module", "prove_imports", "app_files",
)  # fmt: skip
POISON = "poison ivy"


def dictionary(kind: str = "", items: str = ITEMS) -> bytes:
    """Return a dictionary in which the term of one kind is the poisoned one."""
    names = {one: POISON if one == kind else f"good {one}" for one in KINDS}
    names["element"] = POISON if kind == "element" else "leaf"
    own = f'<class name="{POISON}" code="pois"/>' if kind == "element" else ""
    return sdef(items.format(**names) + own)


def told(error: type[Exception] = KeyError) -> Callable[..., Any]:
    """Return what stands for a function of a stage that cannot bear the poisoned term."""

    def fails(real: Any) -> Any:
        def stage(*given: Any, **more: Any) -> Any:
            if POISON in repr(given) or "poison_ivy" in repr(given):
                raise error("cannot bear it")
            return real(*given, **more)

        return stage

    return fails


def lost_and_kept(content: bytes) -> tuple[list[str], set[str]]:
    one, notes = parse_dictionary(content, "app.sdef")
    whole = LoadedDictionary(source(one), tuple(notes))
    files, report = build_folder(BuildInputs([whole], standard(), []))
    assert report.apps, report.failed
    return [row.message for row in report.lost], {*json.loads(files["catalogue.json"])["tools"]}


@pytest.mark.property
@pytest.mark.sweep
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "element"])
def test_a_part_that_a_stage_cannot_bear_is_lost_alone(
    kind: str, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lost_and_kept(dictionary())[1]
    monkeypatch.setattr(pipeline, stage, told()(getattr(pipeline, stage)))
    lost, tools = lost_and_kept(dictionary(kind))
    if not lost:
        # A value type, or what a quirk does not look at, never gets to this stage.
        assert kind in ("value type", "enumeration", "enumerator", "record type", "property")
        return
    (line,) = lost
    assert line.startswith(f"{kind} {POISON}")
    assert line.endswith("cannot be built: KeyError: 'cannot bear it'; it is left out")
    owner = {"parameter": " of reread", "property": " of entry", "enumerator": " of mood"}
    assert line.startswith(f"{kind} {POISON}{owner.get(kind, '')} cannot")
    assert before - tools == ({"diary_good_command"} if kind == "command" else set())


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_cannot_be_read_is_lost_alone(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = xml._build_part

    def fails(what: Any, node: Any, **given: Any) -> Any:
        if POISON in (given.get("name"), given.get("type")) and node.get("code") != "pois":
            raise KeyError("cannot bear it")
        return real(what, node, **given)

    before = lost_and_kept(dictionary())[1]
    monkeypatch.setattr(xml, "_build_part", fails)
    lost, tools = lost_and_kept(dictionary(kind))
    (line,) = lost
    assert line.endswith("cannot be read: KeyError: 'cannot bear it'; it is left out")
    assert before - tools == ({"diary_good_command"} if kind == "command" else set())


@pytest.mark.parametrize("poisoned", ["GetEntryIntent", "EntryEntity", "MoodAppEnum"])
def test_an_action_that_cannot_be_read_is_lost_alone(
    poisoned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_build_command", "_build_class", "_build_enumeration"):
        real = getattr(intents_read._IntentsReader, name)

        def fails(self: Any, key: str, row: Any, real: Any = real) -> Any:
            if key == poisoned:
                raise KeyError("cannot bear it")
            return real(self, key, row)

        monkeypatch.setattr(intents_read._IntentsReader, name, fails)
    raw = json.dumps(INTENTS).encode()
    files, report = build_folder(BuildInputs([loaded(raw)], standard(), []))
    (line,) = report.lost
    assert f"{poisoned} cannot be read: KeyError: 'cannot bear it'; it is left out" in str(line)
    tools = json.loads(files["catalogue.json"])["tools"]
    assert any("delete" in name for name in tools)


@pytest.mark.parametrize("what", ["suite", "include"])
def test_a_suite_and_an_include_are_lost_alone(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pipeline.build_module

    def fails(resolved: Any, *rest: Any, **more: Any) -> Any:
        suites = resolved.source.dictionary.suites
        if POISON in {getattr(one, "name", POISON) for one in suites}:
            raise KeyError("cannot bear it")
        return real(resolved, *rest, **more)

    monkeypatch.setattr(pipeline, "build_module", fails)
    odd = f'<suite name="{POISON}" code="pois"/>' if what == "suite" else COCOA
    raw = dictionary().replace(b"</dictionary>", f"{odd}</dictionary>".encode())
    lost, tools = lost_and_kept(raw)
    assert len(lost) == 1
    assert lost[0].startswith(what)
    assert "diary_good_command" in tools


def test_what_only_fails_together_costs_the_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pipeline.build_module

    def fails(resolved: Any, *rest: Any, **more: Any) -> Any:
        if {"reread", POISON} <= {one.name for one in resolved.commands}:
            raise KeyError("cannot bear both")
        return real(resolved, *rest, **more)

    monkeypatch.setattr(pipeline, "build_module", fails)
    lost, tools = lost_and_kept(dictionary("command"))
    assert [line.partition(" cannot")[0] for line in lost] == [f"command {POISON}"]
    assert "diary_reread" in tools
