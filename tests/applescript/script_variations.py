"""The same script in other clothes: spelling, spacing, comments, concatenation, blocks."""

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

from script_cases import Case

from iac_applescript.analysis.javascript_tree import scan_javascript
from iac_base.script_tokens import ScriptToken, scan_applescript

Between = Callable[[random.Random], str]


def variations(case: Case, seed: int = 0) -> Iterator[Case]:
    """Yield variations that mean the same, or as much harm."""
    chance = random.Random(f"{seed}{case.script}")
    found = _applescript if case.language == "applescript" else _javascript
    for script in found(case.script, chance):
        if script != case.script:
            yield Case(case.language, script)


def _tokens(script: str, language: str) -> list[ScriptToken]:
    scan = scan_applescript if language == "applescript" else scan_javascript
    found = scan(script)
    return [] if found.faults else [t for t in found.tokens if t.kind != "end"]


def _spread(script: str, tokens: list[ScriptToken], between: Between, chance: random.Random) -> str:
    """Put something into each gap between tokens that is plain space."""
    parts, at = [], 0
    for token, after in pairwise(tokens):
        end = after.start
        gap = script[at:end]
        start = len(gap.rstrip(" \t"))
        if token.start >= at and gap[start:] and "\n" not in gap[start:]:
            # A line that ends behind return ends the statement: nothing is given back.
            ends = gap[:start].endswith("return")
            parts += [gap[:start], " " if ends else between(chance)]
        else:
            parts.append(gap)
        at = end
    return "".join((*parts, script[at:]))


def _cased(script: str, tokens: list[ScriptToken], chance: random.Random) -> str:
    chars = list(script)
    for token in tokens:
        if token.kind == "word":
            for place in range(token.start, token.start + len(token.text)):
                chars[place] = chance.choice((str.upper, str.lower))(chars[place])
    return "".join(chars)


def _split(script: str, tokens: list[ScriptToken], sign: str) -> str:
    """Write each text as two that are joined."""
    for token in reversed(tokens):
        quoted = script[token.start + 1 : token.start + 1 + len(token.text)]
        if token.kind == "string" and len(token.text) > 3 and quoted == token.text:
            middle = token.start + 1 + len(token.text) // 2
            quote = script[token.start]
            script = f"{script[:middle]}{quote} {sign} {quote}{script[middle:]}"
    return script


def _applescript(script: str, chance: random.Random) -> Iterator[str]:
    tokens = _tokens(script, "applescript")
    if tokens:
        yield _cased(script, tokens, chance)
        yield _spread(script, tokens, lambda c: c.choice(("  ", "\t", " \t ")), chance)
        yield _spread(script, tokens, lambda c: c.choice((" ", " (* and *) ")), chance)
        yield _spread(script, tokens, lambda c: c.choice((" ", " ¬\n\t", " ¬ \r\n ")), chance)
        yield _split(script, tokens, "&")
    yield script.replace("application ", "app ")
    yield script.replace("\n", "\r")
    yield script.replace("\n", "\r\n")
    yield f"-- reads only\n{script}\n"
    yield f'set note to "a (* \\" text"\n{script}'
    if (
        not script.startswith(("on ", "use ", "property ", "script ", "to "))
        and "\non " not in script
    ):
        yield f"try\n{script}\non error\nend try"
        yield f"if 1 = 1 then\n{script}\nend if"
        yield f"on go()\n{script}\nend go\ngo()"
        yield f"repeat 1 times\n{script}\nend repeat"
        yield f"ignoring case\n{script}\nend ignoring"


def _javascript(script: str, chance: random.Random) -> Iterator[str]:
    tokens = _tokens(script, "javascript")
    if tokens:
        yield _spread(script, tokens, lambda c: c.choice(("\n", "\t", "  ")), chance)
        yield _spread(script, tokens, lambda c: c.choice((" /* and */ ", " ")), chance)
        yield _split(script, tokens, "+")
    yield f"function run() {{ {script}\n}}"
    yield f"// reads only\n{script}"
    yield f"try {{ {script}\n}} catch (e) {{ }}"
    yield f"const note = `a ${{1 + 1}} \\` text`;\n{script}"
