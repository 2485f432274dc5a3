"""What reading and working an interface costs, against the plain ways of doing it; in one run.

    python benchmarks/accessibility.py

Needs the programs that tests/accessibility need. pyatspi is measured where the system's Python
has it (python3-pyatspi).
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

TESTS: Final = Path(__file__).parents[1] / "tests" / "accessibility"
sys.path.insert(0, str(TESTS))

import ui_stack as stack  # noqa: E402

from iac_accessibility.atspi.bridge import AtspiBridge  # noqa: E402
from iac_accessibility.atspi.reading import get, method  # noqa: E402
from iac_accessibility.model import App  # noqa: E402
from iac_accessibility.toolset import Toolset  # noqa: E402

ROWS: Final = 695
READS: Final = 7
ACTIONS: Final = 200

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
        assert isinstance(app, App)
        reading(bridge, app, desk)
        acting(bridge, app)
        bridge.close()


def ready(bridge: AtspiBridge, pid: int) -> App | None:
    """Return the app once it has the keyboard."""
    return next((one for one in bridge.apps(2.0) if one.pid == pid and one.frontmost), None)


def reading(bridge: AtspiBridge, app: App, desk: stack.Desktop) -> None:
    """A whole tree, and finding in it."""
    toolset = Toolset(bridge)

    def tree() -> dict[str, Any]:
        plan = toolset.prepare("get_ui_tree", {"app": app.pid, "depth": 100, "timeout": 60})
        return toolset.perform(plan)

    def find() -> dict[str, Any]:
        plan = toolset.prepare("find_element", {"app": app.pid, "title": f"Go {ROWS - 1}"})
        return toolset.perform(plan)

    count, blocking = one_by_one(bridge, app)
    answer = tree()
    assert not answer["incomplete"], answer["cuts"]
    ours = median(tree)
    print(f"elements                                    {count:8d}")
    print(f"one blocking call per attribute             {blocking * 1000:8.1f} ms")
    print(f"get_ui_tree, whole                          {ours * 1000:8.1f} ms")
    print(f"ratio                                       {blocking / ours:8.1f} x (at least 10)")
    warm = pyatspi(app, desk)
    if warm is not None:
        print(f"pyatspi, cache warm                         {warm * 1000:8.1f} ms")
        print(f"ratio                                       {warm / ours:8.1f} x (at least 1)")
    assert find()["result_count"] == 1
    print(f"find_element by title                       {median(find) * 1000:8.1f} ms (under 100)")


def one_by_one(bridge: AtspiBridge, app: App) -> tuple[int, float]:
    """Read what the tree shows with a blocking call per attribute; return elements and seconds."""
    pool = bridge._bus
    began = time.perf_counter()
    count, waiting = 0, [app.key]
    while waiting:
        handle = waiting.pop()
        count += 1
        pool.call(get(handle, "Accessible", "Name"), 5.0)
        pool.call(method(handle, "Accessible", "GetRole"), 5.0)
        pool.call(method(handle, "Accessible", "GetState"), 5.0)
        (interfaces,) = pool.call(method(handle, "Accessible", "GetInterfaces"), 5.0)
        if "org.a11y.atspi.EditableText" in interfaces:
            pool.call(method(handle, "Text", "GetText", "ii", 0, 4000), 5.0)
        if "org.a11y.atspi.Value" in interfaces:
            pool.call(get(handle, "Value", "CurrentValue"), 5.0)
        waiting += pool.call(method(handle, "Accessible", "GetChildren"), 5.0)[0]
    return count, time.perf_counter() - began


def pyatspi(app: App, desk: stack.Desktop) -> float | None:
    """Return the seconds of a walk with pyatspi once its cache is warm; None where it is not."""
    command = [stack.GTK_PYTHON, "-c", PYATSPI, str(app.pid)]
    done = subprocess.run(command, env=desk.env, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    seconds: float = json.loads(done.stdout)[1]
    return seconds


def acting(bridge: AtspiBridge, app: App) -> None:
    """A press through the tool, against the call on the bus that does it."""
    toolset = Toolset(bridge)
    arguments = {"app": app.pid, "title": "Press", "role": "button"}
    found = toolset.perform(toolset.prepare("find_element", arguments))
    path = found["elements"][0]["path"]
    plan = toolset.prepare(
        "perform_action", {"app": app.pid, "element_path": path, "action": "press"}
    )
    assert plan.mark is not None
    call = method(plan.mark.handle, "Action", "DoAction", "i", 0)
    raw = median(lambda: bridge._bus.call(call, 5.0), ACTIONS)
    whole = median(lambda: toolset.perform(plan), ACTIONS)
    prepared = median(
        lambda: toolset.prepare(
            "perform_action", {"app": app.pid, "element_path": path, "action": "press"}
        ),
        ACTIONS,
    )
    print(f"DoAction on the bus                         {raw * 1000:8.2f} ms")
    print(f"perform_action, performing                  {whole * 1000:8.2f} ms")
    print(f"overhead                                    {(whole - raw) * 1000:8.2f} ms (at most 2)")
    print(f"perform_action, preparing                   {prepared * 1000:8.2f} ms")


def median(work: Callable[[], object], times: int = READS) -> float:
    """Return the median of seconds."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
