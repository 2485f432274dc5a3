"""AppleScript on the simulated apps: the parser's tree is carried out, events go as JXA's do."""
