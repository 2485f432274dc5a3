"""Levels that arguments raise, decided when a call is made. Rules are rows; levels only go up.

The rows are the table of what arguments can do beyond their tool's level: overwrite, discard,
reach many things, run something, lead elsewhere, act later, or carry on what a stranger wrote.
A row looks at the request that would be sent, never at words about it. Whether a document has
unsaved changes, and whether a calendar or a list is shared, is not in a request: the app's own
dialog and the level of the tool stand there.

First come the rules on files, which find nothing in a request that names none: what is written,
over what, where, and what is opened. Then those on values: what is lost or replaced, how many,
where it leads, whose it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import Final, Literal, NamedTuple, TypeAlias
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
from iac_runtime.policy.effects import RECIPIENTS
from iac_runtime.policy.facts import RaisedLevel
from iac_runtime.policy.places import (
    SYSTEM_EVENTS,
    FileSystem,
    LocalFileSystem,
    find_protected_place,
    is_document,
    is_executable,
    is_in_documents,
    is_in_programs,
    path_identity,
)
from iac_runtime.policy.requests import (
    MOVES,
    RequestValue,
    RequestView,
    find_move_destinations,
    find_specifiers_and_columns,
    lowercase_words,
)
from iac_runtime.policy.taint import Taint
from iac_runtime.policy.verbs import DANGEROUS_CAUSES
from iac_runtime.tool import Level
from iac_runtime.tools.tables import Tables
from iac_runtime.types import parse_type


class RuleContext(NamedTuple):
    """The file system, the texts of recent results, and the folders of this program.

    `own` are folders of this program: nothing may be written there, the state not even read.
    `holder` is who makes the request at hand.
    """

    files: FileSystem = LocalFileSystem()
    taint: Taint | None = None
    own: tuple[str, ...] = ()
    holder: str = ""


RuleTest: TypeAlias = Callable[[RequestView, RuleContext], str]
"""Returns what it found, shown to a person, or an empty text."""


class EscalationRule(NamedTuple):
    """A row of the table of rules; `deny` is final: no policy and no approval lets such a call run.

    `up` is one level more than the call needs otherwise.
    """

    name: str
    to: Level | Literal["up", "deny"]
    message: str
    test: RuleTest

    def raise_for(self, evidence: str) -> RaisedLevel:
        """Return what it raises because of what its test found."""
        text = escape_hidden(evidence)
        text = text if len(text) <= _EVIDENCE else text[: _EVIDENCE - 1] + "…"
        return RaisedLevel(self.name, self.message.format(text), self.to)


class RuleTable(list[EscalationRule]):
    """Rules in their order; called, it returns a decorator that adds a test as a rule."""

    def __call__(
        self, name: str, to: Level | Literal["up", "deny"], says: str
    ) -> Callable[[RuleTest], RuleTest]:
        """Return what adds a rule; `says` is for a person, with `{}` for what the test found."""

        def add(test: RuleTest) -> RuleTest:
            self.append(EscalationRule(name, to, says, test))
            return test

        return add


FILE_RULES: Final = RuleTable()

TOP_FOLDER_DEPTH: Final = 2
"""Folders at this depth or above hold a whole disk, or all that a user has."""

_EVIDENCE: Final = 240
"""Characters of what a test found that a person is shown."""

_PIECE: Final = 100
"""Of these, characters of a stranger's text; the rest says where it was read."""

FROM_RESULT: Final = "from-a-result"
"""The rule about what a stranger may have chosen."""

ACTS_LATER: Final = "acts-later"
"""The rule about what is made and does something by itself afterwards."""

_SHOWS: Final = frozenset({"aevtodoc", "aevtpdoc", "miscmvis", "aevtoapp", "GURLGURL"})
"""Events that open, print or reveal a file and leave it as it is."""


def _changes_files(view: RequestView) -> bool:
    return view.event.writes and view.event.code not in _SHOWS


def _path_forms(path: str, context: RuleContext) -> tuple[str, str]:
    return path, context.files.resolve_links(path)


@FILE_RULES("own-state", "deny", "{} belongs to IAC.")
def _touches_own_files(view: RequestView, context: RuleContext) -> str:
    owned = (form for folder in context.own for form in _path_forms(folder, context))
    roots = tuple(path_identity(form).rstrip("/") + "/" for form in owned)
    for _, path in view.paths:
        forms = (path_identity(form) + "/" for form in _path_forms(path, context))
        if any(form.startswith(roots) for form in forms):
            return path
    return ""


@FILE_RULES("special-file", "deny", "{} is a device or a pipe, not a file.")
def _names_special_file(view: RequestView, context: RuleContext) -> str:
    paths = (path for _, path in view.paths)
    kind = context.files.file_kind
    special = (x for x in paths if path_identity(x).startswith("/dev/") or kind(x) == "special")
    return next(special, "")


def _first_protected_path(paths: Iterable[str], context: RuleContext) -> str:
    """Return the first of the paths that lies in a protected place, and why that is one."""
    forms = ((path, form) for path in paths for form in _path_forms(path, context))
    places = ((path, find_protected_place(form)) for path, form in forms)
    return next((f"{path} ({place})" for path, place in places if place), "")


@FILE_RULES("protected-place", "deny", "Tools never write to {}.")
def _writes_protected(view: RequestView, context: RuleContext) -> str:
    changes = _changes_files(view)
    written = (path for row, path in view.paths if row.is_destination or changes)
    return _first_protected_path((*written, *view.destination_paths), context)


@FILE_RULES("opens-protected", "DANGEROUS", "Programs in {} start by themselves.")
def _opens_protected(view: RequestView, context: RuleContext) -> str:
    if not view.event.writes or _changes_files(view):
        return ""
    return next((path for _, path in view.paths if _first_protected_path((path,), context)), "")


_TEXT_FILES: Final = frozenset({"propertyListFiles", "xmlFiles"})
_PARTS: Final = frozenset(
    {"contents", "propertyListItems", "xmlAttributes", "xmlDatas", "xmlElements"}
)
_TEXTS: Final = frozenset({"properties", "text", "value"})


def _reads_file_contents(view: RequestView) -> bool:
    """Say whether a request goes into a property list or an XML file, and not just to its name."""
    event = view.event
    if event.writes or event.app.casefold() != SYSTEM_EVENTS:
        return False
    named = (
        {step.name for step in steps if isinstance(step, PropertyStep | AllElements)}
        for steps in find_specifiers_and_columns(event)
    )
    return any(names & _PARTS or (names & _TEXT_FILES and names & _TEXTS) for names in named)


@FILE_RULES("reads-protected", "deny", "Tools never read the contents of {}.")
def _reads_protected(view: RequestView, context: RuleContext) -> str:
    paths = [path for _, path in view.paths] if _reads_file_contents(view) else []
    return _first_protected_path(paths, context)


@FILE_RULES("reads-file", "DANGEROUS", "It reads the contents of {}.")
def _reads_file(view: RequestView, _context: RuleContext) -> str:
    path = next((path for _, path in view.paths), "a file that the call does not name")
    return path if _reads_file_contents(view) else ""


def _written_files(view: RequestView) -> Iterator[tuple[str, str]]:
    """Yield the files that are written, each with its code: a folder to put into is none."""
    for row, path in view.paths:
        if row.is_destination and not isinstance(row.value, RefValue):
            yield row.code, path


@FILE_RULES("destination-exists", "DANGEROUS", "{} already exists and would be overwritten.")
def _overwrites_file(view: RequestView, context: RuleContext) -> str:
    for _, path in _written_files(view):
        kind = context.files.file_kind(path)
        # A document can be a folder with a suffix; a mere folder is a place to put things into.
        if kind in ("file", "unknown") or (kind == "folder" and "." in path.rpartition("/")[2]):
            return path
    if view.event.code not in MOVES:
        return ""
    # Something of the same name would be moved or copied onto it.
    for folder in (path for row, path in view.paths if row.is_destination):
        for source in (path for row, path in view.paths if row.code == "----"):
            path = f"{folder.rstrip('/')}/{source.rpartition('/')[2]}"
            if not path.endswith("/?") and context.files.file_kind(path) in ("file", "folder"):
                return path
    return ""


_FILE_CLASS: Final = re.compile(r"\b(file|folder|alias|package|item)$")


@FILE_RULES(
    "program-place", "DANGEROUS", "{} is a folder of programs, or IAC cannot know where it is."
)
def _writes_program_folder(view: RequestView, context: RuleContext) -> str:
    """Where programs and what they go by lie, or a folder of Finder's that has no path here."""
    for row in view.values if view.event.writes else ():
        if not row.is_destination:
            continue
        steps, path = isinstance(row.value, RefValue), row.path
        if path is None:
            puts = view.event.code in MOVES or _FILE_CLASS.search(view.created_class)
            if steps and puts and view.has_file_objects:
                return "that folder"
            continue
        hidden = steps and "/?" in path and not is_in_documents(path, view.home)
        if hidden or any(is_in_programs(form, view.home) for form in _path_forms(path, context)):
            return path
    return ""


_SAVES: Final = re.compile(r"\b(save|saving|export|archive|store|write|capture|record|render)\b")


@FILE_RULES("outside-documents", "DANGEROUS", "{} is outside your documents.")
def _writes_outside_documents(view: RequestView, context: RuleContext) -> str:
    saves = _SAVES.search(lowercase_words(view.event.command)) is not None
    for code, path in _written_files(view):
        if (saves or code == "kfil") and not all(
            is_in_documents(form, view.home) for form in _path_forms(path, context)
        ):
            return path
    return ""


@FILE_RULES("writes-file", "MODIFY", "It writes {}.")
def _writes_file(view: RequestView, _context: RuleContext) -> str:
    return "" if view.event.writes else next((path for _, path in _written_files(view)), "")


@FILE_RULES("executable-destination", "DANGEROUS", "{} would run when it is opened.")
def _writes_executable(view: RequestView, _context: RuleContext) -> str:
    paths = (path for row, path in view.paths if row.is_destination)
    return next(filter(is_executable, paths), "")


@FILE_RULES("opens-executable", "DANGEROUS", "{} may run when it is opened.")
def _opens_executable(view: RequestView, context: RuleContext) -> str:
    if view.event.code != "aevtodoc":
        return ""

    def is_harmless(form: str) -> bool:
        folder = "." not in form.rpartition("/")[2] and context.files.file_kind(form) == "folder"
        return not is_executable(form) and (folder or is_document(form))

    paths = (path for _, path in view.paths)
    return next((x for x in paths if not all(map(is_harmless, _path_forms(x, context)))), "")


@FILE_RULES("top-folder", "DANGEROUS", "{} may contain a great many files.")
def _changes_top_folder(view: RequestView, context: RuleContext) -> str:
    if not _changes_files(view):
        return ""
    for row, path in view.paths:
        names = [name for name in path_identity(path).split("/") if name]
        if row.code != "----" or len(names) > TOP_FOLDER_DEPTH or "?" in path:
            continue
        kind = context.files.file_kind(path)
        # What cannot be looked at is a folder unless its name has a suffix.
        if kind == "folder" or (kind != "file" and "." not in "".join(names[-1:])):
            return path
    return ""


def find_escalations(view: RequestView, context: RuleContext) -> tuple[RaisedLevel, ...]:
    """Return the rules that hold for a request, in the order of the table."""
    rules = RULES if view.paths or view.has_file_objects else VALUE_RULES
    evidence = ((rule, rule.test(view, context)) for rule in rules)
    return tuple(rule.raise_for(text) for rule, text in evidence if text)


VALUE_RULES: Final = RuleTable()

URL_LIMITS: Final = (200, 400, 100)
"""Characters that a URL may carry after its question mark, in its path, and as its host."""

MAX_LIST_ITEMS: Final = 20
"""Items of one list that may be moved at once."""


@VALUE_RULES("without-saving", "DANGEROUS", "Unsaved changes would be lost ({}).")
def _discards_changes(view: RequestView, _context: RuleContext) -> str:
    saves = (row for row in view.values if row.code == "savo" or row.name == "saving")
    lost = any("replac" not in row.name and _is_word(row, "no", "false") for row in saves)
    return "saving: no" if lost else ""


def _is_word(row: RequestValue, *words: str) -> bool:
    return str(row.value).lower() in words


@VALUE_RULES("replacing", "DANGEROUS", "It would replace something ({}).")
def _replaces_existing(view: RequestView, _context: RuleContext) -> str:
    for row in view.values:
        replacing = row.code == "alrp" or re.search("replac|overwrit", row.name)
        if replacing and _is_word(row, "true", "yes"):
            return row.name or "replacing"
    return ""


def _flag_rule_test(name: str, code: str) -> RuleTest:
    def has_flag(view: RequestView, _context: RuleContext) -> str:
        rows = (row for row in view.values if row.code == code or row.name == name)
        return name if any(_is_word(row, "true", "yes") for row in rows) else ""

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
            names = (kind.name for kind in parse_type(row.type) if kind.many)
            many = any(name == "specifier" or tables.find_class(name) for name in names)
            kinds[row.jxa] = kinds.get(row.jxa, True) and many
    return frozenset(name for name, many in kinds.items() if many) | _WHOLE


def _selects_many(steps: tuple[Step, ...], several: frozenset[str]) -> bool:
    """Say whether a specifier means several objects.

    A whole collection, what a filter finds, or one of the properties `several`.
    """
    one = ByIndex | ByName | ById | MiddleOrSome | Boundary | Whose
    return any(
        isinstance(step, Whose)
        or (isinstance(step, PropertyStep) and step.name in several)
        or (isinstance(step, AllElements) and not isinstance(after, one))
        for step, after in zip_longest(steps, steps[1:])
    )


@VALUE_RULES("many-objects", "up", "It changes {} at once.")
def _changes_many_objects(view: RequestView, _context: RuleContext) -> str:
    if not view.event.writes:
        return ""
    subjects = [event.target for event in view.requests]
    values = (row.value for row in view.values if row.code != "insh")
    subjects += [value.steps for value in values if isinstance(value, RefValue)]
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


def _find_cause(cause: str) -> RuleTest:
    """Return the test whether anything brings about more than its command says, by the cause."""

    def find_evidence(view: RequestView, _context: RuleContext) -> str:
        return next((row.evidence for row in view.consequences if row.cause == cause), "")

    return find_evidence


for _cause, _says in DANGEROUS_CAUSES.items():
    VALUE_RULES(_cause, "DANGEROUS", _says)(_find_cause(_cause))


@VALUE_RULES("other-account", "DANGEROUS", "It moves something from one account to {}.")
def _moves_between_accounts(view: RequestView, _context: RuleContext) -> str:
    values = (row.value for row in view.values if row.code == "----")
    targets = [value.steps for value in values if isinstance(value, RefValue)]
    homes = {step for steps in (view.event.target, *targets) for step in _account_steps(steps)}
    reached = {step for steps in find_move_destinations(view) for step in _account_steps(steps)}
    return "another account" if homes and reached - homes else ""


def _account_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step, after in pairwise(steps):
        if isinstance(step, AllElements) and lowercase_words(step.name).endswith("accounts"):
            yield after


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
def _has_unsafe_link(view: RequestView, _context: RuleContext) -> str:
    """A URL that does not lead where it seems to: https, no user before the host, all seen."""
    plain = ((url, url.strip()) for url in view.links)
    unsafe = (x for x, url in plain if not _HTTPS.fullmatch(url) or escape_hidden(url) != url)
    return next(unsafe, "")


@VALUE_RULES("url-query", "DANGEROUS", "The address {} carries a very long text.")
def _carries_long_text(view: RequestView, _context: RuleContext) -> str:
    """A text can leave behind a question mark as well as in a path or in the name of a host."""
    for url in view.links:
        try:
            parts = urlsplit(url.strip())
            sizes = (len(parts.query) + len(parts.fragment), len(parts.path), len(parts.netloc))
        except ValueError:
            return url
        if any(size > most for size, most in zip(sizes, URL_LIMITS, strict=True)):
            return url
    return ""


_LATER: Final = re.compile(
    r"\b(rule|rule condition|login item|folder action|script|user|account|attendee|alarm"
    r"|configuration|property list item|server|recipient|launch agent|workflow)s?\Z"
)


@VALUE_RULES(ACTS_LATER, "DANGEROUS", "A new {} can act later by itself, or affect other people.")
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


@VALUE_RULES(FROM_RESULT, "up", "{}, so a stranger may have chosen it.")
def _uses_earlier_result(view: RequestView, context: RuleContext) -> str:
    if context.taint is None or not view.texts:
        return ""
    texts = (
        text
        for row, text in (view.texts if view.links or view.event.writes else ())
        if row.code != "kocl" and _is_active_value(view, row, view.links)
    )
    return _find_stranger_text(texts, context.taint, context.holder)


def _find_stranger_text(
    texts: Iterable[str], taint: Taint, holder: str, *, whole: bool = True
) -> str:
    """Return the first piece of some texts that a stranger may have chosen, and where it stood."""
    pieces = (taint.find_tainted_piece(text, whole=whole, holder=holder) for text in texts)
    piece = next(filter(None, pieces), "")
    if not piece:
        return ""
    shown = piece if len(piece) <= _PIECE else f"{piece[: _PIECE - 1]}…"
    return f"{shown} stood in {taint.describe_source(piece, holder)}"


def find_tainted_texts(
    texts: Iterable[str], taint: Taint, holder: str = ""
) -> tuple[RaisedLevel, ...]:
    """Return the rule that holds if a URL, an address or a path in these texts was in a result."""
    rule = next(row for row in VALUE_RULES if row.test is _uses_earlier_result)
    found = _find_stranger_text(texts, taint, holder, whole=False)
    return (rule.raise_for(found),) if found else ()


VALUE_RULES("write-permission", "DANGEROUS", "It opens a file for writing ({}).")(
    _flag_rule_test("write permission", "perm")
)

VALUE_RULES("registers-apps", "MODIFY", "It changes which app opens which files ({}).")(
    _flag_rule_test("registering applications", "reg?")
)

RULES: Final[tuple[EscalationRule, ...]] = (*FILE_RULES, *VALUE_RULES)
"""All rules."""
