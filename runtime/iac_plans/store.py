"""Plans that are kept: functions in Python files, the user's own and a team's.

    def flag_from(sender: str, limit: int = 20) -> int:
        \"\"\"Flag the messages of a sender.\"\"\"

A file is ordinary Python over `iac_tools`, to be reviewed and run as such; its imports are for
editors and are left out here. Every function whose name does not begin with `_` is a plan. Files
lie in `plans` of the data folder, and in `plans` of a folder of tools.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import InvalidParameterError, SetupError, near_text, quote_text
from iac_base.files import data_folder, read_bounded, write_whole
from iac_base.text import clean_value
from iac_plans.check import MOST
from iac_runtime.toolkit import Tool, check_arguments, check_own, import_later

PINNED: Final = "pinned.json"
_PLAIN: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_DATES: Final = ("date", "datetime")


class SavedPlan(NamedTuple):
    """A plan that is kept by a name; `dates` are those of its parameters that are dates."""

    name: str
    purpose: str
    path: Path
    source: str
    input: Mapping[str, Any]
    dates: Mapping[str, str]

    def program_for(self, arguments: Mapping[str, Any]) -> str:
        """Return the program that runs it with arguments.

        Raises:
            InvalidParameterError: They do not fit its parameters.
        """
        given = check_arguments(arguments, self.input)
        parts = (
            f"{key}={self.dates[key]}.fromisoformat({value!r})"
            if key in self.dates
            else f"{key}={value!r}"
            for key, value in given.items()
        )
        return f"{self.source}\n{self.name}({', '.join(parts)})"

    def to_tool(self) -> Tool:
        """Return the tool that stands for it where it is pinned."""
        return pinned_tool(self.name, {"purpose": self.purpose, "input": self.input})


def own_plans_folder() -> Path:
    """Return the folder of the user's own plans; it may not be there yet."""
    return data_folder() / "plans"


def load_plans(tools: Sequence[Path]) -> dict[str, SavedPlan]:
    """Return the plans by name: the user's own, then those beside folders of tools.

    Raises:
        SetupError: A file is not right, or the user's folder is not safe.
    """
    plans: dict[str, SavedPlan] = {}
    own = own_plans_folder()
    if own.is_dir():
        check_own(own)
    for folder in (own, *(folder / "plans" for folder in tools)):
        for path in sorted(folder.glob("*.py")):
            for plan in read_plans(path):
                plans.setdefault(plan.name, plan)
    return plans


def find_plan(name: str, tools: Sequence[Path]) -> SavedPlan:
    """Return the plan of a name.

    Raises:
        InvalidParameterError: There is none; the nearest are named.
        SetupError: As `plans`.
    """
    plans = load_plans(tools)
    if name not in plans:
        near = near_text(name, list(plans)) if plans else "Save one with: iac-mcp plans add FILE"
        raise InvalidParameterError(f"There is no plan {quote_text(name)}.", near)
    return plans[name]


def read_plans(path: Path) -> list[SavedPlan]:
    """Return the plans in a file.

    Raises:
        SetupError: It cannot be read, or a parameter has no type that is known.
    """
    try:
        text = read_bounded(path, MOST)[0].decode()
        tree = ast.parse(text)
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise SetupError(f"{path}, line {line}: this is not Python.") from None
    lines = text.splitlines()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            end = node.end_lineno or node.lineno
            # Lines keep their numbers.
            lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    source = "\n".join(lines)
    made = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            input, dates = _read_parameters(node, path)
            purpose = clean_value(
                (ast.get_docstring(node) or f"Run the plan {node.name}.").split("\n\n")[0]
            )
            made.append(SavedPlan(node.name, " ".join(purpose.split()), path, source, input, dates))
    return made


def _read_parameters(node: ast.FunctionDef, path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    given = node.args
    if given.posonlyargs or given.vararg or given.kwarg:
        raise SetupError(f"{path}, line {node.lineno}: a plan can have only named parameters.")
    plain = len(given.args) - len(given.defaults)
    needs = [arg.arg for arg in given.args[:plain]]
    needs += [
        arg.arg
        for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if default is None
    ]
    properties: dict[str, Any] = {}
    dates: dict[str, str] = {}
    for arg in (*given.args, *given.kwonlyargs):
        kind = ast.unparse(arg.annotation).removesuffix(" | None") if arg.annotation else ""
        schema = _annotation_schema(kind)
        if schema is None:
            raise SetupError(
                f"{path}, line {arg.lineno}: {arg.arg} needs a type: str, int, float, bool, date,"
                " datetime, Literal[...] or list[...] of these."
            )
        properties[arg.arg] = schema
        if kind in _DATES:
            dates[arg.arg] = kind
    required = {"required": needs} if needs else {}
    closed = {"type": "object", "properties": properties, **required}
    return {**closed, "additionalProperties": False}, dates


def _annotation_schema(kind: str) -> dict[str, Any] | None:
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if kind in _DATES:
        return {"type": "string", "description": "A date, as in 2026-01-31 or 2026-01-31T09:00."}
    if match := re.fullmatch(r"list\[(.*)\]", kind):
        items = None if match[1] in _DATES else _annotation_schema(match[1])
        return items and {"type": "array", "items": items}
    if match := re.fullmatch(r"Literal\[(.*)\]", kind):
        words = ast.literal_eval(f"[{match[1]}]")
        return {"enum": words, "type": "string"} if all(type(w) is str for w in words) else None
    return None


def read_pinned() -> dict[str, Mapping[str, Any]]:
    """Return the plans that are listed as tools, by name: `{purpose, input}`.

    A file that is damaged lists none: the server starts without them.
    """
    try:
        rows = json.loads(read_bounded(own_plans_folder() / PINNED, MOST * 10)[0])
    except (OSError, ValueError, RecursionError):
        return {}
    return rows if isinstance(rows, dict) else {}


def pin_plan(plan: SavedPlan | None, name: str = "") -> bool:
    """List a plan as a tool, or with None the plan `name` no more; say whether that changed it."""
    rows = read_pinned()
    before = dict(rows)
    if plan is not None:
        rows[plan.name] = {"purpose": plan.purpose, "input": plan.input}
    else:
        rows.pop(name, None)
    if rows != before:
        write_whole(own_plans_folder() / PINNED, json.dumps(rows, indent=1) + "\n")
    return rows != before


def pinned_tool(name: str, row: Mapping[str, Any]) -> Tool:
    """Return the tool of a pinned plan."""
    perform = import_later("iac_plans.tools:plan_kept")
    return Tool(
        f"plan_{name}", row["purpose"], row["input"], perform, ceiling="DANGEROUS", words=name
    )


def pinned_tools() -> Iterator[Tool]:
    """Yield the tools of the plans that are pinned."""
    for name, row in read_pinned().items():
        if isinstance(row, dict) and row.keys() >= {"purpose", "input"}:
            yield pinned_tool(name, row)


def save_plans(path: Path) -> list[SavedPlan]:
    """Keep the plans of a file among the user's own; return them.

    Raises:
        SetupError: It has none, or cannot be read or written.
    """
    plans = read_plans(path)
    if not plans:
        message = f"{path} contains no plan. A plan is a function whose parameters have types."
        raise SetupError(message)
    folder = own_plans_folder()
    target = folder / path.name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.resolve() != target.resolve():
            write_whole(target, path.read_text("utf-8"))
    except OSError as error:
        raise SetupError(f"{target} cannot be written: {error.strerror}.") from None
    return read_plans(target)


def remove_plan(plan: SavedPlan) -> list[str]:
    """Remove the user's own file of a plan, and the pins of the plans in it; return their names.

    Raises:
        SetupError: It is a team's, or cannot be removed.
    """
    if plan.path.parent != own_plans_folder():
        message = f"{plan.name} is not your own plan. It is in {plan.path}; remove it there."
        raise SetupError(message)
    names = [row.name for row in read_plans(plan.path)]
    try:
        plan.path.unlink()
    except OSError as error:
        raise SetupError(f"{plan.path} cannot be removed: {error.strerror}.") from None
    for name in names:
        pin_plan(None, name)
    return names
