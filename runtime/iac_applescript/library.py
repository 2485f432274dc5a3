"""Scripts that are kept under a name: those that are shipped, and the user's own.

A file `scripts/APP.toml` holds the scripts of one app, a table each; its id is `APP.NAME`. The
folder `scripts` of the data folder is read the same way, and a plain .applescript or .js there
whose first lines are comments of the form `-- purpose: …` is a script too. Nothing is read before a
script is looked for. What is wrong with a file of the user's is one line, and never a failure.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_applescript.analysis.analyser import Language
from iac_applescript.analysis.findings import MAX_SCRIPT
from iac_base.errors import SetupError, ToolError
from iac_base.files import IrregularFileError, TooLargeError, data_folder, read_bounded
from iac_base.text import clean_text
from iac_runtime.toolkit import check_own

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
_LANGUAGES: Final[Mapping[str, Language]] = {
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

    def bind_arguments(self, values: Any) -> list[Any]:
        """Return the arguments of `run` for what a call gives, by name or in order.

        Raises:
            ToolError: One is unknown, missing, or of another type.
        """
        if not isinstance(values, Mapping):
            extra = len(values) > len(self.parameters)
            values = {"": None} if extra else dict(zip(self.parameters, values, strict=False))
        found = []
        for name, row in self.parameters.items():
            value = values.get(name, row.default)
            wrong = not isinstance(value, TYPES[row.type])
            wrong = wrong or (isinstance(value, bool) and row.type != "boolean")
            form = _FORMS.get(row.type)
            if wrong or (form is not None and form.match(str(value)) is None):
                raise self._argument_error()
            found.append(value)
        if not values.keys() <= self.parameters.keys():
            raise self._argument_error()
        return found

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
    there = _NAME.match(stem) and (SHIPPED / f"{stem}.toml").exists()
    rows = _read_shipped(stem) if there else ()
    return own.get(name) or next((row for row in rows if row.name == name), None)


def shipped_scripts() -> list[SavedScript]:
    """Return the scripts that are shipped."""
    return [row for path in sorted(SHIPPED.glob("*.toml")) for row in _read_shipped(path.stem)]


def own_scripts(folder: Path | None = None) -> tuple[tuple[SavedScript, ...], tuple[str, ...]]:
    """Return the user's scripts, and a line for each file that is not read; `folder` holds them."""
    base = data_folder() / "scripts" if folder is None else folder
    found: list[SavedScript] = []
    faults: list[str] = []
    try:
        paths = sorted(base.iterdir()) if base.is_dir() else []
        if paths:
            check_own(base)
    except (OSError, SetupError) as error:
        return (), (str(error),)
    for path in paths:
        if path.suffix not in (".toml", *_LANGUAGES) or path.name.startswith("."):
            continue
        try:
            if path.is_symlink():
                raise SetupError(
                    f"{path} is a link, which IAC does not read; put the file itself there."
                )
            check_own(path)
            content, _ = read_bounded(path, LARGEST, follow=False)
            text = content.decode("utf-8")
            found += (
                _parse_table(path, text)
                if path.suffix == ".toml"
                else _parse_plain_file(path, text)
            )
        except SetupError as error:
            faults.append(str(error))
        except (OSError, IrregularFileError, TooLargeError, UnicodeDecodeError):
            faults.append(f"{path} cannot be read as text of at most {LARGEST} bytes.")
    return tuple(found), tuple(faults)


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
        yield _parse_script(
            path, f"{path.stem}.{name}", {**row, "with": [app, *row.get("with", [])]}
        )


def _parse_plain_file(path: Path, text: str) -> Iterator[SavedScript]:
    """Yield the script of a plain file, if its first lines say what it is for."""
    head: dict[str, Any] = {}
    params: dict[str, list[str]] = {}
    for line in text.splitlines():
        found = _HEAD.match(line)
        if found is None:
            break
        key, value = found[1].casefold(), found[2].strip()
        if key == "param":
            name, _, told = value.partition(" ")
            kind, _, doc = told.partition(" ")
            params[name] = [kind, doc]
        else:
            head[key] = value
    if "purpose" in head:
        apps = [one.strip() for one in head.get("app", "").split(",") if one.strip()]
        row = {"purpose": head["purpose"], "tags": head.get("tags", ""), "with": apps}
        row |= {"language": _LANGUAGES[path.suffix], "script": text, "params": params}
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
        raise SetupError(
            f"{path}: {name} has an unknown language, or a key that IAC does not know."
        )
    if not all(isinstance(one, str) for one in row["with"]):
        raise SetupError(f"{path}: {name}: the names of apps must be text.")
    try:
        params = {key: ScriptParameter(*told) for key, told in row.get("params", {}).items()}
    except (TypeError, AttributeError):
        raise SetupError(
            f"{path}: {name}: write a parameter as [type, description, default]."
        ) from None
    if any(one.type not in TYPES or not isinstance(one.doc, str) for one in params.values()):
        raise SetupError(f"{path}: {name}: a parameter's type must be one of {', '.join(TYPES)}.")
    purpose, tags = clean_text(row["purpose"], 200), clean_text(row.get("tags", ""), 400)
    apps = tuple(dict.fromkeys(filter(None, row["with"])))
    return SavedScript(name, language, script, params, purpose, apps, tags, str(path))
