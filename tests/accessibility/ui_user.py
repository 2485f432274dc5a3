"""A caller of the tools, for tests."""

from pathlib import Path
from typing import Any

import pytest
from ui_calls import ROWS, perform, prepare

from iac_accessibility.model import Detail, UiApp
from iac_accessibility.toolset import UiToolset
from iac_base.errors import ToolError
from iac_runtime.gate.plans import Plan


def element_schema() -> dict[str, Any]:
    """Return what find_element says of an element; other answers refer to it."""
    output = dict(ROWS["find_element"].output or {})
    schema: dict[str, Any] = output["properties"]["elements"]["items"]
    return schema


def find_shown_app(bridge: Any, pid: int) -> UiApp | None:
    """Return the app of a process once it has a window with something in it, active at last."""
    app = next((one for one in bridge.running_apps(2.0) if one.pid == pid), None)
    if app is None:
        return None
    reader = bridge.open_reader(app, whole=False, timeout=1.0)
    root = reader.read([app.key], Detail.CHILDREN, 1.0)[0]
    windows = reader.read(getattr(root, "children", ()), Detail.CHILDREN, 1.0)
    ready = [one for one in windows if getattr(one, "children", ())]
    active = any("active" in one.states for one in ready)
    return app if ready and (active or pid < 0) else None


class User:
    """Calls tools on one app, as a client does, with every answer checked against its schema."""

    def __init__(self, toolset: UiToolset, app: UiApp, folder: Path, process: Any) -> None:
        self.toolset = toolset
        self.app = app
        self.folder = folder
        self.process = process
        self.plan: Plan | None = None

    def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        from jsonschema import validate

        arguments.setdefault("app", self.app.pid)
        self.plan = prepare(self.toolset, tool, arguments)
        answer = perform(self.plan)
        validate(answer, dict(ROWS[tool].output or {}))
        for state in (answer.get("element_state"), answer.get("element")):
            if state is not None:
                validate(state, element_schema())
        return answer

    def fails(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the facts of the error that a call ends with."""
        with pytest.raises(ToolError) as caught:
            self(tool, **arguments)
        return caught.value.facts()

    def path(self, **criteria: Any) -> str:
        """Return the path of the only element that fits."""
        found = self("find_element", **criteria)
        assert found["result_count"] == 1, found
        path: str = found["elements"][0]["path"]
        return path

    def press(self, title: str) -> dict[str, Any]:
        """Press the button of that title."""
        path = self.path(title=title, role="button")
        return self("perform_action", element=path, action="press")

    def sees(self, title: str) -> bool:
        """Say whether an element of that title is there."""
        return bool(self("find_element", title=title)["result_count"])
