"""What a plan may be written with: signatures of the tools, and what a program has wrong.

The sandbox's own type checker reads a program against stubs, which are made of the modules of the
catalogue, the committed and the user's own. What it finds is told in one line each.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import InvalidParameterError, NextCall, near_text, nearest_names
from iac_base.words import fold_name
from iac_runtime.toolkit import Catalogue
from iac_runtime.tools.lock import damaged_file_error, read_part

MOST: Final = 20_000
"""Characters of a program."""

_GIVEN: Final = ("date", "datetime", "timedelta", "timezone")
PRELUDE: Final = f"from datetime import {', '.join(_GIVEN)}"
"""What every program has beside the language and the tools."""

_HEAD: Final = (
    "import builtins\nfrom collections.abc import Mapping\nfrom typing import Any, Literal\n"
    "Ref = builtins.str\nListOf = builtins.list\nPropertyName = builtins.str\n"
)
_NAMES: Final = "PropertyName"
_REFUSED: Final = {
    "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "getattr", "globals",
    "input", "locals", "open", "setattr", "vars",
}  # fmt: skip
_KINDS: Final[Mapping[type[ast.AST], str]] = {
    ast.ClassDef: "a plan has no classes",
    ast.AsyncFunctionDef: "a plan awaits nothing",
    ast.Await: "a plan awaits nothing",
    ast.AsyncFor: "a plan awaits nothing",
    ast.AsyncWith: "a plan awaits nothing",
}
_IMPORTS: Final = ("datetime", "json", "math", "re", "typing")
"""Modules of the language that a plan may import: they reckon, and reach nothing."""

_NOT_IMPORTED: Final = f"a plan imports nothing but {', '.join(_IMPORTS)}; the apps are there"
_READS: Final = ("get", "list", "count")
_SHOWN: Final = 10
_LONGEST: Final = 240


class ProgramUsage(NamedTuple):
    """What a program uses: of each app's key the names of its functions, and their stub."""

    functions: Mapping[str, Mapping[str, str]]
    stubs: Mapping[str, str]


def tool_signatures(catalogue: Catalogue, names: tuple[str, ...]) -> list[str]:
    """Return tools by name in the form that plans use, `mail.list(element: ..., *, ...) -> ...`."""
    rows = (catalogue.find_row(name) for name in names)
    return [
        re.sub(r"\Adef (\w+)(.*): \.\.\.\Z", rf"{row.module}.\1\2", text, flags=re.DOTALL)
        for row in rows
        for text in [_module_parts(row.app.folder, row.module)[row.function]]
    ]


def read_program(program: str, catalogue: Catalogue) -> ProgramUsage:
    """Return what a program uses, as far as its form tells.

    Raises:
        InvalidParameterError: It is no program, or holds what a plan does not have.
    """
    if len(program) > MOST:
        raise InvalidParameterError(f"A plan can have at most {MOST} characters.")
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        reason = getattr(error, "msg", "") or "it is nested too deeply"
        raise program_error([f"line {line}: {reason}"]) from None
    try:
        faults = [*_find_faults(tree), *_find_unknown_apps(tree, catalogue)]
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    except RecursionError:
        raise program_error(["it is nested too deeply"]) from None
    if faults:
        raise program_error(faults)
    functions: dict[str, dict[str, str]] = {key: {} for key in catalogue.apps if key in named}
    for name, row in catalogue.tools.items():
        if row.module in functions:
            functions[row.module][row.function] = name
    modules = {key: _module_parts(catalogue.apps[key].folder, key) for key in functions}
    if faults := list(_check_properties(tree, modules)):
        raise program_error(faults)
    return ProgramUsage(
        functions, {key: _render_stub(modules[key], functions[key]) for key in functions}
    )


def _find_faults(tree: ast.AST) -> Iterator[str]:
    modules = {
        row.asname or row.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for row in node.names
    }
    for node in ast.walk(tree):
        fault = _KINDS.get(type(node), "")
        if isinstance(node, ast.ImportFrom) and node.module not in _IMPORTS:
            fault = _NOT_IMPORTED
        elif isinstance(node, ast.Import):
            fault = "" if all(row.name in _IMPORTS for row in node.names) else _NOT_IMPORTED
        if isinstance(node, ast.Name) and (node.id in _REFUSED or node.id.startswith("__")):
            fault = f"a plan has no {node.id}"
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            fault = f"a plan has no attribute {node.attr}"
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "datetime"
            and "datetime" not in modules
            and node.attr in _GIVEN
            and not isinstance(getattr(node, "ctx", None), ast.Store)
        ):
            fault = f"write {node.attr}, not datetime.{node.attr}"
        if fault:
            yield f"line {getattr(node, 'lineno', 1)}: {fault}"


def _find_unknown_apps(tree: ast.AST, catalogue: Catalogue) -> Iterator[str]:
    """Yield the apps that a program calls by another name than plans use, or that have no tools."""
    bound = {*dir(builtins), *_GIVEN}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name)
            ):
                bound.add(name)
            case ast.alias(asname=str(name)) | ast.alias(name=name):
                bound.add(name)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in catalogue.tools:
                row = catalogue.tools[name]
                yield f"line {node.lineno}: write {row.module}.{row.function}, not {name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if (
                name not in catalogue.apps and name not in bound
            ):
                app = catalogue.named_app(name)
                way = f"write {app.key}, not {name}" if app else f"no app with tools is {name}"
                yield f"line {node.lineno}: {way}"


def program_error(faults: list[str]) -> InvalidParameterError:
    """Return the error for a program with faults, a line each."""
    more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
    return InvalidParameterError("\n".join(["The plan was not run:", *faults[:_SHOWN], *more]))


def type_check_error(
    diagnostics: str, program: str, used: ProgramUsage
) -> InvalidParameterError | None:
    """Return the error for what the type checker said of calls, with the form of one that is wrong.

    None where it says nothing of them: what else it doubts, and names of the language that it does
    not know, come out in the rehearsal, which changes nothing.
    """
    calls_at = {
        line
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Attribute | ast.Call) and _is_of_app(node, used)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    found = re.findall(r"^\S+?:(\d+):\d+: error\[([a-z-]+)\] (.*)$", diagnostics, re.MULTILINE)
    errors = [
        (int(line), text)
        for line, kind, text in found
        if int(line) in calls_at and kind != "unresolved-reference"
    ]
    if not errors:
        return None
    error, lines = program_error(_describe_errors(errors, program, used)), program.splitlines()
    for line, text in errors:
        for key, functions in used.functions.items():
            calls = re.findall(rf"\b{key}\.(\w+)\s*\(", lines[line - 1])
            name = next((name for name in calls if f"`{name}`" in text and name in functions), "")
            if name:
                error.suggestion = f"Write {_call_form(key, name, used.stubs[key])}."
                error.next = NextCall("find_tools", {"query": functions[name]})
                return error
    return error


def _call_form(key: str, name: str, stub: str) -> str:
    """Return how a function is called, `mail.count(element=..., of=...)`, and what is optional."""
    [function] = (node for node in ast.parse(stub).body if getattr(node, "name", "") == name)
    assert isinstance(function, ast.FunctionDef)
    plain, named = function.args.args, function.args.kwonlyargs
    defaults = dict(zip((row.arg for row in reversed(plain)), function.args.defaults, strict=False))
    optional = [
        *defaults,
        *(row.arg for row, value in zip(named, function.args.kw_defaults, strict=True) if value),
    ]
    needed = [row.arg for row in (*plain, *named) if row.arg not in optional]
    form = f"{key}.{name}({', '.join(f'{word}=...' for word in needed)})"
    return f"{form}; optional: {', '.join(optional)}" if optional else form


def _is_of_app(node: ast.Attribute | ast.Call, used: ProgramUsage) -> bool:
    owner = getattr(node.func if isinstance(node, ast.Call) else node, "value", None)
    return isinstance(owner, ast.Name) and owner.id in used.functions


def _describe_errors(errors: list[tuple[int, str]], program: str, used: ProgramUsage) -> list[str]:
    """Return what the type checker said, one line each, with the nearest name if one is meant."""
    lines, known = program.splitlines(), _quoted_parts("\n".join(used.stubs.values()))

    def simplify_message(message: str, text: str) -> str:
        unknown = [word for word in _quoted_parts(text) if not {word, "[", "."} & {*known, *word}]
        meant = next((word for word in unknown if nearest_names(word, known)), "")
        if "Literal[" in message and meant:
            return f'"{meant}" is not a name here. {near_text(meant, known)}'
        if member := _MEMBER.search(message):
            names = [name for key, name in _defined_names(used) if key == member[1]]
            return f"{member[1]} has no {member[2]}. {near_text(member[2], names)}"
        if row := _ROW_MEMBER.search(message):
            return f'A row is a dictionary: write ["{row[1]}"], not .{row[1]}'
        for needless in ("`", "bound method ", "<module '", "'>"):
            message = message.replace(needless, "")
        return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"

    return [f"line {line}: {simplify_message(text, lines[line - 1])}" for line, text in errors]


_MEMBER: Final = re.compile(r"Module `(\w+)` has no member `(\w+)`")
_ROW_MEMBER: Final = re.compile(r"type `Mapping\[.*` has no attribute `(\w+)`")


def _defined_names(used: ProgramUsage) -> Iterator[tuple[str, str]]:
    return ((key, name) for key, names in used.functions.items() for name in names)


def _quoted_parts(text: str) -> list[str]:
    """Return what stands in quotes in a text."""
    return re.findall(r'"([^"\n]+)"', text.replace("'", '"'))


def _check_properties(tree: ast.AST, modules: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield what is wrong with the names of properties, which may be written in any spelling."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=key)), keywords=named) if (
                key in modules
            ):
                known = _quoted_parts(modules[key].get(_NAMES, ""))
                values: list[Any] = [row.value for row in named if row.arg == "properties"]
                for part in (part for row in values for part in _parts_of(row)):
                    name = getattr(part, "value", None)
                    if isinstance(name, str) and fold_name(name) not in map(fold_name, known):
                        near = near_text(name, known)
                        yield f'line {part.lineno}: {key} has no property "{name}". {near}'


def _parts_of(node: ast.AST) -> list[Any]:
    return getattr(node, "keys", None) or getattr(node, "elts", None) or []


def _render_stub(parts: Mapping[str, str], functions: Mapping[str, str]) -> str:
    names = [part for name, part in parts.items() if name[:1].isupper() and name != _NAMES]
    return "\n".join((_HEAD, *names, *(parts[name] for name in functions if name in parts)))


def _let_stand_in_order(name: str, given: ast.arguments) -> None:
    """Let a call give in order what it needs, and of a read all: none of a write may be misread."""
    while given.kwonlyargs and (name in _READS or given.kw_defaults[0] is None):
        given.args.append(given.kwonlyargs.pop(0))
        if (default := given.kw_defaults.pop(0)) is not None:
            given.defaults.append(default)


def _module_parts(folder: Path, key: str) -> Mapping[str, str]:
    # What is built anew is read anew.
    return _parse_module(folder / f"{key}.py", (folder / "catalogue.json").stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _parse_module(path: Path, _built: int) -> Mapping[str, str]:
    """Return the functions and named literals of a generated module by name, as lines of a stub."""
    try:
        tree = ast.parse(read_part(path))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise damaged_file_error(path) from error
    parts: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name("Literal"))
            ):
                parts[name] = ast.unparse(node)
            case ast.FunctionDef(name=name, args=given, returns=returns):
                answers = ast.unparse(returns) if returns else "Any"
                _let_stand_in_order(name, given)
                parts[name] = f"def {name}({ast.unparse(given)}) -> {answers}: ..."
    return parts
