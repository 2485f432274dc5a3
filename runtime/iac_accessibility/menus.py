"""From "File > Save As…" to the menu item, without opening a menu.

Toolkits nest menus in different ways: an item may lead to its items directly (GTK), or by an
element for the menu that opens (macOS, Qt). Such an element has no name of its own to be given.
"""

import re
import time
from typing import Final

from iac_accessibility.apps import UiSession
from iac_accessibility.bridge import ElementReader
from iac_accessibility.calls import UiCall
from iac_accessibility.changes import ElementChange, check_action, describe_app
from iac_accessibility.errors import UiError, error_context
from iac_accessibility.identity import ElementFound, describe_differences, with_row
from iac_accessibility.locate import path_of, stale_error
from iac_accessibility.model import Detail, Handle, UiApp, UiNode
from iac_accessibility.paths import MENU_ROLES
from iac_accessibility.shapes import ActionDone, AppName, Seconds
from iac_accessibility.toolset import change_tool
from iac_accessibility.traverse import WalkLimits, walk_tree
from iac_base.errors import near_text, quote_text
from iac_runtime.tool import tool

_MOST: Final = 10
_ARROW: Final = re.compile(r"\s*(?:>|→|▸|›)\s*")
_DOTS: Final = re.compile(r"\s*(?:…|\.\.\.)\s*\Z")
_GAP: Final = re.compile(r"\t| {3,}")


def _titles_of(text: str) -> list[str]:
    """Return the titles of a menu path: the menu, the item, submenus between them.

    Raises:
        UiError: There are not two to ten titles.
    """
    found = [part.strip() for part in _ARROW.split(text.strip())]
    if not 2 <= len(found) <= _MOST or not all(found):
        raise UiError(
            "INVALID_PARAMETER",
            f"{quote_text(text)} is not a menu path.",
            'Write the menu and the item: "File > Save As…".',
            reason="bad_path",
        )
    return found


@change_tool
def plan_click_menu(session: UiSession, call: UiCall) -> ElementChange:
    """Choose a menu item: it is looked for, no menu is opened.

    Raises:
        UiError: There is no menu bar, no such menu or item (the nearest are named), or it is
            disabled.
    """
    app = call.app
    item, named = _find_menu_item(session, app, call.arguments["menu_path"], call.seconds)
    found = with_row(session.bridge, app, item, seconds=call.seconds)
    if call.bound and (why := describe_differences(call.bound[0], found)):
        raise stale_error(session, app, found.path, call.bound[0], why)
    action = "press" if "press" in found.node.actions else "pick"
    with error_context(app, found.path):
        check_action(found.node, action, "press")
    return ElementChange(
        found,
        f"choose {' > '.join(quote_text(title, 40) for title in named)} in {describe_app(app)}",
        lambda node, seconds: session.bridge.perform_action(node.handle, action, seconds),
        action=action,
        words=tuple(named),
        more={"action": action, "element_path": found.path},
    )


@tool(
    level="MODIFY",
    ceiling="DANGEROUS",
    plan=plan_click_menu,
    answer=ActionDone,
    words="bar choose command item menu open pick select submenu",
    example={"app": "TextEdit", "menu_path": "Format > Make Plain Text"},
    timeout=5.0,
)
def click_menu(*, app: AppName, menu_path: str, timeout: Seconds | None = None) -> None:
    """Choose an item in an app's menu bar by the titles: File > Save As…

    Args:
        menu_path: Menu and item: File > Save As…
    """


def _find_menu_item(
    session: UiSession, app: UiApp, text: str, seconds: float
) -> tuple[ElementFound, list[str]]:
    """Return the menu item that a menu path names, and the titles on the way as the app has them.

    Raises:
        UiError: There is no menu bar, no such menu or item; the nearest are named.
    """
    wanted = _titles_of(text)
    end = time.monotonic() + seconds
    session.check_alive(app)
    bars = _menu_bars(session, app, seconds)
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    named: list[str] = []
    level = _menu_items(reader, bars, end)
    item: UiNode | None = None
    for title in wanted:
        item = _match_item(title, level, named, app)
        named.append(item.title)
        level = _menu_items(reader, [item.handle], end) if len(named) < len(wanted) else []
    assert item is not None
    left = max(end - time.monotonic(), 0.2)
    return path_of(session.bridge, app, item.handle, seconds=left), named


def _menu_bars(session: UiSession, app: UiApp, seconds: float) -> list[Handle]:
    """Return the app's menu bars: its own, else those of the active window, else of any."""
    reader, root = session.open_app(app, seconds, whole=False)
    limits = WalkLimits(seconds, 8, nodes=3_000)
    seen = walk_tree(
        reader,
        root,
        Detail.NOTHING,
        limits,
        enough=lambda order: any(branch.node.role == "menu_bar" for branch in order),
    )
    bars = [branch for branch in seen.order if branch.node.role == "menu_bar"]
    if not bars:
        raise UiError(
            "NOT_SUPPORTED",
            f"{app.name} has no menu bar, or does not show it.",
            "Use find_element to find a button that opens a menu.",
            reason="no_menu",
        )
    active = [bar for bar in bars if "active" in bar.window.states]
    return [bar.node.handle for bar in active or bars]


def _menu_items(reader: ElementReader, handles: list[Handle], end: float) -> list[UiNode]:
    """Return the items below elements, those of menus without a name of their own included."""
    found: list[UiNode] = []
    for _ in range(3):
        left = max(end - time.monotonic(), 0.1)
        parents = reader.read(handles, Detail.CHILDREN, left)
        children = [
            handle for node in parents if isinstance(node, UiNode) for handle in node.children[:500]
        ]
        nodes = [
            node
            for node in reader.read(children, Detail.CHILDREN, max(end - time.monotonic(), 0.1))
            if isinstance(node, UiNode)
        ]
        wrapped = [node for node in nodes if node.role == "menu" and not _names_items(node, nodes)]
        found += [node for node in nodes if node.role in MENU_ROLES and node not in wrapped]
        handles = [node.handle for node in wrapped]
        if not handles:
            break
    return found


def _names_items(menu: UiNode, among: list[UiNode]) -> bool:
    """Say whether a menu among these is itself the item that opens it."""
    return bool(menu.title) and (len(among) > 1 or bool(menu.actions))


def _match_item(title: str, level: list[UiNode], above: list[str], app: UiApp) -> UiNode:
    for plain in (_comparable_title, _without_dots):
        found = [node for node in level if node.title and plain(node.title) == plain(title)]
        if found:
            enabled = [node for node in found if "enabled" in node.states]
            return (enabled or found)[0]
    place = (
        f"the menu {' > '.join(quote_text(name, 40) for name in above)}"
        if above
        else "the menu bar"
    )
    raise UiError(
        "NOT_FOUND",
        f"There is no item {quote_text(title)} in {place} of {app.name}.",
        near_text(title, dict.fromkeys(node.title for node in level if node.title)),
        reason="no_menu",
    )


def _comparable_title(title: str) -> str:
    """Return a title as it is compared: without accelerator, one kind of dots, no case."""
    return _DOTS.sub("…", _GAP.split(title.strip())[0].strip()).casefold()


def _without_dots(title: str) -> str:
    return _comparable_title(title).rstrip("…").rstrip()
