"""The entry point of `iac-fleet`."""

import sys

from iac_base.errors import pip_install


def main() -> int:
    """Run the command line and return its status."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        sys.stderr.write(f"iac-fleet needs psycopg: {pip_install('fleet')}\n")
        return 2
    from iac_fleet.cli import main as run

    return run()
