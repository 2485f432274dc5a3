"""What an "always" covers, in words, and which calls it does not cover."""

from typing import Any

import pytest
from policy_calls import DISK, HOME, facts_of, settings_of

from iac_base.errors import SetupError
from iac_runtime.policy.decide import decide_call, find_approval_scope
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.facts import Decision, Effect, Flow
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.policy.requests import TargetProcess, find_target_processes, inspect_request

NOTE = {"target": "notes[0]", "properties": {"name": "a"}}
PAGE = {"URL": "https://www.example.com/x"}


@pytest.mark.parametrize(("tool", "given", "words"), [
    ("notes set", {**NOTE, "target": 'folders["x"].notes[0]'}, "rename notes in Notes"),
    ("notes set", {**NOTE, "target": "folders[0]"}, "rename folders in Notes"),
    ("notes set", {**NOTE, "target": "notes[0].container"},
     "rename container of notes in Notes"),
    ("notes make", {"element": "folder"}, "make folders in Notes"),
    ("notes make", {"element": "note", "at": 'folders["Work"]'},
     'make notes in folders["Work"] in Notes'),
    ("mail set", {"target": "inbox.messages[0]", "properties": {"read status": True}},
     "mark messages as read in Mail"),
    ("mail move", {"target": "inbox.messages[0]", "to": 'mailboxes["Work"]'},
     'move messages to mailboxes["Work"] in Mail'),
    ("music set", {"target": "application", "properties": {"EQ enabled": True}},
     'turn on "eq enabled" in Music'),
    ("music set", {"target": "tracks[0]", "properties": {"rating": 3}},
     "rate tracks in Music"),
    ("finder move", {"target": "~/Documents/a", "to": "~/Desktop"},
     "move items in ~/Documents to ~/Desktop in Finder"),
    ("finder make", {"element": "folder", "at": "~/Documents"},
     "make folders in ~/Documents in Finder"),
    ("textedit open", {"target": ["/tmp/a.txt"]}, "open files in /tmp in TextEdit"),
    ("notes save", {"target": "notes[0]", "in": "~/Documents/a.txt"},
     "save notes in ~/Documents in Notes"),
    ("safari set", {"target": "windows[0].tabs[0]", "properties": PAGE},
     "open pages of www.example.com in tabs in Safari"),
    ("safari make", {"element": "document", "properties": PAGE},
     "open pages of www.example.com in new documents in Safari"),
])  # fmt: skip
def test_a_scope_says_what_it_covers(tool: str, given: dict[str, Any], words: str) -> None:
    found = find_approval_scope(facts_of(tool, given).effects)
    assert found is not None
    assert found.description == words


@pytest.mark.parametrize(("tool", "given"), [
    ("notes get", {"target": "notes[0].name"}), ("terminal do_script", {"command": "ls"}),
    ("mail send", {"target": "outgoingMessages[0]"}),
    ("system_events set",
     {"target": 'processes["Notes"].windows[0]', "properties": {"value": "x"}}),
    ("finder set", {"target": "selection", "properties": {"comment": "x"}}),
])  # fmt: skip
def test_what_is_read_sent_run_or_not_known_is_never_remembered(
    tool: str, given: dict[str, Any]
) -> None:
    facts = facts_of(tool, given)
    assert find_approval_scope(facts.effects) is None or facts.level == "DANGEROUS" or facts.raised


def test_a_link_is_where_it_leads() -> None:
    links = RuleContext(type(DISK)(DISK.kinds, {f"{HOME}/Documents/l": "/Volumes/Other"}))
    given = {"target": "~/Documents/l/a", "to": "~/Desktop"}
    found = find_approval_scope(facts_of("finder move", given, links).effects)
    assert found is not None
    assert found.description == "move items in /Volumes/Other to ~/Desktop in Finder"


def test_case_of_a_folder_does_not_count_and_that_of_a_name_does() -> None:
    def keys(tool: str, **given: Any) -> tuple[str, ...]:
        found = find_approval_scope(facts_of(tool, given).effects)
        assert found is not None
        return found.keys

    move = {"target": "~/documents/a", "to": "~/Desktop"}
    assert keys("finder move", **move) == keys("finder move", **{**move, "target": "~/Documents/b"})
    boxes = [keys("mail move", target="inbox.messages[0]", to=f'mailboxes["{n}"]') for n in "aA"]
    assert boxes[0] != boxes[1]


def test_what_is_too_long_to_show_is_not_remembered() -> None:
    given = tuple((f"property {number}", "") for number in range(40))
    effect = Effect("change", "a.b", "A", "note", level="MODIFY", event="coresetd", given=given)
    assert find_approval_scope((effect,)) is None
    assert find_approval_scope((effect._replace(given=given[:3]),)) is not None


def test_where_anything_goes_is_part_of_it() -> None:
    effect = Effect("change", "a.b", "A", "note", level="MODIFY", event="coresetd", given=())
    there = effect._replace(flow=(Flow("recipient", "a@b.org"),))
    scopes = [find_approval_scope((one,)) for one in (effect, there)]
    assert scopes[0] is not None
    assert scopes[1] is not None
    assert scopes[0].keys != scopes[1].keys
    assert "a@b.org" in scopes[1].description
    assert not scopes[1].is_within(scopes[0].keys)


# A user's rule on an argument holds for what would be sent, however the caller spells it.


MAKE = ("notes make", {"element": "note", "properties": {"name": "A", "body": "B"}})
SET = ("notes set", {"target": 'notes["M"]', "properties": {"name": "A"}})


def judged(rules: str, tool: str, given: dict[str, Any]) -> Decision:
    return decide_call(facts_of(tool, given), parse_policy(rules), settings_of())


DENY = """
[[deny]]
argument = { "target" = ['folders["Private"]*', "~/Private*"] }
[[deny]]
argument = { properties = { "URL" = "*evil*" } }
[[deny]]
argument = { in = "/Users/me/Keep/*" }
[[deny]]
tool = "notes_list"
argument = { of = 'folders["Private"]' }
"""


@pytest.mark.parametrize(("tool", "given"), [
    ("notes get", {"target": 'folders["Private"]'}),
    ("notes get", {"target": 'Folders.byName("Private").notes[0]'}),
    ("notes get", {"target": 'Application("Notes").folders["\\u0050rivate"]'}),
    ("notes get", {"target": ['folders["Work"]', 'folder["private"]']}),
    ("notes list", {"element": "note", "of": 'folders.byName("Private")'}),
    ("finder open", {"target": "~/Private/a.txt"}),
    ("finder open", {"target": "/Users/me/x/../Private/a.txt"}),
    ("finder open", {"target": 'home.folders["Private"].items["a"]'}),
    ("finder open", {"target": ["~/a.txt", "~/Private"]}),
    ("safari set", {"target": "tabs[0]", "properties": {"url": "https://evil.example"}}),
    ("safari make", {"element": "tab", "properties": {"Url": "https://evil.example"}}),
    ("textedit save", {"target": "documents[0]", "in": "~/Keep/a.txt"}),
    ("textedit save", {"target": "documents[0]", "in": "/Users/me/x/..//Keep/a.txt"}),
])  # fmt: skip
def test_no_spelling_gets_a_call_out_of_a_denial(tool: str, given: dict[str, Any]) -> None:
    if tool == "safari set":
        given = {**given, "target": "windows[0].tabs[0]"}
    assert judged(DENY, tool, given).source.startswith("policy.toml line")


ALLOW = """
[[rule]]
tool = "textedit_save"
level = "SAFE"
argument = { in = ["/Users/me/Backups/*", "~/Copies/*"] }
accept = ["outside-documents"]
[[allow]]
tool = "finder_move"
argument = { target = "~/Desktop/*", to = "*/Archive" }
"""


@pytest.mark.parametrize(("tool", "given", "runs"), [
    ("textedit save", {"target": "documents[0]", "in": "/Users/me/Backups/a"}, True),
    ("textedit save", {"target": "documents[0]", "in": "~/Backups/a"}, True),
    ("textedit save", {"target": "documents[0]", "in": "/Users/me/Copies/a"}, True),
    ("textedit save", {"target": "documents[0]", "in": "~/Backups/../a"}, False),
    ("textedit save", {"target": "documents[0]"}, False),
    ("finder move", {"target": "~/Desktop/a", "to": "~/Documents/Archive"}, True),
    ("finder move", {"target": "~/Desktop/../a", "to": "~/Documents/Archive"}, False),
    ("finder move", {"target": ["~/Desktop/a"], "to": "~/Documents/Archive"}, True),
    ("finder move", {"target": ["~/Desktop/a", "~/b"], "to": "~/Documents/Archive"}, False),
    ("finder move", {"target": [], "to": "~/Documents/Archive"}, False),
    ("finder move", {"target": "~/Desktop/a", "to": "~/Archive/../x"}, False),
])  # fmt: skip
def test_no_spelling_gets_a_call_into_a_permission(
    tool: str, given: dict[str, Any], runs: bool
) -> None:
    assert (judged(ALLOW, tool, given).action == "allow") is runs


def test_a_rule_that_raises_holds_for_one_item_of_a_list() -> None:
    rule = '[[rule]]\ntool = "finder_move"\nlevel = "DANGEROUS"\nargument = { target = "~/Work/*" }'
    given = {"target": ["~/a", "~/Work/b"], "to": "~/Desktop"}
    assert judged(rule, "finder move", given).level == "DANGEROUS"


@pytest.mark.parametrize("text", [
    "[[allow]]\ntool = []", "[[deny]]\napp = []", "[[allow]]\nlevel = []",
    '[[rule]]\ntool = "x"\nlevel = "SAFE"\nargument = { to = [] }',
])  # fmt: skip
def test_an_empty_list_is_no_rule_for_every_call(text: str) -> None:
    with pytest.raises(SetupError, match=r"policy.toml line \d: .*is empty; give it a text"):
        parse_policy(text)


@pytest.mark.parametrize(("tool", "given", "key", "texts"), [
    (*MAKE, "properties.name", ["A"]), (*MAKE, "properties.x", None),
    (*MAKE, "properties", ['{name: "A", body: "B"}']), (*MAKE, "element", ["note"]),
    (*MAKE, "name", None), (*SET, "properties.name", ["A"]), (*SET, "Properties.Name", ["A"]),
    (*SET, "properties", ['{name: "A"}']), (*SET, "target", ['notes["M"]']),
    ("notes list", {"element": "note", "of": 'folders["A"]'}, "of", ['folders["A"]']),
    ("textedit save", {"target": "documents[0]", "in": "~/x"}, "in", ["/Users/me/x", "~/x"]),
    ("finder open", {"target": ["~/a", "/b"]}, "target",
     ['home.items["a"]', "/Users/me/a", "~/a", 'startupDisk.items["b"]', "/b"]),
])  # fmt: skip
def test_an_argument_is_compared_as_it_is_sent(
    tool: str, given: dict[str, Any], key: str, texts: list[str] | None
) -> None:
    sent = facts_of(tool, given).sent(key)
    assert (sent if sent is None else [text for item in sent for text in item]) == texts


@pytest.mark.parametrize(("test", "name", "bundle"), [
    ('name: "A"', "A", ""), ('bundleIdentifier: "b.c"', "", "b.c"),
    ('_and: [{name: "A"}, {frontmost: true}]', "A", ""),
    ('_and: [{frontmost: true}, {bundleIdentifier: "b.c"}]', "", "b.c"),
    ('_or: [{name: "A"}, {name: "B"}]', "", ""), ('name: {_beginsWith: "A"}', "", ""),
    ('displayedName: "A"', "", ""), ("id: 3", "", ""),
])  # fmt: skip
def test_a_process_that_a_filter_chooses_is_known_where_it_can_be_no_other(
    test: str, name: str, bundle: str
) -> None:
    given = {"target": f"processes.whose({{{test}}})[0]", "properties": ["name"]}
    event = facts_of("system_events get", given).event
    assert event is not None
    assert set(find_target_processes(event)) == {TargetProcess(name, bundle, False)}
    event = facts_of("system_events get", {**given, "properties": ["entire contents"]}).event
    assert event is not None
    assert TargetProcess(name, bundle, True) in find_target_processes(event)


@pytest.mark.parametrize(("value", "path"), [
    ("/a/b", "/a/b"), ("~/a", "/Users/me/a"), ("file:///a%20b", "/a b"), ("~a", None),
    ("a/b", None), ("/a\nb", None), ("https://a.example/b", None),
])  # fmt: skip
def test_a_text_with_the_form_of_a_path_is_one(value: str, path: str | None) -> None:
    given = {"target": 'notes["M"]', "properties": {"body": value}}
    event = facts_of("notes set", given).event
    assert event is not None
    view = inspect_request(event, {}, HOME)
    assert [row.path for row in view.values] == [path]
    assert [found for _, found in view.paths] == ([path] if path else [])


@pytest.mark.parametrize(("tool", "given", "landings"), [
    ("finder make", {"element": "folder", "at": "~/Documents", "properties": {"name": "a/b"}},
     ["/Users/me/Documents/a:b"]),
    ("finder set", {"target": 'home.files["a"]', "properties": {"name": "b", "comment": "c"}},
     ["/Users/me/b"]),
    ("finder duplicate", {"target": ['home.files["a"]', 'desktop.files["b"]'], "to": "~/Documents"},
     ["/Users/me/Documents/a", "/Users/me/Documents/b"]),
    ("finder open", {"target": 'home.files["a"]'}, []),
])  # fmt: skip
def test_where_something_comes_to_lie(
    tool: str, given: dict[str, Any], landings: list[str]
) -> None:
    effect = facts_of(tool, given).effects[0]
    named = ["/Users/me/Documents"] if "~/Documents" in given.values() else []
    assert [flow.to for flow in effect.flow] == [*named, *landings]


@pytest.mark.parametrize(("target", "found"), [
    ("uiElements[0].windows[0]", TargetProcess("", "", True)),
    ('processes["A"].uiElements[0]', TargetProcess("A", "", True)),
    ('applicationProcesses["A"].name', TargetProcess("A", "", False)),
])  # fmt: skip
def test_an_element_at_the_top_is_a_process_too(target: str, found: TargetProcess) -> None:
    event = facts_of("system_events get", {"target": target}).event
    assert event is not None
    assert found in find_target_processes(event)
    assert TargetProcess("", "", False) not in find_target_processes(event)
