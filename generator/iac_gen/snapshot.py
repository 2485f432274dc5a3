"""Snapshots: a dictionary's facts as JSON, so that a build needs no Mac.

A snapshot holds terms, codes, types, access and structure; with `facts` no prose. It is
read back into the same `Dictionary` that `load` makes, without line numbers.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from iac_gen import model
from iac_gen.diagnostics import Diagnostic
from iac_gen.load import LoadError
from iac_gen.model import Dictionary, Source

__all__ = ["FORMAT", "facts_only", "read_snapshot", "write_snapshot"]

FORMAT = 1

T = TypeVar("T")
_TAGGED = {
    cls.__name__: cls
    for cls in (
        model.Class,
        model.Command,
        model.Enumeration,
        model.Include,
        model.RecordType,
        model.Suite,
        model.ValueType,
    )
}
_KINDS = {cls: name for name, cls in _TAGGED.items()}
_LEFT_OUT = frozenset({"line", "file"})


def facts_only(dictionary: Dictionary) -> Dictionary:
    """Return the dictionary without title and descriptions."""
    stripped: Dictionary = _strip(dictionary)
    return replace(stripped, title="")


def _strip(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_strip(item) for item in value)
    if not hasattr(value, "__dataclass_fields__"):
        return value
    changed = {f.name: _strip(getattr(value, f.name)) for f in fields(value)}
    if "description" in changed:
        changed["description"] = ""
    return replace(value, **changed)


def write_snapshot(source: Source) -> str:
    """Return the snapshot of `source` as JSON text, one suite item a line."""
    head = {
        "format": FORMAT,
        "name": source.name,
        "id": source.id,
        "stem": source.stem,
        "version": source.version,
        "kind": source.kind,
        "digest": source.dictionary.digest,
        "title": source.dictionary.title,
    }
    lines = [json.dumps(head, ensure_ascii=False)[:-1] + ', "suites": [']
    suites = []
    for suite in source.dictionary.suites:
        data = _dump(suite)
        items = data.pop("items", [])
        text = json.dumps(data, ensure_ascii=False)
        if items:
            rows = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
            text = f'{text[:-1]}, "items": [\n{rows}\n]}}'
        suites.append(text)
    lines.append(",\n".join(suites))
    return "\n".join(lines) + "\n]}\n"


def _dump(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_dump(item) for item in value]
    if not hasattr(value, "__dataclass_fields__"):
        return value
    data: dict[str, Any] = {}
    kind = _KINDS.get(type(value))
    if kind:
        data["is"] = kind
    for f in fields(value):
        item = getattr(value, f.name)
        if f.name in _LEFT_OUT or (f.default is not MISSING and item == f.default):
            continue
        data[f.name] = _dump(item)
    return data


def read_snapshot(path: Path) -> Source:
    """Read the snapshot at `path`.

    Raises:
        LoadError: It cannot be read, is no JSON, or is no snapshot of this format.
    """

    def fail(line: int, code: str, message: str) -> LoadError:
        return LoadError(Diagnostic(str(path), line, code, message, "error"))

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise fail(0, "missing", "is no file; check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise fail(0, "read", f"cannot be read: {error}") from None
    except RecursionError:
        raise fail(0, "json", "is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise fail(error.lineno, "json", f"is no JSON: {error.msg}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise fail(
            0, "format", f"is no snapshot of format {FORMAT}; make one with iac-gen snapshot"
        )
    try:
        suites = _value(_hints(Dictionary)["suites"], data["suites"])
        kind: Literal["application", "addition"] = (
            "addition" if data["kind"] == "addition" else "application"
        )
        dictionary = Dictionary(str(path), str(data["digest"]), str(data["title"]), suites)
        return Source(
            dictionary,
            str(data["name"]),
            str(data["id"]),
            str(data["stem"]),
            str(data["version"]),
            kind,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise fail(0, "format", f"is no whole snapshot: {error!r}") from None
    except RecursionError:
        raise fail(0, "json", "is nested too deeply") from None


def _tagged(data: Mapping[str, Any], options: Collection[type]) -> Any:
    kind = _TAGGED[data["is"]]
    if kind not in options:
        raise TypeError(f"a {kind.__name__} stands in a wrong place")
    return _build(kind, data)


def _build(cls: type[T], data: Mapping[str, Any]) -> T:
    hints = _hints(cls)
    unknown = data.keys() - hints.keys() - {"is"}
    if unknown:
        raise ValueError(f"{cls.__name__} has no {', '.join(sorted(unknown))}")
    return cls(**{name: _value(hints[name], data[name]) for name in hints if name in data})


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def _value(hint: Any, value: Any) -> Any:
    """Return JSON `value` as the type `hint`: str, bool, tuples of these, optional, dataclasses."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in get_args(hint):
            return None
        options = [option for option in get_args(hint) if option is not NoneType]
        if len(options) > 1:
            if not isinstance(value, Mapping):
                raise TypeError(f"{value!r} is no object")
            return _tagged(value, options)
        return _value(options[0], value)
    if origin is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is no list")
        return tuple(_value(get_args(hint)[0], item) for item in value)
    if origin is Literal:
        if value not in get_args(hint):
            raise ValueError(f"{value!r} is none of {get_args(hint)}")
        return value
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return _build(hint, value)
    if not isinstance(value, hint):
        raise TypeError(f"{value!r} is no {hint.__name__}")
    return value
