"""A field that is shown as [secret] is one for every tool: its value stands in no answer."""

import string
from typing import Any

import pytest
from ui_calls import prepare
from ui_user import User

from iac_base.errors import ToolError

pytestmark = [pytest.mark.process, pytest.mark.sweep(3)]

OLD, NEW = "hunter2", "correct horse"


@pytest.fixture
def vault(start: Any) -> User:
    """An app with two plain fields: one is secret by its label, one by its identifier."""
    user: User = start("gtk", "--secret")
    return user


def secrets(user: User) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = user("find_element", role="text_field")["elements"]
    rows = [row for row in found if row.get("value") == "[secret]"]
    assert len(rows) == 2, found
    return rows


def test_a_secret_is_not_spelled_out_by_looking_for_it(vault: User) -> None:
    secrets(vault)
    for text in (*string.ascii_lowercase, OLD[:3], OLD):
        found = vault("find_element", value=text, role="text_field")["elements"]
        assert all(row["title"] == "Name" for row in found), (text, found)
    assert not vault("wait_for", value=OLD, timeout=0.3)["met"]


@pytest.mark.sweep
@pytest.mark.parametrize(("tool", "arguments"), [
    ("find_element", {"role": "text_field"}), ("get_ui_tree", {}), ("get_ui_tree", {"depth": 40}),
    ("get_ui_tree", {"element": "", "offset": 1}), ("get_focused_element", {}),
    ("wait_for", {"element": "", "until": "changes", "timeout": 0.3}),
    ("perform_action", {"element": "", "action": "confirm"}),
    ("type_text", {"element": "", "text": NEW}), ("set_value", {"element": "", "value": NEW}),
    ("fill_form", {"fields": [{"element": "", "value": NEW}]}),
    ("press_keys", {"element": "", "keys": list(NEW.replace(" ", ""))}),
])  # fmt: skip
def test_a_secret_stands_in_no_answer_and_in_no_question(
    vault: User, tool: str, arguments: dict[str, Any]
) -> None:
    for row in secrets(vault):
        vault("press_keys", element=row["id"], keys=["End"])
        given = {**arguments, **({"element": row["id"]} if "element" in arguments else {})}
        if "fields" in given:
            given["fields"] = [{"element": row["id"], "value": NEW}]
        answer = vault(tool, **given)
        assert vault.plan is not None
        facts = vault.plan.facts
        told = f"{answer} {facts.line} {facts.arguments} {facts.raised}"
        for text in (OLD, NEW, "'c', 'o', 'r'", "c o r r"):
            assert text not in told, told
        if tool in ("perform_action", "type_text", "set_value", "fill_form", "press_keys"):
            assert facts.level == "DANGEROUS"
            assert "[secret]" in str(answer)


def test_what_does_not_fit_a_secret_is_refused_without_it(vault: User) -> None:
    name = next(row for row in secrets(vault))
    with pytest.raises(ToolError) as caught:
        prepare(vault.toolset, "set_value", {"element": name["id"], "value": True})
    assert "takes a text, not a secret" in str(caught.value)


@pytest.fixture
def wallet(start: Any) -> User:
    """An app whose secrets are told by the texts beside them alone, or by their shape."""
    user: User = start("gtk", "--beside")
    return user


def test_what_stands_beside_a_field_tells_that_it_is_secret(wallet: User) -> None:
    found = wallet("find_element", role="text_field", max_results=20)["elements"]
    beside = {row.get("label"): row for row in found if row.get("value") == "[secret]"}
    assert {"API key", "Card number:"} <= beside.keys()
    named = next(row for row in found if row.get("value") == "held 1 by hunter2")
    assert "secure" not in named.get("states", ())
    for row in (beside["API key"], beside["Card number:"]):
        answer = wallet("set_value", element=row["id"], value=NEW)
        assert wallet.plan is not None
        assert wallet.plan.facts.level == "DANGEROUS"
        assert answer["success"]
        assert OLD not in str(answer)
        assert NEW not in str(answer)


@pytest.mark.parametrize("secret", ["493 021", "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"])
def test_a_code_that_is_shown_is_read_by_no_tool_and_found_by_none(
    wallet: User, secret: str
) -> None:
    wallet("get_ui_tree")
    for tool, arguments in (
        ("get_ui_tree", {"max_tokens": 20_000}),
        ("get_ui_tree", {"depth": 40, "include_attributes": ["value", "description"]}),
        ("get_ui_tree", {"depth": 40, "filter_roles": ["static_text"]}),
        ("find_element", {"role": "static_text"}),
    ):
        told = str(wallet(tool, **arguments))
        assert secret not in told
        assert "[redacted]" in told
        assert "593 021" in told
    assert not wallet("find_element", title=secret)["elements"]
    assert not wallet("wait_for", title=secret, timeout=0.3)["met"]


def test_a_secret_in_a_text_is_not_read_in_pieces(gtk: User) -> None:
    key = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"
    path = gtk.path(title="Notes", role="text_area")
    gtk("set_value", element=path, value=f"{'before ' * 20}{key} and words behind")
    pieces = [
        gtk("get_ui_tree", element=path, offset=at, max_tokens=200) for at in range(0, 160, 7)
    ]
    assert "4eC39HqLyj" not in str(pieces)
    assert "TT1zdp7dc" not in str(pieces)
    assert "words behind" in str(pieces)
