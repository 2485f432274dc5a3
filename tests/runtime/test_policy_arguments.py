"""A user's rule on an argument holds for what would be sent, however the caller spells it."""

from typing import Any

import pytest
from policy_calls import HOME, facts_of, settings_of

from iac_base.errors import SetupError
from iac_runtime.policy.decide import decide_call
from iac_runtime.policy.effects import TargetProcess, find_target_processes, inspect_request
from iac_runtime.policy.facts import Decision
from iac_runtime.policy.policy_file import parse_policy

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


@pytest.mark.parametrize(
    ("tool", "given"),
    [
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
        ("textedit save", {"target": "documents[0]", "in_": "~/Keep/a.txt"}),
        ("textedit save", {"target": "documents[0]", "in_": "/Users/me/x/..//Keep/a.txt"}),
    ],
)
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


@pytest.mark.parametrize(
    ("tool", "given", "runs"),
    [
        ("textedit save", {"target": "documents[0]", "in_": "/Users/me/Backups/a"}, True),
        ("textedit save", {"target": "documents[0]", "in_": "~/Backups/a"}, True),
        ("textedit save", {"target": "documents[0]", "in_": "/Users/me/Copies/a"}, True),
        ("textedit save", {"target": "documents[0]", "in_": "~/Backups/../a"}, False),
        ("textedit save", {"target": "documents[0]"}, False),
        ("finder move", {"target": "~/Desktop/a", "to": "~/Documents/Archive"}, True),
        ("finder move", {"target": "~/Desktop/../a", "to": "~/Documents/Archive"}, False),
        ("finder move", {"target": ["~/Desktop/a"], "to": "~/Documents/Archive"}, True),
        ("finder move", {"target": ["~/Desktop/a", "~/b"], "to": "~/Documents/Archive"}, False),
        ("finder move", {"target": [], "to": "~/Documents/Archive"}, False),
        ("finder move", {"target": "~/Desktop/a", "to": "~/Archive/../x"}, False),
    ],
)
def test_no_spelling_gets_a_call_into_a_permission(
    tool: str, given: dict[str, Any], runs: bool
) -> None:
    assert (judged(ALLOW, tool, given).action == "allow") is runs


def test_a_rule_that_raises_holds_for_one_item_of_a_list() -> None:
    rule = '[[rule]]\ntool = "finder_move"\nlevel = "DANGEROUS"\nargument = { target = "~/Work/*" }'
    given = {"target": ["~/a", "~/Work/b"], "to": "~/Desktop"}
    assert judged(rule, "finder move", given).level == "DANGEROUS"


@pytest.mark.parametrize(
    "text",
    [
        "[[allow]]\ntool = []",
        "[[deny]]\napp = []",
        "[[allow]]\nlevel = []",
        '[[rule]]\ntool = "x"\nlevel = "SAFE"\nargument = { to = [] }',
    ],
)
def test_an_empty_list_is_no_rule_for_every_call(text: str) -> None:
    with pytest.raises(SetupError, match=r"policy.toml line \d: .*is empty; give it a text"):
        parse_policy(text)


@pytest.mark.parametrize(
    ("tool", "given", "key", "texts"),
    [
        (*MAKE, "properties.name", ["A"]),
        (*MAKE, "properties.x", None),
        (*MAKE, "properties", ['{name: "A", body: "B"}']),
        (*MAKE, "element", ["note"]),
        (*MAKE, "name", None),
        (*SET, "properties.name", ["A"]),
        (*SET, "Properties.Name", ["A"]),
        (*SET, "properties", ['{name: "A"}']),
        (*SET, "target", ['notes["M"]']),
        ("notes list", {"element": "note", "of": 'folders["A"]'}, "of", ['folders["A"]']),
        ("textedit save", {"target": "documents[0]", "in_": "~/x"}, "in", ["/Users/me/x", "~/x"]),
        (
            "finder open",
            {"target": ["~/a", "/b"]},
            "target",
            ['home.items["a"]', "/Users/me/a", "~/a", 'startupDisk.items["b"]', "/b"],
        ),
    ],
)
def test_an_argument_is_compared_as_it_is_sent(
    tool: str, given: dict[str, Any], key: str, texts: list[str] | None
) -> None:
    sent = facts_of(tool, given).sent(key)
    assert (sent if sent is None else [text for item in sent for text in item]) == texts


@pytest.mark.parametrize(
    ("test", "name", "bundle"),
    [
        ('name: "A"', "A", ""),
        ('bundleIdentifier: "b.c"', "", "b.c"),
        ('_and: [{name: "A"}, {frontmost: true}]', "A", ""),
        ('_and: [{frontmost: true}, {bundleIdentifier: "b.c"}]', "", "b.c"),
        ('_or: [{name: "A"}, {name: "B"}]', "", ""),
        ('name: {_beginsWith: "A"}', "", ""),
        ('displayedName: "A"', "", ""),
        ("id: 3", "", ""),
    ],
)
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


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("/a/b", "/a/b"),
        ("~/a", "/Users/me/a"),
        ("file:///a%20b", "/a b"),
        ("~a", None),
        ("a/b", None),
        ("/a\nb", None),
        ("https://a.example/b", None),
    ],
)
def test_a_text_with_the_form_of_a_path_is_one(value: str, path: str | None) -> None:
    given = {"target": 'notes["M"]', "properties": {"body": value}}
    event = facts_of("notes set", given).event
    assert event is not None
    view = inspect_request(event, {}, HOME)
    assert [row.path for row in view.values] == [path]
    assert [found for _, found in view.paths] == ([path] if path else [])


@pytest.mark.parametrize(
    ("tool", "given", "landings"),
    [
        (
            "finder make",
            {"element": "folder", "at": "~/Documents", "properties": {"name": "a/b"}},
            ["/Users/me/Documents/a:b"],
        ),
        (
            "finder set",
            {"target": 'home.files["a"]', "properties": {"name": "b", "comment": "c"}},
            ["/Users/me/b"],
        ),
        (
            "finder duplicate",
            {"target": ['home.files["a"]', 'desktop.files["b"]'], "to": "~/Documents"},
            ["/Users/me/Documents/a", "/Users/me/Documents/b"],
        ),
        ("finder open", {"target": 'home.files["a"]'}, []),
    ],
)
def test_where_something_comes_to_lie(
    tool: str, given: dict[str, Any], landings: list[str]
) -> None:
    effect = facts_of(tool, given).effects[0]
    named = ["/Users/me/Documents"] if "~/Documents" in given.values() else []
    assert [flow.to for flow in effect.flow] == [*named, *landings]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("uiElements[0].windows[0]", TargetProcess("", "", True)),
        ('processes["A"].uiElements[0]', TargetProcess("A", "", True)),
        ('applicationProcesses["A"].name', TargetProcess("A", "", False)),
    ],
)
def test_an_element_at_the_top_is_a_process_too(target: str, found: TargetProcess) -> None:
    event = facts_of("system_events get", {"target": target}).event
    assert event is not None
    assert found in find_target_processes(event)
    assert TargetProcess("", "", False) not in find_target_processes(event)
