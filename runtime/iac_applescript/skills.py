"""The guides of apps: Markdown files with a front matter, ours and the user's own.

A file of the user's folder (`skills` in the data folder) takes the place of ours of that name. The
front matter is the part of YAML that is needed: `key: text` and `key: [text, text]`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import data_folder
from iac_base.text import clean_text
from iac_base.words import fold
from iac_runtime.tool import Property
from iac_runtime.tools.folders import check_own
from iac_runtime.tools.tables import Tables

if TYPE_CHECKING:
    # A list of the guides needs no analysis.
    from iac_applescript.analysis.analyser import Analyser

__all__ = ["Skill", "lint", "read_skill", "skill_of", "skills"]

SHIPPED: Final = Path(__file__).parent / "skills"
LARGEST: Final = 16_000
"""Bytes of one file; a guide that is longer is no guide."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_FENCE: Final = re.compile(r"(?ms)^```(applescript|javascript)\n(.*?)^```$")
_NOT_UNDERSTOOD: Final = frozenset(("unknown", "fault", "target", "shape", "raw", "handler"))


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

    def scripts(self) -> list[tuple[str, str]]:
        """Return the worked lines: language and script."""
        return [(language, script) for language, script in _FENCE.findall(self.text)]


def read_skill(path: Path, *, own: bool) -> Skill:
    """Return the guide of a file.

    Raises:
        SetupError: It is too long, no UTF-8, or its front matter lacks something; one line.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} cannot be read as text.") from error
    if len(raw) > LARGEST:
        raise SetupError(f"{path} is longer than {LARGEST} bytes; shorten it.")
    found = re.match(r"---\r?\n(.*?)\r?\n---\r?\n(.*)", text, re.DOTALL)
    if found is None:
        raise SetupError(f"{path} has no front matter; begin it with a line of three hyphens.")
    facts = dict(_facts(found[1]))
    name = facts.get("name", "")
    if not _NAME.match(name) or name != path.stem:
        raise SetupError(f"{path}: name must be the file's name, in small letters.")
    for key in ("app", "title"):
        if not facts.get(key):
            raise SetupError(f"{path}: {key} is missing in the front matter.")
    return Skill(
        name,
        clean_text(facts["app"], 200),
        clean_text(facts["title"], 200),
        _list(facts.get("terms", "")),
        _list(facts.get("codes", "")),
        clean_text(found[2]),
        own,
    )


def _facts(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, mark, value = line.partition(":")
        if mark and key.strip().isidentifier():
            yield key.strip(), value.strip()


def _list(text: str) -> tuple[str, ...]:
    inner = text.strip().removeprefix("[").removesuffix("]")
    return tuple(part.strip() for part in inner.split(",") if part.strip())


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Skill]:
    return {path.stem: read_skill(path, own=False) for path in sorted(SHIPPED.glob("*.md"))}


def skills(folder: Path | None = None) -> dict[str, Skill]:
    """Return all guides by name; `folder` is the user's, by default in the data folder.

    The user's files count only if nobody else can write to them. One that cannot be read is left
    out, and ours stands.
    """
    found = dict(_shipped())
    base = data_folder() / "skills" if folder is None else folder
    try:
        if base.is_dir():
            check_own(base)
            for path in sorted(base.glob("*.md")):
                _take(path, found)
    except (OSError, SetupError):
        return found
    return found


def _take(path: Path, found: dict[str, Skill]) -> None:
    try:
        if not path.is_symlink():
            check_own(path)
            found[path.stem] = read_skill(path, own=True)
    except (OSError, SetupError):
        return


def skill_of(app: str, folder: Path | None = None) -> Skill | None:
    """Return the guide of an app by key, name or bundle id."""
    wanted = fold(app)
    for skill in skills(folder).values():
        if wanted in (fold(skill.name), fold(skill.app), fold(skill.title.partition(":")[0])):
            return skill
    return None


def lint(skill: Skill, tables: Tables, analyser: "Analyser") -> list[str]:
    """Return what is wrong with a guide: terms and codes that the dictionary lacks, scripts that
    are not understood, or that are DANGEROUS."""
    terms = {fold(term) for term in _all_terms(tables)}
    codes = set(_all_codes(tables))
    found = [f"no term {term!r}" for term in skill.terms if fold(term) not in terms]
    found += [f"no code {code!r}" for code in skill.codes if code not in codes]
    if tables.app.id != skill.app:
        found.append(f"{skill.app} is not the app {tables.app.id}")
    for language, script in skill.scripts():
        analysis = analyser.analyse(script, language)  # type: ignore[arg-type]
        found += [
            f"{language}: {reason.text!r} {reason.says}"
            for reason in analysis.reasons
            if reason.rule in _NOT_UNDERSTOOD or reason.level == "DANGEROUS"
        ]
    return found


def _all_terms(tables: Tables) -> Iterator[str]:
    yield from tables.classes
    yield from (name.replace("_", " ") for name in tables.tools)
    for prop in _all_properties(tables):
        yield prop.term
    for rows in tables.enums.values():
        yield from (term for term, _ in rows)


def _all_codes(tables: Tables) -> Iterator[str]:
    yield from (spec.event for spec in tables.tools.values())
    yield from (row.code for row in tables.classes.values())
    for prop in _all_properties(tables):
        yield prop.code
    for rows in tables.enums.values():
        yield from (code for _, code in rows)


def _all_properties(tables: Tables) -> Iterator[Property]:
    for row in tables.classes.values():
        yield from row.properties
    for record in tables.records.values():
        yield from record.properties
