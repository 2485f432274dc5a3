"""From "File > Save As…" to the menu item, without opening a menu.

Toolkits nest menus in different ways: an item may lead to its items directly (GTK), or by an
element for the menu that opens (macOS, Qt). Such an element has no name of its own to be given.
"""

import re
import time
from typing import Final

from iac_accessibility.bridge import Reader
from iac_accessibility.errors import UiError, from_fault
from iac_accessibility.faults import Fault
from iac_accessibility.locate import path_of
from iac_accessibility.marks import Found
from iac_accessibility.model import App, Handle, Node, Want, titles
from iac_accessibility.roles import MENU_ROLES
from iac_accessibility.session import Session
from iac_accessibility.traverse import Branch, Limits, walk
from iac_base.errors import near_text, quoted

__all__ = ["follow_menu", "menu_titles"]

_MOST: Final = 10
_ARROW: Final = re.compile(r"\s*(?:>|→|▸|›)\s*")
_DOTS: Final = re.compile(r"\s*(?:…|\.\.\.)\s*\Z")
_GAP: Final = re.compile(r"\t| {3,}")


def menu_titles(text: str) -> list[str]:
    """Return the titles of a menu path: the menu, the item, submenus between them.

    Raises:
        UiError: There are not two to ten titles.
    """
    found = [part.strip() for part in _ARROW.split(text.strip())]
    if not 2 <= len(found) <= _MOST or not all(found):
        raise UiError(
            "INVALID_PARAMETER",
            f"{quoted(text)} is no menu path.",
            'Write the menu and the item: "File > Save As…".',
            reason="bad_path",
        )
    return found


def follow_menu(session: Session, app: App, text: str, seconds: float) -> tuple[Found, list[str]]:
    """Return the menu item that a menu path names, and the titles on the way as the app has them.

    Raises:
        UiError: There is no menu bar, no such menu or item; the nearest are named.
    """
    wanted = menu_titles(text)
    end = time.monotonic() + seconds
    session.check_alive(app)
    bars = _menu_bars(session, app, seconds)
    reader = session.bridge.reader(app, whole=False, timeout=seconds)
    told: list[str] = []
    try:
        level = _below(reader, bars, end)
        item: Node | None = None
        for title in wanted:
            item = _pick(title, level, told, app)
            told.append(item.title)
            level = _below(reader, [item.handle], end) if len(told) < len(wanted) else []
        assert item is not None
        left = max(end - time.monotonic(), 0.2)
        return path_of(session.bridge, app, item.handle, seconds=left), told
    except Fault as fault:
        raise from_fault(fault, app) from None


def _menu_bars(session: Session, app: App, seconds: float) -> list[Handle]:
    """Return the app's menu bars: its own, else those of the active window, else of any."""
    reader, root = session.open(app, seconds, whole=False)
    limits = Limits(seconds, 8, nodes=3_000)
    seen = walk(
        reader,
        root,
        Want.NOTHING,
        limits,
        enough=lambda order: any(branch.node.role == "menu_bar" for branch in order),
    )
    bars = [branch for branch in seen.order if branch.node.role == "menu_bar"]
    if not bars:
        raise UiError(
            "NOT_SUPPORTED",
            f"{app.name} shows no menu bar.",
            "Look for a button that opens a menu, with find_element.",
            reason="no_menu",
            app=app.name,
        )
    active = [bar for bar in bars if "active" in bar.window.states]
    chosen: list[Branch] = active or bars
    return [bar.node.handle for bar in chosen]


def _below(reader: Reader, handles: list[Handle], end: float) -> list[Node]:
    """Return the items below elements, those of menus without a name of their own included."""
    found: list[Node] = []
    for _ in range(3):
        left = max(end - time.monotonic(), 0.1)
        parents = reader.read(handles, Want.CHILDREN, left)
        children = [
            handle for node in parents if isinstance(node, Node) for handle in node.children[:500]
        ]
        nodes = [
            node
            for node in reader.read(children, Want.CHILDREN, max(end - time.monotonic(), 0.1))
            if isinstance(node, Node)
        ]
        wrapped = [node for node in nodes if node.role == "menu" and not _names_items(node, nodes)]
        found += [node for node in nodes if node.role in MENU_ROLES and node not in wrapped]
        handles = [node.handle for node in wrapped]
        if not handles:
            break
    return found


def _names_items(menu: Node, among: list[Node]) -> bool:
    """Say whether a menu among these is itself the item that opens it."""
    return bool(menu.title) and (len(among) > 1 or bool(menu.actions))


def _pick(title: str, level: list[Node], told: list[str], app: App) -> Node:
    for plain in (_plain, _bare):
        found = [node for node in level if node.title and plain(node.title) == plain(title)]
        if found:
            enabled = [node for node in found if "enabled" in node.states]
            return (enabled or found)[0]
    place = f"the menu {' > '.join(quoted(name, 40) for name in told)}" if told else "the menu bar"
    raise UiError(
        "NOT_FOUND",
        f"There is no {quoted(title)} in {place} of {app.name}.",
        near_text(title, titles(level)),
        reason="no_menu",
        app=app.name,
    )


def _plain(title: str) -> str:
    """Return a title as it is compared: without accelerator, one kind of dots, no case."""
    return _DOTS.sub("…", _GAP.split(title.strip())[0].strip()).casefold()


def _bare(title: str) -> str:
    return _plain(title).rstrip("…").rstrip()
