"""sed: a script of substitutions and choices of lines; what writes files or runs is not known."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from iac_scenario.errors import ToolError
from iac_scenario.shell.commands import Answer, Place, files_of, options
from iac_scenario.shell.regex import compiled

__all__ = ["sed"]

_NUMBER: Final = re.compile(r"\d+")
_BRACKET: Final = re.compile(r"\[\^?\]?(?:\[:\w+:\]|[^]\n])*\]")
_FLAGS: Final = re.compile(r"(?:[gpiI]|\d+)*")

Address = int | re.Pattern[str]
"""A line's number (0 is the last line), or what it must match."""


class _Rule(NamedTuple):
    """A command, the lines that it is for, and what it needs."""

    first: Address | None
    last: Address | None
    negated: bool
    name: str
    text: str = ""
    search: re.Pattern[str] | None = None
    every: bool = False
    prints: bool = False
    number: int = 1


def sed(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Edit lines; -n -e -E -r -i -s, and the commands s d p q = y a i c."""
    names = {
        "quiet": "n", "silent": "n", "expression": "e", "regexp-extended": "E", "in-place": "i",
        "separate": "s",
    }  # fmt: skip
    asked = options("sed", arguments, "nErsi", "e", names)
    words = list(asked.words)
    if "e" not in asked.values and not words:
        raise ToolError("sed: needs a script.")
    script = "\n".join(asked.all_values.get("e", ())) if "e" in asked.values else words.pop(0)
    rules = _Reader(script, extended=bool(asked.flags & {"E", "r"})).rules()
    in_place = "i" in asked.flags
    if in_place and not words:
        raise ToolError("sed: no input files")
    found, errors = files_of("sed", place, words, given)
    quiet = "n" in asked.flags
    trouble = 2 if errors else 0
    if in_place:
        for name, data in found:
            place.sandbox.write(place.parts(name), _edited([data], rules, quiet=quiet))
        return Answer(errors=tuple(errors), status=trouble)
    contents = [data for _, data in found]
    if "s" in asked.flags:
        out = b"".join(_edited([data], rules, quiet=quiet) for data in contents)
    else:
        out = _edited(contents, rules, quiet=quiet)
    return Answer(out, tuple(errors), trouble)


@dataclass(slots=True)
class _Reader:
    """Reads a script from left to right."""

    script: str
    extended: bool
    at: int = 0

    def rules(self) -> list[_Rule]:
        """Return the commands. Raises ToolError for what is not understood."""
        found: list[_Rule] = []
        while True:
            self._skip(" \t\n;")
            if self.at >= len(self.script):
                return found
            found.append(self._rule())

    def _rule(self) -> _Rule:
        first = self._address()
        last = None
        if first is not None and self._next() == ",":
            self.at += 1
            self._skip(" ")
            last = self._address()
            if last is None:
                raise ToolError("sed: an address is missing after the comma.")
        self._skip(" \t")
        negated = self._next() == "!"
        self.at += negated
        self._skip(" \t")
        name = self._next()
        self.at += 1
        rule = _Rule(first, last, negated, name)
        if name == "s":
            return self._substitution(rule)
        if name == "y":
            return self._exchange(rule)
        if name and name in "aic":
            end = self.script.find("\n", self.at)
            # `a\` and a line end may stand before the text.
            if self.script.startswith("\\\n", self.at):
                self.at += 2
                end = self.script.find("\n", self.at)
            end = len(self.script) if end < 0 else end
            text, self.at = self.script[self.at : end].lstrip(" \t"), end
            return rule._replace(text=text.removeprefix("\\"))
        if not name or name not in "dpq=":
            raise ToolError(f"sed: the command {name or 'at the end'} is not interpreted here.")
        self._ended(name)
        return rule

    def _ended(self, name: str) -> None:
        self._skip(" \t")
        if self._next() not in ("", ";", "\n"):
            raise ToolError(f"sed: {self.script[self.at :]!r} after the command {name}.")

    def _address(self) -> Address | None:
        sign = self._next()
        if (number := _NUMBER.match(self.script, self.at)) is not None:
            self.at = number.end()
            if number[0] == "0" or self._next() == "~":
                raise ToolError("sed: this form of address is not interpreted here.")
            return int(number[0])
        if sign == "$":
            self.at += 1
            return 0
        if sign == "/" or sign == "\\":
            self.at += sign == "\\"
            text = self._until(self._take(), keep_escapes=True)
            fold = self._next() == "I"
            self.at += fold
            return compiled(self._pattern(text), extended=self.extended, fold=fold)
        return None

    def _substitution(self, rule: _Rule) -> _Rule:
        mark = self._take()
        pattern = self._pattern(self._until(mark, keep_escapes=True))
        text = self._until(mark, keep_escapes=True, brackets=False)
        found = _FLAGS.match(self.script, self.at)
        assert found is not None
        self.at = found.end()
        self._ended("s")
        number = _NUMBER.search(found[0])
        return rule._replace(
            text=text,
            search=compiled(pattern, extended=self.extended, fold="i" in found[0].lower()),
            every="g" in found[0],
            prints="p" in found[0],
            number=int(number[0]) if number else 1,
        )

    def _exchange(self, rule: _Rule) -> _Rule:
        mark = self._take()
        old, new = self._until(mark), self._until(mark)
        if len(old) != len(new):
            raise ToolError("sed: the texts of y are not equally long.")
        self._ended("y")
        return rule._replace(text=old + new)

    def _pattern(self, text: str) -> str:
        if not text:
            raise ToolError("sed: an empty pattern is not interpreted here.")
        return text

    def _until(self, mark: str, *, keep_escapes: bool = False, brackets: bool = True) -> str:
        """Return what stands before an unescaped mark; one that is escaped is taken itself."""
        found = ""
        while self.at < len(self.script):
            character = self._take()
            end = self._bracket() if character == "[" and keep_escapes and brackets else None
            if end is not None:
                found += self.script[self.at - 1 : end]
                self.at = end
                continue
            if character == "\\" and self.at < len(self.script):
                follows = self._take()
                if follows == mark:
                    found += follows
                elif keep_escapes:
                    found += character + follows
                else:
                    found += {"n": "\n", "t": "\t"}.get(follows, follows)
                continue
            if character == mark:
                return found
            found += character
        raise ToolError(f"sed: a {mark} is missing.")

    def _bracket(self) -> int | None:
        """Return where the bracket expression ends that has begun, or None if it does not."""
        found = _BRACKET.match(self.script, self.at - 1)
        return None if found is None else found.end()

    def _take(self) -> str:
        if self.at >= len(self.script):
            raise ToolError("sed: the script ends in the middle of a command.")
        self.at += 1
        return self.script[self.at - 1]

    def _next(self) -> str:
        return self.script[self.at : self.at + 1]

    def _skip(self, characters: str) -> None:
        while self._next() and self._next() in characters:
            self.at += 1


def _edited(contents: Sequence[bytes], rules: Sequence[_Rule], *, quiet: bool) -> bytes:
    text = "".join(data.decode("utf-8", "surrogateescape") for data in contents)
    lines = text.split("\n")
    ends_whole = lines[-1] == ""
    if ends_whole:
        lines.pop()
    out: list[str] = []
    open_ranges: dict[int, bool] = {}
    for number, line in enumerate(lines, 1):
        after: list[str] = []
        state = _State(line, number, last=number == len(lines))
        for index, rule in enumerate(rules):
            if not _chosen(rule, index, state, open_ranges):
                continue
            if not _COMMANDS[rule.name](rule, state, out, after):
                break
        if not state.deleted and not quiet:
            out.append(state.line)
        out += after
        if state.ended:
            ends_whole = ends_whole or number < len(lines)
            break
    joined = "\n".join(out) + ("\n" if out and ends_whole else "")
    return joined.encode("utf-8", "surrogateescape")


@dataclass(slots=True)
class _State:
    line: str
    number: int
    last: bool
    deleted: bool = False
    ended: bool = False


def _chosen(rule: _Rule, index: int, state: _State, open_ranges: dict[int, bool]) -> bool:
    if rule.first is None:
        hit = True
    elif rule.last is None:
        hit = _meets(rule.first, state)
    elif open_ranges.get(index):
        hit = True
        ends = _meets(rule.last, state)
        past = isinstance(rule.last, int) and rule.last and state.number >= rule.last
        open_ranges[index] = not (ends or past)
        if isinstance(rule.last, int) and rule.last and state.number > rule.last:
            hit = _meets(rule.first, state)
    else:
        hit = _meets(rule.first, state)
        over = isinstance(rule.last, int) and rule.last and state.number >= rule.last
        open_ranges[index] = hit and not over
    return hit != rule.negated


def _meets(address: Address, state: _State) -> bool:
    if isinstance(address, int):
        return state.last if address == 0 else state.number == address
    return address.search(state.line) is not None


def _substitute(rule: _Rule, state: _State, out: list[str], _after: list[str]) -> bool:
    assert rule.search is not None
    count, end = 0, -1

    def replacement(hit: re.Match[str]) -> str:
        nonlocal count, end
        # Nothing, right after something, is no match of its own; Python takes it for one.
        if hit.start() == hit.end() == end:
            return ""
        count, end = count + 1, hit.end()
        if count < rule.number or (count > rule.number and not rule.every):
            return hit[0]
        return _filled(rule.text, hit)

    state.line = rule.search.sub(replacement, state.line)
    if rule.prints and count >= rule.number:
        out.append(state.line)
    return True


def _filled(text: str, hit: re.Match[str]) -> str:
    def piece(found: re.Match[str]) -> str:
        sign = found[0]
        if sign == "&":
            return hit[0]
        if sign[1].isdigit():
            if int(sign[1]) > hit.re.groups:
                raise ToolError(f"sed: {sign} names no group of the pattern.")
            return hit[int(sign[1])] or ""
        if sign[1] in "ULEul":
            raise ToolError(f"sed: {sign} is not interpreted here.")
        return {"n": "\n", "t": "\t"}.get(sign[1], sign[1])

    return re.sub(r"\\.|&", piece, text, flags=re.DOTALL)


def _delete(_rule: _Rule, state: _State, _out: list[str], _after: list[str]) -> bool:
    state.deleted = True
    return False


def _print(_rule: _Rule, state: _State, out: list[str], _after: list[str]) -> bool:
    out.append(state.line)
    return True


def _number(_rule: _Rule, state: _State, out: list[str], _after: list[str]) -> bool:
    out.append(str(state.number))
    return True


def _quit(_rule: _Rule, state: _State, _out: list[str], _after: list[str]) -> bool:
    state.ended = True
    return False


def _translate(rule: _Rule, state: _State, _out: list[str], _after: list[str]) -> bool:
    half = len(rule.text) // 2
    state.line = state.line.translate(str.maketrans(rule.text[:half], rule.text[half:]))
    return True


def _append(rule: _Rule, _state: _State, _out: list[str], after: list[str]) -> bool:
    after.append(rule.text)
    return True


def _insert(rule: _Rule, _state: _State, out: list[str], _after: list[str]) -> bool:
    out.append(rule.text)
    return True


def _change(rule: _Rule, state: _State, out: list[str], _after: list[str]) -> bool:
    if rule.last is not None:
        raise ToolError("sed: c for a range of lines is not interpreted here.")
    out.append(rule.text)
    state.deleted = True
    return False


_COMMANDS: Final[dict[str, Callable[[_Rule, _State, list[str], list[str]], bool]]] = {
    "s": _substitute, "d": _delete, "p": _print, "q": _quit, "=": _number, "y": _translate,
    "a": _append, "i": _insert, "c": _change,
}  # fmt: skip
