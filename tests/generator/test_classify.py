"""Levels: what a tool may do is read from codes, types, the app and verbs, never lowered."""

from dataclasses import replace

import pytest
from making import module, read, sdef, source

from iac_gen.classify.evidence import LevelVerdict
from iac_gen.quirks import QuirkFile
from iac_runtime.tool import Class, Level


def level(command: str, app: str = "com.example.Diary", beside: str = "") -> Level:
    """Return the level of the last tool of an app that has only `command`."""
    one = replace(source(read(sdef(beside + command))), id=app)
    return module(one)[0].tools[-1].level


def command(name: str, code: str = "diargogo", inner: str = "") -> str:
    return f'<command name="{name}" code="{code}">{inner}</command>'


TEXT = '<direct-parameter type="text"/>'
FILE = '<direct-parameter type="file"/>'
FLAG = '<result type="boolean"/>'
SCRIPT = '<parameter name="source code" code="srcc" type="text"/><result type="any"/>'
ANSWER = '<result type="text"/>'


@pytest.mark.parametrize(("declared", "expected"), [
    (command("get weather"), "MODIFY"), (command("get weather", inner=ANSWER), "SAFE"),
    (command("getweather", inner=ANSWER), "SAFE"), (command("漢字", inner=ANSWER), "MODIFY"),
    (command("show entry"), "SAFE"), (command("bind"), "MODIFY"), (command("rebind"), "MODIFY"),
    (command("post entry"), "DANGEROUS"), (command("delete entry"), "DANGEROUS"),
    (command("permanently delete"), "DANGEROUS"), (command("diary delete"), "DANGEROUS"),
    (command("uninstall"), "DANGEROUS"), (command("erase"), "DANGEROUS"),
    (command("do shell thing"), "DANGEROUS"), (command("doscript"), "DANGEROUS"),
    (command("get", "emsgsend"), "DANGEROUS"), (command("get", "coredelo"), "DANGEROUS"),
    (command("zork", "diardosc"), "DANGEROUS"), (command("zork", "diarSend"), "DANGEROUS"),
    (command("get password", inner=ANSWER), "DANGEROUS"),
    (command("get URL", inner='<direct-parameter type="specifier"/>' + ANSWER), "SAFE"),
    (command("frobnicate", "coredoex"), "SAFE"), (command("run", "aevtoapp"), "MODIFY"),
    (command("漢字"), "MODIFY"),
])  # fmt: skip
def test_the_level_of_a_command_by_its_code_and_verb(declared: str, expected: Level) -> None:
    assert level(declared) == expected


@pytest.mark.parametrize(("declared", "expected"), [
    (command("get note", inner=SCRIPT), "DANGEROUS"), (command("bind", inner=TEXT), "DANGEROUS"),
    (command("bind", inner=FILE), "DANGEROUS"), (command("rename", inner=TEXT), "MODIFY"),
    (command("search", inner=TEXT), "SAFE"), (command("search the web", inner=TEXT), "MODIFY"),
    (command("start", inner=TEXT), "MODIFY"),
    (command("start", inner='<direct-parameter type="recording"/>'), "DANGEROUS"),
    (command("start", inner='<direct-parameter type="session"/>'), "MODIFY"),
    (command("partition", inner='<direct-parameter type="disk"/>'), "DANGEROUS"),
    (command("session is active"), "MODIFY"), (command("session is active", inner=ANSWER), "SAFE"),
    (command("show", inner=FILE), "MODIFY"), (command("read", inner=FILE), "DANGEROUS"),
    (command("write to file"), "DANGEROUS"), (command("expand", inner=TEXT), "MODIFY"),
    (command("join", inner='<parameter name="password" code="pass" type="text"/>'), "DANGEROUS"),
    (command("summarize", inner=TEXT + '<parameter name="to" code="to__" type="file"/>'), "MODIFY"),
    (command("edit", inner=TEXT + '<result type="any"/>'), "DANGEROUS"),
    (command("forward", inner='<direct-parameter type="specifier"/>'), "MODIFY"),
    (command("forward"), "MODIFY"), (command("play movie"), "SAFE"),
    (command("play script"), "DANGEROUS"),
    (command("stop", inner='<direct-parameter type="movie"/>'), "SAFE"),
    (command("stop", inner='<direct-parameter type="timer"/>'), "MODIFY"),
    (command("stop", inner='<direct-parameter type="server"/>'), "DANGEROUS"),
    (command("stop"), "MODIFY"),
    (command("read", inner='<parameter name="from" code="frfr" type="file"/>'), "MODIFY"),
    (command("read", inner=TEXT + ANSWER), "MODIFY"),
    (command("inside entry", inner=TEXT + ANSWER), "SAFE"),
    (command("changed diary for", inner=TEXT + FLAG), "MODIFY"),
    (command("mood of entry", inner=FLAG), "MODIFY"),
    (command("strip", inner=TEXT + ANSWER), "SAFE"),
    (command("strip", inner='<direct-parameter type="specifier"/>' + ANSWER), "MODIFY"),
    (command("web export", inner=FILE), "MODIFY"),
    (command("push", inner='<direct-parameter type="guest file"/>'), "MODIFY"),
    (command("push"), "DANGEROUS"),
    (command("clear", inner='<direct-parameter type="range"/>'), "DANGEROUS"),
    (command("attach", inner='<parameter name="pid" code="pidn" type="integer"/>'), "DANGEROUS"),
    (command("stop", inner='<parameter name="without saving" code="nosv" type="boolean"/>'),
     "DANGEROUS"),
    (command("refresh", inner='<parameter name="force" code="forc" type="boolean"/>'), "DANGEROUS"),
    (command("sort", inner='<direct-parameter type="specifier"/><result type="specifier"/>'),
     "SAFE"),
    (command("sort lines", inner=ANSWER), "MODIFY"), (command("sort"), "MODIFY"),
    (command("mood of entry", inner=ANSWER), "SAFE"), (command("mood of entry"), "MODIFY"),
    (command("set search path", inner=TEXT), "DANGEROUS"),
])  # fmt: skip
def test_the_level_of_a_command_by_what_it_takes_and_answers(
    declared: str, expected: Level
) -> None:
    assert level(declared) == expected


@pytest.mark.parametrize(("name", "expected"), [
    ("go back", "SAFE"), ("go online", "MODIFY"), ("log out", "DANGEROUS"),
    ("key down", "DANGEROUS"), ("open sidebar", "SAFE"), ("open diary", "MODIFY"),
    ("start timer", "MODIFY"), ("start server", "MODIFY"), ("start recording", "DANGEROUS"),
    ("new audio recording", "DANGEROUS"), ("grab screenshot", "DANGEROUS"),
    ("load module", "DANGEROUS"), ("remove password", "DANGEROUS"), ("set password", "DANGEROUS"),
    ("clear undo history", "DANGEROUS"), ("add environment variable", "DANGEROUS"),
    ("display dialog", "MODIFY"), ("web page preview", "SAFE"), ("buy diary", "DANGEROUS"),
    ("get URL", "MODIFY"), ("page screenshot", "DANGEROUS"), ("osascript", "DANGEROUS"),
    ("begin recording", "DANGEROUS"), ("capture area", "DANGEROUS"), ("capture page", "MODIFY"),
    ("create bank transfer", "DANGEROUS"), ("create transfer", "MODIFY"),
    ("open from FTP", "DANGEROUS"), ("do menu", "DANGEROUS"), ("activate menu item", "DANGEROUS"),
    ("activate license", "MODIFY"), ("activate tab", "SAFE"), ("play URL", "MODIFY"),
    ("DIOpen", "MODIFY"), ("DIPress", "DANGEROUS"), ("SQLFind", "MODIFY"),
    ("enter presentation mode", "SAFE"), ("exit", "DANGEROUS"), ("exit clip mode", "SAFE"),
    ("relaunch", "DANGEROUS"), ("close panel", "SAFE"), ("close window", "MODIFY"),
    ("become active", "SAFE"), ("reset preferences", "DANGEROUS"), ("reset", "MODIFY"),
    ("report spam", "DANGEROUS"), ("format disk", "DANGEROUS"), ("format text", "MODIFY"),
])  # fmt: skip
def test_a_second_word_may_decide(name: str, expected: Level) -> None:
    assert level(command(name)) == expected


APP = (
    '<class name="application" code="capp"><property name="name" code="pnam" type="text"/></class>'
)
CAMERA = '<class name="camera" code="came"/>'
FILES = '<class name="disk item" code="ditm"/>'
SHELL = '<class name="pane" code="pane"><property name="tty" code="ttyn" type="text"/></class>'
CONTROLS = '<class name="UI element" code="zzzz"/>'
SCREEN = '<class name="vo cursor object" code="zzzz"/>'
TARGET = """<class name="target" code="targ"/><command name="launch" code="diarlnch">
  <parameter name="command line arguments" code="args" type="text"/></command>"""
GUEST = """<class name="guest" code="gues">
  <property name="exit code" code="exit" type="integer"/></class>
<class name="movie" code="movi"/>"""
SPECIFIER = '<direct-parameter type="{}"/>'


@pytest.mark.parametrize(("declared", "beside", "expected"), [
    (command("open", "aevtodoc", FILE), APP, "MODIFY"),
    (command("open", "aevtodoc", FILE), SHELL, "DANGEROUS"),
    (command("open", "aevtodoc", FILE), FILES, "DANGEROUS"),
    (command("open", inner=FILE), FILES, "DANGEROUS"),
    (command("open", "aevtodoc", FILE), '<class name="workflow" code="wflw"/>', "DANGEROUS"),
    (command("close", "coreclos"), APP, "MODIFY"),
    (command("close", "coreclos"), SHELL, "DANGEROUS"),
    (command("close", "diarclos"), SHELL, "DANGEROUS"),
    (command("insert", inner=TEXT), SHELL, "DANGEROUS"),
    (command("go there", "GURLGURL", TEXT), APP, "MODIFY"),
    (command("go there", "GURLGURL", TEXT), APP + SHELL, "DANGEROUS"),
    (command("go there", "GURLGURL", TEXT), "", "DANGEROUS"), (command("build"), APP, "MODIFY"),
    (command("build"), TARGET, "DANGEROUS"), (command("select", "miscslct"), APP, "SAFE"),
    (command("select", "miscslct"), CONTROLS, "MODIFY"), (command("select"), SCREEN, "MODIFY"),
    (command("confirm"), SCREEN, "DANGEROUS"), (command("start"), CAMERA, "DANGEROUS"),
    (command("resume"), CAMERA, "DANGEROUS"),
    (command("start"), command("playpause", "diarplps"), "SAFE"),
    (command("stop", inner=SPECIFIER.format("movie")), GUEST, "SAFE"),
    (command("read", inner=SPECIFIER.format("movie") + ANSWER), GUEST, "SAFE"),
    (command("stop", inner=SPECIFIER.format("guest")), GUEST, "DANGEROUS"),
])  # fmt: skip
def test_what_an_app_declares_beside_a_command_decides_what_it_weighs(
    declared: str, beside: str, expected: Level
) -> None:
    assert level(declared, beside=beside) == expected


@pytest.mark.parametrize(
    "app", ["com.apple.Terminal", "com.apple.systemevents", "com.apple.finder"]
)
def test_the_id_of_an_app_decides_nothing(app: str) -> None:
    one = command("open", "aevtodoc", FILE)
    assert level(one, app, APP) == level(one, beside=APP) == "MODIFY"


WAYS = """<enumeration name="way" code="wayE"><enumerator name="gently" code="gent"/>
<enumerator name="{}" code="forc"/></enumeration>"""


@pytest.mark.parametrize(
    ("value", "expected"),
    [("slowly", "MODIFY"), ("force", "DANGEROUS"), ("kill", "DANGEROUS"),
     ("without asking", "DANGEROUS"), ("discard changes", "DANGEROUS")],
)  # fmt: skip
def test_a_value_that_forces_raises_the_command_that_takes_it(value: str, expected: Level) -> None:
    by = '<parameter name="by" code="byBy" type="way"/>'
    assert level(command("suspend", inner=by), beside=WAYS.format(value)) == expected


@pytest.mark.parametrize(
    ("group", "expected"),
    [("diary.library.read-write", "MODIFY"), ("diary.read", "SAFE"), ("diary.run", "DANGEROUS"),
     ("diary.authorize", "DANGEROUS"), ("*", "SAFE")],
)  # fmt: skip
def test_access_groups_raise_and_never_lower(group: str, expected: Level) -> None:
    group = f'<access-group identifier="{group}"/>'
    declared = command("get weather", inner=f"{ANSWER}{group}")
    assert level(declared) == expected


def test_being_hidden_is_no_evidence_when_a_quirk_shows_it() -> None:
    hidden = (
        '<command name="get weather" code="diargogo" hidden="yes"><result type="text"/></command>'
    )
    row = {"name": "get weather", "hide": False, "why": "It is useful."}
    quirks = [QuirkFile("diary.toml", "com.example.Diary", (("command", 1, row),))]
    made = module(source(read(sdef(hidden))), quirks)[0]
    assert [tool.level for tool in made.tools if tool.op == "command"] == ["SAFE"]


def test_a_level_that_is_guessed_from_words_is_told_without_its_reason() -> None:
    (tool,) = module(source(read(sdef(command("post entry")))))[0].tools
    assert tool.reason == "leaves the machine and cannot be taken back"
    assert tool.summary.endswith("DANGEROUS.")


def test_a_judgement_holds_all_evidence_in_its_order_and_a_quirk_decides_alone() -> None:
    declared = command(
        "get weather",
        inner='<result type="text"/><access-group identifier="diary.run"/>'
        '<parameter name="password" code="pass" type="text"/>',
    )
    row = {"code": "diargogo", "level": "MODIFY", "why": "It asks."}
    quirks = [QuirkFile("quirks/diary.toml", "com.example.Diary", (("command", 7, row),))]
    (plain,), (decided,) = (
        module(source(read(sdef(declared))), given)[0].tools for given in ([], quirks)
    )
    evidence = [(one.level, one.source) for one in plain.judged.evidence]
    assert evidence == [
        ("SAFE", "words"),
        ("DANGEROUS", "parameter password [pass]"),
        ("DANGEROUS", "access group diary.run"),
    ]
    assert (plain.level, plain.reason) == ("DANGEROUS", "takes a password")
    assert decided.judged.evidence == plain.judged.evidence
    assert decided.judged.verdict == LevelVerdict("MODIFY", "it asks", "quirks/diary.toml:7")
    assert decided.level == "MODIFY"


def row_of(owner: str, prop: str, code: str = "entr") -> Class:
    items = f'<class name="{owner}" code="{code}">{prop}</class>'
    return module(source(read(sdef(items))))[0].classes[owner]


@pytest.mark.parametrize(("owner", "name", "access", "expected"), [
    ("entry", "body", "r", "SAFE"), ("entry", "mood", "rw", "MODIFY"),
    ("entry", "body", "rw", "DANGEROUS"), ("item", "plain text", "rw", "DANGEROUS"),
    ("entry", "visible", "rw", "SAFE"), ("entry", "selected mood", "rw", "SAFE"),
    ("entry", "group selection", "rw", "SAFE"), ("text selection", "line range", "rw", "SAFE"),
    ("tab", "custom title", "rw", "SAFE"), ("diary window", "bounds", "rw", "SAFE"),
    ("diary window", "name", "rw", "MODIFY"), ("entry", "size", "rw", "MODIFY"),
    ("entry", "current page", "rw", "SAFE"), ("entry", "current mood", "rw", "MODIFY"),
    ("diary preferences", "muted", "rw", "MODIFY"), ("entry", "password", "rw", "DANGEROUS"),
    ("entry", "password", "w", "DANGEROUS"), ("entry", "password status", "rw", "MODIFY"),
    ("entry", "server port", "rw", "MODIFY"), ("entry", "server name", "rw", "MODIFY"),
    ("mail account", "server name", "rw", "DANGEROUS"), ("entry", "user name", "rw", "MODIFY"),
    ("mail account", "user name", "rw", "DANGEROUS"),
    ("caption window object", "enabled", "rw", "SAFE"),
    ("entry", "default script editor", "rw", "MODIFY"),
    ("entry", "warns before erasing", "rw", "DANGEROUS"),
    ("entry", "PostScript level", "rw", "MODIFY"), ("mail rule", "mood", "rw", "DANGEROUS"),
    ("mail rule", "enabled", "rw", "MODIFY"), ("folder action", "enabled", "rw", "DANGEROUS"),
    ("display alarm", "mood", "rw", "MODIFY"), ("mail alarm", "mood", "rw", "DANGEROUS"),
    ("account", "mood", "rw", "MODIFY"), ("UI element", "value", "rw", "DANGEROUS"),
])  # fmt: skip
def test_the_level_of_setting_a_property(
    owner: str, name: str, access: str, expected: Level
) -> None:
    prop = f'<property name="{name}" code="prop" type="text" access="{access}"/>'
    (row,) = row_of(owner, prop).properties
    assert row.level == expected


def test_the_code_of_a_property_decides_before_its_name() -> None:
    (owner,) = row_of("entry", '<property name="mood" code="sown" type="text"/>').properties
    assert owner.level == "DANGEROUS"
    (everything,) = row_of("entry", '<property name="all" code="pALL" type="record"/>').properties
    assert everything.level == "MODIFY"


def test_what_acts_later_is_dangerous_to_make_and_anything_to_delete() -> None:
    items = '<class name="login item" code="zzzz"/><class name="entry" code="entr"/>'
    classes = module(source(read(sdef(items))))[0].classes
    assert (classes["login item"].make, classes["entry"].make) == ("DANGEROUS", "MODIFY")
    assert {row.delete for row in classes.values()} == {"DANGEROUS"}


def test_a_new_window_of_a_terminal_is_a_new_shell() -> None:
    one = source(read(sdef(f'<class name="window" code="cwin"/>{SHELL}')))
    assert module(one)[0].classes["window"].make == "DANGEROUS"


KEYS = '<enumeration name="keys" code="keys"><enumerator name="up" code="upup"/></enumeration>'
KEY = '<direct-parameter type="keys"/>'
SAVING = '<parameter name="saving" code="savo" type="boolean"/>'
TAG = '<class name="tag" code="tagg"/>'


@pytest.mark.parametrize(("declared", "beside", "expected"), [
    (command("remove line breaks"), "", "MODIFY"), (command("remove tag"), "", "MODIFY"),
    (command("remove tag"), TAG, "DANGEROUS"), (command("remove entry"), "", "DANGEROUS"),
    (command("post notification", inner=TEXT), "", "MODIFY"),
    (command("press", inner=KEY), KEYS + command("rewind", "diarrwnd"), "SAFE"),
    (command("press", inner=KEY), KEYS, "DANGEROUS"), (command("increase zoom"), "", "SAFE"),
    (command("move sidebar left"), "", "SAFE"), (command("move entry left"), "", "MODIFY"),
    (command("toggle subtitles"), "", "SAFE"),
    (command("fetch candidates", inner=ANSWER), "", "SAFE"),
    (command("fetch candidates", inner=TEXT + ANSWER), "", "MODIFY"),
    (command("save username", inner=TEXT), "", "DANGEROUS"),
    (command("close document"), "", "DANGEROUS"),
    (command("close document", inner=SAVING), "", "MODIFY"),
])  # fmt: skip
def test_the_object_of_a_verb_and_what_stands_beside_it_decide(
    declared: str, beside: str, expected: Level
) -> None:
    assert level(declared, beside=beside) == expected


@pytest.mark.parametrize(("owner", "name", "kind", "expected"), [
    ("window", "display font size", "integer", "SAFE"), ("movie", "looping", "boolean", "SAFE"),
    ("movie", "subtitles", "text", "MODIFY"), ("entry", "looping", "boolean", "MODIFY"),
    ("entry", "access control", "integer", "DANGEROUS"),
    ("entry", "script container", "entry", "MODIFY"), ("attribute", "value", "any", "DANGEROUS"),
    ("attribute", "value", "color", "MODIFY"),
])  # fmt: skip
def test_the_type_and_the_class_of_a_property_decide(
    owner: str, name: str, kind: str, expected: Level
) -> None:
    prop = f'<property name="{name}" code="prop" type="{kind}"/>'
    assert row_of(owner, prop).properties[0].level == expected
