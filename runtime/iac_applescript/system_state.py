"""How the Mac stands: each part by a constant script or by the system, each may fail alone.

The scripts are constant: nothing enters them. AppKit's calls ask for no permission; windows need
Accessibility. Only a Mac can confirm the scripts.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from iac_applescript.failures import explain_failure
from iac_applescript.running import osascript_program
from iac_base.text import clean_value

if TYPE_CHECKING:
    from iac_runtime.toolkit import Runner

_SECONDS: Final = 5.0

_SCRIPTS: Final[Mapping[str, str]] = {
    "front_app": """
ObjC.import('AppKit');
const app = $.NSWorkspace.sharedWorkspace.frontmostApplication;
JSON.stringify({name: app.localizedName.js, bundle_id: app.bundleIdentifier.js,
  pid: Number(app.processIdentifier)});
""",
    "running_apps": """
ObjC.import('AppKit');
const found = [];
const all = $.NSWorkspace.sharedWorkspace.runningApplications;
for (let i = 0; i < Number(all.count); i++) {
  const app = all.objectAtIndex(i);
  if (Number(app.activationPolicy) === 0) {
    found.push({name: app.localizedName.js, bundle_id: app.bundleIdentifier.js});
  }
}
JSON.stringify(found);
""",
    "windows": """
const events = Application('com.apple.systemevents');
const front = events.applicationProcesses.whose({frontmost: true});
JSON.stringify(front.windows.name()[0]);
""",
    "volume": """
const app = Application.currentApplication();
app.includeStandardAdditions = true;
JSON.stringify(app.getVolumeSettings());
""",
    "appearance": """
ObjC.import('Foundation');
const style = $.NSUserDefaults.standardUserDefaults.stringForKey('AppleInterfaceStyle');
JSON.stringify(style.isNil() ? 'light' : style.js.toLowerCase());
""",
    "displays": """
ObjC.import('AppKit');
const found = [];
const all = $.NSScreen.screens;
for (let i = 0; i < Number(all.count); i++) {
  const screen = all.objectAtIndex(i);
  found.push({width: screen.frame.size.width, height: screen.frame.size.height,
    scale: Number(screen.backingScaleFactor), main: i === 0});
}
JSON.stringify(found);
""",
}


def _battery_state() -> Any:
    import psutil

    found = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if found is None:
        return None
    return {"percent": round(found.percent), "charging": bool(found.power_plugged)}


def _network_interfaces() -> Any:
    import psutil

    addresses = psutil.net_if_addrs()
    up = [name for name, stats in psutil.net_if_stats().items() if stats.isup]
    kinds = {"AF_INET", "AF_INET6"}
    return [
        name
        for name in sorted(up)
        if not name.startswith("lo")
        and any(address.family.name in kinds for address in addresses.get(name, ()))
    ]


_SYSTEM: Final[Mapping[str, Callable[[], Any]]] = {
    "battery": _battery_state,
    "network": _network_interfaces,
}

StatePart = Literal[
    "front_app",
    "running_apps",
    "windows",
    "volume",
    "appearance",
    "displays",
    "battery",
    "network",
]
"""A part; network is the interfaces that are up, without addresses."""

PARTS: Final[tuple[StatePart, ...]] = get_args(StatePart)


def read_state(runner: "Runner", parts: Sequence[str] = PARTS) -> dict[str, dict[str, Any]]:
    """Return each part as `{"value": ...}`, or `{"error": one line}` where it cannot be had."""
    return {part: _read_part(runner, part) for part in parts}


def _read_part(runner: "Runner", part: str) -> dict[str, Any]:
    system = _SYSTEM.get(part)
    if system is not None:
        try:
            return {"value": clean_value(system())}
        except (OSError, RuntimeError, ImportError, AttributeError) as error:
            return {"error": f"{part} cannot be read on this machine ({type(error).__name__})."}
    argv = [osascript_program(), "-l", "JavaScript", "-"]
    try:
        done = runner(argv, _SCRIPTS[part].strip().encode(), _SECONDS)
    except OSError as error:
        return {"error": f"osascript could not be started ({error.strerror})."}
    if done.timed_out:
        return {"error": f"No answer about {part} came within {_SECONDS:g} seconds."}
    if done.status != 0:
        failure = explain_failure(done.stderr.decode("utf-8", "replace"), language="javascript")
        return {"error": " ".join((failure.message, *failure.fixes[:1]))}
    try:
        return {"value": clean_value(json.loads(done.stdout.decode("utf-8", "replace")))}
    except (ValueError, RecursionError):
        return {"error": f"The answer about {part} cannot be read."}
