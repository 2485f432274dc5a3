"""Addresses as rules see them: of a URL its parts, of a recipient the address, of a host labels.

And mailboxes by what they are for, which their names say in the language of their owner.

What loosens goes by an address that can be read in one way alone; what does not, by every host
that some program could take an address to lead to.
"""

import contextlib
import json
import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote


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
    for glob in globs:
        first, *others = _host_labels(glob)
        if first == "*" and len(labels) > len(others):
            if all(map(fnmatchcase, labels[len(labels) - len(others) :], others)):
                return True
        elif len(labels) == len(others) + 1 and all(map(fnmatchcase, labels, (first, *others))):
            return True
    return False


def find_url_hosts(text: str, *, sure: bool) -> list[str]:
    """Return the hosts that a URL leads to: the one that is `sure`, or all that it may."""
    if sure:
        found = _URL.fullmatch(text)
        return [_split_url_match(found).host] if found else []
    hosts: list[str] = []
    plain = unicodedata.normalize("NFKC", unquote(text)).casefold()
    plain = "".join(sign for sign in plain if sign.isprintable() and not sign.isspace())
    for form in (plain, plain.replace("\\", "/")):
        _, slashes, rest = form.partition("//")
        place = re.split("[/?#]", rest.lstrip("/") if slashes else form)[0]
        hosts += [part.partition(":")[0] for part in re.split(r"[@\\]", place)]
    return [host for host in dict.fromkeys(hosts) if host]


_ADDRESS: Final = re.compile(r"[^\s<>,;:\"'()@]+@[^\s<>,;:\"'()@]+")
_ONE: Final = re.compile(rf"(?:[^<>@,;:\"]*<)?({_ADDRESS.pattern})>?")


def matches_recipient_globs(text: str, globs: Iterable[str], *, loosens: bool) -> bool:
    """Say whether a recipient fits: an address by name and host, a host, any other as a whole."""
    one = _ONE.fullmatch(text.strip())
    if loosens and one is None and re.search("[@,;]", text):
        return False
    found = [one[1]] if loosens and one else [*_ADDRESS.findall(text), *([] if one else [text])]
    return any(
        _matches_address_glob(address, glob.casefold()) for address in found for glob in globs
    )


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
    found = {}
    for role, languages in table.items():
        names = {
            _normalize_mailbox_name(name) for row in languages.values() for name in row.split("|")
        }
        # Thai, Chinese and Japanese are written without spaces.
        inside = [name for name in names if re.search("[\u0e00-\u0e7f\u3040-\u9fff]", name)]
        words = "|".join(map(re.escape, sorted(names.difference(inside))))
        both = "|".join((rf"(?<!\w)(?:{words})(?!\w)", *map(re.escape, sorted(inside))))
        found[role] = (frozenset(names), re.compile(both))
    return found


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
