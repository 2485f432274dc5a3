"""Levels: what a tool may do is read from codes, types, the app and verbs, never lowered."""

from dataclasses import replace

import pytest
from making import module, read, sdef, source

from iac_gen.classify.judgement import LevelVerdict
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
SCRIPT = '<parameter name="source code" code="srcc" type="text"/><result type="any"/>'
ANSWER = '<result type="text"/>'


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (command("get weather"), "SAFE"),
        (command("getweather"), "SAFE"),
        (command("show entry"), "SAFE"),
        (command("bind"), "MODIFY"),
        (command("rebind"), "MODIFY"),
        (command("post entry"), "DANGEROUS"),
        (command("delete entry"), "DANGEROUS"),
        (command("permanently delete"), "DANGEROUS"),
        (command("diary delete"), "DANGEROUS"),
        (command("uninstall"), "DANGEROUS"),
        (command("erase"), "DANGEROUS"),
        (command("do shell thing"), "DANGEROUS"),
        (command("doscript"), "DANGEROUS"),
        (command("get", "emsgsend"), "DANGEROUS"),
        (command("get", "coredelo"), "DANGEROUS"),
        (command("frobnicate", "coredoex"), "SAFE"),
        (command("run", "aevtoapp"), "MODIFY"),
        (command("漢字"), "MODIFY"),
    ],
)
def test_the_level_of_a_command_by_its_code_and_verb(declared: str, expected: Level) -> None:
    assert level(declared) == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (command("get note", inner=SCRIPT), "DANGEROUS"),
        (command("bind", inner=TEXT), "DANGEROUS"),
        (command("bind", inner=FILE), "DANGEROUS"),
        (command("rename", inner=TEXT), "MODIFY"),
        (command("search", inner=TEXT), "SAFE"),
        (command("search the web", inner=TEXT), "MODIFY"),
        (command("start", inner=TEXT), "MODIFY"),
        (command("start", inner='<direct-parameter type="recording"/>'), "DANGEROUS"),
        (command("start", inner='<direct-parameter type="session"/>'), "MODIFY"),
        (command("partition", inner='<direct-parameter type="disk"/>'), "DANGEROUS"),
        (command("session is active"), "MODIFY"),
        (command("session is active", inner=ANSWER), "SAFE"),
        (command("show", inner=FILE), "MODIFY"),
        (command("read", inner=FILE), "DANGEROUS"),
        (command("write to file"), "DANGEROUS"),
        (command("expand", inner=TEXT), "MODIFY"),
        (command("join", inner='<parameter name="password" code="pass" type="text"/>'),
         "DANGEROUS"),
        (command("summarize", inner=TEXT + '<parameter name="to" code="to__" type="file"/>'),
         "MODIFY"),
        (command("edit", inner=TEXT + '<result type="any"/>'), "DANGEROUS"),
        (command("forward", inner='<direct-parameter type="specifier"/>'), "MODIFY"),
        (command("forward"), "SAFE"),
        (command("sort", inner='<direct-parameter type="specifier"/><result type="specifier"/>'),
         "SAFE"),
        (command("sort lines", inner=ANSWER), "MODIFY"),
        (command("sort"), "MODIFY"),
        (command("mood of entry", inner=ANSWER), "SAFE"),
        (command("mood of entry"), "MODIFY"),
        (command("set search path", inner=TEXT), "DANGEROUS"),
    ],
)  # fmt: skip
def test_the_level_of_a_command_by_what_it_takes_and_answers(
    declared: str, expected: Level
) -> None:
    assert level(declared) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("go back", "SAFE"), ("go online", "MODIFY"), ("log out", "DANGEROUS"),
        ("key down", "DANGEROUS"), ("open sidebar", "SAFE"), ("open diary", "MODIFY"),
        ("start timer", "SAFE"), ("start server", "MODIFY"), ("start recording", "DANGEROUS"),
        ("new audio recording", "DANGEROUS"), ("grab screenshot", "DANGEROUS"),
        ("load module", "DANGEROUS"), ("remove password", "DANGEROUS"),
        ("set password", "DANGEROUS"), ("clear undo history", "DANGEROUS"),
        ("add environment variable", "DANGEROUS"), ("display dialog", "MODIFY"),
        ("web page preview", "SAFE"), ("buy diary", "DANGEROUS"), ("get URL", "MODIFY"),
        ("page screenshot", "DANGEROUS"), ("osascript", "DANGEROUS"),
        ("begin recording", "DANGEROUS"), ("capture area", "DANGEROUS"), ("capture page", "MODIFY"),
        ("create bank transfer", "DANGEROUS"), ("create transfer", "MODIFY"),
        ("open from FTP", "DANGEROUS"), ("do menu", "DANGEROUS"),
        ("activate menu item", "DANGEROUS"), ("activate license", "MODIFY"),
        ("activate tab", "SAFE"), ("play URL", "MODIFY"), ("DIOpen", "MODIFY"),
        ("DIPress", "DANGEROUS"), ("SQLFind", "MODIFY"), ("enter presentation mode", "SAFE"),
        ("exit", "DANGEROUS"), ("format disk", "DANGEROUS"), ("format text", "MODIFY"),
    ],
)  # fmt: skip
def test_a_second_word_may_decide(name: str, expected: Level) -> None:
    assert level(command(name)) == expected


CAMERA = '<class name="camera" code="came"/>'
FILES = '<class name="disk item" code="ditm"/>'


@pytest.mark.parametrize(
    ("declared", "app", "expected"),
    [
        (command("bind"), "com.apple.Terminal", "MODIFY"),
        (command("bind", inner=TEXT), "com.apple.Terminal", "DANGEROUS"),
        (command("rename", inner=TEXT), "com.apple.ScriptEditor2", "DANGEROUS"),
        (command("play"), "com.apple.Automator", "MODIFY"),
        (command("build"), "com.apple.dt.Xcode", "DANGEROUS"),
        (command("PFOpen", inner=FILE), "com.cocoatech.PathFinder", "DANGEROUS"),
        (command("observe"), "com.apple.RemoteDesktop", "DANGEROUS"),
        (command("open", "aevtodoc", FILE), "com.example.Diary", "MODIFY"),
        (command("open", "aevtodoc", FILE), "com.apple.Automator", "DANGEROUS"),
        (command("open", "aevtodoc", FILE), "com.apple.finder", "DANGEROUS"),
        (command("close", "coreclos"), "com.apple.Terminal", "DANGEROUS"),
        (command("split"), "com.googlecode.iterm2", "DANGEROUS"),
        (command("select", "miscslct"), "com.apple.systemevents", "MODIFY"),
        (command("select"), "com.apple.VoiceOver", "MODIFY"),
        (command("confirm"), "com.apple.VoiceOver", "DANGEROUS"),
        (command("go there", "GURLGURL", TEXT), "com.example.Diary", "MODIFY"),
        (command("go there", "GURLGURL", TEXT), "com.apple.ScreenSharing", "DANGEROUS"),
    ],
)
def test_the_same_command_weighs_more_in_some_apps(
    declared: str, app: str, expected: Level
) -> None:
    assert level(declared, app) == expected


def test_the_classes_of_an_app_say_what_it_can_do() -> None:
    assert level(command("start"), beside=CAMERA) == "DANGEROUS"
    assert level(command("resume"), beside=CAMERA) == "MODIFY"
    assert level(command("open", "aevtodoc", FILE), beside=FILES) == "DANGEROUS"


def test_a_url_given_to_a_scripting_addition_opens_any_app() -> None:
    one = source(read(sdef(command("open location", "GURLGURL", TEXT))))
    assert module(replace(one, kind="addition"))[0].tools[-1].level == "DANGEROUS"


@pytest.mark.parametrize(
    ("group", "expected"),
    [("diary.library.read-write", "MODIFY"), ("diary.read", "SAFE"), ("diary.run", "DANGEROUS"),
     ("diary.authorize", "DANGEROUS"), ("*", "SAFE")],
)  # fmt: skip
def test_access_groups_raise_and_never_lower(group: str, expected: Level) -> None:
    declared = command("get weather", inner=f'<access-group identifier="{group}"/>')
    assert level(declared) == expected


def test_what_a_dictionary_hides_is_at_least_modify_when_a_quirk_shows_it() -> None:
    hidden = '<command name="get weather" code="diargogo" hidden="yes"/>'
    row = {"name": "get weather", "hide": False, "why": "It is useful."}
    quirks = [QuirkFile("diary.toml", "com.example.Diary", (("command", 1, row),))]
    made = module(source(read(sdef(hidden))), quirks)[0]
    assert [(tool.level, tool.reason) for tool in made.tools if tool.op == "command"] == [
        ("MODIFY", "hidden in the dictionary")
    ]


def test_every_tool_says_in_one_line_why_it_has_its_level() -> None:
    (tool,) = module(source(read(sdef(command("post entry")))))[0].tools
    assert tool.reason == "leaves the machine and cannot be called back"
    assert tool.summary.endswith(f"DANGEROUS, {tool.reason}.")


def test_a_judgement_holds_all_evidence_in_its_order_and_a_quirk_decides_alone() -> None:
    declared = command(
        "get weather",
        inner='<access-group identifier="diary.run"/>'
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


@pytest.mark.parametrize(
    ("owner", "name", "access", "expected"),
    [
        ("entry", "body", "r", "SAFE"),
        ("entry", "mood", "rw", "MODIFY"),
        ("entry", "body", "rw", "DANGEROUS"),
        ("item", "plain text", "rw", "DANGEROUS"),
        ("entry", "visible", "rw", "SAFE"),
        ("entry", "selected mood", "rw", "SAFE"),
        ("entry", "group selection", "rw", "SAFE"),
        ("text selection", "line range", "rw", "SAFE"),
        ("tab", "custom title", "rw", "SAFE"),
        ("diary window", "bounds", "rw", "SAFE"),
        ("diary window", "name", "rw", "MODIFY"),
        ("entry", "size", "rw", "MODIFY"),
        ("entry", "current page", "rw", "SAFE"),
        ("entry", "current mood", "rw", "MODIFY"),
        ("diary preferences", "muted", "rw", "MODIFY"),
        ("entry", "password", "rw", "DANGEROUS"),
        ("entry", "password", "w", "DANGEROUS"),
        ("entry", "password status", "rw", "MODIFY"),
        ("entry", "server port", "rw", "DANGEROUS"),
        ("entry", "user name", "rw", "DANGEROUS"),
        ("entry", "warns before erasing", "rw", "DANGEROUS"),
        ("entry", "PostScript level", "rw", "MODIFY"),
        ("mail rule", "mood", "rw", "DANGEROUS"),
        ("mail rule", "enabled", "rw", "MODIFY"),
        ("folder action", "enabled", "rw", "DANGEROUS"),
        ("display alarm", "mood", "rw", "MODIFY"),
        ("mail alarm", "mood", "rw", "DANGEROUS"),
        ("account", "mood", "rw", "MODIFY"),
        ("UI element", "value", "rw", "DANGEROUS"),
    ],
)
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
    assert everything.level == "DANGEROUS"


def test_what_acts_later_is_dangerous_to_make_and_anything_to_delete() -> None:
    items = '<class name="login item" code="zzzz"/><class name="entry" code="entr"/>'
    classes = module(source(read(sdef(items))))[0].classes
    assert (classes["login item"].make, classes["entry"].make) == ("DANGEROUS", "MODIFY")
    assert {row.delete for row in classes.values()} == {"DANGEROUS"}


def test_a_new_window_of_a_terminal_is_a_new_shell() -> None:
    one = replace(source(read(sdef('<class name="window" code="cwin"/>'))), id="com.apple.Terminal")
    assert module(one)[0].classes["window"].make == "DANGEROUS"
