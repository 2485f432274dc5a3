"""How far a call reaches, from what is known of its element and app, and what is not shown of it.

Reading is SAFE. A change is MODIFY, unless one of the reasons holds that make it DANGEROUS:
a secret, the default button of a dialog, a word of the table, an app that runs what it is given or
works other apps, a combination of keys that ends, destroys or sends. Words on buttons and menu
items only raise: one that is missing here leaves a call at MODIFY. A word counts where it stands as
a word; languages written without spaces, anywhere.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from iac_accessibility.model import TEXT_ROLES, Frame, UiNode, takes_typing
from iac_base.interface import danger_word, meaning_verb
from iac_base.secrets import REDACTED, is_secret_field, secret_spans
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


Hides = Literal["", "values", "texts"]


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
    texts = (node.title, node.label, node.description, node.identifier, *facts.words)
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
    """Say whether an element holds a secret. Readers say so of each (`mark_secret`)."""
    return "secure" in node.states


def shows_secret(node: UiNode) -> bool:
    """Say whether something of an element is not shown: a picture may not show it either."""
    said = (node.title, node.value, node.label)
    return holds_secret(node) or any(
        REDACTED in text or text == HIDDEN for text in said if isinstance(text, str)
    )


def mark_secret(node: UiNode, *names: str, hides: Hides = "") -> UiNode:
    """Return an element without what is not shown of it; every reader ends with this.

    Args:
        names: What it is called beside title, label and identifier: its attributes, the text
            beside it.
        hides: What its app does not show.
    """
    if node.role in TEXT_ROLES or "editable" in node.states:
        called = (node.title, node.label, node.identifier, *names)
        if holds_secret(node) or any(map(is_secret_field, filter(None, called))):
            return node._replace(states=node.states | {"secure"}, value=None)
    elif node.role == "static_text" and any(_tells_of(name, node.title) for name in names):
        value = REDACTED if isinstance(node.value, str) else node.value
        return node._replace(title=REDACTED, value=value)
    if not hides or node.role not in _SHOWN_ROLES:
        return node
    if hides == "texts":
        node = node._replace(title=node.title and HIDDEN, label=node.label and HIDDEN)
    # A text that only says something is its title too.
    if node.value in (None, "") or (hides == "values" and node.role == "static_text"):
        return node
    return node._replace(value=HIDDEN)


def _tells_of(label: str, text: str) -> bool:
    return bool(label) and bool(secret_spans(f"{label.rstrip(' :')}: {text}"))


def needs_neighbours(node: UiNode, *, valued: bool, labelled: bool = False) -> bool:
    """Say whether what stands beside an element may tell that it is a secret, or label it.

    Args:
        valued: Whether its value was read.
        labelled: Whether its label is wanted.
    """
    if node.role == "static_text":
        return _CODE.fullmatch(node.title) is not None
    return (
        (labelled or (valued and not holds_secret(node)))
        and takes_typing(node.role, node.states)
        and not (node.title or node.label)
    )


def text_beside(
    frame: Frame | None, texts: Sequence[tuple[str, Frame | None]], *, sure: bool = False
) -> str:
    """Return the text that labels a place: the nearest to the left or above; else the first.

    Args:
        texts: What stands before it among its siblings first, then what stands after it.
        sure: Only one to the left, or one above that ends with a colon.
    """
    if frame is None or not (frame.width > 0 < frame.height):
        return texts[0][0] if texts and not sure else ""
    near: list[tuple[float, str]] = []
    for text, place in texts:
        if place is None or not (place.width > 0 < place.height):
            continue
        left = frame.x - place.x - place.width
        above = frame.y - place.y - place.height
        if left > -_OVERLAP and above < 0 and place.y < frame.y + frame.height:
            near.append((left, text))
        elif (
            above > -_OVERLAP
            and left < 0
            and place.x < frame.x + frame.width
            and (not sure or text.endswith((":", "\uff1a")))
        ):
            near.append((above, text))
    return min(near, default=(0.0, ""))[1]


_OVERLAP: Final = 8
"""Pixels that frames of elements beside each other may have in common."""

_CODE: Final = re.compile(r"(?=.{3,80}\Z)[A-Za-z-]*[0-9][\w-]*(?: [A-Za-z-]*[0-9][\w-]*){0,11}")
"""A text that is nothing but codes: a number, a key, a list of them."""


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


HIDDEN: Final = "[hidden]"


@lru_cache(maxsize=4_096)
def hidden_in(app_id: str) -> Hides:
    """Return what is hidden because of an app: of a password manager all that it says, of an
    unknown one what is filled in.
    """
    # Needed here only, and not light.
    from iac_runtime.toolkit import is_unreadable_app

    if not is_unreadable_app(app_id):
        return ""
    return "texts" if app_id else "values"
