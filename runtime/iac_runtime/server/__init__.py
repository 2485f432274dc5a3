"""The MCP server on the SDK's low-level server: what the front does not answer.

A handler answers every failure with a result that says what it was; only an unknown tool is an
error of the protocol, as the protocol wants it.
"""
