"""Which tools there are: the folders they lie in, their catalogue, tables and entries."""
