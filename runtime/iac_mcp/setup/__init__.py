"""Installing the server and looking after it: clients' files, health, freshness, status."""
