"""Rules of escalation on files: what is written, over what, where, and what is opened.

They find nothing in a request that names no file.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from iac_runtime.language.steps import AllElements, PropertyStep, RefValue
from iac_runtime.policy.call_view import (
    MOVES,
    RequestView,
    find_specifiers_and_columns,
    lowercase_words,
)
from iac_runtime.policy.dataflow import Taint
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
from iac_runtime.tool import Level


class RuleContext(NamedTuple):
    """The file system, the texts of recent results, and the folders of this program.

    `own` are folders of this program: nothing may be written there, the state not even read.
    `links` are the URLs of the request at hand.
    """

    files: FileSystem = LocalFileSystem()
    taint: Taint | None = None
    own: tuple[str, ...] = ()
    links: Sequence[str] = ()


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

_SHOWS: Final = frozenset({"aevtodoc", "aevtpdoc", "miscmvis", "aevtoapp", "GURLGURL"})
"""Events that open, print or reveal a file and leave it as it is."""


def _changes_files(view: RequestView) -> bool:
    return view.event.writes and view.event.code not in _SHOWS


def _path_forms(path: str, context: RuleContext) -> tuple[str, str]:
    return path, context.files.resolve_links(path)


@FILE_RULES("own-state", "deny", "{} belongs to IAC.")
def _touches_own_files(view: RequestView, context: RuleContext) -> str:
    roots = [
        path_identity(form).rstrip("/")
        for folder in context.own
        for form in _path_forms(folder, context)
    ]
    for _, path in view.paths:
        for form in _path_forms(path, context):
            inside = path_identity(form)
            if any(inside == root or inside.startswith(root + "/") for root in roots):
                return path
    return ""


@FILE_RULES("special-file", "deny", "{} is a device or a pipe, not a file.")
def _names_special_file(view: RequestView, context: RuleContext) -> str:
    for _, path in view.paths:
        if path_identity(path).startswith("/dev/") or context.files.file_kind(path) == "special":
            return path
    return ""


def _first_protected_path(paths: Iterable[str], context: RuleContext) -> str:
    """Return the first of the paths that lies in a protected place, and why that is one."""
    found = (
        (path, find_protected_place(form)) for path in paths for form in _path_forms(path, context)
    )
    return next((f"{path} ({place.description})" for path, place in found if place is not None), "")


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
    for steps in find_specifiers_and_columns(event):
        names = {step.name for step in steps if isinstance(step, PropertyStep | AllElements)}
        if names & _PARTS or (names & _TEXT_FILES and names & _TEXTS):
            return True
    return False


@FILE_RULES("reads-protected", "deny", "Tools never read the contents of {}.")
def _reads_protected(view: RequestView, context: RuleContext) -> str:
    return (
        _first_protected_path((path for _, path in view.paths), context)
        if _reads_file_contents(view)
        else ""
    )


@FILE_RULES("reads-file", "DANGEROUS", "It reads the contents of {}.")
def _reads_file(view: RequestView, _context: RuleContext) -> str:
    found = next((path for _, path in view.paths), "a file that the call does not name")
    return found if _reads_file_contents(view) else ""


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
    return next(
        (path for row, path in view.paths if row.is_destination and is_executable(path)), ""
    )


@FILE_RULES("opens-executable", "DANGEROUS", "{} may run when it is opened.")
def _opens_executable(view: RequestView, context: RuleContext) -> str:
    if view.event.code != "aevtodoc":
        return ""
    for _, path in view.paths:
        for form in _path_forms(path, context):
            folder = (
                context.files.file_kind(form) == "folder" and "." not in form.rpartition("/")[2]
            )
            if is_executable(form) or not (folder or is_document(form)):
                return path
    return ""


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
