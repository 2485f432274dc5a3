"""The version of the package: a constant, for reading it from the metadata takes a start 20 ms."""

from typing import Final

VERSION: Final = "0.1.0"
