"""From typed functions to the rows of tools that no dictionary declares.

A row is what `iac_runtime.tools.shape.Tool` is made of. The schema of the arguments is rendered as
that of a generated tool is; types are read here, and nowhere else.
"""

import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType, NoneType, UnionType
from typing import Any, Final

from iac_gen.ir import object_schema
from iac_runtime.tool import Spec, spec_of

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
        name: _tool_row(function, spec)
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__
        if (spec := spec_of(function))
    }
    return [rows[name] for name in dict.fromkeys((*order, *rows))]


def _tool_row(function: Callable[..., Any], spec: Spec) -> dict[str, Any]:
    purpose, described = read_docstring(inspect.getdoc(function) or "")
    row = {
        "name": function.__name__,
        "purpose": purpose,
        "input": _arguments_schema(function, described),
        "perform": spec.plan and _place_of(spec.plan),
        "output": spec.answer and type_schema(spec.answer),
    }
    same = ("level", "ceiling", "words", "timeout", "open_world", "always", "large", "example")
    row |= {key: getattr(spec, key) for key in same}
    # The rest is as `Tool` has it.
    return {key: value for key, value in row.items() if value and value != "SAFE"}


def _place_of(plan: Callable[..., Any]) -> str:
    module, name = plan.__module__, plan.__name__
    if getattr(sys.modules[module], name, None) is not plan:
        raise TypeError(f"{module} has no {name} that is the plan of a tool")
    return f"{module}:{name}"


def _arguments_schema(function: Callable[..., Any], described: Mapping[str, str]) -> dict[str, Any]:
    hints = typing.get_type_hints(function, include_extras=True)
    if wrong := described.keys() - hints.keys():
        raise TypeError(f"{function.__name__} has no parameter {', '.join(wrong)}")
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        needed, default = parameter.default is parameter.empty, parameter.default
        # What is left out is None to Python; nobody writes null.
        properties[name] = type_schema(hints[name], null=needed)
        if name in described:
            properties[name]["description"] = described[name]
        if needed:
            required.append(name)
        elif default is not None:
            properties[name]["default"] = default
    return object_schema(properties, required)


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


def type_schema(kind: Any, *, null: bool = True) -> dict[str, Any]:
    """Return the JSON schema of a type; without `null`, None is left out of a union.

    Raises:
        TypeError: No schema stands for it.
    """
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.NotRequired, typing.Required):
        return type_schema(parts[0])
    if origin is typing.Annotated:
        schema = type_schema(parts[0])
        for more in parts[1:]:
            schema |= {"description": more} if isinstance(more, str) else dict(more)
        return schema
    if origin in (typing.Union, UnionType):
        rows = [type_schema(part) for part in parts if null or part is not NoneType]
        return {"anyOf": rows} if len(rows) > 1 else rows[0]
    if origin is typing.Literal:
        return {"type": "string", "enum": [*parts]}
    if origin is list:
        return {"type": "array", "items": type_schema(parts[0])}
    if typing.is_typeddict(kind):
        fields = typing.get_type_hints(kind, include_extras=True)
        return object_schema(
            {name: type_schema(hint) for name, hint in fields.items()}, kind.__required_keys__
        )
    if (origin or kind) in _PLAIN:
        return {"type": _PLAIN[origin or kind]}
    raise TypeError(f"no JSON schema stands for {kind!r}")
