"""Writing references: `notes.get(f"notes[{ref.text(name)}]")`, whatever stands in the name."""

from iac_base.text import text_literal

__all__ = ["text"]


def text(value: str) -> str:
    r"""Return `value` as a text in a reference or a filter, quotes included: `"He said \"hi\""`."""
    return text_literal(value)
