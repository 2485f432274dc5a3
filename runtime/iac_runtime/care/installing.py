"""Telling a client of this server, and taking it back: reads, merges, backs up, writes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_runtime.care.clients import Client, Launch, entry, is_ours, snippet
from iac_runtime.care.files import Found, find, remove, replace
from iac_runtime.care.jsontext import NotJsonError
from iac_runtime.care.merging import entry_of, merged, undone
from iac_runtime.errors import SetupError

__all__ = ["Installed", "NotMergedError", "Removed", "install", "installed_entry", "uninstall"]

_SUFFIX: Final = ".before-iac"


class NotMergedError(SetupError):
    """A client's file is left as it is; `snippet` is what a person can paste into it."""

    def __init__(self, message: str, snippet: str = "") -> None:
        super().__init__(message)
        self.snippet = snippet


class Installed(NamedTuple):
    """What `install` did.

    Attributes:
        path: The client's file.
        changed: Whether it was written; False if all was right already.
        backup: Where the file is kept as it was; None if there was none, or it was not changed.
        kept: Options of `serve` that an earlier entry had and this one has again.
    """

    path: Path
    changed: bool
    backup: Path | None
    kept: tuple[str, ...] = ()


class Removed(NamedTuple):
    """What `uninstall` did: nothing was there, the entry was taken out, or all is as before."""

    path: Path
    how: Literal["absent", "taken out", "as before", "file removed"]


def install(
    client: Client, path: Path, name: str, launch: Launch, *, keep_options: bool = True
) -> Installed:
    """Put the server into a client's file.

    Args:
        path: The client's file.
        name: Under which the server stands there.
        launch: How it is started.
        keep_options: Take the options of `serve` from an earlier entry.

    Raises:
        NotMergedError: The file has comments or is broken, or another server has this name; it
            is as it was, and the error has the snippet.
        SetupError: The file cannot be read or written safely; it is as it was.
    """
    found = find(path)
    said = entry(client, launch)
    try:
        text = _text(found)
        old = entry_of(text or "", client.root, name)
        kept: tuple[str, ...] = ()
        if old is not None:
            if not is_ours(old):
                raise NotMergedError(
                    f'{path} has another server called "{name}"; choose a name with --name.'
                )
            kept = _options(old) if keep_options else ()
            said["args"] += kept
        after = merged(text, client.root, name, said)
        encoded = after.encode()
    except (NotJsonError, UnicodeError) as error:
        raise _refused(path, error, snippet(client, name, said)) from None
    if after == text:
        return Installed(path, changed=False, backup=None, kept=kept)
    backup = _backup_of(found.path)
    if old is None and found.content is not None:
        # An entry that is there was written after the backup was made, which stays the older one.
        replace(find(backup)._replace(mode=found.mode), found.content)
    elif old is None:
        remove(find(backup))
    replace(found, encoded)
    return Installed(path, changed=True, backup=backup if backup.exists() else None, kept=kept)


def uninstall(client: Client, path: Path, name: str) -> Removed:
    """Take the server out of a client's file.

    Where nothing else was changed since `install`, the file is as before to the byte, and the
    backup is removed; a file that `install` made is gone.

    Raises:
        NotMergedError: The file has comments or is broken, or another server has this name; it
            is as it was.
        SetupError: The file cannot be read or written safely; it is as it was.
    """
    found = find(path)
    try:
        text = _text(found)
        old = entry_of(text, client.root, name) if text is not None else None
        if text is None or old is None:
            return Removed(path, "absent")
        if not is_ours(old):
            raise NotMergedError(f'{path}: the server called "{name}" is another one; it stays.')
        backup = find(_backup_of(found.path))
        earlier = _readable(backup)
        after = undone(text, client.root, name, earlier)
    except (NotJsonError, UnicodeError) as error:
        raise _refused(path, error, "") from None
    if after is None:
        remove(found)
        return Removed(path, "file removed")
    replace(found, after.encode())
    if after != earlier:
        return Removed(path, "taken out")
    remove(backup)
    return Removed(path, "as before")


def installed_entry(client: Client, path: Path, name: str) -> dict[str, Any] | None:
    """Return the entry of this server in a client's file, None if there is none.

    Raises:
        NotMergedError: The file cannot be read as JSON.
        SetupError: It cannot be read at all.
    """
    try:
        found = entry_of(_text(find(path)) or "", client.root, name)
    except (NotJsonError, UnicodeError) as error:
        raise _refused(path, error, "") from None
    return found if is_ours(found) else None


def _text(found: Found) -> str | None:
    return None if found.content is None else found.content.decode()


def _readable(backup: Found) -> str | None:
    try:
        return _text(backup)
    except UnicodeError:
        return None


def _backup_of(path: Path) -> Path:
    return path.with_name(path.name + _SUFFIX)


def _options(old: Mapping[str, Any]) -> tuple[str, ...]:
    args = [word for word in old.get("args", ()) if isinstance(word, str)]
    return tuple(args[args.index("serve") + 1 :]) if "serve" in args else ()


def _refused(path: Path, error: Exception, words: str) -> NotMergedError:
    reason = "it is no UTF-8" if isinstance(error, UnicodeError) else str(error)
    way = "paste this into it" if words else "take the entry out by hand"
    return NotMergedError(
        f"{path} cannot be changed safely ({reason}), so it is as it was; {way}.", words
    )
