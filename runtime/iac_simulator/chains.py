"""Reference chains: the steps of an object specifier, and their text in worlds and in the log."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from iac_simulator.errors import StateError

__all__ = ["Chain", "Step", "chain_of", "criterion", "notation", "parse"]


class Step(NamedTuple):
    """One step. `kind`: p name, i index, n by name, id by id, w filter, l insertion place, new."""

    kind: str
    value: Any


Chain = tuple[Step, ...]

_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")
_TOKEN: Final = re.compile(
    r"""\.(?P<by>byName|byId|at)\((?P<argument>-?\d+|"(?:[^"\\]|\\.)*")\)
      | \[(?P<inside>-?\d+|"(?:[^"\\]|\\.)*")\]
      | \.?(?P<name>[A-Za-z_$][\w$]*)""",
    re.VERBOSE,
)


def chain_of(wire: Iterable[Any]) -> Chain:
    """Return the chain that JavaScript sent as a list of pairs."""
    return tuple(Step(kind, value) for kind, value in wire)


def parse(text: str) -> Chain:
    """Return the chain of a reference as a world writes it: `folders["Work"].notes[0]`.

    Raises:
        StateError: It is no such reference.
    """
    steps: list[Step] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise StateError(f"{text!r} is no reference: stopped at character {position}.")
        position = token.end()
        by, inside, name = token["by"], token["inside"], token["name"]
        if name is not None:
            steps.append(Step("p", name))
            continue
        try:
            value = json.loads(token["argument"] if by else inside)
        except ValueError:
            raise StateError(f"{text!r} is no reference: a text in it has a bad escape.") from None
        if by == "byId":
            steps.append(Step("id", value))
        else:
            steps.append(Step("i" if isinstance(value, int) else "n", value))
    return tuple(steps)


def notation(chain: Chain) -> str:
    """Return the text of `chain` as events are written: `inbox.messages[0].subject`."""
    text = ""
    for kind, value in chain:
        if kind in ("p", "l"):
            plain = _NAME.fullmatch(value)
            text += f".{value}" if plain else f"[{json.dumps(value, ensure_ascii=False)}]"
        elif kind in ("i", "n"):
            text += f"[{json.dumps(value, ensure_ascii=False)}]"
        elif kind == "id":
            text += f".byId({json.dumps(value, ensure_ascii=False)})"
        elif kind == "w":
            text += f".whose({criterion(value)})"
        else:
            text += f".{value}()"
    return text.removeprefix(".")


def criterion(folded: Mapping[str, Any]) -> str:
    """Return the text of a folded filter (see `iac_simulator.filters.fold`)."""
    if "match" in folded:
        chain, operator, value = folded["match"]
        left = notation((Step("p", "ObjectSpecifier()"), *chain_of(chain)))
        left = left.replace('["ObjectSpecifier()"]', "ObjectSpecifier()", 1)
        right = _literal(value)
        if operator != "=":
            key = operator if operator.startswith("_") else json.dumps(operator)
            right = f"{{{key}: {right}}}"
        return f"{{_match: [{left}, {right}]}}"
    key, parts = next(iter(folded.items()))
    return f"{{_{key}: [{', '.join(criterion(part) for part in parts)}]}}"


def _literal(wire: Any) -> str:
    if isinstance(wire, list):
        return f"[{', '.join(_literal(item) for item in wire)}]"
    if not isinstance(wire, dict):
        return json.dumps(wire, ensure_ascii=False)
    tag: str = wire["$"]
    value: Any = wire.get("v")
    if tag == "date":
        return f'new Date("{value}")'
    if tag == "path":
        return f"Path({json.dumps(value, ensure_ascii=False)})"
    if tag in ("ref", "it"):
        return notation(chain_of(value))
    if tag == "record":
        pairs = (f"{json.dumps(key)}: {_literal(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return str(value)
