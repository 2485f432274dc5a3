"""What every package here stands on: reading, writing and hiding text. Knows nothing of tools."""
