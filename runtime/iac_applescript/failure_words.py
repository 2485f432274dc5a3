"""One reason for a failure, as a row."""

from typing import Final, NamedTuple

__all__ = ["PANE", "ROWS", "Cause"]

PANE: Final = "System Settings > Privacy & Security"
"""Where the user gives rights."""


class Cause(NamedTuple):
    """One reason for a failure.

    Attributes:
        id: Its name for machines.
        says: What happened, one line.
        fixes: What to do, the likeliest first.
        numbers: Error numbers that mean it.
        words: A pattern over the error text, without regard to case; empty for none.
        first: Whether the words decide before any number.
    """

    id: str
    says: str
    fixes: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    words: str = ""
    first: bool = False


ROWS: Final[tuple[Cause, ...]] = (
    Cause(
        "keystrokes_denied",
        "macOS does not let this program type or click.",
        (
            f"Ask the user to allow it under {PANE} > Accessibility.",
            "Better: use a command of the app instead of keystrokes.",
        ),
        (1002,),
        r"send keystrokes|tastatureingaben|tastenanschl|frappes|combinaciones de tecla"
        r""
        r"|キー操作|按键",
        first=True,
    ),
    Cause(
        "accessibility_denied",
        "macOS does not let this program see or use elements of the screen.",
        (
            f"Ask the user to allow it under {PANE} > Accessibility, then run it again.",
            "Better: use the app's own dictionary; it needs no such right.",
        ),
        (-25211, -25204, -25212),
        r"assistive access|assistive device|hilfszugriff|acc[èe]s d.aide|acceso de ayuda"
        r"|acceso asistivo|accesso agevolato|accesso di assistenza|補助アクセス|辅助访问"
        r"|輔助取用|ondersteunende toegang",
        first=True,
    ),
    Cause(
        "console_method",
        "JavaScript for Automation has console.log only.",
        ("Use console.log (it writes to standard error); return what you want to see.",),
        words=r"console\.(?:error|warn|info|debug)",
        first=True,
    ),
    Cause(
        "no_browser_or_node",
        "JavaScript for Automation has no browser and no Node: no timers, fetch, require, process.",
        ("Use delay(seconds) to wait.", "Do network and files outside the script."),
        words=r"(?:can't|can’t) find variable: (?:setTimeout|setInterval|fetch|require|module"
        r"|process|window|document|URL|Buffer|exports|XMLHttpRequest|alert)\b",
        first=True,
    ),
    Cause(
        "js_syntax",
        "The JavaScript cannot be parsed.",
        ("Check brackets, quotes and commas near the place that the text names.",),
        words=r"SyntaxError",
        first=True,
    ),
    Cause(
        "js_unknown_name",
        "The script uses a name that it never declares.",
        ("Declare it, or mend its spelling.", "An app's words need the app before them."),
        words=r"ReferenceError|(?:can't|can’t) find variable",
        first=True,
    ),
    Cause(
        "dictionary_not_loaded",
        "The app's dictionary was not loaded, or the object is not the one meant.",
        (
            'Name the app by its bundle id, as in Application("com.apple.Notes").',
            "For dialogs, notifications and the clipboard set includeStandardAdditions = true.",
            "In the Objective-C bridge a method without arguments is read, not called.",
        ),
        words=r"is not a function",
        first=True,
    ),
    Cause(
        "js_type",
        "The script uses a value that is not of the kind it expects.",
        (
            "A property is read by calling it: note.name(), not note.name.",
            "missing value arrives as null: test before you use it.",
        ),
        words=r"TypeError|undefined is not an object|null is not an object",
        first=True,
    ),
    Cause(
        "js_parameters",
        "Named parameters go into one record.",
        ("Write them as command(object, {parameter: value}).",),
        words=r"named parameters must be",
        first=True,
    ),
    Cause(
        "no_language",
        "osascript does not have this language here.",
        ("Use applescript or javascript; both come with macOS.",),
        words=r"scripting component|no such component",
        first=True,
    ),
    Cause(
        "too_deep",
        "The script calls itself without end, or needs more memory than there is.",
        ("End the recursion, or go through the list with a loop.",),
        (-2706, -108),
        r"stack overflow|maximum call stack|RangeError|out of memory"
        r"|nicht genügend speicher|mémoire insuffisante",
        first=True,
    ),
    Cause(
        "expected_end",
        "A block of the script has no end.",
        ("Close each tell, if, repeat and try with its end.",),
        words=r"expected [“\"']?end[”\"']?(?! of)"
        r"|(?:erwartet|attend|espera[bd]|previst|verwacht|期待|预期).{0,12}[“\"„«]\s?end\s?[”\"“»]"
        r"|[“\"„«]\s?end\s?[”\"“»].{0,12}(?:erwartet|attendu|期待|verwacht|esperad|previst)",
        first=True,
    ),
    Cause(
        "app_not_found",
        "There is no such app on this Mac.",
        (
            "Use the bundle id; list_scriptable_apps has it.",
            "Names are in the language of the system: the bundle id is not.",
        ),
        (-10814, -10827, -10660),
        # Said of the app itself; of an object of an app, something else was not found.
        r"application (?:can't|can’t|could not) be found|(?:can't|can’t) get application"
        r"|(?:obtenir|obtener|ottenere|obter) application \"[^\"]*\"\s*[.(]"
        r"|(?<!of )application \"[^\"]*\"[“”」]?\s*(?:kann nicht|を取り出|不能|无法)"
        r"|(?:programm|anwendung|\bapp\b|application|aplicaci[oó]n|aplicativo|applicazione"
        r"|アプリケーション|应用程序|應用程式).{0,80}(?:kann nicht gefunden|nicht gefunden"
        r"|introuvable|encontrad|見つかりません|找不到)"
        r"|(?:encontrar|trouver|trovare|找不到).{0,20}(?:aplicaci[oó]n|aplicativo|application"
        r"|applicazione|应用程序|應用程式)",
        first=True,
    ),
)
