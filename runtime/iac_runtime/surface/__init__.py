"""What a client sees of the tools: which are listed, and the few that find and call the rest."""
