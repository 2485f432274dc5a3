"""The server over HTTP: clients with tokens, who may come in, and what each may use."""

__all__ = ["clients", "guard", "negotiation", "serve"]
