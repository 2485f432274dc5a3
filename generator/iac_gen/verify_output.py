"""A module is checked before it is written, as if someone else had rendered it.

Its syntax tree may hold only the node kinds of an allow-list, its schemas must be JSON Schema
2020-12 and what model vendors accept (docs/adr/0019-schema-rules.md), its names short enough and
each bound once. Then it is imported and its tools are called, in an interpreter that has the
standard library and our packages alone (`bare`); each process of a build has one.
"""

import ast
import atexit
import builtins
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from jsonschema import Draft202012Validator

import iac_runtime.tool
from iac_gen import bare
from iac_gen.ir import Module
from iac_gen.model import Diagnostic
from iac_gen.naming import MAX_TOOL_NAME, objects_module
from iac_gen.render import kept

_IMPORTS: Final = frozenset({"collections.abc", "typing", "iac_runtime.tool"})
_NODES: Final = (
    ast.AnnAssign, ast.Assign, ast.Attribute, ast.BinOp, ast.BitOr, ast.Call, ast.Constant,
    ast.Dict, ast.Expr, ast.FunctionDef, ast.ImportFrom, ast.List, ast.Load, ast.Module,
    ast.Name, ast.Return, ast.Store, ast.Subscript, ast.Tuple, ast.UnaryOp, ast.USub, ast.alias,
    ast.arg, ast.arguments, ast.keyword,
)  # fmt: skip
_DOOR: Final = re.compile(
    r"if TYPE_CHECKING:\n    from \. import ([a-z][a-z0-9_]*_objects)\n"
    r"    from \.\1 import \*\n    __all__ \+= \1\.__all__\n"
    r"else:\n    __getattr__ = objects\(__name__\)"
)
_TOOL_NAME: Final = re.compile(rf"[a-z][a-z0-9_]{{0,{MAX_TOOL_NAME - 1}}}")
_KEY: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_WORDS: Final = frozenset(
    "type properties required additionalProperties items anyOf enum description format minItems"
    " maxItems default minimum maximum minProperties".split()
)
_BUILTINS: Final = frozenset({*dir(builtins), "__name__"})
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object"})


def verify_module(module: Module, source: str, templates: str = "") -> list[Diagnostic]:
    """Return what is wrong with a rendered module; an empty list lets it be written.

    `templates` names those of a team, as the header must.
    """
    place = f"{module.key}.py"
    faults = [*verify_source(source), *_verify_header(source, templates)]
    names = [tool.name for tool in module.tools]
    for tool in module.tools:
        if _TOOL_NAME.fullmatch(tool.name) is None:
            faults.append(f"the tool name {tool.name!r} is too long or has odd characters")
        faults += [f"{tool.name}: {fault}" for fault in verify_schema(tool.input_schema())]
        if tool.output is not None:
            faults += [
                f"{tool.name} (output): {fault}"
                for fault in verify_schema(tool.output, closed=False)
            ]
    if len(set(names)) != len(names):
        faults.append("two tools have one name")
    return [Diagnostic(place, 0, "proof", fault, "error") for fault in faults]


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _verify_function(node: ast.FunctionDef) -> Iterator[str]:
    functions = [d.func for d in node.decorator_list if isinstance(d, ast.Call)]
    marks = [f for f in functions if isinstance(f, ast.Name) and f.id == "tool"]
    if len(marks) != 1 or len(node.decorator_list) != 1:
        yield f"line {node.lineno}: {node.name} must have the one decorator tool"
    kinds = [type(statement) for statement in node.body]
    if kinds != [ast.Expr, ast.Return] or not _is_docstring(node.body[0]):
        yield f"line {node.lineno}: {node.name} must be a docstring and one return"


def _verify_method(node: ast.FunctionDef) -> Iterator[str]:
    kinds = [type(statement) for statement in node.body]
    if node.decorator_list or kinds not in ([ast.Expr, ast.Return], [ast.Expr] * 2):
        yield f"line {node.lineno}: {node.name} must be a docstring and one call"


class _Allowed(NamedTuple):
    """What one kind of file may hold; `attribute` says in words which attributes."""

    statements: tuple[type[ast.stmt], ...]
    nodes: tuple[type[ast.AST], ...]
    imports: frozenset[str]
    calls: frozenset[str]
    attributes: tuple[tuple[str, str], ...]
    attribute: str
    verify_function: Callable[[ast.FunctionDef], Iterator[str]]


_IN_MODULE: Final = _Allowed(
    (ast.AnnAssign, ast.Assign, ast.FunctionDef, ast.ImportFrom), _NODES, _IMPORTS,
    frozenset("App Class Element Intent Param Property Record Schema objects tool".split()),
    (("APP", "call"),), "APP.call", _verify_function,
)  # fmt: skip
_IN_OBJECTS: Final = _Allowed(
    (ast.AnnAssign, ast.Assign, ast.ClassDef, ast.ImportFrom, ast.If),
    (*_NODES, ast.ClassDef, ast.If, ast.Pass),
    _IMPORTS | {"__future__", "datetime", "iac_runtime.objects", "pathlib"},
    frozenset("Application Elements One Prop RwOne RwProp RwTextOne TextOne type_names".split()),
    (("self", "_answer"), ("self", "_command")), "a command", _verify_method,
)  # fmt: skip


def verify_source(source: str) -> Iterator[str]:
    """Yield each way in which `source` is more than imports, tables and delegating functions."""
    return _verify_tree(source, _IN_MODULE)


def verify_classes(source: str) -> Iterator[str]:
    """Yield each way in which `source` is more than classes of descriptors and of commands."""
    return _verify_tree(source, _IN_OBJECTS)


def _verify_tree(source: str, allowed: _Allowed) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        yield f"does not parse: {error}"
        return
    if ast.If not in allowed.nodes:
        tree.body = [one for one in tree.body if not _is_object_export(one)]
    for statement in tree.body:
        if not isinstance(statement, allowed.statements) and not _is_docstring(statement):
            yield f"line {statement.lineno}: {type(statement).__name__} does not belong in a module"
    # What lies in a block comes after it.
    shapes: set[int] = set()
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if not isinstance(node, allowed.nodes):
            yield f"line {line}: {type(node).__name__} is not allowed"
        elif isinstance(node, ast.ImportFrom):
            if node.module not in allowed.imports or node.level:
                yield f"line {line}: import from {node.module} is not allowed"
            if any(alias.asname or alias.name == "*" for alias in node.names):
                yield f"line {line}: an import under another name is not allowed"
        elif isinstance(node, ast.If):
            shapes.update(map(id, ast.walk(node)))
            if ast.unparse(node.test) != "TYPE_CHECKING" or node.orelse:
                yield f"line {line}: a condition other than TYPE_CHECKING is not allowed"
        elif isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            if called not in allowed.calls and not isinstance(node.func, ast.Attribute):
                yield f"line {line}: a call of anything but the contract is not allowed"
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if (owner, node.attr) not in allowed.attributes:
                yield f"line {line}: an attribute other than {allowed.attribute} is not allowed"
        elif isinstance(node, ast.FunctionDef) and id(node) not in shapes:
            yield from allowed.verify_function(node)
        elif isinstance(node, ast.Name) and not node.id.isascii():
            yield f"line {line}: {node.id!r} is not an ASCII name"
    yield from _prove_names(tree)


def _prove_names(tree: ast.Module) -> Iterator[str]:
    """Yield each name that is bound twice, that nothing binds, or that one of the app hides."""
    everywhere = Counter(_bound(tree.body))
    classes = [one for one in tree.body if isinstance(one, ast.ClassDef)]
    owners = [("the module", everywhere), *((c.name, Counter(_bound(c.body))) for c in classes)]
    for owner, names in owners:
        yield from (f"{one} is bound twice in {owner}" for one, n in names.items() if n > 1)
    hidden = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
    for name, is_hidden in sorted({*_read(tree.body, hidden)}):
        if is_hidden:
            yield f"{name} means something of the app where it must not"
        elif name not in everywhere and name not in _BUILTINS:
            yield f"{name} is bound nowhere"


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements bind."""
    for one in body:
        match one:
            case ast.FunctionDef() | ast.ClassDef():
                yield one.name
            case ast.ImportFrom():
                yield from (alias.name for alias in one.names)
            case ast.Assign():
                yield from (target.id for target in one.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If():
                yield from _bound(one.body)


def _read(body: Sequence[ast.stmt], hidden: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yield the names that are read when a module is loaded, and whether they are hidden.

    The body of a function is read when it is called, and what a class binds stands before the
    names of the module.
    """
    todo: list[tuple[ast.AST, Collection[str]]] = [(one, hidden) for one in body]
    while todo:
        node, hidden = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id, node.id in hidden
        elif isinstance(node, ast.ClassDef):
            hidden = {*_bound(node.body)}
        children = ast.iter_child_nodes(node)
        skipped = node.body if isinstance(node, ast.FunctionDef) else ()
        todo += ((one, hidden) for one in children if one not in skipped)


def _is_object_export(statement: ast.stmt) -> bool:
    """Say whether it is how a module leads to its objects: for checkers, else when asked for."""
    return isinstance(statement, ast.If) and _DOOR.fullmatch(ast.unparse(statement)) is not None


def verify_objects(module: Module, source: str, templates: str = "") -> list[Diagnostic]:
    """Return what is wrong with the rendered object layer of a module."""
    place = f"{objects_module(module.key)}.py"
    faults = [*verify_classes(source), *_verify_header(source, templates)]
    return [Diagnostic(place, 0, "proof", fault, "error") for fault in faults]


def _verify_header(source: str, templates: str) -> Iterator[str]:
    head, end, _ = source.removeprefix('"""').partition('"""')
    if not source.startswith('"""') or not end or "\nGenerated by iac-gen from" not in head:
        yield "the header does not say that iac-gen generated it"
    if templates not in " ".join(head.split()):
        yield f"the header does not name the templates of {templates}"


def verify_schema(schema: Mapping[str, Any], *, closed: bool = True) -> list[str]:
    """Return each way in which `schema` breaks the metaschema or a vendor's rule."""
    faults = [*_node_faults(schema, "", closed=closed)]
    if schema.get("type") != "object":
        faults.append("the root is not an object")
    if closed and schema.get("additionalProperties") is not False:
        faults.append("the root is open")
    for part in _schema_parts(schema):
        faults += _metaschema_faults(json.dumps(part, sort_keys=True))
    return faults


def _schema_parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield `schema` and the schemas of its properties, each without those below it.

    The metaschema judges every schema object by itself, so that parts which many tools share
    need to be judged once.
    """
    yield {key: value for key, value in schema.items() if key not in ("properties", "description")}
    for value in schema.get("properties", {}).values():
        yield from _schema_parts(value)


@lru_cache(maxsize=4096)
def _metaschema_faults(text: str) -> tuple[str, ...]:
    validator = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    error = next(validator.iter_errors(json.loads(text)), None)
    return () if error is None else (f"is not JSON Schema: {error.message}",)


def _node_faults(schema: Mapping[str, Any], path: str, *, closed: bool) -> Iterator[str]:
    """Yield what breaks a rule; what an app answers has names of its own, and may be null."""
    at = path or "the root"
    for word in schema.keys() - _WORDS:
        yield f"{at} uses {word}"
    if ("type" in schema) == ("anyOf" in schema):
        yield f"{at} needs one of type and anyOf"
    if not isinstance(schema.get("description", ""), str):
        yield f"{at} has a description that is not text"
    kind = schema.get("type")
    cell = not closed and isinstance(kind, list) and {*kind} <= _TYPES | {"null"}
    if kind is not None and not cell and (not isinstance(kind, str) or kind not in _TYPES):
        yield f"{at} has the type {kind!r}"
    values = schema.get("enum", ())
    if "enum" in schema and (
        kind != "string" or not values or not all(isinstance(one, str) for one in values)
    ):
        yield f"{at} has an enum that is empty or not of strings"
    if schema.get("format", "date-time") != "date-time":
        yield f"{at} has the format {schema['format']}"
    if kind == "array" and "items" not in schema:
        yield f"{at} is an array of nothing said"
    for option in schema.get("anyOf", ()):
        if "anyOf" in option:
            yield f"{at} has a union in a union"
        yield from _node_faults(option, f"{at}|", closed=closed)
    if "items" in schema:
        yield from _node_faults(schema["items"], f"{path}[]", closed=closed)
    for key, value in schema.get("properties", {}).items():
        if closed and _KEY.fullmatch(key) is None:
            yield f"{at} has the key {key!r}"
        yield from _node_faults(value, f"{path}.{key}" if path else key, closed=closed)


_PACKAGES: Final = Path(iac_runtime.tool.__file__).parent.parent


def prove_imports(key: str, files: Mapping[str, str], keep: Path | None = None) -> list[Diagnostic]:
    """Return what fails when the modules among the files of an app are imported and called.

    In the folder `keep`, the answer is kept by the content of the modules and of what they import.
    """
    given = json.dumps([row for row in files.items() if row[0].endswith(".py")])
    made_of = f"{_digest_of_contract()}\0{given}"
    answer = kept(keep, f"{key}.proof", made_of, lambda: _ask(given))
    return [Diagnostic(f"{key}.py", 0, "proof", fault, "error") for fault in json.loads(answer)]


@cache
def _digest_of_contract() -> str:
    """Return a digest of what modules import, and of the interpreter that they are proved in."""
    contract = ("tool.py", "types.py", "types.json", "objects/*.py")
    contract_files = (_PACKAGES.joinpath("iac_runtime").glob(pattern) for pattern in contract)
    digest = hashlib.sha256(sys.version.encode())
    for file in (Path(bare.__file__), *sorted(chain.from_iterable(contract_files))):
        digest.update(file.read_bytes())
    return digest.hexdigest()


_running: Final[dict[int, "_BareInterpreter"]] = {}
"""The interpreter of this process; after a fork also that of the process before."""


def _ask(line: str) -> str:
    """Return the faults of an app's modules, both as JSON."""
    process = os.getpid()
    if process not in _running:
        _running[process] = _BareInterpreter()
    try:
        return _running[process].ask(line)
    except BaseException:
        # After a deadline the next answer would be that to this line.
        _running.pop(process).end()
        raise


class _BareInterpreter:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", bare.__file__, str(_PACKAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.end)

    def ask(self, line: str) -> str:
        """Send a line and return the answer. Raises RuntimeError: the interpreter ended."""
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None
        assert answers is not None
        given.write(f"{line}\n".encode())
        given.flush()
        if answer := answers.readline():
            return answer.decode()
        raise RuntimeError("the interpreter in which modules are proved ended")

    def end(self) -> None:
        """End it, if it runs."""
        atexit.unregister(self.end)
        self._process.kill()
        with suppress(OSError):
            self._process.__exit__(None, None, None)
