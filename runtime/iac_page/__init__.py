"""The local page: what assistants may do, what they did, and what waits for an answer."""
