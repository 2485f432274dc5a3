"""Levels that arguments raise, decided when a call is made. Rules are rows; levels only go up.

The rows are the table of what arguments can do beyond their tool's level: overwrite, discard,
reach many things, run something, lead elsewhere, act later, or carry on what a stranger wrote.
A row looks at the request that would be sent, never at words about it. Whether a document has
unsaved changes, and whether a calendar or a list is shared, is not in a request: the app's own
dialog and the level of the tool stand there.

The rules on files are in `file_rules`; here are those on values: what is lost or replaced, how
many, where it leads, whose it is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from iac_base.text import escaped
from iac_runtime.language.steps import (
    Among,
    Boundary,
    ById,
    ByIndex,
    ByName,
    Every,
    Go,
    RefValue,
    Step,
    Whose,
)
from iac_runtime.policy.addresses import THROWN, role_of
from iac_runtime.policy.call_view import (
    MOVES,
    CallValue,
    CallView,
    words_of,
)
from iac_runtime.policy.dataflow import Taint
from iac_runtime.policy.effects import Raised
from iac_runtime.policy.file_rules import (
    FILE_RULES,
    EscalationRule,
    RuleContext,
    RuleTable,
    RuleTest,
)
from iac_runtime.policy.places import is_executable
from iac_runtime.policy.reach import RECIPIENTS, links_in
from iac_runtime.tools.tables import Tables
from iac_runtime.types import parse_type


def escalate(view: CallView, context: RuleContext) -> tuple[Raised, ...]:
    """Return the rules that hold for a request, in the order of the table."""
    found: list[Raised] = []
    context = context._replace(links=links_in(view))
    for rule in RULES if view.paths or view.of_files else VALUE_RULES:
        evidence = rule.test(view, context)
        if evidence:
            found.append(Raised(rule.name, rule.says.format(_shown(evidence)), rule.to))
    return tuple(found)


def _shown(text: str, limit: int = 120) -> str:
    text = escaped(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


VALUE_RULES: Final = RuleTable()

QUERY_LIMIT: Final = 200
"""Characters that a URL may carry after its question mark."""

MANY: Final = 20
"""Items of one list that may be moved at once."""


@VALUE_RULES("without-saving", "DANGEROUS", "Unsaved changes would be lost ({}).")
def _no_saving(view: CallView, _context: RuleContext) -> str:
    for row in view.values:
        saving = row.code == "savo" or row.name == "saving"
        if saving and "replac" not in row.name and str(row.value).lower() in ("no", "false"):
            return "saving: no"
    return ""


@VALUE_RULES("replacing", "DANGEROUS", "It would replace something ({}).")
def _replaces(view: CallView, _context: RuleContext) -> str:
    for row in view.values:
        replacing = row.code == "alrp" or re.search("replac|overwrit", row.name)
        if replacing and str(row.value).lower() in ("true", "yes"):
            return row.name or "replacing"
    return ""


def _flag(name: str, code: str) -> RuleTest:
    def test(view: CallView, _context: RuleContext) -> str:
        for row in view.values:
            if (row.code == code or row.name == name) and str(row.value).lower() in ("true", "yes"):
                return name
        return ""

    return test


_WHOLE: Final = frozenset({"entireContents"})
"""Finder's name of all that a folder holds, however deep; its dictionary does not say so."""


@lru_cache(maxsize=256)
def _several_in(tables: Tables | None) -> frozenset[str]:
    """Return the properties of an app that hold several of its objects, by JXA name."""
    if tables is None:
        return frozenset()
    kinds: dict[str, bool] = {}
    for part in tables.classes.values():
        for row in part.properties:
            held = [kind.name for kind in parse_type(row.type) if kind.many]
            many = any(name == "specifier" or tables.find_class(name) for name in held)
            kinds[row.jxa] = kinds.get(row.jxa, True) and many
    return frozenset(name for name, many in kinds.items() if many) | _WHOLE


def _selects_many(steps: tuple[Step, ...], several: frozenset[str]) -> bool:
    """Say whether a specifier means several objects.

    A whole collection, what a filter finds, or one of the properties `several`.
    """
    for at, step in enumerate(steps):
        if isinstance(step, Whose) or (isinstance(step, Go) and step.name in several):
            return True
        if isinstance(step, Every):
            after = steps[at + 1] if at + 1 < len(steps) else None
            if not isinstance(after, ByIndex | ByName | ById | Among | Boundary | Whose):
                return True
    return False


@VALUE_RULES("many-objects", "up", "It changes {} at once.")
def _many(view: CallView, _context: RuleContext) -> str:
    if not view.event.writes:
        return ""
    subjects = [event.target for event in view.asked]
    subjects += [
        row.value.steps
        for row in view.values
        if isinstance(row.value, RefValue) and row.code != "insh"
    ]
    several = _several_in(view.tables) | ({"selection"} if view.of_files else set())
    return "several objects" if any(_selects_many(steps, several) for steps in subjects) else ""


@VALUE_RULES("more-than-20", "DANGEROUS", "It changes {} items at once.")
def _list_of_many(view: CallView, _context: RuleContext) -> str:
    count = sum(row.code == "----" for row in view.values)
    return str(count) if view.event.writes and count > MANY else ""


@VALUE_RULES("any-window", "MODIFY", "It reads the windows of {}, which may show secrets.")
def _any_window(view: CallView, _context: RuleContext) -> str:
    """A password manager is known by its name, or by its bundle id."""
    rows = () if view.event.writes else view.through
    unnamed = any(row.inside and not (row.name or row.bundle) for row in rows)
    return "an app that the call does not name" if unnamed else ""


_HOLDERS: Final = frozenset("mailbox folder container playlist list calendar group".split())


def _destinations(view: CallView) -> list[tuple[Step, ...]]:
    """Return the places that things are moved to, by a move or by setting what holds them."""
    if not view.event.writes:
        return []
    return [
        row.value.steps
        for row in view.values
        if isinstance(row.value, RefValue)
        and (
            (view.event.code in MOVES and row.code == "insh")
            or (row.owner == "set" and row.name in _HOLDERS)
        )
    ]


@VALUE_RULES("to-trash", "DANGEROUS", "Anything moved to {} is thrown away.")
def _to_trash(view: CallView, _context: RuleContext) -> str:
    """A trash or a junk folder by its name in any language of macOS; Finder's `.Trash` too."""
    for steps in _destinations(view):
        for step in steps:
            name = words_of(step.name) if isinstance(step, Go) else ""
            name = step.name if isinstance(step, ByName) else name
            if name and role_of(name) in THROWN:
                return name
    return ""


@VALUE_RULES("other-account", "DANGEROUS", "It moves something from one account to {}.")
def _other_account(view: CallView, _context: RuleContext) -> str:
    destinations = _destinations(view)
    if not destinations:
        return ""
    targets = [view.event.target] + [
        row.value.steps
        for row in view.values
        if row.code == "----" and isinstance(row.value, RefValue)
    ]
    homes = {account for steps in targets for account in _account(steps)}
    strange = any(account not in homes for steps in destinations for account in _account(steps))
    return "another account" if homes and strange else ""


def _account(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step, following in pairwise(steps):
        if isinstance(step, Every) and words_of(step.name).endswith("accounts"):
            yield following


_hidden_answer: Final = _flag("hidden answer", "htxt")


@VALUE_RULES("hidden-answer", "DANGEROUS", "It asks you for text, which may be a password ({}).")
def _asks_for_text(view: CallView, context: RuleContext) -> str:
    """A dialog with a field to type into: what a person enters there goes to the caller."""
    field = any(row.code == "dtxt" for row in view.values)
    asks = field and view.event.code == "sysodlog"
    return _hidden_answer(view, context) or ("default answer" if asks else "")


_NAMES: Final = frozenset({"name", "displayed name", "name extension", "title", "file name"})


@VALUE_RULES("executable-name", "DANGEROUS", "A file named {} would run when it is opened.")
def _renames(view: CallView, _context: RuleContext) -> str:
    for row, text in view.texts if view.event.writes else ():
        if row.name not in _NAMES or not row.owner:
            continue
        # What runs is known by what stands behind a dot.
        name = f"/x.{text}" if row.name == "name extension" else f"/{text}"
        if "." in name and is_executable(name):
            return text
        if view.event.op == "set":
            program = next((path for _, path in view.paths if is_executable(path)), "")
            if program:
                return program.rpartition("/")[2]
    return ""


_HTTPS: Final = re.compile(r"https://[^\s/?#@\\]+(?:[/?#]\S*)?", re.I)


@VALUE_RULES("url-scheme", "DANGEROUS", "{} is not an https address.")
def _scheme(_view: CallView, context: RuleContext) -> str:
    """A URL that does not lead where it seems to: https, no user before the host, all seen."""
    for url in context.links:
        plain = url.strip()
        if _HTTPS.fullmatch(plain) is None or escaped(plain) != plain:
            return url
    return ""


@VALUE_RULES(
    "url-query", "DANGEROUS", "The address {} has a very long text after its question mark."
)
def _long_query(_view: CallView, context: RuleContext) -> str:
    for url in context.links:
        try:
            parts = urlsplit(url.strip())
        except ValueError:
            return url
        if len(parts.query) + len(parts.fragment) > QUERY_LIMIT:
            return url
    return ""


_LATER: Final = re.compile(
    r"\b(rule|rule condition|login item|folder action|script|user|account|attendee|alarm"
    r"|configuration|property list item|server|recipient|launch agent|workflow)s?\Z"
)


@VALUE_RULES("acts-later", "DANGEROUS", "A new {} can act later by itself, or affect other people.")
def _later(view: CallView, _context: RuleContext) -> str:
    return view.made if _LATER.search(view.made) else ""


_CARRIERS: Final = re.compile(
    # A script, a path; a URL is known by its form too.
    r"\b(?:script|java ?script|command|source|code|expression|shell|macro|formula"
    r"|path|file|folder|posix path)\b"
)
_SCRIPT_EVENTS: Final = re.compile(r"sysoexec|sysodsct|....dosc|sfridojs|CrSuExJa|prcskprs")


def _carries(view: CallView, row: CallValue, links: Sequence[str]) -> bool:
    """Say whether a value is used as a recipient, a URL, a path or a script."""
    if row.path is not None or str(row.value) in links:
        return True
    if row.code == "----" and _SCRIPT_EVENTS.fullmatch(view.event.code):
        return True
    texts = (f"{row.name} {row.owner}", row.type)
    return any(_CARRIERS.search(text) or RECIPIENTS.search(text) for text in texts)


@VALUE_RULES(
    "from-a-result", "up", "{} comes from an earlier result, so a stranger may have chosen it."
)
def _tainted(view: CallView, context: RuleContext) -> str:
    if context.taint is None or not view.texts:
        return ""
    for row, text in view.texts if context.links or view.event.writes else ():
        if row.code != "kocl" and _carries(view, row, context.links):
            piece = context.taint.used_in(text)
            if piece:
                return piece
    return ""


def from_results(texts: Iterable[str], taint: Taint) -> tuple[Raised, ...]:
    """Return the rule that holds if a URL, an address or a path in these texts was in a result."""
    rule = next(row for row in VALUE_RULES if row.test is _tainted)
    found = next(filter(None, (taint.used_in(text, whole=False) for text in texts)), "")
    return (Raised(rule.name, rule.says.format(_shown(found)), rule.to),) if found else ()


VALUE_RULES("write-permission", "DANGEROUS", "It opens a file for writing ({}).")(
    _flag("write permission", "perm")
)

VALUE_RULES("registers-apps", "MODIFY", "It changes which app opens which files ({}).")(
    _flag("registering applications", "reg?")
)

RULES: Final[tuple[EscalationRule, ...]] = (*FILE_RULES, *VALUE_RULES)
"""All rules."""
