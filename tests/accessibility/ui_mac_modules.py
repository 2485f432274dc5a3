"""The look-alike of `ui_mac` as the modules that the bridge imports."""

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ui_mac import AXValueRef, Mac
from ui_pyobjc import contracted

from iac_accessibility.model import UiApp


class Running:
    """An NSRunningApplication."""

    def __init__(self, mac: Mac, app: UiApp) -> None:
        self._mac = mac
        self._app = app

    def processIdentifier(self) -> int:  # noqa: N802
        return self._app.pid

    def localizedName(self) -> str:  # noqa: N802
        return self._app.name

    def bundleIdentifier(self) -> str | None:  # noqa: N802
        return self._app.id or None

    def activationPolicy(self) -> int:  # noqa: N802
        return 0

    def isActive(self) -> bool:  # noqa: N802
        return self._app.frontmost

    def isTerminated(self) -> bool:  # noqa: N802
        return not self._mac.bridge.alive(self._app)

    def launchDate(self) -> Any:  # noqa: N802
        return types.SimpleNamespace(timeIntervalSince1970=lambda: self._app.started)

    def activateWithOptions_(self, _options: int) -> bool:  # noqa: N802
        return True


@contextmanager
def installed(mac: Mac) -> Iterator[None]:
    """Put the look-alikes in the place of the frameworks, for imports inside the block."""
    names = ("HIServices", "AppKit", "Quartz", "CoreFoundation", "objc")
    held = {name: sys.modules.get(name) for name in names}
    for name in names[:4]:
        sys.modules[name] = _module(name, mac)
    objc = types.ModuleType("objc")
    objc.callbackFor = lambda _function: lambda callback: callback  # type: ignore[attr-defined]
    sys.modules["objc"] = objc
    ours = [name for name in sys.modules if name.startswith("iac_accessibility.macos")]
    kept = {name: sys.modules.pop(name) for name in ours}
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.startswith("iac_accessibility.macos")]:
            del sys.modules[name]
        sys.modules.update(kept)
        for name, module in held.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def _module(name: str, mac: Mac) -> types.ModuleType:
    framework = mac.frameworks[name]
    module = types.ModuleType(name)
    for key, value in framework.values.items():
        setattr(module, key, value)
    for function in framework.functions:
        if hasattr(Mac, function):
            setattr(module, function, contracted(framework, function, getattr(mac, function)))
    if name == "HIServices":
        # Written in C inside PyObjC, so that the metadata has no shape for it.
        module.AXValueGetValue = mac.AXValueGetValue  # type: ignore[attr-defined]
        module.AXValueRef = AXValueRef  # type: ignore[attr-defined]
    elif name == "CoreFoundation":
        module.kCFRunLoopDefaultMode = "kCFRunLoopDefaultMode"  # type: ignore[attr-defined]
    elif name == "AppKit":
        _appkit(module, mac)
    return module


def _appkit(module: Any, mac: Mac) -> None:
    def by_pid(pid: int) -> Running | None:
        return next((Running(mac, app) for app in mac.apps() if app.pid == pid), None)

    workspace = types.SimpleNamespace(
        runningApplications=lambda: [Running(mac, app) for app in mac.apps()],
        URLForApplicationWithBundleIdentifier_=lambda name: (
            "file:///Applications/Safari.app" if name == "com.apple.Safari" else None
        ),
    )
    module.NSWorkspace = types.SimpleNamespace(sharedWorkspace=lambda: workspace)
    module.NSRunningApplication = types.SimpleNamespace(
        runningApplicationWithProcessIdentifier_=by_pid
    )
