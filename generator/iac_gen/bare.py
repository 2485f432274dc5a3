"""Bare: imports modules and calls their tools in an interpreter without any other package.

`python -I -S bare.py FOLDER` reads a line of JSON for each app, a list of the files and texts of
its modules, and answers it with a line: a list of faults. FOLDER holds our packages; of what lies
beside them nothing is found. It runs by itself, so that it must not import the generator.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any, Final

_OURS: Final = ("iac_runtime", "iac_base")
_PACKAGE: Final = "iac_tools"


class _Finder:
    """Finds our packages in one folder, and nothing else there."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        ours = name.partition(".")[0] in _OURS
        return PathFinder.find_spec(name, path or [self._folder], target) if ours else None


def faults(texts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield what is wrong with the modules of one app: its tools, then its objects."""
    modules = []
    for file, text in texts:
        name = f"{_PACKAGE}.{file.removesuffix('.py')}"
        module = sys.modules[name] = ModuleType(name)
        modules.append(module)
        try:
            exec(compile(text, file, "exec"), vars(module))  # noqa: S102 - proved before
        except Exception as error:
            yield f"{file} cannot be imported: {_told(error)}"
            return
    tools, *rest = modules
    yield from _calls(tools)
    for module in rest:
        yield from _objects(module)


def _calls(module: ModuleType) -> Iterator[str]:
    """Yield which tools do not arrive as they were called."""
    from iac_runtime import tool

    arrived: list[Any] = []
    tool.install(lambda function, arguments: arrived.extend((function, {**arguments})), list)
    for name, function in list(vars(module).items()):
        spec = tool.spec_of(function) if isinstance(function, FunctionType) else None
        if spec is None:
            continue
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        keys = {name.rstrip("_"): name for name in names}
        if [*keys] != [*spec.params] or name not in module.SCHEMAS or spec.example.keys() - keys:
            yield f"{name} arrives as something else when it is called"
            continue
        # All that it takes, then its example: what is left out of that has a default.
        for given in ({key: object() for key in keys}, spec.example):
            arguments = {keys[key]: value for key, value in given.items()}
            arrived.clear()
            try:
                function(**arguments)
            except Exception as error:
                yield f"{name} cannot be called: {_told(error)}"
                break
            if arrived != [function, {**dict.fromkeys(names), **arguments}]:
                yield f"{name} arrives as something else when it is called"
                break


def _objects(module: ModuleType) -> Iterator[str]:
    """Yield which attributes and commands of the object layer fail."""
    for term, (owner, _) in module.OBJECTS.items():
        one = owner("it")
        for name, attribute in [*vars(owner).items()]:
            try:
                value = getattr(one, name)
                if isinstance(attribute, FunctionType):
                    code = attribute.__code__
                    keys = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
                    value(**dict.fromkeys(keys, 1))
            except Exception as error:
                yield f"{name} of {term} cannot be used: {_told(error)}"


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def main() -> None:
    """Answer each line of the standard input, each in a process of its own."""
    sys.meta_path.append(_Finder(sys.argv[1]))
    import_module("iac_runtime.objects")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            print(json.dumps([*faults(json.loads(line))]), flush=True)  # noqa: T201 - an answer
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            print('["the interpreter ends when they are imported"]', flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
