"""Apps of a Mac as Apple's documents describe them, without any other platform behind them.

A tree is plain data: the attributes that an element of its role has, and no others. What is not
there answers with the error that the header names for it. The look-alike keeps the unfriendly
rules too: properties of running apps stand still, activation is a request, an element's end is
told to who asked that element, frameworks want an autorelease pool on threads but the main one.
Sources: AXRoleConstants.h, AXAttributeConstants.h, AXNotificationConstants.h, AXUIElement.h, the
page of NSRunningApplication, "Passing control from one app to another with cooperative activation".
"""

import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any

from ui_mac import AXValueRef, Element, Extent, Pair
from ui_pyobjc import Framework

from iac_accessibility.model import UiApp

_NUMBERS = itertools.count(1)


class Failing:
    """An attribute that the app fails to give; `error` is the name of the error."""

    def __init__(self, error: str) -> None:
        self.error = error


def element(role: str, *children: "Tree", **attributes: Any) -> "Tree":
    """Return an element; `AX` is put before the names, and no other attributes are there."""
    tree = Tree(role)
    held = {"Role": role, "Enabled": True, "Children": [*children], **attributes}
    tree.attributes = {f"AX{name}": value for name, value in held.items()}
    for child in children:
        child.attributes.setdefault("AXParent", tree)
    return tree


class Tree:
    """An element of a tree."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.attributes: dict[str, Any] = {}
        self.number = next(_NUMBERS)
        self.actions: dict[str, Callable[[], object]] = {}
        self.gone = False

    def pressed(self, does: Callable[[], object]) -> "Tree":
        """Return it with something that a press does."""
        self.actions["AXPress"] = does
        return self


def text(value: str, **more: Any) -> Tree:
    return element("AXStaticText", Value=value, **more)


def button(title: str = "", **more: Any) -> Tree:
    return element("AXButton", **({"Title": title} if title else {}), **more).pressed(lambda: None)


def title_bar() -> list[Tree]:
    """Return the buttons that every window has; they have a description of their role only."""
    return [
        button(Subrole=f"AX{name}Button", RoleDescription=f"{name.lower()} button")
        for name in ("Close", "Zoom", "Minimize")
    ]


def window(title: str, *children: Tree, subrole: str = "AXStandardWindow", **more: Any) -> Tree:
    made = element(
        *("AXWindow", *children, *title_bar(), text(title)),
        Title=title,
        Subrole=subrole,
        Main=True,
        Minimized=False,
        Modal=False,
        **{"Position": (0, 25), "Size": (800, 600), **more},
    )
    _within(made, made)
    return made


def sheet(*children: Tree, default: Tree) -> Tree:
    made = element("AXSheet", *children, DefaultButton=default)
    _within(made, made)
    return made


def _within(holder: Tree, tree: Tree) -> None:
    below = tree.attributes["AXChildren"]
    for child in below if isinstance(below, list) else ():
        child.attributes.setdefault("AXTopLevelUIElement", holder)
        child.attributes.setdefault("AXWindow", holder)
        _within(holder, child)


def menu_bar(*titles: str) -> Tree:
    """Return a menu bar: the system's own menu first, each item with its menu."""
    items = [
        element(
            "AXMenuBarItem", element("AXMenu", element("AXMenuItem", Title="About")), Title=title
        )
        for title in ("Apple", *titles)
    ]
    return element("AXMenuBar", *items)


def extras(*said: str) -> Tree:
    """Return menu extras: what they are stands in the description."""
    return element(
        "AXMenuBar",
        *(element("AXMenuBarItem", Subrole="AXMenuExtra", Description=one) for one in said),
    )


class App:
    """An app that runs, with its element; windows are changed in place."""

    def __init__(self, pid: int, name: str, windows: Sequence[Tree], **attributes: Any) -> None:
        self.pid, self.name, self.windows = pid, name, list(windows)
        self.bar = menu_bar("File", "Edit")
        self.obeys = True
        """Whether it comes to the front when its own element is told to."""
        self.root = element("AXApplication", Title=name, **attributes)
        self.wake: Callable[[], None] | None = None
        self.switches: list[tuple[str, Any]] = []

    def attribute(self, name: str) -> Any:
        every = {"AXWindows": self.windows, "AXMenuBar": self.bar}
        every["AXChildren"] = [*self.windows, self.bar]
        return every[name] if name in every else self.root.attributes.get(name)


class Trees:
    """A Mac on which these apps run."""

    def __init__(self, frameworks: dict[str, Framework], *apps: App) -> None:
        self.frameworks = frameworks
        self.ax = frameworks["HIServices"].values
        self.running = list(apps)
        self.front = apps[0].pid
        self.trusted = True
        self.prompts = 0
        self.listening: list[Any] = []
        self.happened: list[tuple[Any, str]] = []

    # What ui_mac_modules asks for.

    def apps(self) -> list[UiApp]:
        return [
            UiApp(one.pid, one.name, f"org.example.{one.name}", 1.0, one.pid == self.front)
            for one in self.running
        ]

    def is_alive(self, app: UiApp) -> bool:
        return any(one.pid == app.pid for one in self.running)

    def activated(self, _pid: int) -> None:
        """Since macOS 14 a request of a process that is not in front itself is not heard."""

    def app(self, pid: int) -> App:
        return next(one for one in self.running if one.pid == pid)

    def happen(self, tree: Tree | App, name: str) -> None:
        """Let something be told of; an element that is destroyed is gone."""
        if name == "AXUIElementDestroyed" and isinstance(tree, Tree):
            tree.gone = True
        self.happened.append((self._of(tree), name))

    def _of(self, tree: Tree | App) -> Any:
        if isinstance(tree, App):
            return Element(tree.pid, None)
        return Element(0, tree)

    def _error(self, name: str) -> int:
        return int(self.ax[f"kAXError{name}"])

    def _value(self, held: Element, name: str) -> tuple[int, Any]:
        if not self.trusted:
            return self._error("APIDisabled"), None
        if held.handle is None and held.pid == 0:
            found: Any = self.app(self.front) if name == "AXFocusedApplication" else None
        elif held.handle is None:
            found = self.app(held.pid).attribute(name)
        elif held.handle.gone:
            return self._error("InvalidUIElement"), None
        else:
            found = held.handle.attributes.get(name)
        if found is None:
            return self._error("AttributeUnsupported"), None
        if isinstance(found, Failing):
            return self._error(found.error), None
        return 0, self._shown(found)

    def _shown(self, found: Any) -> Any:
        if isinstance(found, Tree | App):
            return self._of(found)
        if isinstance(found, list):
            return [self._shown(one) for one in found]
        return found

    # The functions of HIServices, by their names.

    def AXIsProcessTrusted(self) -> bool:  # noqa: N802
        return self.trusted

    def AXIsProcessTrustedWithOptions(self, options: dict[Any, Any]) -> bool:  # noqa: N802
        self.prompts += any(options.values())
        return self.trusted

    def AXUIElementCreateSystemWide(self) -> Element:  # noqa: N802
        return Element(0, None)

    def AXUIElementCreateApplication(self, pid: int) -> Element:  # noqa: N802
        return Element(pid, None)

    def AXUIElementGetPid(self, held: Element, _: None) -> Any:  # noqa: N802
        return 0, held.pid

    def AXUIElementSetMessagingTimeout(self, _held: Element, _seconds: float) -> int:  # noqa: N802
        return 0

    def AXUIElementCopyAttributeValue(self, held: Element, name: str, _: None) -> Any:  # noqa: N802
        return self._one(held, name)

    def _one(self, held: Element, name: str) -> tuple[int, Any]:
        kinds = {"AXPosition": ("CGPoint", Pair), "AXSize": ("CGSize", Extent)}
        if name in kinds and held.handle is not None and name in held.handle.attributes:
            kind, shape = kinds[name]
            return 0, AXValueRef(
                self.ax[f"kAXValueType{kind}"], shape(*held.handle.attributes[name])
            )
        return self._value(held, name)

    def AXUIElementCopyMultipleAttributeValues(  # noqa: N802
        self, held: Element, names: list[str], _options: int, _: None
    ) -> Any:
        answers = [self._one(held, name) for name in names]
        for whole in ("InvalidUIElement", "APIDisabled"):
            if any(error == self._error(whole) for error, _ in answers):
                return self._error(whole), None
        place = self.ax["kAXValueTypeAXError"]
        return 0, [value if not error else AXValueRef(place, error) for error, value in answers]

    def AXUIElementCopyAttributeValues(  # noqa: N802
        self, held: Element, name: str, start: int, most: int, _: None
    ) -> Any:
        error, values = self._one(held, name)
        return error, None if error else values[start : start + most]

    def AXUIElementGetAttributeValueCount(self, held: Element, name: str, _: None) -> Any:  # noqa: N802
        error, values = self._one(held, name)
        return error, None if error else len(values)

    def AXUIElementCopyParameterizedAttributeValue(  # noqa: N802
        self, held: Element, name: str, part: Any, _: None
    ) -> Any:
        assert name == "AXStringForRange"
        start, count = part.held
        return 0, held.handle.attributes["AXValue"][start : start + count]

    def AXUIElementCopyActionNames(self, held: Element, _: None) -> Any:  # noqa: N802
        return 0, list(held.handle.actions) if held.handle else []

    def AXUIElementPerformAction(self, held: Element, name: str) -> int:  # noqa: N802
        held.handle.actions[name]()
        return 0

    def AXUIElementIsAttributeSettable(self, held: Element, _name: str, _: None) -> Any:  # noqa: N802
        return 0, "AXValue" in held.handle.attributes

    def AXUIElementSetAttributeValue(self, held: Element, name: str, value: Any) -> int:  # noqa: N802
        if held.handle is not None:
            held.handle.attributes[name] = value
            return 0
        app = self.app(held.pid)
        app.switches.append((name, value))
        if name == "AXFrontmost":
            self.front = app.pid if app.obeys else self.front
            return 0
        app.root.attributes[name] = value
        if app.wake is not None:
            app.wake()
        # Reports say that both switches are taken and answered with an error.
        return self._error("AttributeUnsupported")

    def AXValueGetType(self, value: AXValueRef) -> int:  # noqa: N802
        return value.kind

    def AXValueGetValue(self, value: AXValueRef, kind: int, _: None) -> Any:  # noqa: N802
        return (True, value.held) if value.kind == kind else (False, None)

    def AXValueCreate(self, kind: int, held: Any) -> AXValueRef:  # noqa: N802
        return AXValueRef(kind, held)

    def CFRangeMake(self, start: int, count: int) -> tuple[int, int]:  # noqa: N802
        return start, count

    # Observers.

    def AXObserverCreate(self, pid: int, callback: Any, _: None) -> Any:  # noqa: N802
        return 0, types.SimpleNamespace(pid=pid, callback=callback, asked=set())

    def AXObserverAddNotification(  # noqa: N802
        self, observer: Any, held: Element, name: str, _refcon: None
    ) -> int:
        observer.asked.add((held, name))
        return 0

    def AXObserverGetRunLoopSource(self, observer: Any) -> Any:  # noqa: N802
        return observer

    def CFRunLoopGetCurrent(self) -> Any:  # noqa: N802
        return types.SimpleNamespace()

    def CFRunLoopAddSource(self, _loop: Any, source: Any, _mode: str) -> None:  # noqa: N802
        self.listening.append(source)

    def CFRunLoopRemoveSource(self, _loop: Any, source: Any, _mode: str) -> None:  # noqa: N802
        self.listening.remove(source)

    def CFRunLoopRunInMode(self, _mode: str, seconds: float, _one: bool) -> int:  # noqa: N802
        import time

        time.sleep(min(seconds, 0.01))
        happened, self.happened = self.happened, []
        for source in list(self.listening):
            for held, name in happened:
                # The end of an element is told to who asked it, all else to who asked its app.
                asked = held if name == "AXUIElementDestroyed" else Element(source.pid, None)
                if (asked, name) in source.asked:
                    source.callback(source, held, name, None)
        return 0

    # The window server: the front app's windows first.

    def CGWindowListCopyWindowInfo(self, _option: int, _window: int) -> list[dict[str, Any]]:  # noqa: N802
        order = sorted(self.running, key=lambda app: app.pid != self.front)
        return [
            {
                "kCGWindowOwnerPID": app.pid, "kCGWindowNumber": one.number, "kCGWindowLayer": 0,
                "kCGWindowName": "",
                "kCGWindowBounds": {"X": 0.0, "Y": 0.0, "Width": 100.0, "Height": 100.0},
            }
            for app in order
            for one in app.windows
        ]  # fmt: skip
