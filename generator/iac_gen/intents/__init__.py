"""App Intents: the second source of tools, read into the same dictionary."""
