"""Words of both languages, as data: what can do harm, and what only joins, names and reckons.

Sources: the dictionaries of Standard Additions, System Events and Terminal; the AppleScript
Language Guide, "Keywords", "Class Reference", "Operators Reference", "Control Statements
Reference"; JavaScript for Automation Release Notes (10.10, 10.11); ECMA-262, "Global Object",
"Indexed Collections", "Text Processing". What is not here and in no dictionary is not understood.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

from iac_runtime.policy.blocklist import BUILT_IN, FIXED
from iac_runtime.tool import Level

__all__ = [
    "BEYOND",
    "COMMANDS",
    "CONSTANTS",
    "HANDED_ON",
    "HARMFUL_MEMBERS",
    "HARMFUL_NAMES",
    "KEYWORDS",
    "KNOWN_GLOBALS",
    "KNOWN_MEMBERS",
    "LEADS",
    "PHRASES",
    "PROMPTS",
    "STARTS",
    "TERMS",
    "TEXTS",
    "UNSEEN",
    "WEAK",
]

Said = TypeVar("Said", bound=str)


def _entries(text: str) -> list[str]:
    return [entry for line in text.splitlines() for entry in line.split(" | ")]


def _by_word(rows: Mapping[Said, str]) -> dict[str, Said]:
    """Return word -> what is said of it, from what is said -> words."""
    return {word: says for says, words in rows.items() for word in _entries(words)}


def _lines(text: str) -> frozenset[str]:
    return frozenset(_entries(text))


def _as_member(term: str) -> str:
    first, *rest = term.split()
    return first + "".join(map(str.capitalize, rest))


_SHELL: Final = "runs a command of the shell"
_CODE: Final = "runs code that is not in this script"
_OBJC: Final = "reaches Objective-C, which can do anything"
_KEYS: Final = "types or clicks as if the user did"
_FILE: Final = "reads or writes files directly"
_URL: Final = "opens an address with whatever app claims it"
_OUT: Final = "sends something to other people"
_POWER: Final = "ends the session or the machine's work"
_REMOTE: Final = "talks to another computer"
_PAUSES: Final = "goes on at another time, which this reading does not follow"
_LASTING: Final = "leaves something that runs later"

_TERMS_OF_HARM: Final = _by_word(
    {
        _SHELL: "do shell script | do script",
        "asks for administrator rights": "administrator privileges",
        _CODE: "run script | load script | run shortcut | do javascript | evaluate javascript",
        "writes a script that can run later": "store script",
        _URL: "open location",
        "mounts a server": "mount volume",
        _FILE: "open for access | set eof | get eof | close access | saving to | saving in",
        "asks for a password in a dialog of its own": "hidden answer",
        _KEYS: "keystroke | key code | key down | key up",
        _REMOTE: "choose remote application",
        _POWER: "shut down | log out | restart",
        _OUT: "send",
    }
)
"""Commands and parameters of dictionaries, as AppleScript has them -> why."""

PHRASES: Final[Mapping[str, str]] = _TERMS_OF_HARM | _by_word(
    {
        _SHELL: "run unix script",
        _CODE: (
            "run workflow | run automator workflow | run vb macro | do applescript | "
            "execute javascript | scripting component | use script | do folder action"
        ),
        _OBJC: "do objc | use framework | current application s",
        "takes its words from something else": "property parent | prop parent",
        "reads words by another app's dictionary": "using terms from",
        _URL: "open untrusted | mailto",
        _FILE: "write permission",
        _KEYS: "perform action",
        _REMOTE: "of machine | handle cgi request",
        _LASTING: (
            "attach action | edit action | remove action | adding folder items | "
            "removing folder items | opening folder | closing folder window | "
            "moving folder window"
        ),
        "cannot be taken back": "empty trash | empty the trash",
        _POWER: "fast user switch",
        _OUT: "email contents",
        "throws away what is not saved": "saving no | without saving",
        "replaces what is there": "with replacing | replacing true",
        "changes which app opens a file": "default application",
        "takes the app for itself": "transaction",
    }
)
"""AppleScript: words in a row -> why.

They count wherever they stand one after another outside texts and comments, in any case and
spacing."""

HARMFUL_MEMBERS: Final[Mapping[str, str]] = {
    **{_as_member(term): why for term, why in _TERMS_OF_HARM.items()},
    **_by_word(
        {
            _CODE: (
                "doJavaScript | execute | constructor | prototype | __proto__ | "
                "__defineGetter__ | __defineSetter__ | __lookupGetter__ | apply | bind | call | "
                "caller | callee"
            ),
            _FILE: "write | read",
            _KEYS: "click | perform",
            _LASTING: "attachActionTo",
        }
    ),
}
"""JavaScript: members that are never read as harmless, whatever they belong to -> why."""

HARMFUL_NAMES: Final[Mapping[str, str]] = _by_word(
    {
        _OBJC: "ObjC | $ | Ref",
        _CODE: (
            "Library | eval | Function | GeneratorFunction | AsyncFunction | Reflect | Proxy | "
            "globalThis | self | window | import | require | with | setTimeout | setInterval | "
            "arguments"
        ),
        _PAUSES: "await | yield",
    }
)
"""JavaScript: names -> why."""

TEXTS: Final[tuple[tuple[str, str], ...]] = (
    (
        r"(?i)^\s*(?:javascript|data|vbscript|file|smb|afp|ftp|ssh|sftp|vnc|telnet|nfs|cifs)\s*:",
        _URL,
    ),
    (r"(?i)^\s*(?!https?:|x-coredata:|message:|x-apple-reminder:)[a-z][a-z0-9+.-]{1,30}://", _URL),
    (r"(?i)^\s*(?:tel|facetime|sms|imessage|mailto|shortcuts|x-apple[a-z.-]*|itms[a-z-]*):", _URL),
    (r"(?i)^\s*eppc:", _REMOTE),
    (
        r"(?i)\.(?:command|tool|sh|zsh|bash|csh|py|rb|pl|app|workflow|action|scpt|scptd|applescript"
        r"|osax|terminal|pkg|mpkg|dmg|iso|mobileconfig|fileloc|inetloc|webloc|url|jar|plist|kext"
        r"|prefpane|saver|qlgenerator|service|shortcut|term|dylib|bundle|plugin|appex|xpc)/?:?\s*$",
        "names a file that can run or changes settings",
    ),
    (
        r"(?i)launchagents|launchdaemons|startupitems|login ?items|folder action ?scripts"
        r"|script libraries|scriptingadditions|application scripts|internet plug-?ins"
        r"|library[:/]+(?:scripts|services|preferences|keychains|cookies|safari|mail)\b"
        r"|(?:^|[:/])\.(?:ssh|zshrc|zshenv|zprofile|bashrc|bash_profile|profile|git|mcp|aws"
        r"|gnupg|netrc|npmrc|config|env|claude|vimrc)|crontab|authorized_keys|id_rsa|id_ed25519"
        r"|(?:^|[:/])etc[:/]|usr[:/]+(?:local[:/]+)?bin|\.keychain",
        "names a place where things run by themselves or secrets lie",
    ),
)
"""Texts that matter where a statement does more than read: pattern -> why."""

PROMPTS: Final = (
    r"(?i)pass\s*-?(?:word|code|phrase)|kennwort|passwort|mot de passe|contrase|\bpin\b"
    r"|apple\s*id|credential|admin(?:istrator)?\s+(?:name|account)|credit\s*card|one.time\s+code"
)
"""What a dialog with a field for an answer says when it is after a secret."""

LEADS: Final = frozenset(
    (
        *("path", "posix path", "file path", "filepath", "properties", "original item"),
        *("name extension", "creator type", "file type"),
    )
)
"""Properties that say what something leads to, or which app opens it; as AppleScript has them."""

HANDED_ON: Final = frozenset(HARMFUL_NAMES) - {"import", "self", "window", "with"}
"""Names that a pattern may take out of an object; the rest of the rows are common fields."""

BEYOND: Final = frozenset((_SHELL, _FILE, _URL, _REMOTE))
"""Reasons that name what a confined script cannot do: it would fail though it was allowed.

Code that is not seen, and Objective-C, stay confined: they need no more than the script does."""

UNSEEN: Final = frozenset(name.casefold() for name in (*FIXED.values(), *BUILT_IN.values())) | {
    "system preferences",
    "loginwindow",
    "coreservicesuiagent",
    "usernotificationcenter",
    "authorizationhost",
    "coreautha",
    "localauthenticationremoteservice",
    "screensaverengine",
    "securityprivacyextension",
    "tccd",
    "universalaccessauthwarn",
}
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
end with | begin with | comes before | comes after | comes | greater | less | than | named
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
