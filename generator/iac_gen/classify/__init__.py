"""The levels of tools, decided from codes, apps, access and words."""
