"""What a script would do: its tokens, its statements, its level and the reasons.

`analyser` asks the readers of both languages; the other rooms named here are shared with who wraps
and runs scripts.
"""

__all__ = [
    "analyser",
    "applescript_shapes",
    "applescript_units",
    "constructs",
    "findings",
    "javascript_tree",
    "vocabulary",
]
