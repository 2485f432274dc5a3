"""Rules of escalation on values: what is lost or replaced, how many, where it leads, whose it is.

Each function looks at a request and returns what it found, for a person to read, or an empty text.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from iac_base.text import escaped
from iac_runtime.language.steps import ByName, Every, Go, RefValue, Step
from iac_runtime.policy.call_view import (
    MOVES,
    CallValue,
    CallView,
    RuleContext,
    requests,
    selects_many,
    words_of,
)

QUERY_LIMIT: Final = 200
"""Characters that a URL may carry after its question mark."""

MANY: Final = 20
"""Items of one list that may be moved at once."""


def no_saving(view: CallView, _world: RuleContext) -> str:
    for row in view.given:
        saving = row.code == "savo" or row.name == "saving"
        if saving and "replac" not in row.name and str(row.value).lower() in ("no", "false"):
            return "saving: no"
    return ""


def replaces(view: CallView, _world: RuleContext) -> str:
    for row in view.given:
        replacing = row.code == "alrp" or re.search("replac|overwrit", row.name)
        if replacing and str(row.value).lower() in ("true", "yes"):
            return row.name or "replacing"
    return ""


def many(view: CallView, _world: RuleContext) -> str:
    if not view.event.writes:
        return ""
    subjects = [event.target for event in requests(view.event)]
    subjects += [
        row.value.steps
        for row in view.given
        if isinstance(row.value, RefValue) and row.code != "insh"
    ]
    whole = view.several | {"selection"} if view.of_files else view.several
    return "several objects" if any(selects_many(steps, whole) for steps in subjects) else ""


def list_of_many(view: CallView, _world: RuleContext) -> str:
    count = sum(row.code == "----" for row in view.given)
    return str(count) if view.event.writes and count > MANY else ""


_TRASH: Final = re.compile(
    r"\b(trash|rubbish|recycle bin|bin|junk|spam|deleted (messages|items|mail)|recently deleted)\b"
)


def _destinations(view: CallView) -> Iterator[tuple[Step, ...]]:
    """Yield the places that things are moved to, by a move or by setting what holds them."""
    for row in view.given if view.event.writes else ():
        if isinstance(row.value, RefValue):
            moved = view.event.code in MOVES and row.code == "insh"
            if moved or (row.owner == "set" and row.name in _HOLDERS):
                yield row.value.steps


_HOLDERS: Final = frozenset("mailbox folder container playlist list calendar group".split())


def to_trash(view: CallView, _world: RuleContext) -> str:
    """A trash or a junk folder by its name; Finder's `.Trash` too."""
    for steps in _destinations(view):
        for step in steps:
            if isinstance(step, Go) and _TRASH.search(words_of(step.name)):
                return words_of(step.name)
            if isinstance(step, ByName) and _TRASH.search(step.name.casefold()):
                return step.name
    return ""


def other_account(view: CallView, _world: RuleContext) -> str:
    if not view.event.writes:
        return ""
    targets = [view.event.target] + [
        row.value.steps
        for row in view.given
        if row.code == "----" and isinstance(row.value, RefValue)
    ]
    homes = {account for steps in targets for account in _account(steps)}
    for steps in _destinations(view):
        for account in _account(steps):
            if homes and account not in homes:
                return "another account"
    return ""


def _account(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step, following in pairwise(steps):
        if isinstance(step, Every) and words_of(step.name).endswith("accounts"):
            yield following


def asks_for_text(view: CallView, world: RuleContext) -> str:
    """A dialog with a field to type into: what a person enters there goes to the caller."""
    hidden = flag("hidden answer", "htxt")(view, world)
    field = any(row.code == "dtxt" for row in view.given)
    return hidden or ("default answer" if field and view.event.code == "sysodlog" else "")


_URL_NAME: Final = re.compile(r"\b(url|uri|link|href|web ?site|web ?page|home ?page|webloc)\b")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_ACTIVE: Final = frozenset(
    "about applescript blob chrome data facetime file ftp itms itms-apps javascript mailto message"
    " ms-msdt sftp shortcuts smb afp nfs cifs sms ssh tel telnet vbscript view-source vnc webcal"
    " workflow x-apple.systempreferences x-man-page x-help-action".split()
)


def _links(view: CallView) -> Iterator[tuple[str, bool]]:
    """Yield every value that is a URL, and whether its parameter says that it must be one."""
    for row, text in view.texts:
        direct = row.code == "----" and view.event.code == "GURLGURL"
        if direct or _URL_NAME.search(row.name) or _URL_NAME.search(row.type):
            yield text, True
            continue
        plain = text.strip()
        scheme = _SCHEME.match(plain)
        if scheme and not re.search(r"\s", plain):
            known = scheme.group()[:-1].lower() in _ACTIVE
            if known or plain[scheme.end() :].startswith("//"):
                yield text, False


def _acts(view: CallView) -> bool:
    return view.event.writes or view.event.op == "command"


def scheme(view: CallView, _world: RuleContext) -> str:
    if not _acts(view):
        return ""
    return next((url for url, _ in _links(view) if not _plain(url.strip())), "")


_HTTPS: Final = re.compile(r"https://[^\s/?#@\\]+(?:[/?#]\S*)?", re.I)


def _plain(url: str) -> bool:
    """Say whether a URL leads where it seems to: https, no user before the host, nothing unseen."""
    return _HTTPS.fullmatch(url) is not None and escaped(url) == url


def long_query(view: CallView, _world: RuleContext) -> str:
    if not _acts(view):
        return ""
    for url, _ in _links(view):
        try:
            parts = urlsplit(url.strip())
        except ValueError:
            return url
        if len(parts.query) + len(parts.fragment) > QUERY_LIMIT:
            return url
    return ""


_LATER: Final = re.compile(
    r"\b(rule|rule condition|login item|folder action|script|user|account|attendee|alarm"
    r"|configuration|property list item|server|recipient|launch agent|workflow)s?\b"
)


def later(view: CallView, _world: RuleContext) -> str:
    return view.made if _LATER.search(view.made) else ""


def flag(name: str, code: str) -> Callable[[CallView, RuleContext], str]:
    def test(view: CallView, _world: RuleContext) -> str:
        for row in view.given:
            if (row.code == code or row.name == name) and str(row.value).lower() in ("true", "yes"):
                return name
        return ""

    return test


_RECIPIENT: Final = re.compile(
    r"\b(address|recipient|email|e mail|participant|buddy|handle|phone|attendee|invitee)s?\b"
)
_SCRIPT: Final = re.compile(
    r"\b(script|java ?script|command|source|code|expression|shell|macro|formula)\b"
)
_PATH: Final = re.compile(r"\b(path|file|folder|posix path)\b")
_SCRIPT_EVENTS: Final = re.compile(r"sysoexec|sysodsct|....dosc|sfridojs|CrSuExJa|prcskprs")


def _carries(view: CallView, row: CallValue, links: frozenset[str]) -> bool:
    """Say whether a value is used as a recipient, a URL, a path or a script."""
    name = f"{row.name} {row.owner}"
    text = str(row.value)
    if view.path_of(row.value) is not None or text in links:
        return True
    if row.code == "----" and _SCRIPT_EVENTS.fullmatch(view.event.code):
        return True
    return any(rule.search(name) or rule.search(row.type) for rule in (_RECIPIENT, _SCRIPT, _PATH))


def tainted(view: CallView, world: RuleContext) -> str:
    if world.taint is None or not _acts(view):
        return ""
    links = frozenset(url for url, _ in _links(view))
    if not view.event.writes and not links:
        return ""
    for row, text in view.texts:
        if row.code != "kocl" and _carries(view, row, links):
            piece = world.taint.used_in(text)
            if piece:
                return piece
    return ""
