"""`python -m iac_gen` is `iac-gen`."""

from iac_gen.entry import main

main()
