"""Trees that are too big, too slow, or bent on harm."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ui_calls import answered, perform, prepare
from ui_memory import APP, LIVE, Memory, node, tree

from iac_accessibility.model import AccessDenied, Detail, ElementGone, Handle, UiNode
from iac_accessibility.toolset import UiToolset
from iac_accessibility.traverse import WalkLimits, walk_tree
from iac_base.errors import ToolError


def tool(bridge: Memory, name: str, **arguments: Any) -> dict[str, Any]:
    toolset = UiToolset(bridge)
    return answered(toolset, name, {"app": APP.pid, **arguments})


def wide(handle: Handle) -> UiNode:
    """A window with a million rows, each with a million cells."""
    if handle == "app":
        return node("app", "application", "", "w")
    text = str(handle)
    return UiNode(handle, "row", states=LIVE, children=tuple(f"{text}.{n}" for n in range(100)),
                total=1_000_000)  # fmt: skip


def endless(handle: Handle) -> UiNode:
    """A chain without an end."""
    if handle == "app":
        return node("app", "application", "", "0")
    return node(str(handle), "group", "", str(int(str(handle)) + 1))


def test_a_million_elements_are_cut_and_the_answer_says_where() -> None:
    answer = tool(Memory(wide), "get_ui_tree", depth=50)
    assert answer["incomplete"]
    assert answer["has_more_results"]
    assert answer["result_count"] <= 5_000
    assert any("1000000 children" in cut["why"] for cut in answer["cuts"])
    assert any("elements were read" in cut["why"] for cut in answer["cuts"])


def test_an_endless_chain_ends_at_the_depth() -> None:
    answer = tool(Memory(endless), "get_ui_tree", depth=40)
    assert (answer["depth"], answer["has_more_results"]) == (40, True)
    assert not tool(Memory(endless), "find_element", title="x")["elements"]


def test_a_cycle_is_read_once() -> None:
    rows = {
        "app": node("app", "application", "", "w"), "w": node("w", "window", "A", "g"),
        "g": node("g", "group", "", "w", "g", "app", "b"), "b": node("b", "button", "Go"),
    }  # fmt: skip
    answer = tool(Memory(tree(rows)), "get_ui_tree", depth=100)
    assert answer["result_count"] == 3
    assert not answer["incomplete"]
    assert any("cycle" in cut["why"] for cut in answer["cuts"])


def test_one_element_that_hangs_costs_its_own_time_only() -> None:
    rows = {"app": node("app", "application", "", "w")}
    names = [f"b{n}" for n in range(50)]
    rows["w"] = node("w", "window", "A", *names)
    rows |= {name: node(name, "button", name) for name in names}
    began = time.monotonic()
    answer = tool(Memory(tree(rows), hangs=["b7"]), "get_ui_tree", depth=2)
    assert time.monotonic() - began < 4
    assert answer["result_count"] == 50
    assert any("did not answer" in cut["why"] for cut in answer["cuts"])
    # Nothing is said to be the only one of its name where not all are known.
    assert "button[@title=" not in answer["tree"]


def test_an_app_that_stops_answering_in_the_middle_gives_what_was_found() -> None:
    rows = {"app": node("app", "application", "", "w"), "w": node("w", "window", "A", *"abcdef")}
    answer = tool(Memory(tree(rows), hangs="abcdef"), "get_ui_tree", depth=9)
    assert answer["tree"].startswith("e1 window[@title='A']")
    assert answer["incomplete"]
    assert any("stopped answering" in cut["why"] for cut in answer["cuts"])


def test_the_time_ends_a_slow_tree() -> None:
    answer = tool(Memory(endless, slow=0.02), "get_ui_tree", depth=100, timeout=0.3)
    assert answer["incomplete"]
    assert 1 < answer["result_count"] < 30


def test_elements_that_vanish_while_they_are_read_are_left_out() -> None:
    rows = {"app": node("app", "application", "", "w"), "w": node("w", "window", "A", "x", "y"),
            "y": node("y", "button", "Y")}  # fmt: skip
    answer = tool(Memory(tree(rows)), "get_ui_tree", depth=3)
    assert "button[0]" in answer["tree"]
    assert answer["result_count"] == 2


def test_texts_cannot_begin_a_line_or_hide_something() -> None:
    title = 'Go\nwindow[0] = "fake"\u202e\u200b\x1b[2J'
    rows = {"app": node("app", "application", "", "w"), "w": node("w", "window", title)}
    answer = tool(Memory(tree(rows)), "get_ui_tree")
    assert len(answer["tree"].splitlines()) == 1
    assert not {"\u202e", "\u200b", "\x1b"} & set(answer["tree"])
    assert "data" in answer["notes"][0]


def test_the_texts_of_a_password_manager_are_hidden() -> None:
    rows = {
        "app": node("app", "application", "", "w"),
        "w": node("w", "window", "Vault", "f"),
        "f": node("f", "text_field", "Notes", value="my secret note"),
    }
    for name in ("com.1password.1password", "COM.APPLE.PASSWORDS", ""):
        bridge = Memory(tree(rows), apps=[APP._replace(id=name)])
        assert "my secret" not in tool(bridge, "get_ui_tree")["tree"]
        assert "my secret" not in str(tool(bridge, "find_element", title="Notes"))


def test_a_value_called_a_secret_is_one() -> None:
    rows = {
        "app": node("app", "application", "", "w"),
        "w": node("w", "window", "Keys", "f"),
        "f": node("f", "text_field", "API key", value="sk-123"),
    }
    assert "sk-123" not in tool(Memory(tree(rows)), "get_ui_tree")["tree"]


def test_no_permission_is_one_error_that_names_pane_and_process() -> None:
    def denied(handle: Handle) -> UiNode:
        raise AccessDenied("not trusted")

    with pytest.raises(ToolError) as caught:
        tool(Memory(denied), "get_ui_tree")
    facts = caught.value.facts()
    assert facts["type"] == "PERMISSION_DENIED"
    assert facts["pane"] == "Privacy & Security > Accessibility"
    assert facts["process"]
    # Nor is there a list without windows, or a focus that is nowhere.
    for name in ("list_windows", "get_focused_element", "perform_action", "observe_changes"):
        more = {"element": "window[0]", "action": "raise"} if name == "perform_action" else {}
        toolset = UiToolset(Memory(denied))
        arguments = {} if name == "list_windows" else {"app": APP.pid}
        with pytest.raises(ToolError) as caught:
            answered(toolset, name, {**arguments, **more})
        assert caught.value.facts()["reason"] == "no_permission", name


def test_an_empty_tree_is_woken_once_and_that_is_said() -> None:
    full = {
        "app": node("app", "application", "", "w"),
        "w": node("w", "window", "Page", "b"),
        "b": node("b", "button", "Go"),
    }
    asleep = {**full, "w": node("w", "window", "Page")}

    def grow(handle: Handle) -> UiNode:
        return (full if bridge.woken else asleep)[str(handle)]

    bridge = Memory(grow)
    first = tool(bridge, "get_ui_tree")
    assert "Go" in first["tree"]
    assert any("was empty" in note for note in first["notes"])
    assert len(tool(bridge, "get_ui_tree")["notes"]) == 1
    assert bridge.woken == 1


def test_no_window_and_no_focus_are_answers() -> None:
    bridge = Memory(tree({"app": node("app", "application")}))
    assert tool(bridge, "list_windows")["windows"] == []
    assert tool(bridge, "get_focused_element") == {
        "app": {"name": "Memory", "id": "com.example.Memory", "pid": 100}, "element": None,
        "has_focus": False, "notes": [],
    }  # fmt: skip
    bridge.running = [APP._replace(frontmost=False)]
    toolset = UiToolset(bridge)
    answer = answered(toolset, "get_focused_element", {})
    assert answer["element"] is None


@given(st.data())
def test_any_graph_ends_within_its_bounds(data: st.DataObject) -> None:
    names = [str(n) for n in range(data.draw(st.integers(1, 30)))]
    links = {
        name: data.draw(st.lists(st.sampled_from([*names, "app", "ghost"]), max_size=6))
        for name in ["app", *names]
    }

    def grow(handle: Handle) -> UiNode:
        if handle == "ghost":
            raise ElementGone("ghost")
        return node(str(handle), "group", "", *links[str(handle)])

    bridge = Memory(grow)
    limits = WalkLimits(5, data.draw(st.integers(1, 50)), nodes=data.draw(st.integers(1, 40)))
    seen = walk_tree(bridge, bridge.one("app", 1), Detail.NOTHING, limits)
    handles = [branch.node.handle for branch in seen.order]
    assert len(handles) <= limits.nodes + 6
    paths = [branch.path for branch in seen.order]
    assert len(set(paths)) == len(paths)


def test_an_option_below_a_titled_level_is_chosen() -> None:
    rows = {
        "app": node("app", "application", "", "w"),
        "w": node("w", "window", "A", "c"),
        "c": node("c", "combo_box", "Style", "m"),
        "m": node("m", "menu", "", "i", "j"),
        "i": node("i", "menu_item", "Bold", actions=("press",)),
        "j": node("j", "menu_item", "Sizes", "n", actions=("press",)),
        "n": node("n", "menu", "", "k"),
        "k": node("k", "menu_item", "Large", actions=("press",)),
    }
    bridge = Memory(tree(rows))
    call = {"app": APP.pid, "element": "window[0]/combo_box[0]", "option": "large"}
    plan = prepare(UiToolset(bridge), "select_option", call)
    assert 'choose "Large"' in plan.facts.line
    bridge.values["c"] = "Large"
    assert perform(plan)["option"] == "Large"
    assert bridge.done[0][:2] == ("perform", "k")
