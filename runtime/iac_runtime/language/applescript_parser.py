"""AppleScript's parser: what the statements of a script are.

Source: AppleScript Language Guide, "Control Statements ObjectReference", "Handler ObjectReference".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from iac_base.script_tokens import scan_applescript
from iac_runtime.language import applescript_tree as tree
from iac_runtime.language.applescript_expressions import (
    DEEPEST,
    PREPOSITIONS,
    RELATION,
    ExpressionParser,
    ScriptSyntaxError,
    ScriptTerm,
    Terms,
)


class _Parser(ExpressionParser):
    # ---- statements

    def read_script(self, name: str, start: int, *ends: str) -> tree.Script:
        body = self.read_block(*ends)
        handlers = {row.name: row for row in body if isinstance(row, tree.Handler)}
        rest = tuple(row for row in body if not isinstance(row, tree.Handler))
        return tree.Script(start, name, rest, handlers)

    def read_block(self, *ends: str) -> tuple[tree.SyntaxNode, ...]:
        """Read statements until a line that begins with one of `ends`, which stays."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("The script is nested too deeply.")
        statements: list[tree.SyntaxNode] = []
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

    def read_statement(self) -> tree.SyntaxNode:
        start, word = self.token.start, self.word()
        reader = _STATEMENTS.get(word)
        if word == "with" and self.word(1) not in ("timeout", "transaction"):
            reader = None
        command = self.find_term("command")
        if command is not None and (
            command[1] > 1 or self.tokens[self.at + command[1]].kind == "end"
        ):
            reader = None
        if word == "to" or (word == "on" and self.word(1) != "error"):
            reader = _Parser.read_handler
        if reader is not None:
            self.at += 1
            return reader(self, start)
        value = self.read_expression()
        return tree.Evaluate(start, value)

    def read_tell(self, start: int) -> tree.SyntaxNode:
        target = self.read_expression()
        before = self.sight
        app = tree.find_application(target)
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

    def read_if(self, start: int) -> tree.SyntaxNode:
        test = self.read_expression()
        self.accept("then")
        branches: list[tuple[tree.SyntaxNode | None, tuple[tree.SyntaxNode, ...]]] = []
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

    def read_repeat(self, start: int) -> tree.SyntaxNode:
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

    def read_try(self, start: int) -> tree.SyntaxNode:
        self.end_line()
        body = self.read_block("on error", "end")
        names: list[tuple[str, str]] = []
        handler: tuple[tree.SyntaxNode, ...] = ()
        number = None
        if self.accept("on", "error"):
            label = ""
            while not self.at_end():
                if self.word() in ("number", "from", "to") and label != self.word():
                    label = self.word()
                    self.at += 1
                elif self.accept("partial", "result"):
                    label = "partial result"
                if label == "number" and (self.word() == "-" or self.token.kind == "number"):
                    sign = -1 if self.accept("-") else 1
                    number = sign * int(self.token.text)
                    self.at += 1
                    continue
                names.append((label, self.take_name()))
                self.own.add(names[-1][1])
            handler = self.read_block("end")
        self.close()
        return tree.Try(start, body, handler, tuple(names), number)

    def read_error(self, start: int) -> tree.SyntaxNode:
        labels = ("number", "partial result", "from", "to")
        starts = self.at_end() or self.word() in ("number", "partial", "from", "to")
        message = None if starts else self.read_operand(labels)
        return tree.Raise(
            start, message, self.read_parameters(ScriptTerm("command", "error", labels=labels))
        )

    def read_set(self, start: int) -> tree.SyntaxNode:
        outer, self.labels = self.labels, ("to",)
        target = self.read_expression()
        self.labels = outer
        self.expect("to")
        self.note_own(target)
        return tree.Assign(start, target, self.read_expression())

    def read_copy(self, start: int) -> tree.SyntaxNode:
        value = self.read_expression()
        self.expect("to")
        target = self.read_expression()
        self.note_own(target)
        return tree.Assign(start, target, value, copies=True)

    def note_own(self, target: tree.SyntaxNode) -> None:
        if isinstance(target, tree.Name):
            self.own.add(target.name)
        elif isinstance(target, tree.ListOf):
            for item in target.items:
                self.note_own(item)
        elif isinstance(target, tree.OperatorForm):
            self.note_own(target.operands[0])

    def read_return(self, start: int) -> tree.SyntaxNode:
        value = None if self.at_end() else self.read_expression()
        return tree.Leave(start, "return", value)

    def read_exit(self, start: int) -> tree.SyntaxNode:
        self.accept("repeat")
        return tree.Leave(start, "exit")

    def read_continue(self, start: int) -> tree.SyntaxNode:
        call = self.read_primary()
        if not isinstance(call, tree.HandlerCall):
            raise ScriptSyntaxError("continue of a command", start, named=True)
        return tree.Evaluate(start, replace(call, continues=True))

    def read_with(self, start: int) -> tree.SyntaxNode:
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

    def read_considering(self, start: int) -> tree.SyntaxNode:
        kind = self.tokens[self.at - 1].folded
        first, words = kind, {"considering": list[str](), "ignoring": list[str]()}
        while not self.at_end():
            if self.accept("but"):
                kind = self.word()
                if kind not in words:
                    raise self.error(f"Expected “ignoring” but found {self.found()}.")
            elif self.word() not in ("and", ",", "application"):
                words[kind].append(self.word())
            self.at += 1
        self.end_line()
        body = self.read_block("end")
        self.close()
        inner = tree.Within(start, kind, tuple(words[kind]), body)
        return inner if kind == first else tree.Within(start, first, tuple(words[first]), (inner,))

    def read_using(self, start: int) -> tree.SyntaxNode:
        self.expect("terms", "from")
        target = self.read_expression()
        before, app = self.sight, tree.find_application(target)
        terms = self.find(app) if app is not None else None
        self.sight = before + ((terms,) if terms else ())
        self.end_line()
        body = self.read_block("end")
        self.close()
        self.sight = before
        return tree.Within(start, "using", (), body)

    def read_use(self, start: int) -> tree.SyntaxNode:
        if self.word() == "script":
            raise ScriptSyntaxError("use script", start, named=True)
        while not self.at_end():
            self.at += 1
        return tree.Within(start, "use", (), ())

    def read_names(self, start: int) -> tree.SyntaxNode:
        kind = self.tokens[self.at - 1].folded
        names = [self.take_name()]
        while self.accept(","):
            names.append(self.take_name())
        self.own.update(names)
        return tree.Declare(start, kind, tuple(names))

    def read_property(self, start: int) -> tree.SyntaxNode:
        name = self.take_name()
        self.own.add(name)
        self.expect(":")
        return tree.Declare(start, "property", (name,), self.read_expression())

    def read_object(self, start: int) -> tree.SyntaxNode:
        name = "" if self.at_end() else self.take_name()
        self.own.add(name)
        self.end_line()
        script = self.read_script(name, start, "end script", "end")
        self.close()
        return script

    def read_handler(self, start: int) -> tree.SyntaxNode:
        name = self.take_name()
        parameters: list[tree.SyntaxNode] = []
        labels: list[str] = []
        defaults: dict[str, tree.SyntaxNode] = {}
        if self.accept("("):
            while not self.accept(")"):
                parameters.append(self.read_pattern())
                self.accept(",")
        elif self.accept(":"):
            parameters.append(self.read_pattern())
            name += ":"
            while not self.at_end():
                name += f"{self.take_name()}:"
                self.expect(":")
                parameters.append(self.read_pattern())
        else:
            while not self.at_end():
                label = "of" if self.word() in RELATION else self.word()
                if label == "given":
                    self.at += 1
                    while not self.at_end():
                        labels.append(self.take_name())
                        self.expect(":")
                        parameters.append(self.read_pattern())
                        if self.accept(":"):
                            defaults[labels[-1]] = self.read_expression()
                        self.accept(",")
                    break
                if label in PREPOSITIONS or label == "of":
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
        return tree.Handler(start, name, tuple(parameters), tuple(labels), body, defaults)

    def read_pattern(self) -> tree.SyntaxNode:
        start = self.token.start
        if self.accept("{"):
            items = []
            while not self.accept("}"):
                items.append(self.read_pattern())
                self.accept(",")
            return tree.ListOf(start, tuple(items))
        name = tree.Name(start, self.take_name())
        if self.accept("as"):
            return tree.OperatorForm(start, "as", (name, self.read_primary()))
        return name


Reader = Callable[[_Parser, int], tree.SyntaxNode]

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
    "continue": _Parser.read_continue,
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

_Parser.statement_words = frozenset(_STATEMENTS)


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
