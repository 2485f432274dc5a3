"""A folder that no path leaves: each name is opened from the folder above, links not followed.

A check of a path and its use are the same step: each folder is opened by the descriptor of its
parent with O_NOFOLLOW, the file by the last of them, and what was opened is looked at by its own
descriptor. Exchanging a folder for a link in between gains nothing. Files are replaced, never
changed in place, so a hard link to a file elsewhere is not written through.
"""

# ruff: noqa: PTH100
# Descriptors are the point here; pathlib takes none.

import errno
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from iac_scenario.model import CallError, PlayError

Parts = tuple[str, ...]
"""Names from the root of the sandbox down; empty for the root."""

_LONGEST_PATH: Final = 4096
PROTECTED: Final = frozenset(
    ".git .mcp.json .claude .claude.json .ssh .gnupg .zshrc .zshenv .zprofile .bashrc"
    " .bash_profile .profile launchagents launchdaemons".split()
)
"""What runs by itself or opens doors: hooks, keys, start-up files."""
_FIRMLINK: Final = ("System", "Volumes", "Data")
_PRIVATE: Final = frozenset(("var", "tmp", "etc"))

LARGEST: Final = 10_000_000
"""Bytes of one file that is read or written."""
_NEVER: Final = "is never written, because it can run or open things."
_MOST_GUARDED: Final = 500

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a pipe in the place of a file must not hold the run up.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def path_parts(path: str, roots: tuple[str, ...]) -> Parts:
    """Return the names that a path means below the sandbox.

    An absolute path must lie under one of `roots` (the places where the sandbox is seen), name by
    name; a relative one starts at the root. `file:` URLs are decoded once, nothing else is decoded.
    `..` that leaves the sandbox, control characters, NUL and lone surrogates are refused.

    Raises CallError with a line for the assistant.
    """
    text = _path_from_url(path) if path[:5].lower() == "file:" else path
    if not text:
        raise CallError("the path is empty.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise CallError(f"{path!r} has characters that a path cannot have.")
    if len(os.fsencode(text)) > _LONGEST_PATH:
        raise CallError(f"the path has more than {_LONGEST_PATH:,} bytes.")
    parts: list[str] = []
    if text.startswith("/"):
        names: Iterable[str] = _parts_below(text, roots, path)
    elif text == "~" or text.startswith("~/"):
        raise CallError(f"{path} is outside the sandbox.")
    else:
        names = text.split("/")
    for name in names:
        if name == "..":
            if not parts:
                raise CallError(f"{path} is outside the sandbox.")
            parts.pop()
        elif name not in ("", "."):
            parts.append(name)
    return tuple(parts)


def fold_name(name: str) -> str:
    """Return a name in the form in which all file systems tell names apart: NFC, no case."""
    return unicodedata.normalize("NFC", name).casefold()


def _parts_below(text: str, roots: tuple[str, ...], path: str) -> Parts:
    names = _canonical_parts(text)
    for root in roots:
        top = _canonical_parts(root)
        if names[: len(top)] == top:
            return names[len(top) :]
    raise CallError(f"{path} is outside the sandbox, whose path is {roots[0]}.")


def _canonical_parts(path: str) -> Parts:
    """Return the names of an absolute path, macOS's two spellings of one place made one."""
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if names[:3] == _FIRMLINK:
        names = names[3:]
    if names[:1] == ("private",) and names[1:2] and names[1] in _PRIVATE:
        names = names[1:]
    return names


def _path_from_url(path: str) -> str:
    try:
        url = urlsplit(path)
    except ValueError:
        raise CallError(f"{path!r} is not a file URL.") from None
    if url.netloc not in ("", "localhost") or not url.path.startswith("/"):
        raise CallError(f"{path} names another machine.")
    return unquote(url.path, errors="surrogateescape")


class Sandbox:
    """The files below one folder. Paths are resolved by `parts`; all else takes parts."""

    def __init__(self, root: Path, mount: str | None = None) -> None:
        """Open the folder. Raises PlayError where it is none."""
        real = os.path.realpath(root)
        try:
            self._root = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise PlayError(f"--sandbox-root {root}: {error.strerror}.") from None
        self.root = real
        self.mount = mount or real
        self._roots = tuple(dict.fromkeys((self.mount, real, os.path.abspath(root))))

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._root)

    def resolve_path(self, path: str) -> Parts:
        """Return the names that a path means. Raises CallError where it leads outside."""
        return path_parts(path, self._roots)

    def display_path(self, parts: Parts) -> str:
        """Return the absolute path under which the assistant sees a file."""
        return "/".join((self.mount.rstrip("/"), *parts)) or "/"

    def entry_kind(self, parts: Parts) -> str:
        """Return what stands at a path: `file`, `folder`, `other` (links, devices), or nothing."""
        if not parts:
            return "folder"
        with self._translate_errors(parts):
            try:
                with self._open_parent(parts) as (folder, name):
                    return _entry_kind(folder, name)
            except (FileNotFoundError, NotADirectoryError):
                return ""

    def read(self, parts: Parts) -> bytes:
        """Return a regular file's bytes. Raises CallError for all else and above LARGEST."""
        if not parts:
            raise CallError(f"{self.display_path(parts)} is a folder.")
        with self._translate_errors(parts), self._open_parent(parts) as (folder, name):
            handle = os.open(name, _READ, dir_fd=folder)
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise CallError(f"{self.display_path(parts)} is not a regular file.")
            except BaseException:
                os.close(handle)
                raise
            with os.fdopen(handle, "rb") as file:
                data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise CallError(f"{self.display_path(parts)} has more than {LARGEST:,} bytes.")
        return data

    def write(self, parts: Parts, data: bytes, *, parents: bool = False) -> None:
        """Make or replace a regular file, at once or not at all."""
        if not parts:
            raise CallError("the sandbox itself cannot be changed or removed.")
        if any(fold_name(name) in PROTECTED for name in parts):
            raise CallError(f"{self.display_path(parts)} {_NEVER}")
        if len(data) > LARGEST:
            raise CallError(f"a file can have at most {LARGEST:,} bytes.")
        for top in (parts[:length] for length in range(1, len(parts)) if parents):
            with (
                self._translate_errors(top),
                self._open_parent(top) as (folder, name),
                suppress(FileExistsError),
            ):
                os.mkdir(name, dir_fd=folder)
        with self._translate_errors(parts), self._open_parent(parts) as (folder, name):
            mode = 0o644
            with suppress(FileNotFoundError):
                old = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(old.st_mode):
                    raise CallError(f"{self.display_path(parts)} is not a regular file.")
                mode = stat.S_IMODE(old.st_mode) & 0o777
            draft = f".{secrets.token_hex(8)}.draft"
            handle = os.open(draft, _MAKE, mode, dir_fd=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise

    def protected_entries(self) -> dict[Parts, int]:
        """Return where protected files and folders stand, and their inodes; none inside others.

        A file with another name outside of the folder (a hard link) is one of them.
        """
        entries: dict[Parts, int] = {}
        linked: dict[int, tuple[int, list[Parts]]] = {}
        for top, folders, files, handle in os.fwalk(".", dir_fd=self._root):
            for name in [name for name in (*folders, *files) if fold_name(name) in PROTECTED]:
                entry = os.stat(name, dir_fd=handle, follow_symlinks=False)
                entries[(*Path(top).parts, name)] = entry.st_ino
            for name in files:
                entry = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if entry.st_nlink > 1 and stat.S_ISREG(entry.st_mode):
                    names = linked.setdefault(entry.st_ino, (entry.st_nlink, []))[1]
                    names.append((*Path(top).parts, name))
            folders[:] = [name for name in folders if fold_name(name) not in PROTECTED]
        for inode, (count, names) in linked.items():
            if count > len(names):
                entries |= dict.fromkeys(names, inode)
        if len(entries) > _MOST_GUARDED:
            raise CallError(
                f"{self.root} has more than {_MOST_GUARDED} files that are protected or"
                " hard-linked. Copy the folder, or use --allow-real-bash."
            )
        return entries

    def set_aside(self, known: Mapping[Parts, int]) -> list[str]:
        """Rename protected files that are not among the known ones; return a line for each."""
        told = []
        for parts, inode in self.protected_entries().items():
            if inode in known.values():
                continue
            with self._translate_errors(parts), self._open_parent(parts) as (folder, name):
                # Bash may have taken the right to change the folder.
                os.fchmod(folder, stat.S_IMODE(os.fstat(folder).st_mode) | 0o700)
                aside = f"{name}.refused-{secrets.token_hex(4)}"
                os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
            told.append(f"{self.display_path(parts)} {_NEVER} It was renamed to {aside}.\n")
        return told

    @contextmanager
    def _open_folder(self, parts: Parts) -> Iterator[int]:
        handle = os.dup(self._root)
        try:
            for name in parts:
                below = os.open(_stored_spelling(handle, name), _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def _open_parent(self, parts: Parts) -> Iterator[tuple[int, str]]:
        with self._open_folder(parts[:-1]) as folder:
            yield folder, _stored_spelling(folder, parts[-1])

    @contextmanager
    def _translate_errors(self, parts: Parts) -> Iterator[None]:
        """Turn the system's refusals into a line for the assistant."""
        try:
            yield
        except OSError as error:
            # A link answers ELOOP, or ENOTDIR where a folder was asked for.
            linked = error.errno == errno.ENOTDIR and self._has_link(parts)
            reason = error.strerror or "cannot be used"
            if linked or error.errno == errno.ELOOP:
                reason = "a link on the way is not followed"
            raise CallError(f"{self.display_path(parts)}: {reason}.") from None

    def _has_link(self, parts: Parts) -> bool:
        for length in range(1, len(parts) + 1):
            with suppress(OSError), self._open_parent(parts[:length]) as (folder, name):
                entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISLNK(entry.st_mode):
                    return True
        return False


def _entry_kind(folder: int, name: str) -> str:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def _stored_spelling(folder: int, name: str) -> str:
    """Return the name as the folder spells it: composed and decomposed letters are one."""
    if name.isascii():
        return name
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        own = unicodedata.normalize("NFC", name)
        same = (other for other in os.listdir(folder) if unicodedata.normalize("NFC", other) == own)
        return min(same, default=name)
    return name
