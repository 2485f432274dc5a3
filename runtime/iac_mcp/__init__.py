"""The program iac-mcp: serving, its commands (`cli`), clients' files (`setup`), HTTP (`http`)."""

from collections.abc import Mapping

__all__ = ["cli", "entry", "http", "setup", "start_server"]


def start_server(raw: Mapping[str, object]) -> int:
    """Serve on standard input and output, or over HTTP; `raw` are the options by name, as texts.

    Raises:
        SetupError: An option, a folder or the policy is not right.
    """
    if raw.get("http"):
        from iac_mcp.http.serve import serve_http

        return serve_http(raw)
    from iac_base.errors import SetupError
    from iac_runtime.serve.listing import HTTP_OPTIONS
    from iac_runtime.serve.stdio import run_server

    for option in HTTP_OPTIONS:
        if raw.get(option.name):
            raise SetupError(f"{option.flag} needs --http: iac-mcp serve --http {option.flag} ...")
    return run_server(raw)
