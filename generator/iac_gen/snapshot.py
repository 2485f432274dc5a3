"""Snapshots: a dictionary's facts as JSON, so that a build needs no Mac.

A snapshot holds terms, codes, types, access and structure; with `facts` no prose. It is
read back into the same `Dictionary` that `load_dictionary` makes, without line numbers, and as
distrustfully: it may come from anyone.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from iac_gen import model
from iac_gen.classify import facts_with_stated_level
from iac_gen.limits import MAX_BYTES, LimitError, read_file
from iac_gen.naming import app_key, is_bundle_id
from iac_gen.resolve import hook_reason
from iac_gen.text import clean_text, on_one_line, sanitize_dictionary
from iac_gen.types import default_value, stated_default
from iac_gen.xml import LoadedDictionary, load_error

FORMAT = 1
# Texts of an app, in the order in which `Source` has them behind the title.
_HEAD = ("title", "name", "id", "stem", "version")
# `local.<key>` is our own word for an app whose bundle id nobody knows.
_LOCAL_ID = re.compile(r"local\.[a-z0-9_]{1,64}")
# What names a case, a parameter or an action: visible characters, blanks inside.
_CASE = re.compile(r"[!-~](?:[ -~]{0,126}[!-~])?")
_DIGEST = re.compile(r"[0-9a-f]{1,64}")
# A file's name: no separator of any system, nothing that a shell or a terminal would read.
_STEM = re.compile(r"(?![ .])[^/\\:*?\"<>|\x00-\x1f\x7f]{1,128}")

T = TypeVar("T")
_ITEMS = frozenset(get_args(model.Item)) | {model.Suite}
_LEFT_OUT = frozenset({"line", "file"})
# What has a code and stands in a list; an include and an element have none.
_CODED = frozenset(model.KINDS) - {model.Include, model.SdefElement}


def _item_tag(kind: type) -> str:
    """Return what a snapshot calls an item: `Command`."""
    return kind.__name__.removeprefix("Sdef")


_TAGGED = {_item_tag(kind): kind for kind in _ITEMS}


def _mark_item(item: model.Item, enumerators: Collection[str]) -> model.Item:
    if not isinstance(item, model.SdefCommand):
        return item
    if item.intent is not None:
        return replace(item, intent=facts_with_stated_level(item))
    rows = []
    for row in item.parameters:
        stated = default_value(stated_default(row.description), enumerators)
        rows.append(replace(row, default=stated))
    event = item.event or bool(item.description and hook_reason(item))
    return replace(item, event=event, parameters=tuple(rows))


def facts_only(dictionary: model.Dictionary) -> model.Dictionary:
    """Return the dictionary without title and descriptions.

    What they say is a hook stays one, and what they state as a default stays as such.
    """
    declared = [row for row in dictionary.declared_items() if isinstance(row, model.Enumeration)]
    enumerators = [value.name for row in declared for value in row.enumerators]
    suites = list(dictionary.suites)
    for at, suite in enumerate(suites):
        if isinstance(suite, model.Suite):
            items = tuple(_mark_item(item, enumerators) for item in suite.items)
            suites[at] = replace(suite, items=items)
    marked = replace(dictionary, suites=tuple(suites))
    stripped: model.Dictionary = model.with_field(marked, "description", "")
    return replace(stripped, title="")


def write_snapshot(source: model.Source) -> str:
    """Return the snapshot of `source` as JSON text, one suite item a line."""
    head = {
        "format": FORMAT,
        **{key: getattr(source, key) for key in (*_HEAD[1:], "kind")},
        "digest": source.dictionary.digest,
        "title": source.dictionary.title,
    }
    lines = [json.dumps(head, ensure_ascii=False)[:-1] + ', "suites": [']
    suites = []
    for suite in source.dictionary.suites:
        data = _to_json(suite)
        items = data.pop("items", [])
        text = json.dumps(data, ensure_ascii=False)
        if items:
            rows = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
            text = f'{text[:-1]}, "items": [\n{rows}\n]}}'
        suites.append(text)
    lines.append(",\n".join(suites))
    return "\n".join(lines) + "\n]}\n"


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if not is_dataclass(value):
        return value
    data: dict[str, Any] = {"is": _item_tag(type(value))} if type(value) in _ITEMS else {}
    for f in fields(value):
        item = getattr(value, f.name)
        if f.name in _LEFT_OUT or (f.default is not MISSING and item == f.default):
            continue
        data[f.name] = _to_json(item)
    return data


def read_snapshot(path: Path) -> model.Source:
    """Read the snapshot at `path`; what was left out of it is told by `load_snapshot`.

    Raises:
        LoadError: It cannot be read, is no JSON, or is no snapshot of this format.
    """
    return load_snapshot(path).source


def load_snapshot(path: Path, *, as_written: bool = False) -> LoadedDictionary:
    """Read the snapshot at `path`, and say what was left out of it.

    A malformed item costs that item; a bundle id that is none makes the app a local one; a stem
    that is no file's name is replaced by that of the snapshot. With `as_written` (for lint) all
    items stay.

    Raises:
        LoadError: It cannot be read, is no JSON, or is no snapshot of this format.
    """

    at = str(path)
    try:
        data = json.loads(read_file(path, MAX_BYTES).decode("utf-8"))
    except LimitError as error:
        raise load_error(at, 0, error.code, str(error)) from None
    except UnicodeDecodeError as error:
        raise load_error(at, 0, "read", f"cannot be read: {error}") from None
    except RecursionError:
        raise load_error(at, 0, "json", "is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise load_error(at, error.lineno, "json", f"is not JSON: {error.msg}") from None
    except ValueError:
        raise load_error(at, 0, "json", "is not JSON: a number has too many digits") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise load_error(
            at, 0, "format", f"is not a snapshot of format {FORMAT}; make one with iac-gen snapshot"
        )
    try:
        if _DIGEST.fullmatch(data["digest"]) is None:
            raise load_error(
                at, 0, "format", "is not a complete snapshot: its digest is not a SHA-256"
            )
        suites = _build_value(_hints(model.Dictionary)["suites"], data["suites"])
        title, name, identifier, stem, version = (_text_field(data, key) for key in _HEAD)
        kind: model.Kind = data["kind"] if data["kind"] in get_args(model.Kind) else "application"
        dictionary = model.Dictionary(at, data["digest"], title, suites)
        source = model.Source(dictionary, name, identifier, stem, version, kind)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = on_one_line(repr(error))
        raise load_error(at, 0, "format", f"is not a complete snapshot: {reason}") from None
    except RecursionError:
        raise load_error(at, 0, "json", "is nested too deeply") from None
    return _check_source(source, path, as_written)


def _text_field(data: Mapping[str, Any], key: str) -> str:
    value = data[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is not text")
    return value


def _check_source(source: model.Source, path: Path, as_written: bool) -> LoadedDictionary:
    """Return `source` without items that no dictionary could have, and what was wrong."""
    diagnostics: list[model.Diagnostic] = []

    def report_error(code: str, message: str) -> None:
        diagnostics.append(model.Diagnostic(str(path), 0, code, message, "error"))

    name, stem, version = (
        clean_text(" ".join(text.split())) for text in (source.name, source.stem, source.version)
    )
    if not name:
        report_error("name", "has no name of an app; the name of the file is used")
        name = path.stem
    if _STEM.fullmatch(stem) is None:
        report_error("name", f"the stem {on_one_line(ascii(stem), 80)} is not a file name")
        stem = path.stem
    source = replace(source, name=name, stem=stem, version=version)
    if not (is_bundle_id(source.id) or _LOCAL_ID.fullmatch(source.id)):
        shown = on_one_line(ascii(source.id), 80)
        text = f"{shown} is not a valid bundle id; the app gets a local one"
        diagnostics.append(model.Diagnostic(str(path), 0, "bundle-id", text))
        source = replace(source, id=f"local.{app_key(name, '')}", known=False)
    if as_written:
        return LoadedDictionary(source, tuple(diagnostics))
    coded = _drop_uncoded(source.dictionary, report_error, named=source.kind == "intents")
    dictionary, cleaned = sanitize_dictionary(coded)
    return LoadedDictionary(replace(source, dictionary=dictionary), (*diagnostics, *cleaned))


def _drop_uncoded(value: Any, report: Callable[[str, str], None], *, named: bool = False) -> Any:
    """Return `value` without the parts whose code is none (4 or 8 bytes of MacRoman).

    Where things are `named`, as intents are, a code is an identifier.
    """
    changed: dict[str, Any] = {}
    for f in fields(value):
        item = getattr(value, f.name)
        if isinstance(item, tuple):
            kept = []
            for part in item:
                if type(part) not in _CODED:
                    kept.append(part)
                elif _CASE.fullmatch(part.code) if named else _has_code(part):
                    kept.append(_drop_uncoded(part, report, named=named))
                else:
                    what = f"{_item_tag(type(part)).lower()} {on_one_line(part.name, 64)}"
                    wanted = (
                        "which is no identifier" if named else f"not {_code_size(part)} characters"
                    )
                    code = on_one_line(ascii(part.code), 40)
                    report("code", f"{what} has the code {code}, {wanted}")
            changed[f.name] = tuple(kept)
    return replace(value, **changed)


def _code_size(part: Any) -> int:
    return 8 if isinstance(part, model.SdefCommand) else 4


def _has_code(part: Any) -> bool:
    # A suite's code is used for nothing and often odd; an extension has none, a value may.
    if isinstance(part, model.Suite) or (isinstance(part, model.SdefClass) and part.extends):
        return True
    if isinstance(part, model.ValueType) and not part.code:
        return True
    return model.is_code(part.code, _code_size(part))


def _build_tagged(data: Mapping[str, Any], options: Collection[type]) -> Any:
    kind = _TAGGED[data["is"]]
    if kind not in options:
        raise TypeError(f"a {_item_tag(kind)} is in the wrong place")
    return _build_dataclass(kind, data)


def _build_dataclass(cls: type[T], data: Mapping[str, Any]) -> T:
    hints = _hints(cls)  # type: ignore[arg-type]
    unknown = data.keys() - hints.keys() - {"is"}
    if unknown:
        raise ValueError(f"{_item_tag(cls)} has no {', '.join(sorted(unknown))}")
    return cls(**{name: _build_value(hints[name], data[name]) for name in hints if name in data})


_hints = cache(get_type_hints)


def _build_value(hint: Any, value: Any) -> Any:
    """Return JSON `value` as the type `hint`: str, bool, tuples of these, optional, dataclasses."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in get_args(hint):
            return None
        options = [option for option in get_args(hint) if option is not NoneType]
        if len(options) > 1:
            if not isinstance(value, Mapping):
                raise TypeError(f"{value!r} is not an object")
            return _build_tagged(value, options)
        return _build_value(options[0], value)
    if origin is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is not a list")
        return tuple(_build_value(get_args(hint)[0], item) for item in value)
    if origin is Literal:
        if value not in get_args(hint):
            raise ValueError(f"{value!r} is not one of {get_args(hint)}")
        return value
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return _build_dataclass(hint, value)
    if not isinstance(value, hint):
        raise TypeError(f"{value!r} is not a {hint.__name__}")
    return value
