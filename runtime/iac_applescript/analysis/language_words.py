"""Words of the AppleScript language itself, as data.

Source: AppleScript Language Guide, "Keywords", "Class Reference", "Operators Reference",
"Control Statements Reference". What can run code or leave the script is in `danger_rows`.
"""

from collections.abc import Mapping
from typing import Final

from iac_runtime.tool import Level

__all__ = ["COMMANDS", "CONSTANTS", "KEYWORDS", "STARTS", "TERMS", "WEAK"]


def _lines(text: str) -> frozenset[str]:
    return frozenset(entry for line in text.splitlines() for entry in line.split(" | "))


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
end with | begin with | comes before | comes after | comes | greater | less | than | named
index | before | following | preceding | ref | a reference to | reference to | reference
partial result | number | result | with timeout of | script | app | application | application id
current application | application responses | case | diacriticals | hyphens | numeric strings
punctuation | white space | and | use | scripting additions | version | run | idle | open | quit
end tell | end if | end repeat | end try | st | nd | rd | th""")
"""Words that join others; none of them does anything by itself."""

WEAK: Final = frozenset(("a", "index", "nd", "rd", "ref", "st", "th"))
"""Keywords that are a variable's name where the script declares it."""

COMMANDS: Final[Mapping[str, Level]] = {
    "activate": "SAFE",
    "close": "MODIFY",
    "copy": "SAFE",
    "count": "SAFE",
    "delete": "DANGEROUS",
    "duplicate": "MODIFY",
    "exists": "SAFE",
    "exist": "SAFE",
    "get": "SAFE",
    "launch": "MODIFY",
    "log": "SAFE",
    "make": "SAFE",
    "move": "MODIFY",
    "open": "MODIFY",
    "print": "MODIFY",
    "quit": "DANGEROUS",
    "reopen": "MODIFY",
    "run": "MODIFY",
    "save": "MODIFY",
    "set": "SAFE",
    "start log": "SAFE",
    "stop log": "SAFE",
}
"""Commands that every app is sent; `set`, `copy` and `make` are judged by what they are given."""

TERMS: Final = _lines(
    """\
AppleScript | alias | anything | boolean | bounds | character | characters | class | constant
contents | data | date | date string | day | days | file | folder | frontmost | handler | hours
id | integer | item | items | key | length | list | list or record | location | minutes | month
name | number or string | numbers | object specifier | paragraph | paragraphs | pi
POSIX file | POSIX path | properties | quoted form | real | record | rest | reverse
RGB color | running | seconds | short date string | string | strings | text | text item
text item delimiters | text items | time | time string | Unicode text | url | weekday | weeks
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
