"""The entry point of `iac-mcp`: what a start pays for before the command is known."""

__all__ = ["main"]


def main() -> int:
    """Run the command line and return its status."""
    from iac_runtime.cli import main as run

    return run()
