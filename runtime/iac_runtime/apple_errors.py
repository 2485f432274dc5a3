"""The numbers of Apple events' errors: what each means, and what every part of us does with it.

Numbers and constants: AppleScript Language Guide, error tables B-1 to B-4; MacErrors.h; what is
seen of JXA in public reports. The number decides, because words are in the language of the system.
A new number is a row here and nothing else.
"""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from iac_base.errors import ErrorType

__all__ = ["APPLE_ERRORS", "APP_ERROR", "APP_GONE", "UNLOADED", "Again", "AppleError", "Retry"]

Again = Literal["never", "read", "always"]
"""Whether a caller may send the same call again without harm: never, if it only reads, or any."""

Retry = Literal["never", "read", "launch"]
"""Whether the runner itself may send the event again, once: a read as it is; or, with `launch`,
a read or a change that did not reach the app, right after the app was launched for it."""


class AppleError(NamedTuple):
    """What a number means.

    Attributes:
        type, message, suggestion: For whoever called. `{app}` stands for the app's name, `{reason}`
            for its own words, `{process}` for the program that macOS asks about.
        retryable, retry: Whether the caller, or the runner itself, may send it again.
        harness: What the harness does when it meets the number on the way: `stop` ends the request
            at once, `unfiltered` reads a filtered list whole and filters it itself.
        constant: Apple's name of it.
        cause: The cause by which a failed script is explained (`iac_applescript.failures`).
        said: What macOS says, in Apple's words (JXA's where seen).
        german: The same in another language than English, in our words: texts change with the
            user's language, numbers do not.
    """

    type: ErrorType
    message: str
    suggestion: str
    retryable: Again = "never"
    retry: Retry = "never"
    harness: Literal["", "stop", "unfiltered"] = ""
    constant: str = ""
    cause: str = ""
    said: str = "An error occurred."
    german: str = "Ein Fehler ist aufgetreten."


_PANE: Final = "System Settings > Privacy & Security"
_AUTOMATION: Final = f"{_PANE} > Automation: switch on {{app}} under {{process}}, then call again."
_ASSISTIVE: Final = (
    f"Allow it under {_PANE} > Accessibility: switch on {{process}}, then call again."
)
_LOOK: Final = "List again and use a reference that the answer gives."
_VALUES: Final = "Check the types of the arguments; a file is an absolute path, a date is ISO 8601."
_OTHER: Final = "Try another object or property."
_REASON: Final = "Check the values; the app gives no reason."
_LAUNCH: Final = "Launch it with app_launch, then call again."
_HEALTH: Final = "Quit the app and open it again, then look whether it was done."

APP_GONE: Final = AppleError(
    "APP_NOT_FOUND",
    "{app} could not be found.",
    "Is it installed? If so, open it once by hand, then call again.",
    said="Application can't be found.",
    german="Das Programm wurde nicht gefunden.",
)
UNLOADED: Final = AppleError(
    "NOT_SUPPORTED",
    "The dictionary of {app} could not be loaded.",
    "Check that the app opens and that it is the version the tools were built for.",
)
APP_ERROR: Final = AppleError("EXECUTION_ERROR", "{app} failed: {reason}.", "")
"""What has no number, or one of the app's own."""

_CANNOT_FILTER: Final = AppleError(
    "NOT_SUPPORTED",
    "{app} cannot make this comparison.",
    "Filter by another property, or list without a filter.",
    harness="unfiltered",
    cause="cannot_filter",
)
_DIALOG: Final = AppleError(
    "BUSY",
    "{app} needs a person to answer a dialog.",
    "Answer it in the app, then call again.",
    cause="no_interaction",
    said="No user interaction allowed.",
    german="Keine Rückfrage erlaubt.",
)
_MISSING: Final = AppleError(
    "INVALID_PARAMETER",
    "{app} misses a parameter.",
    "Give the optional ones too.",
    cause="missing_parameter",
)
_VALUE: Final = AppleError(
    "INVALID_PARAMETER", "{app} could not use a value.", _VALUES, cause="wrong_type"
)
_MALFORMED: Final = AppleError("EXECUTION_ERROR", "The exchange with {app} was malformed.", _HEALTH)
_UNREACHED: Final = AppleError(
    "EXECUTION_ERROR",
    "{app} could not be launched or reached.",
    "Open it by hand, then call again.",
)
_REMOTE: Final = AppleError(
    "EXECUTION_ERROR",
    "{app} could not be reached on the other computer.",
    "Check Remote Apple Events.",
    cause="remote",
)
_SCRIPT: Final = AppleError(
    "EXECUTION_ERROR", "The script for {app} could not be compiled or run.", "Check the script."
)


def _rows(numbers: Iterable[int], row: AppleError) -> dict[int, AppleError]:
    return dict.fromkeys(numbers, row)


APPLE_ERRORS: Final[dict[int, AppleError]] = {
    # Some apps (Finder: move, duplicate) answer 0 with words after they did what was asked.
    0: AppleError("UNKNOWN", "{app} answered with words but no error.",
        "Look whether it was done."),
    # Files and memory.
    -34: AppleError("EXECUTION_ERROR", "{app}: the disk is full.",
        "Free some space, then call again.", constant="dskFulErr", cause="disk_full",
        said="Disk is full.", german="Das Volume ist voll."),
    -35: AppleError("NOT_FOUND", "{app} did not find the disk.", "Check the path; list the disks.",
        constant="nsvErr", cause="file_not_found", said="Disk wasn't found.",
        german="Das Volume fehlt."),
    -37: AppleError("INVALID_PARAMETER", "{app}: this is no name for a file.", "Give another name.",
        constant="bdNamErr", cause="file_not_found", said="Bad name for file.",
        german="Dieser Dateiname geht nicht."),
    -39: AppleError("EXECUTION_ERROR", "{app} met the end of the file.", "Check the file.",
        constant="eofErr", cause="end_of_file", said="End of file error.",
        german="Ende der Datei."),
    -43: AppleError("NOT_FOUND", "{app} did not find the file.", "Check the path.",
        constant="fnfErr", cause="file_not_found", said="File wasn't found.",
        german="Die Datei fehlt."),
    -48: AppleError("INVALID_PARAMETER", "{app}: a file of this name is there already.",
        "Give another name.", constant="dupFNErr", cause="file_exists", said="Duplicate file name.",
        german="Den Dateinamen gibt es schon."),
    -49: AppleError("BUSY", "{app}: the file is open already.",
        "Close it where it is open, then call again.", constant="opWrErr", cause="busy",
        said="File is already open.", german="Die Datei ist schon offen."),
    -50: _VALUE._replace(constant="paramErr", said="Parameter error.",
        german="Falscher Parameter."),
    -54: AppleError("PERMISSION_DENIED", "{app} may not open this file.",
        f"Check its rights; for a protected folder see {_PANE} > Files and Folders.",
        constant="permErr", cause="no_privilege", said="File permission error.",
        german="Kein Recht an der Datei."),
    -61: AppleError("EXECUTION_ERROR", "{app}: the file is not open for writing.",
        "Check its rights.", constant="wrPermErr", cause="no_privilege",
        said="File not open with write permission.", german="Die Datei ist nur zum Lesen offen."),
    -108: AppleError("EXECUTION_ERROR", "{app} ran out of memory.", "Ask for less at a time.",
        constant="memFullErr", cause="too_deep", said="Out of memory.",
        german="Der Speicher reicht nicht."),
    -120: AppleError("NOT_FOUND", "{app} did not find the folder.", "Check the path.",
        constant="dirNFErr", cause="file_not_found", said="Folder wasn't found.",
        german="Der Ordner fehlt."),
    -128: AppleError("USER_CANCELLED", "{app}: the user cancelled.",
        "Ask the user before you try again.", harness="stop", constant="userCanceledErr",
        cause="cancelled", said="User canceled.", german="Vom Benutzer abgebrochen."),
    -192: AppleError("NOT_SUPPORTED", "{app} has no scripting dictionary.",
        "It cannot be controlled this way.", constant="resNotFound", cause="not_scriptable",
        said="A resource wasn't found.", german="Eine Ressource fehlt."),
    # The connection to an app.
    -600: AppleError("APP_NOT_RUNNING", "{app} is not running.", _LAUNCH, retryable="always",
        retry="launch", harness="stop", constant="procNotFound", cause="app_not_running",
        said="Application isn't running.", german="Das Programm läuft nicht."),
    -601: _UNREACHED._replace(constant="memFragErr", cause="launch_failed"),
    -602: _UNREACHED._replace(constant="appModeErr", cause="launch_failed"),
    -605: _UNREACHED._replace(constant="appMemFullErr", cause="launch_failed"),
    -606: _UNREACHED._replace(constant="appIsDaemon", cause="app_quit"),
    -607: _UNREACHED._replace(constant="bufferIsSmall", cause="app_quit"),
    -608: _UNREACHED._replace(constant="noOutstandingHLE", cause="app_quit"),
    -609: AppleError("APP_NOT_RUNNING", "{app} quit or crashed during the call.",
        "Launch it with app_launch and see what was done, then call again.", retryable="read",
        retry="read", harness="stop", constant="connectionInvalid", cause="app_quit",
        said="Connection is invalid.", german="Die Verbindung ist ungültig."),
    -610: _DIALOG._replace(constant="noUserInteractionAllowed"),
    -904: _REMOTE._replace(constant="noGlobalsErr"),
    -905: _REMOTE._replace(constant="localOnlyErr", cause="app_quit"),
    -906: _REMOTE._replace(constant="destPortErr"),
    -915: _REMOTE._replace(constant="noResponseErr"),
    # Events.
    -1700: _VALUE._replace(harness="unfiltered", constant="errAECoercionFail",
        said="Can't convert types.", german="Der Typ lässt sich nicht umwandeln."),
    -1701: _MISSING._replace(constant="errAEDescNotFound", said="Some parameter is missing.",
        german="Ein Parameter fehlt."),
    -1702: _MALFORMED._replace(constant="errAECorruptData", cause="wrong_type"),
    -1703: _VALUE._replace(constant="errAEWrongDataType", said="Wrong data type.",
        german="Falscher Datentyp."),
    -1704: _VALUE._replace(constant="errAENotAEDesc", said="Some parameter was invalid.",
        german="Ein Parameter ist ungültig."),
    -1705: _VALUE._replace(constant="errAEBadListItem",
        said="Operation involving a list item failed.",
        german="Ein Eintrag der Liste schlug fehl."),
    -1706: _MALFORMED._replace(constant="errAENewerVersion"),
    -1707: _MALFORMED._replace(constant="errAENotAppleEvent"),
    -1708: AppleError("NOT_SUPPORTED", "{app} does not understand this here.",
        "The object may be of another class.", retry="launch", harness="unfiltered",
        constant="errAEEventNotHandled", cause="not_understood", said="Message not understood.",
        german="Die Nachricht wurde nicht verstanden."),
    -1709: _MALFORMED._replace(constant="errAEReplyNotValid"),
    -1710: _MALFORMED._replace(constant="errAEUnknownSendMode"),
    -1711: AppleError("USER_CANCELLED", "{app}: the wait was cancelled.",
        "Look whether it was done, then ask.", constant="errAEWaitCanceled", cause="busy"),
    -1712: AppleError("TIMEOUT", "The command timed out.",
        "Check whether {app} is showing a dialog.", retryable="read", harness="stop",
        constant="errAETimeout", cause="timeout", said="AppleEvent timed out.",
        german="Zeitüberschreitung des Apple-Events."),
    -1713: _DIALOG._replace(constant="errAENoUserInteraction"),
    -1715: _MISSING._replace(constant="errAEParamMissed", said="Required parameter is missing.",
        german="Ein nötiger Parameter fehlt."),
    -1717: AppleError("NOT_SUPPORTED", "{app} has no handler for this.", _OTHER,
        constant="errAEHandlerNotFound", cause="not_understood"),
    -1719: AppleError("NOT_FOUND", "{app} has nothing at this position.", _LOOK,
        constant="errAEIllegalIndex", cause="index_out_of_range", said="Invalid index.",
        german="Ungültiger Index."),
    -1720: AppleError("INVALID_PARAMETER", "{app} cannot make this range.", "Check its ends.",
        constant="errAEImpossibleRange", cause="cannot_filter", said="Invalid range.",
        german="Ungültiger Bereich."),
    -1721: AppleError("INVALID_PARAMETER", "{app} wants another number of values.", _VALUES,
        constant="errAEWrongNumberArgs", cause="missing_parameter",
        said="Wrong number of arguments.", german="Falsche Anzahl von Argumenten."),
    -1723: AppleError("NOT_SUPPORTED", "{app} does not offer this property or element here.",
        _OTHER, harness="unfiltered", constant="errAEAccessorNotFound", cause="not_allowed_there",
        said="Access not allowed.", german="Zugriff nicht erlaubt."),
    -1725: _CANNOT_FILTER._replace(constant="errAENoSuchLogical", said="Illegal operator.",
        german="Diesen Vergleich gibt es nicht."),
    -1726: _CANNOT_FILTER._replace(constant="errAEBadTestKey", said="Illegal comparison.",
        german="Dieser Vergleich geht nicht."),
    -1727: _CANNOT_FILTER._replace(constant="errAENotAnObjSpec", said="Not an object reference.",
        german="Kein Verweis auf ein Objekt."),
    -1728: AppleError("NOT_FOUND", "{app} could not find this object.", _LOOK,
        constant="errAENoSuchObject", cause="not_found", said="Can't get object.",
        german="Das Objekt ist nicht zu bekommen."),
    -1729: AppleError("EXECUTION_ERROR", "{app} miscounted its own objects.", _HEALTH,
        constant="errAENegativeCount", cause="cannot_filter", said="Negative count.",
        german="Negative Anzahl."),
    -1730: AppleError("NOT_FOUND", "{app} has nothing in this list.", _LOOK,
        constant="errAEEmptyListContainer", cause="cannot_filter", said="Empty list.",
        german="Leere Liste."),
    -1731: AppleError("NOT_SUPPORTED", "{app} does not know objects of this type.", _OTHER,
        constant="errAEUnknownObjectType", cause="not_found", said="Unknown object type.",
        german="Unbekannte Art von Objekt."),
    -1743: AppleError("PERMISSION_DENIED", "Permission to control {app} was denied.",
        f"Allow it under {_AUTOMATION}", harness="stop", constant="errAEEventNotPermitted",
        cause="automation_denied", said="Not authorized to send Apple events to {app}.",
        german="Keine Erlaubnis, Apple-Events an {app} zu senden."),
    -1744: AppleError("PERMISSION_DENIED", "Permission to control {app} has not been given yet.",
        f"Answer the question of macOS at the screen, or allow it under {_AUTOMATION}",
        harness="stop", constant="errAEEventWouldRequireUserConsent", cause="consent_needed",
        said="User consent required.", german="Der Benutzer muss zustimmen."),
    # Scripts.
    **_rows(range(-1757, -1749), _SCRIPT._replace(cause="script_error")),
    -2700: APP_ERROR._replace(constant="errOSAGeneralError"),
    **_rows(range(-2763, -2700), _SCRIPT),
    **_rows((*range(-2763, -2749), -2721, -2720, *range(-2709, -2700)),
        _SCRIPT._replace(cause="script_error")),
    **_rows(range(-2743, -2739), _SCRIPT._replace(cause="applescript_syntax")),
    -2753: _SCRIPT._replace(cause="undefined_variable"),
    -2710: _SCRIPT._replace(cause="cannot_make_there"),
    -2706: _SCRIPT._replace(cause="too_deep"),
    -2705: AppleError("NOT_SUPPORTED", "The dictionary of {app} is damaged.",
        "Install the app again, or ask its maker.", constant="errOSACorruptTerminology",
        cause="damaged_dictionary"),
    # Objects.
    -10000: AppleError("EXECUTION_ERROR", "{app} failed at it.", _REASON, retryable="read",
        retry="read", harness="unfiltered", constant="errAEEventFailed", cause="app_failed",
        said="AppleEvent handler failed.",
        german="Das Programm konnte den Apple-Event nicht ausführen."),
    -10001: _VALUE._replace(constant="errAETypeError", said="Type mismatch.",
        german="Der Typ passt nicht."),
    -10002: AppleError("INVALID_PARAMETER", "{app} does not name this object that way.",
        "Name it by id or by index.", constant="errAEBadKeyForm", cause="key_form",
        said="Invalid key form.", german="Ungültige Form des Schlüssels."),
    -10003: AppleError("NOT_SUPPORTED", "{app} does not let this be changed.",
        "Set another property.", constant="errAENotModifiable", cause="read_only",
        said="Access not allowed.", german="Zugriff nicht erlaubt."),
    -10004: AppleError("PERMISSION_DENIED", "{app} lacks the right to do this.",
        "Its own settings, its sandbox or a protected file refuse it.",
        constant="errAEPrivilegeError", cause="no_privilege", said="A privilege error occurred.",
        german="Fehlende Berechtigung."),
    -10005: AppleError("NOT_SUPPORTED", "{app} does not let this be read.",
        "Read another property.", constant="errAEReadDenied", cause="read_only",
        said="The read operation wasn't allowed.", german="Lesen ist nicht erlaubt."),
    -10006: AppleError("NOT_SUPPORTED", "{app} does not let this be set.", "Set another property.",
        constant="errAEWriteDenied", cause="read_only", said="Can't set object.",
        german="Das Objekt lässt sich nicht setzen."),
    -10007: AppleError("NOT_FOUND", "{app} has nothing at so high a position.", _LOOK,
        constant="errAEIndexTooLarge", cause="index_out_of_range",
        said="The index of the event is too large to be valid.", german="Der Index ist zu groß."),
    -10008: AppleError("NOT_SUPPORTED", "{app}: this is no element.", _OTHER,
        constant="errAENotAnElement", cause="not_found",
        said="The specified object is a property, not an element.", german="Das ist kein Element."),
    -10009: AppleError("NOT_SUPPORTED", "{app} cannot give this type.", _OTHER,
        constant="errAECantSupplyType", cause="not_allowed_there"),
    -10010: AppleError("NOT_SUPPORTED", "{app} cannot do this with an object of this class.",
        _OTHER, constant="errAECantHandleClass", cause="not_allowed_there",
        said="Handler can't handle objects of this class.",
        german="Für Objekte dieser Klasse geht das nicht."),
    -10011: AppleError("BUSY", "{app} is in another transaction.", "Try again later.",
        retryable="always", constant="errAEInTransaction", cause="busy"),
    -10012: AppleError("EXECUTION_ERROR", "{app} knows no such transaction.", "Begin again.",
        constant="errAENoSuchTransaction", cause="busy"),
    -10013: AppleError("NOT_FOUND", "{app} has no selection.", "Select something first.",
        constant="errAENoUserSelection", cause="one_at_a_time"),
    -10014: AppleError("NOT_SUPPORTED", "{app} does this to one object at a time.",
        "Pass one a call.", constant="errAENotASingleObject", cause="one_at_a_time",
        said="Handler only handles single objects.",
        german="Das geht nur mit einem einzelnen Objekt."),
    -10015: AppleError("NOT_SUPPORTED", "{app} cannot undo this.", "", constant="errAECantUndo",
        cause="one_at_a_time"),
    -10016: AppleError("NOT_SUPPORTED", "{app} does this on its own computer only.", "",
        cause="remote"),
    -10023: AppleError("INVALID_PARAMETER", "{app} does not take this enumerator here.",
        "Use one that the tool's schema lists.", constant="errAENotAnEnumMember",
        cause="wrong_enumerator", said="Enumerator not allowed here.",
        german="Dieser Wert ist hier nicht erlaubt."),
    -10024: AppleError("INVALID_PARAMETER", "{app} cannot put that there.",
        "Give another place in at.", constant="errAECantPutThatThere", cause="cannot_make_there",
        said="Can't make class.", german="Die Klasse lässt sich nicht anlegen."),
    -10025: AppleError("INVALID_PARAMETER", "{app}: these properties exclude each other.",
        "Set fewer of them.", constant="errAEPropertiesClash", cause="one_at_a_time",
        said="Illegal combination of properties.",
        german="Diese Eigenschaften passen nicht zusammen."),
    # Launch services.
    -10810: AppleError("APP_NOT_FOUND", "{app} could not be launched.", "Open it once by hand.",
        retryable="always", retry="launch", constant="kLSUnknownErr", cause="launch_failed"),
    -10814: APP_GONE._replace(constant="kLSApplicationNotFoundErr", cause="app_not_found"),
    -10827: APP_GONE._replace(constant="kLSNoExecutableErr", cause="app_not_found"),
    # Accessibility.
    -25211: AppleError("PERMISSION_DENIED", "Permission for assistive access was denied.",
        _ASSISTIVE, constant="kAXErrorAPIDisabled", cause="accessibility_denied",
        said="osascript is not allowed assistive access.",
        german="osascript darf die Bedienungshilfen nicht nutzen."),
    1002: AppleError("PERMISSION_DENIED", "Permission to send keystrokes was denied.", _ASSISTIVE,
        cause="keystrokes_denied", said="osascript is not allowed to send keystrokes.",
        german="osascript darf keine Tastendrücke senden."),
}  # fmt: skip
"""Error number -> what it means."""
