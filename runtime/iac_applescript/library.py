"""Scripts that are kept under a name, shipped and the user's own, and how they are found.

A file `scripts/APP.toml` holds the scripts of one app, a table each; its id is `APP.NAME`. The
folder `scripts` of the data folder is read the same way, and a plain .applescript or .js there
whose first lines are comments of the form `-- purpose: …` is a script too. Nothing is read before a
script is looked for. What is wrong with a file of the user's is one line, and never a failure.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from iac_applescript.analysis.findings import Language
from iac_applescript.wishes import FLOOR, IndexedOffer, Wish, index_offer, read_wish
from iac_base.errors import SetupError, ToolError
from iac_base.files import IrregularFileError, TooLargeError, data_folder, read_bounded
from iac_base.script_tokens import MAX_SCRIPT
from iac_base.text import clean_text
from iac_base.words import fold_name
from iac_runtime.toolkit import Catalogue, check_own
from iac_runtime.tools.own import call_tool_for

if TYPE_CHECKING:
    from iac_applescript.analysis.analyser import ScriptAnalyzer

SHIPPED: Final = Path(__file__).parent / "scripts"
LARGEST: Final = 512 * 1024
"""Bytes of a file of scripts."""

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "text": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list,),
    "date": (str,),
    "path": (str,),
}
"""The types of parameters; a date is ISO 8601 (2027-03-14T09:30), a path is absolute."""

_FORMS: Final = {
    "date": re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?\Z"),
    "path": re.compile(r"/[^\0]*\Z"),
}
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
LANGUAGES_BY_SUFFIX: Final[Mapping[str, Language]] = {
    ".applescript": "applescript",
    ".js": "javascript",
    ".jxa": "javascript",
}
_HEAD: Final = re.compile(r"(?:--|//)\s*(\w+)\s*:\s*(.*)")
_KEYS: Final = frozenset("purpose language script params tags with".split())


class ScriptParameter(NamedTuple):
    """What a script is given: its type, what it is, and what stands where nothing is given."""

    type: str
    doc: str
    default: Any = None

    def format_description(self) -> str:
        """Return it as one line."""
        default = "" if self.default is None else f" (if left out: {self.default!r})"
        return f"{self.type}: {self.doc}{default}"


class SavedScript(NamedTuple):
    """A script that is run by its name.

    Attributes:
        name: Its id, `APP.NAME`, or the name of a plain file.
        language, script: What runs.
        parameters: What `run` is given, in this order.
        purpose: What it does, one line.
        apps: The apps that it needs, by name; the first is what it is about.
        tags: Words that people say for it.
        source: Where it is from: `library`, or the path of the user's file.
    """

    name: str
    language: Language
    script: str
    parameters: Mapping[str, ScriptParameter]
    purpose: str = ""
    apps: tuple[str, ...] = ()
    tags: str = ""
    source: str = "library"

    @property
    def file_name(self) -> str:
        """The name of a file with it, without the app."""
        suffix = "js" if self.language == "javascript" else "applescript"
        return f"{self.name.partition('.')[2]}.{suffix}"

    @property
    def commented_text(self) -> str:
        """The script below a comment: what it does, and what `run` is given."""
        mark = "//" if self.language == "javascript" else "--"
        told = (f"{key}: {row.format_description()}" for key, row in self.parameters.items())
        head = "".join(f"{mark} {line}\n" for line in (self.purpose, *told))
        return f"{head}{self.script.strip()}\n"

    def bind_arguments(self, values: Any) -> list[Any]:
        """Return the arguments of `run` for what a call gives, by name or in order.

        Raises:
            ToolError: One is unknown, missing, or of another type.
        """
        if not isinstance(values, Mapping):
            extra = len(values) > len(self.parameters)
            values = {"": None} if extra else dict(zip(self.parameters, values, strict=False))
        bound = []
        for name, row in self.parameters.items():
            value = values.get(name, row.default)
            wrong = not isinstance(value, TYPES[row.type])
            wrong = wrong or (isinstance(value, bool) and row.type != "boolean")
            form = _FORMS.get(row.type)
            if wrong or (form is not None and form.match(str(value)) is None):
                raise self._argument_error()
            bound.append(value)
        if not values.keys() <= self.parameters.keys():
            raise self._argument_error()
        return bound

    def example_arguments(self) -> dict[str, Any]:
        """Return arguments of a call: what stands where nothing is given, else what is meant."""
        told = self.parameters.items()
        return {name: row.doc if row.default is None else row.default for name, row in told}

    def _argument_error(self) -> ToolError:
        told = "; ".join(
            f"{name}, {row.format_description()}" for name, row in self.parameters.items()
        )
        return ToolError("INVALID_PARAMETER", f"{self.name} takes {told or 'no arguments'}.")


def find_script(name: str, folder: Path | None = None) -> SavedScript | None:
    """Return the script of a name, the user's own before one that is shipped; None for none."""
    own = {row.name: row for row in own_scripts(folder)[0]}
    stem = name.partition(".")[0]
    return own.get(name) or next((row for row in app_scripts(stem) if row.name == name), None)


def app_scripts(key: str) -> tuple[SavedScript, ...]:
    """Return the scripts that are shipped for an app, by its key."""
    there = _NAME.match(key) and (SHIPPED / f"{key}.toml").exists()
    return _read_shipped(key) if there else ()


def shipped_scripts() -> list[SavedScript]:
    """Return the scripts that are shipped."""
    return [row for path in sorted(SHIPPED.glob("*.toml")) for row in _read_shipped(path.stem)]


def own_scripts(folder: Path | None = None) -> tuple[tuple[SavedScript, ...], tuple[str, ...]]:
    """Return the user's scripts, and a line for each file that is not read; `folder` holds them."""
    base = data_folder() / "scripts" if folder is None else folder
    scripts: list[SavedScript] = []
    faults: list[str] = []
    try:
        paths = sorted(base.iterdir()) if base.is_dir() else []
        if paths:
            check_own(base)
    except (OSError, SetupError) as error:
        return (), (str(error),)
    for path in paths:
        if path.suffix not in (".toml", *LANGUAGES_BY_SUFFIX) or path.name.startswith("."):
            continue
        try:
            if path.is_symlink():
                message = f"{path} is a link, which IAC does not read; put the file itself there."
                raise SetupError(message)
            check_own(path)
            content, _ = read_bounded(path, LARGEST, follow=False)
            text = content.decode("utf-8")
            parse = _parse_table if path.suffix == ".toml" else _parse_plain_file
            scripts += parse(path, text)
        except SetupError as error:
            faults.append(str(error))
        except (OSError, IrregularFileError, TooLargeError, UnicodeDecodeError):
            faults.append(f"{path} cannot be read as text of at most {LARGEST} bytes.")
    return tuple(scripts), tuple(faults)


@lru_cache
def _read_shipped(stem: str) -> tuple[SavedScript, ...]:
    path = SHIPPED / f"{stem}.toml"
    rows = _parse_table(path, path.read_text("utf-8"))
    return tuple(row._replace(source="library") for row in rows)


def _parse_table(path: Path, text: str) -> Iterator[SavedScript]:
    """Yield the scripts of a file.

    Raises:
        SetupError: It is not TOML, or a script lacks something; one line.
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SetupError(f"{path} is not TOML: {error}.") from error
    app = table.pop("app", "")
    for name, row in table.items():
        if not isinstance(row, dict) or not isinstance(app, str):
            raise SetupError(f"{path}: {name} must be a table that describes a script.")
        row["with"] = [app, *row.get("with", [])]
        yield _parse_script(path, f"{path.stem}.{name}", row)


def _parse_plain_file(path: Path, text: str) -> Iterator[SavedScript]:
    """Yield the script of a plain file, if its first lines say what it is for."""
    head: dict[str, Any] = {}
    params: dict[str, list[str]] = {}
    for line in text.splitlines():
        head_line = _HEAD.match(line)
        if head_line is None:
            break
        key, value = head_line[1].casefold(), head_line[2].strip()
        if key == "param":
            name, _, told = value.partition(" ")
            kind, _, doc = told.partition(" ")
            params[name] = [kind, doc]
        else:
            head[key] = value
    if "purpose" in head:
        apps = [one.strip() for one in head.get("app", "").split(",") if one.strip()]
        row = {"purpose": head["purpose"], "tags": head.get("tags", ""), "with": apps}
        row |= {"language": LANGUAGES_BY_SUFFIX[path.suffix], "script": text, "params": params}
        yield _parse_script(path, path.stem, row)


def _parse_script(path: Path, name: str, row: Mapping[str, Any]) -> SavedScript:
    """Return a script.

    Raises:
        SetupError: Something is missing or of the wrong type; one line.
    """
    language, script, params = row.get("language", "applescript"), row.get("script"), {}
    texts = all(isinstance(row.get(key, ""), str) for key in ("purpose", "tags", "script"))
    if not texts or not row.get("purpose") or not script or len(script) > MAX_SCRIPT:
        raise SetupError(f"{path}: {name} needs a purpose and a script, both as text.")
    if language not in ("applescript", "javascript") or not row.keys() <= _KEYS:
        message = f"{path}: {name} has an unknown language, or a key that IAC does not know."
        raise SetupError(message)
    if not all(isinstance(one, str) for one in row["with"]):
        raise SetupError(f"{path}: {name}: the names of apps must be text.")
    try:
        params = {key: ScriptParameter(*told) for key, told in row.get("params", {}).items()}
    except (TypeError, AttributeError):
        message = f"{path}: {name}: write a parameter as [type, description, default]."
        raise SetupError(message) from None
    if any(one.type not in TYPES or not isinstance(one.doc, str) for one in params.values()):
        raise SetupError(f"{path}: {name}: a parameter's type must be one of {', '.join(TYPES)}.")
    purpose, tags = clean_text(row["purpose"], 200), clean_text(row.get("tags", ""), 400)
    apps = tuple(dict.fromkeys(filter(None, row["with"])))
    return SavedScript(name, language, script, params, purpose, apps, tags, str(path))


_SURELY: Final = 0.8
"""From this score on a script is offered beside tools."""


class FoundScript(NamedTuple):
    """A script that was found; `score` is about 0 to 1.2; `why` is one line."""

    script: SavedScript
    score: float
    why: str


class _Shelf(NamedTuple):
    """The shipped scripts as they are found, what each word tells, and which scripts have it."""

    scripts: Sequence[SavedScript]
    offers: Sequence[IndexedOffer]
    worth: Mapping[str, float]
    holders: Mapping[str, Sequence[int]]
    apps: frozenset[str]


def offer_scripts(query: str, app: str, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return the script that surely does what is wanted as `find_tools` shows it, and its call."""
    known = catalogue.named_app(app) if app else None
    hits = find_scripts(query, known.name if known else app, 1)
    sure = [row for row in hits if row.score >= _SURELY]
    if not sure:
        return []
    # Judging scripts loads much, and most requests find none.
    from iac_applescript.analysis.analyser import shared_analyzer

    analyser = shared_analyzer(catalogue)
    return [saved_script_call(row, analyser) for row in sure]


def saved_script_call(match: FoundScript, analyser: "ScriptAnalyzer") -> dict[str, Any]:
    """Return a script as an answer: what it is for, what it needs, and the call that runs it."""
    row = match.script
    call = {"saved": row.name, **({"arguments": row.example_arguments()} if row.parameters else {})}
    analysed = analyser.analyze_script(row.script, row.language)
    acts = any(effect.verb != "read" for effect in analysed.effects)
    return {
        "saved": row.name,
        "purpose": row.purpose,
        "apps": list(row.apps),
        "level": analysed.level,
        "call_with": call_tool_for(analysed.level, acts=acts),
        "call": {"name": "execute_applescript", "arguments": call},
    }


def find_scripts(
    intent: str, app: str = "", limit: int = 3, folder: Path | None = None
) -> list[FoundScript]:
    """Return the kept scripts that serve an intent, best first; none where nothing does.

    Args:
        intent: What is wanted, in somebody's own words.
        app: Only scripts of the app of this name.
        limit: How many at most.
        folder: The user's own scripts.
    """
    shelf, own = _shipped_shelf(), own_scripts(folder)[0]
    wish = read_shelf_wish(intent, frozenset(one for row in own for one in row.apps))
    if app:
        wish = wish._replace(share=1.0)
    sharing = {at for row, *_ in wish.terms for word in row for at in shelf.holders.get(word, ())}
    taken = {row.name for row in own}
    offers = [(shelf.scripts[at], shelf.offers[at]) for at in sharing]
    offers += [(row, _index_script(row)) for row in own]
    matches = []
    for script, offer in offers:
        elsewhere = app and fold_name(app) not in map(fold_name, script.apps)
        if elsewhere or (script.name in taken and script.source == "library"):
            continue
        score, asked = wish.score_offer(offer)
        if score >= FLOOR:
            why = f"shares {', '.join(sorted(asked)[:5])}"
            matches.append(FoundScript(script, round(score, 3), why))
    return sorted(matches, key=lambda row: (-row.score, row.script.name))[:limit]


@lru_cache(maxsize=8)
def read_shelf_wish(intent: str, own_apps: frozenset[str] = frozenset()) -> Wish:
    """Return what is wanted, weighed by what the words tell among the shipped scripts."""
    shelf = _shipped_shelf()
    return read_wish(intent, shelf.worth, own_apps | shelf.apps)


@lru_cache(maxsize=1)
def _shipped_shelf() -> _Shelf:
    scripts = shipped_scripts()
    offers = tuple(map(_index_script, scripts))
    holders: dict[str, list[int]] = {}
    for at, row in enumerate(offers):
        for word in row.stems:
            holders.setdefault(word, []).append(at)
    worth = {word: log(1 + len(offers) / len(places)) for word, places in holders.items()}
    apps = frozenset(one for row in scripts for one in row.apps)
    return _Shelf(scripts, offers, worth, holders, apps)


def _index_script(row: SavedScript) -> IndexedOffer:
    return index_offer(row.name.partition(".")[2] or row.name, row.purpose, row.tags, row.apps)
