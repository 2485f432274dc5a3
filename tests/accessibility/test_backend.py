"""Which bridge a machine has, and what it is told when it has none."""

import sys
from pathlib import Path
from typing import Any

import pytest
import ui_stack as stack

from iac_accessibility import toolset as backend
from iac_base.errors import ToolError


def refused(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    with pytest.raises(ToolError) as caught:
        backend.open_bridge()
    facts = caught.value.facts()
    assert facts["type"] == "UNAVAILABLE"
    return facts


@pytest.mark.parametrize(("platform", "extra"), [("darwin", "[macos]'"), ("linux", "[linux]'")])
def test_an_extra_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, platform: str, extra: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(backend, "find_spec", lambda _name: None)
    assert extra in refused(monkeypatch)["guidance"]


def test_another_system_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert "win32" in refused(monkeypatch)["message"]


def test_a_session_without_a_bus_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    pytest.importorskip("jeepney")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    assert "at-spi2-core" in refused(monkeypatch)["guidance"]


@pytest.mark.process
def test_a_desktop_has_one(monkeypatch: pytest.MonkeyPatch, desk: stack.Desktop) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", desk.env["DBUS_SESSION_BUS_ADDRESS"])
    bridge = backend.open_bridge()
    assert bridge.running_apps(2.0) == []
    bridge.close()


@pytest.mark.process
def test_a_desktop_starts_no_service_of_the_machine(desk: stack.Desktop) -> None:
    from iac_accessibility.atspi.wire import BusCall, ConnectionPool

    bus = ConnectionPool(desk.env["DBUS_SESSION_BUS_ADDRESS"])
    own = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    startable = bus.call(BusCall(*own, "ListActivatableNames"), 2.0)[0]
    bus.close()
    assert set(startable) == {"org.freedesktop.DBus", "org.a11y.Bus"}
    assert not Path(desk.env["DBUS_SYSTEM_BUS_ADDRESS"].partition("=")[2]).exists()
