"""Levels by words: verbs by what they do, the last of all evidence.

The first word of a term is its verb; a few words weigh wherever they stand. A verb that nobody
here knows gives no verdict: the caller decides what the unknown is worth.
"""

import re
from typing import Final

from iac_gen.classify.codes import LevelVerdict, rows

Phrase = tuple[str, ...]
"""The words of a term in lower case: `executeAATFile` is execute, aat, file."""

# `PFOpen`, `AXPress`: two or three letters for whose command it is.
_PREFIXED: Final = re.compile(r"[A-Z]{2,3}[A-Z][a-z]")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

CODE_WORDS: Final = frozenset(
    "script scripts shell javascript applescript osascript macro macros lua python perl ruby"
    " sql vba jsx bash".split()
)
SECRET_WORDS: Final = frozenset(
    "password passwords passphrase passcode credential credentials keychain secret secrets"
    " keystore token webhook".split()
)

_MEANING: Final = CODE_WORDS | SECRET_WORDS | {"url"}

_RUNS: Final = "runs code or an action"
_SENDS: Final = "leaves the machine and cannot be called back"
_VERBS: Final = rows((
    ("DANGEROUS", _RUNS,
     "run execute exec evaluate eval osascript perform invoke trigger install sudo inject"
     " deploy upgrade simulate"),
    ("DANGEROUS", "destroys", "erase wipe destroy purge empty shred revert discard truncate"),
    ("DANGEROUS", "deletes", "delete remove uninstall unregister trash expunge"),
    ("DANGEROUS", _SENDS,
     "send post publish tweet submit broadcast upload transmit email dial call bounce share invite"
     " dispatch resend fax push"),
    ("DANGEROUS", "spends money", "buy purchase pay donate"),
    ("DANGEROUS", "ends a session or the app",
     "quit terminate kill shutdown restart reboot logout logoff exit"),
    ("DANGEROUS", "captures sound, pictures or the screen",
     "record screenshot listen dictate photograph"),
    ("DANGEROUS", "types or clicks", "keystroke click type press tap"),
    ("DANGEROUS", "touches credentials or rights",
     "authorize authenticate unlock login signin decrypt impersonate"),
    ("SAFE", "reads",
     "get count exists list find search lookup look info offset check is has should can does was"
     " describe summarize extract size measure data compare validate verify number localized equal"
     " singular calculate compute query matches meet"
     " contains inspect identify estimate predict spell help detect"),
    ("SAFE", "changes the view only",
     "show reveal select deselect activate scroll zoom focus display hide collapse expand"
     " highlight unhighlight view beep reopen jump present redraw spotlight flash fullscreen"
     " minimize maximize unselect unhide navigate preview go goto obscure"),
    ("SAFE", "plays or navigates",
     "play pause playpause stop resume next previous back forward rewind mute unmute seek skip"
     " step fast backtrack slideshow start volume"),
    ("SAFE", "is heard by the user only", "say speak output announce"),
    ("MODIFY", "makes something new",
     "add create make new duplicate clone copy import insert append prepend enqueue register"
     " subscribe bookmark save store backup archive export download fetch capture rasterize"
     " generate compose mailto reply redirect snapshot write log"),
    ("MODIFY", "changes something",
     "set change edit convert replace reinterpret merge unmerge split join move rename sort update"
     " reset clear apply assign mark unmark flag star rate toggle enable disable lock transpose"
     " rotate flip mirror scale crop trim resize transform translate embed unembed pad relink shift"
     " indent outdent comment uncomment smarten straighten educate normalize format reformat wrap"
     " rewrap strip detab entab zap process bold unbold italicize unitalicize underline ununderline"
     " undo redo cut paste reverse swap group ungroup arrange align distribute complete uncomplete"
     " parse filter classify tag untag pin unpin attach detach connect disconnect join leave"
     " refresh reload synchronize sync rebuild index optimize compress compact release hold"
     " increment decrement bring colorize reflect fit rearrange unload clean increase decrease"
     " hard interrupt force external internal unlink link convertcoordinate invert concatenate"
     " prune adjust partition initialize"),
    ("MODIFY", "changes something",
     "block define draw encode encrypt fill finish follow layout like map match migrate"
     " paint pull queue recognize ocr remind render rip shuffle repeat sign stamp stroke schedule"
     " snooze postpone transcode typeset unzip zip unpack vacuum burn commit checkout fetch"),
    ("MODIFY", "asks or tells the user", "ask prompt choose alert notify"),
    ("MODIFY", "starts or ends something", "approve reject answer respond dismiss suspend wait"
     " hibernate build test launch open close abort cancel begin end print eject"
     " mount unmount sleep wake switch use compile accept decline confirm browse prepare load"),
))  # fmt: skip

# Two words that mean something else than the first of them.
_PAIRS: Final = rows((
    ("DANGEROUS", "ends a session", "log_out log_off sign_out shut_down force_quit"),
    ("DANGEROUS", "touches credentials or rights", "log_in sign_in"),
    ("DANGEROUS", _RUNS, "call_method call_function"),
    ("DANGEROUS", "types or clicks", "key_down key_up key_code mouse_down mouse_up"),
    ("DANGEROUS", "captures sound, pictures or the screen",
     "take_picture take_photo take_screenshot grab_screenshot grab_screen capture_screen"),
    ("MODIFY", "opens a URL", "get_url open_url open_location"),
    ("MODIFY", "asks the user", "show_dialog show_alert"),
    ("SAFE", "plays or navigates", "go_back go_forward go_next go_previous go_to go_home go_up"),
    ("SAFE", "changes the view only",
     "switch_view switch_to switch_workspace switch_tab switch_pane switch_perspective"
     " scroll_to size_to bring_forward"),
    ("SAFE", "changes the view only",
     " ".join(f"{verb}_{what}" for verb in ("enter", "exit", "leave")
              for what in ("presentation", "fullscreen", "full", "slideshow", "slide", "reader",
                           "preview"))),
))  # fmt: skip

# What a toggle, an opening or a closing changes the view of.
_VIEW_NOUNS: Final = frozenset(
    "view window panel pane sidebar toolbar inspector tab hud menu preferences settings switcher"
    " drawer popover fullscreen visualization visualizer palette dialog help".split()
)
_VIEW_VERBS: Final = frozenset("toggle open close accept cancel move switch confirm".split())

# Objects that make a start or stop more than the pressing of a button.
_WORKS: Final = frozenset(
    "server proxy tunnel vpn service daemon sharing connection recording capture recorder session"
    " broadcast stream streaming call screencast network share meeting conference".split()
)
_RECORDINGS: Final = frozenset("recording capture screencast screenshot dictation".split())
_SCREENS: Final = frozenset(
    "area region screen screens display desktop window fullscreen camera audio video photo".split()
)
_DISKS: Final = frozenset("disk disks volume volumes drive drives partition partitions".split())
# Protocols by which another computer is reached.
_PROTOCOLS: Final = frozenset("ftp ftps sftp scp ssh telnet vnc rdp smb afp nfs webdav".split())
# What pays, whoever it is that is paid.
_PAYMENTS: Final = frozenset(
    "payment payments debit remittance donation purchase withdrawal payout".split()
)
_TRANSFERS: Final = frozenset("bank wire money credit sepa".split())
_URLS: Final = frozenset("url urls uri link location".split())
# What a view can be made active in; anything else that is activated is put to work.
_PLACES: Final = frozenset(
    "view window panel pane tab document page session app application space screen desktop"
    " browser editor layer list sheet terminal".split()
)
# Controls of an interface: choosing one does what it does.
_CONTROLS: Final = (("menu", "item"), ("menu", "bar", "item"), ("button",), ("menu",))
_CHOOSES: Final = frozenset("activate select do choose pick hit".split())
# In a term that is a sentence: `session is active`.
_COPULAS: Final = frozenset("is are has was".split())
# A term that is a noun names what it answers.
_NOUNS: Final = frozenset(
    "version versions path paths name names title count number numbers characters status state"
    " settings info information date time position url id property properties length value values"
    " kind type types text".split()
)
# Verbs that dictionaries write in one word with what they do it to: `getparagraphlength`.
_GLUED: Final = ("get", "set", "run", "execute", "export", "delete", "remove", "send", "import")
_NO_CODE: Final = frozenset({"script", "scripts", "postscript", "transcript"})
_PRESENCE: Final = frozenset("online offline away available invisible live idle".split())
_ELSEWHERE: Final = frozenset("web internet online".split())
_ENDINGS: Final = ("script", "javascript", "shell")
_READS: Final = LevelVerdict("SAFE", "reads")


def phrase(term: str) -> Phrase:
    """Return the words of a term in lower case; a vendor's letters before a verb are left out."""
    # PostScript is a page, not a script that runs.
    words = tuple(word.lower() for word in _WORD.findall(term.replace("PostScript", "postscript")))
    if _PREFIXED.match(term) and words[1] in _VERBS and words[0] not in _MEANING:
        return words[1:]
    return words


def by_verb(words: Phrase, *, answers: bool, direct: Phrase) -> LevelVerdict | None:
    """Return what the words of a command say, None where they say nothing.

    `answers` says that the command declares a result; `direct` are the words of the types of its
    direct parameter, none where it has none.
    """
    if not words:
        return None
    led = words[0]
    while len(words) > 1 and led.endswith("ly") and led not in _VERBS:
        words = words[1:]
        led = words[0]
    pair = _PAIRS.get("_".join(words[:2]))
    if pair is not None:
        return pair
    if led in _CHOOSES and words[1:] in _CONTROLS:
        return LevelVerdict("DANGEROUS", "works the controls of an app")
    words = _led_by_verb(words)
    first = _VERBS.get(words[0])
    if first is None:
        return _without_verb(words, answers=answers)
    if words == ("forward",) and direct:
        return LevelVerdict("MODIFY", "opens a draft")
    if first.level == "SAFE":
        return _unless_it_works(words, first, direct)
    if first.level == "MODIFY":
        return _edited(words, first, direct)
    return first


def _led_by_verb(words: Phrase) -> Phrase:
    """Return the words with the verb in front, in the form that the table has."""
    if words[0] in _VERBS:
        return words
    for prefix in ("un", "re", "de", "auto"):
        if (rest := words[0].removeprefix(prefix)) != words[0] and rest in _VERBS:
            # What undoes or repeats a change is one, whatever the verb itself is worth.
            return (rest, *words[1:]) if _VERBS[rest].level != "SAFE" else ("change", *words[1:])
    glued = next((verb for verb in _GLUED if words[0].startswith(verb)), None)
    if glued is not None and len(words[0]) > len(glued) + 3:
        return (glued, words[0].removeprefix(glued), *words[1:])
    return words


def _unless_it_works(words: Phrase, first: LevelVerdict, direct: Phrase) -> LevelVerdict:
    if words[0] == "display" and {"dialog", "alert"} & set(words):
        return LevelVerdict("MODIFY", "asks the user")
    if words[0] == "go" and _PRESENCE & set(words[1:]):
        return LevelVerdict("MODIFY", "others see it")
    if _ELSEWHERE & set(words[1:]) and first.reason == "reads":
        return LevelVerdict("MODIFY", "asks another computer")
    if words[0] in ("activate", "deactivate") and words[1:] and not _PLACES & set(words[1:]):
        return LevelVerdict("MODIFY", "starts or ends something")
    if _URLS & set(words[1:]) and first.reason == "plays or navigates":
        return LevelVerdict("MODIFY", "opens a URL")
    things = {*words[1:], *direct}
    if _WORKS & things and first.reason == "plays or navigates":
        recording = (_RECORDINGS | {"recorder"}) & things
        if recording and words[0] in ("start", "resume", "play"):
            return LevelVerdict("DANGEROUS", "captures sound, pictures or the screen")
        return LevelVerdict("MODIFY", "starts or ends something")
    return first


def _edited(words: Phrase, first: LevelVerdict, direct: Phrase) -> LevelVerdict:
    """Return the verdict of a verb that changes something: by what it is that changes."""
    rest = set(words[1:])
    if SECRET_WORDS & rest:
        return LevelVerdict("DANGEROUS", "touches a secret")
    if _PAYMENTS & rest or (_TRANSFERS & rest and {"transfer", "transfers"} & rest):
        return LevelVerdict("DANGEROUS", "spends money")
    if words[0] in ("open", "connect", "mount", "load", "browse") and _PROTOCOLS & rest:
        return LevelVerdict("DANGEROUS", "connects to another computer")
    if words[0] in ("load", "make", "new", "begin", "toggle") and _RECORDINGS & rest:
        return LevelVerdict("DANGEROUS", "captures sound, pictures or the screen")
    if words[0] == "capture" and _SCREENS & rest:
        return LevelVerdict("DANGEROUS", "captures sound, pictures or the screen")
    if words[0] in ("format", "reformat", "partition", "initialize") and _DISKS & {*rest, *direct}:
        return LevelVerdict("DANGEROUS", "destroys")
    if words[0] in ("load", "use", "process") and rest & {
        *CODE_WORDS, "module", "action", "actions", "plugin", "extension", "bundle", "library",
    }:  # fmt: skip
        return LevelVerdict("DANGEROUS", "loads code")
    if words[0] == "clear" and {"history", "undo"} & rest:
        return LevelVerdict("DANGEROUS", "destroys")
    if words[0] in ("add", "set", "change") and {"environment", "variable"} <= rest:
        return LevelVerdict("DANGEROUS", "decides how programs run")
    if words[0] in _VIEW_VERBS and words[-1] in _VIEW_NOUNS:
        return LevelVerdict("SAFE", "changes the view only")
    return first


def _without_verb(words: Phrase, *, answers: bool) -> LevelVerdict | None:
    """Return what a term says that begins with no known verb."""
    if words[0] == "do" and CODE_WORDS & set(words[1:]):
        return LevelVerdict("DANGEROUS", _RUNS)
    if any(word.endswith(_ENDINGS) and word not in _NO_CODE for word in words):
        return LevelVerdict("DANGEROUS", _RUNS)
    if {"screenshot", "keystroke"} & set(words):
        return LevelVerdict("DANGEROUS", "captures or types")
    # Behind a word that nobody knows, a dangerous verb still counts: `please delete`.
    for position in range(1, len(words)):
        pair = _PAIRS.get("_".join(words[position : position + 2]))
        verb = pair or _VERBS.get(words[position])
        if verb is not None and verb.level == "DANGEROUS" and words[position] not in _NOUNS:
            return verb
    if words[-1] == "preview":
        return LevelVerdict("SAFE", "changes the view only")
    # What is named after its answer: `title for tty`, `module paths`, `unicode numbers`.
    if answers and _COPULAS & set(words[1:]):
        return _READS
    named = words[-1] in _NOUNS or {"of", "for"} & set(words[1:-1]) or words[-1] in ("of", "for")
    if answers and named:
        return _READS
    return None
