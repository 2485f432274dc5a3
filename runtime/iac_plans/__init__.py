"""Plans: a short program over the tools, rehearsed, shown as a table of effects, approved once."""
