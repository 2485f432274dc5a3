"""App Intents: the second source of tools, read into the same dictionary."""

from iac_gen.intents.read import MetadataPart, read_intents, read_part

__all__ = ["MetadataPart", "read_intents", "read_part"]
