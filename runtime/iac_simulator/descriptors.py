"""Apple event descriptors: what a raw event says, read by codes, and an app's answer written so.

Object specifiers, tests, ranges and insertion locations: Apple's *Apple Events Programming Guide*
and AEObjects.h. A descriptor on the wire is `{"type", "value" | "items" | "fields"}`; types and
keywords are the numbers of four-character codes.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from iac_runtime.language.terms import CLASS_PROPERTY
from iac_runtime.language.text import four_number
from iac_runtime.tool import Property
from iac_runtime.tools.tables import Tables
from iac_simulator.errors import EventRefusedError
from iac_simulator.names import (
    class_of_type,
    element_class,
    place_of,
    property_named,
    property_of_kin,
)
from iac_simulator.values import AppReference, Chain, ChainStep, Undefined, record_in, to_wire

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
_SECONDS: Final = 120
_TEXTS: Final = ("utxt", "TEXT", "utf8")


def letters(number: int) -> str:
    """Return the four characters of a code."""
    return number.to_bytes(4).decode("mac_roman")


def read_event(tables: Tables, request: Mapping[str, Any]) -> tuple[Any, dict[str, Any], Any]:
    """Return what a raw event says: direct parameter, the others by code, its event modifiers.

    Raises:
        EventRefusedError: Something in it is none that the app knows.
    """
    reading, given = Reading(tables), {letters(key): item for key, item in request["params"]}
    new = reading.value(given["kocl"]) if "kocl" in given else None
    made = tables.find_class(new) if isinstance(new, str) else None
    values = {code: reading.value(item, made) for code, item in given.items()}
    # An event has two minutes in any case.
    timeout = {"timeout": request["timeout"]} if request["timeout"] > _SECONDS else {}
    return values.pop("----", None), values, {"record": timeout}


class Reading:
    """Reads the descriptors of events to one app."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def value(self, tree: Tree, term: str | None = None) -> Any:
        """Return a value as JavaScript would have sent it; `term` is the class of a record.

        Raises:
            EventRefusedError: -1700: it is none that the app knows.
        """
        kind, value = letters(tree["type"]), tree.get("value")
        match kind:
            case "list":
                return [self.value(item) for item in tree["items"]]
            case "reco":
                return {"record": dict(self._fields(tree, term))}
            case "obj " | "insl":
                return AppReference(self.tables.key, self.chain(tree))
            case "null":
                return AppReference(self.tables.key, ())
            case "ldt ":
                return {"date": value}
            case "furl":
                return {"path": value}
            case "type" | "enum":
                return self._word(kind, letters(int(str(value))))
        return value

    def _fields(self, tree: Tree, term: str | None) -> Iterable[tuple[str, Any]]:
        for number, item in tree["fields"]:
            code = letters(number)
            if code == "usrf":
                own = [self.value(part) for part in item["items"]]
                yield from zip(own[::2], own[1::2], strict=True)
                continue
            row = self._property(term, code)
            yield row.jxa if row else code, self.value(item)

    def _word(self, kind: str, code: str) -> str | None:
        if code == "msng":
            return None
        rows = [row for found in self.tables.enums.values() for row in found if row[1] == code]
        rows += [(row.jxa, code) for row in self.tables.classes.values() if row.code == code]
        rows += [(name, own) for name, own in _SAVING if own == code and kind == "enum"]
        prop = self._property(None, code)
        if not rows and prop is None:
            raise EventRefusedError(-1700)
        return rows[0][0] if rows else prop.jxa if prop else None

    def _property(self, term: str | None, code: str) -> Property | None:
        if code in (CLASS_PROPERTY.code, _ALL):
            name = CLASS_PROPERTY.jxa if code != _ALL else "properties"
            return CLASS_PROPERTY._replace(jxa=name, term=name)
        of_class = self.tables.properties(term) if term in self.tables.classes and term else ()
        kin = [t for t in self.tables.classes if term and self.tables.descends(t, term)]
        rows = [*of_class, *(row for t in kin for row in self.tables.properties(t))]
        rows += [row for kind in self.tables.classes.values() for row in kind.properties]
        rows += [row for record in self.tables.records.values() for row in record.properties]
        return next((row for row in rows if row.code == code), None)

    def chain(self, tree: Tree, tested: str | None = None) -> Chain:
        """Return the chain that a specifier is; `tested` is the class of what a test looks at.

        Raises:
            EventRefusedError: -1700 no specifier, -1728 no such name, -10002 no such key form.
        """
        kind = letters(tree["type"])
        if kind in ("null", "exmn", "ccnt"):
            return ()
        if kind not in ("obj ", "insl"):
            raise EventRefusedError(-1700)
        found = {letters(key): item for key, item in tree["fields"]}
        if kind == "insl":
            place = _PLACES[letters(found["kpos"]["value"])]
            return (*self.chain(found["kobj"], tested), ChainStep("l", place))
        holder, above = found["from"], self.chain(found["from"], tested)
        form, key = letters(found["form"]["value"]), found["seld"]
        term = self._term(above, tested)
        if form == "prop":
            row = self._property(term, letters(key["value"]))
            if row is None:
                raise EventRefusedError(-1728)
            return (*above, ChainStep("p", row.jxa))
        if form == "rele":
            way = {"next": "next", "prev": "previous"}[letters(key["value"])]
            return (*above, ChainStep("x", way))
        code = letters(found["want"]["value"])
        if not self._picks_again(holder, above, code):
            above = (*above, ChainStep("p", self._plural(term, code)))
        return self._picked(above, form, key)

    def _picks_again(self, holder: Tree, above: Chain, code: str) -> bool:
        """Say whether what holds an object is a part of its own collection, or a list."""
        prop = place_of(self.tables, above).prop if code == "cobj" else None
        if prop is not None and prop.type.startswith("list of"):
            return True
        fields = {letters(key): item for key, item in holder.get("fields", ())}
        form = letters(fields["form"]["value"]) if "form" in fields else ""
        return form in ("test", "rang") and letters(fields["want"]["value"]) == code

    def _picked(self, above: Chain, form: str, key: Tree) -> Chain:
        kind = letters(key["type"])
        if kind == "abso" and form == "indx":
            word = letters(key["value"])
            return above if word == "all " else (*above, ChainStep(*_ORDINALS[word]))
        if form == "test":
            return (*above, ChainStep("w", self._test(key, self._term(above, None))))
        if form == "rang":
            ends = {letters(at): item for at, item in key["fields"]}
            pair = [
                self.value({letters(k): v for k, v in ends[end]["fields"]}["seld"])
                for end in ("star", "stop")
            ]
            return (*above, ChainStep("r", pair))
        value = self.value(key)
        if form == "indx" and isinstance(value, int) and value:
            return (*above, ChainStep("i", value - 1 if value > 0 else value))
        if form == "indx" or form not in ("name", "ID  "):
            raise EventRefusedError(-1719 if form == "indx" else -10002)
        return (*above, ChainStep("n" if form == "name" else "id", value))

    def _test(self, tree: Tree, term: str | None) -> dict[str, Any]:
        found = {letters(key): item for key, item in tree["fields"]}
        if letters(tree["type"]) == "cmpd":
            tested = [list(step) for step in self.chain(found["obj1"], term or "")]
            operator = _OPERATORS[letters(found["relo"]["value"])]
            return {"match": [tested, operator, to_wire(self.value(found["obj2"]))]}
        parts = [self._test(item, term) for item in found["term"]["items"]]
        word = letters(found["logc"]["value"]).strip().lower()
        if word == "not" and "or" in parts[0]:
            return {"not": parts[0]["or"]}
        return {word: parts}

    def _term(self, chain: Chain, tested: str | None) -> str | None:
        if tested is None:
            return place_of(self.tables, chain).term
        term: str | None = tested
        for step in chain:
            if step.kind == "p":
                prop = property_of_kin(self.tables, term, step.value)
                listed = element_class(self.tables, term, step.value)
                term = class_of_type(self.tables, prop.type) if prop else listed
        return term

    def _plural(self, term: str | None, code: str) -> str:
        rows = [row for row in self.tables.classes.values() if row.code == code]
        if not rows:
            raise EventRefusedError(-1728)
        held = (row for row in rows if element_class(self.tables, term, row.plural))
        return next(held, rows[0]).plural


_SAVING: Final = (("yes", "yes "), ("no", "no  "), ("ask", "ask "))


class Writing:
    """Writes the answers of one app as descriptors."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def value(self, value: Any) -> Tree | None:
        """Return an answer as a descriptor; None for no answer at all."""
        if isinstance(value, Undefined):
            return None
        if value is None:
            return _made("type", four_number("msng"))
        if isinstance(value, bool):
            return _made("bool", value)
        if isinstance(value, int):
            return _made("long" if abs(value) < 2**31 else "comp", value)
        if isinstance(value, float):
            return _made("doub", value)
        if isinstance(value, str):
            return _made("utxt", value)
        if isinstance(value, list):
            return {"type": four_number("list"), "items": [self.value(item) for item in value]}
        if isinstance(value, AppReference):
            return self.specifier(value.chain)
        fields = record_in(value)
        if fields is None and "path" in value:
            return _made("furl", value["path"])
        if fields is None and "date" in value:
            return _made("ldt ", value["date"])
        return self._record(fields if fields is not None else value)

    def _record(self, given: Mapping[str, Any]) -> Tree:
        fields, own = [], []
        for name, part in given.items():
            row = CLASS_PROPERTY if name == "class" else property_named(self.tables, None, name)
            if row is None or len(row.code) != 4:
                own += [self.value(name), self.value(part)]
            else:
                fields.append([four_number(row.code), self.value(part)])
        if own:
            fields.append([four_number("usrf"), {"type": four_number("list"), "items": own}])
        return {"type": four_number("reco"), "fields": fields}

    def specifier(self, chain: Chain) -> Tree:
        """Return an object specifier.

        Raises:
            EventRefusedError: -1700: a name in it has no code.
        """
        made = _made("null", None)
        whole: Tree | None = None
        for at, step in enumerate(chain):
            place = place_of(self.tables, chain[: at + 1])
            if step.kind == "p" and place.kind != "elements":
                row = place.prop or (CLASS_PROPERTY if step.value == "class" else None)
                if row is None:
                    raise EventRefusedError(-1700)
                made, whole = (
                    _object("prop", "prop", _made("type", four_number(row.code)), made),
                    None,
                )
                continue
            term = place.term
            if term not in self.tables.classes or term is None:
                raise EventRefusedError(-1700)
            want = self.tables.classes[term].code
            if step.kind == "p":
                whole = made
                made = _object(want, "indx", _made("abso", four_number("all ")), made)
                continue
            form = {"i": "indx", "n": "name", "id": "ID  "}.get(step.kind)
            key = step.value
            if form is None:
                raise EventRefusedError(-1700)
            if form == "indx":
                key = key + 1 if key >= 0 else key
            made, whole = _object(want, form, self.value(key), whole or made), None
        return made


def _made(kind: str, value: Any) -> Tree:
    return {"type": four_number(kind), "value": value}


def _object(want: str, form: str, key: Tree | None, holder: Tree) -> Tree:
    fields = [
        ("want", _made("type", four_number(want))),
        ("form", _made("enum", four_number(form))),
    ]
    fields += [("seld", key or _made("null", None)), ("from", holder)]
    return {
        "type": four_number("obj "),
        "fields": [[four_number(name), part] for name, part in fields],
    }
