"""Write: the only module that touches the output folder. All of a build, and only what changed.

Changed files are staged beside the old ones; a journal then says that the stage is whole. What
is interrupted before the journal stands leaves the old tree, what is interrupted after it is
finished by the next command that looks at the folder.
"""

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from iac_gen.output import CATALOGUE, LISTING, LOCK, OutputError, Previous

__all__ = ["read_files", "read_previous", "write"]

# A reader that meets a build at work finds the old index beside new modules, never an index
# that names what is not there yet.
_LAST: Final = (LISTING, CATALOGUE, LOCK)
_STAGE: Final = ".build"
_JOURNAL: Final = "journal.json"


def read_previous(folder: Path) -> Previous:
    """Return what an earlier build left in `folder`; nothing where there is no catalogue.

    Raises:
        OutputError: Files of these names are there and are no build's.
    """
    if (folder / _STAGE).is_dir():
        with _alone(folder):
            _recover(folder)
    if not (folder / CATALOGUE).exists():
        return Previous()
    texts = []
    for name in (CATALOGUE, LISTING, LOCK):
        try:
            texts.append((folder / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise OutputError(f"{folder / name} cannot be read: {error}") from None
    try:
        return Previous.read(*texts)
    except OutputError as error:
        way = f"remove {', '.join(_LAST)} there to start afresh"
        raise OutputError(f"{folder} {error}; {way}") from None


def read_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the texts of `names` in `folder`; those that cannot be read are left out."""
    found = {}
    for name in names:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            found[name] = (folder / name).read_text(encoding="utf-8")
    return found


def write(folder: Path, files: Mapping[str, str], remove: Collection[str] = ()) -> list[str]:
    """Write `files` into `folder` and delete `remove`; return the names that changed.

    Raises:
        OutputError: The folder or a file cannot be written; the old tree stands.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            _recover(folder)
            order = sorted(files, key=lambda name: (name in _LAST, name))
            changed = [name for name in order if _differs(folder / name, files[name])]
            gone = sorted(name for name in remove if (folder / name).is_file())
            if changed or gone:
                _stage(folder, {name: files[name] for name in changed}, gone)
                _recover(folder)
    except OSError as error:
        raise OutputError(f"{error.filename or folder}: {error.strerror}") from None
    return [*changed, *gone]


def _differs(path: Path, text: str) -> bool:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return not path.is_file() or path.read_bytes() != text.encode()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder against other builds; the lock ends with the process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _stage(folder: Path, files: Mapping[str, str], gone: Collection[str]) -> None:
    stage = folder / _STAGE
    stage.mkdir()
    try:
        for name, text in files.items():
            _put(stage / name, text)
        journal = {"replace": list(files), "remove": list(gone)}
        _put(stage / f"{_JOURNAL}.new", json.dumps(journal))
        (stage / f"{_JOURNAL}.new").replace(stage / _JOURNAL)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise


def _put(path: Path, text: str) -> None:
    with path.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def _recover(folder: Path) -> None:
    """Finish what a journal promises, and clear away a stage that never became whole."""
    stage = folder / _STAGE
    if not stage.is_dir():
        return
    if (stage / _JOURNAL).is_file():
        journal = json.loads((stage / _JOURNAL).read_text(encoding="utf-8"))
        for name in journal["replace"]:
            if (stage / name).is_file():
                (stage / name).replace(folder / name)
        for name in journal["remove"]:
            (folder / name).unlink(missing_ok=True)
    shutil.rmtree(stage)
