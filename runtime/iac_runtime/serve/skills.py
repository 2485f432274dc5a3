"""Guides as skills that a client reads over MCP: `skills/list`, `skills/get`, `skill://` resources.

A skill is a folder of the Agent Skills format: a guide, and the library's scripts of its app. Each
file has the digest of what is read, so that a client can see whether that is what it listed.
Source: the extension io.modelcontextprotocol/skills (SEP-2640), for 2026-07-28.
"""

from hashlib import sha256
from typing import Any, Final

from iac_base.errors import InvalidParameterError, quote_text
from iac_runtime.tools.own import toolset_guides

SCHEME: Final = "skill://"
_HEAD: Final = "SKILL.md"


def skill_entries() -> list[dict[str, Any]]:
    """Return the entries of `skills/list`."""
    return [_skill_entry(guide) for guide in _guides().values()]


def find_skill_entry(uri: str) -> dict[str, Any]:
    """Return the entry of a skill by the address of its SKILL.md.

    Raises:
        InvalidParameterError: No skill has this address; the nearest are named.
    """
    known = {_address(guide, _HEAD): guide for guide in _guides().values()}
    if uri not in known:
        missing = f"There is no skill {quote_text(uri)}."
        raise InvalidParameterError(missing, said=uri, known=known)
    return _skill_entry(known[uri])


def read_skill_file(uri: str) -> tuple[str, str]:
    """Return the text of a file of a skill, and its MIME type.

    Raises:
        InvalidParameterError: No file has this address; the nearest are named.
    """
    slug, _, path = uri.removeprefix(SCHEME).partition("/")
    guide = _guides().get(slug)
    files = guide.files if guide else {}
    if path not in files:
        known = [_address(one, _HEAD) for one in _guides().values()]
        known += [_address(guide, name) for name in files]
        missing = f"There is no resource {quote_text(uri)}."
        raise InvalidParameterError(missing, said=uri, known=known)
    return files[path], "text/markdown" if path == _HEAD else "text/plain"


def _guides() -> dict[str, Any]:
    return {guide.slug: guide for guide in toolset_guides().values()}


def _address(guide: Any, path: str) -> str:
    return f"{SCHEME}{guide.slug}/{path}"


def _skill_entry(guide: Any) -> dict[str, Any]:
    contents = {path: text.encode() for path, text in guide.files.items()}
    return {
        "uri": _address(guide, _HEAD),
        "frontmatter": {"name": guide.slug, "description": guide.description},
        "resources": [
            {
                "uri": _address(guide, path),
                "digest": f"sha256:{sha256(content).hexdigest()}",
                "size": len(content),
            }
            for path, content in contents.items()
        ],
    }
