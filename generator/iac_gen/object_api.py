"""The object API: the classes of the object layer, made from the tables and tools of a module.

Every name and annotation of `<app>_objects.py` is decided here; the template lays them out. A class
of the dictionary becomes a class, its elements a collection; a command is a method where its direct
parameter is an object, else it is called on `app`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from iac_gen import naming
from iac_gen.ir import (
    Module,
    ObjectAttribute,
    ObjectMethod,
    ToolFunction,
    ToolParameter,
    TypedClass,
    TypedModule,
)
from iac_gen.merge import APPLICATION
from iac_gen.types import list_item_types
from iac_runtime.tool import Property
from iac_runtime.types import TYPES, find_type, type_alternatives

SUFFIX: Final = "_objects"
APP_CLASS: Final = "Application"
COMMANDS: Final = "Commands"
EXISTS: Final = "coredoex"
"""The event of `exists`, a method of every object."""

_LONGEST_LINE: Final = 128
"""Classes in a line; Python needs the square of that to make them. Real lines have ten at most."""
_TEXT_CODES: Final = frozenset({"ctxt", "cpar", "cwor", "cha ", "catr"})
TYPING: Final = ("Any", "Literal", "TypedDict", "Unpack")
RUNTIME: Final = (
    "AnyObject", "Color", "Elements", "Items", "Object", "One", "Point", "Prop", "Rect",
    "Specifier", "Rows", "RwOne", "RwProp", "RwTextOne", "Replaceable", "TextObject", "TextOne",
)  # fmt: skip
_RESERVED_TYPES: Final = frozenset(
    {*TYPING, *RUNTIME, "Final", "ListOf", "Mapping", "Path", "Sequence", APP_CLASS, COMMANDS,
     "MakeValues", "OBJECTS", "FIELDS", "TYPE_CHECKING", "None", "True", "False"}
)  # fmt: skip
_ANNOTATED: Final = naming.words_of(
    [part for row in TYPES.values() for part in (row.object_annotation, row.object_answer)]
)
"""Names that an attribute would take from the annotations after it."""
_OBJECT_API: Final = frozenset({"exists", "get", "set"})
"""What every typed object has; `iac_runtime.objects` is not known here, and a test compares."""

_API: Final = _OBJECT_API | {"by_id", "count", "first", "last", "make", "select"}
_ATTRIBUTE_RESERVED: Final = _ANNOTATED | _OBJECT_API | naming.SELF_RESERVED


def _attribute_name(term: str, code: str, taken: Collection[str] = ()) -> str:
    """Return the Python name of a property or of elements; not one that is taken."""
    return naming.escaped(naming.field_key(term, code), _ATTRIBUTE_RESERVED | {*taken})


def build_object_api(module: Module) -> TypedModule:
    """Return the object layer of `module`."""
    return _ObjectApiBuilder(module).build()


def _python_class_name(term: str) -> str:
    return naming.escaped(naming.literal_alias(term), _RESERVED_TYPES)


@dataclass(slots=True)
class _InheritedNames:
    """What the classes above a class have; of two of one name the upper one counts."""

    attributes: dict[str, ObjectAttribute] = field(default_factory=dict)
    jxa: set[str] = field(default_factory=set)
    row: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)

    def copy(self) -> "_InheritedNames":
        return _InheritedNames({**self.attributes}, {*self.jxa}, {*self.row}, {*self.values})

    def add_class(self, one: TypedClass) -> None:
        """Add what a class has itself."""
        for attribute in one.attributes:
            if attribute.name not in self.attributes:
                self.attributes[attribute.name] = attribute
                self.jxa.add(attribute.jxa)
        self.row.update(key for key, _ in one.row)
        self.values.update(key for key, _ in one.values)


class _ObjectApiBuilder:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.taken = {*_RESERVED_TYPES}
        # Following them ends: `merge` sees to it.
        self.parents = {
            term: above if (above := row.inherits or "") in module.classes else ""
            for term, row in module.classes.items()
        }
        self.ordered = self._ordered_classes()
        self.texts: set[str] = set()
        depths = {"": -1}
        for term in self.ordered:
            above = self.parents[term]
            if module.classes[term].code in _TEXT_CODES or above in self.texts:
                self.texts.add(term)
            depths[term] = depths[above] + 1
            if depths[term] % _LONGEST_LINE == 0:
                self.parents[term] = ""
        self.names = {
            term: APP_CLASS if term == APPLICATION else self._claim_name(_python_class_name(term))
            for term in module.classes
        }
        contained = {element.term for row in module.classes.values() for element in row.elements}
        self.items: dict[str, str] = {}
        for term in (term for term in module.classes if term in contained):
            name = self.names[term]
            plural = naming.snake_case(module.classes[term].plural) or f"{name} items"
            wanted = _python_class_name(plural.replace("_", " "))
            self.items[term] = self._claim_name(f"{name}Items" if wanted in self.taken else wanted)
        self.records = {
            term: self._claim_name(_python_class_name(term))
            for term, record in module.records.items()
            if record.properties
        }
        self.aliases = {enum: (alias, values) for alias, enum, values in module.aliases}
        self.literals: dict[str, tuple[str, ...]] = {}
        self.literal_names = {
            enum: self._claim_name(naming.escaped(alias, _RESERVED_TYPES))
            for enum, (alias, _) in self.aliases.items()
        }
        self.makes = any(tool.op == "make" and not tool.bind for tool in module.tools)
        self.settable: dict[tuple[str, str], str] = {}
        self.files = APPLICATION in module.classes and any(
            row.term == "startup disk" for row in module.classes[APPLICATION].properties
        )

    def _claim_name(self, wanted: str) -> str:
        """Return a name that nothing else in the file has."""
        name = naming.unique_name(wanted, self.taken)
        self.taken.add(name)
        return name

    def build(self) -> TypedModule:
        module = self.module
        made: dict[str, TypedClass] = {}
        for term in self.ordered:
            made[term] = self._build_class(term, made.get(self.parents[term]))
        heirs = Counter(self.parents.values())
        inherited: dict[str, _InheritedNames] = {}
        for term, one in made.items():
            heirs[one.inherits] -= 1
            # The last heir takes over what the others copy, so that a long line costs no more.
            names = inherited.get(one.inherits, _InheritedNames())
            names = names.copy() if heirs[one.inherits] else names
            self._fill_class(one, names)
            if heirs[term]:
                names.add_class(one)
                inherited[term] = names
        # A scripting addition has no object of its own.
        made.setdefault(APPLICATION, TypedClass(APPLICATION, APP_CLASS, "", ("Object",)))
        commands = self._assign_commands(made)
        make = next((t for t in module.tools if t.op == "make" and not t.bind), None)
        every = {key for one in made.values() for key, _ in one.values}
        extra = [
            (p.name, self.type_annotation(p.row.type, given=True))
            for p in (make.parameters if make else ())
            if p.name not in ("element", "properties", "at") and p.name not in every
        ]
        records = [
            (name, self._field_types(module.records[term].properties))
            for term, name in self.records.items()
        ]
        fields = {
            row.jxa: key
            for term in self.records
            for row in module.records[term].properties
            if (key := _attribute_name(row.term, row.code)) != row.jxa
        }
        settable = [(name, owner, value) for (owner, value), name in self.settable.items()]
        classes = list(made.values())
        return TypedModule(
            classes, commands, self.literals, records, fields, settable, self.makes, extra
        )

    def _ordered_classes(self) -> list[str]:
        """Return the classes, parents first."""
        ordered: dict[str, None] = {}
        for term in self.parents:
            line = [*takewhile(lambda one: one not in ordered, self._class_lineage(term))]
            ordered.update(dict.fromkeys(reversed(line)))
        return list(ordered)

    def _class_lineage(self, term: str) -> Iterator[str]:
        while term:
            yield term
            term = self.parents[term]

    def _build_class(self, term: str, above: TypedClass | None) -> TypedClass:
        name, text = self.names[term], term in self.texts
        own = ("TextObject",) if text and not (above and above.is_text) else ()
        bases = (*own, above.name) if above else own or ("Object",)
        row, values, keys = (
            self._claim_name(f"{name}{what}") for what in ("Row", "Values", "Name")
        )
        made = TypedClass(
            term, name, self.items.get(term, ""), bases, row, values, keys, self.parents[term], text
        )
        if above:
            made.row_base, made.values_base = above.row_name, above.values_name
            made.keys_base = above.keys_name
        return made

    def _fill_class(self, one: TypedClass, above: "_InheritedNames") -> None:
        """Give a class its attributes and rows; what it inherits is not said again."""
        row = self.module.classes[one.term]
        inherited = above.attributes
        taken: dict[str, ObjectAttribute] = {}
        for prop in row.properties:
            attribute = self._build_property(prop, taken)
            if attribute.jxa in {one.jxa for one in taken.values()}:
                continue
            before = inherited.get(attribute.name)
            if before is not None:
                attribute = self._redeclare_property(attribute, before, taken)
            if before is None or attribute != before:
                taken[attribute.name] = attribute
            if attribute.name not in above.row and "r" in prop.access:
                one.row.append((attribute.name, self.type_annotation(prop.type)))
                one.keys.append(attribute.name)
            if attribute.name not in above.values:
                one.values.append((attribute.name, self.type_annotation(prop.type, given=True)))
        for element in row.elements:
            kind = self.module.classes.get(element.term)
            if kind is None or kind.plural in above.jxa:
                continue
            name = _attribute_name(naming.snake_case(kind.plural), kind.code)
            while name in taken or (name in inherited and inherited[name].jxa != kind.plural):
                name += "_"
            if kind.plural not in {a.jxa for a in taken.values() if a.kind == "Elements"}:
                many = self.items[element.term]
                taken[name] = ObjectAttribute(name, "Elements", many, kind.plural, element.term)
        one.attributes = list(taken.values())

    def _redeclare_property(
        self, new: ObjectAttribute, before: ObjectAttribute, taken: Mapping[str, ObjectAttribute]
    ) -> ObjectAttribute:
        """Return a property that a class declares again, as a subclass may have it."""
        if new == before:
            return before
        plain = {"Prop", "RwProp"}
        if new.kind in plain and before.kind in plain:
            # A subclass that says another type is taken at no word.
            annotation = new.held if new.held == before.held else "Any"
            kind = "RwProp" if "RwProp" in (new.kind, before.kind) else "Prop"
            if (kind, annotation) == (before.kind, before.held):
                return before
            return ObjectAttribute(new.name, kind, annotation, new.jxa, "", kind != before.kind)
        name = new.name
        while name in taken or name == before.name:
            name += "_"
        return ObjectAttribute(name, new.kind, new.held, new.jxa, new.term)

    def _build_property(self, prop: Property, taken: Collection[str]) -> ObjectAttribute:
        name = _attribute_name(prop.term, prop.code, taken)
        writes = "w" in prop.access
        single = self._single_object(prop)
        if single:
            text = single in self.texts
            kind = f"{'Rw' * writes}{'Text' * text}One"
            class_name = self.names[single]
            if writes:
                class_name = self._replaceable_type(class_name, "str" if text else class_name)
            return ObjectAttribute(name, kind, class_name, prop.jxa, single)
        return ObjectAttribute(
            name, "RwProp" if writes else "Prop", self.type_annotation(prop.type), prop.jxa
        )

    def _replaceable_type(self, class_name: str, value: str) -> str:
        if (class_name, value) not in self.settable:
            self.settable[class_name, value] = self._claim_name(f"Replaceable{class_name}")
        return self.settable[class_name, value]

    def _single_object(self, prop: Property) -> str:
        """Return the class whose object a property holds; empty for a value, or one of several."""
        parts = type_alternatives(prop.type)
        objects = [part for part in parts if self._is_object(part)]
        if len(objects) == 1 and all(p == objects[0] or p == "text" for p in parts):
            text = objects[0] in self.texts
            return objects[0] if text or len(parts) == 1 else ""
        if parts == ["text"] and "text" in self.names and prop.code == "ctxt":
            return "text"
        return ""

    def _is_object(self, part: str) -> bool:
        if part not in self.names or part in self.module.records or part in self.module.enums:
            return False
        return find_type(part) is None or (part == "file" and self.files)

    def _field_types(self, rows: Sequence[Property]) -> list[tuple[str, str]]:
        annotations: dict[str, str] = {}
        for row in rows:
            key = _attribute_name(row.term, row.code)
            annotations.setdefault(key, self.type_annotation(row.type, given=True))
        return list(annotations.items())

    def type_annotation(self, kind: str, *, given: bool = False) -> str:
        """Return the annotation of a type string: of what is given, or of what is answered."""
        alternatives = type_alternatives(kind)
        parts = {one: None for part in alternatives for one in self._part_annotations(part, given)}
        return "Any" if "Any" in parts or not parts else " | ".join(parts)

    def _part_annotations(self, part: str, given: bool) -> list[str]:
        if part.startswith("list of "):
            items = self.type_annotation(" | ".join(list_item_types(part)), given=given)
            return [f"{'Sequence' if given else 'ListOf'}[{items}]"]
        if part in self.module.records:
            if part in self.records:
                return [self.records[part]]
            return ["Mapping[str, Any]" if given else "dict[str, Any]"]
        if part in self.aliases:
            name = self.literal_names[part]
            self.literals[name] = self.aliases[part][1]
            return [name]
        if self._is_object(part):
            return [self.names[part] if given or part not in self.texts else "str"]
        row = find_type(part) or TYPES["text"]
        return (row.object_annotation if given else row.object_answer).split(" | ")

    def _assign_commands(self, made: Mapping[str, TypedClass]) -> list[ObjectMethod]:
        """Share the commands out to the classes; return those that every object takes."""
        everywhere: list[ObjectMethod] = []
        taken = {a.name for one in made.values() for a in one.attributes} | _API | _ANNOTATED
        for tool in self.module.tools:
            objects = len(made) > 1 and tool.event == EXISTS
            if tool.op != "command" or tool.bind or objects:
                continue
            direct = next((p for p in tool.parameters if p.row.code == "----"), None)
            types = type_alternatives(direct.row.type) if direct else ()
            parts = {part.removeprefix("list of ") for part in types}
            name = naming.escaped(tool.function.rstrip("_"), taken)
            taken.add(name)
            terms = [part for part in parts if self._is_object(part)]
            if direct and "specifier" in parts:
                everywhere.append(self._build_method(name, tool, direct))
                continue
            for term in sorted(terms):
                if not any(one in terms for one in list(self._class_lineage(term))[1:]):
                    made[term].methods.append(self._build_method(name, tool, direct))
            if APPLICATION not in terms and (
                parts - {*terms} or direct is None or not direct.required
            ):
                made[APPLICATION].methods.append(self._build_method(name, tool, None))
        return everywhere

    def _build_method(
        self, name: str, tool: ToolFunction, direct: ToolParameter | None
    ) -> ObjectMethod:
        shown = tuple(p for p in tool.parameters if p is not direct)
        first = 0 if direct is not None else tool.positional
        signature = [self._declare_parameter(p) for p in shown]
        if signature[first:]:
            signature.insert(first, "*")
        returns = self.type_annotation(tool.result) if tool.result else "None"
        key = direct.name if direct else ""
        return ObjectMethod(name, tool, shown, ("self", *signature), returns, key)

    def _declare_parameter(self, parameter: ToolParameter) -> str:
        kind = self.type_annotation(parameter.row.type, given=True)
        if parameter.required:
            return f"{parameter.name}: {kind}"
        whole = kind if kind == "Any" or "None" in kind.split(" | ") else f"{kind} | None"
        return f"{parameter.name}: {whole} = None"
