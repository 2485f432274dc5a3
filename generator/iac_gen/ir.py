"""The intermediate representation of a module: every decision made, no layout."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from iac_gen.classify import LevelJudgment
from iac_gen.model import Diagnostic
from iac_gen.naming import has_verified_name
from iac_runtime.tool import App, Class, Enum, Intent, Level, Op, Param, Record


def level_span(level: Level, ceiling: Level) -> str:
    """Return a level and a ceiling in words."""
    return level if level == ceiling else f"{level} to {ceiling}"


def object_schema(
    properties: Mapping[str, Mapping[str, Any]], required: Iterable[str]
) -> dict[str, Any]:
    """Return the schema of a closed object; in order of the properties, `required` too."""
    needed = [key for key in properties if key in {*required}]
    schema = {"type": "object", "properties": properties}
    return {**schema, **({"required": needed} if needed else {}), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """A parameter of a tool: the contract's row, its schema and the name that Python has for it.

    `description` goes into the schema and may hold an example; `words` into the docstring.
    `app_words` says that they are the app's.
    """

    name: str
    row: Param
    required: bool
    schema: Mapping[str, Any]
    annotation: str
    description: str
    words: str = ""
    app_words: bool = False

    @property
    def key(self) -> str:
        """Its name in JSON, where a keyword of Python is a word like any other."""
        return self.name.rstrip("_")

    def described_schema(self) -> dict[str, Any]:
        """Return its schema with its description."""
        return {**self.schema, **({"description": self.description} if self.description else {})}


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """A tool: one function of the module.

    `name` is the MCP name, given when all tools are known. `summary` is the whole description,
    one paragraph; `app_words` says that the app's own words stand in it or in a parameter.
    `reason` says what made the level. `positional` parameters lead the signature. `term` is the
    command's name in the dictionary, empty for what is no command. `example` are arguments of a
    call. `judged` holds all that made the level.
    """

    function: str
    op: Op
    event: str
    level: Level
    ceiling: Level
    reason: str
    summary: str
    parameters: tuple[ToolParameter, ...]
    result: str = ""
    returns: str = "None"
    returned: str = ""
    output: Mapping[str, Any] | None = None
    positional: int = 1
    jxa: str = ""
    term: str = ""
    bind: Mapping[str, Any] = field(default_factory=dict)
    example: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    intent: Intent | None = None
    app_words: bool = False
    judged: LevelJudgment = field(default_factory=LevelJudgment)

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        return object_schema(
            {parameter.key: parameter.described_schema() for parameter in self.parameters},
            [parameter.key for parameter in self.parameters if parameter.required],
        )

    def listing_entry(self) -> dict[str, Any]:
        """Return the finished entry of a tool listing (MCP `Tool`).

        Every hint is given, for clients differ in what they take for one that is not. A SAFE tool
        that answers nothing is called for what a person then sees or hears: it is no read.
        """
        listed: dict[str, Any] = {
            "name": self.name,
            "description": self.summary,
            "inputSchema": self.input_schema(),
        }
        if self.output is not None:
            listed["outputSchema"] = dict(self.output)
        reads = self.ceiling == "SAFE" and bool(self.result or self.op in _READS)
        listed["annotations"] = {
            "readOnlyHint": reads,
            "destructiveHint": self.ceiling == "DANGEROUS",
            "idempotentHint": reads or self.op == "set",
            "openWorldHint": True,
        }
        return listed


_READS: Final[frozenset[Op]] = frozenset(("get", "list", "count"))
"""The operations that answer with what an app has."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module: one app. `aliases` are rows of (alias, enumeration, enumerators).

    `judged` says why the rows of its tables have their levels: a class has `make` and `delete`,
    a property (`class.property`) has `set`. `enum_codes` are the codes of the enumerations,
    `sentences` say what each class is and each `class.property`.
    """

    key: str
    app: App
    version: str
    digest: str
    classes: Mapping[str, Class]
    enums: Mapping[str, Enum]
    records: Mapping[str, Record]
    aliases: tuple[tuple[str, str, tuple[str, ...]], ...]
    class_names: tuple[str, ...]
    property_names: tuple[str, ...]
    tools: tuple[ToolFunction, ...]
    judged: Mapping[str, Mapping[str, LevelJudgment]] = field(default_factory=dict)
    enum_codes: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)

    def unverified_terms(self) -> list[str]:
        """Return the terms whose JavaScript name no evidence covers, sorted."""
        rows = [tool.term for tool in self.tools]
        rows += [p.row.term for tool in self.tools for p in tool.parameters]
        properties = (p for row in self.classes.values() for p in row.properties)
        rows += [p.term for p in properties if p.jxa != "id"]
        rows += [p.term for record in self.records.values() for p in record.properties]
        odd = {term for term in (*rows, *self.classes) if term and not has_verified_name(term)}
        # A plural that the dictionary declares may have characters that its class has not.
        odd |= {
            term
            for term, row in self.classes.items()
            if not (row.plural.isascii() and row.plural.isalnum())
        }
        return sorted(odd)


def _to_json(value: Any) -> Any:
    """Return rows of the contract as objects and lists of JSON."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items()}
    return [_to_json(item) for item in value] if isinstance(value, tuple) else value


_SHOWN = ("function", "op", "event", "jxa", "level", "ceiling", "reason")


def module_data(module: Module, diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return everything that was decided for a module, tables as objects."""
    tools = [
        {
            **tool.listing_entry(),
            **{name: getattr(tool, name) for name in _SHOWN},
            "parameters": _to_json({p.key: p.row for p in tool.parameters}),
            "result": tool.result,
            "bind": dict(tool.bind),
            **({"intent": _to_json(tool.intent)} if tool.intent else {}),
        }
        for tool in module.tools
    ]
    head = {name: _to_json(getattr(module, name)) for name in ("key", "app", "version", "digest")}
    tables = {"classes": module.classes, "enumerations": module.enums, "records": module.records}
    return {
        **head,
        "tools": tools,
        **_to_json({**tables, "sentences": module.sentences}),
        "unverified": module.unverified_terms(),
        "diagnostics": [str(one) for one in diagnostics],
    }


@dataclass(frozen=True, slots=True)
class ObjectAttribute:
    """A property or the elements of a class: `kind` is the descriptor, `held` what it is of."""

    name: str
    kind: str
    held: str
    jxa: str
    term: str = ""
    widens: bool = False
    """It can be set, and the inherited one cannot."""


@dataclass(frozen=True, slots=True)
class ObjectMethod:
    """A command; `self_key` is the parameter that stands for the object, empty on the app."""

    name: str
    tool: ToolFunction
    parameters: tuple[ToolParameter, ...]
    signature: tuple[str, ...]
    returns: str
    self_key: str


@dataclass(slots=True)
class TypedClass:
    """A class: its names, attributes, methods, and the rows that only type checkers see."""

    term: str
    name: str
    items: str
    bases: tuple[str, ...]
    row_name: str = ""
    values_name: str = ""
    keys_name: str = ""
    inherits: str = ""
    is_text: bool = False
    attributes: list[ObjectAttribute] = field(default_factory=list)
    methods: list[ObjectMethod] = field(default_factory=list)
    row: list[tuple[str, str]] = field(default_factory=list)
    row_base: str = ""
    values: list[tuple[str, str]] = field(default_factory=list)
    values_base: str = ""
    keys: list[str] = field(default_factory=list)
    keys_base: str = ""


@dataclass(slots=True)
class TypedModule:
    """The object layer of an app, in the order in which it is written."""

    classes: list[TypedClass]
    commands: list[ObjectMethod]
    literals: dict[str, tuple[str, ...]]
    records: list[tuple[str, list[tuple[str, str]]]]
    fields: dict[str, str]
    settable: list[tuple[str, str, str]]
    make: bool
    extra: list[tuple[str, str]]
