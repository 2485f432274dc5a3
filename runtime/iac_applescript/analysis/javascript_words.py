"""Names of JavaScript and of its bridge to apps that only compute, as data.

Sources: ECMA-262, "Global Object", "Indexed Collections", "Text Processing"; JavaScript for
Automation Release Notes 10.10 and 10.11. What is not here and in no dictionary is not understood.
"""

from typing import Final

__all__ = ["GLOBALS", "MEMBERS"]

GLOBALS: Final = frozenset(
    "Application Array Automation Boolean Date Error Infinity JSON Map Math NaN Number Object"
    " ObjectSpecifier Path Progress RangeError RegExp Set String SyntaxError TypeError console"
    " decodeURI decodeURIComponent delay encodeURI encodeURIComponent isFinite isNaN of parseFloat"
    " parseInt".split()
)

MEMBERS: Final = frozenset(
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
