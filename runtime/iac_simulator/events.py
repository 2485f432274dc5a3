"""Events of an app: a command of JavaScript and its arguments, or a raw event's descriptors.

The rule for commands is Apple's (JXA release notes 10.10, "Calling commands"): the first argument
is the direct parameter, the next an object of named ones, the last an object of event modifiers.

Object specifiers, tests, ranges and insertion locations: Apple's *Apple Events Programming Guide*
and AEObjects.h. A descriptor on the wire is `{"type", "value" | "items" | "fields"}`; types and
keywords are the numbers of four-character codes.
"""

import re
import struct
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_runtime.language.terms import CLASS_PROPERTY
from iac_runtime.language.text import four_number
from iac_runtime.tool import Param, Property
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.types import find_type, parse_type, reading_of
from iac_simulator.dictionary import (
    ANY_ITEM,
    SAVE_OPTIONS,
    chain_meaning,
    class_of_type,
    element_class,
    encode_properties,
    encode_value,
    property_named,
    property_of_kin,
)
from iac_simulator.errors import EventRefusedError
from iac_simulator.values import (
    UNDEFINED,
    AppReference,
    Chain,
    ChainStep,
    Undefined,
    record_fields,
    to_wire,
)


class AppCommand(NamedTuple):
    """A command: `params` by JXA name, without the direct one."""

    name: str
    event: str
    direct: Param | None
    params: Mapping[str, Param]
    result: str = ""


class CommandArguments(NamedTuple):
    """A call taken apart; `direct` is None for none, `refused` where an app would refuse it."""

    direct: Any
    named: Mapping[str, Any]
    timeout: float | None
    refused: bool = False


def _read_standard() -> Iterator[tuple[str, AppCommand]]:
    text = Path(__file__).with_name("standard.toml").read_text(encoding="utf-8")
    for name, row in tomllib.loads(text).items():
        direct = Param("", "----", row["direct"]) if "direct" in row else None
        params = {key: Param(key, *rest) for key, rest in row.get("params", {}).items()}
        yield name, AppCommand(name, row["event"], direct, params)


_STANDARD: Final[Mapping[str, AppCommand]] = dict(_read_standard())
"""What every app answers, in its dictionary or not, by name."""

STANDARD_COMMANDS: Final = tuple(_STANDARD)
STANDARD_EVENTS: Final = frozenset(command.event for command in _STANDARD.values())

_MODIFIERS: Final = {"timeout", "considering", "ignoring"}


def command_named(tables: Tables, name: str) -> AppCommand | None:
    """Return the command of an app that JavaScript calls `name`, its standard form included."""
    standard = _STANDARD.get(name) if tables.app.kind == "application" else None
    command = standard
    for spec in tables.tools.values():
        if spec.bind or spec.op == "list":
            continue
        if (spec.op if spec.op != "command" else spec.jxa) != name:
            continue
        params = {p.jxa or p.term: p for p in spec.params.values() if len(p.code) == 4}
        direct = next((p for p in params.values() if p.code == "----"), None)
        named = {key: p for key, p in params.items() if p.code != "----"}
        if standard is None:
            return AppCommand(name, spec.event, direct, named, spec.result)
        if spec.op != "command":
            # An object tool states its own parameters; the event's are those of the core suite.
            codes = {param.code for param in standard.params.values()}
            extra = {k: p for k, p in named.items() if k and p.code not in codes}
            return standard._replace(params={**standard.params, **extra})
        params = {**standard.params, **named}
        command = AppCommand(name, spec.event, direct or standard.direct, params, spec.result)
    return command


def command_for_event(tables: Tables, event: str) -> AppCommand | None:
    """Return the command whose event this is, as JavaScript would find it."""
    own = (spec for spec in tables.tools.values() if spec.event == event and not spec.bind)
    names = [spec.jxa if spec.op == "command" else spec.op for spec in own if spec.op != "list"]
    names += [name for name, row in _STANDARD.items() if row.event == event]
    commands = (command_named(tables, name) for name in names)
    return next((row for row in commands if row is not None and row.event == event), None)


def read_arguments(
    command: AppCommand, receiver: AppReference | None, args: Sequence[Any]
) -> CommandArguments:
    """Take apart the arguments of a call on `receiver`, None for the application.

    Raises:
        EventRefusedError: -1700: undefined for a parameter, or a name that the command lacks.
    """
    rest: list[Any] = list(args)
    direct: Any = receiver
    refused = False
    first = record_fields(rest[0]) if rest else None
    if receiver is None:
        if rest and (command.direct is not None or first is None):
            direct = rest.pop(0)
            types = parse_type(command.direct.type) if command.direct else ()
            refused = first is not None and {"record", "any"}.isdisjoint(row.name for row in types)
    elif rest and first is None and rest[0] is not None:
        direct = rest.pop(0)
    named = (record_fields(rest[0]) if rest else None) or {}
    if direct is UNDEFINED or set(named) - set(command.params):
        raise EventRefusedError(-1700)
    timeout = modifier_timeout(rest[1] if len(rest) > 1 else None)
    return CommandArguments(direct, named, timeout, refused)


def event_params(tables: Tables, command: AppCommand, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the named arguments of a call as its event carries them, by code."""
    term = named.get("new") if command.event == "corecrel" else None
    made = tables.find_class(term) if isinstance(term, str) else None
    params = {}
    for key, value in named.items():
        param = command.params[key]
        properties = record_fields(value) if param.code == "prdt" else None
        if properties is not None:
            params[param.code] = encode_properties(tables, made, properties)
        else:
            params[param.code] = encode_value(tables, value, param.type)
    return params


def modifier_timeout(modifiers: Any) -> float | None:
    """Return the seconds of event modifiers (`{timeout: 20}`), or None."""
    given = record_fields(modifiers) or {}
    seconds = given.get("timeout") if set(given) <= _MODIFIERS else None
    return seconds if isinstance(seconds, int | float) else None


def reflection_answer(tables: Tables, name: str, arguments: Sequence[Any]) -> Any:
    """Return the answer of an app's reflection method `name`; None where it has none.

    Source: public accounts of `Automation`'s app methods; that a collection is named by its plural
    and an unknown class has no members is inferred, to be confirmed on a Mac.
    """
    about, owner = (*(word if isinstance(word, str) else "" for word in arguments), "", "")[:2]
    commands = {
        spec.jxa: " ".join(key.rstrip("_").split("_"))
        for key, spec in reversed(list(tables.tools.items()))
        if spec.op == "command" and not spec.bind
    }
    standard = _STANDARD if tables.app.kind == "application" else {}
    term = tables.find_class((owner if name.startswith("display") else about) or APPLICATION)
    properties = list(tables.properties(term)) if term else []
    elements = tables.elements(term) if term else ()
    plurals = [tables.classes[row.term].plural for row in elements if row.term in tables.classes]
    match name:
        case "commandsOfClass":
            return sorted({*commands, *standard})
        case "elementsOfClass":
            return plurals
        case "propertiesOfClass":
            return [prop.jxa for prop in properties]
        case "parentOfClass":
            parent = tables.classes.get(tables.classes[term].inherits or "") if term else None
            return parent.jxa if parent else None
        case "displayNameForCommand":
            return commands.get(about, about if about in standard else None)
        case "displayNameForElementOfClass":
            element = tables.find_class(about)
            if element is None or tables.classes[element].plural not in plurals:
                return None
            if about != tables.classes[element].plural:
                return element
            # The tables keep a plural in camel case only.
            return re.sub(r"[A-Z]", lambda letter: f" {letter[0].lower()}", about)
        case "displayNameForPropertyOfClass":
            return next((prop.term for prop in properties if prop.jxa == about), None)
    return None


Tree = Mapping[str, Any]

_OPERATORS: Final = {
    "=   ": "=", ">   ": ">", ">=  ": ">=", "<   ": "<", "<=  ": "<=",
    "cont": "_contains", "bgwt": "_beginsWith", "ends": "_endsWith",
}  # fmt: skip
_PLACES: Final = {"end ": "end", "bgng": "beginning", "befo": "before", "afte": "after"}
_ORDINALS: Final = {
    "firs": ("i", 0), "last": ("i", -1), "midd": ("o", "middle"), "any ": ("o", "some"),
}  # fmt: skip
_ALL: Final = "pALL"
_BUILT_IN: Final[Mapping[str, str | None]] = {"msng": None, ANY_ITEM: "item"}
"""Words that every app knows, by their codes."""

_SECONDS: Final = 120
_SCALARS: Final = {bool: "bool", float: "doub", str: "utxt"}


def code_letters(number: int) -> str:
    """Return the four characters of a code."""
    return number.to_bytes(4).decode("mac_roman")


def read_event(tables: Tables, request: Mapping[str, Any]) -> tuple[Any, dict[str, Any], Any]:
    """Return what a raw event says: direct parameter, the others by code, its event modifiers.

    Raises:
        EventRefusedError: Something in it is none that the app knows.
    """
    reading = DescriptorReader(tables)
    given = {code_letters(key): item for key, item in request["params"]}
    new = reading.read_value(given["kocl"]) if "kocl" in given else None
    made = tables.find_class(new) if isinstance(new, str) else None
    values = {code: reading.read_value(item, made) for code, item in given.items()}
    # An event has two minutes in any case.
    timeout = {"timeout": request["timeout"]} if request["timeout"] > _SECONDS else {}
    return values.pop("----", None), values, {"record": timeout}


class DescriptorReader:
    """Reads the descriptors of events to one app."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def read_value(self, tree: Tree, term: str | None = None) -> Any:
        """Return a value as JavaScript would have sent it; `term` is the class of a record.

        Raises:
            EventRefusedError: -1700: it is none that the app knows.
        """
        kind, value = code_letters(tree["type"]), tree.get("value")
        match kind:
            case "list":
                return [self.read_value(item) for item in tree["items"]]
            case "reco":
                return {"record": dict(self._read_fields(tree, term))}
            case "obj " | "insl":
                return AppReference(self.tables.key, self.read_chain(tree))
            case "null":
                return AppReference(self.tables.key, ())
            case "ldt ":
                return {"date": value}
            case "furl":
                return {"path": value}
            case "type" | "enum":
                return self._code_word(kind, code_letters(int(str(value))))
        return value

    def _read_fields(self, tree: Tree, term: str | None) -> Iterable[tuple[str, Any]]:
        for number, item in tree["fields"]:
            code = code_letters(number)
            if code == "usrf":
                own = [self.read_value(part) for part in item["items"]]
                yield from zip(own[::2], own[1::2], strict=True)
                continue
            row = self._find_property(term, code)
            value = self.read_value(item)
            yield (row.jxa, value_of_list(value, row.type)) if row else (code, value)

    def _code_word(self, kind: str, code: str) -> str | None:
        if code in _BUILT_IN:
            return _BUILT_IN[code]
        rows = [row for enum in self.tables.enums.values() for row in enum if row[1] == code]
        rows += [(row.jxa, code) for row in self.tables.classes.values() if row.code == code]
        rows += [row for row in SAVE_OPTIONS if row[1] == code and kind == "enum"]
        prop = self._find_property(None, code)
        if not rows and prop is None:
            raise EventRefusedError(-1700)
        return rows[0][0] if rows else prop.jxa if prop else None

    def _find_property(self, term: str | None, code: str) -> Property | None:
        if code in (CLASS_PROPERTY.code, _ALL):
            name = CLASS_PROPERTY.jxa if code != _ALL else "properties"
            return CLASS_PROPERTY._replace(jxa=name, term=name)
        of_class = self.tables.properties(term) if term in self.tables.classes and term else ()
        kin = [t for t in self.tables.classes if term and self.tables.is_descendant(t, term)]
        rows = [*of_class, *(row for t in kin for row in self.tables.properties(t))]
        rows += [row for kind in self.tables.classes.values() for row in kind.properties]
        rows += [row for record in self.tables.records.values() for row in record.properties]
        return next((row for row in rows if row.code == code), None)

    def read_chain(self, tree: Tree, tested: str | None = None) -> Chain:
        """Return the chain that a specifier is; `tested` is the class of what a test looks at.

        Raises:
            EventRefusedError: -1700 no specifier, -1728 no such name, -10002 no such key form.
        """
        kind = code_letters(tree["type"])
        if kind in ("null", "exmn", "ccnt"):
            return ()
        if kind not in ("obj ", "insl"):
            raise EventRefusedError(-1700)
        fields = {code_letters(key): item for key, item in tree["fields"]}
        if kind == "insl":
            place = _PLACES[code_letters(fields["kpos"]["value"])]
            return (*self.read_chain(fields["kobj"], tested), ChainStep("l", place))
        holder, above = fields["from"], self.read_chain(fields["from"], tested)
        form, key = code_letters(fields["form"]["value"]), fields["seld"]
        term = self._class_term(above, tested)
        if form == "prop":
            row = self._find_property(term, code_letters(key["value"]))
            if row is None:
                raise EventRefusedError(-1728)
            return (*above, ChainStep("p", row.jxa))
        if form == "rele":
            way = {"next": "next", "prev": "previous"}[code_letters(key["value"])]
            return (*above, ChainStep("x", way))
        code = code_letters(fields["want"]["value"])
        if not self._is_nested_pick(holder, above, code):
            above = (*above, ChainStep("p", self._find_plural(term, code)))
        return self._extend_chain(above, form, key)

    def _is_nested_pick(self, holder: Tree, above: Chain, code: str) -> bool:
        """Say whether what holds an object is a part of its own collection, or a list."""
        prop = chain_meaning(self.tables, above).prop if code == "cobj" else None
        if prop is not None and prop.type.startswith("list of"):
            return True
        fields = {code_letters(key): item for key, item in holder.get("fields", ())}
        form = code_letters(fields["form"]["value"]) if "form" in fields else ""
        return form in ("test", "rang") and code_letters(fields["want"]["value"]) == code

    def _extend_chain(self, above: Chain, form: str, key: Tree) -> Chain:
        kind = code_letters(key["type"])
        if kind == "abso" and form == "indx":
            word = code_letters(key["value"])
            return above if word == "all " else (*above, ChainStep(*_ORDINALS[word]))
        if form == "test":
            return (*above, ChainStep("w", self._read_test(key, self._class_term(above, None))))
        if form == "rang":
            ends = {code_letters(at): item for at, item in key["fields"]}
            pair = [
                self.read_value({code_letters(k): v for k, v in ends[end]["fields"]}["seld"])
                for end in ("star", "stop")
            ]
            return (*above, ChainStep("r", pair))
        value = self.read_value(key)
        if form == "indx" and isinstance(value, int) and value:
            return (*above, ChainStep("i", value - 1 if value > 0 else value))
        if form == "indx" or form not in ("name", "ID  "):
            raise EventRefusedError(-1719 if form == "indx" else -10002)
        return (*above, ChainStep("n" if form == "name" else "id", value))

    def _read_test(self, tree: Tree, term: str | None) -> dict[str, Any]:
        fields = {code_letters(key): item for key, item in tree["fields"]}
        if code_letters(tree["type"]) == "cmpd":
            tested = [list(step) for step in self.read_chain(fields["obj1"], term or "")]
            operator = _OPERATORS[code_letters(fields["relo"]["value"])]
            return {"match": [tested, operator, to_wire(self.read_value(fields["obj2"]))]}
        parts = [self._read_test(item, term) for item in fields["term"]["items"]]
        word = code_letters(fields["logc"]["value"]).strip().lower()
        if word == "not" and "or" in parts[0]:
            return {"not": parts[0]["or"]}
        return {word: parts}

    def _class_term(self, chain: Chain, tested: str | None) -> str | None:
        if tested is None:
            return chain_meaning(self.tables, chain).term
        term: str | None = tested
        for step in chain:
            if step.kind == "p":
                prop = property_of_kin(self.tables, term, step.value)
                listed = element_class(self.tables, term, step.value)
                term = class_of_type(self.tables, prop.type) if prop else listed
        return term

    def _find_plural(self, term: str | None, code: str) -> str:
        rows = [row for row in self.tables.classes.values() if row.code == code]
        if not rows:
            raise EventRefusedError(-1728)
        owned = (row for row in rows if element_class(self.tables, term, row.plural))
        return next(owned, rows[0]).plural


class DescriptorWriter:
    """Writes the answers of one app as descriptors."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def write_value(self, value: Any, type_: str = "any") -> Tree | None:
        """Return an answer as a descriptor, in the form of its type; None for no answer at all."""
        if isinstance(value, Undefined):
            return None
        if (made := _quickdraw_value(value, type_)) is not None:
            return made
        if value is None:
            return _make_descriptor("type", four_number("msng"))
        if type(value) in _SCALARS:
            return _make_descriptor(_SCALARS[type(value)], value)
        if isinstance(value, int):
            return _make_descriptor("long" if abs(value) < 2**31 else "comp", value)
        if isinstance(value, list):
            items = [self.write_value(item, type_) for item in value]
            return {"type": four_number("list"), "items": items}
        if isinstance(value, AppReference):
            return self.write_specifier(value.chain)
        fields = record_fields(value)
        if fields is None and "path" in value:
            return _make_descriptor("furl", value["path"])
        if fields is None and "date" in value:
            return _make_descriptor("ldt ", value["date"])
        return self._write_record(fields if fields is not None else value)

    def _write_record(self, given: Mapping[str, Any]) -> Tree:
        fields, own = [], []
        for name, part in given.items():
            row = CLASS_PROPERTY if name == "class" else property_named(self.tables, None, name)
            if row is None or len(row.code) != 4:
                own += [self.write_value(name), self.write_value(part)]
            else:
                fields.append([four_number(row.code), self.write_value(part, row.type)])
        if own:
            fields.append([four_number("usrf"), {"type": four_number("list"), "items": own}])
        return {"type": four_number("reco"), "fields": fields}

    def write_specifier(self, chain: Chain) -> Tree:
        """Return an object specifier.

        Raises:
            EventRefusedError: -1700: a name in it has no code.
        """
        made = _make_descriptor("null", None)
        whole: Tree | None = None
        for at, step in enumerate(chain):
            place = chain_meaning(self.tables, chain[: at + 1])
            if step.kind == "p" and place.kind != "elements":
                row = place.prop or (CLASS_PROPERTY if step.value == "class" else None)
                if row is None:
                    raise EventRefusedError(-1700)
                key = _make_descriptor("type", four_number(row.code))
                made, whole = _object_specifier("prop", "prop", key, made), None
                continue
            term = place.term
            if term not in self.tables.classes or term is None:
                raise EventRefusedError(-1700)
            want = self.tables.classes[term].code
            if step.kind == "p":
                every = _make_descriptor("abso", four_number("all "))
                made, whole = _object_specifier(want, "indx", every, made), made
                continue
            form = {"i": "indx", "n": "name", "id": "ID  "}.get(step.kind)
            if form is None:
                raise EventRefusedError(-1700)
            value = step.value + 1 if form == "indx" and step.value >= 0 else step.value
            made = _object_specifier(want, form, self.write_value(value), whole or made)
            whole = None
        return made


def value_of_list(value: Any, type_: str) -> Any:
    """Return what an app makes of a list for a rectangle (left, top, right, bottom) or a color."""
    if not isinstance(value, list) or not all(isinstance(part, int | float) for part in value):
        return value
    match next(map(reading_of, (row.name for row in parse_type(type_))), None), value:
        case "rectangle", [left, top, right, bottom]:
            sides = {"x": left, "y": top, "width": right - left, "height": bottom - top}
            return {"record": sides}
        case "color", [_, _, _]:
            return [part / 65535 for part in value]
    return value


def _quickdraw_value(value: Any, type_: str) -> Tree | None:
    """Return a rectangle, point or color as apps answer it: numbers in the order of QuickDraw."""
    value = fields if (fields := record_fields(value)) else value
    kind = next(
        (row.codes[0] for name, _ in parse_type(type_) if (row := find_type(name)) and row.codes),
        "",
    )
    try:
        match kind:
            case "qdrt":
                x, y, width, height = (round(value[k]) for k in ("x", "y", "width", "height"))
                data = struct.pack("<4h", y, x, y + height, x + width)
            case "QDpt":
                x, y = map(round, value)
                data = struct.pack("<2h", y, x)
            case "cRGB":
                data = struct.pack("<3H", *(round(part * 65535) for part in value))
            case _:
                return None
    except (TypeError, KeyError, ValueError, struct.error):
        return None
    return {"type": four_number(kind), "bytes": data.decode("latin-1")}


def _make_descriptor(kind: str, value: Any) -> Tree:
    return {"type": four_number(kind), "value": value}


def _object_specifier(want: str, form: str, key: Tree | None, holder: Tree) -> Tree:
    fields = [
        ("want", _make_descriptor("type", four_number(want))),
        ("form", _make_descriptor("enum", four_number(form))),
        ("seld", key or _make_descriptor("null", None)),
        ("from", holder),
    ]
    parts = [[four_number(name), part] for name, part in fields]
    return {"type": four_number("obj "), "fields": parts}
