"""What JXA says of an error, by number, in two languages.

English: Apple's words (AppleScript Language Guide, error tables; JXA where seen). German stands for
every language but English: texts change with the user's language, numbers do not. Its words are
ours, not Apple's.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["LANGUAGES", "NOT_FOUND", "text_of"]

LANGUAGES: Final = ("en", "de")

NOT_FOUND: Final = ("Application can't be found.", "Das Programm wurde nicht gefunden.")

_OTHER: Final = ("An error occurred.", "Ein Fehler ist aufgetreten.")
_NO_DIALOG: Final = ("No user interaction allowed.", "Keine Rückfrage erlaubt.")
_NO_ACCESS: Final = ("Access not allowed.", "Zugriff nicht erlaubt.")

_TEXTS: Final[Mapping[int, tuple[str, str]]] = {
    -34: ("Disk is full.", "Das Volume ist voll."),
    -35: ("Disk wasn't found.", "Das Volume fehlt."),
    -37: ("Bad name for file.", "Dieser Dateiname geht nicht."),
    -39: ("End of file error.", "Ende der Datei."),
    -43: ("File wasn't found.", "Die Datei fehlt."),
    -48: ("Duplicate file name.", "Den Dateinamen gibt es schon."),
    -49: ("File is already open.", "Die Datei ist schon offen."),
    -50: ("Parameter error.", "Falscher Parameter."),
    -54: ("File permission error.", "Kein Recht an der Datei."),
    -61: ("File not open with write permission.", "Die Datei ist nur zum Lesen offen."),
    -108: ("Out of memory.", "Der Speicher reicht nicht."),
    -120: ("Folder wasn't found.", "Der Ordner fehlt."),
    -128: ("User canceled.", "Vom Benutzer abgebrochen."),
    -192: ("A resource wasn't found.", "Eine Ressource fehlt."),
    -600: ("Application isn't running.", "Das Programm läuft nicht."),
    -609: ("Connection is invalid.", "Die Verbindung ist ungültig."),
    -610: _NO_DIALOG,
    -1700: ("Can't convert types.", "Der Typ lässt sich nicht umwandeln."),
    -1701: ("Some parameter is missing.", "Ein Parameter fehlt."),
    -1703: ("Wrong data type.", "Falscher Datentyp."),
    -1704: ("Some parameter was invalid.", "Ein Parameter ist ungültig."),
    -1705: ("Operation involving a list item failed.", "Ein Eintrag der Liste schlug fehl."),
    -1708: ("Message not understood.", "Die Nachricht wurde nicht verstanden."),
    -1712: ("AppleEvent timed out.", "Zeitüberschreitung des Apple-Events."),
    -1713: _NO_DIALOG,
    -1715: ("Required parameter is missing.", "Ein nötiger Parameter fehlt."),
    -1719: ("Invalid index.", "Ungültiger Index."),
    -1720: ("Invalid range.", "Ungültiger Bereich."),
    -1721: ("Wrong number of arguments.", "Falsche Anzahl von Argumenten."),
    -1723: _NO_ACCESS,
    -1725: ("Illegal operator.", "Diesen Vergleich gibt es nicht."),
    -1726: ("Illegal comparison.", "Dieser Vergleich geht nicht."),
    -1727: ("Not an object reference.", "Kein Verweis auf ein Objekt."),
    -1728: ("Can't get object.", "Das Objekt ist nicht zu bekommen."),
    -1729: ("Negative count.", "Negative Anzahl."),
    -1730: ("Empty list.", "Leere Liste."),
    -1731: ("Unknown object type.", "Unbekannte Art von Objekt."),
    -1743: (
        "Not authorized to send Apple events to {app}.",
        "Keine Erlaubnis, Apple-Events an {app} zu senden.",
    ),
    -1744: ("User consent required.", "Der Benutzer muss zustimmen."),
    -10000: ("AppleEvent handler failed.", "Das Programm konnte den Apple-Event nicht ausführen."),
    -10001: ("Type mismatch.", "Der Typ passt nicht."),
    -10002: ("Invalid key form.", "Ungültige Form des Schlüssels."),
    -10003: _NO_ACCESS,
    -10004: ("A privilege error occurred.", "Fehlende Berechtigung."),
    -10005: ("The read operation wasn't allowed.", "Lesen ist nicht erlaubt."),
    -10006: ("Can't set object.", "Das Objekt lässt sich nicht setzen."),
    -10007: ("The index of the event is too large to be valid.", "Der Index ist zu groß."),
    -10008: ("The specified object is a property, not an element.", "Das ist kein Element."),
    -10010: (
        "Handler can't handle objects of this class.",
        "Für Objekte dieser Klasse geht das nicht.",
    ),
    -10014: ("Handler only handles single objects.", "Das geht nur mit einem einzelnen Objekt."),
    -10023: ("Enumerator not allowed here.", "Dieser Wert ist hier nicht erlaubt."),
    -10024: ("Can't make class.", "Die Klasse lässt sich nicht anlegen."),
    -10025: ("Illegal combination of properties.", "Diese Eigenschaften passen nicht zusammen."),
    -25211: (
        "osascript is not allowed assistive access.",
        "osascript darf die Bedienungshilfen nicht nutzen.",
    ),
    1002: (
        "osascript is not allowed to send keystrokes.",
        "osascript darf keine Tastendrücke senden.",
    ),
}


def text_of(number: int, app: str, language: str = "en") -> str:
    """Return what JXA says for `number` from the app called `app`."""
    row = _TEXTS.get(number, _OTHER)
    return row[LANGUAGES.index(language)].format(app=app)
