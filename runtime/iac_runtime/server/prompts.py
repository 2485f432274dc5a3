"""Prompts over the protocol: the recipes whose apps are there, and one of them filled in."""

import json
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError

from iac_runtime.errors import IacError, ToolError
from iac_runtime.results import clean
from iac_runtime.surface.guides import guide_text
from iac_runtime.surface.lines import Lines
from iac_runtime.surface.prompts import find_prompt, prompt_text

__all__ = ["prompt_handlers"]


def prompt_handlers(lines: Lines) -> dict[str, Any]:
    """Return the handlers of the SDK's server for prompts, by its keywords."""

    async def list_prompts(_context: Any, _params: Any) -> types.ListPromptsResult:
        try:
            rows = await anyio.to_thread.run_sync(lines.prompts)
        except IacError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        return types.ListPromptsResult(
            prompts=[types.Prompt.model_validate(json.loads(row)) for row in rows]
        )

    async def get_prompt(
        _context: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        try:
            prompt = find_prompt(params.name, await anyio.to_thread.run_sync(lines.app_ids))
            given = clean(params.arguments or {})
            text = prompt_text(prompt, given)
            if prompt.guide:
                guide = await anyio.to_thread.run_sync(guide_text, given[prompt.guide])
                text = f"{text}\n\n{guide}"
        except ToolError as error:
            raise MCPError(types.INVALID_PARAMS, str(clean(str(error)))) from None
        except IacError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    return {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt}
