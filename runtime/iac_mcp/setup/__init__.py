"""Installing the server and looking after it: clients' files, health, freshness, status."""

__all__ = ["bundle", "checks", "clients", "interpreter", "service"]
