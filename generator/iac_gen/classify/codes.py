"""Levels by event code: what an event means in every app and every language.

Eight characters of suite and event. Codes of the standard, text, Finder, System Events, folder
action and scripting-addition suites (AERegistry.h, ASRegistry.h, FinderRegistry.h and the
public dictionaries themselves), and of a few apps whose events say it all.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from iac_gen.classify.verdicts import Verdict
from iac_runtime.tool import Level

__all__ = ["EVENTS", "OPENS_FILES", "OPENS_URLS"]

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


def _coded() -> Iterator[tuple[str, Verdict]]:
    for level, reason, codes in _ROWS:
        for code in codes.split():
            yield code.replace(".", " "), Verdict(level, reason)


EVENTS: Final[Mapping[str, Verdict]] = dict(_coded())
"""Event code -> verdict. Words can raise it, never lower it."""
