"""The entry point of `iac-scenario`."""


def main() -> int:
    """Run the command line and return its status."""
    from iac_scenario.cli import main as run

    return run()
