"""What is said of Macs in Apple's documents and by users, and what the bridge makes of it.

Needs a wheel of PyObjC for the names and shapes of the frameworks (`ui_pyobjc`).
"""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import ui_mac_modules
import ui_pyobjc
from ui_calls import answered, prepare
from ui_mac_trees import App, Failing, Trees, button, element, extras, sheet, text, window

from iac_accessibility.toolset import UiToolset
from iac_base.errors import ToolError

VERSIONS = ui_pyobjc.versions()
pytestmark = pytest.mark.skipif(not VERSIONS, reason="no wheels of PyObjC (.ci/pyobjc)")

ONE, OTHER = os.getppid(), 1
"""Processes that run for as long as a test does."""

Tools = Callable[..., dict[str, Any]]


@pytest.fixture
def play() -> Iterator[Callable[..., tuple[Trees, Tools]]]:
    """Put apps on a Mac, and return it with what calls the tools for the first of them."""
    open_now: list[Any] = []

    def played(*apps: App) -> tuple[Trees, Tools]:
        mac = Trees(ui_pyobjc.load(VERSIONS[-1]), *apps)
        block = ui_mac_modules.installed(mac)
        block.__enter__()
        from iac_accessibility.macos.bridge import MacBridge

        toolset = UiToolset(MacBridge())
        open_now.append((toolset, block))

        def call(tool: str, **arguments: Any) -> dict[str, Any]:
            if tool == "plan":
                return {"level": prepare(toolset, "perform_action", arguments).facts.level}
            if tool == "close":
                toolset.close()
                return {}
            return answered(toolset, tool, {"app": ONE, **arguments})

        return mac, call

    yield played
    for toolset, block in open_now:
        toolset.close()
        block.__exit__(None, None, None)


def editor(*more: Any) -> App:
    field = element("AXTextField", Value="first", PlaceholderValue="Find")
    label = text("Name")
    named = element("AXTextField", Value="Ada", TitleUIElement=label)
    helped = element("AXCheckBox", Value=1, Help="Wrap lines", Subrole="AXSwitch")
    return App(ONE, "Editor", [window("Letter", label, named, field, helped, *more)])


def test_an_app_has_its_menu_bar_and_a_window_its_title_bar(play: Any) -> None:
    _, call = play(editor())
    tree = call("get_ui_tree", depth=9)["tree"]
    assert " window[@title='Letter'] active" in tree
    assert "menu_bar_item[@title='Apple']" in tree
    assert "notes" not in tree


def test_a_field_that_its_label_or_placeholder_calls_secret_is_one_for_every_tool(
    play: Any,
) -> None:
    label = text("Recovery key")
    named = element("AXTextField", Value="hunter2", TitleUIElement=label)
    held = element("AXTextField", Value="hunter2", PlaceholderValue="API token")
    _, call = play(App(ONE, "Keys", [window("Keys", label, named, held)]))
    assert not call("find_element", value="hunt")["result_count"]
    assert "hunter2" not in call("get_ui_tree", depth=9)["tree"]
    for row in call("find_element", role="text_field")["elements"]:
        assert row["value"] == "[secret]"
        answer = call("set_value", element=row["id"], value="correct horse")
        assert answer["previous_value"] == answer["new_value"] == "[secret]"


def test_what_stands_beside_a_field_or_a_code_tells_that_it_is_secret(play: Any) -> None:
    field = element("AXTextField", Value="hunter2")
    other = element("AXTextField", Value="Ada")
    boxed = element("AXTextField", Value="hunter2")
    rows = (text("API key:"), field, text("Nickname:"), other, text("Card number"))
    codes = (text("One-time code"), text("493 021"), text("Pages"), text("593 021"))
    box = element("AXGroup", boxed)
    _, call = play(App(ONE, "Keys", [window("Keys", *rows, box, *codes)]))
    found = call("find_element", role="text_field")["elements"]
    assert [row["value"] for row in found] == ["[secret]", "Ada", "[secret]"]
    assert [row.get("label") for row in found] == ["API key:", None, "Card number"]
    tree = call("get_ui_tree", depth=9)["tree"]
    assert "493 021" not in tree
    assert "593 021" in tree
    assert not call("find_element", title="493")["result_count"]


def test_a_field_is_named_by_its_title_element_its_placeholder_or_its_help(play: Any) -> None:
    _, call = play(editor())
    found = call("find_element", role="text_field")["elements"]
    assert [row["label"] for row in found] == ["Name", "Find"]
    assert call("find_element", role="switch")["elements"][0]["label"] == "Wrap lines"
    closing = call("find_element", role="button")["elements"][0]
    assert closing["label"] == "close button"


@pytest.mark.parametrize("app", ["Chromium", "Notes of an unknown maker"])
def test_a_tree_that_is_built_on_demand_is_asked_for_beside_a_menu_bar(play: Any, app: str) -> None:
    page = App(ONE, app, [window("Page", element("AXGroup", element("AXGroup")))])

    def wake() -> None:
        area = element("AXWebArea", button("Buy"), Title="Page")
        page.windows[0].attributes["AXChildren"][0].attributes["AXChildren"] = [area]

    page.wake = wake
    _, call = play(page)
    answer = call("get_ui_tree", depth=9)
    assert "button[@title='Buy']" in answer["tree"]
    assert "was empty" in " ".join(answer["notes"])


def test_what_woke_an_app_is_switched_back_where_it_was_off(play: Any) -> None:
    off = App(ONE, "Chromium", [window("Page", element("AXGroup"))])
    on = App(OTHER, "Electron", [window("Page", element("AXGroup"))], EnhancedUserInterface=True)
    _, call = play(off, on)
    for pid in (ONE, OTHER):
        call("get_ui_tree", app=pid, depth=9, timeout=0.3)
    call("close")
    assert off.switches[-1] == ("AXEnhancedUserInterface", False)
    assert ("AXEnhancedUserInterface", False) not in on.switches


def test_the_default_button_of_a_sheet_is_known(play: Any) -> None:
    keep, lose = button("Keep"), button("Continue")
    made = editor(sheet(text("Sure?"), keep, lose, default=lose))
    mac, _ = play(made)
    from ui_mac import Element

    from iac_accessibility.macos.bridge import MacBridge

    bridge = MacBridge()
    held = [Element(0, one) for one in (lose, keep, made.windows[0])]
    assert bridge.is_default(held[0], held[2], 1.0)
    assert not bridge.is_default(held[1], held[2], 1.0)
    assert mac.front == ONE


def test_the_end_of_a_window_that_was_there_before_is_told(play: Any) -> None:
    app = App(ONE, "Editor", [window("One", button("A")), window("Two", button("B"))])
    mac, call = play(app)
    begun = call("observe_changes", duration=0.1)
    mac.happen(app.windows.pop(), "AXUIElementDestroyed")
    late = window("Late", button("C"))
    mac.happen(late, "AXWindowCreated")
    seen = call("observe_changes", duration=0.1, cursor=begun["cursor"])["changes"]
    mac.happen(late, "AXUIElementDestroyed")
    after = call("observe_changes", duration=0.1, cursor=begun["cursor"])["changes"]
    told = [row["event"] for row in (*seen, *after)]
    assert told == ["window_closed", "window_created", "window_closed"]


def test_the_app_in_front_is_the_one_that_is_in_front_now(play: Any) -> None:
    other = App(OTHER, "Viewer", [window("Picture", button("Next"))])
    mac, call = play(editor(), other)
    assert call("get_focused_element", app=ONE)["app"]["name"] == "Editor"
    mac.front = OTHER
    rows = call("list_windows", app=OTHER)["windows"]
    assert [row["frontmost"] for row in rows] == [True]
    assert not call("list_windows", app=ONE)["windows"][0]["frontmost"]


def test_an_app_that_was_started_later_is_found(play: Any) -> None:
    mac, call = play(editor())
    call("list_windows")
    mac.running.append(App(OTHER, "Viewer", [window("Picture", button("Next"))]))
    assert call("list_windows", app="Viewer")["result_count"] == 1
    mac.running.pop()
    with pytest.raises(ToolError):
        call("get_ui_tree", app="Viewer")


def test_children_that_an_app_fails_to_give_cost_no_more_than_themselves(play: Any) -> None:
    list_ = element("AXTable", Title="Tracks")
    list_.attributes["AXChildren"] = Failing("CannotComplete")
    broken = element("AXTextField", Title="Tempo", Value=Failing("Failure"))
    _, call = play(editor(list_, broken, button("Play")))
    answer = call("get_ui_tree", depth=9)
    assert "table[@title='Tracks']" in answer["tree"]
    assert "text_field[@title='Tempo']" in answer["tree"]
    assert "button[@title='Play']" in answer["tree"]
    assert answer["incomplete"]
    assert "did not say" in answer["cuts"][0]["why"]


def test_menu_extras_are_read_and_worked(play: Any) -> None:
    pressed: list[str] = []
    app = editor()
    app.root.attributes["AXExtrasMenuBar"] = bar = extras("Backup, 2 hours ago")
    bar.attributes["AXChildren"][0].pressed(lambda: pressed.append("backup"))
    _, call = play(app)
    (row,) = call("find_element", title="backup")["elements"]
    assert row["path"].startswith("menu_bar[1]/")
    call("perform_action", element=row["id"], action="press")
    assert pressed == ["backup"]


def test_macos_puts_up_its_own_question_once(play: Any) -> None:
    mac, call = play(editor())
    mac.trusted = False
    for _ in range(2):
        with pytest.raises(ToolError) as caught:
            call("get_ui_tree")
        assert caught.value.facts()["type"] == "PERMISSION_DENIED"
    assert mac.prompts == 1


@pytest.mark.parametrize("obeys", [True, False])
def test_an_app_that_does_not_come_to_the_front_is_not_typed_into(play: Any, obeys: bool) -> None:
    field = element("AXTextField", Title="Name", Value="first")
    app = App(OTHER, "Viewer", [window("Picture", field)])
    app.obeys = obeys
    mac, call = play(editor(), app)
    from iac_accessibility.macos import desktop
    from iac_accessibility.model import ActionFailed

    if obeys:
        desktop.activate_process(OTHER, 0.2)
    else:
        with pytest.raises(ActionFailed):
            desktop.activate_process(OTHER, 0.05)
    assert (mac.front == OTHER) is obeys
    assert call("list_windows", app=OTHER)["windows"][0]["frontmost"] is obeys


def test_a_long_text_is_read_by_its_range_and_rows_from_a_number_on(play: Any) -> None:
    whole = "".join(f"{number:05}" for number in range(4_000))
    long = element("AXTextArea", Title="Log", Value=whole, NumberOfCharacters=len(whole))
    rows = [element("AXRow", element("AXCell", text(f"Row {n}"))) for n in range(1_500)]
    table = element("AXTable", *rows, Title="Rows")
    play(editor(long, table))
    from ui_mac import Element

    from iac_accessibility.macos.bridge import MacBridge

    bridge = MacBridge()
    assert bridge.read_text(Element(0, long), 10_000, 10, 1.0) == ("0200002001", 20_000)
    found, total = bridge.read_children(Element(0, table), 1_200, 3, 1.0)
    assert [one.handle for one in found] == rows[1_200:1_203]
    assert total == 1_500


def test_frameworks_are_called_inside_a_pool_on_any_thread(play: Any) -> None:
    _, call = play(editor())
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(call("get_ui_tree", depth=9)))
    thread.start()
    thread.join()
    assert answers
    with pytest.raises(AssertionError, match="pool"):
        _outside()


def _outside() -> None:
    from iac_accessibility.macos.frameworks import HIServices

    failed: list[BaseException] = []

    def call() -> None:
        try:
            HIServices.AXUIElementCreateSystemWide()
        except AssertionError as error:
            failed.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    raise failed[0]
