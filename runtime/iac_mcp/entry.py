"""The entry point of `iac-mcp`: what a start pays for before the command is known."""

import gc
import sys

from iac_mcp import start_server


def main() -> int:
    """Run the command line and return its status.

    A client waits for `serve`, so its options are read without click where they are beyond doubt.
    """
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        from iac_runtime.serve.listing import read_quickly

        raw = read_quickly(arguments[1:])
        if raw is not None:
            return _run_server(raw)
    from iac_mcp.cli.main import main as run

    return run()


def _run_server(raw: dict[str, object]) -> int:
    # Imports leave nothing to collect, and would be looked through a dozen times for it.
    gc.set_threshold(20_000, 20, 20)
    from iac_base.errors import IacError

    try:
        return start_server(raw)
    except IacError as error:
        sys.stderr.write(f"iac-mcp: {error}\n")
        return 2
