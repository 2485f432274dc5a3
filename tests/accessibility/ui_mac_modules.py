"""The look-alike of `ui_mac` as the modules that the bridge imports."""

import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ui_mac import AXValueRef
from ui_pyobjc import contracted

from iac_accessibility.model import UiApp


class Pools(threading.local):
    """How many autorelease pools are open on this thread."""

    depth = 0


POOLS: Final = Pools()


@contextmanager
def _pool() -> Iterator[None]:
    POOLS.depth += 1
    try:
        yield
    finally:
        POOLS.depth -= 1


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a framework that wants a pool on every thread but the main one."""

    def call(*given: Any) -> Any:
        main = threading.current_thread() is threading.main_thread()
        assert main or POOLS.depth, f"{function.__name__} without an autorelease pool"
        return function(*given)

    return call


class Running:
    """An NSRunningApplication: what varies is as it was when the object was made.

    It would change with the next turn of the main run loop, which there is none of here.
    """

    def __init__(self, mac: Any, app: UiApp) -> None:
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
        return False

    def launchDate(self) -> Any:  # noqa: N802
        return types.SimpleNamespace(timeIntervalSince1970=lambda: self._app.started)

    def bundleURL(self) -> None:  # noqa: N802
        return None

    def activateWithOptions_(self, _options: int) -> bool:  # noqa: N802
        self._mac.activated(self._app.pid)
        return True


@contextmanager
def installed(mac: Any) -> Iterator[None]:
    """Put the look-alikes in the place of the frameworks, for imports inside the block."""
    names = ("HIServices", "AppKit", "Quartz", "CoreFoundation", "objc")
    held = {name: sys.modules.get(name) for name in names}
    for name in names[:4]:
        sys.modules[name] = _module(name, mac)
    objc = types.ModuleType("objc")
    objc.autorelease_pool = _pool  # type: ignore[attr-defined]
    objc.callbackFor = lambda _function: lambda callback: callback  # type: ignore[attr-defined]
    objc.loadBundleFunctions = lambda _bundle, found, names: found.update(  # type: ignore[attr-defined]
        {name: lambda: bool(mac.holder) for name, _ in names}
    )
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


def _module(name: str, mac: Any) -> types.ModuleType:
    framework = mac.frameworks[name]
    module = types.ModuleType(name)
    for key, value in framework.values.items():
        setattr(module, key, value)
    for function in framework.functions:
        if hasattr(mac, function):
            setattr(
                module, function, _checked(contracted(framework, function, getattr(mac, function)))
            )
    if name == "HIServices":
        # Written in C inside PyObjC, so that the metadata has no shape for it.
        module.AXValueCreate = mac.AXValueCreate  # type: ignore[attr-defined]
        module.AXValueGetValue = mac.AXValueGetValue  # type: ignore[attr-defined]
        module.AXValueRef = AXValueRef  # type: ignore[attr-defined]
        module.kAXTrustedCheckOptionPrompt = "AXTrustedCheckOptionPrompt"  # type: ignore[attr-defined]
    elif name == "CoreFoundation":
        module.kCFRunLoopDefaultMode = "kCFRunLoopDefaultMode"  # type: ignore[attr-defined]
    elif name == "Quartz":
        for key in ("OwnerPID", "Number", "Layer", "Name", "Bounds"):
            setattr(module, f"kCGWindow{key}", f"kCGWindow{key}")
        session = "kCGSSessionSecureInputPID"
        module.CGSessionCopyCurrentDictionary = lambda: {session: mac.holder}  # type: ignore[attr-defined]
    elif name == "AppKit":
        _appkit(module, mac)
    return module


def _appkit(module: Any, mac: Any) -> None:
    # Both the list and what it holds stand still.
    listed: list[Running] = []

    def everything() -> list[Running]:
        if not listed:
            listed.extend(Running(mac, app) for app in mac.apps())
        return listed

    def by_pid(pid: int) -> Running | None:
        known = next((one for one in listed if one.processIdentifier() == pid), None)
        app = next((app for app in mac.apps() if app.pid == pid), None)
        return (known or Running(mac, app)) if app else None

    workspace = types.SimpleNamespace(
        runningApplications=everything,
        URLForApplicationWithBundleIdentifier_=lambda name: (
            "file:///Applications/Safari.app" if name == "com.apple.Safari" else None
        ),
    )
    module.NSBundle = types.SimpleNamespace(bundleWithIdentifier_=lambda name: name)
    module.NSWorkspace = types.SimpleNamespace(sharedWorkspace=lambda: workspace)
    module.NSRunningApplication = types.SimpleNamespace(
        runningApplicationWithProcessIdentifier_=by_pid
    )
