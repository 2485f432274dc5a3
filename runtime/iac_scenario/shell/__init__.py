"""The interpreted Bash: a line is read, filled in, and run without a shell."""
