"""App Intents metadata of an invented app in the shapes of real files, and forged ones."""

import json
from collections.abc import Mapping
from typing import Any

from dictionaries import HOSTILE
from hypothesis import strategies as st

from iac_gen.intents.read import MetadataPart, read_intents
from iac_gen.model import Source
from iac_gen.xml import LoadedDictionary

PROTOCOL = "com.apple.link.systemProtocol."


def value(kind: str, **payload: Any) -> dict[str, Any]:
    """Return a value type of metadata: a kind and what it wraps."""
    return {kind: {"wrapper": payload}}


TEXT = value("primitive", typeIdentifier=0)
NUMBER = value("primitive", typeIdentifier=2)
ENTRY = value("entity", typeName="EntryEntity")
MOOD = value("linkEnumeration", identifier="MoodAppEnum")
FILE = value("intents", typeIdentifier=12)


def parameter(name: str, kind: Any = TEXT, default: Any = None, **more: Any) -> dict[str, Any]:
    """Return a parameter; `default` is a constant as `{"int": 1}`."""
    held: list[Any] = []
    if default is not None:
        (key, constant), *_ = default.items()
        held = ["LNValueTypeSpecificMetadataKeyDefaultValue", {key: {"wrapper": constant}}]
    row = {"name": name, "title": {"key": name.title()}, "isOptional": False, "valueType": kind}
    return {**row, "typeSpecificMetadata": held, "dynamicOptionsSupport": 0, **more}


def action(identifier: str, *parameters: Any, title: str = "", **more: Any) -> dict[str, Any]:
    """Return an action, its protocols under their short names."""
    protocols = [PROTOCOL + one for one in more.pop("protocols", ())]
    row: dict[str, Any] = {
        "identifier": identifier, "fullyQualifiedTypeName": f"Diary.{identifier}",
        "parameters": list(parameters), "outputType": None, "isDiscoverable": True,
        "visibilityMetadata": {"isDiscoverable": True, "assistantOnly": False},
        "openAppWhenRun": False, "supportedModes": 1, "systemProtocols": protocols,
        "availabilityAnnotations": {"LNPlatformNameWildcard": {"introducedVersion": "*"}}, **more,
    }  # fmt: skip
    return {**row, "title": {"key": title}} if title else row


BOUNDS = [
    "LNValueTypeMetadataKeyNumberLowerBound", {"double": {"wrapper": 0}},
    "LNValueTypeMetadataKeyNumberUpperBound", {"double": {"wrapper": 9.5}},
]  # fmt: skip
ACTIONS = (
    action("CreateEntryLinkAction", parameter("body"), outputType=ENTRY,
     protocols=["CreateEntity"]),
    action("DeleteEntriesIntent", parameter("entries", value("array", memberValueType=ENTRY))),
    action("GetEntryIntent", parameter("entry", ENTRY), outputType=TEXT),
    action("OpenEntryIntent", parameter("target", ENTRY), protocols=["OpenEntity"],
     supportedModes=2),
    action("SetMoodAppIntent", parameter("mood", MOOD, {"string": "soSo"}),
     parameter("strength", NUMBER, typeSpecificMetadata=BOUNDS),
     parameter("aloud", value("primitive", typeIdentifier=1), {"int": 1}),
     parameter("since", value("primitive", typeIdentifier=8), isOptional=True),
     parameter("lasting", value("measurement", unitType=7), isOptional=True)),
    action("AttachIntent", parameter("file", FILE), parameter("entry", ENTRY)),
    action("PayIntent", parameter("amount", value("intents", typeIdentifier=14))),
    action("StrangeIntent", parameter("thing", value("hologram", depth=3))),
    action("OddCodeIntent", parameter("thing", value("primitive", typeIdentifier=77))),
    action("DiaryWidget", protocols=["WidgetConfiguration"]),
    action("SiriOnlyIntent", visibilityMetadata={"isDiscoverable": True, "assistantOnly": True}),
    action("InnerIntent", isDiscoverable=False),
    action("PhoneIntent", availabilityAnnotations={"LNPlatformNameIOS": {}}),
)  # fmt: skip
DIARY: dict[str, Any] = {
    "version": 1, "generator": {"name": "xcode-tools", "version": "27.2"},
    "actions": {one["identifier"]: one for one in ACTIONS},
    "entities": {"EntryEntity": {"typeName": "EntryEntity", "displayTypeName": {"key": "Entry"},
      "transient": False,
      "properties": [{"identifier": "title", "title": {"key": "Title"}, "valueType": TEXT},
       {"identifier": "wordCount", "title": {"key": "Words"}, "valueType": NUMBER}]}},
    "enums": [{"identifier": "MoodAppEnum",
      "cases": [{"identifier": "glad"}, {"identifier": "soSo"}]}],
    "queries": {}, "autoShortcuts": [],
}  # fmt: skip


def content(*actions: Mapping[str, Any], **more: Any) -> bytes:
    """Return a file: the diary's, or with only these actions."""
    held = {"actions": {one["identifier"]: one for one in actions}} if actions else {}
    return json.dumps({**DIARY, **held, **more}).encode()


def loaded(raw: bytes, name: str = "Diary", file: str = "extract.actionsdata") -> LoadedDictionary:
    """Return what is read of a file, as the intents of the app `name`."""
    dictionary, found = read_intents([MetadataPart(file, raw)])
    identifier = f"com.example.{name}"
    return LoadedDictionary(
        Source(dictionary, name, identifier, name, "1", "intents"), tuple(found)
    )


# Keys as files have them, so that what is drawn gets past the first look.
_KEYS = st.sampled_from(
    "actions entities enums queries identifier parameters name valueType primitive entity array"
    " wrapper typeIdentifier typeName title key outputType cases isOptional systemProtocols"
    " memberValueType typeSpecificMetadata".split()
)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(HOSTILE)
    | st.text(max_size=8)
)
ANYTHING = st.recursive(
    _LEAVES,
    lambda held: (
        st.lists(held, max_size=3) | st.dictionaries(_KEYS | st.text(max_size=6), held, max_size=4)
    ),
    max_leaves=12,
)
KINDS = st.sampled_from([TEXT, NUMBER, ENTRY, MOOD, FILE]) | ANYTHING


@st.composite
def forged(draw: st.DrawFn) -> bytes:
    """Return a file in which any value may be anything."""
    names = st.sampled_from(["GetIntent", "a", "_", "class", "x.y-z"]) | st.sampled_from(HOSTILE)

    def one() -> dict[str, Any]:
        rows = [parameter(draw(names), draw(KINDS)) for _ in range(draw(st.integers(0, 2)))]
        row = action(draw(names), *rows, title=draw(names), outputType=draw(KINDS | st.none()))
        return {**row, **draw(st.dictionaries(st.sampled_from(sorted(row)), ANYTHING, max_size=2))}

    actions = {draw(names): one() for _ in range(draw(st.integers(0, 3)))}
    whole = {**DIARY, "actions": actions}
    whole |= draw(st.dictionaries(st.sampled_from(sorted(DIARY)), ANYTHING, max_size=1))
    return json.dumps(whole).encode("utf-8", "replace")
