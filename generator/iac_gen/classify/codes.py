"""Levels by event code: what an event means in every app and every language.

Eight characters of suite and event. Codes of the standard, text, Finder, System Events, folder
action and scripting-addition suites (AERegistry.h, ASRegistry.h, FinderRegistry.h and the
public dictionaries themselves), and of a few apps whose events say it all.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final

from iac_runtime.tool import LEVELS, Level


@dataclass(frozen=True, slots=True)
class LevelVerdict:
    """A level and its reason, a few words that end a sentence."""

    level: Level
    reason: str


READS: Final = LevelVerdict("SAFE", "reads")


def highest(verdicts: Iterable[LevelVerdict]) -> LevelVerdict:
    """Return the verdict with the highest level, the first of equals; SAFE for none."""
    return max(verdicts, key=lambda verdict: LEVELS.index(verdict.level), default=READS)


def rows(table: Iterable[tuple[Level, str, str]]) -> dict[str, LevelVerdict]:
    """Return word -> verdict for rows of (level, reason, words)."""
    return {word: LevelVerdict(level, why) for level, why, words in table for word in words.split()}


OPENS_FILES: Final = "aevtodoc"
OPENS_URLS: Final = "GURLGURL"

# (level, reason, codes); a blank in a code is written as a dot, no known code has one.
_ROWS: Final[tuple[tuple[Level, str, str], ...]] = (
    ("SAFE", "reads", "coregetd corecnte coredoex coredsiz sysorand sysorond misccurd sysonfo4"
     " earslvol earslfdr earsffdr sysorpth sysontoc sysocton sysolocS sysooffs fbcssumm JonsiClp"
     " rdwrgeof rdwrclos sysocpls sysogtvl sysosigt sysoGMT. facolact"),
    ("SAFE", "changes the view only",
     "miscactv miscslct miscmvis aevtrapp scsvstrt"),
    ("SAFE", "is seen or heard by the user only", "sysobeep sysottos sysonotf"),
    ("SAFE", "waits", "sysodela"),
    ("MODIFY", "opens a document", OPENS_FILES),
    ("MODIFY", "opens a URL", OPENS_URLS),
    ("MODIFY", "prints", "aevtpdoc"),
    ("MODIFY", "starts the app", "aevtoapp ascrnoop"),
    ("MODIFY", "closes, unsaved work may be lost", "coreclos"),
    ("MODIFY", "writes a file", "coresave"),
    ("MODIFY", "makes a copy", "coreclon"),
    ("MODIFY", "moves", "coremove"),
    ("MODIFY", "makes something new", "corecrel"),
    ("MODIFY", "changes a property", "coresetd"),
    ("MODIFY", "edits or uses the clipboard",
     "misccopy misccut. miscpast miscundo miscredo JonspClp"),
    ("MODIFY", "reads the clipboard, which may hold a password", "JonsgClp"),
    ("MODIFY", "reads the environment, which may hold a secret", "fndrgstl"),
    ("MODIFY", "opens a file", "rdwropen"),
    ("MODIFY", "asks the user",
     "sysodlog sysodisA sysostdf sysonwfl sysostfl gtqpchlt sysochcl sysoppcb sysochur"),
    ("MODIFY", "changes a setting", "aevtstvl"),
    ("MODIFY", "puts the computer to sleep", "fndrslep"),
    ("MODIFY", "arranges icons", "fndrfclu"),
    ("MODIFY", "unmounts a volume", "fndrejct"),
    ("MODIFY", "groups or drops changes", "miscbegi miscendt miscttrm"),
    ("MODIFY", "shows a script for editing", "facoedfa"),
    ("DANGEROUS", "ends the app, unsaved work may be lost", "aevtquit"),
    ("DANGEROUS", "deletes", "coredelo"),
    ("DANGEROUS", "drops unsaved work", "miscrvrt"),
    ("DANGEROUS", "runs code", "coredosc miscdosc sysoexec sysodsct sysoload facofola"),
    ("DANGEROUS", "writes code to disk", "sysostor"),
    ("DANGEROUS", "makes a script act later by itself", "facoatfa"),
    ("DANGEROUS", "removes what acts by itself", "facormfa"),
    ("DANGEROUS", "reads any file", "rdwrread"),
    ("DANGEROUS", "writes any file", "rdwrwrit rdwrseof"),
    ("DANGEROUS", "connects to another computer", "aevtmvol sysochra netzconn"),
    ("DANGEROUS", "drops the network, a VPN too", "netzdcon"),
    ("DANGEROUS", "shows an unattended screen", "scsvstop"),
    ("DANGEROUS", "destroys for good", "fndrempt fndrfera"),
    ("DANGEROUS", "restarts the computer", "fndrrest aevtrrst"),
    ("DANGEROUS", "shuts the computer down", "fndrshut aevtrsdn"),
    ("DANGEROUS", "logs the user out", "fndrlogo aevtrlgo"),
    ("DANGEROUS", "types keys", "prcskprs prcskcod prcskeyF prcskeyU"),
    ("DANGEROUS", "works the controls of any app",
     "prcsclic prcsperf prcspick prcscnfm prcscncl prcsincE prcsdecr"),
    ("DANGEROUS", "asks for an administrator", "miscmaut"),
    ("DANGEROUS", "leaves the machine and cannot be called back",
     "emsgsend ichtsend emalbcms"),
    ("DANGEROUS", "runs a shortcut, which may do anything", "srctrun."),
)  # fmt: skip


def _coded() -> Iterator[tuple[str, LevelVerdict]]:
    for level, reason, codes in _ROWS:
        for code in codes.split():
            yield code.replace(".", " "), LevelVerdict(level, reason)


EVENTS: Final[Mapping[str, LevelVerdict]] = dict(_coded())
"""Event code -> verdict. Words can raise it, never lower it."""


FILE: Final = "floors.json"
_REASON: Final = "known by its code"


@dataclass(frozen=True, slots=True)
class Floors:
    """Levels by code: events, (class, property) of setters, classes whose making has one."""

    events: Mapping[str, Level] = field(default_factory=dict)
    setters: Mapping[tuple[str, str], Level] = field(default_factory=dict)
    classes: Mapping[str, Level] = field(default_factory=dict)

    def event(self, code: str) -> list[LevelVerdict]:
        """Return what is known of an event, a list of one or none."""
        return _verdicts(self.events.get(code))

    def setter(self, owner: str, code: str) -> list[LevelVerdict]:
        """Return what is known of setting a property of a class, a list of one or none."""
        return _verdicts(self.setters.get((owner, code)))

    def made(self, code: str) -> list[LevelVerdict]:
        """Return what is known of making an object of a class, a list of one or none."""
        return _verdicts(self.classes.get(code))


def _verdicts(level: Level | None) -> list[LevelVerdict]:
    return [] if level is None else [LevelVerdict(level, _REASON)]


@cache
def shipped() -> Floors:
    """Return the floors that ship with the generator."""
    data = json.loads((files("iac_gen.classify") / FILE).read_text(encoding="utf-8"))
    return Floors(
        {code: level for level, codes in data["events"].items() for code in codes},
        {
            (owner, code): level
            for level, owners in data["setters"].items()
            for owner, codes in owners.items()
            for code in codes
        },
        {code: level for level, codes in data["classes"].items() for code in codes},
    )
