"""Carrying out a script: its statements."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from iac_runtime.language import applescript_tree as tree
from iac_simulator.applescript.commands import CommandEvaluator
from iac_simulator.applescript.elements import property_of, set_property
from iac_simulator.applescript.evaluator import (
    NOTHING,
    HandlerFrame,
    LeaveError,
)
from iac_simulator.applescript.values import (
    AppleScriptError,
    Date,
    ObjectReference,
    ScriptObject,
    ScriptRecord,
    UnsupportedError,
    ValueReference,
    as_boolean,
    as_integer,
    as_list,
    as_number,
    as_text,
    item_reference,
    plain,
    source_text,
)


class Evaluator(CommandEvaluator):
    """Runs one script."""

    # ---- running

    def run(self, script: tree.Script, argv: Sequence[str]) -> Any:
        """Run a script as osascript does and return its result; `NOTHING` becomes None.

        Raises:
            AppleScriptError: It failed; with its place.
            UnsupportedError: It has a construct that is not run.
        """
        return self.run_script(self.make_script(script, None), argv)

    def run_script(self, made: ScriptObject, argv: Sequence[str] = ()) -> Any:
        """Carry out `run` of a script object and return its result."""
        run = made.handlers.get("run")
        if run is not None:
            return self.call_handler(made, made, run, [list(argv)] if run.parameters else [])
        outer, told = self.frame, self.told
        self.frame, self.told = HandlerFrame(made, made.globals), [made]
        try:
            self.run_block(made.body)
        except LeaveError as left:
            return left.value
        else:
            return self.frame.result
        finally:
            self.frame, self.told = outer, told

    def make_script(self, node: tree.Script, parent: ScriptObject | None) -> ScriptObject:
        body = [row for row in node.body if not _is_declaration(row)]
        made = ScriptObject(node.name, {}, node.handlers, parent, body=body)
        outer = self.frame
        seen = outer.values if outer.values is not outer.script.globals else {}
        self.frame = HandlerFrame(made, dict(seen))
        for row in node.body:
            if isinstance(row, tree.Declare) and row.kind == "property" and row.value is not None:
                value = self.value(row.value)
                if row.names[0] == "parent" and isinstance(value, ScriptObject):
                    made.parent = value
                else:
                    made.values[row.names[0]] = value
            elif isinstance(row, tree.Declare) and row.kind == "global":
                made.declared.update(row.names)
            elif isinstance(row, tree.Script):
                made.values[row.name] = self.make_script(row, made)
        self.frame = outer
        return made

    def run_block(self, body: Sequence[tree.SyntaxNode]) -> None:
        for node in body:
            self.count_step()
            try:
                _STATEMENTS.get(type(node), Evaluator.run_expression)(self, node)
            except (AppleScriptError, UnsupportedError) as error:
                if getattr(error, "start", 0) is None:
                    error.start = node.start  # type: ignore[union-attr]
                if isinstance(error, UnsupportedError) and len(error.args) == 1:
                    error.args = (*error.args, node.start)
                raise

    # ---- statements

    def run_expression(self, node: Any) -> None:
        node = node.value if isinstance(node, tree.Evaluate) else node
        found = self.specify(node)
        self.frame.result = found if found is NOTHING else self.read_found(found, node)

    def run_assign(self, node: tree.Assign) -> None:
        value = self.value(node.value)
        if node.copies:
            value = plain(value)
            if isinstance(value, list | ScriptRecord | Date | ScriptObject):
                value = copy.deepcopy(value)
        self.assign(node.target, value)
        self.frame.result = value

    def assign(self, target: tree.SyntaxNode, value: Any) -> None:
        match target:
            case tree.Name(_, name):
                self.set_variable(name, value)
            case tree.Grouped(_, inner):
                self.assign(inner, value)
            case tree.OperatorForm(_, "as", (inner, kind)):
                self.assign(inner, self.coerced(plain(value), self.value(kind)))
            case tree.ListOf(_, items):
                given = as_list(value)
                if len(given) < len(items):
                    raise AppleScriptError(-1728, f"Can’t get item {len(given) + 1} of the list.")
                for item, part in zip(items, given, strict=False):
                    self.assign(item, part)
            case tree.RecordOf(_, fields) if isinstance(value, ScriptRecord):
                for key, item in fields:
                    self.assign(item, property_of(value, key))
            case tree.Place(_, where, within) if where in ("beginning", "end"):
                self.extend_list(where, within, value)
            case tree.Member(_, tree.TermName(_, _, term), within) if "item delimiters" in term:
                self.delimiters = value
            case tree.Member() | tree.ElementForm():
                self.assign_part(target, value)
            case tree.TermName(_, _, term):
                self.set_variable(term.casefold(), value)
            case _:
                raise AppleScriptError(-10006, "Can’t set that.")

    def extend_list(self, where: str, within: tree.SyntaxNode | None, value: Any) -> None:
        holder = plain(self.value(within)) if within is not None else None
        if not isinstance(holder, list):
            raise AppleScriptError(-10006, f"Can’t set {where} of {source_text(holder)}.")
        self.hold(holder)
        holder.insert(0 if where == "beginning" else len(holder), value)

    def assign_part(self, target: tree.Member | tree.ElementForm, value: Any) -> None:
        place = self.specify(target)
        if isinstance(place, ObjectReference):
            self.events.write(place, value)
            return
        found = self.told[-1] if target.within is None else self.value(target.within)
        holder = plain(found)
        if isinstance(target, tree.ElementForm):
            if not isinstance(holder, list):
                raise AppleScriptError(-10006, f"Can’t set {target.term} of {source_text(holder)}.")
            keys = [self.value(key) for key in target.keys]
            number = as_integer(keys[0]) if keys else 0
            self.pick(holder, target, keys)
            holder[number - 1 if number > 0 else number] = value
            return
        name = target.name.term if isinstance(target.name, tree.TermName) else ""
        name = target.name.name if isinstance(target.name, tree.Name) else name
        if isinstance(holder, ScriptObject):
            owner = self.owner_of(holder, name) or holder
            values = owner.globals if name in owner.globals else owner.values
            values[name] = value
        elif name == "contents" and isinstance(found, ValueReference):
            found.write(value)
        elif name == "contents" and target.within is not None:
            self.assign(target.within, value)
        else:
            set_property(holder, name, value)

    def run_tell(self, node: tree.Tell) -> None:
        target = plain(self.specify(node.target))
        self.told.append(target)
        try:
            self.run_block(node.body)
        finally:
            self.told.pop()

    def run_if(self, node: tree.If) -> None:
        for test, body in node.branches:
            if test is None or as_boolean(self.value(test)):
                self.run_block(body)
                return

    def run_repeat(self, node: tree.Repeat) -> None:
        try:
            for _ in self.rounds(node):
                self.count_step()
                self.run_block(node.body)
        except LeaveError as left:
            if left.way != "exit":
                raise

    def rounds(self, node: tree.Repeat) -> Iterator[None]:
        match node.form:
            case "ever":
                while True:
                    yield
            case "times":
                for _ in range(as_integer(self.value(node.values[0]))):
                    yield
            case "while" | "until":
                while as_boolean(self.value(node.values[0])) == (node.form == "while"):
                    yield
            case "from":
                first, last, *by = [as_integer(self.value(value)) for value in node.values]
                step = by[0] if by else 1
                for number in range(first, last + (1 if step > 0 else -1), step or 1):
                    self.set_variable(node.variable, number)
                    yield
            case _:
                yield from self.listed_rounds(node)

    def listed_rounds(self, node: tree.Repeat) -> Iterator[None]:
        place = self.specify(node.values[0])
        items = self.events.read(place) if isinstance(place, ObjectReference) else place
        items = plain(items)
        if isinstance(items, str):
            items = list(items)
        items = items if isinstance(items, list) else as_list(items)
        at = 0
        while at < len(items):
            self.set_variable(node.variable, item_reference(items, at))
            at += 1
            yield

    def run_try(self, node: tree.Try) -> None:
        told, frame = len(self.told), self.frame
        try:
            self.run_block(node.body)
        except RecursionError:
            self.handle_error(node, AppleScriptError(-2706, "Stack overflow."))
        except AppleScriptError as error:
            del self.told[told:]
            self.frame = frame
            self.handle_error(node, error)

    def handle_error(self, node: tree.Try, error: AppleScriptError) -> None:
        if node.number not in (None, error.number):
            raise error
        facts = {
            "": error.message,
            "number": error.number,
            "partial result": error.partial if error.partial is not None else [],
            "from": error.source,
            "to": None,
        }
        for label, name in node.names:
            self.set_variable(name, facts[label])
        self.run_block(node.handler)

    def run_raise(self, node: tree.Raise) -> None:
        given = {label: self.value(value) for label, value in node.parameters}
        message = as_text(self.value(node.message)) if node.message is not None else None
        number = as_integer(given.get("number", -2700))
        error = AppleScriptError(number, "An error has occurred." if message is None else message)
        error.partial, error.source = given.get("partial result"), given.get("from")
        error.start = node.start
        raise error

    def run_leave(self, node: tree.Leave) -> None:
        value = NOTHING if node.value is None else self.value(node.value)
        raise LeaveError(node.way, value)

    def run_within(self, node: tree.Within) -> None:
        before, timeout = self.ignored, self.events.timeout
        if node.kind == "considering":
            self.ignored -= frozenset(node.words)
        elif node.kind == "ignoring":
            self.ignored |= frozenset(node.words)
        elif node.kind == "timeout" and node.value is not None:
            self.events.timeout = as_number(self.value(node.value))
        elif node.kind == "transaction":
            raise UnsupportedError("with transaction")
        try:
            self.run_block(node.body)
        finally:
            self.ignored, self.events.timeout = before, timeout

    def run_declare(self, node: tree.Declare) -> None:
        names = self.frame.shared if node.kind == "global" else self.frame.local
        names.update(node.names)

    def run_object(self, node: tree.Script) -> None:
        made = self.make_script(node, self.frame.script)
        if node.name:
            self.set_variable(node.name, made)
        self.frame.result = made

    def run_command(self, node: tree.CommandCall) -> Any:
        target = self.specify(node.direct) if node.direct is not None else None
        return (
            self.run_script(target) if isinstance(target, ScriptObject) else self.send_command(node)
        )

    def run_text(self, node: tree.CommandCall) -> Any:
        """Carry out `run script` of a text; that of a file is not run."""
        text = self.value(node.direct) if node.direct is not None else None
        if not isinstance(text, str):
            raise UnsupportedError("run script of a file")
        given = dict(node.parameters).get("with parameters")
        argv = as_list(self.value(given)) if given is not None else []
        return self.run_script(self.make_script(self.events.parse(text), None), argv)

    def set_variable(self, name: str, value: Any) -> None:
        frame = self.frame
        if (name in frame.values or name in frame.local) and name not in frame.shared:
            frame.values[name] = value
        elif name in frame.shared | frame.script.declared:
            self.root_script().globals[name] = value
        elif owner := self.owner_of(frame.script, name):
            owner.values[name] = value
        else:
            frame.values[name] = value


def _is_declaration(node: tree.SyntaxNode) -> bool:
    return isinstance(node, tree.Script) or (
        isinstance(node, tree.Declare) and node.kind == "property"
    )


_STATEMENTS: Final[Mapping[type, Callable[[Evaluator, Any], None]]] = {
    tree.Assign: Evaluator.run_assign,
    tree.Tell: Evaluator.run_tell,
    tree.If: Evaluator.run_if,
    tree.Repeat: Evaluator.run_repeat,
    tree.Try: Evaluator.run_try,
    tree.Raise: Evaluator.run_raise,
    tree.Leave: Evaluator.run_leave,
    tree.Within: Evaluator.run_within,
    tree.Declare: Evaluator.run_declare,
    tree.Script: Evaluator.run_object,
}


def has_result(value: object) -> bool:
    """Say whether a run left a value."""
    return value is not NOTHING
