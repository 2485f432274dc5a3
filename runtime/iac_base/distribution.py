"""What the package is called where it is installed from: `iac` alone is a stranger's project."""

from typing import Final

DISTRIBUTION: Final = "iac-for-mac"
"""Its name in pyproject.toml, and on an index."""


def pip_install(extra: str = "") -> str:
    """Return the command that installs the package, with an extra of it if one is given."""
    return f"pip install '{DISTRIBUTION}[{extra}]'" if extra else f"pip install {DISTRIBUTION}"
