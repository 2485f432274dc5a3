"""Carrying out commands: those of the language here, the others by the apps."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_runtime.language import applescript_tree as tree
from iac_simulator.applescript.additions import random_number, round_number
from iac_simulator.applescript.app_events import OSASCRIPT
from iac_simulator.applescript.evaluator import ExpressionEvaluator, ungrouped
from iac_simulator.applescript.values import (
    AppValue,
    Date,
    ObjectReference,
    Path,
    ScriptObject,
    UnsupportedError,
    as_number,
    as_text,
    fold_text,
    plain,
    source_text,
)


class CommandEvaluator(ExpressionEvaluator):
    """Carries out the commands of one script."""

    def run_command(self, node: tree.CommandCall) -> Any:
        """Carry out `run`: a script object, or an app."""
        raise NotImplementedError

    def run_text(self, node: tree.CommandCall) -> Any:
        """Carry out `run script`."""
        raise NotImplementedError

    def command_value(self, node: tree.CommandCall) -> Any:
        own = _COMMANDS.get(node.term)
        return own(self, node) if own is not None else self.send_command(node)

    def send_command(self, node: tree.CommandCall) -> Any:
        direct: Any = None
        if node.direct is not None:
            direct = plain(self.specify(node.direct))
        named = {label: self.parameter(value) for label, value in node.parameters}
        told = self.told[-1]
        app = told.app if isinstance(told, ObjectReference) else told
        if isinstance(direct, ObjectReference) and not isinstance(app, AppValue):
            app = direct.app
        if isinstance(direct, AppValue):
            app, direct = direct, None
        if not isinstance(app, AppValue):
            app = OSASCRIPT
        if direct is None and isinstance(told, ObjectReference):
            direct = self.events.place_told(app, node.term, told, named)
        answer = self.events.call(app, node.term, direct, named)
        wanted = named.get("as")
        return self.coerced(answer, wanted) if isinstance(answer, Path) and wanted else answer

    def path_command(self, node: tree.CommandCall) -> Any:
        """Return what `path to` gives: of the script itself, what runs it."""
        direct = self.specify(node.direct) if node.direct is not None else None
        mine = isinstance(direct, ScriptObject) or direct is OSASCRIPT
        return Path("/usr/bin/osascript", "alias") if mine else self.send_command(node)

    def parameter(self, node: tree.SyntaxNode) -> Any:
        """Return a parameter of a command: a reference goes as it is."""
        value = plain(self.specify(node))
        inner = ungrouped(node)
        owned = isinstance(inner, tree.Member) and inner.within is not None
        if isinstance(value, ObjectReference) and owned:
            return self.events.read(value)
        return value

    def get_command(self, node: tree.CommandCall) -> Any:
        if node.direct is None:
            return self.value(tree.Name(node.start, "it"))
        found = plain(self.specify(node.direct))
        return self.events.read(found) if isinstance(found, ObjectReference) else found

    def count_command(self, node: tree.CommandCall) -> int:
        direct = node.direct
        found = self.specify(direct) if direct is not None else self.told[-1]
        each = dict(node.parameters).get("each")
        if each is not None:
            kind = self.value(each)
            every = tree.ElementForm(node.start, kind.term, "every")
            return len(self.pick(plain(found), every, ()))
        return self.count(found)

    def exists_command(self, node: tree.CommandCall) -> bool:
        found = plain(self.specify(node.direct)) if node.direct is not None else self.told[-1]
        if not isinstance(found, ObjectReference):
            return True
        return bool(self.events.call(found.app, "exists", found, {}))

    def log_command(self, node: tree.CommandCall) -> None:
        text = plain(self.value(node.direct)) if node.direct is not None else ""
        self.log(text if isinstance(text, str) else source_text(text))

    def delay_command(self, node: tree.CommandCall) -> None:
        self.sleep(max(0.0, as_number(self.value(node.direct)) if node.direct else 0.0))
        self.check()

    def date_command(self, _node: tree.CommandCall) -> Date:
        return self.events.now()

    def offset_command(self, node: tree.CommandCall) -> int:
        given = dict(node.parameters)
        if "of" not in given and node.direct is not None:
            given["of"] = node.direct
        part, whole = (as_text(self.value(given[label])) for label in ("of", "in"))
        return fold_text(whole, self.ignored).find(fold_text(part, self.ignored)) + 1

    def round_command(self, node: tree.CommandCall) -> Any:
        number = as_number(self.value(node.direct)) if node.direct is not None else 0
        way = dict(node.parameters).get("rounding")
        return round_number(number, as_text(self.value(way)) if way is not None else "")

    def random_command(self, node: tree.CommandCall) -> Any:
        given = {label: self.value(value) for label, value in node.parameters}
        if node.direct is not None:
            given.setdefault("to", self.value(node.direct))
        return random_number(given)


def _refuse(what: str) -> Any:
    raise UnsupportedError(what)


_COMMANDS: Final[Mapping[str, Callable[[CommandEvaluator, Any], Any]]] = {
    "get": CommandEvaluator.get_command,
    "count": CommandEvaluator.count_command,
    "exists": CommandEvaluator.exists_command,
    "log": CommandEvaluator.log_command,
    "delay": CommandEvaluator.delay_command,
    "current date": CommandEvaluator.date_command,
    "run": lambda script, node: script.run_command(node),
    "runScript": lambda script, node: script.run_text(node),
    "loadScript": lambda _, _node: _refuse("load script"),
    "pathTo": CommandEvaluator.path_command,
    "offset": CommandEvaluator.offset_command,
    "round": CommandEvaluator.round_command,
    "random number": CommandEvaluator.random_command,
}
