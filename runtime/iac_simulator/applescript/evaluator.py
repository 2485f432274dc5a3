"""Reckoning expressions: names, references, operators and calls.

A script is bounded in steps, in the depth of its calls and in the size of what it holds. Nothing
of this machine is reached: whatever is no reckoning is a request to a simulated app.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final

from iac_runtime.language import applescript_tree as tree
from iac_simulator.applescript.additions import call_foundation
from iac_simulator.applescript.app_events import OSASCRIPT, AppEvents
from iac_simulator.applescript.elements import (
    Delimiters,
    parse_date,
    pick_element,
    property_of,
)
from iac_simulator.applescript.values import (
    COMPARISONS,
    OPERATORS,
    AppleScriptError,
    AppValue,
    ClassName,
    Constant,
    Date,
    ObjectReference,
    Path,
    ScriptObject,
    ScriptRecord,
    UnsupportedError,
    ValueReference,
    as_boolean,
    as_integer,
    as_list,
    as_number,
    as_text,
    class_name,
    coerce,
    fold_text,
    is_equal,
    plain,
    posix_path,
    source_text,
)

_STEPS: Final = 1_000_000
_LARGEST: Final = 4_000_000
"""Characters or items of one value."""

_CONSTANTS: Final[Mapping[str, Any]] = {
    "return": "\r", "linefeed": "\n", "tab": "\t", "space": " ", "quote": '"',
    "pi": 3.14159265359,
    "minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800,
}  # fmt: skip


_READ: Final = tree.Member | tree.ElementForm
"""What is read where its value is wanted; a variable gives the reference that it holds."""


class LeaveError(BaseException):
    """`return` or `exit repeat`."""

    def __init__(self, way: str, value: Any) -> None:
        super().__init__(way)
        self.way, self.value = way, value


NOTHING: Final = object()
"""What a statement without a value leaves."""


@dataclass
class HandlerFrame:
    """A running handler: its variables, which of them are global, the script it is of.

    `local` are the names that hide properties; `me` is the script that was asked, where the
    handler is of a parent of it.
    """

    script: ScriptObject
    values: dict[str, Any]
    shared: set[str] = field(default_factory=set)
    result: Any = NOTHING
    local: set[str] = field(default_factory=set)
    me: ScriptObject | None = None


class ExpressionEvaluator:
    """Reckons the expressions of one script.

    `log` writes to its stderr, `sleep` waits, `check` raises past the time.
    """

    def __init__(
        self,
        events: AppEvents,
        log: Callable[[str], None],
        sleep: Callable[[float], None],
        check: Callable[[], None],
    ) -> None:
        self.events, self.log, self.sleep, self.check = events, log, sleep, check
        self.steps = 0
        self.ignored = frozenset(("case", "numeric"))
        self.delimiters: Any = [""]
        self.frame = HandlerFrame(ScriptObject("", {}, {}), {})
        self.told: list[Any] = []
        self.tested: list[bool] = []

    def run_block(self, body: Sequence[tree.SyntaxNode]) -> None:
        """Carry out statements."""
        raise NotImplementedError

    def command_value(self, node: tree.CommandCall) -> Any:
        """Return what a command gives."""
        raise NotImplementedError

    def assign(self, target: tree.SyntaxNode, value: Any) -> None:
        """Give a pattern of names their values."""
        raise NotImplementedError

    def count_step(self) -> None:
        """Count a step; now and then look at the time."""
        self.steps += 1
        if self.steps % 512 == 0:
            self.check()
        if self.steps > _STEPS:
            raise UnsupportedError(f"more than {_STEPS} steps of a script")

    def hold(self, value: Any) -> Any:
        """Return a value if it is not too large to be held."""
        if isinstance(value, str | list) and len(value) > _LARGEST:
            raise AppleScriptError(-108, "Out of memory.")
        return value

    # ---- names

    def root_script(self) -> ScriptObject:
        script = self.frame.script
        while script.parent is not None:
            script = script.parent
        return script

    def owner_of(self, script: ScriptObject | None, name: str) -> ScriptObject | None:
        while script is not None and name not in script.values:
            script = script.parent
        return script

    def name_value(self, node: tree.Name) -> Any:
        name, frame = node.name, self.frame
        match name:
            case "me":
                return frame.me or frame.script
            case "it":
                return self.told[-1]
            case "current application":
                return OSASCRIPT
            case "result" if frame.result is not NOTHING:
                return frame.result
        if name in frame.values:
            return frame.values[name]
        if name in frame.local:
            raise AppleScriptError(-2753, f"The variable {name} is not defined.")
        shared = self.root_script()
        if name in shared.globals and (name in frame.shared or name in shared.declared):
            return shared.globals[name]
        owner = self.owner_of(frame.script, name)
        if owner is not None:
            return owner.values[name]
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        raise AppleScriptError(-2753, f"The variable {name} is not defined.")

    def marks(self) -> list[str]:
        return [as_text(mark) for mark in as_list(self.delimiters)]

    def pick(self, holder: Any, node: tree.ElementForm, keys: Sequence[Any]) -> Any:
        """Return what an element form names in a value of the script's own."""
        delimiters = Delimiters(self.marks(), "case" not in self.ignored)
        return pick_element(holder, node.term, node.form, keys, delimiters)

    # ---- expressions

    def value(self, node: tree.SyntaxNode) -> Any:
        """Return the value of an expression: a reference to an app's objects is read."""
        found = self.specify(node)
        if found is NOTHING:
            raise AppleScriptError(
                -2763, "No result was returned from some part of this expression."
            )
        return self.read_found(found, node)

    def read_found(self, found: Any, node: tree.SyntaxNode) -> Any:
        """Return the value of what an expression names; a variable keeps a reference."""
        named = isinstance(found, ObjectReference) and isinstance(ungrouped(node), _READ)
        return self.events.read(found) if named else found

    def specify(self, node: tree.SyntaxNode) -> Any:
        """Return what an expression names, without reading it from its app."""
        self.count_step()
        try:
            return _EXPRESSIONS[type(node)](self, node)
        except KeyError:
            raise UnsupportedError(type(node).__name__.lower()) from None

    def term_value(self, node: tree.TermName) -> Any:
        if node.use == "class":
            return ClassName(node.term)
        if node.term in _CONSTANTS and node.use == "constant":
            return _CONSTANTS[node.term]
        return Constant(node.term)

    def app_value(self, node: tree.Application) -> AppValue:
        return self.events.find_app(as_text(self.value(node.name)))

    def list_value(self, node: tree.ListOf) -> list[Any]:
        return [self.value(item) for item in node.items]

    def record_value(self, node: tree.RecordOf) -> ScriptRecord:
        return ScriptRecord({key.casefold(): self.value(item) for key, item in node.fields})

    def grouped_value(self, node: tree.Grouped) -> Any:
        return self.specify(node.inner)

    def reference_value(self, node: tree.ReferenceTo) -> Any:
        found, frame, told = self.specify(node.target), self.frame, [*self.told]
        if isinstance(found, AppValue | ObjectReference | ValueReference):
            return found

        def there(action: Callable[..., Any], *given: Any) -> Any:
            outer = self.frame, self.told
            self.frame, self.told = frame, told
            try:
                return action(node.target, *given)
            finally:
                self.frame, self.told = outer

        return ValueReference(
            partial(there, self.value),
            partial(there, self.assign),
            lambda: source_text(there(self.value)),
        )

    def container(self, within: tree.SyntaxNode | None) -> Any:
        """Return what something is asked of: what is told, where nothing is written."""
        return self.told[-1] if within is None else plain(self.specify(within))

    def member_value(self, node: tree.Member) -> Any:
        name = node.name
        key = name.term if isinstance(name, tree.TermName) else ""
        if isinstance(name, tree.Name):
            key = name.name
        if "item delimiters" in key:
            return self.delimiters
        counts = isinstance(name, tree.TermName) and name.use == "class" and key == "number"
        if counts and node.within is not None:
            return self.count(self.specify(node.within))
        if key in _CONSTANTS and node.within is None:
            return _CONSTANTS[key]
        if node.within is None and key.casefold() in self.frame.values:
            return self.frame.values[key.casefold()]
        holder = self.container(node.within)
        if holder is OSASCRIPT and isinstance(name, tree.Name):
            return Constant(key)
        if isinstance(holder, Path) and key != "POSIX path":
            holder = self.located(holder)
        if isinstance(holder, Constant) and holder.term == "AppleScript":
            return _CONSTANTS.get(key)
        if isinstance(holder, AppValue | ObjectReference):
            return self.app_member(holder, key)
        if isinstance(holder, ScriptObject):
            return self.script_member(holder, key)
        if isinstance(holder, list) and key not in (
            "length",
            "reverse",
            "rest",
            "class",
            "contents",
        ):
            raise AppleScriptError(-1728, f"Can’t get {key} of {source_text(holder)}.")
        return property_of(holder, key)

    def app_member(self, holder: AppValue | ObjectReference, key: str) -> Any:
        app = holder if isinstance(holder, AppValue) else holder.app
        chain = () if isinstance(holder, AppValue) else holder.chain
        if key == "contents" and self.events.property_step(app, key)[1] != key:
            return self.events.read(holder) if isinstance(holder, ObjectReference) else holder
        own = key in ("POSIX path", "quoted form", "length")
        if own and isinstance(holder, ObjectReference) and not self.events.has_property(app, key):
            value = self.events.read(holder)
            return property_of(value, key)
        return ObjectReference(app, (*chain, self.events.property_step(app, key)))

    def script_member(self, holder: ScriptObject, key: str) -> Any:
        name = key.casefold()
        if name == "class":
            return ClassName("script")
        if name == "parent" and holder.parent is not None:
            return holder.parent
        owner = self.owner_of(holder, name)
        if owner is not None:
            return owner.values[name]
        if name in holder.globals:
            return holder.globals[name]
        if name == "name" and holder.name:
            return holder.name
        raise AppleScriptError(-1728, f"Can’t get {key}.")

    def element_value(self, node: tree.ElementForm) -> Any:
        if node.term in ("date", "file", "alias", "POSIX file") and node.form in ("index", "name"):
            made = self.made_value(node)
            if made is not None:
                return made
        if node.form == "whose":
            return self.filtered(node)
        if node.form == "id" and node.within is None and node.term in ("character", "text"):
            codes = as_list(self.value(node.keys[0]))
            return "".join(chr(as_integer(code)) for code in codes)
        holder = self.located(self.container(node.within))
        if isinstance(holder, AppValue | ObjectReference):
            app = holder if isinstance(holder, AppValue) else holder.app
            if not node.term or self.events.has_class(app, node.term):
                return self.app_element(node, app, holder)
            holder = self.events.read(holder) if isinstance(holder, ObjectReference) else holder
        return self.pick(holder, node, [self.end_key(key) for key in node.keys])

    def end_key(self, node: tree.SyntaxNode) -> Any:
        """Return a key of an element form: at an end of a range, a class with a number."""
        if isinstance(node, tree.ElementForm) and node.form == "index" and node.within is None:
            return node.term, self.value(node.keys[0])
        return plain(self.value(node))

    def located(self, value: Any) -> Any:
        """Return a file as the Finder's object inside a `tell` to it; another value as it is."""
        told = self.told[-1]
        app = told.app if isinstance(told, ObjectReference) else told
        if isinstance(value, Path) and isinstance(app, AppValue) and app.key == "finder":
            return self.events.locate(app, value, "items")
        return value

    def made_value(self, node: tree.ElementForm) -> Any:
        """Return the date or file that a text names; None for an element of an app."""
        key = plain(self.value(node.keys[0]))
        if node.term == "date" and isinstance(key, str):
            return Date(parse_date(key, self.events.now().moment))
        if node.within is None and isinstance(key, str | Path):
            path = key.path if isinstance(key, Path) else key
            app = self.told[-1]
            if node.term == "file" and isinstance(app, ObjectReference):
                return None
            return Path(posix_path(path), "alias" if node.term == "alias" else "file")
        return None

    def app_element(
        self, node: tree.ElementForm, app: AppValue, holder: AppValue | ObjectReference
    ) -> Any:
        chain = () if isinstance(holder, AppValue) else holder.chain
        if node.term:
            chain = (*chain, self.events.elements_step(app, node.term))
        keys = [plain(self.value(key)) for key in node.keys]
        match node.form:
            case "every":
                return ObjectReference(app, chain)
            case "some" | "middle":
                return ObjectReference(app, (*chain, ("o", node.form)))
            case "range":
                return ObjectReference(app, (*chain, ("r", [as_integer(key) for key in keys])))
            case "id":
                return ObjectReference(app, (*chain, ("id", keys[0])))
            case "name":
                return ObjectReference(app, (*chain, ("n", as_text(keys[0]))))
        key = keys[0]
        if isinstance(key, Path) and app.key == "finder":
            return self.events.locate(app, key, chain[len(chain) - 1][1])
        if isinstance(key, str):
            return ObjectReference(app, (*chain, ("n", key)))
        number = as_integer(key)
        return ObjectReference(app, (*chain, ("i", number - 1 if number > 0 else number)))

    def filtered(self, node: tree.ElementForm) -> Any:
        base = plain(self.specify(node.within)) if node.within is not None else None
        if not isinstance(base, ObjectReference):
            raise AppleScriptError(-1728, "Can’t use a filter on a list of the script.")
        test = self.test_of(node.keys[0], base.app)
        return ObjectReference(base.app, (*base.chain, ("w", self.events.fold_test(test))))

    def test_of(self, node: tree.SyntaxNode, app: AppValue) -> dict[str, Any]:
        """Return a test of `whose` as requests have it, before it is folded."""
        match node:
            case tree.Grouped(_, inner):
                return self.test_of(inner, app)
            case tree.OperatorForm(_, ("and" | "or") as way, parts):
                tests = [self.test_of(part, app) for part in parts]
                return _test_record(**{f"_{way}": tests})
            case tree.OperatorForm(_, "not", (part,)):
                return _test_record(_not=[self.test_of(part, app)])
            case tree.OperatorForm(_, sign, (left, right)) if sign in _TESTS:
                chain = self.tested_chain(left, app)
                if chain is None:
                    chain = self.tested_chain(right, app)
                    sign, right = _TURNED.get(sign, sign), left
                if chain is None:
                    raise UnsupportedError("a filter that tests nothing of the object")
                return self.match_of(chain, sign, self.value(right), app)
        chain = self.tested_chain(node, app)
        if chain is None:
            raise UnsupportedError("a filter of this form")
        return self.match_of(chain, "=", True, app)

    def match_of(self, chain: Any, sign: str, value: Any, app: AppValue) -> dict[str, Any]:
        if sign in ("in", "not in"):
            parts = [self.match_of(chain, "=", item, app) for item in as_list(value)]
            test = parts[0] if len(parts) == 1 else _test_record(_or=parts)
            return _test_record(_not=[test]) if sign == "not in" else test
        tested, negative = {"$": "it", "v": chain}, sign == "≠" or sign.startswith("not")
        key = _TESTS[sign]
        given = self.events.to_wire(value, app)
        pair = [tested, given if key == "=" else {"$": "record", "v": {key: given}}]
        return (
            _test_record(_not=[_test_record(_match=pair)])
            if negative
            else _test_record(_match=pair)
        )

    def tested_chain(self, node: tree.SyntaxNode, app: AppValue) -> list[Any] | None:
        """Return the chain from the tested object, if an expression begins at it."""
        match node:
            case tree.Grouped(_, inner):
                return self.tested_chain(inner, app)
            case tree.Member(_, tree.TermName(_, _, term), within):
                step = list(self.events.property_step(app, term))
            case tree.ElementForm(_, term, "every", _, within):
                step = list(self.events.elements_step(app, term))
            case tree.Name(_, "it"):
                return []
            case _:
                return None
        if within is None:
            return [step]
        above = self.tested_chain(within, app)
        return None if above is None else [*above, step]

    def place_value(self, node: tree.Place) -> Any:
        holder = self.container(node.within)
        if isinstance(holder, AppValue):
            return holder
        if not isinstance(holder, ObjectReference):
            raise AppleScriptError(-1728, f"Can’t get {node.where} of {source_text(holder)}.")
        return ObjectReference(holder.app, (*holder.chain, ("l", node.where)))

    # ---- operators

    def operation_value(self, node: tree.OperatorForm) -> Any:
        sign, operands = node.operator, node.operands
        if sign in ("and", "or"):
            left = as_boolean(self.value(operands[0]))
            if left == (sign == "or"):
                return left
            return as_boolean(self.value(operands[1]))
        if sign in ("=", "≠") and (asked := self.running_asked(node)) is not None:
            return asked == (sign == "=")
        left = self.value(operands[0])
        left = left if sign in ("=", "≠") else plain(left)
        if sign == "not":
            return not as_boolean(left)
        if sign == "negative":
            return -as_number(left)
        right = self.value(operands[1])
        right = right if sign in ("=", "≠") else plain(right)
        if sign == "as":
            return self.coerced(left, right)
        if sign in COMPARISONS:
            return COMPARISONS[sign](left, right, self.ignored)
        if sign in _CONTAINED:
            return self.contains(sign, left, right)
        if sign == "&":
            return self.hold(self.joined(left, right))
        return self.reckoned(sign, left, right)

    def running_asked(self, node: tree.OperatorForm) -> bool | None:
        app, asked = node.operands
        named = asked.name if isinstance(asked, tree.Member) else asked
        if not isinstance(named, tree.TermName | tree.Name) or isinstance(app, tree.Value):
            return None
        word = named.term if isinstance(named, tree.TermName) else named.name
        if word != "running":
            return None
        holder = self.specify(app)
        if not isinstance(holder, AppValue):
            return None
        return as_boolean(self.events.read(ObjectReference(holder, (("p", "running"),))))

    def coerced(self, value: Any, kind: Any) -> Any:
        if isinstance(kind, list):
            return self.coerced_to_any(value, kind)
        term = kind.term if isinstance(kind, ClassName | Constant) else as_text(kind)
        if term == "alias list":
            found = value if isinstance(value, list) else [value]
            return [path for item in found for path in self.events.aliases(item)]
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], ObjectReference):
            value = value if term == "list" else value[0]
        if isinstance(value, ObjectReference):
            if term == "alias":
                paths = self.events.aliases(value)
                return paths[0] if len(paths) == 1 else paths
            if term in ("text", "string", "Unicode text"):
                read = self.events.read(value)
                files = isinstance(read, ObjectReference) and read.app.key == "finder"
                read = self.events.aliases(read)[0] if files else read
                return coerce(read, term, self.marks()[0])
            return [value] if term == "list" else value
        return self.hold(coerce(value, term, (self.marks() or [""])[0]))

    def coerced_to_any(self, value: Any, kinds: Sequence[Any]) -> Any:
        """Return a value that is of one of the classes, or as the first that it can be."""
        if any(as_text(kind) == class_name(value) for kind in kinds):
            return value
        for kind in kinds[:-1]:
            try:
                return self.coerced(value, kind)
            except AppleScriptError:
                continue
        return self.coerced(value, kinds[-1]) if kinds else value

    def contains(self, sign: str, left: Any, right: Any) -> bool:
        if sign in ("in", "not in"):
            left, right = right, left
        negative = sign.startswith("not")
        if isinstance(left, list):
            parts = right if isinstance(right, list) else [right]
            if sign.endswith(("begins", "ends")):
                edge = left[: len(parts)] if sign.endswith("begins") else left[-len(parts) :]
                return is_equal(edge, parts, self.ignored) != negative
            windows = range(len(left) - len(parts) + 1)
            found = (is_equal(left[i : i + len(parts)], parts, self.ignored) for i in windows)
            return any(found) != negative
        if isinstance(left, ScriptRecord) and isinstance(right, ScriptRecord):
            fields = left.fields
            same = (
                key in fields and is_equal(fields[key], item, self.ignored)
                for key, item in right.fields.items()
            )
            return all(same) != negative
        whole, part = (fold_text(as_text(text), self.ignored) for text in (left, right))
        if sign.endswith("begins"):
            return whole.startswith(part) != negative
        return (whole.endswith(part) if sign.endswith("ends") else part in whole) != negative

    def joined(self, left: Any, right: Any) -> Any:
        if isinstance(left, ScriptRecord) and isinstance(right, ScriptRecord):
            return ScriptRecord(left.fields | right.fields | left.fields)
        if isinstance(left, str) and not isinstance(right, list | ScriptRecord):
            try:
                return left + as_text(right)
            except AppleScriptError:
                return [left, right]
        if isinstance(left, str) and isinstance(right, list):
            return left + as_text(right, (self.marks() or [""])[0])
        return [*as_list(left), *as_list(right)]

    def reckoned(self, sign: str, left: Any, right: Any) -> Any:
        if isinstance(left, Date):
            if sign == "-" and isinstance(right, Date):
                return as_number(int((left.moment - right.moment).total_seconds()))
            seconds = as_number(right)
            return Date(left.moment + timedelta(seconds=seconds if sign == "+" else -seconds))
        a, b = as_number(left), as_number(right)
        try:
            return as_number(OPERATORS[sign](a, b))
        except ZeroDivisionError:
            raise AppleScriptError(-2701, f"Can’t divide {source_text(left)} by zero.") from None
        except OverflowError:
            raise AppleScriptError(
                -2702, "The result of a numeric operation was too large."
            ) from None

    # ---- calls

    def handler_value(self, node: tree.HandlerCall) -> Any:
        told, me = self.told[-1], self.frame.me or self.frame.script
        here = told if isinstance(told, ScriptObject) else me
        owner = plain(self.specify(node.owner)) if node.owner is not None else here
        arguments = [self.value(argument) for argument in node.arguments]
        asked = owner if isinstance(owner, ScriptObject) else me
        script = self.frame.script.parent if node.continues else asked
        while script is not None and node.name not in script.handlers:
            script = script.parent
        if script is None and node.name.endswith(":"):
            return call_foundation(node.name, owner, arguments)
        if script is None:
            said = f"{source_text(owner)} doesn’t understand the “{node.name}” message."
            raise AppleScriptError(-1708, said)
        handler = script.handlers[node.name]
        if node.labels:
            given = dict(zip(node.labels, arguments, strict=True))
            missing = [
                label
                for label in handler.labels
                if label not in given and label not in handler.defaults
            ]
            if missing:
                raise AppleScriptError(
                    -1701, f"The {missing[0]} parameter is missing for {node.name}."
                )
            arguments = [
                given[label] if label in given else self.value(handler.defaults[label])
                for label in handler.labels
            ]
        return self.call_handler(me if node.continues else asked, script, handler, arguments)

    def call_handler(
        self,
        me: ScriptObject,
        script: ScriptObject,
        handler: tree.Handler,
        arguments: Sequence[Any],
    ) -> Any:
        """Carry out a handler of a script; `me` is the script that was asked, or one below."""
        if len(arguments) < len(handler.parameters):
            raise AppleScriptError(-1701, f"A parameter is missing for {handler.name}.")
        outer, told = self.frame, self.told
        self.frame, self.told = HandlerFrame(script, {}, me=me), [me]
        try:
            for pattern, argument in zip(handler.parameters, arguments, strict=False):
                if isinstance(pattern, tree.Name):
                    self.frame.values[pattern.name] = argument
                else:
                    self.assign(pattern, argument)
            self.run_block(handler.body)
        except LeaveError as left:
            return left.value
        except RecursionError:
            raise AppleScriptError(-2706, "Stack overflow.") from None
        else:
            return self.frame.result
        finally:
            self.frame, self.told = outer, told

    def count(self, place: Any) -> int:
        place = plain(place)
        if isinstance(place, ObjectReference):
            return self.events.count(place)
        if isinstance(place, ScriptRecord):
            return len(place.fields)
        if isinstance(place, str | list):
            return len(place)
        raise AppleScriptError(-1700, f"Can’t count {source_text(place)}.")


def ungrouped(node: tree.SyntaxNode) -> tree.SyntaxNode:
    """Return an expression without the parentheses around it."""
    while isinstance(node, tree.Grouped):
        node = node.inner
    return node


def _test_record(**fields: Any) -> dict[str, Any]:
    return {"$": "record", "v": fields}


_CONTAINED: Final = frozenset(
    word for way in ("contains", "in", "begins", "ends") for word in (way, f"not {way}")
)
_TESTS: Final = {
    "=": "=", "≠": "=", ">": ">", "<": "<", "≥": ">=", "≤": "<=", "contains": "_contains",
    "not contains": "_contains", "begins": "_beginsWith", "ends": "_endsWith",
    "not begins": "_beginsWith", "not ends": "_endsWith",
    "in": "", "not in": "",
}  # fmt: skip
_TURNED: Final = {">": "<", "<": ">", "≥": "≤", "≤": "≥", "in": "contains"}

_EXPRESSIONS: Final[Mapping[type, Callable[[ExpressionEvaluator, Any], Any]]] = {
    tree.Value: lambda _, node: node.value,
    tree.Name: ExpressionEvaluator.name_value,
    tree.TermName: ExpressionEvaluator.term_value,
    tree.Application: ExpressionEvaluator.app_value,
    tree.ElementForm: ExpressionEvaluator.element_value,
    tree.Member: ExpressionEvaluator.member_value,
    tree.Place: ExpressionEvaluator.place_value,
    tree.ListOf: ExpressionEvaluator.list_value,
    tree.RecordOf: ExpressionEvaluator.record_value,
    tree.Grouped: ExpressionEvaluator.grouped_value,
    tree.ReferenceTo: ExpressionEvaluator.reference_value,
    tree.OperatorForm: ExpressionEvaluator.operation_value,
    tree.HandlerCall: ExpressionEvaluator.handler_value,
    tree.CommandCall: lambda script, node: script.command_value(node),
}
