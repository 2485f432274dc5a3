"""How far a call reaches, from what is known of its element and app. Nothing here asks anybody.

Reading is SAFE. A change is MODIFY, unless one of the reasons holds that make it DANGEROUS:
a secret, the default button of a dialog, a word of the table, an app that runs what it is given or
works other apps, synthetic input. Words only raise.
"""

from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from iac_accessibility.model import Node
from iac_accessibility.roles import TEXT_ROLES
from iac_accessibility.words import danger_word
from iac_base.secrets import is_secret
from iac_runtime.tool import Level

__all__ = ["Facts", "Verdict", "holds_secret", "level_of", "runs_things"]

_DIALOGS: Final = frozenset(("dialog", "alert", "sheet", "file_chooser"))
_CANCELS: Final = frozenset(("cancel", "close", "abbrechen", "annuler", "cancelar", "annulla"))

_RUNNERS: Final = (
    # Run text or files as code, or are shells.
    *(
        "com.apple.terminal",
        "com.googlecode.iterm2",
        "com.mitchellh.ghostty",
        "net.kovidgoyal.kitty",
    ),
    *("dev.warp.*", "org.alacritty", "com.github.wez.wezterm", "co.zeit.hyper"),
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


class Facts(NamedTuple):
    """What is known of a change before it is made.

    Attributes:
        app_id: Identity of the app's process; empty where it could not be read.
        node: The element.
        window: The window that it is in.
        default: Whether it is the window's default button.
        synthetic: Whether keys would be synthesised.
        words: What is named beside the element's own title: the menus on the way, the action.
    """

    app_id: str
    node: Node
    window: Node
    default: bool = False
    synthetic: bool = False
    words: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """The level, and a clause for each reason that raised it."""

    level: Level
    reasons: tuple[str, ...] = ()


def level_of(facts: Facts) -> Verdict:
    """Return the level of a change, MODIFY or DANGEROUS, with the reasons for the latter."""
    node, window = facts.node, facts.window
    reasons: list[str] = []
    if holds_secret(node):
        reasons.append("the element holds a secret")
    in_dialog = window.role in _DIALOGS or "modal" in window.states
    if facts.default and in_dialog:
        reasons.append("it is the default button of a dialog")
    texts = (node.title, node.description, node.identifier, *facts.words)
    found = next(filter(None, map(danger_word, texts)), None)
    if found is None and in_dialog and not _cancels(node) and node.role not in TEXT_ROLES:
        found = danger_word(window.title)
    if found is not None:
        reasons.append(f'"{found[0]}" {found[1]}')
    if runs_things(facts.app_id):
        reasons.append("the app runs what it is given, or works other apps")
    if facts.synthetic:
        reasons.append("keys are synthesised")
    if not facts.app_id:
        reasons.append("the identity of the app could not be read")
    return Verdict("DANGEROUS" if reasons else "MODIFY", tuple(reasons))


def holds_secret(node: Node) -> bool:
    """Say whether an element holds a secret: by its role, or by what it is called."""
    if node.secure:
        return True
    named = f"{node.title} {node.identifier}"
    return node.role in TEXT_ROLES and is_secret(named, "text")


def runs_things(app_id: str) -> bool:
    """Say whether an app is an interpreter or a remote control, by its identity."""
    name = app_id.casefold()
    return any(fnmatchcase(name, pattern) for pattern in _RUNNERS)


def _cancels(node: Node) -> bool:
    return node.title.casefold() in _CANCELS
