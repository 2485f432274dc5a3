"""A server of the SDK on a gate, without the front: as the front builds it."""

from typing import Any

from iac_runtime.gate.gate import Gate
from iac_runtime.serve.http_sdk import build_server
from iac_runtime.serve.listing import Choice, Listings
from iac_runtime.serve.methods import build_methods
from iac_runtime.serve.stdio import server_identity

__all__ = ["server_of"]


def server_of(gate: Gate, *expose: str) -> Any:
    """Return the server that lists everything, or what `expose` says."""
    assert gate.catalogue is not None
    folders = [tool_folder.folder for tool_folder in gate.catalogue.tool_folders]
    choice = Choice(expose or ("all",), read_only=gate.read_only)
    lines = Listings(folders, choice)
    return build_server(build_methods(gate, lines), lines, server_identity())
