"""What a client is served: the front over standard input and output, what leads behind it, HTTP.

`stdio` reads lines and answers what it can, by the words of `protocol`; `workers` have the rest
answered by `methods` (`call`, `resources`, `tool_pages`). `listing` has what is listed, `rebuild`
the gate behind it all, `status` what runs. `http_sdk` serves the same through the SDK.
"""

__all__ = [
    *("call", "http_sdk", "listing", "methods", "protocol", "rebuild"),
    *("resources", "status", "stdio", "tool_pages", "workers"),
]
