"""Everyday tasks on apps that no other test uses, from the first look to what a person would see.

A task is an app, calls, and an element that is there in the end. An element is meant by what
find_element is given; finding it is a call too. Apps that are not installed are skipped.
"""

import json
import shutil
import statistics
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import ui_stack as stack
from ui_user import User, find_shown_app

from iac_base.errors import ToolError

pytestmark = [pytest.mark.process, pytest.mark.sweep(3)]

Step = tuple[str, dict[str, Any]]
CALLS, TOKENS = 5, 1_600
"""Most calls and tokens of a task, in the median."""


class Task(NamedTuple):
    """What is wanted: the app's command, the calls, and what is there in the end."""

    wanted: str
    command: tuple[str, ...]
    calls: tuple[Step, ...]
    seen: dict[str, Any] | str


def press(title: str, role: str = "button") -> Step:
    return "perform_action", {"element": {"title": title, "role": role}, "action": "press"}


def toggle(title: str) -> Step:
    return "click", {"element": {"title": title, "role": "toggle_button"}}


def fill(value: object, **element: str) -> Step:
    return "set_value", {"element": element, "value": value}


def choose(menu_path: str) -> Step:
    return "click_menu", {"menu_path": menu_path}


def keys(*strokes: str) -> Step:
    return "press_keys", {"keys": list(strokes)}


SUM, PAD, ZEN = ("galculator",), ("l3afpad", "{file}"), ("zenity",)
FORM = (*ZEN, "--forms", "--title=Account", "--add-entry=Nick", "--add-password=Pass")
LIST = (*ZEN, "--list", "--title=Pick", "--column=Fruit", "apple", "pear", "plum")
SCALE = (*ZEN, "--scale", "--title=Volume", "--value=10")
DESIGN, FILES = ("designer",), ("pcmanfm", "{folder}")
RESULT = {"role": "text_area"}
TASKS = (
    Task("add two numbers", SUM, tuple(map(toggle, "2+3=")), {**RESULT, "value": "5"}),
    Task("multiply by keys", SUM, (keys("7", "*", "8", "Return"),), {**RESULT, "value": "56"}),
    Task("clear", SUM, (keys("4", "2"), toggle("AC")), {**RESULT, "value": "0"}),
    Task(
        "recall what was stored", SUM,
        (keys("9"), toggle("MS"), press("save here", "menu_item"), toggle("C"), toggle("MR"),
         press("9", "menu_item")),
        {**RESULT, "value": "9"},
    ),
    Task("show sines", SUM, (choose("View > Scientific Mode"),), {"title": "sin"}),
    Task("open the preferences", SUM, (choose("Edit > Preferences"),), {"title": "Preferences"}),
    Task("close the calculator", SUM, (choose("File > Quit"),), "ended"),
    Task("write a note", PAD, (fill("Milk", role="text_area"),), {**RESULT, "value": "Milk"}),
    Task(
        "add a line", PAD,
        (("type_text", {"element": {"role": "text_area"}, "text": " and bread"}),),
        {**RESULT, "value": "hello and bread"},
    ),
    Task("save", PAD, (fill("kept", role="text_area"), keys("ctrl+s")), "kept"),
    Task("look for a word", PAD, (choose("Search > Find..."),), {"role": "dialog"}),
    Task("replace words", PAD, (choose("Search > Replace..."),), {"title": "Replace"}),
    Task("wrap lines", PAD, (choose("Options > Word Wrap"),), {"role": "text_area"}),
    Task("close the editor", PAD, (choose("File > Quit"),), "ended"),
    Task(
        "sign up", FORM,
        (fill("Ada", title="Nick", role="text_field"), fill("hush", title="Pass"), press("OK")),
        "ended",
    ),
    Task("cancel a form", FORM, (press("Cancel"),), "ended"),
    Task(
        "name a nick", FORM, (fill("Bo", title="Nick", role="text_field"),), {"value": "Bo"}
    ),
    Task(
        "pick a fruit", LIST,
        (("click", {"element": {"title": "pear", "role": "cell"}}), press("OK")), "ended",
    ),
    Task("set a volume", SCALE, (fill(60, role="slider"),), {"role": "slider", "value": "60"}),
    Task("close a dialog by a key", SCALE, (keys("Escape"),), "ended"),
    Task("see what is in a folder", FILES, (), {"title": "letter.txt", "role": "icon"}),
    Task(
        "open a folder below", FILES,
        (("click", {"element": {"title": "inner", "role": "icon"}, "count": 2}),),
        {"title": "deep.txt"},
    ),
    Task("dismiss the first dialog", DESIGN, (press("Close"),), {"title": "Qt Widgets Designer"}),
    Task(
        "start a main window", DESIGN,
        (("click", {"element": {"title": "Main Window", "role": "cell"}}), press("Create")),
        {"title": "MainWindow"},
    ),
    Task(
        "keep the dialog away", DESIGN,
        (fill(False, title="Show this Dialog on Startup", role="check_box"),),
        {"title": "Show this Dialog", "role": "check_box", "value": "False"},
    ),
)  # fmt: skip


def program_of(task: Task) -> str:
    """Return the path of a task's program; empty where it is not installed."""
    if task.command == DESIGN:
        spec = find_spec("PySide6")
        file = Path(spec.origin or "").with_name("designer") if spec else Path("none")
        return str(file) if file.exists() else ""
    return shutil.which(task.command[0]) or ""


def play(task: Task, user: User, file: Path) -> tuple[bool, int, int]:
    """Return whether a task was reached, with how many calls and tokens."""
    answers: list[dict[str, Any]] = [user("get_ui_tree", timeout=10)]
    for tool, given in task.calls:
        arguments = {**given}
        if "element" in arguments:
            found = user("find_element", **arguments["element"], timeout=10)
            answers.append(found)
            arguments["element"] = found["elements"][0]["id"]
        answers.append(user(tool, **arguments))

    def reached() -> bool:
        if task.seen == "ended":
            return user.process.poll() is not None
        if isinstance(task.seen, str):
            return file.read_text().strip() == task.seen
        return bool(user("find_element", **task.seen, timeout=10)["elements"])

    stack.wait_until(reached, task.wanted)
    tokens = sum(len(json.dumps(one, ensure_ascii=False).encode()) for one in answers) // 4
    return True, len(answers), tokens


def test_everyday_tasks_are_reached(
    desk: stack.Desktop, bridge: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from iac_accessibility.toolset import UiToolset

    monkeypatch.setattr(stack, "PATIENCE", 8.0)
    failed: list[str] = []
    costs: list[tuple[int, int]] = []
    there = [task for task in TASKS if program_of(task)]
    if not there:
        pytest.skip("none of the apps is installed")
    for number, task in enumerate(there):
        folder = tmp_path / str(number)
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "deep.txt").write_text("deep")
        file = folder / "letter.txt"
        file.write_text("hello")
        words = [one.format(file=file, folder=folder) for one in task.command[1:]]
        process = desk.start(program_of(task), *words, GTK_MODULES="gail:atk-bridge")
        try:
            app = stack.wait_until(lambda pid=process.pid: find_shown_app(bridge, pid), "the app")
            user = User(UiToolset(bridge), app, folder, process)  # type: ignore[arg-type]
            _, calls, tokens = play(task, user, file)
            costs.append((calls, tokens))
        except (AssertionError, ToolError, IndexError) as error:
            failed.append(f"{task.wanted}: {type(error).__name__}: {str(error)[:300]}")
        finally:
            desk.end(process)
    calls, tokens = (statistics.median(column) for column in zip(*costs, strict=True))
    print(f"{len(there) - len(failed)} of {len(there)}, median {calls} calls, {tokens} tokens")
    assert len(failed) <= len(there) * 2 // 25, "\n".join(failed)
    assert calls <= CALLS
    assert tokens <= TOKENS
