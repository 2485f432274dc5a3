"""Whether what a server writes is the protocol: its lines, its messages, and their order.

Each message is held against the schema of the negotiated revision and against the life cycle
before any library forgives it. A fault says the line, its bytes and what is wrong, so that nobody
has to wait for a time-out to learn of it. Names and schemas that clients refuse are faults too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from iac_scenario.results import shorten_value

Json = dict[str, Any]

LISTINGS: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "tools": ("tools/list", "tools", "tools", "name"),
    "prompts": ("prompts/list", "prompts", "prompts", "name"),
    "resources": ("resources/list", "resources", "resources", "uri"),
    "templates": ("resources/templates/list", "resourceTemplates", "resources", "uriTemplate"),
}
"""Kind to the request, the field of its result, the capability that it needs, and the key."""
MAX_PAGES: Final = 1000
TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ARGUMENT_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ROOT_UNIONS: Final = ("anyOf", "oneOf", "allOf", "not", "enum")
_BATCHED: Final = "2025-03-26"
"""The only revision with batches."""
_REVISION: Final = "io.modelcontextprotocol/protocolVersion"
_EARLY: Final = ("ping", "notifications/message")
"""What a server may send before the client is ready."""
_EXTENDED: Final = frozenset(("experimental", "extensions", "tasks"))
"""Capabilities that bring messages which the SDK has no types for."""
_LEVELS: Final = "debug info notice warning error critical alert emergency".split()

_LINE_FAULTS: Final = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\s*\Z", "is empty; only messages may be on standard output"),
        ("\ufeff", "begins with a byte order mark"),
        (r"(?i)content-length\s*:", "is a header; messages over stdio have no headers"),
        (r"(?:data|event|id|retry):", "is an event of HTTP; over stdio a message is a line"),
        (r"\s*[{\[]", "is JSON that does not end in its line; a message is one line"),
        (r".*\x1b\[", "is text for a terminal, not a message"),
        ("", "is text, not a message; only messages may be on standard output"),
    )
)
_TYPE_WORDS: Final[Mapping[str, str]] = {
    "missing": "is missing", "string_type": "must be a text", "bool_type": "must be true or false",
    "int_type": "must be a whole number", "float_type": "must be a number",
    "dict_type": "must be an object", "model_type": "must be an object",
    "model_attributes_type": "must be an object", "list_type": "must be a list",
}  # fmt: skip
_CLIENT_FEATURES: Final[Mapping[str, str]] = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
_SERVER_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "notifications/message": ("logging",),
    "notifications/tools/list_changed": ("tools", "listChanged"),
    "notifications/prompts/list_changed": ("prompts", "listChanged"),
    "notifications/resources/list_changed": ("resources", "listChanged"),
    "notifications/resources/updated": ("resources", "subscribe"),
}


class _SentRequest(NamedTuple):
    method: str
    params: Mapping[str, Any]


class ProtocolChecker:
    """What is known of one connection, and the faults of its server so far.

    `notes` holds what is allowed, but hardly meant, and `errors` code and message of the errors
    that the server itself has sent. `version` is the revision of the messages, and `has_answered`
    says whether any request had a result, `has_ended` whether nothing more will come.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.notes: list[str] = []
        self.errors: set[tuple[int, str]] = set()
        self.version = ""
        self.has_answered = False
        self.has_ended = False
        self._number = 0
        self._raw = b""
        self._sent: dict[Any, _SentRequest] = {}
        self._open: set[Any] = set()
        self._cancelled: set[Any] = set()
        self._asked: set[Any] = set()
        self._ready = False
        self._client: Mapping[str, Any] | None = None
        self._server: Mapping[str, Any] | None = None
        self._progress: dict[Any, float] = {}
        self._level = 0
        self._listed: dict[str, set[str]] = {}
        self._cursors: dict[str, list[str]] = {}

    def note_sent(self, message: Mapping[str, Any]) -> None:
        """Learn what the client sends, which the answers are held against."""
        method, key, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method is None:
            return
        if key is None:
            self._ready |= method == "notifications/initialized"
            if method == "notifications/cancelled":
                self._cancelled.add(params.get("requestId"))
            return
        self._sent[key] = _SentRequest(method, params)
        self._open.add(key)
        # Without a handshake, each request says its revision.
        self.version = (params.get("_meta") or {}).get(_REVISION, self.version)
        if method == "initialize":
            self.version, self._client = "", params.get("capabilities", {})
        elif method == "logging/setLevel" and params.get("level") in _LEVELS:
            self._level = _LEVELS.index(params["level"])

    def check_line(self, raw: bytes, *, ended: bool = True) -> list[Json]:
        """Check a line and return its messages, none where it cannot be read."""
        self._number, self._raw = self._number + 1, raw
        if not ended:
            self._add_message_fault("does not end with a line feed")
        try:
            document = json.loads(
                raw.decode(), object_pairs_hook=_read_object, parse_constant=_refuse_constant
            )
        except UnicodeDecodeError as error:
            place = f"byte 0x{raw[error.start]:02x} at {error.start + 1:,}"
            self._add_message_fault(f"is not UTF-8 ({place})")
            return []
        except _JsonError as fault:
            self._add_message_fault(str(fault))
            return []
        except (ValueError, RecursionError):
            text = raw.decode()
            self._add_message_fault(next(words for form, words in _LINE_FAULTS if form.match(text)))
            return []
        return self._check_document(document)

    def check_message(self, message: Json) -> None:
        """Check a message that did not come as a line."""
        self._number += 1
        self._raw = json.dumps(message, ensure_ascii=False).encode()
        self._check_document(message)

    def _check_document(self, document: Any) -> list[Json]:
        if isinstance(document, list):
            if self.version != _BATCHED or not document:
                self._add_message_fault("is a batch; a line holds one message")
            messages = document
        else:
            messages = [document]
        for message in messages:
            for fault in self._message_faults(message):
                self._add_message_fault(fault)
        return [message for message in messages if isinstance(message, dict)]

    def _add_message_fault(self, text: str) -> None:
        shown = shorten_value(self._raw.decode("utf-8", "backslashreplace"))
        self.faults.append(f"line {self._number} ({len(self._raw):,} bytes) {text}: {shown}")

    def _message_faults(self, message: Any) -> Iterator[str]:
        if not isinstance(message, dict):
            yield "is no object"
            return
        if message.get("jsonrpc") != "2.0":
            given = message.get("jsonrpc")
            yield f"has the jsonrpc {given!r}; it must be '2.0'" if given else "has no jsonrpc"
        if "method" in message:
            if {"result", "error"} & message.keys():
                yield "has a method and an answer"
            elif not isinstance(message["method"], str):
                yield "has a method that is no text"
            elif not isinstance(message.get("params", {}), dict):
                yield "has params that are no object"
            elif "id" in message:
                yield from self._request_faults(message)
            else:
                yield from self._notification_faults(message)
        else:
            yield from self._response_faults(message)

    def _request_faults(self, message: Json) -> Iterator[str]:
        from mcp_types.methods import SERVER_REQUESTS

        key, method = message["id"], message["method"]
        if not _is_id(key):
            yield f"has the id {json.dumps(key)}; it must be a text or a whole number"
        elif key in self._asked:
            yield f"has the id {json.dumps(key)} of an earlier request"
        else:
            self._asked.add(key)
        feature = _CLIENT_FEATURES.get(method)
        if self._client is not None and not self._ready and method not in _EARLY:
            yield f"asks for {method} before the client is initialized"
        elif feature and self._client is not None and self._client.get(feature) is None:
            yield f"asks for {method}, but the client has no {feature}"
        yield from self._schema_faults(SERVER_REQUESTS, message, "request")

    def _notification_faults(self, message: Json) -> Iterator[str]:
        from mcp_types.methods import SERVER_NOTIFICATIONS

        method, params = message["method"], message.get("params", {})
        if not self.version and method not in _EARLY:
            yield f"is {method} before the answer to initialize"
        *way, last = _SERVER_FEATURES.get(method, ("",))
        declared: Any = self._server or {}
        for part in way:
            declared = declared.get(part) or {}
        # In the new era a client subscribes, so that what it gets needs no capability.
        if self._ready and last and declared.get(last) in (None, False):
            yield f"is {method}, but the server declares no {'.'.join((*way, last))}"
        if method == "notifications/message" and params.get("level") in _LEVELS[: self._level]:
            yield f"has the level {params['level']}; the client asked for {_LEVELS[self._level]}"
        if method == "notifications/cancelled" and params.get("requestId") not in self._asked:
            yield f"cancels {params.get('requestId')!r}, which is no request of the server"
        if method == "notifications/progress":
            yield from self._progress_faults(params)
        yield from self._schema_faults(SERVER_NOTIFICATIONS, message, "notification")

    def _progress_faults(self, params: Json) -> Iterator[str]:
        token, value = params.get("progressToken"), params.get("progress")
        keys = [
            key
            for key, sent in self._sent.items()
            if (sent.params.get("_meta") or {}).get("progressToken") == token
        ]
        if not _is_id(token) or not keys:
            yield f"is progress for {token!r}, which is no token of a request"
        elif not any(key in self._open or key in self._cancelled for key in keys):
            yield f"is progress for {token!r} after the answer"
        elif isinstance(value, int | float):
            if value <= self._progress.get(token, float("-inf")):
                yield f"is progress {value:g} after {self._progress[token]:g}; it must grow"
            self._progress[token] = value

    def _response_faults(self, message: Json) -> Iterator[str]:
        from mcp_types.methods import SERVER_RESULTS

        key = message.get("id")
        if {"result", "error"} <= message.keys():
            yield "has a result and an error"
        elif not {"result", "error"} & message.keys():
            yield "has no method, no result and no error"
            return
        if "id" not in message or not _is_id(key):
            yield f"has the id {json.dumps(key)}" if "id" in message else "has no id"
            return
        if key not in self._sent:
            other: str | int = str(key)
            if isinstance(key, str) and key.isdecimal():
                other = int(key)
            was = "no request has it"
            if other in self._sent:
                was = f"the id of the request was {json.dumps(other)}"
            yield f"has the id {json.dumps(key)}; {was}"
            return
        if key not in self._open:
            yield f"answers the request {json.dumps(key)} a second time"
            return
        self._open.discard(key)
        if "error" in message:
            yield from self._error_faults(message["error"])
            return
        method, params = self._sent[key]
        if not isinstance(result := message["result"], dict):
            yield "has a result that is no object"
            return
        self.has_answered = True
        if method in ("initialize", "server/discover"):
            yield from self._greeting_faults(method, result)
        # A call that becomes a task is answered with that, which the SDK has no type for.
        if "task" not in params:
            yield from self._schema_faults(SERVER_RESULTS, result, method)
        for asked, field, feature, name in LISTINGS.values():
            if asked == method and isinstance(entries := result.get(field), list):
                if self._server is not None and self._server.get(feature) is None:
                    yield f"answers {method}, but the server declares no {feature}"
                yield from self._listing_faults(method, params, result.get("nextCursor"))
                yield from self._entry_faults(method, entries, name)

    def _error_faults(self, error: Any) -> Iterator[str]:
        if not isinstance(error, dict):
            yield "has an error that is no object"
        elif not isinstance(error.get("code"), int) or isinstance(error["code"], bool):
            yield "has an error whose code is no whole number"
        elif not isinstance(error.get("message"), str):
            yield "has an error whose message is no text"
        else:
            self.errors.add((error["code"], error["message"]))

    def _greeting_faults(self, method: str, result: Json) -> Iterator[str]:
        from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

        if method == "initialize":
            version = result.get("protocolVersion")
            if isinstance(version, str) and version not in KNOWN_PROTOCOL_VERSIONS:
                yield f"answers with the revision {version!r}, which does not exist"
            self.version = version if version in KNOWN_PROTOCOL_VERSIONS else ""
        declared = result.get("capabilities")
        self._server = declared if isinstance(declared, dict) else {}

    def _listing_faults(self, method: str, params: Mapping[str, Any], cursor: Any) -> Iterator[str]:
        if params.get("cursor") is None:
            self._listed[method], self._cursors[method] = set(), []
        seen = self._cursors[method]
        if isinstance(cursor, str):
            if cursor in seen:
                yield f"gives the cursor {cursor!r} again; the pages never end"
            elif len(seen) >= MAX_PAGES:
                yield f"is page {len(seen) + 1:,} of {method}; the pages never end"
            seen.append(cursor)

    def _entry_faults(self, method: str, entries: Sequence[Any], key: str) -> Iterator[str]:
        for entry in entries:
            name = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(name, str):
                continue
            if name in self._listed[method]:
                yield f"lists {name!r} a second time"
            self._listed[method].add(name)
            if method == "tools/list":
                yield from tool_faults(entry)

    def _schema_faults(self, known: Mapping[Any, Any], value: Json, what: str) -> Iterator[str]:
        """Yield what does not fit the schema of the revision: of a message, or of a result."""
        if not self.version:
            return
        method = value["method"] if what in ("request", "notification") else what
        if (target := known.get((method, self.version))) is not None:
            if fault := _schema_fault(target, value):
                yield f"does not fit the schema of {method}: {fault}"
        elif what in ("request", "notification"):
            extended = _EXTENDED & (self._server or {}).keys()
            if not extended or any(method == name for name, _ in known):
                yield f"is {method}, which is no {what} of the revision {self.version}"


def tool_faults(tool: Mapping[str, Any]) -> Iterator[str]:
    """Yield what makes clients refuse a tool, and all others of its server with it."""
    name = tool["name"]
    if not TOOL_NAME.fullmatch(name):
        yield f"lists the tool {name!r}; names have 1 to 128 of the characters A-Z a-z 0-9 _ - ."
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return
    if unions := [key for key in _ROOT_UNIONS if key in schema]:
        yield f"lists the tool {name}, whose inputSchema has {unions[0]} at its root"
    properties = schema.get("properties")
    for argument in properties if isinstance(properties, dict) else ():
        if not _ARGUMENT_NAME.fullmatch(argument):
            yield (
                f"lists the tool {name} with the argument {argument!r}; names have 1 to 64 of the"
                " characters A-Z a-z 0-9 _ - ."
            )
    for field in ("inputSchema", "outputSchema"):
        if fault := _metaschema_fault(tool.get(field)):
            yield f"lists the tool {name}, whose {field} is no JSON schema: {fault}"


def _metaschema_fault(schema: Any) -> str:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    if not isinstance(schema, dict):
        return ""
    of = validator_for(schema, Draft202012Validator)
    error = next(of(of.META_SCHEMA).iter_errors(schema), None)
    return "" if error is None else f"{error.json_path.removeprefix('$.')}: {error.message}"


class _JsonError(Exception):
    """JSON that readers understand in different ways."""


def _read_object(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _JsonError(f"has the key {twice!r} twice in one object")
    return found


def _refuse_constant(word: str) -> Any:
    raise _JsonError(f"has {word}, which is no JSON")


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


@cache
def _type_adapter(target: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(target)


def _schema_fault(target: Any, value: Json) -> str:
    """Return what does not fit a type of the schema, in our words, or nothing.

    Of a union, the member is meant that fits best: one whose constants are right.
    """
    from pydantic import ValidationError

    try:
        _type_adapter(target).validate_json(json.dumps(value), strict=True, by_name=False)
    except ValidationError as error:
        members: dict[tuple[Any, ...], list[tuple[str, Any]]] = {}
        for each in error.errors(include_url=False, include_input=False):
            place, tags = _split_place(each["loc"], value)
            members.setdefault(tags, []).append((place, each))
        wrong = [(at, each) for found in members.values() for at, each in found]
        best = min(members.values(), key=lambda found: (any(map(_is_constant, found)), len(found)))
        place, first = next(filter(_is_constant, best), best[0])
        if first["type"] != "literal_error":
            return f"{place} {_TYPE_WORDS.get(first['type'], 'has a value that is not allowed')}"
        same = [each["ctx"]["expected"] for at, each in wrong if at == place and "ctx" in each]
        return f"{place} must be {' or '.join(dict.fromkeys(same))}"
    return ""


def _is_constant(found: tuple[str, Any]) -> bool:
    return bool(found[1]["type"] == "literal_error")


def _split_place(parts: Sequence[Any], value: Any) -> tuple[str, tuple[Any, ...]]:
    """Return where in the value an error lies, and the members of unions on the way."""
    from iac_scenario.schema import format_field_path

    place, tags = list[Any](), list[Any]()
    for at, part in enumerate(parts):
        inside = isinstance(value, dict) and (part in value or at == len(parts) - 1)
        if inside or (isinstance(value, list) and isinstance(part, int)):
            place.append(part)
            value = value.get(part) if isinstance(value, dict) else value[part]
        else:
            tags.append(part)
    return format_field_path(place) or "it", tuple(tags)
