"""Causes that the number of an error tells; their words count where no number is told.

Numbers: AppleScript Language Guide, error tables B-1 to B-4; MacErrors.h.
"""

from typing import Final

from iac_applescript.failure_words import PANE, Cause

__all__ = ["ROWS"]

ROWS: Final[tuple[Cause, ...]] = (
    Cause(
        "automation_denied",
        "The user, or macOS, does not let this program control the app.",
        (
            f"Ask the user to switch the app on for this program under {PANE} > Automation.",
            "Do not try again before that: it is refused each time.",
        ),
        (-1743,),
        r"not (?:authori[sz]ed|allowed) to send apple ?events|not authori[sz]ed|nicht berechtigt"
        r"|keine berechtigung|pas autoris|non autoris|no (?:est[áa] )?autorizad|non autorizzat"
        r"|nicht autorisiert|não (?:está )?autorizad|niet (?:gemachtigd|geautoriseerd)"
        r"|geen toestemming|許可されていません|権限がありません"
        r"|未(?:被)?(?:获|獲)?(?:得)?授权|未獲授權|没有权限",
    ),
    Cause(
        "consent_needed",
        "macOS would have to ask the user first, and was told not to.",
        ("Run it once while the user is at the Mac, and let them answer the question.",),
        (-1744,),
    ),
    Cause(
        "app_not_running",
        "The app is not running.",
        ("Launch it first, then send the command.", "It may have quit in between: look at it."),
        (-600,),
        r"isn[’']t running|is not running|läuft nicht|wird nicht ausgeführt"
        r"|n[’']est pas (?:en cours|ouvert)"
        r"|no (?:se )?est[áa] (?:en )?ejec|no se está ejecutando"
        r"|non è (?:in esecuzione|aperta)|não está em execução"
        r"|実行されていません|起動していません|未运行|沒有執行|没有运行|is niet actief",
    ),
    Cause(
        "app_quit",
        "The app quit or crashed while it was asked.",
        (
            "Open it again and look whether the change was made before you repeat it.",
            "After a quit command this is normal.",
        ),
        (-609, -606, -607, -608, -905),
        r"connection (?:is )?(?:invalid|interrupted)|verbindung ist ungültig"
        r"|connexion (?:n.est pas|non) valide|conexión no (?:es )?válida"
        r"|connessione non (?:è )?valida|接続が無効|连接无效",
    ),
    Cause(
        "launch_failed",
        "macOS could not launch the app.",
        ("Open it once by hand.", "Without a logged-in session no app can start."),
        (-10810, -10669, -601, -602, -605, -10826, -10661),
        r"could not be launched|an application-?error|LSOpen",
    ),
    Cause(
        "cancelled",
        "The user cancelled.",
        ("Ask the user before you try again.", "To go on, catch error number -128 with try."),
        (-128,),
        r"user cancel+ed|benutzer.*abgebrochen|abgebrochen|annul[ée]|cancelad[oa]"
        r"|annullat|cancelou|キャンセル|已取消|用户取消|geannuleerd",
    ),
    Cause(
        "timeout",
        "The app did not answer in time; it may still be at it.",
        (
            "Look whether it was done before you repeat a change.",
            "Ask for less: filter with whose, or get one property of all objects at once.",
            "Wrap it in: with timeout of 300 seconds … end timeout.",
            "A dialog may be open in the app: let the user answer it.",
        ),
        (-1712,),
        r"timed out|zeitüberschreitung|délai (?:d.attente )?(?:dépassé|expiré)"
        r"|tiempo (?:de espera )?(?:agotado|excedido)"
        r"|tempo (?:scaduto|.*esgot)|time-?out|時間切れ|タイムアウト|超时|逾時",
    ),
    Cause(
        "no_interaction",
        "The app needs a person to answer something.",
        ("Bring the app to the front and let the user answer.", "Give the optional parameters."),
        (-1713, -610),
        r"no user interaction allowed|keine benutzerinteraktion",
    ),
    Cause(
        "not_scriptable",
        "The app has no scripting dictionary.",
        ("Use its menus through the accessibility tools, or its files.",),
        (-192,),
        r"couldn't get sdef|resource wasn[’']t found|not scriptable",
    ),
    Cause(
        "damaged_dictionary",
        "The app's dictionary is damaged.",
        ("Install the app again, or ask its maker.",),
        (-2705,),
    ),
    Cause(
        "index_out_of_range",
        "There are fewer objects than the number asked for, or the filter matched none.",
        (
            "Count them first, or test with exists.",
            "In JavaScript numbers begin at 0, in AppleScript at 1.",
            "On old systems this number also means a missing Accessibility right.",
        ),
        (-1719, -10007),
        r"invalid index|ungültiger index|index (?:non valide|incorrect)|índice no válido"
        r"|indice non valido|インデックス|索引无效|无效的?索引",
    ),
    Cause(
        "not_found",
        "There is no such object.",
        (
            "List what there is and use an id or a name from it.",
            "Names are compared exactly; an object may have moved to another folder or account.",
            "Two objects of one name are an error in some apps: use the id.",
        ),
        (-1728, -1731, -10008),
        r"can[’']t get|kann nicht gelesen werden|nicht (?:bekommen|abrufen|geladen)"
        r"|impossible d[’']obtenir"
        r"|no (?:se )?(?:puede|ha podido) obtener|impossibile ottenere|não é possível obter"
        r"|を取り出すことはできません|取り出せません|不能获得|无法获得|無法取得",
    ),
    Cause(
        "wrong_type",
        "A value has the wrong type, or an unknown word made the reference meaningless.",
        (
            "Check each word against the dictionary: get_app_dictionary.",
            "The object a command acts on is the first argument, not a field of the record.",
            'A file is Path("/…") in JavaScript, POSIX file "/…" in AppleScript; a date is a Date.',
        ),
        (-1700, -1703, -1704, -10001, -50, -1702, -1705, -1732),
        r"can[’']t (?:convert types|make .* into)|nicht in typ|impossible de transformer"
        r"|no (?:se )?puede convertir"
        r"|impossibile (?:trasformare|convertire)|não é possível converter"
        r"|kan .* niet .*omzetten|に変換できません|转换为|轉換",
    ),
    Cause(
        "missing_parameter",
        "A required parameter was not given.",
        ("Look the command up with get_app_dictionary and give all that it needs.",),
        (-1701, -1715, -1721, -1718),
        r"parameter is missing|parameter fehlt|paramètre .*manqu",
    ),
    Cause(
        "not_understood",
        "The object does not know this command.",
        (
            "Look up which objects answer it: get_app_dictionary.",
            "For dialogs and the clipboard in JavaScript set includeStandardAdditions = true.",
            "Right after its launch an app may not be ready: wait a second.",
            "Call a handler of the script inside a tell with my.",
        ),
        (-1708, -1717),
        r"message not understood|error: command not found|doesn[’']t understand|versteht .* nicht"
        r"|ne reconna[îi]t pas|ne comprend pas"
        r"|no entiende|non (?:riconosce|capisce)|não (?:entende|compreende)"
        r"|認識できません|无法理解|不理解|不認得",
    ),
    Cause(
        "not_allowed_there",
        "The app does not offer this property or element there.",
        ("Look up what the class has: get_app_dictionary.", "Build dates outside the tell."),
        (-1723, -10009, -10010),
        r"access not allowed|zugriff nicht (?:erlaubt|gestattet)|accès non autoris",
    ),
    Cause(
        "cannot_filter",
        "The app cannot make this comparison.",
        (
            "Get the property of all objects at once and filter in the script.",
            "Apply whose to the elements themselves, not to a range of them.",
        ),
        (-1725, -1726, -1727, -1720, -1729, -1730),
        r"illegal comparison|unzulässiger vergleich|comparison",
    ),
    Cause(
        "read_only",
        "This property cannot be set, or not read.",
        ("Set another property, or use the command that changes it.",),
        (-10003, -10005, -10006),
        r"can[’']t set|kann nicht (?:auf .*)?gesetzt|impossible de (?:définir|régler)"
        r"|no (?:se )?puede (?:ajustar|establecer)"
        r"|impossibile impostare|を.*に設定することはできません|不能将.*设",
    ),
    Cause(
        "no_privilege",
        "The app lacks the right to do this.",
        ("Its sandbox or a protected folder refuses it: use a folder that the user chose.",),
        (-10004, -54, -5000, -61, -1407),
        r"privilege|(?:don[’']t have|without) permission|operation not permitted"
        r"|permission denied"
        r"|berechtigungsfehler|keine rechte|erreur d.(?:autorisation|de privilège)"
        r"|error de privilegios|errore di privilegi|erro de privilégio|権限エラー",
    ),
    Cause(
        "key_form",
        "The object cannot be named that way.",
        ("Name it by id or index instead of by name, or the other way round.",),
        (-10002,),
        r"invalid key form|ungültige schlüsselform",
    ),
    Cause(
        "cannot_make_there",
        "Such an object cannot be made in that place.",
        (
            "Make it in the container that has this class as element.",
            "In JavaScript: container.things.push(app.Thing({…})).",
        ),
        (-10024, -2710),
        r"can[’']t make (?:class|some data)|can[’']t make or move"
        r"|kann (?:klasse|.*nicht erstell)|impossible de créer|no (?:se )?puede crear",
    ),
    Cause(
        "wrong_enumerator",
        "This word is none of the values that the property takes.",
        ("Use an enumerator of the dictionary, spelled as there: get_app_dictionary.",),
        (-10023,),
        r"enumerator|not an enum",
    ),
    Cause(
        "one_at_a_time",
        "The app does this to one object at a time, and with values that fit together.",
        ("Go through the objects with a loop.",),
        (-10014, -10025, -10013, -10015),
        r"single objects?",
    ),
    Cause(
        "busy",
        "The app is busy with something else.",
        ("Wait and try again.",),
        (-10011, -10012, -49, -47, -1711),
        r"is busy|file is already open|already open",
    ),
    Cause(
        "file_not_found",
        "There is no such file or folder.",
        ("Check the path; ~ is not expanded in scripts.", "A sandboxed app may not see it."),
        (-43, -35, -37, -120),
        r"file .*(?:(?:wasn[’']t|not) found|(?:doesn[’']t|does not) exist)|no such file"
        r"|datei .*nicht gefunden"
        r"|fichier .*introuvable"
        r"|(?:archivo|fichier|file|arquivo|bestand) .*(?:no existe|n[’']existe pas|non esiste"
        r"|não existe"
        r"|bestaat niet|não (?:foi )?encontrad)|ファイル.*見つかりません|找不到文件|文件.*不存在"
        r"|folder wasn[’']t found|disk .*wasn[’']t found",
    ),
    Cause(
        "disk_full",
        "The disk is full.",
        ("Free some space.",),
        (-34,),
        r"(?:disk|volume|disque|disco|festplatte|schijf|ディスク).{0,12}"
        r"(?:is full|est plein|lleno|pieno|cheio|ist voll|is vol|いっぱい)|磁盘已满",
    ),
    Cause(
        "file_exists",
        "A file of this name is there already.",
        ("Choose another name, or ask the user whether to replace it.",),
        (-48, -15267),
        r"duplicate file name|already exists|existiert bereits|existe déjà",
    ),
    Cause(
        "file_unreadable",
        "The app cannot open or read this file.",
        ("Check what kind of file it is, and open it with an app that reads it.",),
        words=r"could not be opened|cannot open files|unable to (?:open|read)"
        r"|kann nicht geöffnet werden|ne peut pas être ouvert|impossible d[’']ouvrir"
        r"|no se (?:puede|ha podido) abrir|impossibile aprire|を開(?:くことが|け)",
    ),
    Cause(
        "end_of_file",
        "The file ended before what was read.",
        ("Read less.",),
        (-39,),
        r"end of file",
    ),
    Cause(
        "remote",
        "The other computer did not answer.",
        ("Check Remote Apple Events there.",),
        (-904, -906, -915, -10016),
        r"remote access|eppc",
    ),
    Cause(
        "undefined_variable",
        "The script reads a variable that has no value, or a word that the app does not know.",
        (
            "Set it before it is used; a handler sees only its own variables and globals.",
            "Put an app's words inside tell application.",
        ),
        (-2753,),
        r"variable .* is not defined|ist nicht definiert|n[’']est pas définie"
        r"|no está definida|non è definita|não está definida|is niet gedefinieerd"
        r"|は定義されていません|未定义",
    ),
    Cause(
        "applescript_syntax",
        "The AppleScript cannot be compiled.",
        (
            "Check the line that is named; quotes must be straight, blocks closed.",
            "Unknown words: check them with get_app_dictionary; the app must be installed.",
        ),
        (-2740, -2741, -2742, -2743),
        r"syntax error|unterminated (?:string|comment)|expected .* but found|syntaxfehler"
        r"|erreur de syntaxe"
        r"|error de sintaxis|errore di sintassi|構文エラー|语法错误|erwartet.* aber",
    ),
    Cause(
        "script_error",
        "The script itself cannot be run as it is.",
        ("Check the script with validate_applescript.",),
        (*range(-1758, -1749), *range(-2763, -2749), *range(-2709, -2700), -2720, -2721),
    ),
    Cause(
        "shell_failed",
        "A shell command of the script failed.",
        (
            "Give the full path of the program: the shell of a script has a short PATH.",
            "The words of the error are the command's own.",
        ),
        (126, 127),
        r"(?<!error): command not found|non-zero (?:exit )?status",
    ),
    Cause(
        "app_failed",
        "The app failed at it and gives no reason.",
        (
            "Check each value that is set; a record's field that does not exist fails like this.",
            "Do it in smaller steps to see which one fails.",
        ),
        (-10000,),
        r"appleevent handler failed|apple ?event-?routine|le gestionnaire .* a échoué",
    ),
    Cause(
        "silent",
        "The script ended without a word: most often a denied permission.",
        (
            f"Look under {PANE} > Automation whether this program may control the app.",
            "A handler that is not called run is not run: the script then gives nothing.",
        ),
    ),
)
