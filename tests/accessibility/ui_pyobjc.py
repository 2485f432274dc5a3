"""What PyObjC's own wheels say of the frameworks: names, values, and the shape of every call.

The metadata inside a wheel is plain Python that needs no Mac. `.ci/pyobjc` downloads the wheels of
the oldest and the newest release that are supported, for every Python, pinned by their digests: a
folder each, under IAC_PYOBJC_WHEELS, else under `.pyobjc` in the checkout.
"""

import os
import re
import types
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {
    "HIServices": "HIServices/_metadata.py", "AppKit": "AppKit/_metadata.py",
    "Quartz": "Quartz/CoreGraphics/_metadata.py", "CoreFoundation": "CoreFoundation/_metadata.py",
}  # fmt: skip
_TOKEN = re.compile(rb"[rnNoORVA]*(\^*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\?|[a-zA-Z@#:*]))")


class Contract(NamedTuple):
    """The shape of a call: its encoded arguments, which of them are out, and whether it answers."""

    name: str
    arguments: tuple[str, ...]
    out: frozenset[int]
    answers: bool

    def check(self, arguments: tuple[Any, ...]) -> None:
        """Raise for a call that PyObjC would refuse."""
        if len(arguments) != len(self.arguments):
            raise TypeError(f"{self.name} takes {len(self.arguments)} arguments: {arguments}")
        for number, (kind, value) in enumerate(zip(self.arguments, arguments, strict=True)):
            where = f"{self.name}, argument {number}"
            if number in self.out:
                if value is not None:
                    raise ValueError(f"{where}: an out argument must be None")
            elif kind.startswith("^{__CFString"):
                if not isinstance(value, str):
                    raise TypeError(f"{where}: {value!r} is not text")
            elif kind.startswith("^{__CFArray"):
                if not isinstance(value, list | tuple):
                    raise TypeError(f"{where}: {value!r} is not a list")
            elif kind in "iIqQsS" and not isinstance(value, int):
                raise TypeError(f"{where}: {value!r} is no whole number")
            elif kind in "fd" and not isinstance(value, int | float):
                raise TypeError(f"{where}: {value!r} is no number")

    def shaped(self, result: Any) -> Any:
        """Return what the bridge gets: the value alone, or a tuple with the out arguments."""
        parts = int(self.answers) + len(self.out)
        if parts > 1:
            assert isinstance(result, tuple), self.name
            assert len(result) == parts, self.name
        return result


class Framework(NamedTuple):
    """The names of a framework: contracts of functions, values of constants, all else by name."""

    functions: dict[str, Contract]
    values: dict[str, Any]
    names: frozenset[str]


def releases() -> list[str]:
    """Return the releases whose wheels are pinned."""
    pins = Path(__file__).parent.glob("pyobjc-*.txt")
    return sorted(file.stem.removeprefix("pyobjc-") for file in pins)


def versions() -> list[Path]:
    """Return the folders of wheels, one a release and Python; empty where there are none."""
    folder = Path(os.environ.get("IAC_PYOBJC_WHEELS") or ROOT / ".pyobjc")
    if not folder.is_dir():
        return []
    return sorted({wheel.parent for wheel in folder.rglob("pyobjc_framework_*.whl")})


def load(folder: Path) -> dict[str, Framework]:
    """Return the frameworks of the wheels in a folder."""
    found: dict[str, Framework] = {}
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name, path in FRAMEWORKS.items():
                if path in archive.namelist():
                    found[name] = _framework(archive.read(path).decode())
    return found


class _Objc(types.ModuleType):
    """Just enough of `objc` for metadata to run; whatever else is called does nothing."""

    arch = "arm64"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_C_"):
            return b"?"
        return lambda *arguments, **named: None


# The wheels of one release hold the same text for every Python.
@cache
def _framework(text: str) -> Framework:
    import sys

    held = sys.modules.get("objc")
    sys.modules["objc"] = _Objc("objc")
    space: dict[str, Any] = {}
    try:
        exec(compile(text, "metadata", "exec"), space)
    finally:
        if held is None:
            del sys.modules["objc"]
        else:
            sys.modules["objc"] = held
    functions = {name: _contract(name, *row) for name, row in space.get("functions", {}).items()}
    values = {key: held for key, held in space.get("misc", {}).items() if isinstance(held, str)}
    for part in space.get("enums", "").split("$"):
        name, found, number = part.partition("@")
        if found:
            values[name] = float(number) if "." in number else int(number)
    constants = {part.partition("@")[0] for part in space.get("constants", "").split("$")}
    types_ = {row[0] for row in space.get("cftypes", ())}
    aliases = set(space.get("aliases", ()))
    names = frozenset({*functions, *values, *constants, *types_, *aliases, *space.get("misc", {})})
    return Framework(functions, values, names)


def _contract(name: str, encoding: bytes, _doc: str = "", more: Any = None) -> Contract:
    kinds = [match.decode() for match in _TOKEN.findall(encoding)]
    rows = (more or {}).get("arguments", {})
    out = {number for number, row in rows.items() if row.get("type_modifier") in ("o", b"o")}
    return Contract(name, tuple(kinds[1:]), frozenset(out), kinds[0] != "v")


def contracted(framework: Framework, name: str, does: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes and answers what PyObjC's would."""
    contract = framework.functions[name]

    def call(*arguments: Any) -> Any:
        contract.check(arguments)
        return contract.shaped(does(*arguments))

    call.__name__ = name
    return call
