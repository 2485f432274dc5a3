"""Checking arguments against a tool's schema; a fault is told in one line.

Before the check, spellings that mean one thing are made one: keys in either spelling of a term and
without the underscore of a Python keyword, enumerators in any case, null for what is left out.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import date
from enum import Enum
from os import PathLike, fspath
from typing import Any, Final, TypeAlias

from iac_base.errors import InvalidParameterError, quote_text
from iac_base.words import fold_name

_Schema: TypeAlias = Mapping[str, Any]


_EVERY: Final = frozenset({"string", "number", "boolean", "array", "object"})


MAX_TEXT: Final = 1_000_000


MAX_ITEMS: Final = 10_000


MAX_DEPTH: Final = 32


MAX_EXACT: Final = 2**53
"""What arguments may hold: characters of a text, items of a list, levels, and the largest whole
number that JavaScript counts to without a gap."""


CALL_IT: Final = "If you want its value, call it to read it, such as note.name()."
"""What to do about what names a value, given where the value itself is wanted."""


_MODIFIERS: Final = ("considering", "ignoring")
"""What AppleScript says of how texts are compared; each app may heed it or not."""


_RENAMED: Final = {"element_path": "element"}
"""What arguments are called elsewhere, for instance in answers."""


LONGEST_NAME: Final = 1_000
"""Characters of a text that can be a name in another spelling."""


def check_arguments(arguments: Mapping[str, Any], schema: _Schema) -> dict[str, Any]:
    """Return the arguments in the schema's own spelling.

    Raises:
        InvalidParameterError: They do not fit; the message names the argument and the nearest word.
    """
    if not isinstance(arguments, Mapping):
        raise InvalidParameterError("Give the arguments as one object.")
    check_bounds(arguments)
    rows: Mapping[str, _Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        key = name if name in rows else _find_spelling(_RENAMED.get(name, str(name)), rows)
        if key is None and str(name).lower() in _MODIFIERS:
            raise InvalidParameterError(
                f"IAC cannot send {quote_text(str(name))}. No dictionary says whether the app"
                " supports it, and some apps ignore it.",
                f"Leave out {quote_text(str(name))}, and compare the texts in the answer. Or use a"
                " script.",
            )
        if key is None:
            message = f"There is no argument {quote_text(str(name))}."
            raise InvalidParameterError(message, said=str(name), known=[*rows])
        if value is None and key not in required:
            continue
        if key in found:
            raise InvalidParameterError(f'"{key}" is given twice.')
        found[key] = _normalize_spelling(value, rows[key])
    missing = [key for key in required if key not in found]
    if missing:
        named = ", ".join(missing)
        says = f"Missing required argument{'s' if missing[1:] else ''}: {named}."
        raise InvalidParameterError(says, _allowed_values(rows[missing[0]]))
    _validate_arguments(found, schema)
    return found


def _allowed_values(schema: _Schema) -> str:
    """Return what an argument can be, or is for; empty where its schema does not say."""
    words = [str(word) for part in _schema_alternatives(schema) for word in part.get("enum", ())]
    return f"One of: {', '.join(words)}." if words else str(schema.get("description", ""))


def to_json_types(value: Any, where: str = "arguments", depth: int = 0) -> Any:
    """Return a value of Python in the types of JSON.

    A date becomes ISO 8601 (a naive one is local time), a path its text, an enumeration's member
    its value, a tuple or a set a list, bytes the text that they are in UTF-8.

    Raises:
        InvalidParameterError: There is no way to send it to an app.
    """
    if depth > MAX_DEPTH:
        raise InvalidParameterError(f"{where[:80]} is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, Enum):
        return to_json_types(value.value, where, depth + 1)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PathLike):
        return to_json_types(fspath(value), where, depth + 1)
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise InvalidParameterError(
                f"{where}: these bytes are not text, and JavaScript for Automation accepts only"
                " text.",
                "Write them to a file and give its path.",
            ) from None
    if isinstance(value, Mapping):
        return {
            str(to_json_types(key, where, depth + 1)): to_json_types(
                part, f"{where}.{key}"[:200], depth + 1
            )
            for key, part in value.items()
        }
    if isinstance(value, list | tuple | Set):
        return [
            to_json_types(part, f"{where}[{n}]"[:200], depth + 1) for n, part in enumerate(value)
        ]
    raise InvalidParameterError(
        f"{where}: a {type(value).__name__} cannot be sent to an app.",
        CALL_IT if callable(value) else "",
    )


def check_bounds(arguments: Mapping[str, Any]) -> None:
    """Refuse what no app takes and what would only cost time: before anything is built of it."""
    waiting: list[tuple[str, Any, int]] = [("", arguments, 0)]
    while waiting:
        where, value, depth = waiting.pop()
        if isinstance(value, str):
            _check_text(value, where)
        elif isinstance(value, bool) or value is None:
            continue
        elif isinstance(value, int | float):
            _check_number(value, where)
        elif isinstance(value, Mapping | list | tuple):
            if depth > MAX_DEPTH:
                raise InvalidParameterError(
                    f"{where[:80]} is nested deeper than {MAX_DEPTH} levels."
                )
            if len(value) > MAX_ITEMS:
                raise InvalidParameterError(
                    f"{where or 'arguments'} has {len(value)} items; at most {MAX_ITEMS} are"
                    " allowed.",
                    "Make several calls.",
                )
            if isinstance(value, Mapping):
                for key, part in value.items():
                    _check_text(str(key), where or "arguments")
                    inner = f"{where}.{key}" if where else str(key)
                    waiting.append((inner[:200], part, depth + 1))
            else:
                waiting += [
                    (f"{where}[{n}]"[:200], part, depth + 1) for n, part in enumerate(value)
                ]


def _check_text(text: str, where: str) -> None:
    if len(text) > MAX_TEXT:
        raise InvalidParameterError(
            f"{_printable_place(where)}: the text has {len(text)} characters; at most {MAX_TEXT}"
            " are allowed.",
            "Make several calls.",
        )
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidParameterError(
            f"{_printable_place(where)}: the text contains half a character (a lone surrogate).",
            "Send it as UTF-8.",
        )


def _check_number(value: float, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidParameterError(f"{_printable_place(where)} is not a finite number.")
    if abs(value) > MAX_EXACT and not isinstance(value, float):
        raise InvalidParameterError(
            f"{_printable_place(where)}: the number is too large for JavaScript (2^53).",
            "Give it as text, if the app accepts text.",
        )


def _printable_place(where: str) -> str:
    return "".join(char if char.isprintable() else " " for char in where)[:80]


def _find_spelling(text: str, words: Iterable[str]) -> str | None:
    """Return the word that `text` is in another spelling."""
    # `fold` keeps what it has seen.
    wanted = fold_name(text) if len(text) <= LONGEST_NAME else ""
    return next((word for word in words if wanted and fold_name(word) == wanted), None)


def _schema_alternatives(schema: _Schema) -> list[_Schema]:
    return [schema, *schema.get("anyOf", ())]


def _normalize_spelling(value: Any, schema: _Schema) -> Any:
    """Return `value` with enumerators and the fields of records as the schema spells them."""
    if isinstance(value, str):
        words = [word for part in _schema_alternatives(schema) for word in part.get("enum", ())]
        if not words or value in words:
            return value
        return _find_spelling(value, words) or value
    if isinstance(value, list):
        parts = [part["items"] for part in _schema_alternatives(schema) if "items" in part]
        items: _Schema = parts[0] if parts else {}
        return [_normalize_spelling(part, items) for part in value]
    if isinstance(value, Mapping):
        rows = {
            k: row
            for part in _schema_alternatives(schema)
            for k, row in part.get("properties", {}).items()
        }
        keys = {
            key: key if key in rows else _find_spelling(_RENAMED.get(key, str(key)), rows) or key
            for key in value
        }
        if len({*keys.values()}) == len(keys):
            return {
                keys[key]: _normalize_spelling(part, rows.get(keys[key], {}))
                for key, part in value.items()
            }
    return value


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "number": (int, float),
    "integer": (int,),
    "null": (type(None),),
}


_SAID: Final = frozenset({"description", "title", "default", "examples", "format"})
"""Keywords that refuse nothing."""


def accepts_value(value: Any, schema: _Schema) -> bool:
    """Say whether a value fits beyond doubt, so that nothing heavy need be loaded to judge it.

    What is refused here may fit all the same: jsonschema decides, and says why not.
    """
    return (not isinstance(value, bool) or "boolean" in schema.get("type", "boolean")) and all(
        _accepts_keyword(value, key, wanted, schema)
        for key, wanted in schema.items()
        if key not in _SAID
    )


_LIMITS: Final[Mapping[str, tuple[tuple[type, ...], Callable[[Any, Any], bool]]]] = {
    "minimum": ((int, float), lambda value, least: value >= least),
    "maximum": ((int, float), lambda value, most: value <= most),
    "exclusiveMinimum": ((int, float), lambda value, less: value > less),
    "minLength": ((str,), lambda value, least: len(value) >= least),
    "maxLength": ((str,), lambda value, most: len(value) <= most),
    "minItems": ((list,), lambda value, least: len(value) >= least),
    "maxItems": ((list,), lambda value, most: len(value) <= most),
    "minProperties": ((dict,), lambda value, least: len(value) >= least),
    "required": ((dict,), lambda value, keys: value.keys() >= {*keys}),
    "items": ((list,), lambda value, schema: all(accepts_value(part, schema) for part in value)),
}


def _accepts_keyword(value: Any, key: str, wanted: Any, schema: _Schema) -> bool:
    if key in _LIMITS:
        kinds, holds = _LIMITS[key]
        return not isinstance(value, kinds) or holds(value, wanted)
    if key == "type":
        names = (wanted,) if isinstance(wanted, str) else wanted
        return isinstance(value, tuple(kind for one in names for kind in _TYPES.get(one, ())))
    if key == "enum":
        return isinstance(value, str) and value in wanted
    if key == "anyOf":
        return any(accepts_value(value, part) for part in wanted)
    if not isinstance(value, dict):
        return key in ("properties", "additionalProperties")
    rows = schema.get("properties", {})
    if key == "properties":
        return all(accepts_value(value[name], row) for name, row in rows.items() if name in value)
    extra = [part for name, part in value.items() if name not in rows]
    if key == "additionalProperties" and isinstance(wanted, bool):
        return wanted or not extra
    return key == "additionalProperties" and all(accepts_value(part, wanted) for part in extra)


def _validate_arguments(arguments: Mapping[str, Any], schema: _Schema) -> None:
    if accepts_value(arguments, schema):
        return
    # Heavy, and needed for what is wrong only.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    problem = best_match(
        Draft202012Validator(_restricting_schema(schema)).iter_errors(dict(arguments))
    )
    if problem is None:
        return
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem.path)
    where = where.lstrip(".") or "arguments"
    value, wanted = problem.instance, problem.validator_value
    key = str(problem.path[0]) if problem.path else ""
    shown = quote_text(value if isinstance(value, str) else repr(value))
    if problem.validator == "enum":
        raise InvalidParameterError(
            f"{where}: {shown} is not allowed.", said=str(value), known=wanted, key=key
        )
    if problem.validator == "type":
        raise InvalidParameterError(f"{where} must be {_type_name(wanted)}, not {shown}.", key=key)
    if problem.validator == "anyOf":
        names = [_type_name(part.get("type")) for part in wanted if part.get("type")]
        raise InvalidParameterError(
            f"{where} must be {' or '.join(dict.fromkeys(names))}, not {shown}.", key=key
        )
    if problem.validator == "additionalProperties" and isinstance(value, Mapping):
        known = list(problem.schema.get("properties", ()))
        extra = next((key for key in value if key not in known), "")
        raise InvalidParameterError(
            f"{where} has no {quote_text(str(extra))}.", said=str(extra), known=known
        )
    if problem.validator == "required" and isinstance(value, Mapping):
        lacking = ", ".join(f'"{key}"' for key in wanted if key not in value)
        raise InvalidParameterError(f"{where} lacks {lacking}.")
    give: dict[str, Any] = {}
    if isinstance(value, int | float) and len(problem.path) == 1:
        # What is below zero by a slip of the sign, else what is nearest.
        if problem.validator == "minimum":
            give = {key: max(abs(value), wanted)}
        elif problem.validator == "maximum":
            give = {key: wanted}
    bound = _BOUNDS.get(problem.validator, "must fit {validator} {wanted}")
    said = bound.format(validator=problem.validator, wanted=wanted)
    shown = str(value) if isinstance(value, int | float) else shown
    raise InvalidParameterError(f"{where} {said}, not {shown}.", give=give, key=key)


_BOUNDS: Final = {
    "minimum": "must be {wanted} or more",
    "maximum": "must be {wanted} or less",
    "exclusiveMinimum": "must be more than {wanted}",
    "minLength": "must have at least {wanted} characters",
    "maxLength": "must have at most {wanted} characters",
    "minItems": "must have at least {wanted} items",
    "maxItems": "must have at most {wanted} items",
}
"""What is said of a value that is out of bounds, by the word of the schema."""


def _restricting_schema(schema: _Schema) -> dict[str, Any]:
    """Return what of a schema can refuse a value: a union of every type only shows the usual."""
    restricting_schema = dict(schema)
    if {str(part.get("type")) for part in schema.get("anyOf", ())} >= _EVERY:
        del restricting_schema["anyOf"]
    if "anyOf" in restricting_schema:
        restricting_schema["anyOf"] = [
            _restricting_schema(part) for part in restricting_schema["anyOf"]
        ]
    if "items" in restricting_schema:
        restricting_schema["items"] = _restricting_schema(restricting_schema["items"])
    if "properties" in restricting_schema:
        restricting_schema["properties"] = {
            key: _restricting_schema(row) for key, row in restricting_schema["properties"].items()
        }
    return restricting_schema


def _type_name(kind: Any) -> str:
    names = {
        "string": "a text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "array": "a list",
        "object": "an object",
        "null": "null",
    }
    return names.get(str(kind), str(kind))
