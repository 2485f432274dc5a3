"""How far a call reaches, from what is known of its element and app, and what is not shown of it.

Reading is SAFE. A change is MODIFY, unless one of the reasons holds that make it DANGEROUS:
a secret, the default button of a dialog, a word of the table, an app that runs what it is given or
works other apps, a combination of keys that ends, destroys or sends. Words on buttons and menu
items only raise: one that is missing here leaves a call at MODIFY. A word counts where it stands as
a word; languages written without spaces, anywhere.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from iac_accessibility.model import TEXT_ROLES, UiNode, takes_typing
from iac_base.interface import danger_word, meaning_verb
from iac_base.secrets import is_secret
from iac_runtime.tool import Level
from iac_runtime.toolkit import Verb

_DIALOGS: Final = frozenset(("dialog", "alert", "sheet", "file_chooser"))
_CANCELS: Final = frozenset(("cancel", "close", "abbrechen", "annuler", "cancelar", "annulla"))

_RUNNERS: Final = (
    # Run text or files as code, or are shells.
    *("com.apple.terminal", "com.googlecode.iterm2", "com.mitchellh.ghostty"),
    *("net.kovidgoyal.kitty", "dev.warp.*", "org.alacritty"),
    *("com.github.wez.wezterm", "co.zeit.hyper"),
    *("com.apple.automator*", "com.apple.scripteditor2", "com.apple.shortcuts*"),
    *("com.apple.dt.xcode", "com.apple.systemevents", "org.hammerspoon.hammerspoon"),
    *("com.stairways.keyboardmaestro.*", "com.runningwithcrayons.alfred*"),
    *("com.hegenberg.bettertouchtool", "org.gnu.emacs", "org.vim.macvim", "com.raycast.macos"),
    *("com.latenightsw.scriptdebugger*", "com.red-sweater.fastscripts", "com.microsoft.vscode*"),
    *("com.jetbrains.*", "com.sublimetext.*", "com.apple.activitymonitor"),
    *("*.xterm", "*.uxterm", "*.konsole", "*.gnome-terminal*", "*.terminal", "*.xfce4-terminal"),
    *("*.kitty", "*.alacritty", "*.emacs*", "*.gvim*", "*.code", "*.codium"),
    # Work other apps or other computers.
    *("com.apple.voiceover*", "com.apple.screensharing", "com.apple.remotedesktop*"),
    *("com.teamviewer.*", "com.philandro.anydesk", "com.microsoft.rdc.*", "com.realvnc.*"),
    *("com.parallels.*", "com.vmware.*", "org.virtualbox.*", "*.remmina*", "*.vncviewer"),
    *("*.virt-manager", "*.xdotool", "*.accerciser*", "com.carriez.rustdesk"),
)
"""Identities of interpreters and remote controls."""

_SHOWN_ROLES: Final = TEXT_ROLES | {"static_text", "cell", "row", "link", "list_item", "tree_item"}


class ChangeFacts(NamedTuple):
    """What is known of a change before it is made.

    Attributes:
        app_id: Identity of the app's process; empty where it could not be read.
        node: The element.
        window: The window that it is in.
        default: Whether it is the window's default button.
        runs: Whether the app is known by what it is to run what is typed there.
        words: What is named beside the element's own title: the menus on the way, the action.
        does: What a combination of keys does, as a meaning of the table; empty where nothing.
    """

    app_id: str
    node: UiNode
    window: UiNode
    default: bool = False
    runs: bool = False
    words: tuple[str, ...] = ()
    does: str = ""


class ChangeLevel(NamedTuple):
    """The level, a clause for each reason that raised it, and what a word says that it does."""

    level: Level
    reasons: tuple[str, ...] = ()
    verb: Verb = "unknown"


def assess_level(facts: ChangeFacts) -> ChangeLevel:
    """Return the level of a change, MODIFY or DANGEROUS, with the reasons for the latter."""
    node, window = facts.node, facts.window
    reasons: list[str] = []
    if holds_secret(node):
        reasons.append("the element holds a secret")
    in_dialog = is_dialog(window)
    if facts.default and in_dialog:
        reasons.append("it is the default button of a dialog")
    texts = (node.title, node.description, node.identifier, *facts.words)
    danger = next(filter(None, map(danger_word, texts)), None)
    if (
        danger is None
        and in_dialog
        and node.title.casefold() not in _CANCELS
        and node.role not in TEXT_ROLES
    ):
        danger = danger_word(window.title)
    if danger is not None:
        reasons.append(f'"{danger[0]}" {danger[1]}')
    if facts.runs or any(fnmatchcase(facts.app_id.casefold(), pattern) for pattern in _RUNNERS):
        reasons.append("the app runs code that it is given, or controls other apps")
    if facts.does:
        reasons.append(f"this {facts.does}")
    if not facts.app_id:
        reasons.append("the identity of the app could not be read")
    means = facts.does or (danger[1] if danger else "")
    verb: Verb = meaning_verb(means) or "unknown"
    return ChangeLevel("DANGEROUS" if reasons else "MODIFY", tuple(reasons), verb)


def holds_secret(node: UiNode) -> bool:
    """Say whether an element holds a secret: by its role, or by what it is called.

    What elements are called is not read of all. So readers mark those that do (`marked`), where
    they read values.
    """
    if "secure" in node.states:
        return True
    named = f"{node.title} {node.label} {node.identifier}"
    return (node.role in TEXT_ROLES or "editable" in node.states) and is_secret(named, "text")


def marked(node: UiNode) -> UiNode:
    """Return an element with the state of what holds a secret, where it does."""
    if "secure" in node.states or not holds_secret(node):
        return node
    return node._replace(states=node.states | {"secure"})


def is_dialog(window: UiNode) -> bool:
    """Say whether a window asks for an answer before anything else."""
    return window.role in _DIALOGS or "modal" in window.states


CONFIRMS_TEXT: Final = "confirms the text, and what follows is unknown"


def return_does(way: Sequence[UiNode]) -> str:
    """Return what Return does in the last element of a way, in the words of the levels.

    It presses what is the default of a dialog, sends a form of a page, and ends an entry of one
    line, which may run a command; in a text of several lines it is a line break.
    """
    node = way[-1]
    if any(is_dialog(one) for one in way):
        return "confirms a dialog"
    if node.role == "text_area" or not takes_typing(node.role, node.states):
        return ""
    if any(one.role == "web_area" for one in way):
        return "sends"
    return CONFIRMS_TEXT if node.role in TEXT_ROLES else ""


@lru_cache(maxsize=4_096)
def hides_values(app_id: str, role: str) -> bool:
    """Say whether values are hidden because of their app: a password manager, or an unknown one."""
    if role not in _SHOWN_ROLES:
        return False
    # Needed here only, and not light.
    from iac_runtime.toolkit import is_unreadable_app

    return is_unreadable_app(app_id)
