"""The run time of IAC: tools of macOS apps as typed Python functions, and as an MCP server.

    import iac_runtime
    from iac_tools import notes

    with iac_runtime.connect(simulate=True):
        notes.list("note")

Importing this package loads nothing heavy; the first call does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from iac_runtime.tool import install as _install

if TYPE_CHECKING:
    from iac_base.errors import (
        CallRefusedError,
        IacError,
        InvalidParameterError,
        SetupError,
        ToolError,
        UnknownToolError,
    )
    from iac_runtime.library import Session, confirm, connect, each, outcome, timeout
    from iac_runtime.objects import its, read
    from iac_runtime.policy.settings import register_rule

__all__ = [
    "CallRefusedError",
    "IacError",
    "InvalidParameterError",
    "Session",
    "SetupError",
    "ToolError",
    "UnknownToolError",
    "confirm",
    "connect",
    "each",
    "its",
    "outcome",
    "read",
    "register_rule",
    "timeout",
]

_HOMES = {
    "Session": "iac_runtime.library",
    "confirm": "iac_runtime.library",
    "connect": "iac_runtime.library",
    "each": "iac_runtime.library",
    "its": "iac_runtime.objects",
    "outcome": "iac_runtime.library",
    "read": "iac_runtime.objects",
    "register_rule": "iac_runtime.policy.settings",
    "timeout": "iac_runtime.library",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "iac_base.errors")), name)


def _dispatch_call(function: Callable[..., Any], arguments: Mapping[str, Any], /) -> Any:
    from iac_runtime.library import dispatch

    return dispatch(function, arguments)


def _user_folders() -> Sequence[str]:
    from iac_runtime.tools.catalogue import user_folders

    return user_folders()


_install(_dispatch_call, _user_folders)
