"""Files and folders of the user: read whole, replaced whole, private where they hold state.

What goes wrong is an OSError, as the system says it; callers make the line that a user reads.

What lies here decides what may run, so a folder that others can write to, or that a link leads
to, is refused and never repaired.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO, Final, NamedTuple

from iac_base.errors import SetupError

PRIVATE: Final = 0o600
"""The mode of a file that was not there: what is written may hold keys."""


TEAM_BUILD: Final = "team-build.json"
"""In the state folder, what a team corrects of builds.

`{"quirks": {file: text}, "accepted": {name: levels}}`. It passes from `iac-fleet`, which writes
it, to `iac-gen`, which reads it.
"""


def data_folder() -> Path:
    """Return the data folder of this user; it may not be there yet. IAC_DATA overrides it."""
    if named := os.environ.get("IAC_DATA"):
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("iac")


def config_file() -> Path:
    """Return where the user's policy is looked for; it need not be there.

    In the folder that IAC_DATA names, else in the platform's config folder.
    """
    if named := os.environ.get("IAC_DATA"):
        return Path(named) / "policy.toml"
    from platformdirs import user_config_path

    return user_config_path("iac") / "policy.toml"


class IrregularFileError(OSError):
    """What stands at a path is no regular file: a folder, a pipe, a device."""


class TooLargeError(OSError):
    """A file is larger than its reader takes: it has `size` bytes, or more."""

    def __init__(self, path: Path, size: int, most: int) -> None:
        super().__init__(errno.EFBIG, f"It is larger than {most} bytes", str(path))
        self.size = size


@contextlib.contextmanager
def open_replacement(
    path: Path,
    *,
    mode: int | None = None,
    sync: bool = False,
    check: Callable[[], object] | None = None,
) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes the place of the one at `path` at the end.

    A link stays a link, and what it leads to is replaced. A reader sees the old
    content or the new one, whole. Where the block raises, all is as it was.

    Args:
        path: The file; its folder is there.
        mode: The permission bits; without it those of the file that is there, else `PRIVATE`.
        sync: Whether the content must be on the disk before it replaces the old one.
        check: Called when all is written, in the last instant; what it raises stops the replacing.

    Raises:
        IrregularFileError: There is no regular file at `path`.
        OSError: It cannot be written.
    """
    old = PRIVATE
    with contextlib.suppress(FileNotFoundError):
        old = _require_regular_file(path, path.stat())
    real = Path(os.path.realpath(path))
    # Heavy, and a start writes nothing.
    import tempfile

    handle, name = tempfile.mkstemp(dir=real.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(handle, old if mode is None else mode)
            if sync:
                os.fsync(handle)
        if check is not None:
            check()
        Path(name).replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def write_whole(
    path: Path,
    content: bytes | str,
    *,
    mode: int | None = None,
    sync: bool = False,
    check: Callable[[], object] | None = None,
) -> None:
    """Replace a file by `content` (a text as UTF-8); the rest is as in `replacing`."""
    with open_replacement(path, mode=mode, sync=sync, check=check) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def read_bounded(path: Path, most: int, *, follow: bool = True) -> tuple[bytes, os.stat_result]:
    """Return the content of a regular file of at most `most` bytes, and its status.

    Owner and mode are those of the file that was read, whatever stands at `path` by now. Where it
    is not to `follow`, a link cannot be read.

    Raises:
        IrregularFileError: It is none; a pipe is not waited for.
        TooLargeError: It is larger.
        OSError: It cannot be read.
    """
    with open_bounded(path, most, follow=follow) as file:
        status = os.fstat(file.fileno())
        content = file.read(most + 1)
    if len(content) > most:
        raise TooLargeError(path, len(content), most)
    return content, status


@contextlib.contextmanager
def open_bounded(path: Path, most: int, *, follow: bool = True) -> Iterator[BufferedReader]:
    """Open a file as `read_bounded` does, for those who need not have all of it at once."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        status = os.fstat(handle)
        _require_regular_file(path, status)
        if status.st_size > most:
            raise TooLargeError(path, status.st_size, most)
        with os.fdopen(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)


def _require_regular_file(path: Path, status: os.stat_result) -> int:
    """Return the permission bits of a regular file, and refuse anything else."""
    if not stat.S_ISREG(status.st_mode):
        raise IrregularFileError(errno.EINVAL, "It is not a regular file", str(path))
    return stat.S_IMODE(status.st_mode)


_LOCK: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def try_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock of a file, made if need be; None if another has it.

    The lock ends when the descriptor is closed, or with the process. A link is refused.

    Raises:
        OSError: It cannot be opened or locked.
    """
    handle = os.open(path, _LOCK, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return handle


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file, made if need be, as soon as it is free; a link is refused.

    Raises:
        OSError: It cannot be opened or locked.
    """
    handle = os.open(path, _LOCK, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_MOST: Final = 64 * 1024 * 1024
"""Bytes; a client's settings are smaller."""


class FileContent(NamedTuple):
    """A file as it was read.

    Attributes:
        path: Where it really is: links are followed once, here.
        content: Its bytes; None if it is not there.
        mode: Its permission bits.
    """

    path: Path
    content: bytes | None
    mode: int = PRIVATE


def read_file_content(path: Path) -> FileContent:
    """Read the file at `path`, which may be a link to one.

    Raises:
        SetupError: It is no file, not this user's, too large, in a folder that everyone may
            write to, or cannot be read; one line.
    """
    try:
        real = Path(os.path.realpath(path))
        content, status = read_bounded(real, _MOST)
        if status.st_uid != os.geteuid():
            raise SetupError(f"{path} belongs to another user, so it was not changed.")
        folder = real.parent.stat()
        if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
            raise SetupError(
                f"All users can write to {real.parent}. Prevent this with: chmod o-w"
                f" '{real.parent}'"
            )
        return FileContent(real, content, stat.S_IMODE(status.st_mode))
    except FileNotFoundError:
        if path.is_symlink():
            message = f"{path} is a link to a missing file; remove or correct the link."
            raise SetupError(message) from None
        return FileContent(path, None)
    except IrregularFileError:
        raise SetupError(f"{path} is not a file; move it away.") from None
    except TooLargeError:
        raise SetupError(f"{path} is larger than {_MOST} bytes, so it was not changed.") from None
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error


def replace_file_content(file: FileContent, content: bytes) -> None:
    """Put `content` in the place of a file, with the mode that it had; all of it or nothing.

    Raises:
        SetupError: It was changed since it was read, or cannot be written; it is as it was.
    """
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        # Clients write their files too. What is left is the instant between check and replacing.
        write_whole(
            file.path, content, mode=file.mode, sync=True, check=lambda: _require_unchanged(file)
        )
    except OSError as error:
        raise SetupError(f"{file.path} cannot be written: {error.strerror}.") from error


def remove_file(file: FileContent) -> None:
    """Remove a file.

    Raises:
        SetupError: It was changed since it was read, or cannot be removed.
    """
    try:
        _require_unchanged(file)
        file.path.unlink(missing_ok=True)
    except OSError as error:
        raise SetupError(f"{file.path} cannot be removed: {error.strerror}.") from error


def _require_unchanged(file: FileContent) -> None:
    try:
        now: bytes | None = file.path.read_bytes()
    except FileNotFoundError:
        now = None
    if now != file.content:
        raise SetupError(f"{file.path} was just changed by another program; try again.")


def open_state() -> Path:
    """Return the state folder of this user (`state` in the data folder); it is made if need be.

    Raises:
        SetupError: It cannot be made, is no folder, or is not safe; one line with the way out.
    """
    return ensure_private_folder(data_folder() / "state")


def ensure_private_folder(folder: Path) -> Path:
    """Return `folder`, made with mode 0700 if it is missing.

    Raises:
        SetupError: It cannot be made, is no folder or a link, belongs to another user, or lets
            others in.
    """
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700, parents=True)
        _require_private(folder, stat.S_IFDIR, "folder", "700")
    except OSError as error:
        raise SetupError(f"{folder} cannot be made: {error.strerror}.") from error
    return folder


class StateFileError(SetupError):
    """A file or folder of the state cannot be used.

    Attributes:
        why: The cause in a few words.
        way: What to do now, one sentence.
    """

    def __init__(self, path: Path, why: str, way: str) -> None:
        super().__init__(f"{path} cannot be used: {why}. {way}")
        self.why = why
        self.way = way


def require_private_file(path: Path) -> os.stat_result:
    """Return the status of a file that is this user's alone.

    Raises:
        FileNotFoundError: It is not there.
        StateFileError: It is a link or no file, belongs to another user, or lets others in.
    """
    return _require_private(path, stat.S_IFREG, "file", "600")


def _require_private(path: Path, kind: int, what: str, mode: str) -> os.stat_result:
    status = path.lstat()
    if stat.S_IFMT(status.st_mode) != kind:
        raise StateFileError(path, f"it is a link, or not a {what}", "Move it away.")
    if status.st_uid != os.geteuid():
        raise StateFileError(
            path, "it belongs to another user", "Move it away, or make yourself its owner."
        )
    if status.st_mode & 0o077:
        raise StateFileError(
            path, "other users can read or change it", f"Prevent this with: chmod {mode} '{path}'"
        )
    return status
