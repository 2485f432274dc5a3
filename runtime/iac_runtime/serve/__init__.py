"""What a client is served: the front, the sessions behind it, listings, pages, resources."""
