"""What an answer of get_ui_tree shows of an interface within its budget."""

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ui_calls import answered
from ui_memory import APP, Memory, node, tree

from iac_accessibility.model import Frame, UiNode
from iac_accessibility.toolset import UiToolset

ROLES = st.sampled_from(["group", "button", "static_text", "row", "cell", "text_field", "table"])
NAMES = st.one_of(st.just(""), st.text(max_size=90))
NESTED = st.recursive(
    st.tuples(ROLES, NAMES, st.just(())),
    lambda below: st.tuples(ROLES, NAMES, st.lists(below, max_size=8)),
    max_leaves=40,
)


def held(top: Any) -> dict[str, UiNode]:
    """Return the elements of a nested tree, in a window of an app."""
    found = {"app": node("app", "application", "", "w"), "w": node("w", "window", "W", "0")}
    waiting = [("0", top)]
    while waiting:
        handle, (role, name, below) = waiting.pop()
        names = [f"{handle}.{number}" for number in range(len(below))]
        found[handle] = node(handle, role, name.strip(), *names)
        waiting += zip(names, below, strict=True)
    return found


@settings(max_examples=25)
@given(NESTED, st.integers(200, 1_500))
def test_any_tree_fits_its_budget_and_no_text_makes_a_line(top: Any, tokens: int) -> None:
    toolset = UiToolset(Memory(tree(held(top))))
    answer = answered(toolset, "get_ui_tree", {"app": APP.pid, "max_tokens": tokens})
    assert len(json.dumps(answer, ensure_ascii=False).encode()) / 4 <= tokens
    for line in answer["tree"].splitlines():
        assert re.match(r" *(e\d+ [a-z_]+\b|… \d)", line), line


def test_what_can_be_acted_on_is_shown_and_the_rest_is_counted() -> None:
    rows = {"app": node("app", "application", "", "w")}
    rows["w"] = node("w", "window", "Mail", "g", "t")
    rows["g"] = node("g", "group", "", "g2")
    rows["g2"] = node("g2", "group", "", "b", "i")
    rows["b"] = node("b", "button", "Send")
    rows["i"] = node("i", "image")
    rows["t"] = node("t", "table", "", *[f"r{n}" for n in range(300)])
    for n in range(300):
        rows |= {
            f"r{n}": node(f"r{n}", "row", "", f"c{n}", f"d{n}"),
            f"c{n}": node(f"c{n}", "cell", f"Letter {n}"),
            f"d{n}": node(f"d{n}", "button", "Delete"),
        }
    toolset = UiToolset(Memory(tree(rows)))
    answer = answered(toolset, "get_ui_tree", {"app": APP.pid, "max_tokens": 400})
    lines = answer["tree"].splitlines()
    assert ' button "Send"' in answer["tree"]
    assert "group" not in answer["tree"]
    assert any('row "Letter 0"' in line for line in lines)
    left = re.search(r"… (\d+) row with .* from offset (\d+)", answer["tree"])
    assert left is not None
    assert int(left[1]) + int(left[2]) == 300
    table = next(line.split()[0] for line in lines if " table" in line)
    more = answered(toolset, "get_ui_tree", {"element": table, "offset": 290})
    assert 'row "Letter 290"' in more["tree"]
    assert 'row "Letter 289"' not in more["tree"]
    some = answered(toolset, "get_ui_tree", {"element": table, "text": "LETTER 17"})
    assert re.findall(r"Letter (\d+)", some["tree"]) == ["17", *[str(n) for n in range(170, 180)]]


def test_a_field_without_a_title_is_called_by_its_label() -> None:
    rows = {"app": node("app", "application", "", "w"), "w": node("w", "window", "W", "f")}
    rows["f"] = node("f", "text_field", value="Ada")._replace(label="Name")
    toolset = UiToolset(Memory(tree(rows)))
    assert 'text_field ("Name") = "Ada"' in answered(toolset, "get_ui_tree", {"app": 100})["tree"]
    (found,) = answered(toolset, "find_element", {"app": 100, "title": "name"})["elements"]
    assert found["label"] == "Name"
    rows["f"] = rows["f"]._replace(label="Password", value="hunter2")
    assert "hunter2" not in answered(toolset, "get_ui_tree", {"app": 100})["tree"]


def test_what_is_scrolled_away_comes_last_and_what_is_beside_is_left_out() -> None:
    places = {"a": (10, -90), "b": (10, 10), "c": (10, 50), "d": (-990, 60), "e": (10, 900)}
    rows = {"app": node("app", "application", "", "w"), "w": node("w", "window", "W", *places)}
    rows["w"] = rows["w"]._replace(frame=Frame(0, 0, 400, 300))
    for name, place in places.items():
        rows[name] = node(name, "button", name.upper())._replace(frame=Frame(*place, 80, 20))
    rows |= {f"r{n}": node(f"r{n}", "button", f"Row {n}") for n in range(90)}
    low = -(2**31)
    for n in range(90):
        place = Frame(10, 80 + 20 * n, 80, 20) if n < 5 else Frame(low, low, 80, 20)
        rows[f"r{n}"] = rows[f"r{n}"]._replace(frame=place)
    rows["w"] = rows["w"]._replace(children=(*places, *[f"r{n}" for n in range(90)]))
    toolset = UiToolset(Memory(tree(rows)))
    whole = answered(toolset, "get_ui_tree", {"app": 100, "max_tokens": 9_000})["tree"]
    assert re.findall(r'button "(\w)"', whole) == ["B", "C", "E"]
    assert "… 1 button above" in whole
    assert re.findall(r"Row (\d+)", whole) == [str(n) for n in range(90)]
    part = answered(toolset, "get_ui_tree", {"app": 100, "max_tokens": 300})["tree"]
    count = len(re.findall(r"Row \d+", part))
    assert f"… {90 - count} button more" in part


def test_a_long_list_is_read_from_any_row_on() -> None:
    rows = {"app": node("app", "application", "", "w"), "w": node("w", "window", "W", "t")}
    rows["t"] = node("t", "table", "Letters", *[f"r{n}" for n in range(1_200)])
    for n in range(1_200):
        rows[f"r{n}"] = node(f"r{n}", "row", "", f"c{n}", f"b{n}")
        rows[f"c{n}"] = node(f"c{n}", "static_text", f"Letter {n}")
        rows[f"b{n}"] = node(f"b{n}", "button", "Delete")._replace(actions=("press",))
    bridge = Memory(tree(rows))
    toolset = UiToolset(bridge)
    (found,) = answered(toolset, "find_element", {"app": 100, "role": "table"})["elements"]
    late = answered(toolset, "get_ui_tree", {"element": found["id"], "offset": 1_150})
    row = re.search(r'1150: (e\d+) row "Letter 1150"', late["tree"])
    assert row is not None
    inside = answered(toolset, "get_ui_tree", {"element": row[1]})["tree"]
    button = re.search(r'(e\d+) button "Delete"', inside)
    assert button is not None
    answered(toolset, "perform_action", {"element": button[1], "action": "press"})
    assert bridge.done == [("perform", "b1150", "press")]
    some = answered(toolset, "get_ui_tree", {"element": found["id"], "text": "letter 117"})
    assert re.findall(r"Letter (\d+)", some["tree"]) == ["117", *map(str, range(1_170, 1_180))]


def test_a_list_of_windows_has_a_budget_too() -> None:
    windows = [f"w{n}" for n in range(300)]
    rows = {"app": node("app", "application", "", *windows)}
    rows |= {name: node(name, "window", f"Letter {name} " + "x" * 60) for name in windows}
    toolset = UiToolset(Memory(tree(rows)))
    answer = answered(toolset, "list_windows", {"app": 100})
    assert len(json.dumps(answer).encode()) / 4 <= 4_000
    assert 20 < answer["result_count"] < 300
    assert answer["incomplete"]
    assert "more windows" in answer["notes"][-1]


def test_a_menu_that_is_not_open_takes_one_line_and_a_dialog_comes_first() -> None:
    rows = {"app": node("app", "application", "", "w", "d")}
    rows["w"] = node("w", "window", "Letter", "m", "t")
    rows["m"] = node("m", "menu_bar", "", "f")
    rows["f"] = node("f", "menu", "File", *[f"i{n}" for n in range(30)])
    unseen = frozenset(("enabled", "visible"))
    for n in range(30):
        rows[f"i{n}"] = node(f"i{n}", "menu_item", f"Entry {n}")._replace(states=unseen)
    rows["t"] = node("t", "text_area", "Text")
    rows["d"] = node("d", "dialog", "Save?", "y", states=("modal",))
    rows["y"] = node("y", "button", "Save")
    toolset = UiToolset(Memory(tree(rows)))
    told = answered(toolset, "get_ui_tree", {"app": APP.pid})["tree"].splitlines()
    assert "Save?" in told[0]
    assert sum("Entry" in line for line in told) == 0
    closed = next(line for line in told if '"File"' in line)
    assert "(30 menu_item)" in closed
    id = closed.split()[0]
    below = answered(toolset, "get_ui_tree", {"app": APP.pid, "element": id})["tree"]
    assert "Entry 29" in below
