"""A folder that no path leaves: each name is opened from the folder above, links not followed.

A check of a path and its use are the same step: each folder is opened by the descriptor of its
parent with O_NOFOLLOW, the file by the last of them, and what was opened is looked at by its own
descriptor. Exchanging a folder for a link in between gains nothing. Files are replaced, never
changed in place, so a hard link to a file elsewhere is not written through.
"""

# ruff: noqa: PTH100, PTH208
# Descriptors are the point here; pathlib takes none.

import errno
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from iac_scenario.errors import SetupError, ToolError
from iac_scenario.places import Parts, is_protected, parts_of

__all__ = ["LARGEST", "Entry", "Sandbox"]

LARGEST: Final = 10_000_000
"""Bytes of one file that is read or written."""
_DEEPEST: Final = 64
_MOST: Final = 100_000
"""Entries that one walk visits."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a pipe in the place of a file must not hold the run up.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    """A name in a folder: `file`, `folder` or `other` (links, pipes, devices), size in bytes."""

    name: str
    kind: str
    size: int
    mode: int


class Sandbox:
    """The files below one folder. Paths are resolved by `parts`; all else takes parts."""

    def __init__(self, root: Path, mount: str | None = None) -> None:
        """Open the folder. Raises SetupError where it is none."""
        real = os.path.realpath(root)
        try:
            self._root = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise SetupError(f"--sandbox-root {root}: {error.strerror}.") from None
        self.root = real
        self.mount = mount or real
        self._roots = tuple(dict.fromkeys((self.mount, real, os.path.abspath(root))))

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._root)

    def parts(self, path: str, cwd: Parts = ()) -> Parts:
        """Return the names that a path means. Raises ToolError where it leads outside."""
        return parts_of(path, self._roots, cwd)

    def shown(self, parts: Parts) -> str:
        """Return the absolute path under which the assistant sees a file."""
        return "/".join((self.mount.rstrip("/"), *parts)) or "/"

    def entry(self, parts: Parts) -> Entry | None:
        """Return what stands at a path, or None; links are not followed."""
        if not parts:
            return Entry("", "folder", 0, 0o700)
        with self._told(parts):
            try:
                with self._parent(parts) as (folder, name):
                    return _entry(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read(self, parts: Parts) -> bytes:
        """Return a regular file's bytes. Raises ToolError for all else and above LARGEST."""
        if not parts:
            raise ToolError(f"{self.shown(parts)} is a folder.")
        with self._told(parts), self._parent(parts) as (folder, name):
            handle = os.open(name, _READ, dir_fd=folder)
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise ToolError(f"{self.shown(parts)} is no regular file.")
            except BaseException:
                os.close(handle)
                raise
            with os.fdopen(handle, "rb") as file:
                data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ToolError(f"{self.shown(parts)} has more than {LARGEST:,} bytes.")
        return data

    def write(self, parts: Parts, data: bytes, *, parents: bool = False) -> None:
        """Make or replace a regular file, at once or not at all."""
        self._writable(parts)
        if len(data) > LARGEST:
            raise ToolError(f"more than {LARGEST:,} bytes are too many for one file.")
        if parents and len(parts) > 1:
            self.make_folder(parts[:-1], parents=True)
        with self._told(parts), self._parent(parts) as (folder, name):
            mode = 0o644
            with suppress(FileNotFoundError):
                old = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(old.st_mode):
                    raise ToolError(f"{self.shown(parts)} is no regular file.")
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

    def make_folder(self, parts: Parts, *, parents: bool = False) -> None:
        """Make a folder; with `parents` the ones above it too, and none is no error."""
        self._writable(parts)
        tops = range(1, len(parts) + 1) if parents else (len(parts),)
        for length in tops:
            top = parts[:length]
            with self._told(top), self._parent(top) as (folder, name):
                try:
                    os.mkdir(name, dir_fd=folder)
                except FileExistsError:
                    if not parents:
                        raise
        if parents and (found := self.entry(parts)) is not None and found.kind != "folder":
            raise ToolError(f"{self.shown(parts)} is no folder.")

    def remove(self, parts: Parts, *, recursive: bool = False) -> None:
        """Remove a file or a link itself; with `recursive` a folder and all below it."""
        self._writable(parts)
        with self._told(parts), self._parent(parts) as (folder, name):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode):
                os.unlink(name, dir_fd=folder)
                return
            if not recursive:
                raise ToolError(f"{self.shown(parts)} is a folder.")
            _remove_all(folder, name)

    def remove_folder(self, parts: Parts) -> None:
        """Remove an empty folder."""
        self._writable(parts)
        with self._told(parts), self._parent(parts) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def move(self, source: Parts, target: Parts) -> None:
        """Rename a file or folder; a regular file at the target is replaced."""
        self._writable(source)
        self._writable(target)
        if target[: len(source)] == source:
            raise ToolError(f"{self.shown(source)} cannot be moved into itself.")
        with (
            self._told(source),
            self._parent(source) as (old, name),
            self._parent(target) as (new, to),
        ):
            if _entry(name, os.stat(name, dir_fd=old, follow_symlinks=False)).kind == "other":
                raise ToolError(f"{self.shown(source)} is no regular file.")
            os.rename(name, to, src_dir_fd=old, dst_dir_fd=new)

    def list(self, parts: Parts) -> list[Entry]:
        """Return what a folder holds, by name."""
        with self._told(parts), self._folder(parts) as folder:
            found = []
            for name in sorted(os.listdir(folder)):
                with suppress(FileNotFoundError):
                    found.append(_entry(name, os.stat(name, dir_fd=folder, follow_symlinks=False)))
            return found

    def walk(self, parts: Parts) -> Iterator[tuple[Parts, Entry]]:
        """Yield all below a folder, by name, each folder before what it holds."""
        pending = [(parts, entry) for entry in reversed(self.list(parts))]
        visited = 0
        while pending:
            above, entry = pending.pop()
            here = (*above, entry.name)
            visited += 1
            if visited > _MOST or len(here) > _DEEPEST:
                raise ToolError(f"{self.shown(parts)} holds too much to walk through.")
            yield here, entry
            if entry.kind == "folder":
                pending.extend((here, below) for below in reversed(self.list(here)))

    @contextmanager
    def _folder(self, parts: Parts) -> Iterator[int]:
        handle = os.dup(self._root)
        try:
            for name in parts:
                below = os.open(_spelled(handle, name), _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def _parent(self, parts: Parts) -> Iterator[tuple[int, str]]:
        with self._folder(parts[:-1]) as folder:
            yield folder, _spelled(folder, parts[-1])

    @contextmanager
    def _told(self, parts: Parts) -> Iterator[None]:
        """Turn the system's refusals into a line for the assistant."""
        try:
            yield
        except OSError as error:
            # A link answers ELOOP, or ENOTDIR where a folder was asked for.
            if error.errno == errno.ELOOP or (
                error.errno == errno.ENOTDIR and self._has_link(parts)
            ):
                reason = "a link on the way is not followed"
            else:
                reason = error.strerror or "cannot be used"
            raise ToolError(f"{self.shown(parts)}: {reason}.") from None

    def _has_link(self, parts: Parts) -> bool:
        for length in range(1, len(parts) + 1):
            with suppress(OSError), self._parent(parts[:length]) as (folder, name):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISLNK(found.st_mode):
                    return True
        return False

    def _writable(self, parts: Parts) -> None:
        if not parts:
            raise ToolError("the sandbox itself cannot be changed or removed.")
        if is_protected(parts):
            raise ToolError(f"{self.shown(parts)} is never written: it can run or open things.")


def _entry(name: str, found: os.stat_result) -> Entry:
    kind = "other"
    if stat.S_ISREG(found.st_mode):
        kind = "file"
    elif stat.S_ISDIR(found.st_mode):
        kind = "folder"
    return Entry(name, kind, found.st_size, stat.S_IMODE(found.st_mode))


def _spelled(folder: int, name: str) -> str:
    """Return the name as the folder spells it: composed and decomposed letters are one."""
    if name.isascii():
        return name
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        same = [other for other in os.listdir(folder) if _composed(other) == _composed(name)]
        return min(same, default=name)
    return name


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _remove_all(folder: int, name: str) -> None:
    handle = os.open(name, _FOLDER, dir_fd=folder)
    try:
        for below in os.listdir(handle):
            found = os.stat(below, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                _remove_all(handle, below)
            else:
                os.unlink(below, dir_fd=handle)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=folder)
