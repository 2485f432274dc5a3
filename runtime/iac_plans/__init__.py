"""Plans: a short program over the tools, rehearsed, shown as a table of effects, approved once.

Others import the rooms named here.
"""

__all__ = ["check", "interpreter", "store", "tools"]
