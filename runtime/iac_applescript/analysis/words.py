"""Words of both languages, as data: what can do harm, and what only joins, names and reckons.

A row matches wherever its words stand one after another outside texts and comments, in any case
and spacing. Sources: the dictionaries of Standard Additions, System Events and Terminal; the
AppleScript Language Guide; JavaScript for Automation Release Notes (10.10, 10.11).

Source: AppleScript Language Guide, "Keywords", "Class Reference", "Operators Reference",
"Control Statements Reference". What can run code or leave the script is in `danger_rows`.

Sources: ECMA-262, "Global Object", "Indexed Collections", "Text Processing"; JavaScript for
Automation Release Notes 10.10 and 10.11. What is not here and in no dictionary is not understood.
"""

from collections.abc import Mapping
from typing import Final

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

PHRASES: Final[Mapping[str, str]] = {
    "do shell script": _SHELL,
    "do script": _SHELL,
    "run unix script": _SHELL,
    "administrator privileges": "asks for administrator rights",
    "run script": _CODE,
    "load script": _CODE,
    "store script": "writes a script that can run later",
    "run shortcut": _CODE,
    "run workflow": _CODE,
    "run automator workflow": _CODE,
    "run vb macro": _CODE,
    "do javascript": _CODE,
    "do applescript": _CODE,
    "do objc": _OBJC,
    "execute javascript": _CODE,
    "evaluate javascript": _CODE,
    "scripting component": _CODE,
    "use framework": _OBJC,
    "use script": _CODE,
    "current application s": _OBJC,
    "property parent": "takes its words from something else",
    "prop parent": "takes its words from something else",
    "using terms from": "reads words by another app's dictionary",
    "open location": _URL,
    "open untrusted": _URL,
    "mailto": _URL,
    "mount volume": "mounts a server",
    "open for access": _FILE,
    "write permission": _FILE,
    "set eof": _FILE,
    "get eof": _FILE,
    "close access": _FILE,
    "hidden answer": "asks for a password in a dialog of its own",
    "keystroke": _KEYS,
    "key code": _KEYS,
    "key down": _KEYS,
    "key up": _KEYS,
    "perform action": _KEYS,
    "of machine": _REMOTE,
    "choose remote application": _REMOTE,
    "handle cgi request": _REMOTE,
    "attach action": _LASTING,
    "edit action": _LASTING,
    "do folder action": _CODE,
    "remove action": _LASTING,
    "adding folder items": _LASTING,
    "removing folder items": _LASTING,
    "opening folder": _LASTING,
    "closing folder window": _LASTING,
    "moving folder window": _LASTING,
    "empty trash": "cannot be taken back",
    "empty the trash": "cannot be taken back",
    "shut down": _POWER,
    "log out": _POWER,
    "fast user switch": _POWER,
    "restart": _POWER,
    "send": _OUT,
    "email contents": _OUT,
    "saving to": _FILE,
    "saving in": _FILE,
    "saving no": "throws away what is not saved",
    "without saving": "throws away what is not saved",
    "with replacing": "replaces what is there",
    "replacing true": "replaces what is there",
    "default application": "changes which app opens a file",
    "transaction": "takes the app for itself",
}
"""AppleScript: words in a row -> why."""

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

HARMFUL_NAMES: Final[Mapping[str, str]] = {
    "ObjC": _OBJC,
    "$": _OBJC,
    "Ref": _OBJC,
    "Library": _CODE,
    "eval": _CODE,
    "Function": _CODE,
    "GeneratorFunction": _CODE,
    "AsyncFunction": _CODE,
    "Reflect": _CODE,
    "Proxy": _CODE,
    "globalThis": _CODE,
    "self": _CODE,
    "window": _CODE,
    "import": _CODE,
    "require": _CODE,
    "with": _CODE,
    "setTimeout": _CODE,
    "setInterval": _CODE,
    "arguments": _CODE,
    "await": _PAUSES,
    "yield": _PAUSES,
}
"""JavaScript: names -> why."""

HARMFUL_MEMBERS: Final[Mapping[str, str]] = {
    "doShellScript": _SHELL,
    "doScript": _SHELL,
    "administratorPrivileges": "asks for administrator rights",
    "runScript": _CODE,
    "loadScript": _CODE,
    "storeScript": "writes a script that can run later",
    "runShortcut": _CODE,
    "doJavaScript": _CODE,
    "doJavascript": _CODE,
    "evaluateJavascript": _CODE,
    "execute": _CODE,
    "openLocation": _URL,
    "mountVolume": "mounts a server",
    "openForAccess": _FILE,
    "closeAccess": _FILE,
    "setEof": _FILE,
    "getEof": _FILE,
    "write": _FILE,
    "read": _FILE,
    "hiddenAnswer": "asks for a password in a dialog of its own",
    "keystroke": _KEYS,
    "keyCode": _KEYS,
    "keyDown": _KEYS,
    "keyUp": _KEYS,
    "click": _KEYS,
    "perform": _KEYS,
    "chooseRemoteApplication": _REMOTE,
    "attachActionTo": _LASTING,
    "shutDown": _POWER,
    "restart": _POWER,
    "logOut": _POWER,
    "send": _OUT,
    "savingTo": _FILE,
    "savingIn": _FILE,
    "constructor": _CODE,
    "prototype": _CODE,
    "__proto__": _CODE,
    "__defineGetter__": _CODE,
    "__defineSetter__": _CODE,
    "__lookupGetter__": _CODE,
    "apply": _CODE,
    "bind": _CODE,
    "call": _CODE,
    "caller": _CODE,
    "callee": _CODE,
}
"""Members that are never read as harmless, whatever they belong to."""

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


KNOWN_GLOBALS: Final = frozenset(
    "Application Array Automation Boolean Date Error Infinity JSON Map Math NaN Number Object"
    " ObjectSpecifier Path Progress RangeError RegExp Set String SyntaxError TypeError console"
    " decodeURI decodeURIComponent delay encodeURI encodeURIComponent isFinite isNaN of parseFloat"
    " parseInt".split()
)

KNOWN_MEMBERS: Final = frozenset(
    # Arrays, texts, numbers.
    "abs add at ceil charAt charCodeAt clear codePointAt concat copyWithin cos endsWith"
    " entries every"
    " exp fill filter find findIndex findLast findLastIndex flat flatMap floor forEach"
    " fromCharCode"
    " from has hypot includes indexOf isArray isFinite isInteger isNaN isSafeInteger join keys"
    " lastIndexOf length localeCompare log log10 log2 map match matchAll max min"
    " normalize of padEnd"
    " padStart pop pow push random reduce reduceRight repeat replace replaceAll reverse"
    " round search"
    " shift sign sin size slice some sort splice split sqrt startsWith substr substring tan test"
    " toFixed toLocaleDateString toLocaleLowerCase toLocaleString toLocaleTimeString"
    " toLocaleUpperCase toLowerCase toPrecision toString toUpperCase trim trimEnd trimStart trunc"
    " unshift values valueOf exec index input groups lastIndex source flags PI E"
    # JSON, Object, Date, Error.
    " parse stringify fromEntries getDate getDay getFullYear getHours getMilliseconds getMinutes"
    " getMonth getSeconds getTime getTimezoneOffset getUTCDate getUTCDay getUTCFullYear"
    " getUTCHours"
    " getUTCMinutes getUTCMonth getUTCSeconds now setDate setFullYear setHours setMilliseconds"
    " setMinutes setMonth setSeconds setTime toDateString toISOString toJSON toTimeString"
    " toUTCString message name stack errorNumber freeze"
    # Specifiers and the bridge.
    " byId byName whose where first last beginning end before after get set exists class id"
    " properties running frontmost version includeStandardAdditions currentApplication"
    " getDisplayString strictPropertyScope strictCommandScope strictParameterType totalUnitCount"
    " completedUnitCount description additionalDescription hasInstance classOf"
    " _equals _contains _beginsWith _endsWith _greaterThan _greaterThanEquals _lessThan"
    " _lessThanEquals _match _and _or _not".split()
)
"""`values` and `entries` are judged with what they are asked of: not of `Object`."""
