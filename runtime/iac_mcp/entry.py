"""The entry point of `iac-mcp`: what a start pays for before the command is known."""

import gc
import sys
from collections.abc import Mapping


def main() -> int:
    """Run the command line and return its status.

    A client waits for `serve`, so its options are read without click where they are beyond doubt.
    """
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        from iac_runtime.serve.options import read_quickly

        raw = read_quickly(arguments[1:])
        if raw is not None:
            return _run_server(raw)
    from iac_mcp.cli.main import main as run

    return run()


def start_server(raw: Mapping[str, object]) -> int:
    """Serve on standard input and output, or over HTTP. Raises SetupError."""
    if raw.get("http"):
        from iac_mcp.http.serve import serve_http as start_http

        return start_http(raw)
    from iac_runtime.serve.front import run_server

    return run_server(raw)


def _run_server(raw: dict[str, object]) -> int:
    # Imports leave nothing to collect, and would be looked through a dozen times for it.
    gc.set_threshold(20_000, 20, 20)
    from iac_base.errors import IacError

    try:
        return start_server(raw)
    except IacError as error:
        sys.stderr.write(f"iac-mcp: {error}\n")
        return 2
