"""Facts: what one row of App Intents metadata says, whatever it holds instead.

Each of these takes anything that JSON can be; what is not as it should be is as good as absent.
"""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from iac_gen.limits import MAX_BYTES, LimitError, read_file
from iac_gen.load import LoadError
from iac_gen.model import Diagnostic
from iac_gen.naming import is_bundle_id
from iac_gen.text import on_one_line

JsonObject: TypeAlias = Mapping[str, Any]

KINDS: Final[JsonObject] = tomllib.loads(
    (files("iac_gen.intents") / "kinds.toml").read_text("utf-8")
)
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
SAID: Final = 500
"""Characters that are kept of one text of the app."""
_SMALL: Final = 64 * 1024
_FOREGROUND: Final = 2 | 8
_OPENING: Final = frozenset(KINDS["opens"])

SYSTEM: Final = ("/System/", "/Library/Apple/")
"""What nobody but macOS can write to."""


def action_owner(named: str, owner: str, file: str) -> str:
    """Return whose an action is that names an app, empty for none, in a file of `owner`.

    A file of macOS may name any app, another one only what its own vendor makes: else whoever
    writes a file would give Notes an action.
    """
    if not is_bundle_id(named):
        return owner
    vendor = owner.split(".")[:2]
    own = len(vendor) == 2 and vendor != ["com", "apple"] and named.split(".")[:2] == vendor
    return named if own or file.startswith(SYSTEM) else owner


def attributed_apps(content: bytes) -> set[str]:
    """Return the bundle ids to which the actions of a file are attributed; none for no such file.

    An empty id stands for the app that the file lies in.
    """
    try:
        data = read_json(content, "")
    except LoadError:
        return set()
    actions = as_object(data.get("actions")).values()
    return {text_at(as_object(row), "attributionBundleIdentifier") for row in actions}


def read_json(content: bytes, file: str) -> JsonObject:
    """Return the metadata in `content`. Raises LoadError: it holds none."""

    def fail(code: str, message: str) -> NoReturn:
        raise LoadError(Diagnostic(file, 0, code, message, "error"))

    if len(content) > MAX_BYTES:
        fail("size", f"has {len(content)} bytes; the limit is {MAX_BYTES}")
    try:
        data = json.loads(content.decode("utf-8"))
    except RecursionError:
        fail("json", "is nested too deeply")
    except UnicodeDecodeError as error:
        fail("read", f"cannot be read: {error.reason}")
    except ValueError as error:
        fail("json", f"is not JSON: {on_one_line(str(error), 80)}")
    if not isinstance(data, dict) or not isinstance(data.get("actions"), dict):
        fail("format", "contains no App Intents metadata, because it has no actions")
    return data


def read_small_object(path: Path) -> JsonObject:
    """Return the object in a small JSON file beside the metadata; an empty one for none."""
    try:
        return as_object(json.loads(read_file(path, _SMALL)))
    except (LimitError, ValueError, RecursionError):
        return {}


def as_object(value: Any) -> JsonObject:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_objects(value: Any) -> list[JsonObject]:
    """Return the objects of a list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def text_at(row: JsonObject, key: str) -> str:
    """Return the text under a key; empty for none."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def as_texts(value: Any) -> list[str]:
    """Return the texts of a list."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def as_mapping(value: Any) -> dict[str, Any]:
    """Return a flat list of keys and values as a mapping."""
    flat = value if isinstance(value, list) else []
    both = zip(flat[::2], flat[1::2], strict=False)
    return {key: item for key, item in both if isinstance(key, str)}


def constant_value(value: Any) -> Any:
    """Return the constant in `{"int": {"wrapper": 1}}`; None for none."""
    held = as_object(next(iter(as_object(value).values()), None)).get("wrapper")
    if isinstance(held, int | float) and not (abs(held) < 2**53 and math.isfinite(held)):
        return None
    return held if isinstance(held, bool | int | float | str) else None


def plain_identifier(name: str) -> str:
    """Return a name that is a plain identifier; empty for any other."""
    return name if IDENTIFIER.fullmatch(name) else ""


def number_value(value: Any) -> float | None:
    """Return a constant that is a number."""
    found = constant_value(value)
    return float(found) if type(found) in (int, float) else None


def summary_sentences(row: JsonObject) -> Iterator[str]:
    """Yield the sentences in the tree of a parameter summary, each once."""
    todo: list[Any] = [row.get("actionConfiguration")]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            if said := text_at(one, "formatString"):
                yield said[:SAID]
            todo += one.values()
        elif isinstance(one, list):
            todo += one


def schema_names(row: JsonObject) -> Iterator[str]:
    """Yield `domain.name` of the schemas of an assistant that an action is of."""
    for one in as_objects(row.get("assistantDefinedSchemas")):
        name = f"{text_at(one, 'domain')}.{text_at(one, 'name')}"
        if IDENTIFIER.fullmatch(name):
            yield name


def required_capabilities(row: JsonObject) -> Iterator[str]:
    """Yield what a Mac must have switched on for an action to exist."""
    for one in as_objects(row.get("requiredCapabilities")):
        yield on_one_line(f"{text_at(one, 'domain')} {text_at(one, 'key')}", 120)


def opens_app(row: JsonObject, protocols: Sequence[str]) -> bool:
    """Say whether an action brings its app to the front."""
    modes = row.get("supportedModes")
    front = type(modes) is int and 0 <= modes < 2**32 and bool(modes & _FOREGROUND)
    placed = not _OPENING.isdisjoint(protocols)
    return front or placed or row.get("openAppWhenRun") is True


def left_out_reason(row: JsonObject, protocols: Sequence[str]) -> str:
    """Return why no tool is made of an action; empty where one is."""
    for protocol in protocols:
        if protocol in KINDS["no_tool"]:
            return str(KINDS["no_tool"][protocol])
    platforms = as_object(row.get("availabilityAnnotations")).keys()
    if platforms and not platforms & {"LNPlatformNameWildcard", "LNPlatformNameMACOS"}:
        return "it is not for macOS"
    shown = as_object(row.get("visibilityMetadata"))
    if shown.get("assistantOnly") is True:
        return "only Siri and Apple's assistant may use it"
    if row.get("isDiscoverable") is False or shown.get("isDiscoverable") is False:
        return "the app does not offer it to users"
    return ""
