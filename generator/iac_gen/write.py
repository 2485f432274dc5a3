"""Write: the only module that touches the output folder. All of a build, and only what changed.

Changed files are staged beside the old ones; a journal then says that the stage is whole. What
is interrupted before the journal stands leaves the old tree, what is interrupted after it is
finished by the next command that writes. A folder may come from anybody: nothing in it is
followed out of it, and a command that reads changes nothing.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from platformdirs import user_cache_path

from iac_base.files import write_whole
from iac_gen.limits import MAX_OUTPUT, LimitError, read_file
from iac_gen.output import CATALOGUE, LISTING, LOCK, OutputError, Previous
from iac_gen.resolve import STANDARD

# A reader that meets a build at work finds the old index beside new modules, never an index
# that names what is not there yet.
_LAST: Final = (LISTING, CATALOGUE, LOCK)
_STAGE: Final = ".build"
# No file of a build is called so: an app may be called Journal.
_JOURNAL: Final = ".journal"
_NEW_JOURNAL: Final = ".journal.new"
_NAME: Final = re.compile(r"[^./\\\x00-\x1f][^/\\\x00-\x1f]*\.(?:py|json)")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class _Journal(NamedTuple):
    """What a whole stage promises: name -> sha256 of what takes its place, and what goes."""

    replace: Mapping[str, str]
    remove: Collection[str]


def read_previous(folder: Path) -> Previous:
    """Return what an earlier build left in `folder`; nothing where there is no catalogue.

    Raises:
        OutputError: Files of these names are there and are no build's.
    """
    if not os.path.lexists(folder / CATALOGUE):
        return Previous()
    texts = []
    for name in (CATALOGUE, LISTING, LOCK):
        content = _read(folder / name)
        try:
            texts.append((content or b"").decode())
        except UnicodeDecodeError as error:
            raise OutputError(f"{folder / name} cannot be read: {error}") from None
        if content is None:
            raise OutputError(f"{folder / name} cannot be read: it is missing")
    try:
        return Previous.read(*texts)
    except OutputError as error:
        way = f"remove {', '.join(_LAST)} there to start afresh"
        raise OutputError(f"{folder} {error}; {unfinished(folder) or way}") from None


def read_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the texts of `names` in `folder`; what is missing or no text is left out.

    Raises:
        OutputError: One of them is a link or no regular file.
    """
    found = {}
    for name in names:
        content = _read(folder / name)
        with contextlib.suppress(UnicodeDecodeError):
            if content is not None:
                found[name] = content.decode()
    return found


def unfinished(folder: Path) -> str:
    """Return a line about a write into `folder` that did not end, empty where there is none."""
    if not os.path.lexists(folder / _STAGE):
        return ""
    return f"{folder} holds a write that has not ended; iac-gen build finishes it"


def finish(folder: Path) -> None:
    """Do what an interrupted write into `folder` left to do.

    Raises:
        OutputError: The stage is none that `write` leaves; nothing was changed.
    """
    if os.path.lexists(folder / _STAGE):
        with _alone(folder):
            _recover(folder)


def write(folder: Path, files: Mapping[str, str], remove: Collection[str] = ()) -> list[str]:
    """Write `files` into `folder` and delete `remove`; return the names that changed.

    Raises:
        OutputError: The folder or a file cannot be written, or a name is no plain one; the old
            tree stands.
    """
    for name in (*files, *remove):
        if not _is_ours(name):
            raise OutputError(f"{folder}: {name!r} is no plain file name; it is not written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{error.filename or folder}: {error.strerror}") from None
    with _alone(folder):
        _recover(folder)
        order = sorted(files, key=lambda name: (name in _LAST, name))
        changed = [name for name in order if _read(folder / name) != files[name].encode()]
        gone = sorted(name for name in remove if _read(folder / name) is not None)
        if changed or gone:
            _stage(folder, {name: files[name] for name in changed}, gone)
            _recover(folder)
    return [*changed, *gone]


def _is_ours(name: str) -> bool:
    """Say whether a build may write a file of this name: a plain name, and no hidden file."""
    return name in _LAST or _NAME.fullmatch(name) is not None


def _read(path: Path) -> bytes | None:
    """Return the bytes of a file of an output folder, None where there is none."""
    if not os.path.lexists(path):
        return None
    try:
        return read_file(path, MAX_OUTPUT, follow=False)
    except LimitError as error:
        raise OutputError(f"{path} {error}") from None


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder against other builds; the lock ends with the process."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
    except OSError as error:
        raise OutputError(f"{error.filename or folder}: {error.strerror}") from None


def _stage(folder: Path, files: Mapping[str, str], gone: Collection[str]) -> None:
    stage = folder / _STAGE
    stage.mkdir()
    try:
        for name, text in files.items():
            _put(stage / name, text)
        digests = {name: _digest(text.encode()) for name, text in files.items()}
        _put(stage / _NEW_JOURNAL, json.dumps(_Journal(digests, list(gone))._asdict()))
        (stage / _NEW_JOURNAL).replace(stage / _JOURNAL)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise


def _put(path: Path, text: str) -> None:
    with path.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _recover(folder: Path) -> None:
    """Finish what a journal promises, and clear away a stage that never became whole."""
    stage = folder / _STAGE
    if not os.path.lexists(stage):
        return
    try:
        staged = _staged(stage)
        journal = _promised(stage) if _JOURNAL in staged else _Journal({}, ())
        for name, digest in journal.replace.items():
            _check_file(folder / name)
            if _digest(_read((stage if name in staged else folder) / name) or b"") != digest:
                raise ValueError(f"does not hold {name} as its journal has it")
        for name in journal.remove:
            _check_file(folder / name)
    except (ValueError, OutputError, RecursionError) as error:
        reason = str(error).removeprefix(f"{stage} ")
        text = f"{stage} {reason}; nothing was changed: delete {stage} and build again"
        raise OutputError(text) from None
    for name in journal.replace:
        if name in staged:
            (stage / name).replace(folder / name)
    for name in journal.remove:
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(stage)


def _staged(stage: Path) -> set[str]:
    """Return the names in a stage.

    Raises:
        ValueError: It is none: a link, another user's, or with more in it than `write` puts there.
    """
    facts = stage.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
        raise ValueError("is a link or not yours")
    names = {entry.name for entry in os.scandir(stage)}
    for name in names:
        if not (_is_ours(name) or name in (_JOURNAL, _NEW_JOURNAL)):
            raise ValueError(f"holds {name!r}, which no build puts there")
        _check_file(stage / name)
    return names


def _check_file(path: Path) -> None:
    """Raise ValueError unless `path` is a plain file of this user's, or nothing at all."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_nlink != 1:
        raise ValueError(f"would touch {path.name}, which is a link, no file, or not yours")


def _promised(stage: Path) -> _Journal:
    """Return the journal of a stage.

    Raises:
        ValueError: It is none that `write` leaves.
    """
    journal: Any = json.loads(_read(stage / _JOURNAL) or b"")
    match journal:
        case {"replace": dict() as replace, "remove": list() as remove}:
            pass
        case _:
            raise ValueError("has a journal of another form")
    for name in (*replace, *remove):
        if not isinstance(name, str) or not _is_ours(name):
            raise ValueError(f"has a journal that names {ascii(name)[:80]}, no file of a build")
    if kept := set(remove) & set(_LAST):
        raise ValueError(f"has a journal that removes {', '.join(sorted(kept))}, which stays")
    for digest in replace.values():
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise ValueError("has a journal with a file that has no digest")
    return _Journal(replace, remove)


_FORMAT = 1
_LIBRARIES = ("jinja2", "lxml")


@dataclass(frozen=True, slots=True)
class BuildCache:
    """The last build: `stamp` of all that went in, the report, a report a job, the files."""

    generator: str
    stamp: str
    report: Mapping[str, Any]
    jobs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def stands(self, folder: Path) -> bool:
        """Say whether every file that the build wrote is still as it wrote it."""
        return bool(self.files) and self.files == digest_of_files(folder, self.files)


def digest_of_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return name -> sha256 in hex of the files of `folder`; missing ones are left out."""
    found = {}
    for name in names:
        with contextlib.suppress(LimitError):
            content = read_file(folder / name, MAX_OUTPUT, follow=False)
            found[name] = hashlib.sha256(content).hexdigest()
    return found


def generator_digest() -> str:
    """Return a digest of the generator: its source, templates, quirks, libraries, includes."""
    here = Path(__file__).parent
    roots = (
        here,
        here.parent.parent / "templates" / "iac_templates",
        here.parent / "iac_templates",
    )
    digest = hashlib.sha256(f"{_FORMAT} {sys.version_info[:2]}".encode())
    for name in _LIBRARIES:
        digest.update(f"{name} {version(name)}".encode())
    paths = sorted(
        path
        for root in roots
        if root.is_dir()
        for pattern in (
            "**/*.py",
            "**/*.toml",
            "*.js",
            "*.jinja",
            "classify/*.json",
            "snapshots/standard/*.json",
        )
        for path in root.glob(pattern)
    )
    for path in (*paths, Path(STANDARD)):
        with contextlib.suppress(OSError):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _file(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]
    return user_cache_path("iac", appauthor=False) / "builds" / f"{name}.json"


def read_cache(folder: Path) -> BuildCache | None:
    """Return what is remembered of the last build into `folder`, if anything."""
    try:
        data = json.loads(_file(folder).read_text(encoding="utf-8"))
        if data["format"] != _FORMAT:
            return None
        names = BuildCache.__slots__
        return BuildCache(**{name: data[name] for name in names})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_cache(folder: Path, memory: BuildCache) -> None:
    """Keep `memory`; a cache that cannot be written is done without."""
    path = _file(folder)
    data = {"format": _FORMAT, **{name: getattr(memory, name) for name in BuildCache.__slots__}}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, json.dumps(data))
