"""From typed functions to the rows of tools that no dictionary declares.

A row is what `iac_runtime.tools.shape.Tool` is made of. The schema of the arguments is rendered as
that of a generated tool is; types are read here, and nowhere else.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from iac_gen.ir import ToolFunction, ToolParameter
from iac_runtime.tool import Param, spec_of

_PLAIN: Final[Mapping[Any, str]] = {
    bool: "boolean",
    dict: "object",
    float: "number",
    int: "integer",
    str: "string",
    NoneType: "null",
}


def toolset_rows(modules: Iterable[ModuleType], order: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of the tools that modules declare: those of `order` first."""
    rows = {
        name: _tool_row(function)
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__
        if spec_of(function) is not None
    }
    return [rows[name] for name in dict.fromkeys((*order, *rows))]


def _tool_row(function: Callable[..., Any]) -> dict[str, Any]:
    spec = spec_of(function)
    assert spec is not None
    purpose, described = read_docstring(inspect.getdoc(function) or "")
    tool = ToolFunction(
        function=function.__name__,
        op=spec.op,
        event=spec.event,
        level=spec.level,
        ceiling=spec.ceiling,
        reason="",
        summary=purpose,
        parameters=tuple(_parameters(function, described)),
    )
    row = {
        "name": tool.function,
        "purpose": tool.summary,
        "input": tool.input_schema(),
        "perform": _place_of(spec.plan) if spec.plan else "",
        "output": type_schema(spec.answer) if spec.answer else None,
        "level": spec.level if spec.level != "SAFE" else "",
        "ceiling": spec.ceiling if spec.ceiling != "SAFE" else "",
        **{key: getattr(spec, key) for key in ("words", "timeout", "open_world", "always")},
        "large": spec.large,
        "example": spec.example,
    }
    return {key: value for key, value in row.items() if value}


def _place_of(plan: Callable[..., Any]) -> str:
    module, name = plan.__module__, plan.__name__
    if getattr(sys.modules[module], name, None) is not plan:
        raise TypeError(f"{module} has no {name} that is the plan of a tool")
    return f"{module}:{name}"


def _parameters(
    function: Callable[..., Any], described: Mapping[str, str]
) -> Iterable[ToolParameter]:
    hints = get_type_hints(function, include_extras=True)
    if wrong := described.keys() - hints.keys():
        raise TypeError(f"{function.__name__} has no parameter {', '.join(wrong)}")
    for name, parameter in inspect.signature(function).parameters.items():
        kind, required = hints[name], parameter.default is parameter.empty
        if not required and NoneType in get_args(kind):
            # What is left out is None to Python; nobody writes null.
            kind = Union[tuple(one for one in get_args(kind) if one is not NoneType)]  # noqa: UP007
        schema, words = type_schema(kind), described.get(name, "")
        yield ToolParameter(name, Param(name, "", ""), required, schema, "", words)


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the sections of a docstring, and its `Args` by their names."""
    head, _, rest = text.partition("\n\nArgs:\n")
    described: dict[str, str] = {}
    name = ""
    for line in rest.partition("\n\n")[0].splitlines():
        if line.startswith("        "):
            described[name] += f" {line.strip()}"
        else:
            name, _, words = line.strip().partition(": ")
            described[name] = words
    return " ".join(head.split()), described


def type_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a type.

    Raises:
        TypeError: No schema stands for it.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        schema = type_schema(parts[0])
        for more in parts[1:]:
            schema |= {"description": more} if isinstance(more, str) else dict(more)
        return schema
    if origin in (Union, UnionType):
        return {"anyOf": [type_schema(part) for part in parts]}
    if origin is Literal:
        return {"type": "string", "enum": [*parts]}
    if origin is list:
        return {"type": "array", "items": type_schema(parts[0])}
    if is_typeddict(kind):
        return _object_schema(kind)
    if (origin or kind) in _PLAIN:
        return {"type": _PLAIN[origin or kind]}
    raise TypeError(f"no JSON schema stands for {kind!r}")


def _object_schema(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    properties = {name: _field_schema(hint) for name, hint in hints.items()}
    required = [name for name in hints if name in kind.__required_keys__]
    schema = {"type": "object", "properties": properties}
    return {**schema, **({"required": required} if required else {}), "additionalProperties": False}


def _field_schema(hint: Any) -> dict[str, Any]:
    marked = get_origin(hint) in (NotRequired, Required)
    return type_schema(get_args(hint)[0] if marked else hint)
