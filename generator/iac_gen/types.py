"""Types: a declared type becomes one string, a JSON schema and a Python annotation.

The string is of the grammar of `iac_runtime.types`; its terms are the names of `TYPES` there, and
the classes, records and enumerations of the app. A class has an example of a reference, by the
shortest way from the application.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Any

from iac_gen.merge import APPLICATION
from iac_gen.model import (
    Find,
    SdefClass,
    SdefParameter,
    SdefProperty,
    TypeRef,
    class_lineage,
    make_finder,
)
from iac_gen.naming import class_plural, field_key, javascript_name
from iac_gen.resolve import ResolvedDictionary
from iac_gen.text import exact_literal, offered_values
from iac_runtime.types import CODES, SPELLINGS, TYPES, type_alternatives

_DEEPEST = 3
_MOST_FIELDS = 9
_DEFAULT = re.compile(
    r"\bdefaults?\b,?(?: value)?(?: (?:is|to|of)\b| *[:=])? *([^().,;]+(?:\.\d+)?)"
    r"|([^ (),;]+) by default",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?(?![\w.]*\d)")
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_STRING = {"type": "string"}


def stated_default(description: str) -> str:
    """Return the words behind `default is` in a description, empty where it states none."""
    matches = [*_DEFAULT.finditer(description)]
    words = next(filter(None, matches[-1].groups())) if matches else ""
    return re.sub("[\"'`\u2018-\u201d]", "", words).strip().lower()


def default_value(words: str, enumerators: Iterable[str]) -> str:
    """Return the value that stated words begin with: a truth, a number, an enumerator."""
    number = _NUMBER.match(words.replace("zero", "0"))
    first = words.partition(" ")[0]
    plain = first if first in _TRUTH else number[0] if number else ""
    return plain or (_longest_match(words, enumerators) or "").lower()


def _longest_match(words: str, values: Iterable[str]) -> str | None:
    fits = [one for one in values if f"{words} ".startswith(f"{one.lower()} ")]
    return max(fits, key=len, default=None)


def item_terms(part: str) -> list[str]:
    """Return the terms of one alternative: its own, or those that its list may hold."""
    return re.sub("^(list of )+", "", part).split("|")


def list_item_types(part: str) -> list[str]:
    """Return the types that the items of a list may have; a list in a list stays one."""
    rest = part.removeprefix("list of ")
    return [rest] if rest.startswith("list of ") else rest.split("|")


def _list_type(parts: list[str]) -> str:
    """Return the type of a list whose items are any of `parts`."""
    if "any" in parts:
        return "list of any"
    if len(parts) == 1:
        return f"list of {parts[0]}"
    # A list of lists and others mixed has no form of its own.
    if any(part.startswith("list of ") for part in parts):
        return "list of any"
    return f"list of {'|'.join(parts)}"


class AppTypes:
    """The types of one app: terms, enumerations by name or code, records and classes.

    `class_named` finds a class by its name, id, synonym or code, and gives `""` for none.
    """

    def __init__(self, resolved: ResolvedDictionary, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases
        self.classes = {row.name for row in resolved.classes}
        self._class_values = {row.name: row.values for row in resolved.classes if row.values}
        self.records = {row.name: row for row in resolved.records}
        self.enums = {row.name: row for row in resolved.enumerations if row.enumerators}
        self.class_named = make_finder(resolved.classes)
        self._enum = make_finder(row for row in resolved.enumerations if row.enumerators)
        self._record = make_finder(resolved.records)
        self._value = make_finder(resolved.values)
        self._value_codes = {row.name: row.code for row in resolved.values}
        self._empty = make_finder(row for row in resolved.enumerations if not row.enumerators)
        self._references = example_references(resolved, self.class_named)
        self._rows = {row.name: row for row in resolved.classes}
        self._options = self._value_classes(resolved)
        self._intents = resolved.source.kind == "intents"
        self.unknown: set[str] = set()

    def type_string(self, refs: Iterable[TypeRef]) -> str:
        """Return the alternatives as one type; an undeclared name becomes `any`."""
        parts = self._joined_parts(refs)
        if "any" in parts:
            # Anything goes, but an enumerator still travels as its code, not as text.
            parts = [*(part for part in parts if part in self.enums), "any"]
        return " | ".join(parts) or "any"

    def _joined_parts(
        self, refs: Iterable[TypeRef], seen: frozenset[str] = frozenset()
    ) -> list[str]:
        listed = list(refs)
        shown = [ref for ref in listed if not ref.hidden] or listed
        return list(dict.fromkeys(part for ref in shown for part in self._type_parts(ref, seen)))

    def _type_parts(self, ref: TypeRef, seen: frozenset[str]) -> Iterable[str]:
        if ref.items:
            inner = self._joined_parts(ref.items, seen)
            yield from [_list_type(inner)] if ref.list else inner
            return
        # Dictionaries from before 10.4 write unions and lists into the name.
        for name in ref.name.split("|"):
            term = name.strip()
            many = ref.list
            if not self.class_named(term) and term.lower().startswith("list of "):
                term, many = term[8:].strip(), True
            declared = self._declared_term(term)
            yield _list_type([declared]) if many else declared
            # A class may also be passed as a plain value: rich text as text (sdef(5), `class`).
            # The class may have the name of that value, or two may name each other.
            if not many and declared not in seen:
                for value in self._class_values.get(declared, ()):
                    yield from self._type_parts(value, seen | {declared})

    def _declared_term(self, name: str) -> str:
        """Return the term that a type's name means, `any` where nothing declares it."""
        if name in self.records or name in self.enums or name in TYPES or name in self.classes:
            return name
        if name in self._value_codes:
            return CODES.get(self._value_codes[name], "any")
        # Apple's own names come before a synonym, an id or a name in other case.
        lower = name.lower()
        if lower in SPELLINGS or lower in TYPES:
            return SPELLINGS.get(lower, lower)
        for find in (self._record, self._enum, self.class_named):
            if value := find(name):
                return value
        if value := self._value(name):
            return CODES.get(self._value_codes[value], "any")
        if name.ljust(4) in CODES:
            return CODES[name.ljust(4)]
        if not self._empty(name):
            self.unknown.add(name)
        return "any"

    def _value_classes(self, resolved: ResolvedDictionary) -> dict[str, bool]:
        """Return the classes that are records in all but name: find options, preferences.

        Nothing contains them, they contain nothing and answer to no command. Of one that no
        property is of, either, and no command is about, there is no reference: such a class is
        True here. Of others everything must be settable.
        """
        kept = {e.type for row in resolved.classes for e in row.elements}
        kept |= {row.inherits for row in resolved.classes} | {APPLICATION}
        candidates = {
            row.name: rows
            for row in resolved.classes
            if row.name not in kept
            and not row.responds_to
            and (rows := self._all_properties(row.name))
            and not any(self._rows[one].elements for one in class_lineage(row.name, self._rows))
            and not (row.name in TYPES and (TYPES[row.name].codes or TYPES[row.name].spellings))
        }
        owners = [row for row in resolved.classes if row.name not in candidates]
        refs = [ref for row in owners for prop in row.properties for ref in prop.types]
        refs += [ref for row in resolved.commands if row.direct for ref in row.direct.types]
        named = {self.class_named(ref.name) for ref in refs}
        return {
            name: name not in named
            for name, rows in candidates.items()
            if name not in named or all(prop.access != "r" for prop in rows)
        }

    def _all_properties(self, name: str) -> list[SdefProperty]:
        """Return the properties of a class and of what it inherits from."""
        lineage = class_lineage(name, self._rows)
        return [prop for one in lineage for prop in self._rows[one].properties]

    def _record_fields(self, name: str) -> list[SdefProperty]:
        """Return the fields of a record, or of a class that is used as one."""
        if name in self.records:
            return list(self.records[name].properties)
        rows = self._all_properties(name)
        return [prop for prop in rows if not prop.hidden] or rows

    def example_reference(self, kinds: Iterable[str]) -> str:
        """Return an example of a reference to an object of one of `kinds`; may be empty.

        A `specifier` is of the class that the app is most about.
        """
        examples = (self._references.get(name, "") for name in kinds)
        if self._intents:
            # By its place nobody knows which entity it is.
            examples = (re.sub(r"\[0\]$", '.byId("1")', text) for text in examples)
        return next((text for text in examples if text), "")

    def bare_terms(self, kind: str) -> list[str]:
        """Return every term that a type string names, each once, those in lists included."""
        terms = (term for part in type_alternatives(kind) for term in item_terms(part))
        return list(dict.fromkeys(terms))

    def names_objects(self, kind: str) -> bool:
        """Say whether every alternative is an object or a place of one, lists of them included."""
        parts = self.bare_terms(kind)
        return bool(parts) and all(self._is_object(part) for part in parts)

    def _is_object(self, part: str) -> bool:
        if part in ("specifier", "location specifier"):
            return True
        if part in self.records or part in self.enums or self._options.get(part):
            return False
        return part in self.classes and part not in TYPES

    def json_schema(self, kind: str) -> dict[str, Any]:
        """Return the JSON schema of a type string; no union where one type says it all."""
        return self._union_schema(type_alternatives(kind), ())

    def _union_schema(self, parts: Iterable[str], inside: tuple[str, ...]) -> dict[str, Any]:
        options: list[dict[str, Any]] = []
        for part in parts:
            option = self._part_schema(part, inside)
            for one in option.get("anyOf", [option]):
                if one not in options:
                    options.append(one)
        if _STRING in options:
            options = [o for o in options if o == _STRING or o.get("type") != "string"]
        if {"type": "number"} in options:
            options = [o for o in options if o != {"type": "integer"}]
        if not options:
            return dict(TYPES["any"].schema)
        return options[0] if len(options) == 1 else {"anyOf": options}

    def _part_schema(self, part: str, inside: tuple[str, ...]) -> dict[str, Any]:
        if part.startswith("list of "):
            return {"type": "array", "items": self._union_schema(list_item_types(part), inside)}
        if part in self.records or self._options.get(part):
            return self._record_schema(part, inside)
        if part in self._options and part not in self.enums:
            fields = {"type": "object"} if inside else self._record_schema(part, inside)
            return {"anyOf": [_STRING, fields]}
        if part in self.enums:
            # Where all values are too long for a schema, any text goes.
            shown = offered_values(self.enumerators(part))
            return {**_STRING, "enum": shown} if shown else dict(_STRING)
        return dict(TYPES[part].schema if part in TYPES else _STRING)

    def _record_schema(self, name: str, inside: tuple[str, ...]) -> dict[str, Any]:
        """Return the schema of a record: closed, but open where its fields are not known.

        That is where it declares none or too many, which the description then names, and where
        records hold one another: there the fields end at the first return, and three deep.
        """
        rows = self._record_fields(name)
        deepest = _DEEPEST if name in self.records else 1
        if not 0 < len(rows) <= _MOST_FIELDS or name in inside or len(inside) >= deepest:
            return {"type": "object"}
        fields: dict[str, Any] = {}
        for prop in rows:
            kinds = type_alternatives(self.type_string(prop.types))
            key = field_key(prop.name, prop.code)
            if key not in fields:
                fields[key] = self._union_schema(kinds, (*inside, name))
        return {"type": "object", "properties": fields, "additionalProperties": False}

    def unlisted_fields(self, kind: str) -> list[str]:
        """Return the fields of a type that no schema lists, because there are many."""
        known = self.records.keys() | self._options.keys()
        records = [part for part in type_alternatives(kind) if part in known]
        rows = [row for part in records for row in self._record_fields(part)]
        return [row.name for row in rows] if len(rows) > _MOST_FIELDS else []

    def stated_keywords(self, row: SdefParameter, kind: str) -> dict[str, Any]:
        """Return what the schema of a parameter says beside its type: a default, and bounds."""
        words = row.default or ("" if self._intents else stated_default(row.description))
        # Metadata has the value itself, where a dictionary has a sentence about it.
        values = [words] if kind == "text" else self.enumerators(kind) if kind in self.enums else []
        whole = self._intents and bool(words) and words in values
        default = words if whole else self.parse_default(kind, words) if row.optional else None
        keywords = {} if default is None else {"default": default}
        low, high = row.minimum, row.maximum
        if kind in ("integer", "real") and (low is None or high is None or low <= high):
            for key, bound in (("minimum", low), ("maximum", high)):
                if bound is not None:
                    keywords[key] = int(bound) if bound % 1 == 0 else bound
        return keywords

    def parse_default(self, kind: str, words: str) -> Any:
        """Return the value of a type that stated words begin with; None for none."""
        parts = type_alternatives(kind)
        if not words or len(parts) != 1:
            return None
        if parts[0] == "boolean":
            return _TRUTH.get(words.partition(" ")[0])
        if parts[0] in ("integer", "real", "number"):
            number = _NUMBER.match(words.replace("zero", "0"))
            if number is None or (parts[0] == "integer" and number[1]):
                return None
            return (
                float(number[0]) if number[1] and number[1].strip(".0") else int(float(number[0]))
            )
        values = self.enumerators(parts[0]) if parts[0] in self.enums else []
        return _longest_match(words, values)

    def enumerators(self, name: str) -> list[str]:
        """Return the visible values of an enumeration in order, each once."""
        rows = self.enums[name].enumerators
        shown = [row.name for row in rows if not row.hidden] or [row.name for row in rows]
        return list(dict.fromkeys(shown))

    def parameter_annotation(self, kind: str) -> str:
        """Return the Python annotation of a type string."""
        parts = list(dict.fromkeys(map(self._part_annotation, type_alternatives(kind))))
        return "Any" if "Any" in parts or not parts else " | ".join(parts)

    def result_annotation(self, kind: str) -> str:
        """Return the Python annotation of what is answered in a type."""
        return self.parameter_annotation(kind).replace("DateOrText", "DateTime")

    def _part_annotation(self, part: str) -> str:
        if part.startswith("list of "):
            return f"ListOf[{self.parameter_annotation(' | '.join(list_item_types(part)))}]"
        if part in self.records or self._options.get(part):
            return "Mapping[str, Any]"
        if part in self._options and part not in self.enums:
            return "Ref | Mapping[str, Any]"
        if part in self.enums:
            return self._aliases.get(part, "str")
        if part in TYPES:
            return TYPES[part].annotation
        if part in self.classes and self._intents:
            return f"Entity[Literal[{exact_literal(part)}]]"
        return "Ref" if part in self.classes else "str"

    def output_schema(self, kind: str, op: str = "command") -> dict[str, Any] | None:
        """Return the schema of a structured answer, None where any value may come.

        A single object answers under `ref`, everything else under `result`. It is open: what
        an app answers against its own dictionary is told in `note`. So what is always there is
        the number that we count, or else one of these keys.
        """
        parts = type_alternatives(kind)
        loose = {"any", "record"} & {*parts} or self._options.keys() & {*self.bare_terms(kind)}
        if not parts or loose:
            return None
        properties: dict[str, Any] = {}
        objects = [part for part in parts if self._is_object(part)]
        if objects:
            properties["ref"] = dict(_STRING)
        rest = [part for part in parts if part not in objects]
        if rest:
            properties["result"] = self.json_schema(" | ".join(rest))
        always = {"required": ["result"]} if op == "count" else {"minProperties": 1}
        return {"type": "object", "properties": properties, **always}

    def read_schema(
        self, op: str, names: Iterable[str] = (), kinds: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Return the schema of what `get` or `list` answers: fields by name, or rows of them.

        Args:
            op: Which of the two.
            names: The properties that are always read; more may come.
            kinds: The classes that have them; any of the app if there is none.
        """
        lineages = [class_lineage(kind, self._rows) for kind in kinds if kind in self._rows]
        owners = [one for lineage in lineages for one in lineage] or [*self._rows]
        fields: dict[str, Any] = {"ref": dict(_STRING)} if op == "list" else {}
        for name in names:
            rows = [p for one in owners for p in self._rows[one].properties if p.name == name]
            if types := [ref for row in rows for ref in row.types]:
                fields[name] = _cell_schema(self.json_schema(self.type_string(types)))
        if op == "get":
            told = {"properties": fields} if fields else {}
            return {"type": "object", **told, "minProperties": 1}
        row = {"type": "object", "properties": fields, "required": ["ref"]}
        result = {"type": "array", "items": row}
        return {"type": "object", "properties": {"result": result}, "required": ["result"]}


def _cell_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a value in a row: its JSON types in short, and null for none."""
    options = schema.get("anyOf", [schema])
    kinds = dict.fromkeys(one["type"] for one in options)
    cell: dict[str, Any] = {"type": [*kinds, "null"]}
    only = options[0] if len(options) == 1 else {}
    if "items" in only:
        cell["items"] = _cell_schema(only["items"])
    return {**cell, **({"format": only["format"]} if "format" in only else {})}


# What an example may be made of: names are foreign text, and this stands in a sentence of ours.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]{0,39}")
_LONGEST_WAY = 4
_RICH = 9
_STANDARD = ("document", "window", "item")
_WINDOW = 2
"""What a way through a window costs more: somebody means the document that is shown in it."""


def example_references(resolved: ResolvedDictionary, class_named: Find) -> dict[str, str]:
    """Return class -> an example: `inbox.messages[0]`; `specifier` -> one of what the app holds.

    An element ends an example rather than a property, and a class that nothing holds has that
    of a class that inherits from it. A class that cannot be reached has none.
    """
    rows = {row.name: row for row in resolved.classes}
    ends: dict[str, tuple[int, int, str]] = {}
    done: set[str] = set()
    heap: list[tuple[int, int, int, str, str]] = [(0, 0, 0, APPLICATION, "")]
    count = 0
    while heap:
        cost, _, _, name, text = heappop(heap)
        if name in done or name not in rows or text.count(".") >= _LONGEST_WAY:
            continue
        done.add(name)
        for step, kind, price in _reference_steps(name, rows, class_named):
            count += 1
            whole = f"{text}.{step}".lstrip(".")
            end = (cost + max(price, 2) + (price == 1), len(whole), whole)
            if kind not in ends or end[:2] < ends[kind][:2]:
                ends[kind] = end
            through = price + _WINDOW * ("window" in class_lineage(kind, rows))
            heappush(heap, (cost + through, len(whole), count, kind, whole))
    examples = {name: text for name, (_, _, text) in ends.items()}
    weights = Counter(_mentioned_classes(resolved, class_named))
    plain = [name for name in ends if name not in _STANDARD and ends[name][2].count(".") < 2]
    # What others inherit from is nothing that somebody would name.
    general = {row.inherits for row in rows.values()}

    def example_rank(name: str) -> float:
        cost = ends[name][0]
        properties = [prop for one in class_lineage(name, rows) for prop in rows[one].properties]
        told = weights[name] + min(len(properties), _RICH) / 6
        fixed = all(prop.access == "r" for prop in properties)
        poor = (name in general) + 2 * (name == "window") + fixed
        return cost - 2 * told + _RICH * poor

    elements = [name for name in plain if ends[name][2].endswith("]")]
    elements = elements or [name for name in ends if ends[name][2].endswith("]")]
    best = sorted(elements or plain or ends, key=example_rank)
    for heir in sorted(ends, key=example_rank):
        for name in class_lineage(heir, rows):
            examples.setdefault(name, examples[heir])
    examples["specifier"] = examples[best[0]] if best else ""
    holders = [name for name in best if best[0] in {e.type for e in rows[name].elements}]
    place = examples["specifier"].rpartition(".")[0]
    examples["location specifier"] = place or (examples[holders[0]] if holders else APPLICATION)
    return examples


def _mentioned_classes(resolved: ResolvedDictionary, class_named: Find) -> Iterator[str]:
    """Yield each class as often as something of the app is about it."""
    for row in resolved.classes:
        if not row.hidden:
            yield from (element.type for element in row.elements if not element.hidden)
            yield from (row.name for _ in row.responds_to)
    for command in resolved.commands:
        if not command.hidden:
            direct = command.direct.types if command.direct else ()
            named = [ref for row in command.parameters for ref in row.types]
            yield from (class_named(ref.name) for ref in (*direct, *direct, *named))


def _reference_steps(
    name: str, rows: dict[str, SdefClass], class_named: Find
) -> Iterator[tuple[str, str, int]]:
    """Yield (step, class, price) of what an object of a class holds; a property is cheaper."""
    for one in class_lineage(name, rows):
        for element in rows[one].elements:
            row = rows.get(element.type)
            step = javascript_name(class_plural(row.name, row.plural)) if row else ""
            if row and not element.hidden and _PLAIN.fullmatch(step):
                yield f"{step}[0]", row.name, 2
        for prop in rows[one].properties:
            kinds = [class_named(ref.name) for ref in prop.types if not ref.list]
            step = javascript_name(prop.name)
            one_object = (
                len(kinds) == len(prop.types) == 1 and kinds[0] in rows.keys() - TYPES.keys()
            )
            shown = not prop.hidden and prop.access != "w"
            if shown and one_object and _PLAIN.fullmatch(step):
                yield step, kinds[0], 1
