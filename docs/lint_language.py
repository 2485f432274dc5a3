"""Checks the English of pages, help and messages: `python docs/lint_language.py`.

A sentence has at most 20 words in pages and 25 elsewhere, no exclamation mark, no word that the
glossary replaces, and no abbreviation that nobody explained (`docs/language.toml`). Nothing in it
has to be read twice: a parenthesis of doubt, "what lies", a negation of a negation.
Commands in pages exist, with their
options; links lead to a page and a heading. `--sentences` prints every sentence with its source.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from markdown_it import MarkdownIt
from markdown_it.token import Token

from iac_fleet.cli import cli as fleet
from iac_gen.cli import cli as gen
from iac_gen.toolsets import read_docstring
from iac_mcp.cli.main import cli as mcp
from iac_scenario.cli import cli as scenario

ROOT: Final = Path(__file__).resolve().parent.parent
LONGEST: Final = 25
LONGEST_OF_PAGES: Final = 20
PROGRAMS: Final[dict[str, click.Command]] = {
    "iac-fleet": fleet, "iac-gen": gen, "iac-mcp": mcp, "iac-scenario": scenario
}  # fmt: skip
_RULES: Final = tomllib.loads((ROOT / "docs/language.toml").read_text("utf-8"))
_INSTEAD: Final = {
    re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE): use
    for pattern, use in _RULES["instead"].items()
}
_NAMES: Final = frozenset(f"{_RULES['names']['known']} {_RULES['names']['typed']}".split())
_EXPLAINED: Final[dict[str, str]] = _RULES["names"]["explained"]
_ABBREVIATION: Final = re.compile(r"\b[A-Z]{2,}s?\b")
_END: Final = re.compile(r"(?<=[.?!])[\"”)*_]*\s+(?=[\"“(*_`]*[A-Z`0-9{…])")
_SQL: Final = re.compile(r"\b(?:SELECT|WHERE|DELETE FROM|ORDER BY|UPDATE \w+ SET)\b")
_COMMAND: Final = re.compile(r"(?:^|[\s/])(iac-(?:fleet|gen|mcp|scenario)) ([^|>#\n]*)")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_SENTENCE: Final = re.compile(r"[A-Z`{][^\n]* [^\n]* [^\n]*[.?:]")
_READ_TWICE: Final = {
    "parenthesis of doubt": r"\((?:any more|if any|or not|perhaps|maybe|probably|mostly)\b",
    '"what lies"': r"\bwhat\b[^.;:]{0,60}\blies\b",
    "negation of a negation": (
        r"\b(?:not|never|nothing|nobody|none|cannot|no)\b(?! longer| more\b| only)"
        r"(?:(?!\b(?:and|or|but|nor|so)\b)[^.,;:()]){0,50}?"
        r"\b(?:without|nothing|nobody|never|not)\b"
    ),
}
_CODE: Final = ("code_inline", "fence", "code_block")
_SAYS: Final = re.compile(
    r"(?:[a-z_]*(?:echo|fail|fail_at|_error|wrong|confirm|warning|problem|ok|note|dangerous)|[A-Z]\w+)\Z"
)
"""Calls whose texts a person or a model reads: what prints, and constructors."""


class Sentence(NamedTuple):
    """A sentence and where it stands; `code` stands for each piece of code in it."""

    where: str
    text: str


def pages() -> list[Path]:
    """Return the pages that people write; others are made from code or data that is checked."""
    made = {ROOT / "docs/gallery.md", ROOT / "docs/questions.md"}
    found = [ROOT.glob("*.md"), ROOT.glob("docs/*.md"), ROOT.glob("docs/how-to/*.md")]
    every = sorted(page for pages in found for page in pages)
    return [page for page in every if page not in made and page.name != "CHANGELOG.md"]


def split(where: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text."""
    for part in _END.split(" ".join(text.split())):
        if part.strip():
            yield Sentence(where, part.strip())


def of_page(page: Path) -> Iterator[Sentence]:
    """Yield the sentences of a page: paragraphs, items and cells, without blocks of code.

    A cell is a list of phrases, with semicolons between them.
    """
    cell = False
    for token in _tokens(page):
        cell = token.type in ("td_open", "th_open") or (cell and token.type == "inline")
        if token.type == "inline" and token.map:
            text = "".join(_plain(child) for child in token.children or ())
            for part in text.split("; ") if cell else [text]:
                yield from split(f"{page.relative_to(ROOT)}:{token.map[0] + 1}", part)


def wrong_links(page: Path) -> Iterator[str]:
    """Yield the links of a page that lead to no file, or to no heading of one."""
    for link in _LINK.findall(re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)):
        target, _, heading = link.partition("#")
        file = page.parent / target if target else page
        if "://" not in link and not (file.exists() and (not heading or heading in _slugs(file))):
            yield f"{page.relative_to(ROOT)}: {link} leads nowhere"


def _slugs(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def wrong_commands(page: Path) -> Iterator[str]:
    """Yield the commands and options in the code of a page that no program has."""
    for token in _tokens(page):
        pieces = [one for one in (*(token.children or ()), token) if one.type in _CODE]
        for program, rest in (found for one in pieces for found in _COMMAND.findall(one.content)):
            if wrong := _unknown(PROGRAMS[program], rest.split()):
                yield f"{page.relative_to(ROOT)}: {program} {rest.strip()}: {wrong} is unknown"


def _unknown(command: click.Command, words: list[str]) -> str:
    """Return the first command or option of a line that does not exist."""
    known = {"--help", "-h"}
    while True:
        known |= {opt for param in command.params for opt in (*param.opts, *param.secondary_opts)}
        rest = [word for word in words if not word.startswith("-")]
        if not isinstance(command, click.Group) or not rest or not rest[0].islower():
            break
        inner = command.get_command(click.Context(command), rest[0].rstrip(",.:;"))
        if inner is None:
            return rest[0]
        words.remove(rest[0])
        command = inner
    own, _, passed = f" {' '.join(words)}".partition(" -- ")
    if passed and command.name == "install":
        return _unknown(mcp, ["serve", *passed.split()])
    options = [word.partition("=")[0] for word in own.split() if re.match(r"--[a-z]", word)]
    return next((word for word in options if word.rstrip(",.") not in known), "")


def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))


def _plain(token: Token) -> str:
    if token.type == "code_inline":
        return f"`{token.content}`"
    return " " if token.type in ("softbreak", "hardbreak") else token.content


def of_help() -> Iterator[Sentence]:
    """Yield the sentences of every command's help and options."""
    for program, cli in PROGRAMS.items():
        for words, command in _commands(cli, (program,)):
            where = " ".join(words)
            for block in (command.help or "").partition("Examples:")[0].split("\n\n"):
                yield from split(where, block.replace("\b", ""))
            for option in command.params:
                yield from split(f"{where} {option.opts[0]}", getattr(option, "help", None) or "")


def _commands(
    command: click.Command, words: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _commands(inner, (*words, name))


def of_code() -> Iterator[Sentence]:
    """Yield the sentences that the code says."""
    for file, line, text in messages():
        yield from split(f"{file.relative_to(ROOT)}:{line}", text)


def messages() -> Iterator[tuple[Path, int, str]]:
    """Yield file, line and text of all that the code says: of errors, answers and prints.

    Lines of data are 1.
    """
    for source in ("runtime", "generator"):
        for file in sorted((ROOT / source).rglob("*.py")):
            for line, text in sorted(_said(ast.parse(file.read_text("utf-8")))):
                yield file, line, text
        for file in sorted((ROOT / source).rglob("*.toml")):
            if file.relative_to(ROOT).as_posix() not in _RULES["data"]["other"]:
                for text in _values(tomllib.loads(file.read_text("utf-8"))):
                    if _SENTENCE.fullmatch(text.strip()):
                        yield file, 1, text


def _said(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of each literal that somebody reads, and of the docstring of a tool."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, told = waiting.pop()
        if isinstance(node, ast.expr) and (text := _text(node)):
            sentence = told or _SENTENCE.fullmatch(text.strip())
            if text.count(" ") > 2 and sentence and not _SQL.search(text):
                yield node.lineno, text
            continue
        if isinstance(node, ast.FunctionDef) and any(map(_is_tool, node.decorator_list)):
            # A client reads the docstring of a tool.
            purpose, described = read_docstring(ast.get_docstring(node) or "")
            yield from ((node.lineno, text) for text in (purpose, *described.values()) if text)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            told = bool(_SAYS.match(getattr(node.func, "id", name)))
        else:
            told = told and isinstance(node, ast.keyword | ast.IfExp)
        waiting += ((child, told) for child in ast.iter_child_nodes(node) if not _is_index(child))


def _is_tool(decorator: ast.expr) -> bool:
    name = getattr(decorator.func, "id", "") if isinstance(decorator, ast.Call) else ""
    return name in ("tool", "_script_tool", "acting_tool")


def _is_index(node: ast.AST) -> bool:
    """Say whether this is the words that a search finds a tool by; nobody reads them."""
    return isinstance(node, ast.keyword) and node.arg == "words"


def _text(node: ast.expr) -> str:
    """Return what a literal says; a value in it is `…`."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "`…`" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return ""


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _values(inner)


def sentences() -> Iterator[Sentence]:
    """Yield every sentence that is checked."""
    for page in pages():
        yield from of_page(page)
    yield from of_help()
    yield from of_code()


def faults(sentence: Sentence) -> Iterator[str]:
    """Yield what is wrong with a sentence."""
    plain = re.sub(r"`[^`]*`|https?://\S+", "code", sentence.text)
    count = len(re.findall(r"[^\W_][\w'’.-]*", plain))
    if count > (LONGEST_OF_PAGES if ".md:" in sentence.where else LONGEST):
        yield f"{count} words"
    if re.search(r"\w!", plain):
        yield "exclamation mark"
    for name, pattern in _READ_TWICE.items():
        if re.search(pattern, plain, re.IGNORECASE):
            yield name
    for wrong_words, use in _INSTEAD.items():
        if found := wrong_words.search(plain):
            yield f'"{found.group()}": say {use}'
    for name in sorted({found.rstrip("s") for found in _ABBREVIATION.findall(plain)}):
        if name not in _NAMES and name not in _EXPLAINED:
            yield f"{name} is explained nowhere (docs/language.toml)"


def wrong() -> Iterator[str]:
    """Yield everything that is wrong, a line each."""
    for one in sentences():
        for fault in faults(one):
            yield f"{one.where}: {fault}: {one.text}"
    for page in pages():
        yield from wrong_commands(page)
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        yield from wrong_links(page)
    for name, place in _EXPLAINED.items():
        if name not in (ROOT / place).read_text("utf-8"):
            yield f"docs/language.toml: {place} does not explain {name}"


if __name__ == "__main__":
    if "--sentences" in sys.argv:
        lines = [f"{one.where}\t{one.text}" for one in sentences()]
    else:
        lines = list(wrong())
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.exit(0 if "--sentences" in sys.argv else bool(lines))
