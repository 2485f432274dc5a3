"""What is odd in a dictionary: rules, and the findings they make."""

from iac_gen.lint.facts import LintFinding
from iac_gen.lint.rules import RULES, lint_source

__all__ = ["RULES", "LintFinding", "lint_source"]
