"""Sentences about tools read as somebody would write them, whatever the dictionary."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from builds import Built
from golden import standard
from making import DIARY, build, inputs, module, read, sdef, source

from iac_gen.descriptions import with_article
from iac_gen.discover import load_includes
from iac_gen.naming import plural_noun
from iac_gen.pipeline import build_folder, represent_app
from iac_gen.quirks import load_quirks
from iac_gen.resolve import resolve_dictionary
from iac_gen.snapshot import facts_only
from iac_gen.unsupported import find_unsupported

FORBIDDEN = re.compile(
    r"\ba list of an?\b|an object or a list|\bany value\b|\bof of\b|\ba (?=[aeio])(?!one|eu)|\ban "
    r"(user|URL|unit|UI|unique|useful)\b"
)
MOST_TOKENS = 125


@pytest.mark.parametrize(("noun", "one", "many"), [
    ("user", "a user", "users"), ("URL", "a URL", "URLs"), ("item", "an item", "items"),
    ("UI element", "a UI element", "UI elements"), ("hour", "an hour", "hours"),
    ("HTML page", "an HTML page", "HTML pages"), ("mailbox", "a mailbox", "mailboxes"),
    ("entry", "an entry", "entries"), ("print settings", "print settings", "print settings"),
    ("text", "text", "texts"),
])  # fmt: skip
def test_a_noun_has_its_article_and_its_plural(noun: str, one: str, many: str) -> None:
    assert (with_article(noun), plural_noun(noun)) == (one, many)


COMMANDS = sdef(
    DIARY + '<command name="dispatch the it" code="diardisp"><direct-parameter type="text"/>'
    '<parameter name="aloud" code="alou" type="boolean"/></command>'
)


@pytest.mark.parametrize("wording", [True, False])
def test_a_term_is_quoted_where_nobody_says_what_it_means(wording: bool) -> None:
    files = build_folder(replace(inputs(source(read(COMMANDS))), wording=wording))[0]
    (entry,) = (
        e for e in map(json.loads, files["listing.jsonl"].splitlines()) if "disp" in e["name"]
    )
    assert entry["description"].startswith(
        "Run the command 'dispatch the it' of Diary with text. DANGEROUS"
    )
    said = {key: row["description"] for key, row in entry["inputSchema"]["properties"].items()}
    assert said["target"] == "Text that the command is given"
    assert said["aloud"] == "Parameter 'aloud', true or false"
    assert "_meta" not in entry


def sentences(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of a tool or parameter and its sentence."""
    yield "", entry["description"]
    for key, value in entry["inputSchema"]["properties"].items():
        yield key, value.get("description", "")


def entries(built: Built) -> list[dict[str, Any]]:
    return [json.loads(line) for line in built.files["listing.jsonl"].splitlines()]


def test_every_parameter_of_every_app_has_a_sentence(
    corpus_build: Built, bundled_build: Built
) -> None:
    found = [
        (entry["name"], key, text)
        for built in (corpus_build, bundled_build)
        for entry in entries(built)
        for key, text in sentences(entry)
        if FORBIDDEN.search(text) or len(text.split()) < 3
    ]
    assert found == []


def test_no_docstring_of_a_committed_module_says_a_type_alone(bundled_build: Built) -> None:
    odd = re.compile(
        r"^ +(\w+: |(?=[A-Z])(?!SAFE))(An? )?(\w+|whole number|any value|list of .*)\.$",
        re.MULTILINE,
    )
    for name, text in bundled_build.files.items():
        if name.endswith(".py"):
            top = text.partition("# fmt: off")[0]
            assert [m[0] for m in odd.finditer(top)] == [], name
            assert FORBIDDEN.search(top) is None, name


def test_our_words_stay_short(bundled_build: Built) -> None:
    entries = [json.loads(line) for line in bundled_build.files["listing.jsonl"].splitlines()]
    # A model reads neither titles, hints nor what is answered.
    told = [
        {k: v for k, v in one.items() if k not in ("title", "annotations", "outputSchema")}
        for one in entries
    ]
    assert sum(len(json.dumps(one)) for one in told) / 4 / len(told) <= MOST_TOKENS


def test_an_example_is_of_the_class_and_comes_from_its_holder(bundled_build: Built) -> None:
    wanted = {
        ("mail_reply", "target"): "inbox.messages[0]",
        ("calendar_show", "target"): "calendars[0].events[0]",
        ("google_chrome_reload", "target"): "windows[0].tabs[0]",
        ("calendar_get", "target"): "calendars[0].events[0]", ("notes_move", "to"): "folders[0]",
        ("terminal_exists", "target"): "[0]", ("mail_move", "to"): "such as inbox",
    }  # fmt: skip
    said = {
        (entry["name"], key): text
        for entry in entries(bundled_build)
        for key, text in sentences(entry)
    }
    for place, example in wanted.items():
        assert said[place].endswith(example), said[place]


def test_every_class_and_property_of_a_committed_app_has_a_sentence(bundled_build: Built) -> None:
    said = {
        name: text
        for one in bundled_build.loaded
        for name, text in represent_app(
            one, "app", load_includes(), load_quirks()[0]
        ).module.sentences.items()
    }
    bad = re.compile(r"\bthe (is|has|was|should|use|show) |,,|  |\bof of\b")
    odd = [(n, t) for n, t in said.items() if FORBIDDEN.search(t) or bad.search(t)]
    assert odd == []
    assert all(text.endswith(".") and text[0].isupper() for text in said.values())
    assert said["message.read status"] == "Whether it is read."
    assert said["mailbox"] == "A mailbox, in accounts and mailboxes, such as mailboxes[0]."


@pytest.mark.sweep
@pytest.mark.parametrize(("kind", "said", "default"), [
    ("integer", "The least (default: 3)", 3), ("integer", "Default is 2.5", None),
    ("integer", "Defaults to zero.", 0), ("real", "The upper limit. Default is 1.0", 1),
    ("boolean", "Whether to wait; default is true, see below", True),
    ("boolean", "Open it read only? (By Default, false)", False),
    ("boolean", "Shows it. Yes by default.", True),
    ("mood", "How it was; defaults to 'so so' if not given", "so so"),
    ("mood", "How it was, default the mood of today", None), ("text", "Default is x", None),
    ("integer", "The default button", None),
])  # fmt: skip
def test_a_stated_default_is_in_the_schema(kind: str, said: str, default: object) -> None:
    extra = f'<command name="tidy" code="diartidy"><parameter name="how" code="howw" type="{kind}" \
        optional="yes" description="{said}"/></command>'
    whole = read(sdef(DIARY + extra))
    for dictionary in (whole, facts_only(whole)):
        lines = build(source(dictionary))["listing.jsonl"].splitlines()
        (tidy,) = (entry for entry in map(json.loads, lines) if "tidy" in entry["name"])
        assert tidy["inputSchema"]["properties"]["how"].get("default") == default


def test_a_hook_is_no_tool_and_is_told() -> None:
    items = sdef(
        '<command name="resigned key" code="appSresK"/><command name="drag" code="drADdraM"/>'
        '<command name="tidy" code="diartidy" description="Called when an entry is old."/>'
        '<command name="opening folder" code="facofopn"/>'
        '<event name="entry opened" code="diaropnd"/>'
        '<command name="mark watched" code="diarwtch"/><command name="enable" code="facoenab"/>'
        '<command name="should sync" code="diarsync"/><command name="drag" code="diardrag"/>'
    )
    app = source(read(items))
    tools = json.loads(build(app)["catalogue.json"])["tools"]
    kept = ["drag", "enable", "mark_watched", "should_sync"]
    assert sorted(tools) == [f"diary_{name}" for name in kept]
    resolved, notes = resolve_dictionary(app, standard())
    left = {row.term: row.reason for row in find_unsupported(resolved, notes)}
    assert left == {
        "resigned key": f"{STUDIO}, and no client can call it",
        "drag": f"{STUDIO}, and no client can call it",
        "tidy": "the app calls it in a script, and no client can call it",
        "opening folder": "Folder Actions calls it in a script that is attached to a folder,"
        " and no client can call it",
        "entry opened": "the app sends it, and no client can call it",
    }
    assert sum("gets no tool: " in line for line in module(app)[1]) == 4


STUDIO = "AppleScript Studio calls it in the app's own script"
