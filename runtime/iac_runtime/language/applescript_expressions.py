"""AppleScript's expressions: tokens and the terms of the told apps give a syntax tree.

Terms are found inside out, the longest first: those of the app that the nearest `tell` names, of
Standard Additions, of the language. Sources: AppleScript Language Guide, "Lexical Conventions",
"Operators ObjectReference" (order of operators), "Reference Forms", "Commands ObjectReference".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from iac_base.script_tokens import ScriptToken
from iac_runtime.language import applescript_tree as tree

Use = Literal["property", "class", "constant", "command"]


class ScriptTerm(NamedTuple):
    """A word: of a class `plural` says how it is spelled, of a command `labels` its parameters.

    `codes` are the raw forms of the parameters, in the order of `labels`.
    """

    use: Use
    term: str
    plural: bool = False
    labels: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Terms:
    """The words of a dictionary by their spelling; `longest` is the most words that one has."""

    words: Mapping[str, tuple[ScriptTerm, ...]]
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
        "≠": "is not equal to|is not equal|does not equal|is not|/=|≠",
        ">": "is greater than|greater than|comes after|is not less than or equal to|>",
        "<": "is less than|less than|comes before|is not greater than or equal to|<",
        "≥": "is greater than or equal to|is not less than|does not come before|>=|≥",
        "≤": "is less than or equal to|is not greater than|does not come after|<=|≤",
        "contains": "contains|contain",
        "not contains": "does not contain",
        "in": "is in|is contained by",
        "not in": "is not in|is not contained by",
        "begins": "starts with|begins with|start with|begin with",
        "not begins": "does not start with|does not begin with",
        "ends": "ends with|end with",
        "not ends": "does not end with",
    }.items()
    for whole in phrases.split("|")
    for phrase in {whole, whole.replace("is not", "isn't"), whole.replace("does not", "doesn't")}
}
_ARITHMETIC: Final = {"&": 1, "+": 2, "-": 2, "*": 3, "/": 3, "÷": 3, "div": 3, "mod": 3, "^": 4}
_ORDINALS: Final = {
    word: place
    for place, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
} | {"last": -1, "back": -1, "front": 1}
_CONSTANTS: Final = {"true": True, "false": False}
RELATION: Final = frozenset(("of", "in"))
_WHOSE: Final = frozenset(("whose", "where"))
PREPOSITIONS: Final = frozenset(
    "about above against apart around aside at below beneath beside between by for from given"
    " instead into on onto out over since thru through under".split()
)
_ENDS_OPERAND: Final = frozenset(
    "then else to of in and or with without given whose where from by as is thru through".split()
)
_NUMBERED: Final = frozenset(("st", "nd", "rd", "th"))
_ENDS_COMMAND: Final = frozenset("then else to as and or is times given".split())
DEEPEST: Final = 60
LARGEST: Final = 536_870_911
"""The largest integer; beyond it numbers are real."""


class ExpressionParser:
    """Reads tokens, terms and expressions; what reads statements stands on it."""

    statement_words: frozenset[str] = frozenset()

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
        self.tried: set[int] = set()
        self.labeled = {
            after.folded: True
            for before, after, third in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if before.folded in ("on", "to")
            and after.kind == "word"
            and (third.folded in PREPOSITIONS or third.folded == "of")
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

    def find_term(self, *uses: Use) -> tuple[ScriptTerm, int] | None:
        """Return the longest term here that has one of these uses, and how many words it has."""
        best: tuple[ScriptTerm, int] | None = None
        for terms in reversed(self.sight):
            words: list[str] = []
            for count in range(1, terms.longest + 1):
                if self.at + count > len(self.tokens):
                    break
                token = self.tokens[self.at + count - 1]
                if token.kind not in ("word", "raw") and not (words and token.kind == "number"):
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
        return own_name(token.text)

    # ---- expressions, loosest first

    def read_operand(self, labels: tuple[str, ...]) -> tree.SyntaxNode:
        outer, self.labels = self.labels, labels
        try:
            return self.read_expression()
        finally:
            self.labels = outer

    def read_labeled_chain(self, labels: tuple[str, ...]) -> tree.SyntaxNode:
        outer, self.labels = self.labels, labels
        try:
            return self.read_chain()
        finally:
            self.labels = outer

    def at_label(self) -> str:
        """Return the label of a parameter that stands here, the longest; else empty."""
        found = (label for label in self.labels if self.is_next(*label.split()))
        return max(found, key=len, default="")

    def read_expression(self, above: int = 0) -> tree.SyntaxNode:
        self.depth += 1
        if self.depth > 4 * DEEPEST:
            raise self.error("The script is nested too deeply.")
        left = self.read_not() if above < 3 else self.read_comparison()
        while (rank := _LOOSE.get(self.word(), 0)) > above and not self.at_label():
            start, operator = self.token.start, self.word()
            self.at += 1
            left = tree.OperatorForm(start, operator, (left, self.read_expression(rank)))
        self.depth -= 1
        return left

    def read_not(self) -> tree.SyntaxNode:
        start = self.token.start
        if self.accept("not"):
            return tree.OperatorForm(start, "not", (self.read_not(),))
        return self.read_comparison()

    def read_comparison(self) -> tree.SyntaxNode:
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
            left = tree.OperatorForm(start, _COMPARED[found], (left, self.read_coercion()))

    def read_coercion(self) -> tree.SyntaxNode:
        left = self.read_arithmetic(0)
        while self.is_next("as") and not self.at_label():
            start = self.token.start
            self.at += 1
            left = tree.OperatorForm(start, "as", (left, self.read_type()))
            left = self.read_arithmetic(0, left)
        return left

    def read_type(self) -> tree.SyntaxNode:
        """Read what something is made into: the name of a class comes before other words."""
        start, found = self.token.start, self.find_term("class")
        if found is None or self.word() in ("{", "("):
            return self.read_chain()
        self.at += found[1]
        return tree.TermName(start, "class", found[0].term)

    def read_arithmetic(self, above: int, left: tree.SyntaxNode | None = None) -> tree.SyntaxNode:
        left = self.read_signed() if left is None else left
        while (rank := _ARITHMETIC.get(self.word(), 0)) > above:
            start, operator = self.token.start, self.word().replace("÷", "/")
            self.at += 1
            right = self.read_arithmetic(rank if operator != "^" else rank - 1)
            left = tree.OperatorForm(start, operator, (left, right))
        return left

    def read_signed(self) -> tree.SyntaxNode:
        start = self.token.start
        if self.accept("-"):
            return tree.OperatorForm(start, "negative", (self.read_signed(),))
        self.accept("+")
        return self.read_chain()

    # ---- references

    def read_chain(self, *, inside: bool = False) -> tree.SyntaxNode:
        """Read a reference; `inside` another one a filter is left to the outer one.

        The terms of an app that ends it, as in `name of note 1 of application "Notes"`, count.
        """
        before, begun, depth = self.sight, self.at, self.depth
        named = "" if inside else self.application_behind()
        terms = self.find(named) if named else None
        if terms is None or terms in before or begun in self.tried:
            return self.read_links(inside)
        self.tried.add(begun)
        self.sight = (*before, terms)
        try:
            value = self.read_links(inside)
            if tree.find_application(value) == named:
                return value
        except ScriptSyntaxError:
            self.depth = depth
        finally:
            self.sight = before
        self.at = begun
        return self.read_links(inside)

    def application_behind(self) -> str:
        """Return the name of the first app that something on this line is of; else empty."""
        for at in range(self.at, len(self.tokens) - 2):
            if self.tokens[at].kind == "end":
                break
            relation, app, named, *rest = self.tokens[at : at + 4]
            if relation.folded in RELATION and app.folded in ("application", "app"):
                named = rest[0] if named.folded == "id" and rest else named
                return named.text if named.kind == "string" else ""
        return ""

    def read_links(self, inside: bool) -> tree.SyntaxNode:
        value = self.read_primary()
        while True:
            start = self.token.start
            if self.is_next("'s") and self.word(2) == ":" and ":" not in self.labels:
                self.at += 1
                value = self.read_selector(start, value)
            elif self.accept("'s"):
                before, app = self.sight, tree.find_application(value)
                terms = self.find(app) if app is not None else None
                self.sight = (*before, terms) if terms is not None else before
                value = tree.with_container(self.read_primary(), value)
                self.sight = before
            elif self.word() in RELATION and not self.at_label() and tree.takes_container(value):
                self.at += 1
                value = tree.with_container(value, self.read_chain(inside=True))
            elif self.word() in _WHOSE and not inside:
                self.at += 1
                value = self.read_filter(value, start)
            else:
                return value

    def read_selector(self, start: int, owner: tree.SyntaxNode) -> tree.SyntaxNode:
        """Read a call of Objective-C: the parts of its name, each with an argument."""
        name, arguments = "", []
        while self.token.kind in ("word", "quoted") and self.word(1) == ":":
            name += f"{self.take_name()}:"
            self.at += 1
            arguments.append(self.read_signed() if self.word() == "-" else self.read_primary())
        return tree.HandlerCall(start, name, tuple(arguments), (), owner)

    def read_filter(self, value: tree.SyntaxNode, start: int) -> tree.SyntaxNode:
        self.accept("it")
        if isinstance(value, tree.Grouped):
            return replace(value, inner=self.read_filter(value.inner, start))
        if isinstance(value, tree.Member) and isinstance(
            value.within, tree.Member | tree.ElementForm
        ):
            return replace(value, within=self.read_filter(value.within, start))
        if not isinstance(value, tree.ElementForm):
            if not isinstance(value, tree.Member) or not isinstance(value.name, tree.TermName):
                raise self.error(f"Expected end of line but found {self.found()}.")
            value = tree.ElementForm(value.start, value.name.term, "every", (), value.within)
        test = self.read_expression()
        every = replace(value, form="every", keys=())
        filtered = tree.ElementForm(start, value.term, "whose", (test,), every)
        if value.form == "every":
            return filtered
        return replace(value, within=filtered, term="")

    def read_primary(self) -> tree.SyntaxNode:
        token, word = self.token, self.word()
        start = token.start
        if token.kind == "string":
            self.at += 1
            return tree.Value(start, token.text)
        if token.kind == "number":
            self.at += 1
            if self.word() in _NUMBERED and self.token.start == start + len(token.text):
                return self.read_ordinal(start)
            whole = token.text.isdigit() and int(token.text) <= LARGEST
            return tree.Value(start, int(token.text) if whole else float(token.text))
        if token.kind == "quoted":
            self.at += 1
            return self.read_call(start, own_name(token.text))
        if token.kind == "raw" and not self.find_term("class", "command", "property", "constant"):
            raise ScriptSyntaxError(token.text, start, named=True)
        if token.kind == "sign":
            return self.read_bracketed(start)
        if token.kind == "end":
            raise self.error("Expected expression but found end of line.")
        longest = self.find_term("command", "property", "class", "constant")
        if longest is not None and longest[1] > 1:
            return self.read_term(start)
        if word in _PRIMARIES:
            return _PRIMARIES[word](self, start)
        if word in self.own or (self.word(1) == "(" and not self.find_term("command")):
            found = self.find_term("class", "property", "command")
            if found is None or (found[1] == 1 and len(self.sight) == self.common):
                self.at += 1
                return self.read_call(start, word)
        return self.read_term(start)

    def read_bracketed(self, start: int) -> tree.SyntaxNode:
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

    def read_braces(self, start: int) -> tree.SyntaxNode:
        items: list[tree.SyntaxNode] = []
        fields: list[tuple[str, tree.SyntaxNode]] = []
        while not self.accept("}"):
            found = self.find_term("property", "class", "constant", "command")
            count = found[1] if found else 1
            if self.word(count) == ":":
                key = found[0].term if found else own_name(self.token.text)
                self.at += count + 1
                fields.append((key, self.read_expression()))
            else:
                items.append(self.read_expression())
            if not self.is_next("}"):
                self.expect(",")
        return tree.RecordOf(start, tuple(fields)) if fields else tree.ListOf(start, tuple(items))

    def read_call(self, start: int, name: str) -> tree.SyntaxNode:
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

    def read_labeled(self, start: int, name: str) -> tree.SyntaxNode:
        labels: list[str] = []
        arguments: list[tree.SyntaxNode] = []
        outer, self.labels = self.labels, tuple(PREPOSITIONS | {"with", "without"})
        while (word := self.word()) in PREPOSITIONS or word in ("of", "in", "with", "without"):
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
                labels.append("of" if word in RELATION else word)
                arguments.append(self.read_expression())
        self.labels = outer
        return tree.HandlerCall(start, name, tuple(arguments), tuple(labels))

    def read_term(self, start: int) -> tree.SyntaxNode:
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
            if isinstance(element, tree.ElementForm) or term.use == "class":
                return element
            self.at = before
        self.at += count
        if term.use == "property":
            return tree.Member(start, tree.TermName(start, "property", term.term), None)
        return tree.TermName(start, "constant", term.term)

    def read_element(self, start: int, term: ScriptTerm) -> tree.SyntaxNode:
        """Read what picks elements behind the name of their class; the class itself without."""
        token, word = self.token, self.word()
        if self.word() in ("id", "named", "index") and not self.at_label():
            self.at += 1
            form = {"named": "name"}.get(word, word)
            return tree.ElementForm(start, term.term, form, (self.read_primary(),))
        if word == "from" or (term.plural and token.kind in ("number",)) or word == "-":
            ends = ("thru", "through", "to") if self.accept("from") else ("thru", "through")
            first = self.read_bound()
            if self.word() not in ends:
                return tree.ElementForm(start, term.term, "index", (first,))
            self.at += 1
            return tree.ElementForm(start, term.term, "range", (first, self.read_bound()))
        picks = token.kind in ("number", "string", "quoted") or word == "("
        picks = picks or (token.kind == "word" and word in self.own and not self.at_label())
        picks = picks or (token.kind == "word" and self.is_plain_name() and not self.at_label())
        if picks and term.term not in ("class",):
            key = self.read_primary()
            if self.word() in ("thru", "through"):
                self.at += 1
                return tree.ElementForm(start, term.term, "range", (key, self.read_bound()))
            return tree.ElementForm(start, term.term, "index", (key,))
        if term.plural:
            return tree.ElementForm(start, term.term, "every")
        return tree.TermName(start, "class", term.term)

    def read_bound(self) -> tree.SyntaxNode:
        """Read one end of a range, to which no container belongs."""
        start = self.token.start
        if self.accept("-"):
            return tree.OperatorForm(start, "negative", (self.read_primary(),))
        return self.read_primary()

    def is_plain_name(self) -> bool:
        """Say whether a name of the script's own stands here: no keyword, no term, no operator."""
        word = self.word()
        known = word in self.statement_words or word in _PRIMARIES or word in _ENDS_OPERAND
        known = known or word in _ARITHMETIC or word in _LOOSE or word in _ORDINALS
        known = known or any(row[0] == word for row in _COMPARED) or word in ("times", "end", "on")
        return not known and self.find_term("command", "property", "class", "constant") is None

    def read_command(self, start: int, term: ScriptTerm) -> tree.SyntaxNode:
        outer, self.labels = self.labels, term.labels
        ends = self.at_end() or self.at_label() or self.word() in ("with", "without")
        ends = ends or (self.token.kind == "sign" and self.word() not in ("(", "{", "-"))
        longest = self.find_term("property", "class", "constant")
        ends = ends or (self.word() in _ENDS_COMMAND and (longest is None or longest[1] < 2))
        self.labels = outer
        if self.word() in RELATION and not ends:
            self.at += 1
        if ends:
            direct = None
        elif term.term in ("count", "exists"):
            direct = self.read_labeled_chain(term.labels)
        else:
            direct = self.read_operand(term.labels)
        return tree.CommandCall(start, term.term, direct, self.read_parameters(term))

    def read_parameters(self, term: ScriptTerm) -> tuple[tuple[str, tree.SyntaxNode], ...]:
        parameters: list[tuple[str, tree.SyntaxNode]] = []
        outer, self.labels = self.labels, term.labels
        raw = dict(zip(term.codes, term.labels, strict=False))
        raw_next = self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].kind == "raw"
        self.at += self.is_next("given") and raw_next
        while self.token.kind == "raw" and (label := raw.get(self.token.folded)):
            self.at += 1
            self.expect(":")
            parameters.append((label, self.read_expression()))
            self.accept(",")
        while True:
            start, label = self.token.start, self.at_label()
            if label:
                self.at += len(label.split())
                classed = label in ("new", "each")
                value = self.read_type() if classed else self.read_expression()
                parameters.append((label, value))
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

    def read_constant(self, start: int) -> tree.SyntaxNode:
        word = self.word()
        self.at += 1
        return tree.Value(start, _CONSTANTS[word])

    def read_article(self, start: int) -> tree.SyntaxNode:
        word = self.word()
        self.at += 1
        if self.accept("reference", "to") or self.accept("ref", "to"):
            return tree.ReferenceTo(start, self.read_chain())
        return self.read_primary() if word == "the" else self.read_call(start, word)

    def read_application(self, start: int) -> tree.SyntaxNode:
        self.at += 1
        self.accept("id")
        if self.token.kind == "string" or self.word() == "(" or self.is_plain_name():
            return tree.Application(start, self.read_primary())
        return tree.TermName(start, "class", "application")

    def read_current(self, start: int) -> tree.SyntaxNode:
        if self.accept("current", "application"):
            return tree.Name(start, "current application")
        return self.read_term(start)

    def read_missing(self, start: int) -> tree.SyntaxNode:
        if self.accept("missing", "value"):
            return tree.Value(start, None)
        return self.read_term(start)

    def read_self(self, start: int) -> tree.SyntaxNode:
        word = self.word()
        self.at += 1
        if word in ("my", "its"):
            owner = tree.Name(start, "me" if word == "my" else "it")
            if self.word(1) == ":" and ":" not in self.labels:
                return self.read_selector(start, owner)
            return tree.with_container(self.read_primary(), owner)
        return tree.Name(start, word)

    def read_ordinal(self, start: int) -> tree.SyntaxNode:
        word, place = self.word(), self.tokens[self.at - 1].text
        self.at += 1
        term = self.find_term("class")
        if term is None:
            return tree.Name(start, word)
        self.at += term[1]
        key = tree.Value(start, int(place) if word in _NUMBERED else _ORDINALS[word])
        return tree.ElementForm(start, term[0].term, "index", (key,))

    def read_numbered(self, start: int) -> tree.SyntaxNode:
        word = self.word()
        self.at += 1
        term = self.find_term("class")
        if term is None:
            raise self.error(f"Expected class name but found {self.found()}.")
        self.at += term[1]
        return tree.ElementForm(start, term[0].term, "every" if word == "every" else word)

    def read_place(self, start: int) -> tree.SyntaxNode:
        word = self.word()
        self.at += 1
        if word in ("before", "after"):
            return tree.Place(start, word, self.read_chain())
        if word in ("in", "behind"):
            self.accept("front", "of")
            return tree.Place(start, "before" if word == "in" else "after", self.read_chain())
        within = self.read_chain() if self.word() in RELATION and self.accept(self.word()) else None
        return tree.Place(start, word, within)


_PRIMARIES: Final[Mapping[str, Callable[[ExpressionParser, int], tree.SyntaxNode]]] = {
    "true": ExpressionParser.read_constant,
    "false": ExpressionParser.read_constant,
    "missing": ExpressionParser.read_missing,
    "the": ExpressionParser.read_article,
    "a": ExpressionParser.read_article,
    "application": ExpressionParser.read_application,
    "app": ExpressionParser.read_application,
    "current": ExpressionParser.read_current,
    "me": ExpressionParser.read_self,
    "my": ExpressionParser.read_self,
    "it": ExpressionParser.read_self,
    "its": ExpressionParser.read_self,
    "result": ExpressionParser.read_self,
    **dict.fromkeys(_ORDINALS, ExpressionParser.read_ordinal),
    "every": ExpressionParser.read_numbered,
    "some": ExpressionParser.read_numbered,
    "middle": ExpressionParser.read_numbered,
    "beginning": ExpressionParser.read_place,
    "end": ExpressionParser.read_place,
    "before": ExpressionParser.read_place,
    "after": ExpressionParser.read_place,
}


def own_name(text: str) -> str:
    """Return a name of the script's own as it is compared: in bars, if it is none without them."""
    folded = text.casefold()
    return folded if re.fullmatch(r"[^\W\d]\w*", folded) else f"|{folded}|"
