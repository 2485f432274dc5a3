"""The Mac's bridge, unchanged, over a look-alike of the frameworks; its names against PyObjC's own.

Needs wheels of PyObjC (see `ui_pyobjc`). What they cannot vouch for is `REVIEWED`.
"""

import ast
import os
import signal
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import ui_mac
import ui_mac_modules
import ui_pyobjc
import ui_stack as stack
from packaging.requirements import Requirement
from ui_calls import answered, perform, prepare
from ui_reasons import CASES
from ui_user import User

from iac_accessibility.toolset import UiToolset
from iac_base.errors import ToolError

SOURCE = Path(ui_pyobjc.ROOT, "runtime/iac_accessibility/macos")
SOURCES = {file.name: file.read_text() for file in sorted(SOURCE.glob("*.py"))}
VERSIONS = ui_pyobjc.versions()
needs_wheels = pytest.mark.skipif(not VERSIONS, reason="no wheels of PyObjC (.ci/pyobjc)")

NOTHING = ui_pyobjc.Framework({}, {}, frozenset())
REVIEWED = {
    # Classes come from the Objective-C runtime; their selectors answer with objects or numbers.
    "AppKit": {
        "NSWorkspace",
        "NSRunningApplication",
        "NSPasteboard",
        "NSPasteboardItem",
        "NSBundle",
    },
    # Written in C inside PyObjC, and in the metadata since 13.0 only.
    "HIServices": {"AXValueCreate", "AXValueGetValue"},
    # PyObjC's own module, not a framework.
    "objc": {"autorelease_pool", "callbackFor", "loadBundleFunctions"},
}
SELECTORS = {
    *("sharedWorkspace", "runningApplications", "URLForApplicationWithBundleIdentifier_"),
    *("runningApplicationWithProcessIdentifier_", "activationPolicy", "processIdentifier"),
    *("bundleIdentifier", "localizedName", "launchDate"),
    *("timeIntervalSince1970", "activateWithOptions_", "bundleURL", "path"),
    *("generalPasteboard", "pasteboardItems", "types", "dataForType_", "clearContents"),
    *("setString_forType_", "changeCount", "setData_forType_", "writeObjects_", "alloc", "init"),
    "bundleWithIdentifier_",
}


class Use(NamedTuple):
    """A name of a framework where the bridge uses it; `call` where it is called."""

    framework: str
    name: str
    call: ast.Call | None
    place: str


def uses(sources: Mapping[str, str] = SOURCES) -> list[Use]:
    """Return every name that the bridge uses of a framework, with the call if it is one."""
    found = []
    for file, text in sources.items():
        module = ast.parse(text)
        aliases = {
            alias.asname or alias.name: alias.name
            for row in ast.walk(module)
            if isinstance(row, ast.ImportFrom) and (row.module or "").endswith("frameworks")
            for alias in row.names
        } | {
            row.target.id: row.target.id
            for row in module.body
            if isinstance(row, ast.AnnAssign)
            and isinstance(row.target, ast.Name)
            and isinstance(row.value, ast.Call)
            and getattr(row.value.func, "id", "") == "import_module"
        }
        calls = {id(row.func): row for row in ast.walk(module) if isinstance(row, ast.Call)}
        for row in ast.walk(module):
            if (
                isinstance(row, ast.Attribute)
                and isinstance(row.value, ast.Name)
                and row.value.id in aliases
            ):
                place = f"{file}:{row.lineno}"
                found.append(Use(aliases[row.value.id], row.attr, calls.get(id(row)), place))
    return found


def wrong(used: Iterable[Use], frameworks: Mapping[str, ui_pyobjc.Framework]) -> list[str]:
    """Return what PyObjC has not, or takes with another number of arguments."""
    found = []
    for framework, name, call, place in used:
        known = frameworks.get(framework, NOTHING)
        if name not in known.names:
            if name in REVIEWED.get(framework, ()):
                continue
            found.append(f"{place}: {framework} has no {name}")
        elif call is not None and name in known.functions:
            wanted = len(known.functions[name].arguments)
            if len(call.args) != wanted:
                found.append(f"{place}: {name} takes {wanted} arguments")
    return found


def test_the_wheels_that_are_pinned_are_of_releases_that_may_be_installed() -> None:
    project = tomllib.loads(Path(ui_pyobjc.ROOT, "pyproject.toml").read_text())["project"]
    frameworks = [Requirement(line) for line in project["optional-dependencies"]["macos"]]
    for release in ui_pyobjc.releases():
        pinned = Path(__file__).with_name(f"pyobjc-{release}.txt").read_text()
        for wanted in frameworks:
            assert wanted.specifier.contains(release)
            assert f"{wanted.name}=={release} " in pinned
    assert len(ui_pyobjc.releases()) == 2


def test_where_wheels_were_asked_for_there_are_all_of_them() -> None:
    if not os.environ.get("IAC_PYOBJC_WHEELS"):
        pytest.skip("IAC_PYOBJC_WHEELS is not set")
    there = {folder.name: ui_pyobjc.load(folder) for folder in VERSIONS}
    assert set(there) >= {
        f"{release}-{python}"
        for release in ui_pyobjc.releases()
        for python in ("cp311", "cp312", "cp313", "cp314")
    }
    assert {tuple(sorted(known)) for known in there.values()} == {
        ("AppKit", "CoreFoundation", "HIServices", "Quartz")
    }


@needs_wheels
@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_every_name_and_every_call_is_one_that_pyobjc_has(folder: Path) -> None:
    used = uses()
    assert len(used) > 60
    assert wrong(used, ui_pyobjc.load(folder)) == []


@needs_wheels
@pytest.mark.parametrize(("right", "mistaken", "said"), [
    ("AXUIElementPerformAction(", "AXUIElementPerformActions(", "has no"),
    ("AXUIElementPerformAction(", "AXUIElementPerformAction(None, ", "takes 2 arguments"),
    ("kAXErrorCannotComplete", "kAXErrorCanNotComplete", "has no"),
    ("CGEventPostToPid(", "CGEventPostToPid(0, ", "takes 2 arguments"),
])  # fmt: skip
def test_a_mistake_in_the_bridge_is_found(right: str, mistaken: str, said: str) -> None:
    sources = {file: text.replace(right, mistaken) for file, text in SOURCES.items()}
    assert sources != SOURCES
    found = wrong(uses(sources), ui_pyobjc.load(VERSIONS[-1]))
    assert found
    assert all(said in line for line in found)


@needs_wheels
def test_all_wheels_give_the_calls_of_the_bridge_one_shape() -> None:
    # So what runs over the look-alike of one release holds for the others.
    used = {(use.framework, use.name) for use in uses()}
    names = sorted((where, name) for where, name in used if name not in REVIEWED.get(where, ()))
    shapes = {}
    for folder in VERSIONS:
        known = ui_pyobjc.load(folder)
        shapes[folder.name] = [known[where].functions.get(name) for where, name in names]
    first = shapes[VERSIONS[0].name]
    assert sum(shape is not None for shape in first) > 20
    assert [name for name, shape in shapes.items() if shape != first] == []


def test_the_list_of_what_only_a_mac_can_confirm_is_whole_and_not_longer() -> None:
    used = {(framework, name) for framework, name, _, _ in uses()}
    for framework, names in REVIEWED.items():
        for name in names:
            assert (framework, name) in used
    called = {
        row.func.attr
        for text in SOURCES.values()
        for row in ast.walk(ast.parse(text))
        if isinstance(row, ast.Call) and isinstance(row.func, ast.Attribute)
    }
    assert called >= SELECTORS


@pytest.fixture(params=VERSIONS[-1:], ids=lambda folder: folder.name)
def mac(request: Any, bridge: Any) -> Iterator[ui_mac.Mac]:
    """The look-alike, in the place of the frameworks."""
    played = ui_mac.Mac(bridge, ui_pyobjc.load(request.param))
    with ui_mac_modules.installed(played):
        yield played


@pytest.fixture
def user(mac: ui_mac.Mac, start: Any, tmp_path: Path) -> Iterator[User]:
    """A user of the tools over the Mac's bridge."""
    from iac_accessibility.macos.bridge import MacBridge

    real = start("gtk")
    toolset = UiToolset(MacBridge())
    yield User(toolset, real.app, tmp_path, real.process)
    toolset.close()


@needs_wheels
@pytest.mark.process
def test_the_tools_work_over_the_macs_bridge(user: User) -> None:
    tree = user("get_ui_tree", depth=20)["tree"]
    assert " window[@title='Fixture'] active" in tree
    assert "secure_text_field[@title='Passphrase'] = [secret]" in tree
    assert user.press("Press")["success"]
    assert user.sees("count 1")
    name = user.path(title="Name", role="AXTextField")
    assert user("set_value", element=name, value="Zoë")["new_value"] == "Zoë"
    slider = user.path(role="AXSlider")
    assert user("set_value", element=slider, value=9)["new_value"] == 9
    assert "0 to 100" in user.fails("set_value", element=slider, value=900)["message"]
    assert user("set_value", element=user.path(role="check_box"), value=True)["success"]
    (window,) = user("list_windows")["windows"]
    assert window["frontmost"]
    assert window["size"]["width"] > 100
    assert user("get_focused_element")["has_focus"]
    user("click_menu", menu_path="File > Save")
    stack.wait_until((user.folder / "out.txt").exists, "the file")
    facts = user.fails("get_ui_tree", app="com.apple.Safari")
    assert facts["reason"] == "app_not_running"
    user.press("Minimize")
    stack.wait_until(lambda: not user("list_windows")["windows"], "the window is minimized")
    assert user("list_windows", include_minimized=True)["windows"][0]["minimized"]


@needs_wheels
@pytest.mark.process
def test_stale_and_default_over_the_macs_bridge(user: User) -> None:
    path = user.path(title="Press", role="button")
    user.press("Rename")
    assert user.fails("perform_action", element=path, action="AXPress")["reason"] == "stale"
    user.press("Ask")
    stack.wait_until(lambda: user.sees("Sure?"), "the dialog")
    ok = user.path(title="OK", role="button")
    plan = prepare(
        user.toolset, "perform_action", {"app": user.app.pid, "element": ok, "action": "press"}
    )
    assert plan.facts.level == "DANGEROUS"


@needs_wheels
@pytest.mark.process
@pytest.mark.parametrize("name", ["Row above", "Row gone", "Rows swapped", "Rows reused"])
@pytest.mark.parametrize("planned", [False, True], ids=["found", "planned"])
def test_rows_are_followed_or_stale_over_the_macs_bridge(
    mac: ui_mac.Mac, start: Any, tmp_path: Path, name: str, planned: bool
) -> None:
    from iac_accessibility.macos.bridge import MacBridge

    real = start("gtk", "--items", "list")
    toolset = UiToolset(MacBridge())
    user = User(toolset, real.app, tmp_path, real.process)
    stack.wait_until(lambda: user.sees("Item 2"), "the rows")
    found = user("find_element", role="button", title="Open")["elements"]
    path = next(row["path"] for row in found[1:])
    arguments = {"app": user.app.pid, "element": path, "action": "press"}
    plan = prepare(toolset, "perform_action", arguments) if planned else None
    user.press(name)
    if name in ("Row above", "Rows swapped"):
        # It only moved: handle and row agree.
        perform(plan or prepare(toolset, "perform_action", arguments))
        assert user.sees("Open Item 1")
    else:
        with pytest.raises(ToolError) as caught:
            perform(plan or prepare(toolset, "perform_action", arguments))
        assert caught.value.facts()["reason"] == "stale"
        assert user.sees("nothing done")
    toolset.close()


@needs_wheels
@pytest.mark.process
@pytest.mark.parametrize(
    ("reason", "type_"),
    # Whether an app is installed is asked of the system, which knows none here.
    sorted({*CASES} - {("app_not_running", "APP_NOT_RUNNING"), ("no_menu", "NOT_SUPPORTED")}),
)
def test_the_reasons_are_the_same_over_the_macs_bridge(
    user: User, start: Any, reason: str, type_: str
) -> None:
    facts = CASES[reason, type_](user, start)
    assert (facts["reason"], facts["type"]) == (reason, type_)


@needs_wheels
@pytest.mark.process
def test_what_lies_at_a_point_is_asked_of_the_whole_system(user: User) -> None:
    button = user("find_element", title="Press", role="button")["elements"][0]
    known = user.toolset.session.memory.lookup_id(button["id"])
    assert known is not None
    x, y = (button["position"][key] + 9 for key in ("x", "y"))
    assert user.toolset.session.bridge.element_at(None, x, y, 1.0) == known.fingerprint.handle


@needs_wheels
@pytest.mark.process
def test_changes_are_heard_on_a_run_loop(user: User) -> None:
    begun = user("observe_changes", duration=0.3)
    user.press("Second")
    seen = user("observe_changes", duration=0.6, cursor=begun["cursor"])
    assert "window_created" in [row["event"] for row in seen["changes"]]


@needs_wheels
@pytest.mark.process
def test_keys_are_typed_in_pieces_into_a_focused_field(mac: ui_mac.Mac, user: User) -> None:
    from iac_accessibility.macos.bridge import MacBridge

    text = "a text of more than twenty letters"
    hands = MacBridge().input_devices
    path = user.path(title="Name", role="text_field")
    user("press_keys", element=path, keys=["cmd+a", "Delete"])
    hands.type_text(text, lambda: None)
    assert "".join(mac.typed) == text
    assert len(mac.typed) == 2
    stack.wait_until(lambda: user("find_element", value=text)["result_count"], "the text")


@needs_wheels
@pytest.mark.process
def test_keys_are_not_given_while_another_process_has_secure_input(
    mac: ui_mac.Mac, user: User
) -> None:
    field = user.path(title="Name", role="text_field")
    mac.holder = os.getpid()
    facts = user.fails("press_keys", element=field, keys=["a"])
    assert facts["reason"] == "focus_lost"
    assert "another program holds the keyboard" in facts["message"]
    # A password field of the app itself has it as well.
    mac.holder = user.app.pid
    assert user("press_keys", element=field, keys=["a"])["keys"] == 1


@needs_wheels
@pytest.mark.process
def test_no_permission_a_frozen_and_a_killed_app(mac: ui_mac.Mac, user: User) -> None:
    mac.trusted = False
    assert user.fails("get_ui_tree")["type"] == "PERMISSION_DENIED"
    assert user.fails("observe_changes", duration=0.1)["type"] == "PERMISSION_DENIED"
    with pytest.raises(ToolError) as caught:
        answered(user.toolset, "list_windows", {})
    assert caught.value.facts()["pane"] == "Privacy & Security > Accessibility"
    mac.trusted = True
    os.kill(user.process.pid, signal.SIGSTOP)
    assert user.fails("get_ui_tree", timeout=0.5)["type"] == "TIMEOUT"
    os.kill(user.process.pid, signal.SIGCONT)
    plan = prepare(user.toolset, "get_ui_tree", {"app": user.app.pid})
    os.kill(user.process.pid, signal.SIGKILL)
    user.process.wait()
    with pytest.raises(ToolError):
        perform(plan)


@needs_wheels
@pytest.mark.process
def test_an_app_is_woken_through_its_two_switches(mac: ui_mac.Mac, user: User) -> None:
    from iac_accessibility.macos.bridge import MacBridge

    assert "asked" in MacBridge().request_tree(user.app)
