"""Rules of escalation on files: what is written, over what, where, and what is opened.

They find nothing in a request that names no file.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from iac_runtime.language.steps import Every, Go, RefValue
from iac_runtime.policy.call_view import MOVES, CallView, specifiers, words_of
from iac_runtime.policy.dataflow import Taint
from iac_runtime.policy.places import (
    SYSTEM_EVENTS,
    Files,
    Mac,
    identity,
    in_documents,
    is_document,
    is_executable,
    of_programs,
    place_of,
)
from iac_runtime.tool import Level


class RuleContext(NamedTuple):
    """The file system, the texts of recent results, and the folders of this program.

    `own` are folders of this program: nothing may be written there, the state not even read.
    `links` are the URLs of the request at hand.
    """

    files: Files = Mac()
    taint: Taint | None = None
    own: tuple[str, ...] = ()
    links: Sequence[str] = ()


RuleTest: TypeAlias = Callable[[CallView, RuleContext], str]
"""Returns what it found, shown to a person, or an empty text."""


class EscalationRule(NamedTuple):
    """A row of the table of rules; `deny` is final: no policy and no approval lets such a call run.

    `up` is one level more than the call needs otherwise.
    """

    name: str
    to: Level | Literal["up", "deny"]
    says: str
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

HIGH: Final = 2
"""Folders at this depth or above hold a whole disk, or all that a user has."""

_SHOWS: Final = frozenset({"aevtodoc", "aevtpdoc", "miscmvis", "aevtoapp", "GURLGURL"})
"""Events that open, print or reveal a file and leave it as it is."""


def _changes_files(view: CallView) -> bool:
    return view.event.writes and view.event.code not in _SHOWS


def _both(path: str, context: RuleContext) -> tuple[str, str]:
    return path, context.files.real(path)


@FILE_RULES("own-state", "deny", "{} belongs to IAC.")
def _own_state(view: CallView, context: RuleContext) -> str:
    roots = [
        identity(form).rstrip("/") for folder in context.own for form in _both(folder, context)
    ]
    for _, path in view.paths:
        for form in _both(path, context):
            inside = identity(form)
            if any(inside == root or inside.startswith(root + "/") for root in roots):
                return path
    return ""


@FILE_RULES("special-file", "deny", "{} is a device or a pipe, not a file.")
def _special(view: CallView, context: RuleContext) -> str:
    for _, path in view.paths:
        if identity(path).startswith("/dev/") or context.files.kind(path) == "special":
            return path
    return ""


def _placed(paths: Iterable[str], context: RuleContext) -> str:
    """Return the first of the paths that lies in a protected place, and why that is one."""
    found = ((path, place_of(form)) for path in paths for form in _both(path, context))
    return next((f"{path} ({place.says})" for path, place in found if place is not None), "")


@FILE_RULES("protected-place", "deny", "Tools never write to {}.")
def _protected(view: CallView, context: RuleContext) -> str:
    changes = _changes_files(view)
    written = (path for row, path in view.paths if row.into or changes)
    return _placed((*written, *view.landings), context)


@FILE_RULES("opens-protected", "DANGEROUS", "Programs in {} start by themselves.")
def _opens_protected(view: CallView, context: RuleContext) -> str:
    if not view.event.writes or _changes_files(view):
        return ""
    return next((path for _, path in view.paths if _placed((path,), context)), "")


_TEXT_FILES: Final = frozenset({"propertyListFiles", "xmlFiles"})
_PARTS: Final = frozenset(
    {"contents", "propertyListItems", "xmlAttributes", "xmlDatas", "xmlElements"}
)
_TEXTS: Final = frozenset({"properties", "text", "value"})


def _reads_into(view: CallView) -> bool:
    """Say whether a request goes into a property list or an XML file, and not just to its name."""
    event = view.event
    if event.writes or event.app.casefold() != SYSTEM_EVENTS:
        return False
    for steps in specifiers(event):
        names = {step.name for step in steps if isinstance(step, Go | Every)}
        if names & _PARTS or (names & _TEXT_FILES and names & _TEXTS):
            return True
    return False


@FILE_RULES("reads-protected", "deny", "Tools never read the contents of {}.")
def _reads_protected(view: CallView, context: RuleContext) -> str:
    return _placed((path for _, path in view.paths), context) if _reads_into(view) else ""


@FILE_RULES("reads-file", "DANGEROUS", "It reads the contents of {}.")
def _reads_file(view: CallView, _context: RuleContext) -> str:
    found = next((path for _, path in view.paths), "a file that the call does not name")
    return found if _reads_into(view) else ""


def _destinations(view: CallView) -> Iterator[tuple[str, str]]:
    """Yield the files that are written, each with its code: a folder to put into is none."""
    for row, path in view.paths:
        if row.into and not isinstance(row.value, RefValue):
            yield row.code, path


@FILE_RULES("destination-exists", "DANGEROUS", "{} already exists and would be overwritten.")
def _exists(view: CallView, context: RuleContext) -> str:
    for _, path in _destinations(view):
        kind = context.files.kind(path)
        # A document can be a folder with a suffix; a mere folder is a place to put things into.
        if kind in ("file", "unknown") or (kind == "folder" and "." in path.rpartition("/")[2]):
            return path
    if view.event.code not in MOVES:
        return ""
    # Something of the same name would be moved or copied onto it.
    for folder in (path for row, path in view.paths if row.into):
        for source in (path for row, path in view.paths if row.code == "----"):
            path = f"{folder.rstrip('/')}/{source.rpartition('/')[2]}"
            if not path.endswith("/?") and context.files.kind(path) in ("file", "folder"):
                return path
    return ""


_FILE_CLASS: Final = re.compile(r"\b(file|folder|alias|package|item)$")


@FILE_RULES(
    "program-place", "DANGEROUS", "{} is a folder of programs, or IAC cannot know where it is."
)
def _program_place(view: CallView, context: RuleContext) -> str:
    """Where programs and what they go by lie, or a folder of Finder's that has no path here."""
    for row in view.values if view.event.writes else ():
        if not row.into:
            continue
        steps, path = isinstance(row.value, RefValue), row.path
        if path is None:
            puts = view.event.code in MOVES or _FILE_CLASS.search(view.made)
            if steps and puts and view.of_files:
                return "that folder"
            continue
        hidden = steps and "/?" in path and not in_documents(path, view.home)
        if hidden or any(of_programs(form, view.home) for form in _both(path, context)):
            return path
    return ""


_SAVES: Final = re.compile(r"\b(save|saving|export|archive|store|write|capture|record|render)\b")


@FILE_RULES("outside-documents", "DANGEROUS", "{} is outside your documents.")
def _outside_documents(view: CallView, context: RuleContext) -> str:
    saves = _SAVES.search(words_of(view.event.command)) is not None
    for code, path in _destinations(view):
        if (saves or code == "kfil") and not all(
            in_documents(form, view.home) for form in _both(path, context)
        ):
            return path
    return ""


@FILE_RULES("writes-file", "MODIFY", "It writes {}.")
def _writes_file(view: CallView, _context: RuleContext) -> str:
    return "" if view.event.writes else next((path for _, path in _destinations(view)), "")


@FILE_RULES("executable-destination", "DANGEROUS", "{} would run when it is opened.")
def _executable(view: CallView, _context: RuleContext) -> str:
    return next((path for row, path in view.paths if row.into and is_executable(path)), "")


@FILE_RULES("opens-executable", "DANGEROUS", "{} may run when it is opened.")
def _opens(view: CallView, context: RuleContext) -> str:
    if view.event.code != "aevtodoc":
        return ""
    for _, path in view.paths:
        for form in _both(path, context):
            folder = context.files.kind(form) == "folder" and "." not in form.rpartition("/")[2]
            if is_executable(form) or not (folder or is_document(form)):
                return path
    return ""


@FILE_RULES("top-folder", "DANGEROUS", "{} may contain a great many files.")
def _top_folder(view: CallView, context: RuleContext) -> str:
    if not _changes_files(view):
        return ""
    for row, path in view.paths:
        names = [name for name in identity(path).split("/") if name]
        if row.code != "----" or len(names) > HIGH or "?" in path:
            continue
        kind = context.files.kind(path)
        # What cannot be looked at is a folder unless its name has a suffix.
        if kind == "folder" or (kind != "file" and "." not in "".join(names[-1:])):
            return path
    return ""
