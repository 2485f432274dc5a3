"""The entry point of `iac-mcp`: it can be read by any Python 3, to say which one is needed."""

import sys

__all__ = ["main"]


def main():  # type: () -> int
    """Run the command line; an interpreter that is too old gets one line and status 2."""
    if sys.version_info < (3, 11):  # noqa: UP036
        found = ".".join(str(part) for part in sys.version_info[:3])
        sys.stderr.write(
            "iac-mcp needs Python 3.11 or newer, but this is %s (%s). "
            "Install one from python.org and install iac there.\n" % (found, sys.executable)
        )
        return 2
    from iac_runtime.cli import main as run

    return run()
