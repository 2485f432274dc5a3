"""A user's rule on an argument holds for what would be sent, however the caller spells it."""

from typing import Any

import pytest
from policy_calls import facts_of, settings_of

from iac_base.errors import SetupError
from iac_runtime.policy.decide import decide
from iac_runtime.policy.effects import Decision
from iac_runtime.policy.file import parse_policy


def judged(rules: str, tool: str, given: dict[str, Any]) -> Decision:
    return decide(facts_of(tool, given), parse_policy(rules), settings_of())


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
    with pytest.raises(SetupError, match=r"policy.toml line \d: .*is empty; give a text"):
        parse_policy(text)
