"""The guides of apps: Markdown files with a front matter, ours and the user's own.

A file of the user's folder (`skills` in the data folder) takes the place of ours of that name. The
front matter is the part of YAML that is needed: `key: text` and `key: [text, text]`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import data_folder
from iac_base.text import clean_text
from iac_base.words import fold_name
from iac_runtime.toolkit import check_own

SHIPPED: Final = Path(__file__).parent / "skills"
LARGEST: Final = 16_000
"""Bytes of one file; a guide that is longer is no guide."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")


class Skill(NamedTuple):
    """A guide.

    Attributes:
        name: The app's key.
        app: Its bundle id.
        title: One line.
        terms, codes: What it speaks of; each is in the app's dictionary.
        text: The Markdown below the front matter.
        own: Whether it is the user's.
    """

    name: str
    app: str
    title: str
    terms: tuple[str, ...]
    codes: tuple[str, ...]
    text: str
    own: bool

    def is_for(self, app: str) -> bool:
        """Say whether `app` is its app: a key, a name or a bundle id."""
        names = (self.name, self.app, self.title.partition(":")[0])
        return fold_name(app) in map(fold_name, names)


def read_skill(path: Path, *, own: bool) -> Skill:
    """Return the guide of a file.

    Raises:
        SetupError: It is too long, no UTF-8, or its front matter lacks something; one line.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} is not readable text.") from error
    if len(raw) > LARGEST:
        raise SetupError(f"{path} is longer than {LARGEST} bytes; shorten it.")
    found = re.match(r"---\r?\n(.*?)\r?\n---\r?\n(.*)", text, re.DOTALL)
    if found is None:
        raise SetupError(
            f"{path} has no front matter; begin the file with a line of three hyphens."
        )
    facts = dict(_front_matter(found[1]))
    name = facts.get("name", "")
    if not _NAME.match(name) or name != path.stem:
        raise SetupError(f"{path}: name must be the name of the file in lower case, without .md.")
    for key in ("app", "title"):
        if not facts.get(key):
            raise SetupError(f"{path}: {key} is missing in the front matter.")
    return Skill(
        name,
        clean_text(facts["app"], 200),
        clean_text(facts["title"], 200),
        _split_list(facts.get("terms", "")),
        _split_list(facts.get("codes", "")),
        clean_text(found[2]),
        own,
    )


def _front_matter(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, mark, value = line.partition(":")
        if mark and key.strip().isidentifier():
            yield key.strip(), value.strip()


def _split_list(text: str) -> tuple[str, ...]:
    inner = text.strip().removeprefix("[").removesuffix("]")
    return tuple(part.strip() for part in inner.split(",") if part.strip())


@lru_cache(maxsize=1)
def _shipped_skills() -> dict[str, Skill]:
    return {path.stem: read_skill(path, own=False) for path in sorted(SHIPPED.glob("*.md"))}


def load_skills(folder: Path | None = None) -> dict[str, Skill]:
    """Return all guides by name; `folder` is the user's, by default in the data folder.

    The user's files count only if nobody else can write to them. One that cannot be read is left
    out, and ours stands.
    """
    found = dict(_shipped_skills())
    base = data_folder() / "skills" if folder is None else folder
    try:
        if base.is_dir():
            check_own(base)
            for path in sorted(base.glob("*.md")):
                _add_own_skill(path, found)
    except (OSError, SetupError):
        return found
    return found


def _add_own_skill(path: Path, found: dict[str, Skill]) -> None:
    try:
        if not path.is_symlink():
            check_own(path)
            found[path.stem] = read_skill(path, own=True)
    except (OSError, SetupError):
        return


def find_skill(app: str, folder: Path | None = None) -> Skill | None:
    """Return the guide of an app by key, name or bundle id."""
    guides = load_skills(folder).values()
    return next((guide for guide in guides if guide.is_for(app)), None)
