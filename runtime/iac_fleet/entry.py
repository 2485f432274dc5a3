"""The entry point of `iac-fleet`."""

import sys

from iac_base.errors import missing_packages


def main() -> int:
    """Run the command line and return its status."""
    if missing := missing_packages("iac-fleet", "fleet", ("cryptography", "psycopg")):
        sys.stderr.write(f"{missing}\n")
        return 2
    from iac_fleet.cli import main as run

    return run()
