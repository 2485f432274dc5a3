"""The command line of the generator, a module for each group of commands."""
