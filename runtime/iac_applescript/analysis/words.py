"""Words of both languages: what can do harm (harm.toml), and what joins, names and reckons.

Sources: AppleScript Language Guide, "Keywords", "Class Reference", "Operators Reference", "Control
Statements Reference"; JavaScript for Automation Release Notes (10.10, 10.11); ECMA-262, "Global
Object", "Indexed Collections", "Text Processing". What is in no table and in no dictionary is not
understood.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from iac_runtime.policy.blocklist import BUILT_IN, FIXED
from iac_runtime.tool import Level


def _entries(text: str) -> list[str]:
    return [entry for line in text.splitlines() for entry in line.split(" | ")]


def _by_word(rows: Mapping[Level, str]) -> dict[str, Level]:
    return {word: level for level, words in rows.items() for word in _entries(words)}


def _lines(text: str) -> frozenset[str]:
    return frozenset(_entries(text))


def _as_member(term: str) -> str:
    first, *rest = term.split()
    return first + "".join(map(str.capitalize, rest))


_TABLES: Final = tomllib.loads(Path(__file__).with_name("harm.toml").read_text("utf-8"))
_HARM: Final = _TABLES["harm"]
_COLUMNS: Final = {
    "says",
    "beyond",
    "lets",
    "runs",
    "told",
    "terms",
    "judged",
    "phrases",
    "members",
    "names",
    "texts",
}

if any(row.keys() - _COLUMNS for row in _HARM):
    raise ValueError("harm.toml has a key that nothing reads")


def _why(column: str) -> dict[str, str]:
    """Return the words of a column of harm.toml -> why they matter."""
    return {word: row["says"] for row in _HARM for word in row.get(column, ())}


PHRASES: Final[Mapping[str, str]] = _why("terms") | _why("phrases")
"""AppleScript: words in a row -> why."""

HARMFUL_MEMBERS: Final[Mapping[str, str]] = _why("members") | {
    _as_member(term): why for term, why in (_why("terms") | _why("judged")).items()
}
"""JavaScript: members that are never read as harmless, whatever they belong to -> why."""

JUDGED: Final = _why("judged")
"""AppleScript: words in a row that are judged by what they are given -> why they may matter."""

HARMFUL_NAMES: Final[Mapping[str, str]] = _why("names")
"""JavaScript: names -> why."""

TEXTS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile("|".join(row["texts"]), re.IGNORECASE), row["says"])
    for row in _HARM
    if "texts" in row
)
"""Texts that matter where a statement does more than read: pattern -> why."""


def _flagged(column: str) -> frozenset[str]:
    return frozenset(row["says"] for row in _HARM if row.get(column))


BEYOND: Final = _flagged("beyond")
"""Reasons that name what a confined script cannot do."""

LETS: Final[Mapping[str, str]] = {row["says"]: row["lets"] for row in _HARM if "lets" in row}
"""Reasons of those for which a confined script is given a line of its profile."""

RUNS: Final = _flagged("runs")
"""Reasons that name code which runs."""

TOLD: Final = _flagged("told")
"""Reasons that name what is done to the app that is told, and to no other."""

PROMPTS: Final = (
    r"(?i)pass\s*-?(?:word|code|phrase)|kennwort|passwort|mot de passe|contrase|\bpin\b"
    r"|apple\s*id|credential|admin(?:istrator)?\s+(?:name|account)|credit\s*card|one.time\s+code"
)
"""What a dialog with a field for an answer says when it is after a secret."""

FRAMEWORKS: Final = frozenset(_TABLES["bridge"]["frameworks"])
"""Libraries of Objective-C that a script may load to look at something."""

BRIDGE_READS: Final = frozenset(_TABLES["bridge"]["reads"])
"""Names behind `$` and `ObjC` that look, whatever they are asked of."""

BRIDGE_SETS: Final = frozenset(_TABLES["bridge"]["sets"])

LEADS: Final = _lines(
    "path | posix path | file path | filepath | properties | original item | name extension"
    " | creator type | file type"
)
"""Properties that say what something leads to, or which app opens it; as AppleScript has them."""

HANDED_ON: Final = frozenset(HARMFUL_NAMES) - {"import", "self", "window", "with"}
"""Names that a pattern may take out of an object; the rest of the rows are common fields."""

UNSEEN: Final = frozenset(
    name.casefold() for name in (*FIXED.values(), *BUILT_IN.values())
) | _lines(
    "system preferences | loginwindow | coreservicesuiagent | usernotificationcenter"
    " | authorizationhost | coreautha | localauthenticationremoteservice | screensaverengine"
    " | securityprivacyextension | tccd | universalaccessauthwarn"
)
"""Processes that nobody scripts: they ask for consent or hold secrets."""

KEYWORDS: Final = _lines("""\
a | about | above | after | against | and | apart from | around | as | aside from | at | before
behind | below | beneath | beside | between | but | by | considering | contain | contains
continue | div | does | does not come after | does not come before | does not contain
does not equal | is not contained by | doesn't | eighth | else | end | equal | equals | error
every | exit | fifth | first | for | fourth | from | front | given | global | greater than
if | ignoring | in | instead of | into | is | is contained by | is equal to | is greater than
is greater than or equal to | is in | is less than | is less than or equal to | is not
is not equal to | is not in | it | its | last | less than | local | me | middle | mod | my
ninth | not | of | on | onto | or | or equal to | out of | over | prop | property | repeat
return | returning | second | seventh | since | sixth | some | tell | tenth | that | the | then
third | through | thru | timeout | times | to | transaction | try | until | where | while | whose
with | without | back | beginning | starts with | begins with | ends with | start with
begin with | comes before | comes after | comes | greater | less | than | named
index | before | following | preceding | ref | a reference to | reference to | reference
partial result | number | result | with timeout of | script | app | application | application id
current application | application responses | case | diacriticals | hyphens | numeric strings
punctuation | white space | and | use | scripting additions | version | run | idle | open | quit
end tell | end if | end repeat | end try | st | nd | rd | th""")
"""Words that join others; none of them does anything by itself."""

WEAK: Final = frozenset(("a", "index", "nd", "rd", "ref", "st", "th"))
"""Keywords that are a variable's name where the script declares it."""

COMMANDS: Final[Mapping[str, Level]] = _by_word(
    {
        "SAFE": (
            "activate | copy | count | exists | exist | get | log | make | "
            "set | start log | stop log"
        ),
        "MODIFY": "close | duplicate | launch | move | open | print | reopen | run | save",
        "DANGEROUS": "delete | quit",
    }
)
"""Commands that every app is sent; `set`, `copy` and `make` are judged by what they are given."""

TERMS: Final = _lines(
    """\
AppleScript | alias | anything | boolean | bounds | character | characters | class | constant
contents | data | date | date string | day | days | file | folder | frontmost | handler | hours
id | integer | item | items | key | length | list | list or record | location | minutes | month
name | number or string | numbers | object specifier | paragraph | paragraphs | pi
POSIX file | POSIX path | properties | quoted form | real | record | rest | reverse
RGB color | running | seconds | short date string | string | strings | text | text item
text item delimiters | text items | progress total steps | progress completed steps
progress description | progress additional description | time | time string | Unicode text
url | weekday | weeks
window | windows | word | words | year | centimeters | metres | feet | inches | kilometers
meters | miles | grams | kilograms | pounds | degrees celsius | degrees fahrenheit
document | documents | new | properties | data | process serial number""".casefold()
)
"""Classes and properties of values, and those that nearly every app has."""

CONSTANTS: Final = _lines("""\
true | false | missing value | null | quote | return | linefeed | space | tab | yes | no | ask
january | february | march | april | may | june | july | august | september | october
november | december | jan | feb | mar | apr | jun | jul | aug | sep | oct | nov | dec
monday | tuesday | wednesday | thursday | friday | saturday | sunday | mon | tue | wed | thu
fri | sat | sun""")

STARTS: Final = frozenset(("considering", "ignoring", "on", "repeat", "script", "tell", "try"))
"""First words of statements that last until `end`; `if`, `to` and `with` need a closer look."""

KNOWN_GLOBALS: Final = frozenset(
    """
    Application Array Automation Boolean Date Error Infinity JSON Map Math NaN Number Object
    ObjectSpecifier Path Progress RangeError RegExp Set String SyntaxError TypeError console
    decodeURI decodeURIComponent delay encodeURI encodeURIComponent isFinite isNaN of parseFloat
    parseInt
    """.split()
)

KNOWN_MEMBERS: Final = frozenset(
    # Arrays, texts, numbers; JSON, Object, Date, Error; specifiers and the bridge.
    """
    abs add at ceil charAt charCodeAt clear codePointAt concat copyWithin cos endsWith entries
    every exp fill filter find findIndex findLast findLastIndex flat flatMap floor forEach
    fromCharCode from has hypot includes indexOf isArray isFinite isInteger isNaN isSafeInteger
    join keys lastIndexOf length localeCompare log log10 log2 map match matchAll max min
    normalize of padEnd padStart pop pow push random reduce reduceRight repeat replace
    replaceAll reverse round search shift sign sin size slice some sort splice split sqrt
    startsWith substr substring tan test toFixed toLocaleDateString toLocaleLowerCase
    toLocaleString toLocaleTimeString toLocaleUpperCase toLowerCase toPrecision toString
    toUpperCase trim trimEnd trimStart trunc unshift values valueOf exec index input groups
    lastIndex source flags PI E
    parse stringify fromEntries getDate getDay getFullYear getHours getMilliseconds getMinutes
    getMonth getSeconds getTime getTimezoneOffset getUTCDate getUTCDay getUTCFullYear
    getUTCHours getUTCMinutes getUTCMonth getUTCSeconds now setDate setFullYear setHours
    setMilliseconds setMinutes setMonth setSeconds setTime toDateString toISOString toJSON
    toTimeString toUTCString message name stack errorNumber freeze
    byId byName whose where first last beginning end before after get set exists class id
    properties running frontmost version includeStandardAdditions currentApplication
    getDisplayString strictPropertyScope strictCommandScope strictParameterType totalUnitCount
    completedUnitCount description additionalDescription hasInstance classOf _equals _contains
    _beginsWith _endsWith _greaterThan _greaterThanEquals _lessThan _lessThanEquals _match _and
    _or _not
    """.split()
)
"""`values` and `entries` are judged with what they are asked of: not of `Object`."""

CONTAINERS: Final[Mapping[str, frozenset[str]]] = {
    use: frozenset(names.split()) for use, names in _TABLES["containers"].items()
}
"""What methods of arrays, maps, texts and built-in objects do with what they hold."""

CONTAINER_CALLS: Final = frozenset().union(*CONTAINERS.values())

NUMBER_MEMBERS: Final = frozenset(
    "length size indexOf lastIndexOf findIndex findLastIndex charCodeAt codePointAt floor round"
    " ceil abs trunc random sqrt pow min max".split()
)
"""Members that are numbers wherever the language has them."""
