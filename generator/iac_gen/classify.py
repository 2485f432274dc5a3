"""Classify: the permission level of a command, a property setter, a class; and why.

A level is the maximum of all evidence: event code, app, parameters, verb. Text alone never
lowers one; only a quirk does. Levels: docs/adr/0014-levels-and-ceilings.md.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from iac_gen.model import Class, Command, Parameter, Property
from iac_gen.resolve import Resolved
from iac_runtime.tool import LEVELS, Level

__all__ = ["Verdict", "delete_level", "highest", "judge_command", "judge_setter", "make_level"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A level and the one line that says what made it so."""

    level: Level
    reason: str


# Codes of the standard, Finder, System Events and scripting-addition suites: they mean the
# same in every app and every language.
_EVENTS: Final[dict[str, Verdict]] = {
    **dict.fromkeys(
        ("coregetd", "corecnte", "coredoex", "coredsiz", "sysorondrandom"), Verdict("SAFE", "reads")
    ),
    **dict.fromkeys(
        ("miscactv", "miscslct", "miscmvis", "aevtrapp"), Verdict("SAFE", "changes the view only")
    ),
    "aevtodoc": Verdict("MODIFY", "opens a document"),
    "aevtpdoc": Verdict("MODIFY", "prints"),
    "aevtoapp": Verdict("MODIFY", "starts the app"),
    "aevtquit": Verdict("DANGEROUS", "ends the app, unsaved work may be lost"),
    "coreclos": Verdict("MODIFY", "closes, unsaved work may be lost"),
    "coresave": Verdict("MODIFY", "writes a file"),
    "coreclon": Verdict("MODIFY", "makes a copy"),
    "coremove": Verdict("MODIFY", "moves"),
    "corecrel": Verdict("MODIFY", "makes something new"),
    "coresetd": Verdict("MODIFY", "changes a property"),
    "coredelo": Verdict("DANGEROUS", "deletes"),
    "coredosc": Verdict("DANGEROUS", "runs a script"),
    "miscdosc": Verdict("DANGEROUS", "runs a script"),
    "sysoexec": Verdict("DANGEROUS", "runs a shell command"),
    "sysodsct": Verdict("DANGEROUS", "runs a script"),
    "sysoload": Verdict("DANGEROUS", "loads a script"),
    "fndrempt": Verdict("DANGEROUS", "empties the trash"),
    "fndrfera": Verdict("DANGEROUS", "erases a disk"),
    "fndrrest": Verdict("DANGEROUS", "restarts the computer"),
    "fndrshut": Verdict("DANGEROUS", "shuts the computer down"),
    "fndrlogo": Verdict("DANGEROUS", "logs the user out"),
    "aevtrlgo": Verdict("DANGEROUS", "logs the user out"),
    "aevtrrst": Verdict("DANGEROUS", "restarts the computer"),
    "aevtrsdn": Verdict("DANGEROUS", "shuts the computer down"),
    "prcskprs": Verdict("DANGEROUS", "types keys"),
    "prcskcod": Verdict("DANGEROUS", "types keys"),
    "prcsclic": Verdict("DANGEROUS", "clicks"),
    "prcsperf": Verdict("DANGEROUS", "performs an action of the interface"),
    "emsgsend": Verdict("DANGEROUS", "leaves the machine and cannot be called back"),
    "ichtsend": Verdict("DANGEROUS", "leaves the machine and cannot be called back"),
    "srctrun ": Verdict("DANGEROUS", "runs a shortcut, which may do anything"),
    "GURLGURL": Verdict("MODIFY", "opens a URL"),
}

# Apps that run what they are given: opening a file or taking text is running it.
_INTERPRETERS: Final = frozenset(
    {
        "com.apple.Automator",
        "com.apple.ScriptEditor2",
        "com.apple.Terminal",
        "com.apple.systemevents",
        "com.apple.shortcuts",
        "com.apple.shortcuts.events",
        "com.apple.finder",
        "com.googlecode.iterm2",
        "org.hammerspoon.Hammerspoon",
        "com.stairways.keyboardmaestro.engine",
    }
)

# Verbs by what they do. The first word of a term decides, a later one where it is decisive.
_VERB_ROWS: Final[tuple[tuple[Level, str, str], ...]] = (
        ("DANGEROUS", "runs code", "evaluate execute script run osascript javascript eval"),
        ("DANGEROUS", "destroys", "erase wipe destroy purge empty trash format revert discard"),
        ("DANGEROUS", "deletes", "delete remove uninstall unregister"),
        ("DANGEROUS", "leaves the machine and cannot be called back",
         "send post publish tweet submit broadcast upload transmit email dial call bounce"),
        ("DANGEROUS", "ends a session", "quit terminate kill shutdown restart reboot logout"),
        ("DANGEROUS", "captures", "record capture screenshot"),
        ("DANGEROUS", "types or clicks", "keystroke click type press"),
        ("DANGEROUS", "touches credentials", "authorize authenticate unlock login"),
        ("SAFE", "reads", "get count exists list find search read info offset check is has"
         " describe lookup summarize extract path size measure data"),
        ("SAFE", "changes the view only",
         "show reveal select activate scroll zoom focus display hide collapse expand highlight"
         " view beep reopen"),
        ("SAFE", "plays or navigates",
         "play pause playpause stop resume next previous back forward rewind mute unmute seek"),
)  # fmt: skip
_VERBS: Final = {
    word: Verdict(level, reason) for level, reason, words in _VERB_ROWS for word in words.split()
}
_SECOND: Final = frozenset({"shell", "script", "javascript", "applescript", "macro"})

_FREE_TEXT: Final = re.compile(
    r"script|command|code|source|macro|expression|shell|url|address|recipient|password|query", re.I
)
_SECRET: Final = re.compile(
    r"password|passphrase|authentic|credential|secret|token|server|host|port\b|\bssl\b|user ?name"
    r"|script|forward|redirect|delete|owner|group\b|privileges|permission|security|login"
    r"|default application|executable|\bvalue\b.*(plist|xml)|environment|startup|warns? before"
    r"|require",
    re.I,
)
_VIEW: Final = frozenset(
    {
        "active tab index", "bounds", "collapsed", "current tab", "current view", "floating",
        "frontmost", "index", "miniaturized", "minimized", "mute", "muted", "player position",
        "position", "selected mailboxes", "selected messages", "selection", "sidebar width",
        "size", "sound volume", "toolbar visible", "visible", "zoomed",
    }
)  # fmt: skip
_ACTS_LATER: Final = re.compile(
    r"\brule\b|account|login item|script|folder action|\buser\b|alarm|attendee|configuration"
    r"|property list item|\bserver\b|rule condition|recipient",
    re.I,
)


def highest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict with the highest level, the first of equals."""
    best = Verdict("SAFE", "reads")
    for position, verdict in enumerate(verdicts):
        if position == 0 or LEVELS.index(verdict.level) > LEVELS.index(best.level):
            best = verdict
    return best


def judge_command(
    command: Command, resolved: Resolved, kinds: Iterable[str], *, hidden: bool = False
) -> Verdict:
    """Return the level of a command; `kinds` are the type strings of its parameters.

    `hidden` says that the dictionary hides it and a quirk alone shows it.
    """
    interpreter = resolved.source.id in _INTERPRETERS
    found = [_EVENTS.get(command.code) or _by_verb(command)]
    if interpreter and command.code == "aevtodoc":
        found.append(Verdict("DANGEROUS", "opening may run what is opened"))
    if (
        interpreter
        and command.code in ("coreclos", "corecrel")
        and "Terminal" in resolved.source.id
    ):
        found.append(Verdict("DANGEROUS", "starts or ends a shell"))
    takes_text = any(
        part in ("text", "file", "any") for kind in kinds for part in kind.split(" | ")
    )
    if takes_text and command.code not in _EVENTS:
        evaluates = command.result is not None and any(
            ref.name in ("any", "text") for ref in command.result
        )
        named = [p for p in _parameters(command) if _FREE_TEXT.search(p.name)]
        if interpreter:
            found.append(Verdict("DANGEROUS", "this app runs what it is given"))
        elif evaluates and named:
            found.append(Verdict("DANGEROUS", f"takes {named[0].name} and answers what came of it"))
    if hidden:
        found.append(Verdict("MODIFY", "hidden in the dictionary"))
    return highest(found)


def _parameters(command: Command) -> list[Parameter]:
    return [*command.parameters, *([command.direct] if command.direct else [])]


def _by_verb(command: Command) -> Verdict:
    words = [word for word in re.split(r"[^a-z]+", command.name.lower()) if word]
    if any(word in _SECOND for word in words[1:]) and words[0] in ("do", "run", "execute", "load"):
        return Verdict("DANGEROUS", "runs code")
    if any(word.endswith(("javascript", "script", "shell")) for word in words):
        return Verdict("DANGEROUS", "runs code")
    if words and words[0] in _VERBS:
        return _VERBS[words[0]]
    return Verdict("MODIFY", "may change something")


def judge_setter(owner: Class, prop: Property) -> Verdict:
    """Return the level of setting a property; one that cannot be set is SAFE."""
    if prop.access == "r":
        return Verdict("SAFE", "cannot be set")
    name = prop.name.lower()
    if _SECRET.search(name) and not name.endswith(("status", "count", "size", "color")):
        return Verdict("DANGEROUS", f"{prop.name} decides what happens later or is a secret")
    if _ACTS_LATER.search(owner.name):
        if name not in ("name", "enabled"):
            return Verdict("DANGEROUS", f"a {owner.name} acts later by itself")
        return Verdict("MODIFY", "changes a property")
    if name in _VIEW:
        return Verdict("SAFE", "changes the view only")
    return Verdict("MODIFY", "changes a property")


def make_level(row: Class) -> Verdict:
    """Return the level of making an object of a class."""
    if _ACTS_LATER.search(row.name) and not row.name.endswith("recipient"):
        return Verdict("DANGEROUS", f"a {row.name} acts later by itself")
    return Verdict("MODIFY", "makes something new")


def delete_level(row: Class) -> Verdict:
    """Return the level of deleting an object of a class: always the highest."""
    return Verdict("DANGEROUS", f"deletes a {row.name}")
