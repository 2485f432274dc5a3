"""Finding tools by what somebody wants to do, and the page of a tool."""

from iac_runtime.search.index import Index, SearchHit
from iac_runtime.search.pages import Page, page, tokens

__all__ = ["Index", "Page", "SearchHit", "page", "tokens"]
