"""Build time: scripting dictionaries in, typed modules out."""

__all__ = ["discover", "pipeline", "quirks"]
