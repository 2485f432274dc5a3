"""What a caller gives as a value, as the element takes it."""

import math

from iac_accessibility.model import Node, Scalar, Settable
from iac_accessibility.roles import BOOLEAN_ROLES
from iac_base.errors import InvalidParameterError, quoted

__all__ = ["coerce", "same"]

_TRUE = frozenset(("true", "yes", "on", "1", "checked"))
_FALSE = frozenset(("false", "no", "off", "0", "unchecked"))


def coerce(value: str | float | bool, node: Node, takes: Settable) -> str | float | bool:
    """Return `value` as the element takes it: texts of numbers as numbers, 1 as true.

    Raises:
        InvalidParameterError: It does not fit; the message says what would.
    """
    if node.role in BOOLEAN_ROLES or takes.kind == "boolean":
        return _boolean(value, node)
    if takes.kind == "number":
        return _number(value, node, takes)
    if isinstance(value, bool):
        raise InvalidParameterError(f"{_who(node)} takes a text, not {_shown(value)}.")
    text = value if isinstance(value, str) else f"{value:.15g}"
    if takes.choices and text not in takes.choices:
        raise InvalidParameterError(
            f"{_who(node)} does not take {quoted(text)}.",
            f"It takes: {', '.join(map(quoted, takes.choices[:10]))}.",
        )
    return text


def same(wanted: str | float | bool, got: Scalar) -> bool:
    """Say whether a value that was read back is the one that was set."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    if isinstance(wanted, str) or isinstance(got, str):
        return str(wanted).strip() == str(got).strip()
    return got is not None and math.isclose(wanted, got, rel_tol=1e-6, abs_tol=1e-6)


def _boolean(value: str | float | bool, node: Node) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else f"{value:g}"
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise InvalidParameterError(f"{_who(node)} takes true or false, not {_shown(value)}.")


def _number(value: str | float | bool, node: Node, takes: Settable) -> float:
    limits = ""
    if takes.minimum is not None and takes.maximum is not None and takes.minimum < takes.maximum:
        limits = f" from {takes.minimum:g} to {takes.maximum:g}"
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidParameterError(f"{_who(node)} takes a number{limits}, not {_shown(value)}.")
    if limits and not (takes.minimum or 0.0) <= number <= (takes.maximum or 0.0):
        raise InvalidParameterError(f"{_who(node)} takes a number{limits}, not {number:g}.")
    return number


def _who(node: Node) -> str:
    return (
        f"The {node.role.replace('_', ' ')} {quoted(node.title, 60)}"
        if node.title
        else (f"The {node.role.replace('_', ' ')}")
    )


def _shown(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else f"{value:g}"
