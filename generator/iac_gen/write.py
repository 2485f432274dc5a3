"""Write: the only module that touches the output folder. Atomic, and only what changed."""

import contextlib
import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from iac_gen.output import CATALOGUE, LISTING, LOCK, OutputError, Previous

__all__ = ["read_previous", "write"]

# A reader that meets a half-finished build finds the old index beside new modules, never an
# index that names what is not there yet.
_LAST = (LISTING, CATALOGUE, LOCK)


def read_previous(folder: Path) -> Previous:
    """Return what an earlier build left in `folder`; nothing where there is no catalogue.

    Raises:
        OutputError: Files of these names are there and are no build's.
    """
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
        raise OutputError(f"{folder} {error}") from None


def write(folder: Path, files: Mapping[str, str], remove: Collection[str] = ()) -> list[str]:
    """Write `files` into `folder` and delete `remove`; return the names that changed.

    Each file is either the old or the new one at any moment.

    Raises:
        OutputError: The folder or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        order = sorted(files, key=lambda name: (name in _LAST, name))
        changed = [name for name in order if _replace(folder / name, files[name])]
        for name in sorted(remove):
            path = folder / name
            if path.is_file():
                path.unlink()
                changed.append(name)
    except OSError as error:
        raise OutputError(f"{error.filename or folder}: {error.strerror}") from None
    return changed


def _replace(path: Path, text: str) -> bool:
    content = text.encode()
    if path.is_file() and path.read_bytes() == content:
        return False
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp gives 0600; what a build writes is read like any other source.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return True
