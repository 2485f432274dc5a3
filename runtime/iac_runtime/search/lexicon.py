"""What people say and what dictionaries call it: the words that a request is read with, as data.

Everyday English, written for this project. A group holds words that stand for each other; an
entry of `LOOSE` leads one way, from what is said to what it often means. Order has no meaning.
"""

from typing import Final

__all__ = [
    "APPS",
    "BEFORE_APP",
    "GROUPS",
    "INTENTS",
    "LEADING",
    "LOOSE",
    "POLITE",
    "QUESTIONS",
    "STOP",
    "entries",
]


def entries(text: str) -> list[str]:
    """Return the entries of one of the texts below."""
    return [entry for line in text.splitlines() for entry in line.split(" | ")]


GROUPS: Final = """\
abort cancel stop | account login | active current | added creation | address url
admin administrator | alarm reminder | album record | alert alarm | alert warning
analyzer issue | annotation note | answer response | app application program
appointment meeting event | arrived received | artboard page | article post story
artist singer band musician | attachment attached enclosure | attachment file | author writer
authorize unlock | automation shortcut | available online | average mean | away busy
backward back | battery power | bcc blind | beep ding chime | begin start launch run
bibliography publication | bibtex bibliography | bin delete | bin trash | bold weight
bookmark favorite | breakpoint debug | brightness light | browser window | brush pen
buddy user | calendar agenda schedule | cancel delete | canvas artboard | capacity storage
capitalize case | cc copy | channel room | chart graph plot | chat conversation | check verify
checkbox tick | checklist list | circle ellipse oval | citation cite | clear empty wipe
click tap | clipboard pasteboard | close shut | collapse fold | collection album | colour color
column field | comment note | comment remark annotation | compare diff | compile build
completed done finished complete | compose outgoing | connect join | connected online
connection service | contact person buddy friend | contents content | conversation message
convert transform | cookie data | countdown timer | crash failure | created creation | crop cut
curly smarten educate
current now | customer client | database db | deadline due overdue | debug debugger
damaged corrupt broken
decrease lower reduce | default standard | delay wait | delete remove erase trash discard
deleted delete | dependency module | device phone iphone android | dialog popup prompt
dictionary definition | disabled off | disconnect unmount eject | disk drive volume
documents folder | domain host | done check | download fetch | downloads folder | draft outgoing
draw make | due date | dump delete | duplicate copy clone | duplicate double
duration length long | editor author | eject unplug | email mail | email message
emulator simulator | enabled enable disable active | enabled on | encoding charset | end stop
environment variable | equalizer eq | error fault bug | expand unfold | expired elapsed
extension suffix | extract pull | failure fail failing | family typeface
favorite favourite favorited loved | favorite starred | feed blog | feed subscription rss
field value | filter condition | fire run | flag flagged | folder directory | font lettering
font typeface | format layout | format type | formula calculation | forward ahead
frontmost foreground | fullscreen full | gadget device | genre category | glyph character
gradient blend | gray grey | grep regex | grid table | group collection | group folder
guest attendee invitee invited participant | halt stop | header heading | headline title
height tall high | hidden invisible | hide hidden visible | history log | history recent
home folder | homepage url | identical duplicate | import load | increase raise
installed available | interface adapter | interrupt interruption | invitation attendee
invoice bill | invoke run call | ip address | issue problem bug | italic slant | item object
javascript code | javascript js | journal publication | jump goto | junk spam | key keystroke
keyword tag | kill quit stop | kind type | label colour | language syntax | layer level
leave quit exit | library collection | link bookmark | listen hear | listen recognition
location place venue | lock locked unlock | log console | login signin | louder volume
lua code | lyrics words | macro shortcut | mailbox folder | mailbox inbox | mailing mail
member person | memo note | menu command | merge combine join | message mail | microphone speech
mode setting | mode state | modified changed edited | module library | mount connect
move transfer | movie video film | music sound | mute silence | network internet | network wifi
newline ending | news article | next following | notebook folder | notification banner
opacity transparent | opened open | owner user | pane panel | paper article
paper publication reference | parameter argument | parse read | participant member
passed status | password passcode | password secret | path curve | path location | pattern regex
pause suspend | pdf file | permission authorization | photo picture image
picture artwork cover | pile stack | pixel raster | place address | play listen | playlist mix
plugin addon extension | podcast subscription | polygon star | pomodoro timer | port connection
post publish | postpone delay | preference setting settings option | preferences options
prefix beginning | process program | presentation keynote deck | press keystroke | previous back
previous earlier | priority importance | privileges permission | project job | proxy vpn
published publication | python script | query question | queue enqueue | queue playlist
quote cite | random shuffle | rating rate stars | recipient to | record entry row | record item
recurrence repeat recurring | reflect mirror flip | refresh reload update | reload restart
remaining remain left | removable ejectable plugged | repeat loop | replace substitute
reply answer respond | reset restore | resolution size | restart reboot | result outcome
resume continue unpause | reveal locate | reverse invert | rewind back | rotate rotation turn
row line | rule filter | run execute perform | scale shrink enlarge | scheme configuration
screen display monitor | script code | script macro | scroll jump | search find query
select choose pick | selected selection highlighted | sender from | shape object | sheet page
shell bash | shell terminal console | shift indent outdent | show reveal display view
shutdown shut | sidebar panel | signature footer | simulator device | size big small
size bytes | skip next forward | slide page | slide slides | snippet clipping | song music
song track tune | sort order arrange | source code | speak say | speaker device | speed rate
splash start | split divide | spoken speech | spot location | spreadsheet workbook
square rectangle box | star starred | station channel | station radio | status state
straighten smarten | stream broadcast | stroke outline border | style format | stylesheet style
subscribe follow | substitution replace | suffix ending | suggestion completion | sum total
summary abstract | swatch colour | symbol icon | sync synchronize | synchronize refresh
tab page | tab window | table list | tag label | target product | template stationery
tempo bpm | test check | text content body | thing item | thumbnail preview | tick check
title name caption heading | to-do reminder | todo task reminder | toggle switch | toolbar bar
topmost front | transaction payment booking | translate shift | transparency opacity
trigger run | trim strip | undo revert | unique distinct | unread new | unread read
unstar starred | update upgrade | uppercase lowercase case capital | url link | usb drive
user account | user person | validate check | variable setting | vector path | version build
version release | visible shown | visualizer visual visualization | voice speech | volume loud sound
vote thumbs | wallpaper desktop picture | warning caution | webpage website page site
whitespace blank | width wide | window screen | window view | workflow shortcut
workspace project | year date | zoom magnification scale
"""
"""Words that stand for each other."""

LOOSE: Final = """\
address: url email | aloud: say | amount: value | anniversary: event date | appointment: date
archive: mailbox move | arrive: received date inbox | arrived: received date | article: page
artwork: document page item | ask: dialog choose | attach: attachment | attachments: attachment
background: color picture | band: artist | battery: power | big: size | bigger: size
biggest: size | birthday: birth date | block: event | blog: feed | bluetooth: device
bold: font style | book: event | bookmark: url | books: publication | boot: login start
box: dialog rectangle | branch: repository scheme | brightness: display | browse: web open page
browser: web tab window | buddies: contact | budget: amount balance | busy: running busy
button: dialog | calculate: formula value | called: name | capital: case | capitals: case
cell: value | cells: range | changed: modification date | characters: character | check: status
circle: oval ellipse | cite: publication | clipboard: the clipboard | clock: date time start due
collaborate: shared | colour: color fill | commit: save | computer: system mac
connected: disk device | content: contents plaintext source | continue: resume play
cookies: javascript | countdown: timer | cpu: system processor | created: creation date
csv: export | dark: appearance | delay: date due | diagram: chart canvas | dice: random number
damaged: validate verify | reopen: reinterpret | dictate: speech listen | diff: compare differences
differ: compare | difference: compare | different: compare | directory: container
distracted: interrupt | distraction: interrupt | document: file | done: completed | down: volume
drag: move | draw: graphic path | drawing: graphic document | ebook: book
edited: modification date | emulators: device | encrypted: password protected
enter: key keystroke | env: environment variable | equalizer: eq preset | escape: key
excel: spreadsheet sheet table export | expired: timer | export: save | failed: failure error
failing: failure test | fails: failure error | favicon: icon | fetch: get check
file: document item | finger: click | flight: event | focus: frontmost activate pomodoro
fold: wrap | folder: container | formula: value cell | free: space | friday: date | friends: contact
front: activate frontmost | frontmost: front active | fullscreen: full screen | gig: event
gist: text | gloomy: dark | google: search web | goto: open view show | graph: chart | graphic: item
group: folder | halt: pause stop | hardware: system info | headline: title
headphones: output device | hear: play | heart: favorited loved | hit: key keystroke
host: server | hotkey: keystroke key | hours: time | html: source | hum: sound | icon: image
idle: idle time | important: priority flagged | incognito: mode | incoming: inbox received
indent: shift right | installed: library font application | interesting: starred
interrupted: interrupt | into: add move | invite: attendee | invoice: message document
ip: address network | iphone: device | italic: font style | jot: note | jpeg: export file
keep: folder path library | kill: quit process | label: name | larger: size | largest: size
last: date | later: reading list | latest: date | light: appearance | like: favorited loved
line: path | link: url | list: get find | location: context place | locked: password protected
log: history text | logo: symbol image | look: search find | lookup: search find
loud: say sound | louder: volume | love: favorited loved | lower: volume | mac: system computer
machine: system computer | made: creation date | markdown: document text | maximize: zoomed
memo: note | memory: system | microphone: input sound | minimise: miniaturized minimized
minimize: miniaturized minimized | minutes: minute time | modified: modification date
monday: date | money: amount balance | month: date | mouse: click | mp3: track file
music: track play sound | musician: artist | mute: volume muted mute | name: title | named: name
newer: date | newest: date | news: article | newsletter: message | newspaper: article feed
noon: date time start due | notify: notification | obtain: get | off: enabled active
offline: status | older: date | oldest: date | on: enabled active | online: status
opened: open | opens: open | options: settings | outlines: convert path
output: device contents log | overdue: date due
overview: list | page: web document | paper: publication | papers: publication
paste: clipboard insert | pdf: file export | phone: number telephone device | photo: image
pi: number | picture's: image | picture: file | pivot: table
playing: current track player playing | plugged: disk device | png: export file
podcast: episode | pomodoro: timer start | pop: dialog | popover: dialog | popup: dialog window
postpone: date due start | pref: preference pane | preferences: settings pane
preview: document | price: value column | print: printer | private: mode
problem: error issue warning | problems: error issue warning | product: target
prompt: contents dialog | put: add move | question: dialog | quiet: volume mute
quieter: volume | radio: stream url track | ram: memory | reading: read current
receipt: message document | recent: date | recently: date | redo: undo | remaining: time
remind: reminder date | rename: name title | renamed: name | repo: repository
reschedule: date start | resize: size width height bounds | resolution: display screen
restart: reload | return: key | rich: text | roll: random | rotate: rotation | running: process
saturday: date | screenshot: screen capture | seconds: delay | secret: password protected
sender: from | sensor: context | settings: preferences | shape: item | share: shared
sharing: shared | shortcut: keystroke key | silence: mute volume
simulator: run destination device | singer: artist | site's: url | site: url web | sleepy: sleep
slideshow: presentation slide play | smaller: size | snippets: text | snooze: date due
song: music current | source: html | space: capacity | spaces: detab tab | spacing: space tab
spam: junk | speaker: airplay device output | speakers: airplay device output
spec: system info | specs: system info | spelling: spell check | square: rectangle
startup: login | status: state running | stick: disk | stop: pause
storage: disk space capacity | storing: folder path | streaming: stream airplay
subfolder: folder | subject: summary | subscribe: feed | subscriptions: feed
sum: formula value | summarise: text summary | summarize: text summary | sunday: date
surf: web open | swap: replace | tabelle: table | tabs: detab entab | tall: height
terminate: quit | theme: appearance | thesis: publication | thick: width stroke
thickness: width stroke | thursday: date | tick: completed | timer: countdown time | title: name
today: date current | tomorrow: date | tonight: date | transparent: opacity | trip: event
remember: reminder | people: attendee contact | left: free remaining | drop: delete move
gigabytes: space capacity size | gigabyte: space capacity size | gb: space capacity size
programs: process | apps: process | chars: character | tell: send say | finish: completion
hate: dislike disliked down | dedupe: duplicate delete | disconnect: offline eject
charset: reinterpret
tuesday: date | type: keystroke | typed: keystroke | typeface: style | unmute: volume mute
unopened: read unread | unsubscribe: delete feed | updated: modification date | uppercase: case
urgent: priority | usb: disk | vector: path | video: movie file | visit: open url
volume: sound vol | wallpaper: desktop | warning: dialog alert | web: page url
website: web url document | wednesday: date | week: date | weekend: date event | weigh: size
when: date | where: location path container | whitespace: space gremlins
who: sender author artist attendee name | wide: width | wifi: network interface
wordcount: word | words: word text | worksheet: sheet | write: text | yesterday: date
"""
"""What is said -> what it often means; one way, and worth less than a word of a group."""

INTENTS: Final[dict[str, str]] = {
    "count": "how count total",
    "list": "list which show find search all look every any who whose see browse display",
    "get": "what get read is are tell when where who whose value current check does did",
    "set": (
        "set change rename mark turn edit update modify adjust flag unflag rate enable disable"
        " switch hide unhide lock unlock mute unmute star unstar assign replace rewrite append"
        " postpone reschedule resize move put give make love like toggle block unblock activate"
        " deactivate increase decrease raise lower tick complete bigger smaller select pin unpin"
        " archive bold recolor colour color fill shuffle minimize maximize"
    ),
    "make": (
        "make create new add write compose draw insert start put draft schedule book remind jot"
        " save record open set prepare begin generate enter post bookmark"
        " block reserve plan remember"
    ),
}
"""Operation -> the verbs that speak for it; one verb may speak for several."""

STOP: Final[frozenset[str]] = frozenset(
    "a an the my me i i'm im i've ive we our us you your it its it's that this these those there"
    " please plese pls can could would should will shall may might must do does did done't don't"
    " be been being am is are was were have has had having got get gets let let's lets"
    " of in on at to from for with by about into onto over as and or but if then than so"
    " what which whose whom how what's whats who's that's here just some any somebody something"
    " until while because"
    " want wanna need like'd i'd ill i'll using use via through called named right up"
    " give see too also ever not no yes s t ve ll re m d one ones thing things".split()
)
"""Words that name nothing; they may still speak for an operation."""

LEADING: Final[frozenset[str]] = frozenset(
    "of in on at to from into onto inside within has have for with by about whose that which where"
    " as called named over under through until while after before because if when so".split()
)
"""Words after which comes what something is in, is of or is like."""

POLITE: Final[frozenset[str]] = frozenset(
    "please plese pls can could would will you i i'd id like to want wanna need let lets us we"
    " just now ok okay hey hi so and then me my also".split()
)
"""Words before the one that a request begins with."""

QUESTIONS: Final[frozenset[str]] = frozenset(
    "what whats which who whos whose whom when where why how is are was were do does did has have"
    " am any there".split()
)
"""Words that begin a question; what follows is no verb to do."""

BEFORE_APP: Final[frozenset[str]] = frozenset(
    "in on with using via from app of into inside".split()
)
"""An app's name after one of these is meant as the app's."""

APPS: Final[dict[str, str]] = {
    "Mail": "email mail inbox message mailbox sender attachment junk",
    "Notes": "note memo jot",
    "Reminders": "reminder todo task remind date due",
    "Calendar": "calendar appointment meeting event schedule agenda date start",
    "Contacts": "contact address person people phone birthday",
    "Safari": "browser web website webpage site page tab bookmark surf",
    "Google Chrome": "browser web website webpage site page tab bookmark surf",
    "Firefox": "browser web website webpage site page tab bookmark",
    "Microsoft Edge": "browser web website webpage site page tab bookmark",
    "Brave Browser": "browser web website webpage site page tab bookmark",
    "Arc": "browser web website webpage site page tab arc",
    "Music": "music song track playlist album artist tune airplay",
    "iTunes": "music song track playlist album artist tune podcast airplay",
    "Spotify": "music song track playlist album artist tune",
    "TV": "movie show video episode",
    "Podcasts": "podcast episode",
    "Finder": "file folder desktop trash disk bin directory drive usb",
    "System Events": (
        "process ui element menu login dock appearance keystroke click dark wallpaper computer mac"
    ),
    "System Settings": "setting preference pane",
    "System Preferences": "setting preference pane",
    "Terminal": "terminal shell command",
    "iTerm2": "terminal shell command",
    "TextEdit": "text document",
    "Numbers": "spreadsheet sheet table cell row column formula excel",
    "Pages": "document page text word",
    "Keynote": "presentation slide deck slideshow",
    "Microsoft Excel": "spreadsheet sheet workbook cell row column formula",
    "Microsoft Word": "document text paragraph",
    "Microsoft PowerPoint": "presentation slide deck slideshow",
    "Microsoft Outlook": "email mail inbox message calendar appointment contact",
    "Photos": "photo picture album image",
    "Preview": "image pdf",
    "Messages": "message chat sms imessage text",
    "Shortcuts": "shortcut workflow automation",
    "Script Editor": "script applescript",
    "QuickTime Player": "movie video recording",
    "Font Book": "font typeface",
    "Voice Memos": "recording memo",
    "Xcode": "build compile project scheme workspace simulator",
    "Automator": "workflow automation",
    "Adobe Photoshop": "photo image layer",
    "Adobe Illustrator": "artboard vector illustration layer path swatch",
    "OmniFocus": "todo task project inbox",
    "Things": "todo task project area",
    "BBEdit": "text editor",
    "TextWrangler": "text editor",
    "CotEditor": "text editor",
    "NetNewsWire": "rss feed article news",
    "VLC": "video movie",
    "Evernote": "note notebook",
    "Bear": "note",
    "Slack": "chat message channel",
    "Standard Additions": (
        "clipboard dialog notification notify volume shell say beep alert random date message box"
    ),
}
"""An app's name -> words for what it is about, where its name does not say it."""
