"""The apps with a dictionary, a dictionary for a model, and the guides of apps.

A dictionary is shown from overview to single term, made from the tables of the generated module:
what the app declares, with the level of each use.

Folders: where macOS keeps apps. A bundle is scriptable if its Info.plist names a dictionary or says
so (`OSAScriptingDefinition`, `NSAppleScriptEnabled`; Cocoa Scripting Guide).

Guides: Markdown files with a front matter, ours and the user's own, which take the place of ours of
that name. The front matter is the part of YAML that is needed: `key: text`, `key: [text, text]`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import NextCall, SetupError, ToolError, near_text, quote_text
from iac_base.files import data_folder
from iac_base.text import clean_text
from iac_base.words import fold_name
from iac_runtime.tool import Spec
from iac_runtime.toolkit import Tables, check_own
from iac_runtime.tools.field import field_rows

PAGE: Final = 4_200
"""The weight of an answer: below 1,500 tokens, at three ASCII characters or one other a token."""

_STANDARD: Final = frozenset(("core", "aevt", "ascr", "misc"))

FOLDERS: Final = (
    Path("/Applications"),
    Path("/System/Applications"),
    Path("/System/Library/CoreServices"),
    Path("~/Applications"),
)
_LARGEST: Final = 1024 * 1024
_MOST: Final = 2_000


class DictionaryPage(NamedTuple):
    """A part of a dictionary as text; `page` of `pages`, from 1."""

    text: str
    kind: str
    page: int
    pages: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return self._asdict()


def dictionary_page(
    tables: Tables, term: str = "", search: str = "", page: int = 1
) -> DictionaryPage:
    """Return the overview of an app, the page of a suite or a term, or what a search finds.

    Raises:
        ToolError: There is no such term; the nearest are named.
    """
    if search.strip():
        return _select_page("search", list(_search_lines(tables, search)), page)
    wanted = fold_name(term)
    if not wanted:
        return _select_page("overview", list(_overview_lines(tables)), page)
    for suite, lines in _lines_by_suite(tables).items():
        if wanted in (fold_name(suite), fold_name(f"{suite} suite")):
            return _select_page("suite", lines, page)
    shown = [line for lines in _term_lines(tables, wanted) for line in lines]
    if not shown:
        near = near_text(term, [*tables.classes, *tables.enums, *_app_commands(tables)])
        message = f"{tables.app.name} has no term {quote_text(term)}."
        error = ToolError("NOT_FOUND", message, near, app=tables.app.name)
        error.next = NextCall("get_app_dictionary", {"app": tables.app.name})
        raise error
    return _select_page("term", shown, page)


def text_weight(text: str) -> int:
    """Return how much of a page a text takes, in thirds of a token."""
    return sum(1 if char.isascii() else 3 for char in text)


def _select_page(kind: str, lines: list[str], page: int) -> DictionaryPage:
    pages: list[list[str]] = [[]]
    room = PAGE
    for line in lines or ["No term matches."]:
        text = clean_text(line, 600)
        needed = text_weight(text) + 2
        if needed > room and pages[-1]:
            pages.append([])
            room = PAGE
        pages[-1].append(text)
        room -= needed
    number = min(max(page, 1), len(pages))
    return DictionaryPage("\n".join(pages[number - 1]), kind, number, len(pages))


def _app_commands(tables: Tables) -> dict[str, Spec]:
    return {
        name.rstrip("_").replace("_", " "): spec
        for name, spec in tables.tools.items()
        if spec.op == "command" and not spec.bind
    }


def _wrap_names(lead: str, names: Iterable[str], width: int = 500) -> Iterator[str]:
    line = lead
    for name in names:
        if len(line) + len(name) > width:
            yield line.rstrip(", ")
            line = "  "
        line += f"{name}, "
    if line.strip():
        yield line.rstrip(", ")


def _lines_by_suite(tables: Tables) -> dict[str, list[str]]:
    """Group commands as their event codes do: the standard ones, and the app's own."""
    commands = _app_commands(tables)
    own = [name for name, spec in commands.items() if spec.event[:4] not in _STANDARD]
    standard = [name for name in commands if name not in own]
    lines = {
        "standard": [line for name in standard for line in _command_lines(name, commands[name])]
    }
    lines["own"] = [line for name in own for line in _command_lines(name, commands[name])]
    lines["classes"] = [line for term in tables.classes for line in _class_summary(tables, term)]
    return lines


def _overview_lines(tables: Tables) -> Iterator[str]:
    yield f"{tables.app.name} ({tables.app.id})"
    commands = _app_commands(tables)
    own = [name for name, spec in commands.items() if spec.event[:4] not in _STANDARD]
    yield from _wrap_names("own commands: ", own)
    yield from _wrap_names("standard commands: ", (name for name in commands if name not in own))
    yield from _wrap_names("classes: ", tables.classes)
    yield from _wrap_names("enumerations: ", tables.enums)
    yield "For more, give a group (own, standard, classes) or a term."


def _command_lines(name: str, spec: Spec) -> Iterator[str]:
    yield f"{name} [{spec.event}] {spec.level}; JXA {spec.jxa}; gives {spec.result or 'nothing'}"
    for param in spec.params.values():
        label = "direct" if param.code == "----" else param.term
        if param.code:
            yield f"  {label}: {param.type}"


def _class_summary(tables: Tables, term: str) -> Iterator[str]:
    row = tables.classes[term]
    names = [prop.term for prop in row.properties]
    yield from _wrap_names(f"{term}: ", names or ["(no properties of its own)"])


def _class_lines(tables: Tables, term: str) -> Iterator[str]:
    row = tables.classes[term]
    parent = f", inherits {row.inherits}" if row.inherits else ""
    yield f"class {term} [{row.code}]; JXA {row.plural}{parent}; make {row.make}"
    for prop in tables.properties(term):
        change = f"; set {prop.level}" if "w" in prop.access else ""
        yield f"  {prop.term}: {prop.type} ({prop.access}); JXA {prop.jxa}{change}"
    yield from _wrap_names("  elements: ", (element.term for element in tables.elements(term)))


def _term_lines(tables: Tables, wanted: str) -> Iterator[Iterable[str]]:
    for name, spec in _app_commands(tables).items():
        if wanted in (fold_name(name), fold_name(spec.jxa)):
            yield _command_lines(name, spec)
    class_term = tables.find_class(wanted)
    if class_term is not None:
        yield _class_lines(tables, class_term)
    for name, rows in tables.enums.items():
        if fold_name(name) == wanted:
            yield [f"enumeration {name}: {', '.join(term for term, _ in rows)}"]
    for name, record in tables.records.items():
        if fold_name(name) == wanted:
            fields = ", ".join(f"{p.term}: {p.type}" for p in record.properties)
            yield [f"record {name}: {fields}"]
    owners = [
        f"  {prop.term} of {term}: {prop.type} ({prop.access}); JXA {prop.jxa}"
        for term, row in tables.classes.items()
        for prop in row.properties
        if fold_name(prop.term) == wanted
    ]
    if owners:
        yield ["property:", *owners]


def _search_lines(tables: Tables, search: str) -> Iterator[str]:
    words = [fold_name(word) for word in search.split()]

    def has_all_words(name: str) -> bool:
        return all(word in fold_name(name) for word in words)

    yield from (f"command {name}" for name in _app_commands(tables) if has_all_words(name))
    yield from (f"class {term}" for term in tables.classes if has_all_words(term))
    for term, row in tables.classes.items():
        yield from (f"property {p.term} of {term}" for p in row.properties if has_all_words(p.term))
    for name, rows in tables.enums.items():
        if has_all_words(name):
            yield f"enumeration {name}"
        yield from (f"enumerator {e} of {name}" for e, _ in rows if has_all_words(e))


class InstalledApp(NamedTuple):
    """An app on disk."""

    name: str
    id: str
    path: Path


def find_scriptable_apps(folders: Sequence[Path] = FOLDERS) -> list[InstalledApp]:
    """Return the apps that say they can be scripted, by name; unreadable ones are left out."""
    apps: dict[str, InstalledApp] = {}
    for path in _app_bundles(folders):
        bundle = _read_bundle(path)
        if bundle is not None:
            apps.setdefault(bundle.id.casefold(), bundle)
    return sorted(apps.values(), key=lambda bundle: bundle.name.casefold())


def _app_bundles(folders: Sequence[Path]) -> Iterator[Path]:
    count = 0
    for folder in folders:
        base = folder.expanduser()
        for pattern in ("*.app", "*/*.app"):
            for path in sorted(base.glob(pattern)):
                count += 1
                if count > _MOST:
                    return
                yield path


def _read_bundle(path: Path) -> InstalledApp | None:
    import plistlib

    info = path / "Contents" / "Info.plist"
    try:
        if not info.is_file() or info.stat().st_size > _LARGEST:
            return None
        facts = plistlib.loads(info.read_bytes())
    except Exception:
        return None
    if not isinstance(facts, dict) or not isinstance(facts.get("CFBundleIdentifier"), str):
        return None
    if not (facts.get("OSAScriptingDefinition") or _is_yes(facts.get("NSAppleScriptEnabled"))):
        return None
    return InstalledApp(
        clean_text(path.stem, 100), clean_text(facts["CFBundleIdentifier"], 200), path
    )


def _is_yes(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.casefold() in ("yes", "true", "1"))


def running_bundles() -> set[str]:
    """Return the paths of the app bundles that a process of this user runs from."""
    import contextlib

    import psutil

    bundles = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            head, mark, _ = process.exe().partition(".app/")
            if mark:
                bundles.add(f"{head}.app")
    return bundles


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

    @property
    def whole_text(self) -> str:
        """The text, and below one of ours what the field book tells of the app on real Macs."""
        if self.own:
            return self.text.strip()
        told = (
            " ".join(filter(None, (f"- If you {row['act']}:", row["happens"], row.get("safe"))))
            for row in field_rows(self.app, "guide")
        )
        return "\n".join([self.text.strip(), "", "## On real Macs", "", *told]).lstrip()

    @property
    def slug(self) -> str:
        """Its name as the Agent Skills format allows one."""
        return self.name.replace("_", "-")

    @property
    def description(self) -> str:
        """When it is of use, as that format wants it."""
        app, _, about = self.title.partition(": ")
        return f"Scripts {app} on a Mac: {about}. Use it before you write a script for {app}."

    @property
    def document(self) -> str:
        """The guide as SKILL.md of that format."""
        told = json.dumps(self.description, ensure_ascii=False)
        return f"---\nname: {self.slug}\ndescription: {told}\n---\n\n{self.whole_text}\n"

    @property
    def files(self) -> dict[str, str]:
        """The guide as a folder of that format, with the library's scripts of the app."""
        from iac_applescript.library import app_scripts

        scripts = {row.file_name: row for row in app_scripts(self.name)}
        lines = [f"- [{row.purpose}](scripts/{file})\n" for file, row in scripts.items()]
        listed = f"\n## Scripts\n\n{''.join(lines)}" if lines else ""
        texts = {f"scripts/{file}": row.commented_text for file, row in scripts.items()}
        return {"SKILL.md": self.document + listed, **texts}

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
    parts = re.match(r"---\r?\n(.*?)\r?\n---\r?\n(.*)", text, re.DOTALL)
    if parts is None:
        message = f"{path} has no front matter; begin the file with a line of three hyphens."
        raise SetupError(message)
    facts = dict(_front_matter(parts[1]))
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
        clean_text(parts[2]),
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
    skills = dict(_shipped_skills())
    base = data_folder() / "skills" if folder is None else folder
    try:
        if base.is_dir():
            check_own(base)
            for path in sorted(base.glob("*.md")):
                _add_own_skill(path, skills)
    except (OSError, SetupError):
        return skills
    return skills


def _add_own_skill(path: Path, skills: dict[str, Skill]) -> None:
    try:
        if not path.is_symlink():
            check_own(path)
            skills[path.stem] = read_skill(path, own=True)
    except (OSError, SetupError):
        return


def find_skill(app: str, folder: Path | None = None) -> Skill | None:
    """Return the guide of an app by key, name or bundle id."""
    guides = load_skills(folder).values()
    return next((guide for guide in guides if guide.is_for(app)), None)


def field_skill(name: str, app: str) -> Skill | None:
    """Return the guide of an app, by its bundle id, that is in the field book alone."""
    known = len(field_rows(app, "guide")) > len(field_rows("", "guide"))
    return (
        Skill(name, app, f"{name}: what is known of it", (), (), "", own=False) if known else None
    )
