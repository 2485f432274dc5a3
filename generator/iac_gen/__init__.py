"""Build time: scripting dictionaries in, typed modules out."""
