"""Many Macs: one record of what assistants did, in a PostgreSQL database of the team.

The page imports the rooms named here.
"""

__all__ = ["database", "forward", "verify", "versions"]
