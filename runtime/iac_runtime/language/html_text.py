"""Texts that an app keeps as HTML: written from plain text or Markdown, and compared as plain text.

Which properties they are is in the class tables (`HTML_TEXT`). Without a format, a text is plain:
each line is a block, and `<` and `&` stand for themselves. An app writes HTML otherwise than it was
given it, and drops the address of a link, so what a text says is compared, and addresses are
written out.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING, Any, Final

from iac_base.errors import InvalidParameterError
from iac_base.words import fold_name
from iac_runtime.tools.tables import Operation

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

FORMAT: Final = "text_format"
"""The argument that says how a text is written."""

_NAMES: Final = "a|b|body|code|div|em|font|h[1-6]|html|i|li|ol|p|pre|span|strong|table|td|tr|u|ul"
_OPENED: Final = re.compile(rf"<({_NAMES}|br|hr|img)(?:\s[^<>]*)?/?>", re.I)
_CLOSED: Final = re.compile(rf"</({_NAMES})\s*>", re.I)
_ALONE: Final = frozenset({"br", "hr", "img"})
_BREAK: Final = re.compile(
    r"(?:<br\b[^>]*>\s*)?(?:</(?:div|h[1-6]|li|p|pre|tr)>\s*)+|<br\b[^>]*>\n?", re.I
)
_SPACE: Final = re.compile(r" (?= )|^ ")
_TAG: Final = re.compile(r"<[^>]*>")


def plain_text(html: str) -> str:
    """Return what HTML says, a line a block; an app may leave out the semicolon of an entity."""
    return unescape(_TAG.sub("", _BREAK.sub("\n", html))).replace("\xa0", " ").strip()


def is_html(text: str) -> bool:
    """Say whether a text is plainly HTML: it opens and closes a tag, or breaks a line by one."""
    opened, closed = ({*map(str.lower, tags.findall(text))} for tags in (_OPENED, _CLOSED))
    return bool(opened & (closed | _ALONE))


def says_the_same(first: str, second: str) -> bool:
    """Say whether two texts in HTML have the same words."""
    return plain_text(first).split() == plain_text(second).split()


def as_html(text: str, text_format: str) -> str:
    """Return a text as HTML, one block a line or as its Markdown says."""
    if text_format == "html":
        return text
    if text_format == "markdown":
        return str(_markdown_parser().render(text)).strip()
    # Spaces in a row, and at the start of a line, would be one or none.
    lines = (_SPACE.sub("&nbsp;", escape(line, quote=False)) for line in text.splitlines())
    return "".join(f"<div>{line or '<br>'}</div>" for line in lines)


@lru_cache(maxsize=1)
def _markdown_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})

    def close_link(renderer: Any, tokens: Any, at: int, options: Any, _env: Any) -> str:
        opened = next(token for token in reversed(tokens[:at]) if token.type == "link_open")
        address, shown = str(opened.attrs["href"]), tokens[at - 1].content
        more = "" if address == shown else f" ({escape(address)})"
        return f"{renderer.renderToken(tokens, at, options, {})}{more}"

    parser.add_render_rule("link_close", close_link)
    return parser


def write_html_texts(
    arguments: Mapping[str, Any], tool: Operation, text_format: str, title: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments of an operation with its texts as the app keeps them.

    Where the first line of a text is what the object is called, the name goes into the text.

    Args:
        arguments: Those of the operation, without `FORMAT`.
        tool: What it does.
        text_format: How its texts are written; empty where the call does not say.
        title: The names of the property that is the first line, and of that which has it; none
            where a new object has no such.

    Raises:
        InvalidParameterError: A text is HTML, and the call does not say so.
    """
    names = tool.tables.html_names

    def write(name: str, value: Any) -> Any:
        if isinstance(value, Mapping) and value.keys() == {"append"}:
            return {"append": write(name, value["append"])}
        if fold_name(name) not in names or not isinstance(value, str):
            return write_all(value) if fold_name(name) == "properties" else value
        if not text_format and is_html(value):
            raise InvalidParameterError(
                f"{name} takes plain text, and this text is HTML: its tags would be written out.",
                f'Add {FORMAT}: "html", or {FORMAT}: "plain" to write the tags as text.',
                give={FORMAT: "html"},
            )
        return as_html(value, text_format)

    def write_all(values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {name: write(name, value) for name, value in values.items()}

    held = [key for key in ("properties", "with_properties") if key in arguments]
    given = {**arguments, **{key: write_all(arguments[key]) for key in held}}
    if title and isinstance(given.get("properties"), Mapping):
        given["properties"] = _with_title(given["properties"], *title)
    return given


def _with_title(given: Mapping[str, Any], title: str, body: str) -> Mapping[str, Any]:
    """Return the properties of a new object with its name as the first line of its text."""
    values, keys = dict(given), {fold_name(key): key for key in given}
    title, body = keys.get(title, ""), keys.get(body, "")
    name, html = values.get(title), values.get(body)
    if isinstance(name, str) and isinstance(html, str):
        if plain_text(html).partition("\n")[0].strip() != name.strip():
            values[body] = f"<div><h1>{escape(name, quote=False)}</h1></div>{html}"
        del values[title]
    return values
