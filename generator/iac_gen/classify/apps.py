"""Levels by app: those that run what they are given, and those that work other apps.

Known by bundle id, or by name where a dictionary comes without an id. An app that takes the
name of one of these becomes harder to use, never easier.
"""

from enum import Flag, auto
from typing import Final

from iac_gen.model import Source
from iac_gen.resolve import Resolved

__all__ = ["Trait", "traits"]


class Trait(Flag):
    """What makes an app's commands weigh more."""

    NONE = 0
    INTERPRETER = auto()
    """Runs text or files as code."""
    SHELL = auto()
    """Its windows are processes: making one starts a shell, closing one ends it."""
    REMOTE = auto()
    """Works the interface of other apps, or another computer."""
    OPENER = auto()
    """Opening is what a double click does: any file, with the app that it belongs to."""
    RECORDER = auto()
    """Has cameras, microphones or the screen as its source."""


_INTERPRETER: Final = (
    "com.apple.Automator com.apple.ScriptEditor2 com.apple.Automator.Automator-Application-Stub"
    " com.apple.shortcuts com.apple.shortcuts.events com.apple.dt.Xcode com.apple.systemevents"
    " org.hammerspoon.Hammerspoon com.stairways.keyboardmaestro.engine"
    " com.stairways.keyboardmaestro.editor com.runningwithcrayons.Alfred"
    " com.hegenberg.BetterTouchTool org.gnu.Emacs org.vim.MacVim"
    " com.latenightsw.ScriptDebugger8 com.red-sweater.fastscripts com.raycast.macos"
)
_SHELL: Final = (
    "com.apple.Terminal com.googlecode.iterm2 com.mitchellh.ghostty net.kovidgoyal.kitty"
    " dev.warp.Warp-Stable org.alacritty com.github.wez.wezterm co.zeit.hyper"
)
_REMOTE: Final = (
    "com.apple.systemevents com.apple.VoiceOver com.apple.ScreenSharing com.apple.RemoteDesktop"
)
_OPENER: Final = (
    "com.apple.finder com.apple.systemevents com.apple.ImageEvents com.cocoatech.PathFinder"
)

_NAMES: Final = {
    Trait.INTERPRETER: "automator scripteditor shortcuts shortcutsevents xcode systemevents"
    " hammerspoon keyboardmaestro keyboardmaestroengine alfred bettertouchtool emacs macvim"
    " scriptdebugger fastscripts raycast",
    Trait.SHELL: "terminal iterm iterm2 ghostty kitty warp alacritty wezterm hyper macterm",
    Trait.REMOTE: "systemevents voiceover screensharing remotedesktop appleremotedesktop",
    Trait.OPENER: "finder systemevents imageevents pathfinder",
}
_IDS: Final = {
    Trait.INTERPRETER: _INTERPRETER,
    Trait.SHELL: _SHELL,
    Trait.REMOTE: _REMOTE,
    Trait.OPENER: _OPENER,
}

# Four-character codes of classes that only an app over the file system has: disk item, disk.
_FILE_CLASSES: Final = frozenset({"ditm", "cdis"})
_SOURCES: Final = frozenset("camera microphone recording capture webcam".split())


def traits(resolved: Resolved) -> Trait:
    """Return what is known of the app that `resolved` belongs to, from its id and classes."""
    found = _by_identity(resolved.source)
    if any(row.code in _FILE_CLASSES for row in resolved.classes):
        found |= Trait.OPENER
    if any(_SOURCES & set(row.name.lower().split()) for row in resolved.classes):
        found |= Trait.RECORDER
    return found


def _by_identity(source: Source) -> Trait:
    identifier = source.id.lower()
    name = "".join(ch for ch in source.name.lower() if ch.isalnum())
    found = Trait.NONE
    for trait, ids in _IDS.items():
        if identifier in ids.lower().split() or name in _NAMES[trait].split():
            found |= trait
    return found | Trait.INTERPRETER if Trait.SHELL in found else found
