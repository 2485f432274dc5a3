"""The index of an output folder: made of its `words.jsonl`, and kept beside no tool.

It has a line an app with its rows, then a line a word with the apps that have it, in the order of
their bytes, so that a reader finds both without reading the rest. Its last line says where the
words begin and how many rows there are. A line moves with every app before it, so nobody commits
it: a wheel has it beside the modules, else it is made on first need, in the user's cache. The
build of a wheel loads this file alone.
"""

import contextlib
import hashlib
import json
import logging
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

from iac_base.files import open_bounded, write_whole
from iac_base.words import fold_name, stem_words

FORMAT: Final = 2
WORDS: Final = "words.jsonl"
INDEX: Final = "search.jsonl"
WORDS_FORMAT: Final = 1
_MOST: Final = 1024 * 1024 * 1024
"""Bytes of the words of an output folder: those of 10,000 apps have a tenth."""
_COMMON_WORD: Final = 50
"""A word that more apps have, and a quarter of all, tells none of them apart."""


def open_index(folder: Path) -> IO[bytes]:
    """Return the index of an output folder, open; it is made where there is none that fits.

    Raises:
        OSError: The words cannot be read.
        ValueError, KeyError, TypeError, AttributeError: They are no words of a build.
    """
    with open_bounded(folder / WORDS, _MOST) as file:
        words = file.read()
    stamp = hashlib.sha256(words).hexdigest().encode()
    cached = _cache_file(folder)
    for path in (folder / INDEX, cached):
        with contextlib.suppress(OSError), open_bounded(path, 4 * _MOST) as file:
            if stamp in file.readline(200):
                return path.open("rb")
    text = "".join(index_lines(words))
    with contextlib.suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(cached, text)
        return cached.open("rb")
    # Neither the folder nor the user's cache can be written.
    made = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    made.write(text.encode())
    made.flush()
    return made


def _cache_file(folder: Path) -> Path:
    from platformdirs import user_cache_path

    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]
    return user_cache_path("iac", appauthor=False) / "search" / f"{name}.jsonl"


def index_lines(words: bytes) -> Iterator[str]:
    """Yield the lines of the index of what `words.jsonl` holds.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: It is no such file. Of an app that is not
            sound, a line of the log tells.
    """
    first, *apps = words.splitlines()
    if json.loads(first)["format"] != WORDS_FORMAT:
        raise ValueError("is of another format")
    head = _json_line({"format": FORMAT, "made_of": hashlib.sha256(words).hexdigest()})
    yield head
    offset, total, count = len(head), 0, 0
    rows_of: Counter[str] = Counter()
    strong: dict[str, array[int]] = {}
    weak: dict[str, array[int]] = {}
    for written in apps:
        try:
            line, known, also, said = _read_app(written)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            form = "%s: the line that begins with %r is not as it was built and is left out"
            logging.getLogger("iac.tools").warning(
                form, WORDS, written[:60].decode("utf-8", "replace")
            )
            continue
        total += len(said)
        for one in said:
            rows_of.update(one)
        for word in known:
            strong.setdefault(word, array("Q")).append(offset)
        for word in also - known:
            weak.setdefault(word, array("Q")).append(offset)
        count, offset = count + 1, offset + len(line)
        yield line
    if apps and not count:
        raise ValueError("no app of it is sound")
    limit = max(_COMMON_WORD, count // 4)
    start = offset
    for word in sorted({*strong, *weak}, key=lambda word: json.dumps(word).encode()):
        both = [list(offsets.get(word, ())) for offsets in (strong, weak)]
        kept = [[] if len(some) > limit else some for some in both]
        yield _json_line([word, rows_of[word], len(both[0]), *kept])
    yield _json_line([start, total, count])


def _read_app(written: bytes) -> tuple[str, set[str], set[str], list[set[str]]]:
    """Return the line of an app, its strong and other words, and the words of each row."""
    app = json.loads(written)
    spelled = {fold_name(app["name"]), fold_name(app["key"])}
    # People leave the number of a version out.
    known = {f"={one}" for name in spelled for one in (name, name.rstrip("0123456789")) if one}
    known |= {
        f"~{word}" for word in {*stem_words(app["name"])} - {*stem_words(fold_name(app["name"]))}
    }
    also, said = set[str](), list[set[str]]()
    for _, _, _, name, owned, purpose, told, _ in app["rows"]:
        known |= {*name.split()}
        also |= {*chain(owned.split(), purpose.split(), told.split())}
        said.append({*chain(name.split(), owned.split(), purpose.split())})
    if not all(isinstance(name, str) for name in app["tools"].values()):
        raise TypeError("the list of tools has no names")
    return _json_line(app), known, also, said


def _json_line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True) + "\n"
