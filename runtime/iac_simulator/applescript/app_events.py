"""What a script sends to the simulated apps: the requests that JavaScript's form makes too."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any, Final
from urllib.parse import unquote

from iac_runtime.language.applescript_expressions import Terms
from iac_runtime.language.applescript_parser import parse_applescript
from iac_runtime.language.applescript_tree import Script
from iac_runtime.tools.tables import Tables
from iac_simulator.applescript.terms import (
    app_terms,
    language_terms,
    property_names,
    spell_label,
    spell_words,
)
from iac_simulator.applescript.values import (
    AppleScriptError,
    AppValue,
    ClassName,
    Constant,
    Date,
    ObjectReference,
    Path,
    ScriptObject,
    ScriptRecord,
    plain,
)
from iac_simulator.dictionary import chain_meaning, enumeration_rows
from iac_simulator.dispatcher import CURRENT, Dispatcher
from iac_simulator.events import command_named
from iac_simulator.values import chain_from_wire, parse_instant, to_iso


class AppEvents:
    """The apps as a script reaches them; `send` takes and gives JSON, as JavaScript's does."""

    def __init__(self, send: Callable[[str], str], dispatcher: Callable[[], Dispatcher]) -> None:
        self._send, self._dispatcher = send, dispatcher
        self._apps: dict[str, AppValue] = {}
        self.timeout: float | None = None

    def ask(self, operation: str, **body: Any) -> Any:
        """Return the answer to a request.

        Raises:
            AppleScriptError: The app refuses, with its number and name.
        """
        reply = json.loads(self._send(json.dumps({"op": operation, **body})))
        if "error" in reply:
            number, message = reply["error"]["number"], reply["error"]["message"]
            app = self._tables(body.get("root", {}).get("key", ""))
            said = f"{app.app.name} got an error: {message}" if app else message
            raise AppleScriptError(number, said)
        if "missing" in reply:
            raise AppleScriptError(-2700, reply["missing"])
        return reply["value"]

    def _tables(self, key: str) -> Tables | None:
        world = self._dispatcher().worlds.get(key)
        return world.tables if world is not None else None

    def find_app(self, name: str) -> AppValue:
        """Return an app by its name or bundle id.

        Raises:
            AppleScriptError: -1728: there is none.
        """
        if name not in self._apps:
            reply = json.loads(self._send(json.dumps({"op": "application", "name": name})))
            if "value" not in reply:
                raise AppleScriptError(-1728, f"Can’t get application “{name}”.")
            self._apps[name] = AppValue(reply["value"]["key"], reply["value"]["name"])
        return self._apps[name]

    def find_terms(self, name: str) -> Terms | None:
        """Return the words of an app by its name; None for one that is not there."""
        try:
            tables = self._tables(self.find_app(name).key)
        except AppleScriptError:
            return None
        return app_terms(tables) if tables is not None else None

    def addition_terms(self) -> list[Terms]:
        """Return the words of what is loaded into every app."""
        worlds = self._dispatcher().worlds.values()
        return [app_terms(w.tables) for w in worlds if w.tables.app.kind == "addition"]

    def parse(self, script: str) -> Script:
        """Return the syntax tree of a script, read by the words of the apps that there are.

        Raises:
            ScriptSyntaxError: It cannot be read.
        """
        common = [language_terms(), *self.addition_terms()]
        return parse_applescript(script, self.find_terms, common)

    def now(self) -> Date:
        """Return the moment, by the world's clock."""
        return Date(parse_instant(self._dispatcher().now()).replace(microsecond=0))

    def property_step(self, app: AppValue, term: str) -> tuple[str, str]:
        """Return the step to a property: by the name that JavaScript has for it.

        `window of desktop` is the one that Finder's dictionary calls its container window.
        """
        tables, name = self._tables(app.key), term.casefold()
        names = property_names(tables) if tables is not None else {}
        return ("p", names.get(f"container {name}") or names.get(name) or _camel_case(term))

    def has_class(self, app: AppValue, term: str) -> bool:
        """Say whether an app's dictionary has a class."""
        tables = self._tables(app.key)
        return tables is not None and term in tables.classes

    def has_property(self, app: AppValue, term: str) -> bool:
        """Say whether an app's dictionary has a property."""
        tables = self._tables(app.key)
        return tables is not None and term.casefold() in property_names(tables)

    def elements_step(self, app: AppValue, term: str) -> tuple[str, str]:
        """Return the step to all elements of a class."""
        tables = self._tables(app.key)
        row = tables.classes.get(term) if tables is not None else None
        return ("p", row.plural if row else _camel_case(term) + "s")

    def read(self, reference: ObjectReference) -> Any:
        """Return the value of a reference: one event."""
        app, chain = reference.app, reference.chain
        if not chain:
            return app
        value = self.ask("get", root=_root(app), chain=chain, modifiers=self._modifiers())
        tables = self._tables(app.key)
        prop = chain_meaning(tables, chain_from_wire(chain)).prop if tables else None
        return self.from_wire(value, app, prop.type if prop else "")

    def locate(self, finder: AppValue, path: Path, plural: str) -> ObjectReference:
        """Return the Finder's object at a path; `plural` is the list that it is picked from."""
        *folders, last = [name for name in path.path.split("/") if name] or [""]
        chain: list[tuple[str, Any]] = [("p", "startupDisk")]
        for name in folders:
            chain += [("p", "folders"), ("n", name)]
        return ObjectReference(
            finder, (*chain, ("p", plural), ("n", last)) if last else tuple(chain)
        )

    def aliases(self, place: Any) -> list[Any]:
        """Return the files that a reference names, of objects that say where they are."""
        found = self.read(place) if isinstance(place, ObjectReference) else plain(place)
        paths = []
        for item in found if isinstance(found, list) else [found]:
            url = item
            if isinstance(item, ObjectReference):
                url = self.read(
                    ObjectReference(item.app, (*item.chain, self.property_step(item.app, "URL")))
                )
            if isinstance(url, str):
                url = Path(unquote(url.removeprefix("file://")), "alias")
            paths.append(url)
        return paths

    def write(self, reference: ObjectReference, value: Any) -> None:
        """Set what a reference names: one event."""
        given, modifiers = self.to_wire(value, reference.app), self._modifiers()
        root = _root(reference.app)
        self.ask("set", root=root, chain=reference.chain, value=given, modifiers=modifiers)

    def count(self, reference: ObjectReference) -> int:
        """Return how many objects a reference names: one event."""
        return int(self.ask("length", root=_root(reference.app), chain=reference.chain))

    def fold_test(self, test: Mapping[str, Any]) -> Any:
        """Return a filter as requests have it."""
        return self.ask("filter", filter=test, modifiers=None)

    def call(self, app: AppValue, command: str, direct: Any, named: Mapping[str, Any]) -> Any:
        """Send a command; `named` are its parameters by their labels."""
        row = self._find_command(app, command)
        keys = {spell_label(key, param): key for key, param in row.params.items()} if row else {}
        fields = {keys.get(label, label): self.to_wire(v, app) for label, v in named.items()}
        arguments: list[Any] = []
        if row is None or row.direct is not None or direct is not None:
            arguments.append(self.to_wire(direct, app))
        arguments.append({"$": "record", "v": fields})
        if self.timeout is not None:
            arguments.append(self._modifiers())
        value = self.ask("call", root=_root(app), chain=[["p", command]], args=arguments)
        return self.from_wire(value, app, row.result if row else "")

    def place_told(
        self, app: AppValue, command: str, told: ObjectReference, named: dict[str, Any]
    ) -> Any:
        """Return what is told as the direct parameter; to `make` it is a place."""
        row = self._find_command(app, command)
        if row is not None and row.event == "corecrel":
            named.setdefault("at", told)
            return None
        return told if row is not None and row.direct is not None else None

    def _find_command(self, app: AppValue, command: str) -> Any:
        worlds = self._dispatcher().worlds
        own = worlds.get(app.key)
        additions = [w for w in worlds.values() if w.tables.app.kind == "addition"]
        tables = [w.tables for w in ([own] if own else []) + additions]
        return next((row for t in tables if (row := command_named(t, command))), None)

    def _modifiers(self) -> Any:
        if self.timeout is None:
            return None
        return {"$": "record", "v": {"timeout": self.timeout}}

    def to_wire(self, value: Any, app: AppValue) -> Any:
        """Return a value as a request to an app has it."""
        match plain(value):
            case list():
                return [self.to_wire(item, app) for item in value]
            case ScriptRecord(fields):
                names = {key: self.property_step(app, key)[1] for key in fields}
                return {
                    "$": "record",
                    "v": {names[key]: self.to_wire(item, app) for key, item in fields.items()},
                }
            case Date(moment):
                return {"$": "date", "v": to_iso(moment)}
            case Path(path):
                return {"$": "path", "v": path}
            case Constant(term) | ClassName(term):
                return term
            case AppValue(key):
                return {"$": "ref", "root": {"key": key}, "v": []}
            case ObjectReference(owner, chain):
                return {"$": "ref", "root": {"key": owner.key}, "v": [list(s) for s in chain]}
            case ScriptObject():
                raise AppleScriptError(-1700, "Can’t make a script into the expected type.")
        return plain(value)

    def from_wire(self, wire: Any, app: AppValue, type_: str = "") -> Any:
        """Return an app's answer as a value."""
        if isinstance(wire, list):
            return [self.from_wire(item, app, type_) for item in wire]
        if isinstance(wire, str):
            tables = self._tables(app.key)
            parts = [part.strip().removeprefix("list of ") for part in type_.split("|")]
            rows = [row for part in parts if tables for row in enumeration_rows(tables, part)]
            return Constant(wire) if any(name == wire for name, _ in rows) else wire
        if not isinstance(wire, dict):
            return wire
        value = wire.get("v")
        match wire["$"]:
            case "date":
                return Date(parse_instant(str(value)).astimezone(UTC))
            case "path":
                return Path(str(value), "alias")
            case "number":
                return float(str(value))
            case "record":
                tables = self._tables(app.key)
                names = property_names(tables) if tables is not None else {}
                terms = {jxa: term for term, jxa in names.items()}
                fields = dict(value or {}).items()
                return ScriptRecord(
                    {terms.get(k, spell_words(k)): self.from_wire(v, app) for k, v in fields}
                )
            case "ref":
                tables = self._tables(wire["root"]["key"])
                owner = AppValue(wire["root"]["key"], tables.app.name) if tables else app
                chain = tuple((kind, key) for kind, key in value or ())
                return ObjectReference(owner, chain) if chain else owner
        return None


def _root(app: AppValue) -> dict[str, Any]:
    return {"key": app.key, "additions": True}


def _camel_case(term: str) -> str:
    first, *rest = term.split() or [""]
    return first + "".join(map(str.capitalize, rest))


OSASCRIPT: Final = AppValue(CURRENT, "")
"""The current application: what Standard Additions are sent to outside of a `tell`."""
