"""What is odd in a dictionary: rules, and the findings they make."""

from iac_gen.lint.linter import RULES, lint
from iac_gen.lint.rules import Finding

__all__ = ["RULES", "Finding", "lint"]
