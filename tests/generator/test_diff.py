"""What `iac-gen diff` says of an update: every change in words, and only what is true."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from making import DIARY, inputs, read, sdef, source

from iac_gen.changes import changed_levels, describe_changes
from iac_gen.output import PreviousBuild
from iac_gen.pipeline import build_folder
from iac_gen.quirks import QuirkFile

FIND = """<command name="find" code="diarfind">
<parameter name="in" code="inin" type="text"/><parameter name="kind" code="kind" type="mood"
optional="yes"/><result type="text"/></command>
<record-type name="options" code="opts"><property name="size" code="size" type="integer"/>
</record-type>"""
APP = DIARY + FIND


def built(items: str, quirks: Sequence[QuirkFile] = ()) -> PreviousBuild:
    files, report = build_folder(inputs(source(read(sdef(items))), quirks=quirks))
    assert not report.failed
    return PreviousBuild.read(
        *(files[name] for name in ("catalogue.json", "listing.jsonl", "tools.lock", "words.jsonl"))
    )


def told(old: PreviousBuild, new: PreviousBuild) -> list[str]:
    lines = map(str, describe_changes(old.apps, new.apps))
    return [line.removeprefix("diary: ") for line in lines if "dictionary changed" not in line]


@pytest.mark.sweep
@pytest.mark.parametrize(("was", "now", "expected"), [
    ('name="mood" code="mood" type="mood"', 'name="humour" code="mood" type="mood"',
     "property entry.humour: renamed from entry.mood"),
    ('name="body" code="body"', 'name="body" code="bdy2"',
     "property entry.body: has another code: entr/bdy2 instead of entr/body"),
    ('code="mood" type="mood"', 'code="mood" type="integer"',
     "property entry.mood: type changed from mood to integer"),
    ('code="mood" type="mood"', 'code="mood" type="mood" access="r"',
     "property entry.mood: access changed from rw to r"),
    ('code="ID  " type="text" access="r"', 'code="ID  " type="text"',
     "property entry.id: can now be set, MODIFY"),
    ('<property name="body" code="body" type="text"/>', "", "property entry.body removed"),
    ('<property name="id"', '<property name="key" code="keyk" type="text"/><property name="id"',
     "property entry.key added (MODIFY)"),
    ('name="body" code="body"', 'name="words" code="body"',
     "property entry.words: level lowered from DANGEROUS to MODIFY"),
    ('"so so" code="soso"', '"fair" code="soso"', "enumerator mood.fair: renamed from mood.so so"),
    ('<enumerator name="glad" code="glad"/>', "", "enumerator mood.glad removed"),
    ('<enumerator name="glad"', '<enumerator name="sad" code="saad"/><enumerator name="glad"',
     "enumerator mood.sad added"),
    ('<element type="entry"/>', '<element type="entry" access="r"/>',
     "element application.entry: access changed from rw to r"),
    ('<element type="entry"/>', "", "element application.entry removed"),
    ('name="size" code="size" type="integer"', 'name="size" code="size" type="real"',
     "field options.size: type changed from integer to real"),
    ('"diarfind"', '"diarseek"', "diary_find: sends another event: diarseek instead of diarfind"),
    ('"find" code', '"seek" code', "diary_seek: renamed from diary_find"),
    ('code="inin" type', 'code="ixix" type',
     "diary_find: parameter in: sent as ixix instead of inin"),
    ('code="inin" type="text"', 'code="inin" type="entry"',
     "diary_find: parameter in: type changed from text to entry"),
    ('code="inin" type="text"', 'code="inin" type="text" optional="yes"',
     "diary_find: parameter in is now optional"),
    ('<parameter name="in" code="inin" type="text"/>', "", "diary_find: parameter in removed"),
    ('<result type="text"/></command>\n<record', '<result type="integer"/></command>\n<record',
     "diary_find: result changed from text to integer"),
])  # fmt: skip
def test_a_change_is_said_by_class_and_property_or_by_tool(
    was: str, now: str, expected: str
) -> None:
    assert was in APP
    old, new = built(APP), built(APP.replace(was, now))
    assert expected in told(old, new)
    assert told(new, new) == []


def test_a_class_that_is_called_otherwise_is_said_once() -> None:
    other = APP.replace('"entry" code', '"note" code').replace('"entry"', '"note"')
    lines = told(built(APP), built(other.replace("entries", "notes")))
    assert "class note: renamed from entry" in lines
    assert [line for line in lines if line.startswith("property") and "renamed" in line] == []


def test_levels_stand_side_by_side_where_they_differ() -> None:
    old = built(APP)
    words = APP.replace('name="body" code="body"', 'name="words" code="body"')
    new = built(words.replace('<property name="mood" code="mood" type="mood"/>', ""))
    assert changed_levels(old.apps, new.apps) == {
        "diary": [
            ("property entry.mood", "MODIFY", ""),
            ("property entry.words", "DANGEROUS", "MODIFY"),
            ("diary_make", "MODIFY to DANGEROUS", "MODIFY"),
            ("diary_set", "MODIFY to DANGEROUS", "MODIFY"),
        ]
    }
    assert changed_levels(old.apps, old.apps) == changed_levels({}, old.apps) == {}


def test_other_search_words_are_no_other_event() -> None:
    more = DIARY + '<class name="page" code="page"><element type="entry"/></class>'
    more = more.replace(
        '<element type="entry"/>', '<element type="entry"/><element type="page"/>', 1
    )
    lines = told(built(DIARY), built(more))
    assert "diary_list: search words changed" in lines
    assert [line for line in lines if "event" in line or "sent" in line] == []


def test_an_example_in_a_description_is_nothing_that_is_sent() -> None:
    old = built(APP)
    app = old.apps["diary"]
    entry = json.loads(app.lines["diary_get"])
    entry["inputSchema"]["properties"]["target"]["description"] = "Reference such as entries[3]"
    changed = replace(app, lines={**app.lines, "diary_get": json.dumps(entry)})
    assert told(old, PreviousBuild({"diary": changed})) == [
        "diary_get: parameter target: described otherwise"
    ]


def test_a_recipe_that_binds_otherwise_is_said() -> None:
    def recipe(count: int) -> list[QuirkFile]:
        row = {"name": "first", "tool": "list", "doc": "List.", "why": "Asked.",
               "bind": {"element": "entry", "limit": count}}  # fmt: skip
        return [QuirkFile("quirks/diary.toml", "com.example.Diary", (("recipe", 1, row),))]

    old, new = built(APP, recipe(1)), built(APP, recipe(2))
    assert told(old, new) == ["diary_first: other arguments are bound"]
    digests = [one.apps["diary"].tools["diary_first"]["digest"] for one in (old, new)]
    assert digests[0] != digests[1]


def test_of_terms_that_were_never_reviewed_nothing_is_said() -> None:
    old = built(APP)
    unknown = replace(old.apps["diary"], terms=None)
    new = built(APP.replace('name="mood" code="mood" type', 'name="humour" code="mood" type'))
    assert told(PreviousBuild({"diary": unknown}), new) == []
