"""Finding tools by what somebody wants to do, and the page of a tool."""

from iac_runtime.search.index import Index, SearchHit
from iac_runtime.search.page import ToolPage, count_tokens, tool_page

__all__ = ["Index", "SearchHit", "ToolPage", "count_tokens", "tool_page"]
