"""Paths, levels, words and values: the rules without an app."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ui_calls import answered, perform, prepare
from ui_memory import APP, Memory, node, tree

from iac_accessibility.action_tools import coerce_value
from iac_accessibility.bridge import parse_stroke, stroke_effect
from iac_accessibility.deliver import is_same_value
from iac_accessibility.model import (
    AcceptedValue,
    PathError,
    PathStep,
    UiApp,
    UiNode,
    action_name,
    parse_path,
    path_text,
    role_name,
)
from iac_accessibility.risk import ChangeFacts, assess_level, holds_secret, mark_secret
from iac_accessibility.session import find_app
from iac_accessibility.toolset import UiToolset
from iac_accessibility.traverse import steps_of
from iac_base.errors import ToolError
from iac_base.interface import danger_word
from iac_runtime.tools.own import toolset_tools
from iac_runtime.tools.shape import listing_entry as listing_entry

TOOLS = toolset_tools(("accessibility",))

_ROLES = st.from_regex(r"[a-z][a-z0-9]{0,9}(_[a-z0-9]{1,9}){0,2}", fullmatch=True).map(role_name)
_STEPS = st.one_of(
    st.tuples(_ROLES, st.integers(0, 999_999_999)).map(lambda row: PathStep(row[0], number=row[1])),
    st.tuples(_ROLES, st.text()).map(lambda row: PathStep(row[0], title=row[1])),
    st.tuples(_ROLES, st.text()).map(lambda row: PathStep(row[0], identifier=row[1])),
)


@given(st.lists(_STEPS, min_size=1, max_size=20).map(tuple))
def test_a_path_that_is_printed_is_read_back_as_it_was(steps: tuple[PathStep, ...]) -> None:
    assert parse_path(path_text(steps)) == steps


@given(st.text())
def test_any_text_is_a_path_or_told_not_to_be(text: str) -> None:
    try:
        steps = parse_path(text)
    except PathError as error:
        assert str(error)
    else:
        assert parse_path(path_text(steps)) == steps


@given(st.lists(st.tuples(st.sampled_from(["button", "row"]), st.text(max_size=3)), max_size=12))
def test_the_steps_of_siblings_are_all_different(rows: list[tuple[str, str]]) -> None:
    nodes = [node(str(n), role, title) for n, (role, title) in enumerate(rows)]
    for whole in (True, False):
        steps = steps_of(nodes, whole=whole)
        assert len({step.text for step in steps}) == len(steps)


def test_paths_are_read_in_every_usual_spelling() -> None:
    canonical = "window[0]/toolbar[0]/button[@title='Close']"
    assert path_text(parse_path(canonical)) == canonical
    spelled = 'AXWindow/tool bar[0]/push button[@title="Close"]'
    assert path_text(parse_path(spelled)) == canonical


@pytest.mark.parametrize(
    "text", ["", "/", "window[0]/", "window[-1]", "window[@title='x]", "3", "a" * 30_000]
)
def test_what_is_no_path_is_told(text: str) -> None:
    with pytest.raises(PathError):
        parse_path(text)


def test_names_of_roles_and_actions() -> None:
    for text in ("AXTextField", "text field", "TextField", "entry"):
        assert role_name(text) == "text_field"
    assert role_name("AXSecureTextField") == "secure_text_field"
    assert [action_name(text) for text in ("AXPress", "Click", "activate", "AXShowMenu")] == [
        *("press", "press", "press", "show_menu")
    ]


def facts(element: UiNode, window: UiNode, **more: Any) -> ChangeFacts:
    """Return what is known of a change in an app like any other."""
    return ChangeFacts("com.example.App", element, window, **more)


WINDOW = node("w", "window", "Document")
DIALOG = node("d", "dialog", "Question")


@pytest.mark.parametrize(("facts", "level"), [
    (facts(node("b", "button", "Bold"), WINDOW), "MODIFY"),
    (facts(node("b", "button", "Delete"), WINDOW), "DANGEROUS"),
    (facts(node("b", "button", "", description="Send mail"), WINDOW), "DANGEROUS"),
    (facts(node("b", "button", "", identifier="btnDeleteAll"), WINDOW), "DANGEROUS"),
    (facts(node("b", "button", "Löschen"), WINDOW), "DANGEROUS"),
    (facts(node("b", "button", "Ｄｅｌｅｔｅ"), WINDOW), "DANGEROUS"),
    (facts(node("b", "button", "削除する"), WINDOW), "DANGEROUS"),
    (facts(node("b", "button", "OK"), DIALOG, default=True), "DANGEROUS"),
    (facts(node("b", "button", "OK"), WINDOW, default=True), "MODIFY"),
    (facts(node("b", "button", "Cancel"), DIALOG), "MODIFY"),
    (facts(node("b", "button", "OK"), node("d", "alert", "Delete 40 items?")), "DANGEROUS"),
    (facts(node("f", "secure_text_field", states=["secure"]), WINDOW), "DANGEROUS"),
    (facts(node("f", "text_field", "Name"), WINDOW, runs=True), "DANGEROUS"),
    (facts(node("f", "text_field", "Name"), WINDOW, does="sends"), "DANGEROUS"),
    (facts(node("f", "text_field", "Name"), WINDOW), "MODIFY"),
    (facts(node("m", "menu_item", "Bin"), WINDOW, words=("Empty",)), "DANGEROUS"),
    (ChangeFacts("com.apple.Terminal", node("b", "button", "Bold"), WINDOW), "DANGEROUS"),
    (ChangeFacts("com.apple.ScreenSharing", node("b", "button", "Bold"), WINDOW), "DANGEROUS"),
    (ChangeFacts("local.xterm", node("b", "button", "Bold"), WINDOW), "DANGEROUS"),
    (ChangeFacts("", node("b", "button", "Bold"), WINDOW), "DANGEROUS"),
])  # fmt: skip
def test_levels(facts: ChangeFacts, level: str) -> None:
    verdict = assess_level(facts)
    assert verdict.level == level
    assert bool(verdict.reasons) == (level == "DANGEROUS")


@given(st.text(), st.text())
def test_a_word_counts_whatever_stands_around_it(before: str, after: str) -> None:
    assert danger_word(f"{before} delete {after}")


@pytest.mark.parametrize("text", [
    *("Supprimer", "Elimina", "Verwijder", "Slet", "Radera", "Poista", "Usuń", "Удалить"),
    *("Видалити", "Smazat", "Odstrániť", "Törlés", "Șterge", "Διαγραφή", "Sil", "حذف", "מחק"),
    *("Hapus", "Padam", "Xóa", "Obriši", "Suprimeix", "हटाएँ", "削除", "删除", "刪除", "삭제",
     "ลบ"),
    *("Überweisen", "Virement", "振込", "转账", "송금", "Paga ora", "Betal", "Revoke",
     "Widerrufen"),
    *("Transfer", "Ne pas enregistrer", "Don’t Save", "保存しない", "Άρση: Αποστολή", "Gửi",
     "Kirim"),
])  # fmt: skip
def test_what_deletes_pays_and_sends_is_known_in_the_languages_of_the_system(text: str) -> None:
    assert danger_word(text)


@pytest.mark.parametrize("text", ["Undeletable", "Formatter", "Sender", "Save", "", "Postpone"])
def test_parts_of_words_do_not_count(text: str) -> None:
    assert danger_word(text) is None


@given(st.one_of(st.text(), st.booleans(), st.floats(), st.integers()))
def test_any_value_is_taken_or_refused(value: str | float | bool) -> None:
    for role, takes in (
        ("slider", AcceptedValue("number", 0, 10)),
        ("check_box", AcceptedValue("boolean")),
        ("text_field", AcceptedValue("text")),
        ("pop_up_button", AcceptedValue("text", choices=("a", "b"))),
    ):
        try:
            taken = coerce_value(value, node("n", role), takes)
        except ToolError as error:
            assert error.message
        else:
            assert is_same_value(taken, taken)


@pytest.mark.parametrize(
    ("wanted", "got", "same"),
    [("5", 5.0, True), (5.0, "5", True), (True, 1.0, True), ("5", 6.0, False), ("5", None, False)],
)
def test_a_value_is_the_same_in_whatever_kind_it_is_read(
    wanted: str | float | bool, got: str | float | None, same: bool
) -> None:
    assert is_same_value(wanted, got) is same


FRONT = UiApp(1, "Notes", "com.apple.Notes", 1.0)


def test_apps_are_named_by_name_id_or_process() -> None:
    rows = [FRONT, UiApp(2, "Mail", "com.apple.mail", 1.0), UiApp(3, "Mail", "org.other.mail", 1.0)]

    def find(wanted: str | int) -> int:
        return find_app(wanted, rows, Memory(tree(ROWS))).pid

    for wanted in ("notes", "com.apple.NOTES", "1", 1, "Notes "):
        assert find(wanted) == 1
    assert find("org.other.mail") == 3
    for wanted, reason in (
        ("Mail", "app_ambiguous"),
        ("Calendar", "app_not_running"),
        ("Note", "app_unknown"),
        ("", "app_unknown"),
        (99, "app_not_running"),
    ):
        with pytest.raises(ToolError) as caught:
            find(wanted)
        assert caught.value.facts()["reason"] == reason
    with pytest.raises(ToolError):
        find_app("x", [], Memory(tree(ROWS)))


def test_the_table_of_tools_is_what_clients_take() -> None:
    from jsonschema import Draft202012Validator

    assert len(TOOLS) == 18
    reading = {"get_ui_tree", "find_element", "get_focused_element", "list_windows"}
    assert {tool.name for tool in TOOLS if tool.ceiling == "SAFE"} == reading | {
        "observe_changes",
        "wait_for",
    }
    for tool in TOOLS:
        entry = listing_entry(tool)
        for schema in (entry["inputSchema"], entry["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert schema["additionalProperties"] is False
        assert entry["annotations"]["readOnlyHint"] == (tool.level == tool.ceiling == "SAFE")


ROWS = {
    "app": node("app", "application", "", "w", "d"), "w": node("w", "window", "Doc", "f", "g", "t"),
    "d": node("d", "dialog", "Ask", "ok"), "ok": node("ok", "button", "OK", actions=("press",)),
    "f": node("f", "text_field", "Name", value="old", states=["editable", "focusable"]),
    "g": node("g", "button", "Go", actions=("press",), identifier="go"),
    "t": node("t", "toggle_button", "Bold", actions=("press",), value=False),
}  # fmt: skip


def test_what_is_found_by_its_role_stands_in_the_order_of_the_window() -> None:
    rows = {
        "app": node("app", "application", "", "w"), "w": node("w", "window", "Doc", "a", "b", "c"),
        "a": node("a", "button", "Go"), "b": node("b", "button"), "c": node("c", "button", "Stop"),
    }  # fmt: skip
    asked = {"app": APP.pid, "role": "button"}
    found = answered(UiToolset(Memory(tree(rows))), "find_element", asked)["elements"]
    assert [row.get("title") for row in found] == ["Go", None, "Stop"]


def test_a_plan_names_what_a_gate_judges() -> None:
    toolset = UiToolset(Memory(tree(ROWS)))
    path = "window[@title='Doc']/button[@identifier='go']"
    plan = prepare(
        toolset, "perform_action", {"app": "Memory", "element": path, "action": "AXPress"}
    )
    assert plan.facts.apps == ((APP.id, "Memory"),)
    line = 'press button "Go" in window "Doc" of Memory (com.example.Memory, process 100), element '
    assert plan.facts.line.startswith(line)
    other = prepare(
        toolset, "set_value", {"app": 100, "element": "window[0]/text_field[0]", "value": "x"}
    )
    # One answer covers what is changed in one window.
    assert plan.facts.memory == other.facts.memory != ""


def test_where_there_are_no_keys_what_cannot_be_set_is_refused_in_one_line() -> None:
    bridge = Memory(tree(ROWS))
    bridge.takes = AcceptedValue(None)
    toolset = UiToolset(bridge)
    field = {"app": 100, "element": "window[0]/text_field[0]"}
    for tool, more in (("set_value", {"value": "new"}), ("type_text", {"text": "new"})):
        plan = prepare(toolset, tool, {**field, **more})
        with pytest.raises(ToolError) as caught:
            perform(plan)
        assert caught.value.facts()["reason"] == "no_interface"
        assert "do not work on this machine: nothing here has keys." in caught.value.message
    with pytest.raises(ToolError):
        prepare(toolset, "press_keys", {"app": 100, "keys": ["Return"]})
    assert bridge.done == []


@pytest.mark.parametrize(("text", "shown"), [
    ("cmd+Q", "command+q"), ("Ctrl+Shift+S", "control+shift+s"), ("enter", "return"),
    ("ctrl++", "control++"), ("A", "A"), ("Page Down", "page_down"), ("alt+F4", "option+f4"),
])  # fmt: skip
def test_combinations_by_name(text: str, shown: str) -> None:
    assert parse_stroke(text).text == shown


@pytest.mark.parametrize("text", ["", "hyper+a", "ctrl+nokey", "\x00"])
def test_what_is_no_combination_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_stroke(text)
    assert caught.value.facts()["reason"] == "bad_value"


def test_combinations_count_by_what_they_do() -> None:
    def does(text: str, in_text: bool = False) -> str:
        return stroke_effect(parse_stroke(text), in_text=in_text)

    assert does("cmd+q") == does("alt+F4") == "ends a session or loses work"
    assert does("cmd+backspace") == does("Delete") == "destroys"
    assert does("Delete", in_text=True) == does("ctrl+s") == does("Escape") == ""
    assert does("cmd+Return", in_text=True) == "sends"


def test_a_call_that_reaches_further_than_was_judged_is_refused() -> None:
    bridge = Memory(tree(ROWS))
    toolset = UiToolset(bridge)
    plan = prepare(
        toolset,
        "perform_action",
        {"app": 100, "element": "dialog[0]/button[0]", "action": "press"},
    )
    assert plan.facts.level == "MODIFY"
    bridge.default = "ok"
    with pytest.raises(ToolError) as caught:
        perform(plan)
    assert caught.value.facts()["reason"] == "level_rose"
    assert bridge.done == []


def test_a_switch_is_pressed_only_when_it_stands_otherwise() -> None:
    bridge = Memory(tree(ROWS))
    toolset = UiToolset(bridge)
    path = "window[0]/toggle_button[0]"
    off = prepare(toolset, "set_value", {"app": 100, "element": path, "value": False})
    assert perform(off)["success"]
    assert bridge.done == []
    on = prepare(toolset, "set_value", {"app": 100, "element": path, "value": "on"})
    answer = perform(on)
    assert bridge.done == [("perform", "t", "press")]
    assert not answer["success"]


def test_several_that_fit_are_told_apart_by_number() -> None:
    rows = ROWS | {"f": node("f", "button", "Go"), "g": node("g", "button", "Go")}
    toolset = UiToolset(Memory(tree(rows)))
    arguments = {"app": 100, "element": "window[0]/button[@title='Go']", "action": "press"}
    with pytest.raises(ToolError) as caught:
        prepare(toolset, "perform_action", arguments)
    assert "button[0], button[1]" in str(caught.value)


def test_a_process_id_that_was_given_anew_is_refused() -> None:
    bridge = Memory(tree(ROWS))
    toolset = UiToolset(bridge)
    plan = prepare(
        toolset,
        "perform_action",
        {"app": 100, "element": "window[0]/button[0]", "action": "press"},
    )
    bridge.running = [APP._replace(started=2.0)]
    with pytest.raises(ToolError) as caught:
        perform(plan)
    assert caught.value.facts()["reason"] == "app_gone"
    assert bridge.done == []


def test_a_watch_merges_what_repeats_and_gives_way_to_newer_ones() -> None:
    toolset = UiToolset(Memory(tree(ROWS)))
    cursors = []
    for _ in range(10):
        plan = prepare(toolset, "observe_changes", {"app": 100, "duration": 0.01})
        answer = perform(plan)
        assert [row["at"] for row in answer["changes"]] == [0.2]
        cursors.append(answer["cursor"])
    plan = prepare(toolset, "observe_changes", {"app": 100, "cursor": cursors[0], "duration": 0.01})
    with pytest.raises(ToolError):
        perform(plan)
    plan = prepare(
        toolset, "observe_changes", {"app": 100, "cursor": cursors[-1], "duration": 0.01}
    )
    assert perform(plan)["changes"] == []
    toolset.close()


@pytest.mark.parametrize("name", [
    "cc-number", "ccNumber", "Recipient's IBAN", "Enter the 6-digit code", "one-time code",
    "one-time-code", "PIN:", "Kreditkartennummer", "4-stelliger Code", "code à 8 chiffres",
    "código de 6 dígitos", "カード番号", "6桁のコード", "Номер карты", "Ange 6-siffrig kod",
    "kart numarası", "信用卡号", "6자리 코드",
])  # fmt: skip
def test_a_field_is_secret_by_what_it_is_called(name: str) -> None:
    field = UiNode("h", "text_field", states=frozenset(("editable",)), value="held")
    for one in (
        mark_secret(field._replace(title=name)),
        mark_secret(field._replace(label=name)),
        mark_secret(field._replace(identifier=name)),
        mark_secret(field, name),
    ):
        assert holds_secret(one)
        assert one.value is None
    assert not holds_secret(mark_secret(UiNode("h", "button", title=name)))


@pytest.mark.parametrize("name", [
    "ZIP code", "Postleitzahl", "Code", "Country code", "Discount code", "Name on card", "Opinion",
    "Taliban", "Spin", "Numéro de commande", "kod pocztowy", "numero di telefono", "Street",
])  # fmt: skip
def test_an_everyday_field_is_no_secret(name: str) -> None:
    assert not holds_secret(mark_secret(UiNode("h", "text_field", title=name, value="held")))
