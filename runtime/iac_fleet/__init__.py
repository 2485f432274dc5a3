"""Many Macs: one record of what assistants did, in a PostgreSQL database of the team."""
