"""What calls lead to, as the policy sees it: files, addresses, mailboxes, blocked apps.

Of a file one identity for its path, and what kind of place it is. macOS compares names without
case and without regard to composed accents (APFS, the default), and shows the data volume under
two roots: `/System/Volumes/Data/Users` is `/Users`, `/private/var` is `/var` (Apple, "Role of
Apple File System", firmlinks). Finder's alias files are files of their own format: only a Mac can
resolve one. Finder and System Events take more than a plain name where a name is due: a path with
colons, from a disk on or from the folder at hand, in which an empty part climbs; System Events
also one with slashes, or with a tilde (Apple, System Events dictionary, "disk item"). `container`
and `disk` climb too. What cannot be told ends in `?`, or has no path.

Of a URL its parts, of a recipient the address, of a host labels. What loosens goes by an address
that can be read in one way alone; what does not, by every host that some program could take an
address to lead to. Mailboxes go by what they are for, which their names say in the language of
their owner.

No tool writes to the apps of the blocklist: they hold secrets, give consent, or run whatever they
are told. The list goes by bundle id, compared without case; a call whose target cannot be
identified counts as blocked. Bundle ids of Apple's agents, and the identity that macOS gives to a
dialog of osascript, are from Apple's own Info.plist files as published; only a Mac can confirm
them.
"""

import contextlib
import json
import os
import posixpath
import re
import stat
import unicodedata
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ByIndex,
    ByName,
    MiddleOrSome,
    PropertyStep,
    RelativeTo,
    Span,
    Step,
    Whose,
)

FileKind = Literal["none", "file", "folder", "special", "unknown"]


class FileSystem(Protocol):
    """What the rules ask of a file system."""

    def file_kind(self, path: str) -> FileKind:
        """Say what is at `path`; `special` is a device, a pipe or a socket."""
        ...

    def resolve_links(self, path: str) -> str:
        """Return `path` with its links resolved, as far as it exists."""
        ...


class LocalFileSystem:
    """The file system of this machine."""

    def file_kind(self, path: str) -> FileKind:
        """Say what is at `path`; links are followed."""
        try:
            mode = Path(path).stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "none"
        except (OSError, ValueError):
            return "unknown"
        if stat.S_ISDIR(mode):
            return "folder"
        return "file" if stat.S_ISREG(mode) else "special"

    def resolve_links(self, path: str) -> str:
        """Return `path` with its links resolved, as far as it exists."""
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):
            return path


_FIRMLINKS: Final = ("/System/Volumes/Data", "/private")
"""Second names of what lies at the root; `/private` holds `etc`, `tmp` and `var`."""


def path_identity(path: str) -> str:
    """Return the one form in which paths are compared: composed, without case, without firmlinks.

    `path` is absolute. Every step is compared whole (`/allowed_evil` is not under `/allowed`).
    """
    text = posixpath.normpath("/" + unicodedata.normalize("NFC", path).lstrip("/"))
    for root in _FIRMLINKS:
        if text.casefold().startswith(root.casefold() + "/"):
            text = text[len(root) :]
    return unicodedata.normalize("NFC", text.casefold())


def parse_file_url(url: str) -> str | None:
    """Return the path of a `file:` URL, decoded once; None for another URL."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return unquote(parts.path) if parts.scheme.lower() == "file" else None


_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_bytes())

_PLACES: Final[Mapping[str, str]] = {
    f"/{path.casefold()}/": says for says, paths in _DATA["protected"].items() for path in paths
}
"""Places that run what lies in them, or that decide what may run: whole steps anywhere in a path,
between slashes, as in `path_identity`, and what is there."""


def find_protected_place(path: str) -> str:
    """Return what an absolute path lies in, or is, that is protected; empty for none."""
    names = f"{path_identity(path)}/"
    return next((says for steps, says in _PLACES.items() if steps in names), "")


_EXECUTABLE: Final = frozenset(f".{suffix}" for suffix in _DATA["executable"])
"""Suffixes of what runs, installs, configures or leads on when it is opened."""

_DOCUMENT: Final = frozenset(f".{suffix}" for suffix in _DATA["document"])
"""Suffixes of what is only read or shown when it is opened."""


def _name_suffixes(path: str) -> list[str]:
    """Return the suffix of each name in a path with its dot; of one without, the name."""
    names = (name.rstrip(". \u00a0") for name in path_identity(path).split("/"))
    return ["".join(name.rpartition(".")[1:]) for name in names]


def is_executable(path: str) -> bool:
    """Say whether the name of a file is that of something that runs when it is opened.

    A bundle counts for all that lies in it.
    """
    return not _EXECUTABLE.isdisjoint(_name_suffixes(path))


def is_document(path: str) -> bool:
    """Say whether a file is of a kind that is only read or shown."""
    return _name_suffixes(path)[-1] in _DOCUMENT


def is_in_documents(path: str, home: str) -> bool:
    """Say whether a path lies among the user's documents, below the home folder."""
    roots = tuple(path_identity(f"{home}/{name}") + "/" for name in _DATA["of the user"])
    return path_identity(path).startswith(roots)


def is_in_programs(path: str, home: str) -> bool:
    """Say whether a path lies where programs lie, or what they go by; not the user's own iCloud."""
    roots = (*_DATA["programs"], f"{home}/Applications", f"{home}/Library")
    inside = f"{path_identity(path)}/".startswith(tuple(path_identity(x) + "/" for x in roots))
    return inside and not is_in_documents(path, home)


FINDER: Final = "com.apple.finder"
SYSTEM_EVENTS: Final = "com.apple.systemevents"
FILE_APPS: Final = frozenset({FINDER, SYSTEM_EVENTS, "com.apple.imageevents"})
"""The apps whose objects are files; Image Events has the file suite of System Events."""

_ROOTS: Final[Mapping[str, str]] = _DATA["folders"]
"""Properties that name a folder, by JXA name; of a domain those under the tilde are its own."""

_DOMAINS: Final[Mapping[str, str]] = _DATA["domains"]
FILES: Final = frozenset(_DATA["collections"])
"""Collections whose items are files, by JXA name."""

_ELSEWHERE: Final = frozenset({"originalItem", "target"})
"""Properties of a file that lead to another one, nobody here knows where."""

_BOOT: Final = frozenset("applications library private system users volumes".split())
"""Folders at the root of a startup disk, whatever it is called."""


def find_specifier_path(steps: tuple[Step, ...], app: str, home: str) -> str | None:
    """Return the absolute path of what `steps` name in `app` (a bundle id), None if it has none.

    Of something inside a file, as an item of a property list, it is the path of the file.
    """
    finder = app.casefold() == FINDER
    if app.casefold() not in FILE_APPS:
        return None
    path: str | None = None
    base, none = home, (None, "?")
    for at, step in enumerate(steps):
        match step:
            case AllElements(name) if name not in FILES:
                return path
            case AllElements(name) if at == 0:
                # What Finder itself holds are the disks, and the items of the desktop.
                path = "/Volumes" if name == "disks" else f"{home}/Desktop" if finder else "?"
            case PropertyStep(name) if name in _DOMAINS:
                path = base = _DOMAINS[name].replace("~", home)
            case PropertyStep(name) if name in _ROOTS:
                path = _ROOTS[name].replace("~", base)
            case PropertyStep(name) if path is None or name in _ELSEWHERE:
                return None
            case PropertyStep("container") if path is not None:
                path = posixpath.dirname(path)
            case PropertyStep("disk") if path is not None:
                path = "/".join(path.split("/")[:3]) if path.startswith("/Volumes/") else ""
            case AllElements() | Boundary() | PropertyStep():
                pass
            case ByName(name) if path is not None:
                path = _named_item_path(path, name, home, first=at == 1, finder=finder)
                if path.startswith("?"):
                    return None
            case ByIndex() | Whose() | Span() | MiddleOrSome() | RelativeTo() if path not in none:
                path = f"{path}/?"
            case _:
                return None
    return "/" if path == "" else path if path != "?" else None


def _named_item_path(path: str, name: str, home: str, *, first: bool, finder: bool) -> str:
    if not finder and name.startswith(("/", "~")):
        return posixpath.normpath(home + name[1:] if name.startswith("~") else name)
    if ":" not in name:
        # Finder shows a slash where the file system has a colon.
        return f"{path}/{name.replace('/', ':') if finder else name}"
    head, *rest = name.rstrip(":").split(":")
    if first and head:
        boot = rest and rest[0].casefold() in _BOOT
        return posixpath.normpath("/" + "/".join(rest if boot else ["Volumes", head, *rest]))
    for part in (head, *rest) if head else rest:
        path = f"{path}/{part}" if part else posixpath.dirname(path)
    return path


class UrlParts(NamedTuple):
    """A URL, or a glob that has the form of one: scheme, host, port and what follows."""

    scheme: str
    host: str
    port: str
    rest: str


_GLOB: Final = re.compile(r"([^:/?#@\s]+)://([^/:]*)(?::([\d*]+))?(/.*)?", re.DOTALL)
_URL: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?"
    r"([/?#][^\s\\]*)?"
)
_FILE: Final = re.compile(r"(file)://(localhost|)()(/[^\s\\]*)", re.I)
_PORTS: Final = {"http": "80", "https": "443"}


def _split_url_match(found: re.Match[str]) -> UrlParts:
    scheme, host, port, rest = (part or "" for part in found.groups())
    scheme, rest = scheme.lower(), rest if rest.startswith("/") else f"/{rest}"
    port = "" if port == _PORTS.get(scheme) else port
    return UrlParts(scheme, host.lower().removesuffix("."), port, rest)


@lru_cache(maxsize=4096)
def parse_url_glob(glob: str) -> UrlParts | None:
    """Return the parts of a glob that has the form of a URL; None for any other."""
    found = _GLOB.fullmatch(glob)
    return _split_url_match(found) if found else None


def matches_url_glob(text: str, glob: str) -> bool:
    """Say whether a URL fits a glob of that form, part by part; no part reaches into the next."""
    found, wanted = _URL.fullmatch(text) or _FILE.fullmatch(text), parse_url_glob(glob)
    if found is None or wanted is None:
        return False
    url = _split_url_match(found)
    steps = re.split(r"[/\\]", unquote(re.split("[?#]", url.rest)[0]))
    return (
        fnmatchcase(url.scheme, wanted.scheme)
        and matches_host_globs(url.host, (wanted.host,))
        and fnmatchcase(url.port, wanted.port)
        and fnmatchcase(url.rest, wanted.rest.replace("[", "[[]"))
        # A path that climbs does not lie where it begins.
        and not {".", ".."} & set(steps)
    )


@lru_cache(maxsize=4096)
def _host_labels(host: str) -> list[str]:
    with contextlib.suppress(UnicodeError):  # Else it is compared as it is.
        host = host.encode("idna").decode()
    return host.casefold().removesuffix(".").split(".")


def matches_host_globs(host: str, globs: Iterable[str]) -> bool:
    """Say whether a host fits, label by label; a `*` in front stands for one label or more."""
    labels = _host_labels(host)
    for glob in map(_host_labels, globs):
        # What the star in front takes in is one label for it.
        more = max(len(labels) - len(glob), 0) if glob[0] == "*" else 0
        ends = labels[more:]
        if len(ends) == len(glob) and all(map(fnmatchcase, ends, glob)):
            return True
    return False


def find_url_hosts(text: str, *, sure: bool) -> list[str]:
    """Return the hosts that a URL leads to: the one that is `sure`, or all that it may."""
    if sure:
        url = _URL.fullmatch(text)
        return [_split_url_match(url).host] if url else []
    hosts: dict[str, None] = {}
    plain = unicodedata.normalize("NFKC", unquote(text)).casefold()
    plain = "".join(sign for sign in plain if sign.isprintable() and not sign.isspace())
    for form in (plain, plain.replace("\\", "/")):
        _, slashes, rest = form.partition("//")
        place = re.split("[/?#]", rest.lstrip("/") if slashes else form)[0]
        hosts |= dict.fromkeys(part.partition(":")[0] for part in re.split(r"[@\\]", place))
    return [*filter(None, hosts)]


_ADDRESS: Final = re.compile(r"[^\s<>,;:\"'()@]+@[^\s<>,;:\"'()@]+")
_ONE: Final = re.compile(rf"(?:[^<>@,;:\"]*<)?({_ADDRESS.pattern})>?")


def matches_recipient_globs(text: str, globs: Iterable[str], *, loosens: bool) -> bool:
    """Say whether a recipient fits: an address by name and host, a host, any other as a whole."""
    one = _ONE.fullmatch(text.strip())
    if loosens and one is None and re.search("[@,;]", text):
        return False
    whole = [] if one else [text]
    found = [one[1]] if loosens and one else [*_ADDRESS.findall(text), *whole]
    return any(_matches_address_glob(x, glob.casefold()) for x in found for glob in globs)


def _matches_address_glob(address: str, glob: str) -> bool:
    name, at, host = address.casefold().rpartition("@")
    wanted, sign, domain = glob.rpartition("@")
    if glob == "*":
        return True
    if not at:
        return not sign and (
            fnmatchcase(host, glob) if "." not in glob else matches_host_globs(host, [glob])
        )
    return bool(sign) and fnmatchcase(name, wanted) and matches_host_globs(host, [domain])


DISCARD_ROLES: Final = ("trash", "junk")
"""Roles of mailboxes that things are thrown away in."""


def _normalize_mailbox_name(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


@cache
def _mailbox_role_names() -> dict[str, tuple[frozenset[str], re.Pattern[str]]]:
    """Return role -> its names in the languages of macOS, and what finds one in a longer name."""
    table = json.loads(Path(__file__).with_name("mailboxes.json").read_bytes())
    roles = {}
    for role, languages in table.items():
        names = {_normalize_mailbox_name(x) for row in languages.values() for x in row.split("|")}
        # Thai, Chinese and Japanese are written without spaces.
        inside = [name for name in names if re.search("[\u0e00-\u0e7f\u3040-\u9fff]", name)]
        words = "|".join(map(re.escape, sorted(names.difference(inside))))
        both = "|".join((rf"(?<!\w)(?:{words})(?!\w)", *map(re.escape, sorted(inside))))
        roles[role] = (frozenset(names), re.compile(both))
    return roles


@lru_cache(maxsize=1024)
def mailbox_role(name: str) -> str:
    """Return what a mailbox or a folder is for by its name: trash, junk, archive, or nothing.

    A trash and a junk folder are known in a longer name too, an archive by its whole name alone.
    """
    plain = _normalize_mailbox_name(name)
    last = re.split("[/.]", plain)[-1]
    for role, (names, finds) in _mailbox_role_names().items():
        if {plain, last} & names or (role in DISCARD_ROLES and finds.search(plain)):
            return role
    return ""


_BLOCKLIST: Final = json.loads(Path(__file__).with_name("blocklist.json").read_bytes())


FIXED: Final[Mapping[str, str]] = _BLOCKLIST["fixed"]
"""What no file, flag or variable takes off the list: bundle id or glob -> what it is."""


BUILT_IN: Final[Mapping[str, str]] = _BLOCKLIST["built in"]
"""What is on the list unless the policy file takes it off: bundle id or glob -> the app's name."""


_OPEN_TEXTS: Final = frozenset(_BLOCKLIST["open texts"])
"""Entries whose texts may be read: they hold no secrets by trade."""


_IDENTITY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


class BlockedApp(NamedTuple):
    """Why an app is blocked: the entry that matched, what it is, and whether it can be removed."""

    entry: str
    what: str
    fixed: bool


def is_app_identity(text: str) -> bool:
    """Say whether a text is the identity of an app: a bundle id, or `local.<key>`."""
    return _IDENTITY.match(text) is not None


def find_blocklist_entry(
    app: str, added: Iterable[str] = (), removed: Iterable[str] = ()
) -> BlockedApp | None:
    """Return why `app` (a bundle id) may not be written to, or None if it may.

    Args:
        app: The identity; empty or malformed counts as blocked.
        added: Bundle ids or globs that extend the list.
        removed: Entries of `BUILT_IN` that are off the list.
    """
    if not is_app_identity(app):
        return BlockedApp("without identity", "an app that could not be identified", True)
    wanted = app.casefold()
    off = {entry.casefold() for entry in removed}
    kept = {entry: what for entry, what in BUILT_IN.items() if entry.casefold() not in off}
    for entry, what in (*FIXED.items(), *kept.items(), *((glob, glob) for glob in added)):
        if fnmatchcase(wanted, entry.casefold()):
            return BlockedApp(entry, what, entry in FIXED)
    return None


def is_unreadable_app(app: str) -> bool:
    """Say whether what an app (a bundle id) shows is not read: it keeps secrets, or is unknown."""
    blocked = find_blocklist_entry(app)
    return blocked is not None and blocked.entry not in _OPEN_TEXTS


def is_unreadable_process(name: str) -> bool:
    """Say whether the process of a name is of an app whose texts are not read.

    It goes by the words that it begins with (`1Password 7`), or by the end of the bundle id.
    """
    words = f"{' '.join(name.casefold().split())} "
    return any(
        words.startswith(f"{' '.join(what.casefold().split())} ")
        or words == f"{entry.casefold().rpartition('.')[2]} "
        for entry, what in {**FIXED, **BUILT_IN}.items()
        if entry not in _OPEN_TEXTS
    )
