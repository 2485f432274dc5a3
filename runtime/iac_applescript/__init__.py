"""Raw scripts with judgement: analyse, run, explain, and remember what works.

Bottom up: `analysis` (words, tokens, the readers of both languages); beside it the store of what
worked, the causes of failures, dictionary views with the guides, kept scripts; on top `tools`: a
function each, and what it does. Others import the rooms named here.
"""

__all__ = [
    "analysis",
    "cli_patterns",
    "dictionary",
    "failures",
    "library",
    "patterns",
    "store",
    "tools",
]
