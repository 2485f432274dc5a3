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

from iac_base.text import escape_hidden
from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ById,
    ByIndex,
    ByName,
    MiddleOrSome,
    PropertyStep,
    RefValue,
    Step,
    Whose,
)
from iac_runtime.policy.addresses import DISCARD_ROLES, mailbox_role
from iac_runtime.policy.call_view import (
    MOVES,
    RequestValue,
    RequestView,
    lowercase_words,
)
from iac_runtime.policy.dataflow import Taint
from iac_runtime.policy.effects import RaisedLevel
from iac_runtime.policy.file_rules import (
    FILE_RULES,
    EscalationRule,
    RuleContext,
    RuleTable,
    RuleTest,
)
from iac_runtime.policy.places import is_executable
from iac_runtime.policy.reach import RECIPIENTS, find_links
from iac_runtime.tools.tables import Tables
from iac_runtime.types import parse_type


def find_escalations(view: RequestView, context: RuleContext) -> tuple[RaisedLevel, ...]:
    """Return the rules that hold for a request, in the order of the table."""
    found: list[RaisedLevel] = []
    context = context._replace(links=find_links(view))
    for rule in RULES if view.paths or view.has_file_objects else VALUE_RULES:
        evidence = rule.test(view, context)
        if evidence:
            found.append(
                RaisedLevel(rule.name, rule.message.format(_shorten_evidence(evidence)), rule.to)
            )
    return tuple(found)


def _shorten_evidence(text: str, limit: int = 120) -> str:
    text = escape_hidden(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


VALUE_RULES: Final = RuleTable()

QUERY_LIMIT: Final = 200
"""Characters that a URL may carry after its question mark."""

MAX_LIST_ITEMS: Final = 20
"""Items of one list that may be moved at once."""


@VALUE_RULES("without-saving", "DANGEROUS", "Unsaved changes would be lost ({}).")
def _discards_changes(view: RequestView, _context: RuleContext) -> str:
    for row in view.values:
        saving = row.code == "savo" or row.name == "saving"
        if saving and "replac" not in row.name and str(row.value).lower() in ("no", "false"):
            return "saving: no"
    return ""


@VALUE_RULES("replacing", "DANGEROUS", "It would replace something ({}).")
def _replaces_existing(view: RequestView, _context: RuleContext) -> str:
    for row in view.values:
        replacing = row.code == "alrp" or re.search("replac|overwrit", row.name)
        if replacing and str(row.value).lower() in ("true", "yes"):
            return row.name or "replacing"
    return ""


def _flag_rule_test(name: str, code: str) -> RuleTest:
    def has_flag(view: RequestView, _context: RuleContext) -> str:
        for row in view.values:
            if (row.code == code or row.name == name) and str(row.value).lower() in ("true", "yes"):
                return name
        return ""

    return has_flag


_WHOLE: Final = frozenset({"entireContents"})
"""Finder's name of all that a folder holds, however deep; its dictionary does not say so."""


@lru_cache(maxsize=256)
def _plural_properties(tables: Tables | None) -> frozenset[str]:
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
        if isinstance(step, Whose) or (isinstance(step, PropertyStep) and step.name in several):
            return True
        if isinstance(step, AllElements):
            after = steps[at + 1] if at + 1 < len(steps) else None
            if not isinstance(after, ByIndex | ByName | ById | MiddleOrSome | Boundary | Whose):
                return True
    return False


@VALUE_RULES("many-objects", "up", "It changes {} at once.")
def _changes_many_objects(view: RequestView, _context: RuleContext) -> str:
    if not view.event.writes:
        return ""
    subjects = [event.target for event in view.requests]
    subjects += [
        row.value.steps
        for row in view.values
        if isinstance(row.value, RefValue) and row.code != "insh"
    ]
    several = _plural_properties(view.tables) | ({"selection"} if view.has_file_objects else set())
    return "several objects" if any(_selects_many(steps, several) for steps in subjects) else ""


@VALUE_RULES("more-than-20", "DANGEROUS", "It changes {} items at once.")
def _changes_long_list(view: RequestView, _context: RuleContext) -> str:
    count = sum(row.code == "----" for row in view.values)
    return str(count) if view.event.writes and count > MAX_LIST_ITEMS else ""


@VALUE_RULES("any-window", "MODIFY", "It reads the windows of {}, which may show secrets.")
def _reads_unnamed_window(view: RequestView, _context: RuleContext) -> str:
    """A password manager is known by its name, or by its bundle id."""
    rows = () if view.event.writes else view.target_processes
    unnamed = any(row.inside and not (row.name or row.bundle) for row in rows)
    return "an app that the call does not name" if unnamed else ""


_HOLDERS: Final = frozenset("mailbox folder container playlist list calendar group".split())


def _move_destinations(view: RequestView) -> list[tuple[Step, ...]]:
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
def _moves_to_trash(view: RequestView, _context: RuleContext) -> str:
    """A trash or a junk folder by its name in any language of macOS; Finder's `.Trash` too."""
    for steps in _move_destinations(view):
        for step in steps:
            name = lowercase_words(step.name) if isinstance(step, PropertyStep) else ""
            name = step.name if isinstance(step, ByName) else name
            if name and mailbox_role(name) in DISCARD_ROLES:
                return name
    return ""


@VALUE_RULES("other-account", "DANGEROUS", "It moves something from one account to {}.")
def _moves_between_accounts(view: RequestView, _context: RuleContext) -> str:
    destinations = _move_destinations(view)
    if not destinations:
        return ""
    targets = [view.event.target] + [
        row.value.steps
        for row in view.values
        if row.code == "----" and isinstance(row.value, RefValue)
    ]
    homes = {account for steps in targets for account in _account_steps(steps)}
    strange = any(
        account not in homes for steps in destinations for account in _account_steps(steps)
    )
    return "another account" if homes and strange else ""


def _account_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step, following in pairwise(steps):
        if isinstance(step, AllElements) and lowercase_words(step.name).endswith("accounts"):
            yield following


_hidden_answer: Final = _flag_rule_test("hidden answer", "htxt")


@VALUE_RULES("hidden-answer", "DANGEROUS", "It asks you for text, which may be a password ({}).")
def _asks_for_text(view: RequestView, context: RuleContext) -> str:
    """A dialog with a field to type into: what a person enters there goes to the caller."""
    field = any(row.code == "dtxt" for row in view.values)
    asks = field and view.event.code == "sysodlog"
    return _hidden_answer(view, context) or ("default answer" if asks else "")


_NAMES: Final = frozenset({"name", "displayed name", "name extension", "title", "file name"})


@VALUE_RULES("executable-name", "DANGEROUS", "A file named {} would run when it is opened.")
def _names_executable(view: RequestView, _context: RuleContext) -> str:
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
def _has_unsafe_link(_view: RequestView, context: RuleContext) -> str:
    """A URL that does not lead where it seems to: https, no user before the host, all seen."""
    for url in context.links:
        plain = url.strip()
        if _HTTPS.fullmatch(plain) is None or escape_hidden(plain) != plain:
            return url
    return ""


@VALUE_RULES(
    "url-query", "DANGEROUS", "The address {} has a very long text after its question mark."
)
def _has_long_query(_view: RequestView, context: RuleContext) -> str:
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
def _acts_later(view: RequestView, _context: RuleContext) -> str:
    return view.created_class if _LATER.search(view.created_class) else ""


_CARRIERS: Final = re.compile(
    # A script, a path; a URL is known by its form too.
    r"\b(?:script|java ?script|command|source|code|expression|shell|macro|formula"
    r"|path|file|folder|posix path)\b"
)
_SCRIPT_EVENTS: Final = re.compile(r"sysoexec|sysodsct|....dosc|sfridojs|CrSuExJa|prcskprs")


def _is_active_value(view: RequestView, row: RequestValue, links: Sequence[str]) -> bool:
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
def _uses_earlier_result(view: RequestView, context: RuleContext) -> str:
    if context.taint is None or not view.texts:
        return ""
    for row, text in view.texts if context.links or view.event.writes else ():
        if row.code != "kocl" and _is_active_value(view, row, context.links):
            piece = context.taint.find_tainted_piece(text)
            if piece:
                return piece
    return ""


def find_tainted_texts(texts: Iterable[str], taint: Taint) -> tuple[RaisedLevel, ...]:
    """Return the rule that holds if a URL, an address or a path in these texts was in a result."""
    rule = next(row for row in VALUE_RULES if row.test is _uses_earlier_result)
    found = next(filter(None, (taint.find_tainted_piece(text, whole=False) for text in texts)), "")
    return (
        (RaisedLevel(rule.name, rule.message.format(_shorten_evidence(found)), rule.to),)
        if found
        else ()
    )


VALUE_RULES("write-permission", "DANGEROUS", "It opens a file for writing ({}).")(
    _flag_rule_test("write permission", "perm")
)

VALUE_RULES("registers-apps", "MODIFY", "It changes which app opens which files ({}).")(
    _flag_rule_test("registering applications", "reg?")
)

RULES: Final[tuple[EscalationRule, ...]] = (*FILE_RULES, *VALUE_RULES)
"""All rules."""
