"""AppleScript's parser: tokens and the terms of the told apps give a syntax tree.

Terms are found inside out, the longest first: those of the app that the nearest `tell` names, of
Standard Additions, of the language. Sources: AppleScript Language Guide, "Lexical Conventions",
"Operators Reference" (order of operators), "Control Statements Reference", "Commands Reference".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from iac_runtime.language import applescript_tree as tree
from iac_runtime.language.script_tokens import ScriptToken, scan_applescript

Use = Literal["property", "class", "constant", "command"]


class Term(NamedTuple):
    """A word: of a class `plural` says how it is spelled, of a command `labels` its parameters."""

    use: Use
    term: str
    plural: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Terms:
    """The words of a dictionary by their spelling; `longest` is the most words that one has."""

    words: Mapping[str, tuple[Term, ...]]
    longest: int


class ScriptSyntaxError(Exception):
    """A script cannot be read, or has a construct that is not run: `named` says which."""

    def __init__(self, message: str, start: int, *, named: bool = False) -> None:
        super().__init__(message)
        self.message, self.start, self.named = message, start, named


_LOOSE: Final = {"or": 1, "and": 2}
_COMPARED: Final[Mapping[tuple[str, ...], str]] = {
    tuple(phrase.split()): sign
    for sign, phrases in {
        "=": "is equal to|is equal|equals|equal to|is|=",
        "≠": "is not equal to|is not equal|isn't equal to|does not equal|is not|isn't|/=|≠",
        ">": "is greater than|greater than|comes after|is not less than or equal to|>",
        "<": "is less than|less than|comes before|is not greater than or equal to|<",
        "≥": "is greater than or equal to|is not less than|does not come before|>=|≥",
        "≤": "is less than or equal to|is not greater than|does not come after|<=|≤",
        "contains": "contains|contain",
        "not contains": "does not contain|doesn't contain",
        "in": "is in|is contained by",
        "not in": "is not in|is not contained by|isn't in",
        "begins": "starts with|begins with|start with|begin with",
        "ends": "ends with|end with",
    }.items()
    for phrase in phrases.split("|")
}
_ARITHMETIC: Final = {"&": 1, "+": 2, "-": 2, "*": 3, "/": 3, "÷": 3, "div": 3, "mod": 3, "^": 4}
_ORDINALS: Final = {
    word: place
    for place, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
} | {"last": -1, "back": -1, "front": 1}
_CONSTANTS: Final = {"true": True, "false": False}
_RELATION: Final = frozenset(("of", "in"))
_WHOSE: Final = frozenset(("whose", "where"))
_PREPOSITIONS: Final = frozenset(
    "about above against apart around aside at below beneath beside between by for from given"
    " instead into on onto out over since thru through under".split()
)
_ENDS_OPERAND: Final = frozenset(
    "then else to of in and or with without given whose where from by as is thru through".split()
)
_DEEPEST: Final = 60


class _Parser:
    def __init__(
        self,
        tokens: Sequence[ScriptToken],
        find: Callable[[str], Terms | None],
        common: Sequence[Terms],
    ) -> None:
        self.tokens, self.find, self.at, self.depth = tokens, find, 0, 0
        self.sight: tuple[Terms, ...] = tuple(common)
        self.common = len(self.sight)
        self.labels: tuple[str, ...] = ()
        self.own: set[str] = set()
        self.labeled = {
            after.folded: True
            for before, after, third in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if before.folded in ("on", "to")
            and after.kind == "word"
            and (third.folded in _PREPOSITIONS or third.folded == "of")
        }

    # ---- tokens

    @property
    def token(self) -> ScriptToken:
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    def word(self, ahead: int = 0) -> str:
        """Return the word or sign at a place; empty for a text, a name in bars and at the end."""
        place = self.at + ahead
        if place >= len(self.tokens):
            return ""
        token = self.tokens[place]
        if token.kind == "sign" and token.text == "’s":
            return "'s"
        return token.folded if token.kind in ("word", "sign") else ""

    def at_end(self) -> bool:
        """Say whether the line ends here."""
        return self.token.kind == "end"

    def is_next(self, *words: str) -> bool:
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        if self.is_next(*words):
            self.at += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.error(f"Expected “{' '.join(words)}” but found {self.found()}.")

    def found(self) -> str:
        return "end of line" if self.at_end() else f"“{self.token.text}”"

    def error(self, message: str) -> ScriptSyntaxError:
        return ScriptSyntaxError(message, self.token.start)

    def skip_lines(self) -> None:
        while self.at < len(self.tokens) and self.at_end():
            self.at += 1

    def end_line(self) -> None:
        if self.at < len(self.tokens) and not self.at_end():
            raise self.error(f"Expected end of line but found {self.found()}.")
        self.skip_lines()

    # ---- terms

    def find_term(self, *uses: Use) -> tuple[Term, int] | None:
        """Return the longest term here that has one of these uses, and how many words it has."""
        best: tuple[Term, int] | None = None
        for terms in reversed(self.sight):
            words: list[str] = []
            for count in range(1, terms.longest + 1):
                if self.at + count > len(self.tokens):
                    break
                token = self.tokens[self.at + count - 1]
                if token.kind != "word":
                    break
                words.append(token.folded)
                rows = terms.words.get(" ".join(words), ())
                row = next((row for use in uses for row in rows if row.use == use), None)
                if row is not None and (best is None or count > best[1]):
                    best = (row, count)
        return best

    def take_name(self) -> str:
        token = self.token
        if token.kind not in ("word", "quoted"):
            raise self.error(f"Expected a variable name but found {self.found()}.")
        self.at += 1
        return token.folded

    # ---- statements

    def read_script(self, name: str, start: int, *ends: str) -> tree.Script:
        body = self.read_block(*ends)
        handlers = {row.name: row for row in body if isinstance(row, tree.Handler)}
        rest = tuple(row for row in body if not isinstance(row, tree.Handler))
        return tree.Script(start, name, rest, handlers)

    def read_block(self, *ends: str) -> tuple[tree.Node, ...]:
        """Read statements until a line that begins with one of `ends`, which stays."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error("The script is nested too deeply.")
        statements: list[tree.Node] = []
        self.skip_lines()
        while self.at < len(self.tokens):
            if any(self.is_next(*end.split()) for end in ends):
                self.depth -= 1
                return tuple(statements)
            statements.append(self.read_statement())
            self.skip_lines()
        if ends:
            raise self.error(f"Expected “{ends[0]}” but found end of script.")
        self.depth -= 1
        return tuple(statements)

    def close(self) -> None:
        self.expect("end")
        while self.at < len(self.tokens) and not self.at_end():
            self.at += 1
        self.skip_lines()

    def read_statement(self) -> tree.Node:
        start, word = self.token.start, self.word()
        reader = _STATEMENTS.get(word)
        if word == "with" and self.word(1) not in ("timeout", "transaction"):
            reader = None
        command = self.find_term("command")
        if command is not None and command[1] > 1:
            reader = None
        if word == "to" or (word == "on" and self.word(1) != "error"):
            reader = _Parser.read_handler
        if reader is not None:
            self.at += 1
            return reader(self, start)
        value = self.read_expression()
        return tree.Evaluate(start, value)

    def read_tell(self, start: int) -> tree.Node:
        target = self.read_expression()
        before = self.sight
        app = _application_name(target)
        if app is not None:
            terms = self.find(app)
            self.sight = before[: self.common] + ((terms,) if terms else ())
        elif isinstance(target, tree.Name) and target.name == "me":
            self.sight = before[: self.common]
        try:
            if self.accept("to"):
                return tree.Tell(start, target, (self.read_statement(),))
            self.end_line()
            body = self.read_block("end")
            self.close()
        finally:
            self.sight = before
        return tree.Tell(start, target, body)

    def read_if(self, start: int) -> tree.Node:
        test = self.read_expression()
        self.accept("then")
        branches: list[tuple[tree.Node | None, tuple[tree.Node, ...]]] = []
        if not self.at_end():
            branches.append((test, (self.read_statement(),)))
            if self.accept("else"):
                branches.append((None, (self.read_statement(),)))
            return tree.If(start, tuple(branches))
        branches.append((test, self.read_block("else", "end")))
        while self.accept("else"):
            if self.accept("if"):
                test = self.read_expression()
                self.accept("then")
                branches.append((test, self.read_block("else", "end")))
            else:
                branches.append((None, self.read_block("end")))
        self.close()
        return tree.If(start, tuple(branches))

    def read_repeat(self, start: int) -> tree.Node:
        form, variable, values = "ever", "", []
        if self.word() in ("while", "until"):
            form = self.word()
            self.at += 1
            values.append(self.read_expression())
        elif self.accept("with"):
            variable = self.take_name()
            self.own.add(variable)
            form = "from" if self.accept("from") else "in"
            if form == "in":
                self.expect("in")
            values.append(self.read_expression())
            if form == "from":
                self.expect("to")
                values.append(self.read_expression())
                if self.accept("by"):
                    values.append(self.read_expression())
        elif not self.at_end():
            form = "times"
            values.append(self.read_expression())
            self.accept("times")
        self.end_line()
        body = self.read_block("end")
        self.close()
        return tree.Repeat(start, form, body, variable, tuple(values))

    def read_try(self, start: int) -> tree.Node:
        self.end_line()
        body = self.read_block("on error", "end")
        names: list[tuple[str, str]] = []
        handler: tuple[tree.Node, ...] = ()
        if self.accept("on", "error"):
            label = ""
            while not self.at_end():
                if self.word() in ("number", "from", "to") and label != self.word():
                    label = self.word()
                    self.at += 1
                elif self.accept("partial", "result"):
                    label = "partial result"
                names.append((label, self.take_name()))
                self.own.add(names[-1][1])
            handler = self.read_block("end")
        self.close()
        return tree.Try(start, body, handler, tuple(names))

    def read_error(self, start: int) -> tree.Node:
        labels = ("number", "partial result", "from", "to")
        starts = self.at_end() or self.word() in ("number", "partial", "from", "to")
        message = None if starts else self.read_operand(labels)
        return tree.Raise(start, message, self.read_parameters(labels))

    def read_set(self, start: int) -> tree.Node:
        outer, self.labels = self.labels, ("to",)
        target = self.read_expression()
        self.labels = outer
        self.expect("to")
        self.note_own(target)
        return tree.Assign(start, target, self.read_expression())

    def read_copy(self, start: int) -> tree.Node:
        value = self.read_expression()
        self.expect("to")
        target = self.read_expression()
        self.note_own(target)
        return tree.Assign(start, target, value, copies=True)

    def note_own(self, target: tree.Node) -> None:
        if isinstance(target, tree.Name):
            self.own.add(target.name)
        elif isinstance(target, tree.ListOf):
            for item in target.items:
                self.note_own(item)

    def read_return(self, start: int) -> tree.Node:
        value = None if self.at_end() else self.read_expression()
        return tree.Leave(start, "return", value)

    def read_exit(self, start: int) -> tree.Node:
        self.accept("repeat")
        return tree.Leave(start, "exit")

    def read_with(self, start: int) -> tree.Node:
        value = None
        kind = self.word()
        self.at += 1
        if kind == "timeout" and self.accept("of"):
            value = self.read_expression()
            self.accept("seconds")
            self.accept("second")
        self.end_line()
        body = self.read_block("end")
        self.close()
        return tree.Within(start, kind, (), body, value)

    def read_considering(self, start: int) -> tree.Node:
        kind = self.tokens[self.at - 1].folded
        words: list[str] = []
        while not self.at_end():
            words.append(self.word())
            self.at += 1
        text = " ".join(words).replace("application responses", "responses")
        parts = tuple(part for part in text.replace(",", " ").split() if part not in ("and",))
        self.end_line()
        body = self.read_block("end")
        self.close()
        return tree.Within(start, kind, parts, body)

    def read_using(self, start: int) -> tree.Node:
        self.expect("terms", "from")
        target = self.read_expression()
        before, app = self.sight, _application_name(target)
        terms = self.find(app) if app is not None else None
        self.sight = before + ((terms,) if terms else ())
        self.end_line()
        body = self.read_block("end")
        self.close()
        self.sight = before
        return tree.Within(start, "using", (), body)

    def read_use(self, start: int) -> tree.Node:
        if self.word() == "script":
            raise ScriptSyntaxError("use script", start, named=True)
        while not self.at_end():
            self.at += 1
        return tree.Within(start, "use", (), ())

    def read_names(self, start: int) -> tree.Node:
        kind = self.tokens[self.at - 1].folded
        names = [self.take_name()]
        while self.accept(","):
            names.append(self.take_name())
        self.own.update(names)
        return tree.Declare(start, kind, tuple(names))

    def read_property(self, start: int) -> tree.Node:
        name = self.take_name()
        self.own.add(name)
        self.expect(":")
        return tree.Declare(start, "property", (name,), self.read_expression())

    def read_object(self, start: int) -> tree.Node:
        name = "" if self.at_end() else self.take_name()
        self.own.add(name)
        self.end_line()
        script = self.read_script(name, start, "end script", "end")
        self.close()
        return script

    def read_handler(self, start: int) -> tree.Node:
        name = self.take_name()
        parameters: list[tree.Node] = []
        labels: list[str] = []
        if self.accept("("):
            while not self.accept(")"):
                parameters.append(self.read_pattern())
                self.accept(",")
        else:
            while not self.at_end():
                label = "of" if self.word() in _RELATION else self.word()
                if label == "given":
                    self.at += 1
                    while not self.at_end():
                        labels.append(self.take_name())
                        self.expect(":")
                        parameters.append(self.read_pattern())
                        self.accept(",")
                    break
                if label in _PREPOSITIONS or label == "of":
                    self.at += 1
                else:
                    label = "of"
                labels.append(label)
                parameters.append(self.read_pattern())
        self.end_line()
        before, self.own = self.own, set(self.own)
        for pattern in parameters:
            self.note_own(pattern)
        body = self.read_block("end")
        self.own = before
        self.close()
        return tree.Handler(start, name, tuple(parameters), tuple(labels), body)

    def read_pattern(self) -> tree.Node:
        start = self.token.start
        if self.accept("{"):
            items = []
            while not self.accept("}"):
                items.append(self.read_pattern())
                self.accept(",")
            return tree.ListOf(start, tuple(items))
        return tree.Name(start, self.take_name())

    # ---- expressions, loosest first

    def read_operand(self, labels: tuple[str, ...]) -> tree.Node:
        outer, self.labels = self.labels, labels
        try:
            return self.read_expression()
        finally:
            self.labels = outer

    def read_labeled_chain(self, labels: tuple[str, ...]) -> tree.Node:
        outer, self.labels = self.labels, labels
        try:
            return self.read_chain()
        finally:
            self.labels = outer

    def at_label(self) -> str:
        """Return the label of a parameter that stands here, the longest; else empty."""
        found = (label for label in self.labels if self.is_next(*label.split()))
        return max(found, key=len, default="")

    def read_expression(self, above: int = 0) -> tree.Node:
        self.depth += 1
        if self.depth > 4 * _DEEPEST:
            raise self.error("The script is nested too deeply.")
        left = self.read_not() if above < 3 else self.read_comparison()
        while (rank := _LOOSE.get(self.word(), 0)) > above:
            start, operator = self.token.start, self.word()
            self.at += 1
            left = tree.Operation(start, operator, (left, self.read_expression(rank)))
        self.depth -= 1
        return left

    def read_not(self) -> tree.Node:
        start = self.token.start
        if self.accept("not"):
            return tree.Operation(start, "not", (self.read_not(),))
        return self.read_comparison()

    def read_comparison(self) -> tree.Node:
        left = self.read_coercion()
        while True:
            start = self.token.start
            found = max((row for row in _COMPARED if self.is_next(*row)), key=len, default=None)
            if self.is_next("exists") and not self.at_label():
                self.at += 1
                left = tree.CommandCall(start, "exists", left)
                continue
            if found is None or self.at_label():
                return left
            self.at += len(found)
            left = tree.Operation(start, _COMPARED[found], (left, self.read_coercion()))

    def read_coercion(self) -> tree.Node:
        left = self.read_arithmetic(0)
        while self.is_next("as") and not self.at_label():
            start = self.token.start
            self.at += 1
            left = tree.Operation(start, "as", (left, self.read_arithmetic(0)))
        return left

    def read_arithmetic(self, above: int) -> tree.Node:
        left = self.read_signed()
        while (rank := _ARITHMETIC.get(self.word(), 0)) > above:
            start, operator = self.token.start, self.word().replace("÷", "/")
            self.at += 1
            right = self.read_arithmetic(rank if operator != "^" else rank - 1)
            left = tree.Operation(start, operator, (left, right))
        return left

    def read_signed(self) -> tree.Node:
        start = self.token.start
        if self.accept("-"):
            return tree.Operation(start, "negative", (self.read_arithmetic(3),))
        self.accept("+")
        return self.read_chain()

    # ---- references

    def read_chain(self, *, inside: bool = False) -> tree.Node:
        """Read a reference; `inside` another one a filter is left to the outer one."""
        value = self.read_primary()
        while True:
            start = self.token.start
            if self.is_next("'s") and self.word(2) == ":" and ":" not in self.labels:
                self.at += 1
                value = self.read_selector(start, value)
            elif self.accept("'s"):
                value = _with_container(self.read_primary(), value)
            elif self.word() in _RELATION and not self.at_label() and _takes_container(value):
                self.at += 1
                value = _with_container(value, self.read_chain(inside=True))
            elif self.word() in _WHOSE and not inside:
                self.at += 1
                value = self.read_filter(value, start)
            else:
                return value

    def read_selector(self, start: int, owner: tree.Node) -> tree.Node:
        """Read a call of Objective-C: the parts of its name, each with an argument."""
        name, arguments = "", []
        while self.token.kind in ("word", "quoted") and self.word(1) == ":":
            name += f"{self.take_name()}:"
            self.at += 1
            arguments.append(self.read_signed() if self.word() == "-" else self.read_primary())
        return tree.HandlerCall(start, name, tuple(arguments), (), owner)

    def read_filter(self, value: tree.Node, start: int) -> tree.Node:
        self.accept("it")
        if isinstance(value, tree.Grouped):
            return replace(value, inner=self.read_filter(value.inner, start))
        if isinstance(value, tree.Member) and isinstance(value.within, tree.Member | tree.Element):
            return replace(value, within=self.read_filter(value.within, start))
        if not isinstance(value, tree.Element):
            if not isinstance(value, tree.Member) or not isinstance(value.name, tree.TermName):
                raise self.error(f"Expected end of line but found {self.found()}.")
            value = tree.Element(value.start, value.name.term, "every", (), value.within)
        test = self.read_expression()
        every = replace(value, form="every", keys=())
        filtered = tree.Element(start, value.term, "whose", (test,), every)
        if value.form == "every":
            return filtered
        return replace(value, within=filtered, term="")

    def read_primary(self) -> tree.Node:
        token, word = self.token, self.word()
        start = token.start
        if token.kind == "string":
            self.at += 1
            return tree.Value(start, token.text)
        if token.kind == "number":
            self.at += 1
            whole = token.text.isdigit()
            return tree.Value(start, int(token.text) if whole else float(token.text))
        if token.kind == "quoted":
            self.at += 1
            return self.read_call(start, token.folded)
        if token.kind == "raw":
            raise ScriptSyntaxError(token.text, start, named=True)
        if token.kind == "sign":
            return self.read_bracketed(start)
        if token.kind == "end":
            raise self.error("Expected expression but found end of line.")
        if word in _PRIMARIES:
            return _PRIMARIES[word](self, start)
        if word in self.own or (self.word(1) == "(" and not self.find_term("command")):
            found = self.find_term("class", "property", "command")
            if found is None or (found[1] == 1 and len(self.sight) == self.common):
                self.at += 1
                return self.read_call(start, word)
        return self.read_term(start)

    def read_bracketed(self, start: int) -> tree.Node:
        outer, self.labels = self.labels, ()
        try:
            if self.accept("("):
                inner = self.read_expression()
                self.expect(")")
                return tree.Grouped(start, inner)
            if self.accept("{"):
                return self.read_braces(start)
        finally:
            self.labels = outer
        raise self.error(f"Expected expression but found {self.found()}.")

    def read_braces(self, start: int) -> tree.Node:
        items: list[tree.Node] = []
        fields: list[tuple[str, tree.Node]] = []
        while not self.accept("}"):
            found = self.find_term("property", "class", "constant", "command")
            count = found[1] if found else 1
            if self.word(count) == ":":
                key = found[0].term if found else self.token.folded
                self.at += count + 1
                fields.append((key, self.read_expression()))
            else:
                items.append(self.read_expression())
            if not self.is_next("}"):
                self.expect(",")
        return tree.RecordOf(start, tuple(fields)) if fields else tree.ListOf(start, tuple(items))

    def read_call(self, start: int, name: str) -> tree.Node:
        if not self.accept("("):
            if name in self.labeled:
                return self.read_labeled(start, name)
            return tree.Name(start, name)
        outer, self.labels = self.labels, ()
        arguments = []
        while not self.accept(")"):
            arguments.append(self.read_expression())
            if not self.is_next(")"):
                self.expect(",")
        self.labels = outer
        return tree.HandlerCall(start, name, tuple(arguments))

    def read_labeled(self, start: int, name: str) -> tree.Node:
        labels: list[str] = []
        arguments: list[tree.Node] = []
        outer, self.labels = self.labels, tuple(_PREPOSITIONS | {"with", "without"})
        while (word := self.word()) in _PREPOSITIONS or word in ("of", "in", "with", "without"):
            self.at += 1
            if word in ("with", "without"):
                labels.append(self.take_name())
                arguments.append(tree.Value(self.token.start, word == "with"))
            elif word == "given":
                while self.word(1) == ":":
                    labels.append(self.take_name())
                    self.at += 1
                    arguments.append(self.read_expression())
                    self.accept(",")
            else:
                labels.append("of" if word in _RELATION else word)
                arguments.append(self.read_expression())
        self.labels = outer
        return tree.HandlerCall(start, name, tuple(arguments), tuple(labels))

    def read_term(self, start: int) -> tree.Node:
        found = self.find_term("command", "property", "class", "constant")
        if found is None:
            return self.read_call(start, self.take_name())
        term, count = found
        if term.use == "command":
            self.at += count
            return self.read_command(start, term)
        as_class = self.find_term("class")
        if as_class is not None and as_class[1] == count:
            before, self.at = self.at, self.at + count
            element = self.read_element(start, as_class[0])
            if isinstance(element, tree.Element) or term.use == "class":
                return element
            self.at = before
        self.at += count
        if term.use == "property":
            return tree.Member(start, tree.TermName(start, "property", term.term), None)
        return tree.TermName(start, "constant", term.term)

    def read_element(self, start: int, term: Term) -> tree.Node:
        """Read what picks elements behind the name of their class; the class itself without."""
        token, word = self.token, self.word()
        if self.word() in ("id", "named", "index"):
            self.at += 1
            form = {"named": "name"}.get(word, word)
            return tree.Element(start, term.term, form, (self.read_primary(),))
        if word == "from" or (term.plural and token.kind in ("number",)) or word == "-":
            self.accept("from")
            first = self.read_signed()
            if self.word() not in ("thru", "through", "to"):
                return tree.Element(start, term.term, "index", (first,))
            self.at += 1
            return tree.Element(start, term.term, "range", (first, self.read_signed()))
        picks = token.kind in ("number", "string", "quoted") or word == "("
        picks = picks or (token.kind == "word" and word in self.own and not self.at_label())
        picks = picks or (token.kind == "word" and self.is_plain_name() and not self.at_label())
        if picks and term.term not in ("class",):
            key = self.read_primary()
            if self.word() in ("thru", "through"):
                self.at += 1
                return tree.Element(start, term.term, "range", (key, self.read_signed()))
            return tree.Element(start, term.term, "index", (key,))
        if term.plural:
            return tree.Element(start, term.term, "every")
        return tree.TermName(start, "class", term.term)

    def is_plain_name(self) -> bool:
        """Say whether a name of the script's own stands here: no keyword, no term, no operator."""
        word = self.word()
        known = word in _STATEMENTS or word in _PRIMARIES or word in _ENDS_OPERAND
        known = known or word in _ARITHMETIC or word in _LOOSE or word in _ORDINALS
        known = known or any(row[0] == word for row in _COMPARED) or word in ("times", "end", "on")
        return not known and self.find_term("command", "property", "class", "constant") is None

    def read_command(self, start: int, term: Term) -> tree.Node:
        outer, self.labels = self.labels, term.labels
        ends = self.at_end() or self.at_label() or self.word() in ("with", "without")
        ends = ends or (self.token.kind == "sign" and self.word() not in ("(", "{", "-"))
        ends = ends or self.word() in ("then", "else", "to", "as", "and", "or", "is", "times")
        self.labels = outer
        if self.word() in _RELATION and not ends:
            self.at += 1
        if ends:
            direct = None
        elif term.term in ("count", "exists"):
            direct = self.read_labeled_chain(term.labels)
        else:
            direct = self.read_operand(term.labels)
        return tree.CommandCall(start, term.term, direct, self.read_parameters(term.labels))

    def read_parameters(self, labels: tuple[str, ...]) -> tuple[tuple[str, tree.Node], ...]:
        parameters: list[tuple[str, tree.Node]] = []
        outer, self.labels = self.labels, labels
        while True:
            start, label = self.token.start, self.at_label()
            if label:
                self.at += len(label.split())
                parameters.append((label, self.read_expression()))
                continue
            if self.word() not in ("with", "without") or self.word(1) in ("timeout", ""):
                break
            given = self.word() == "with"
            self.at += 1
            while True:
                label = self.at_label()
                if not label:
                    raise self.error(f"Expected parameter name but found {self.found()}.")
                self.at += len(label.split())
                parameters.append((label, tree.Value(start, given)))
                if not (self.accept("and") or self.accept(",")):
                    break
        self.labels = outer
        return tuple(parameters)

    # ---- words that begin an operand

    def read_constant(self, start: int) -> tree.Node:
        word = self.word()
        self.at += 1
        return tree.Value(start, _CONSTANTS[word])

    def read_article(self, start: int) -> tree.Node:
        word = self.word()
        found = self.find_term("command")
        if found is not None and found[1] > 1:
            return self.read_term(start)
        self.at += 1
        if self.accept("reference", "to") or self.accept("ref", "to"):
            return tree.ReferenceTo(start, self.read_chain())
        return self.read_primary() if word == "the" else self.read_call(start, word)

    def read_application(self, start: int) -> tree.Node:
        if self.token.folded == "application" and self.find_term("class", "property", "command"):
            found = self.find_term("class", "property")
            if found is not None and found[1] > 1:
                return self.read_term(start)
        self.at += 1
        self.accept("id")
        if self.token.kind == "string" or self.word() == "(" or self.is_plain_name():
            return tree.Application(start, self.read_primary())
        return tree.TermName(start, "class", "application")

    def read_current(self, start: int) -> tree.Node:
        if self.accept("current", "application"):
            return tree.Name(start, "current application")
        return self.read_term(start)

    def read_missing(self, start: int) -> tree.Node:
        if self.accept("missing", "value"):
            return tree.Value(start, None)
        return self.read_term(start)

    def read_self(self, start: int) -> tree.Node:
        word = self.word()
        self.at += 1
        if word in ("my", "its"):
            owner = tree.Name(start, "me" if word == "my" else "it")
            return _with_container(self.read_primary(), owner)
        return tree.Name(start, word)

    def read_ordinal(self, start: int) -> tree.Node:
        word = self.word()
        found = word in _ORDINALS and self.word(1)
        self.at += 1
        term = self.find_term("class")
        if term is None or not found:
            return tree.Name(start, word)
        self.at += term[1]
        key = tree.Value(start, _ORDINALS[word])
        return tree.Element(start, term[0].term, "index", (key,))

    def read_numbered(self, start: int) -> tree.Node:
        word = self.word()
        self.at += 1
        term = self.find_term("class")
        if term is None:
            raise self.error(f"Expected class name but found {self.found()}.")
        self.at += term[1]
        return tree.Element(start, term[0].term, "every" if word == "every" else word)

    def read_place(self, start: int) -> tree.Node:
        word = self.word()
        self.at += 1
        if word in ("before", "after"):
            return tree.Place(start, word, self.read_chain())
        if word in ("in", "behind"):
            self.accept("front", "of")
            return tree.Place(start, "before" if word == "in" else "after", self.read_chain())
        within = (
            self.read_chain() if self.word() in _RELATION and self.accept(self.word()) else None
        )
        return tree.Place(start, word, within)


Reader = Callable[[_Parser, int], tree.Node]

_STATEMENTS: Final[Mapping[str, Reader]] = {
    "tell": _Parser.read_tell,
    "if": _Parser.read_if,
    "repeat": _Parser.read_repeat,
    "try": _Parser.read_try,
    "error": _Parser.read_error,
    "set": _Parser.read_set,
    "copy": _Parser.read_copy,
    "return": _Parser.read_return,
    "exit": _Parser.read_exit,
    "with": _Parser.read_with,
    "considering": _Parser.read_considering,
    "ignoring": _Parser.read_considering,
    "using": _Parser.read_using,
    "use": _Parser.read_use,
    "global": _Parser.read_names,
    "local": _Parser.read_names,
    "property": _Parser.read_property,
    "prop": _Parser.read_property,
    "script": _Parser.read_object,
}

_PRIMARIES: Final[Mapping[str, Reader]] = {
    "true": _Parser.read_constant,
    "false": _Parser.read_constant,
    "missing": _Parser.read_missing,
    "the": _Parser.read_article,
    "a": _Parser.read_article,
    "application": _Parser.read_application,
    "app": _Parser.read_application,
    "current": _Parser.read_current,
    "me": _Parser.read_self,
    "my": _Parser.read_self,
    "it": _Parser.read_self,
    "its": _Parser.read_self,
    "result": _Parser.read_self,
    **dict.fromkeys(_ORDINALS, _Parser.read_ordinal),
    "every": _Parser.read_numbered,
    "some": _Parser.read_numbered,
    "middle": _Parser.read_numbered,
    "beginning": _Parser.read_place,
    "end": _Parser.read_place,
    "before": _Parser.read_place,
    "after": _Parser.read_place,
}


def _application_name(target: tree.Node) -> str | None:
    """Return the name of the app that a target is in, if it is written down."""
    while isinstance(target, tree.Member | tree.Element | tree.Grouped):
        inner = target.inner if isinstance(target, tree.Grouped) else target.within
        if inner is None:
            return None
        target = inner
    if isinstance(target, tree.Application) and isinstance(target.name, tree.Value):
        return str(target.name.value)
    return None


def _takes_container(value: tree.Node) -> bool:
    return isinstance(
        value,
        tree.Member | tree.Element | tree.Name | tree.TermName | tree.Place | tree.HandlerCall,
    )


def _with_container(value: tree.Node, container: tree.Node) -> tree.Node:
    """Return a reference with its outermost container: `name of note 1` with `of folder 2`."""
    if isinstance(value, tree.Member | tree.Element | tree.Place):
        inner = container
        if value.within is not None:
            inner = _with_container(value.within, container)
        return replace(value, within=inner)
    if isinstance(value, tree.ListOf):
        return replace(value, items=tuple(_with_container(item, container) for item in value.items))
    if isinstance(value, tree.HandlerCall):
        return replace(value, owner=container)
    return tree.Member(value.start, value, container)


def parse_applescript(
    script: str, find: Callable[[str], Terms | None], common: Sequence[Terms] = ()
) -> tree.Script:
    """Return the syntax tree of a script.

    Args:
        script: Its text.
        find: Returns the terms of an app by its name or bundle id.
        common: The terms that every statement sees, the language's first.

    Raises:
        ScriptSyntaxError: It cannot be read.
    """
    scan = scan_applescript(script)
    if scan.faults:
        raise ScriptSyntaxError(scan.faults[0].message, scan.faults[0].start)
    try:
        return _Parser(scan.tokens, find, common).read_script("", 0)
    except RecursionError:
        raise ScriptSyntaxError("The script is nested too deeply.", 0) from None
