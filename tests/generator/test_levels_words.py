"""Levels of terms in plain English, each alone in an app: what verbs, objects, properties mean."""

import pytest
from making import module, read, sdef, source

from iac_runtime.tool import Level

NOTHING = ""
TEXT = '<direct-parameter type="text"/>'
PATH = '<direct-parameter type="file"/>'
NUMBER = '<direct-parameter type="real"/><result type="real"/>'
ANSWER = '<result type="text"/>'


def level(name: str, inner: str, beside: str = "") -> Level:
    declared = f'{beside}<command name="{name}" code="diargogo">{inner}</command>'
    return module(source(read(sdef(declared))))[0].tools[-1].level


@pytest.mark.parametrize("name", [
    "close without saving", "force empty trash", "reply and send", "end meeting", "abort call",
    "add login item", "create trigger", "make administrator", "import certificate",
    "skip confirmation", "turn off firewall", "start screen sharing", "start remote session",
    "snap photo", "capture", "lock out user", "reset database", "restore backup", "place call",
    "hang up", "replay macro", "attach debugger", "attach script", "reload plugins", "sleep",
    "enter license key", "fill login", "charge card", "clear browsing data", "rollback",
    "start call", "answer call", "react to message", "prune backups", "disable kill switch",
    "capture frame", "schedule recording", "one time code for", "export vault", "disarm alarm",
    "apply rules", "clear conversation", "shoot",
])  # fmt: skip
def test_what_cannot_be_called_back_runs_or_guards_is_asked_about_every_time(name: str) -> None:
    assert level(name, NOTHING) == "DANGEROUS"


@pytest.mark.parametrize(("name", "inner", "expected"), [
    ("annotate", TEXT, "MODIFY"), ("dock item", TEXT, "MODIFY"), ("beautify", TEXT, "MODIFY"),
    ("remove line numbers", NOTHING, "MODIFY"), ("clear formats", NOTHING, "MODIFY"),
    ("send to back", NOTHING, "MODIFY"), ("switch to profile", NOTHING, "MODIFY"),
    ("find replace", TEXT + ANSWER, "MODIFY"), ("end session setup", NOTHING, "DANGEROUS"),
    ("open document names", ANSWER, "MODIFY"), ("document names", ANSWER, "SAFE"),
    ("document names", NOTHING, "MODIFY"), ("now playing", ANSWER, "SAFE"),
    ("classify", TEXT + ANSWER, "SAFE"), ("toggle artwork", NOTHING, "SAFE"),
    ("toggle firewall", NOTHING, "MODIFY"), ("open viewer for selected", NOTHING, "SAFE"),
    ("open viewer and run", NOTHING, "DANGEROUS"), ("select import file", NOTHING, "MODIFY"),
    ("classify", TEXT, "MODIFY"), ("choose album", ANSWER, "SAFE"),
    ("choose album", NOTHING, "MODIFY"), ("show password", NOTHING, "MODIFY"),
    ("show password", ANSWER, "DANGEROUS"), ("run slide show", NOTHING, "SAFE"),
    ("start screen saver", NOTHING, "SAFE"), ("skip to next", NOTHING, "SAFE"),
    ("print preview", NOTHING, "SAFE"), ("reload page", NOTHING, "SAFE"),
    ("reload", NOTHING, "MODIFY"), ("load movie", NOTHING, "SAFE"),
    ("load library", PATH, "DANGEROUS"), ("tile windows", NOTHING, "SAFE"),
    ("tile images", NOTHING, "MODIFY"), ("next desktop", NOTHING, "SAFE"),
    ("go to url", TEXT, "MODIFY"), ("get info", NOTHING, "SAFE"),
    ("delay", '<direct-parameter type="real"/>', "SAFE"), ("upload rate", ANSWER, "SAFE"),
    ("upload rate", NOTHING, "DANGEROUS"), ("index of item", TEXT + ANSWER, "SAFE"),
    ("delete of item", TEXT + ANSWER, "DANGEROUS"), ("syntax check", TEXT + ANSWER, "SAFE"),
    ("base64 encode", TEXT + ANSWER, "SAFE"), ("markdown to html", TEXT + ANSWER, "SAFE"),
    ("markdown to html", TEXT, "DANGEROUS"), ("tan", NUMBER, "SAFE"),
    ("tan", TEXT + ANSWER, "DANGEROUS"), ("move window to next display", NOTHING, "SAFE"),
    ("move window to trash", NOTHING, "DANGEROUS"), ("write to console", TEXT, "SAFE"),
    ("reveal in viewer", PATH, "SAFE"), ("locale IDs", ANSWER, "SAFE"), ("stop", NOTHING, "MODIFY"),
])  # fmt: skip
def test_the_object_and_the_answer_decide_beside_the_verb(
    name: str, inner: str, expected: Level
) -> None:
    assert level(name, inner) == expected


def test_what_goes_on_in_a_player_is_played_and_elsewhere_may_be_a_draft() -> None:
    any_object = '<direct-parameter type="specifier"/>'
    play, back = (f'<command name="{name}" code="diar{name[:4]}"/>' for name in ("play", "rewind"))
    levels = [level("forward", any_object, beside) for beside in ("", play, play + back)]
    assert levels == ["MODIFY", "MODIFY", "SAFE"]


@pytest.mark.parametrize(("owner", "name", "kind", "expected"), [
    ("document", "search string", "text", "SAFE"), ("entry", "search string", "text", "MODIFY"),
    ("application", "front document", "document", "SAFE"),
    ("application", "current profile", "document", "MODIFY"),
    ("application", "elapsed time", "integer", "SAFE"),
    ("entry", "elapsed time", "integer", "MODIFY"),
    ("application", "controller visibility", "boolean", "SAFE"),
    ("application", "list font size", "integer", "MODIFY"),
    ("application", "show sidebar", "boolean", "SAFE"),
    ("application", "show notification", "boolean", "MODIFY"),
    ("application", "default volume", "integer", "MODIFY"),
    ("application", "player volume", "integer", "SAFE"), ("track", "volume", "integer", "MODIFY"),
    ("application", "shuffle mode", "boolean", "SAFE"),
    ("application", "repeat alert sound", "boolean", "MODIFY"),
    ("application", "playback state", "document", "SAFE"),
    ("application", "player state", "integer", "MODIFY"),
    ("application", "record microphone", "boolean", "DANGEROUS"),
    ("user", "admin", "boolean", "DANGEROUS"), ("viewer", "sorted ascending", "boolean", "SAFE"),
    ("viewer", "modified", "boolean", "MODIFY"), ("item", "selected", "boolean", "SAFE"),
    ("audio device", "selected", "boolean", "MODIFY"),
    ("application", "use keychain", "boolean", "MODIFY"),
    ("application", "keychain", "text", "DANGEROUS"),
    ("application", "license key", "text", "DANGEROUS"),
    ("application", "editor path", "text", "DANGEROUS"),
    ("application", "use binary path", "boolean", "MODIFY"),
    ("application", "start at login", "boolean", "MODIFY"),
    ("share", "guest access", "boolean", "DANGEROUS"),
    ("mail account", "host name", "text", "DANGEROUS"),
    ("mail account", "proxy host", "text", "MODIFY"),
    ("mail account", "uses ssl", "boolean", "DANGEROUS"),
    ("mail account", "store drafts on server", "boolean", "MODIFY"),
])  # fmt: skip
def test_what_a_property_tells_and_whose_it_is_decide(
    owner: str, name: str, kind: str, expected: Level
) -> None:
    prop = f'<property name="{name}" code="prop" type="{kind}"/>'
    items = f'<class name="document" code="docu"/><class name="{owner}" code="clss">{prop}</class>'
    if owner == "document":
        items = items.removeprefix('<class name="document" code="docu"/>')
    classes = module(source(read(sdef(items))))[0].classes
    assert classes[owner].properties[0].level == expected


LIST = '<direct-parameter type="text" list="yes"/><result type="text" list="yes"/>'
OBJECTS = """<class name="application" code="capp">
  <property name="name" code="pnam" type="text"/></class>"""


@pytest.mark.parametrize(("name", "inner", "library", "app"), [
    ("delete from list", LIST, "SAFE", "DANGEROUS"), ("insert into list", LIST, "SAFE", "MODIFY"),
    ("empty list", LIST, "DANGEROUS", "DANGEROUS"),
    ("remove users", LIST, "DANGEROUS", "DANGEROUS"), ("move files", LIST, "MODIFY", "MODIFY"),
    ("join network", TEXT + ANSWER, "MODIFY", "MODIFY"),
    ("encode JSON", '<direct-parameter type="any"/><result type="text"/>', "SAFE", "MODIFY"),
    ("convert path", PATH + ANSWER, "SAFE", "MODIFY"),
    ("convert movie", PATH + ANSWER, "MODIFY", "MODIFY"),
    ("delete file", PATH + ANSWER, "DANGEROUS", "DANGEROUS"),
    ("zork", LIST, "DANGEROUS", "DANGEROUS"),
])  # fmt: skip
def test_what_answers_values_for_values_changes_nothing_where_there_are_no_objects(
    name: str, inner: str, library: Level, app: Level
) -> None:
    assert level(name, inner) == library
    assert level(name, inner, OBJECTS) == app
