"""Three hundred trials of one seed: nothing but what was meant is acted on, and little is refused.

A trial looks at an app of windows with one title and rows with one set of buttons, means one
button, and acts on it. Between look and question, and between question and act, rows move, come,
go and are renamed, elements are replaced by new ones that are called the same, and windows are
closed and opened again. In half of the apps elements belong to places, as in long lists, so that
another row gets the element of one that has moved. There nothing that an app says tells a row from
another of the same name in the same place, so that none is replaced so.
"""

import random
from dataclasses import dataclass, field
from itertools import count

import pytest
from ui_calls import answered, perform, prepare
from ui_memory import APP, Memory, node

from iac_accessibility.model import ElementGone, Handle, UiNode
from iac_accessibility.toolset import UiToolset
from iac_base.errors import ToolError

TRIALS = 300
NAMES = ("Invoice", "Letter", "Order", "Photo", "Receipt")
ACTS = ("Open", "Delete")


@dataclass
class Line:
    """A row: which one it is, what it is called, and its elements."""

    key: int
    name: str
    element: int


@dataclass
class Pane:
    """A window and its rows; `places` are the elements of its places, where rows have none."""

    element: int
    rows: list[Line] = field(default_factory=list)


class Model:
    """An app whose rows and windows change, as a bridge sees it."""

    def __init__(self, rng: random.Random, *, recycled: bool) -> None:
        self.rng, self.recycled, self.numbers = rng, recycled, count(1)
        self.panes = [self._new_pane() for _ in range(2)]
        self.bridge = Memory(self._node)

    def _new_pane(self) -> Pane:
        pane = Pane(next(self.numbers))
        pane.rows = [self._new_row() for _ in range(4)]
        return pane

    def _new_row(self) -> Line:
        key = next(self.numbers)
        return Line(key, f"{self.rng.choice(NAMES)} {self.rng.randrange(6)}", next(self.numbers))

    def _handles(self, pane: Pane) -> dict[str, Line]:
        """Return the handle of each row."""
        return {
            f"{pane.element}.{at if self.recycled else row.element}": row
            for at, row in enumerate(pane.rows)
        }

    def owner(self, handle: Handle) -> tuple[int, int, str, str]:
        """Return whose button an element is: window, row, the row's name, what it does."""
        row, _, act = str(handle).rpartition("/")
        for pane in self.panes:
            if line := self._handles(pane).get(row):
                return pane.element, line.key, line.name, act
        raise ElementGone("gone")

    def _node(self, handle: Handle) -> UiNode:
        text = str(handle)
        if text == "app":
            return node("app", "application", "", *(f"w{one.element}" for one in self.panes))
        for pane in self.panes:
            rows = self._handles(pane)
            if text == f"w{pane.element}":
                return node(text, "window", "Documents", f"l{pane.element}")
            if text == f"l{pane.element}":
                return node(text, "list", "", *rows)
            row, _, part = text.partition("/")
            if row not in rows:
                continue
            if not part:
                return node(text, "list_item", "", *(f"{row}/{one}" for one in ("name", *ACTS)))
            if part == "name":
                return node(text, "static_text", rows[row].name)
            return node(text, "button", part, actions=("press",))
        raise ElementGone("gone")

    def change(self) -> None:
        """Change what a person or the app itself may, or nothing."""
        rng = self.rng
        pane = rng.choice(self.panes)
        at = rng.randrange(len(pane.rows))
        match rng.choice(("", "", "move", "insert", "remove", "rename", "replace", "reopen")):
            case "move":
                pane.rows.insert(rng.randrange(len(pane.rows)), pane.rows.pop(at))
            case "insert":
                pane.rows.insert(at, self._new_row())
            case "remove" if len(pane.rows) > 2:
                del pane.rows[at]
            case "rename":
                pane.rows[at].name = self._new_row().name
            case "replace" if not self.recycled:
                # The old one has gone, and another of the same name stands there.
                pane.rows[at] = Line(next(self.numbers), pane.rows[at].name, next(self.numbers))
            case "reopen":
                opened = self._new_pane()
                for new, old in zip(opened.rows, pane.rows, strict=False):
                    new.name = old.name
                self.panes[self.panes.index(pane)] = opened


@dataclass
class Tally:
    """What trials came to: needless is a refusal though what was meant was there as it was."""

    acted: int = 0
    refused: int = 0
    needless: int = 0
    wrong: list[str] = field(default_factory=list)


def play_trial(rng: random.Random, tally: Tally, *, recycled: bool) -> None:
    model = Model(rng, recycled=recycled)
    toolset, act = UiToolset(model.bridge), rng.choice(ACTS)
    arguments = {"app": APP.pid, "role": "button", "title": act, "max_results": 50}
    found = answered(toolset, "find_element", arguments)["elements"]
    shown = [(pane.element, row.key, row.name, act) for pane in model.panes for row in pane.rows]
    meant = rng.randrange(len(shown))
    if rng.random() < 0.3:
        answered(toolset, "get_ui_tree", {"app": APP.pid})
    element = found[meant]["id" if rng.random() < 0.7 else "path"]
    given = {"app": APP.pid, "element": element}
    tool = rng.choice(("click", "perform_action"))
    if tool == "perform_action":
        given["action"] = "press"
    try:
        model.change()
        plan = prepare(toolset, tool, given)
        model.change()
        perform(plan)
    except ToolError:
        assert model.bridge.done == []
        tally.refused += 1
        present = {
            (pane.element, row.key, row.name, act) for pane in model.panes for row in pane.rows
        }
        # An element that belongs to a place is another row's once its own has moved.
        tally.needless += shown[meant] in present and not recycled
        return
    tally.acted += 1
    if (got := model.owner(model.bridge.done[0][1])) != shown[meant]:
        tally.wrong.append(f"{tool} {element} meant {shown[meant]}, got {got}")


@pytest.mark.parametrize("recycled", [False, True])
def test_nothing_but_what_was_meant_is_acted_on_and_little_is_refused(recycled: bool) -> None:
    rng, tally = random.Random(46), Tally()
    for _ in range(TRIALS // 2):
        play_trial(rng, tally, recycled=recycled)
    assert tally.wrong == []
    assert tally.acted > TRIALS // 4
    assert tally.needless <= TRIALS // 2 * 0.05
