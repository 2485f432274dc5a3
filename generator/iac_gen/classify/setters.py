"""Levels of property setters, one by one: by code, by type, by the class, by words last."""

import re
from typing import Final

from iac_gen.classify.codes import LevelVerdict
from iac_gen.classify.words import CODE_WORDS, SECRET_WORDS, Phrase, phrase
from iac_gen.model import SdefClass, SdefProperty
from iac_runtime.tool import Level

_CHANGES: Final = LevelVerdict("MODIFY", "changes a property")
_VIEW: Final = LevelVerdict("SAFE", "changes the view only")

# Property codes of the file and interface suites (Finder, System Events, Image Events).
_CODES: Final = {
    **dict.fromkeys(
        ("sown", "sgrp", "ownr", "gppr", "gstp", "igpr"),
        LevelVerdict("DANGEROUS", "decides who may read or write"),
    ),
    "asda": LevelVerdict("DANGEROUS", "decides which app opens a file"),
    "pALL": LevelVerdict("DANGEROUS", "sets any of the properties at once"),
    "sele": LevelVerdict("SAFE", "changes the selection only"),
    "pisf": LevelVerdict("SAFE", "changes the view only"),
}

# Words that make a setter dangerous wherever they stand in its name.
_WORDS: Final = {
    **dict.fromkeys(
        SECRET_WORDS | {"authentication", "authenticated"}, "is a secret or guards one"
    ),
    **dict.fromkeys(
        CODE_WORDS | set("executable binary binaries command commands interpreter".split()),
        "decides what is run",
    ),
    **dict.fromkeys(
        "server host hostname port proxy ssl tls username smtp imap".split(),
        "decides where credentials and data go",
    ),
    **dict.fromkeys(
        "owner privileges permission permissions security secure login firewall encryption"
        " encrypted trust trusted certificate bypass sudo".split(),
        "decides who may do what",
    ),
    **dict.fromkeys("forward redirect bcc".split(), "sends by itself"),
    **dict.fromkeys("delete deletes".split(), "deletes by itself"),
}
_PHRASES: Final = (
    (re.compile(r"\buser ?name\b"), "decides where credentials and data go"),
    (re.compile(r"\brequires?\b.*\b(wake|unlock|confirmation)\b"), "weakens a safeguard"),
    (re.compile(r"\b(automatic|auto) log|\blog ?(in|out)\b"), "decides who may log in"),
    (re.compile(r"\bwarns? before|\bconfirms? before|\bask before"), "removes a safeguard"),
    (re.compile(r"\b(default|custom) (application|app|editor|browser|script editor)\b"),
     "decides what is run"),
    (re.compile(r"\b(source|program|lua|java) code\b"), "decides what is run"),
    (re.compile(r"\bstartup (settings|command|script|item|action)|\bat (startup|login|launch)\b"),
     "decides what is run"),
    (re.compile(r"\b(module|plug ?in|library|extension|search) paths?\b"), "decides what is run"),
    (re.compile(r"\benvironment variables?\b"), "decides how programs run"),
    (re.compile(r"\bdelete\b.*\bon server\b"), "deletes by itself"),
    (re.compile(r"\breply text\b|\bauto ?reply\b"), "sends by itself"),
    (re.compile(r"\bdownloads? (html|remote|external)\b|\bload remote\b"), "lets others follow"),
)  # fmt: skip
# What is about such a thing, and is none.
_ABOUT: Final = frozenset(
    "status count size color colour date number style font position index level timeout".split()
)

# Classes whose objects act later, without anybody asking, known by the last words of their name;
# of the first all properties are dangerous, of the others those that the words above pick out.
_ACTS: Final = (
    "rule", "rule condition", "alarm", "attendee", "property list item", "property list file",
    "xml element", "xml attribute", "build setting", "environment variable",
    "network preferences object", "security preferences object",
)  # fmt: skip
_HOLDS_RIGHTS: Final = (
    "account", "agent", "configuration", "folder action", "hook", "login item",
    "scheduled task", "script", "script group", "server", "service", "trigger", "user",
)  # fmt: skip
_STARTS: Final = ("configuration", "folder action", "script", "service")
# These only tell the user something.
_HARMLESS: Final = ("display alarm", "sound alarm")
_QUIET: Final = frozenset(
    "name enabled active hidden full_name display_name description color colour index title"
    " image status_message status status_type".split()
)
# Values of an accessibility object or a setting: typing into anything, setting anything.
_VALUES: Final = re.compile(r"\b(ui element|attribute|text field|text area|slider)$", re.I)

_ALWAYS_VIEW: Final = frozenset(
    "selection frontmost muted mute miniaturized minimized collapsed zoomed floating presenting"
    " fullscreen full_screen full_screen_mode player_position current_time playhead"
    " sound_volume output_volume audio_volume vol volume magnification zoom zoom_level"
    " scroll_position sidebar_width".split()
)
_IN_A_WINDOW: Final = frozenset(
    "bounds position size index visible target width height origin view toolbar_visible"
    " sidebar_visible statusbar_visible active_tab_index current_tab current_view"
    " current_view_mode".split()
)
_CURRENT: Final = frozenset(
    "tab view page slide pane sheet photo item track_position layer tab_index document window"
    " perspective".split()
)
# What is replaced where a selection of it is set.
_TYPED_OVER: Final = frozenset("text string contents content".split())
# Codes of classes whose visibility is kept in the file system.
_FILES: Final = frozenset({"ditm", "file", "cobj"})
_WINDOWS: Final = re.compile(r"(window|viewer|browser|panel|drawer|toolbar|sidebar)s?$", re.I)

_CONTENTS: Final = frozenset(
    "text contents content body html plain_text rich_text source_text text_contents notes_text"
    " plain_text_content html_content".split()
)
_HOLDERS: Final = re.compile(r"(document|note|page|article|template|area|text file|entry)$", re.I)
_WHOLE: Final = frozenset("body_text plain_text rich_text source_text".split())
# Codes of whole contents. A new object has none to lose, so making one with them is less.
CONTENTS: Final = frozenset({"body", "ctxt", "pcnt", "PCnt", "text"})
_NO_TEXT: Final = frozenset("boolean integer real number date point rectangle color".split())


def acts_later(row: SdefClass) -> bool:
    """Say whether an object of the class does something by itself once it is there."""
    return _is_one_of(row, (*_ACTS, *_HOLDS_RIGHTS))


def _is_one_of(row: SdefClass, kinds: tuple[str, ...]) -> bool:
    """Say whether the name of a class ends with one of some names, as whole words."""
    name = f" {row.name.lower()}"
    return name.endswith(tuple(f" {kind}" for kind in kinds)) and not name.endswith(
        tuple(f" {kind}" for kind in _HARMLESS)
    )


def by_setter(owner: SdefClass, prop: SdefProperty) -> LevelVerdict:
    """Return the level of setting a property, its access left aside."""
    if (coded := _CODES.get(prop.code)) is not None:
        return coded
    words = phrase(prop.name)
    key = "_".join(words)
    if (danger := dangerous_name(words)) is not None:
        return LevelVerdict("DANGEROUS", f"{prop.name} {danger}")
    starts = key in ("enabled", "active") and _is_one_of(owner, _STARTS)
    if starts or (_is_one_of(owner, _ACTS) and key not in _QUIET):
        return LevelVerdict("DANGEROUS", f"a {owner.name} acts later by itself")
    if _VALUES.search(owner.name) and key == "value":
        return LevelVerdict("DANGEROUS", "types into any control")
    holds = key in _CONTENTS and _HOLDERS.search(owner.name) is not None
    text = not any(ref.name.lower() in _NO_TEXT for ref in prop.types)
    if (holds or key in _WHOLE) and text:
        return LevelVerdict("DANGEROUS", "replaces the whole content")
    return _VIEW if _is_view(owner, words) else _CHANGES


def made_with(code: str, level: Level) -> Level:
    """Return the level of giving a new object the property that is `level` to set."""
    return "MODIFY" if code in CONTENTS and level == "DANGEROUS" else level


def dangerous_name(words: Phrase) -> str | None:
    """Return why setting something of this name is dangerous, None where it is not."""
    if words and (words[-1] in _ABOUT or words[0] == "show" or "menu" in words):
        return None
    named = next((_WORDS[word] for word in words if word in _WORDS), None)
    if named is not None:
        return named
    plain = " ".join(words)
    return next((reason for pattern, reason in _PHRASES if pattern.search(plain)), None)


def _is_view(owner: SdefClass, words: Phrase) -> bool:
    """Say whether a property is selection, view or playing, which nobody stores."""
    name = owner.name.lower()
    if "preferences" in name or not words:
        return False
    key, first, last = "_".join(words), words[0], words[-1]
    window = owner.code == "cwin" or _WINDOWS.search(name) is not None
    shows = last in ("visible", "volume") or first == "fullscreen"
    return (
        key in _ALWAYS_VIEW
        or (window and key in _IN_A_WINDOW)
        or (shows and (window or name == "application"))
        or (key == "visible" and owner.code not in _FILES)
        or (first == "selected" and len(words) > 1 and last not in _TYPED_OVER)
        or ("selection" in words and last in ("range", "selection") and first != "allows")
        or (name.endswith("selection") and last == "range")
        or (name in ("tab", "session") and last in ("color", "title"))
        or (first in ("current", "active") and "_".join(words[1:]) in _CURRENT)
    )
