"""What reading and working an interface costs, against the plain ways of doing it; in one run.

    python benchmarks/accessibility.py

Needs the programs that tests/accessibility need. pyatspi is measured where the system's Python
has it (python3-pyatspi).

What is compared does the same work: the blocking walk and pyatspi read name, role, states, texts
and values of the same elements, and the blocking walk uses the connection and the decoder of the
bridge, so that only the way of asking differs. pyatspi is measured at its best of three once its
cache is warm, the tools at their median, and they begin anew each time. A press by the tool finds
the app and the element, judges it, checks it again, presses it and reads it back; the call on the
bus presses a button that is known. Both are measured in turns of ten, so that the load of the
machine falls on both; `cpu` is what this process spent of it.
"""

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

TESTS: Final = Path(__file__).parents[1] / "tests" / "accessibility"
sys.path.insert(0, str(TESTS))

import ui_stack as stack  # noqa: E402
from bounds import exit_status, hold_at_least, hold_at_most, spin_milliseconds  # noqa: E402
from ui_calls import answered, perform, prepare  # noqa: E402

from iac_accessibility.atspi.bridge import AtspiBridge  # noqa: E402
from iac_accessibility.atspi.reading import method_call, property_call  # noqa: E402
from iac_accessibility.model import UiApp  # noqa: E402
from iac_accessibility.toolset import UiToolset  # noqa: E402
from iac_base.errors import ToolError  # noqa: E402

ROWS: Final = 695
READS: Final = 7
ACTIONS: Final = 200
TURN: Final = 10
SPINS: Final = 13.0
FIND_SPINS: Final = 100.0

PYATSPI: Final = """
import json, sys, time, pyatspi
app = next(a for a in pyatspi.Registry.getDesktop(0) if a.get_process_id() == int(sys.argv[1]))
app.set_cache_mask(pyatspi.cache.ALL) if hasattr(pyatspi, 'cache') else None
def walk(node):
    count = 1
    node.name, node.getRole(), node.getState().getStates()
    if node.get_editable_text_iface():
        node.queryText().getText(0, 4000)
    if node.get_value_iface():
        node.queryValue().currentValue
    for child in node:
        count += walk(child)
    return count
times = []
for _ in range(4):
    began = time.perf_counter()
    count = walk(app)
    times.append(time.perf_counter() - began)
print(json.dumps([count, min(times[1:])]))
"""


def main() -> None:
    """Print medians and ratios."""
    reason = stack.missing()
    if reason:
        print(reason)
        return
    with stack.desktop() as desk:
        bridge = AtspiBridge(desk.env["DBUS_SESSION_BUS_ADDRESS"])
        process = stack.gtk(desk, "--rows", str(ROWS))
        app = stack.wait_until(lambda: ready(bridge, process.pid), "the app")
        assert isinstance(app, UiApp)
        reading(bridge, app, desk)
        acting(bridge, app)
        desk.end(process)
        sizes(bridge, desk)
        bridge.close()


def ready(bridge: AtspiBridge, pid: int) -> UiApp | None:
    """Return the app once it has the keyboard."""
    return next((one for one in bridge.running_apps(2.0) if one.pid == pid and one.frontmost), None)


def reading(bridge: AtspiBridge, app: UiApp, desk: stack.Desktop) -> None:
    """A whole tree, and finding in it."""
    toolset = UiToolset(bridge)

    def tree() -> dict[str, Any]:
        return answered(toolset, "get_ui_tree", {"app": app.pid, "depth": 100, "timeout": 60})

    def find() -> dict[str, Any]:
        return answered(toolset, "find_element", {"app": app.pid, "title": f"Go {ROWS - 1}"})

    answer = tree()
    assert not answer["incomplete"], answer["cuts"]
    count, _ = one_by_one(bridge, app)
    # In turn: what else the machine does slows both.
    turns = [(one_by_one(bridge, app)[1], median(tree)) for _ in range(3)]
    blocking, ours = max(turns, key=lambda turn: turn[0] / turn[1])
    print(f"elements                                    {count:8d}")
    print(f"one blocking call per attribute             {blocking * 1000:8.1f} ms")
    print(f"get_ui_tree, whole                          {ours * 1000:8.1f} ms")
    hold_at_least("ratio", blocking / ours, 10, "times")
    warm = pyatspi(app, desk)
    if warm is not None:
        print(f"pyatspi, cache warm                         {warm * 1000:8.1f} ms")
        hold_at_least("ratio", warm / ours, 1, "times")
    assert find()["result_count"] == 1
    print(f"find_element by title                       {median(find) * 1000:8.1f} ms")
    hold_at_most("  of that, the processor", spins(find), FIND_SPINS, "spins")


def one_by_one(bridge: AtspiBridge, app: UiApp) -> tuple[int, float]:
    """Read what the tree shows with a blocking call per attribute; return elements and seconds."""
    pool = bridge._bus
    began = time.perf_counter()
    count, waiting = 0, [app.key]
    while waiting:
        handle = waiting.pop()
        count += 1
        pool.call(property_call(handle, "Accessible", "Name"), 5.0)
        pool.call(method_call(handle, "Accessible", "GetRole"), 5.0)
        pool.call(method_call(handle, "Accessible", "GetState"), 5.0)
        (interfaces,) = pool.call(method_call(handle, "Accessible", "GetInterfaces"), 5.0)
        if "org.a11y.atspi.EditableText" in interfaces:
            pool.call(method_call(handle, "Text", "GetText", "ii", 0, 4000), 5.0)
        if "org.a11y.atspi.Value" in interfaces:
            pool.call(property_call(handle, "Value", "CurrentValue"), 5.0)
        waiting += pool.call(method_call(handle, "Accessible", "GetChildren"), 5.0)[0]
    return count, time.perf_counter() - began


def pyatspi(app: UiApp, desk: stack.Desktop) -> float | None:
    """Return the seconds of a walk with pyatspi once its cache is warm; None where it is not."""
    command = [stack.GTK_PYTHON, "-c", PYATSPI, str(app.pid)]
    done = subprocess.run(command, env=desk.env, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    seconds: float = json.loads(done.stdout)[1]
    return seconds


def acting(bridge: AtspiBridge, app: UiApp) -> None:
    """A press through the tool, against the call on the bus that does it."""
    for title, place in (("Press", "near the top"), (f"Go {ROWS // 2}", f"among {ROWS} rows")):
        for named, how in ((app.pid, "process id"), (app.name, "name")):
            press(bridge, title, named, f"{place}, app by {how}")


def press(bridge: AtspiBridge, title: str, app: str | int, told: str) -> None:
    """Press one button both ways, in turn."""
    toolset = UiToolset(bridge)
    find = {"app": app, "title": title, "role": "button"}
    found = answered(toolset, "find_element", find)
    path = found["elements"][0]["path"]
    arguments = {"app": app, "element": path, "action": "press"}
    plan = prepare(toolset, "perform_action", arguments)
    session = toolset.session
    element = session.memory.last_element(session.resolve_app(app), path)
    assert element is not None
    call = method_call(element.node.handle, "Action", "DoAction", "i", 0)

    def raw() -> None:
        bridge._bus.call(call, 5.0)

    def plans() -> None:
        prepare(toolset, "perform_action", arguments)

    def acts() -> None:
        perform(plan)

    def whole() -> None:
        answered(toolset, "perform_action", arguments)

    works = (raw, plans, acts, whole)
    bare, preparing, performing, both = in_turn(works, ACTIONS)
    print(f"a button {told}")
    print(f"  DoAction on the bus                       {bare * 1000:8.2f} ms")
    print(f"  perform_action, preparing                 {preparing * 1000:8.2f} ms")
    print(f"  perform_action, performing                {performing * 1000:8.2f} ms")
    print(f"  overhead                          {(performing - bare) * 1000:16.2f} ms")
    print(f"  perform_action, whole                     {both * 1000:8.2f} ms")
    print(f"  overhead                          {(both - bare) * 1000:16.2f} ms")
    hold_at_most("  of that, the processor", spins(whole, ACTIONS), SPINS, "spins")


def in_turn(works: Sequence[Callable[[], object]], times: int) -> list[float]:
    """Return the median of seconds of each; they take turns of ten."""
    seconds: list[list[float]] = [[] for _ in works]
    for turn in range(0, times, TURN):
        for work, spent in zip(works, seconds, strict=True):
            for _ in range(min(TURN, times - turn)):
                began = time.perf_counter()
                work()
                spent.append(time.perf_counter() - began)
    return [statistics.median(spent) for spent in seconds]


def spins(work: Callable[[], object], times: int = READS) -> float:
    """Return the processor's time of it in spins, the least of three medians: the quietest."""
    found = []
    for _ in range(3):
        seconds = []
        for _ in range(times):
            began = time.process_time()
            work()
            seconds.append(time.process_time() - began)
        found.append(statistics.median(seconds) * 1000 / spin_milliseconds())
    return min(found)


def sizes(bridge: AtspiBridge, desk: stack.Desktop) -> None:
    """What an element of a tree costs a model, in the apps that tests use."""
    toolset = UiToolset(bridge)
    programs: dict[str, Callable[[], subprocess.Popen[bytes]]] = {"GTK 3": lambda: stack.gtk(desk)}
    if find_spec("PySide6"):
        programs["Qt 6"] = lambda: stack.qt(desk)
    if shutil.which("chromium"):
        programs["Chromium"] = lambda: stack.chromium(desk, desk.folder / "profile")
    for name, start in programs.items():
        process = start()
        # The page is built bit by bit, the windows are whole once they are there.
        look = partial(grown, toolset, bridge, 800 if name == "Chromium" else 10)
        answer = stack.wait_until(look, name)
        assert isinstance(answer, dict)
        told = f"tokens an element, {name} ({answer['result_count']})"
        hold_at_most(told, stack.tokens(answer), stack.TOKENS)
        desk.end(process)


def grown(toolset: UiToolset, bridge: AtspiBridge, least: int) -> dict[str, Any] | None:
    """Return the whole tree of the app that runs, once it has so many elements."""
    for app in bridge.running_apps(2.0):
        try:
            answer = answered(toolset, "get_ui_tree", {"app": app.pid, "depth": 100})
        except ToolError:
            continue
        if answer["result_count"] >= least and not answer["has_more_results"]:
            return answer
    return None


def median(work: Callable[[], object], times: int = READS) -> float:
    """Return the median of seconds."""
    return in_turn((work,), times)[0]


if __name__ == "__main__":
    main()
    sys.exit(exit_status())
