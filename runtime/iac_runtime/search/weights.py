"""What counts how much when tools are ranked for a request: all weights, one table.

Each says what is lost without it: hits among the first five, or the first, in the sets of requests
in tests/search, over the tools here and those of 94 apps (open: requests of other people).
"""

from typing import Final

FIELDS: Final = (1.0, 0.8, 0.35, 0.2)
"""What a word is worth in the name, the properties, the purpose, the dictionary's own words.
Chosen on all sets."""

HINT: Final = 0.5
"""How much an app that a request means counts. Without it: unseen -63, hands -41, requests -12."""

COVER: Final = 0.35
"""How much it counts that an app has the words of a request. Without it: requests -2, hands -2,
others -1."""

OPERATION: Final = 0.2
"""What the operation that a request names adds. Without it: unseen -9, open -4, requests -3."""

TOGETHER: Final = 0.45
"""What words that stand in several places are worth together. Without it: first: unseen -9, hands
-9, requests -7."""

COMMAND: Final = 0.27
"""What a command has before an operation on objects. Without it: hands -14, unseen -11, toolsets
-9."""

USUAL_NAMED: Final = 0.4
"""How much of the usual operation is left where a request names one, or a command. Without it:
hands -2, requests first -1."""

MORE: Final = 0.35
"""What a further operation on the same class loses. Without it: unseen -5, requests -2."""

COPY: Final = 0.5
"""What the tools of a second copy of an app lose: one name, one place. Without it: nothing on these
sets: an app has one place."""

HELD: Final = 0.3
"""What a class loses that only says what the one that is asked about is in. Without it: first:
unseen -4, others -1."""

UNMARKED: Final = 0.4
"""The worth of a tool for any app where no word of the request marks it: what an app has of its own
comes first. Without it: first: unseen -8, hands -4."""

MARK: Final = 2.0
"""The worth of a word that marks such a tool. Without it: toolsets -4."""

ORDINARY: Final = 0.2
"""What a command of the Standard Suite loses that no word asks for: an app's own come first.
Without it: unseen -1."""

AT_HAND: Final = 0.06
"""What an app has before others that do the same, because it comes with the system. Without it:
nothing on these sets; of two that fit alike, chance decides."""

GESTURE: Final = 0.35
"""What such a tool has whose own name is the word that marks it: click, scroll, drag. Without it:
nothing on these sets; a click is not among the first two tools for one."""

ACT: Final = 0.2
"""What it is worth to be the operation that a request as a whole is likely to mean. Without it:
open -9, hands -8, requests -6."""

ACT_NAMED: Final = 0.18
"""What it is worth to have such an act in the name. Without it: toolsets -3, unseen -2; first: open
-3."""

THING: Final = 0.1
"""What it is worth to have such a thing in the name. Without it: first: open -3, toolsets -3."""

OPPOSITE: Final = 1.0
"""What an offer loses that goes the other way, or does what the request says not to do, as a share
of what is asked. Without it: first: open -1."""

SAME_WAY: Final = 0.08
"""What an offer gains that goes the way that is asked."""

SILENT: Final = 0.2
"""What an offer loses that goes no way where one is asked: to close a tab is not to close all
others."""

WRONG_EFFECT: Final = 0.3
"""What an offer loses that changes where somebody wants to look, or looks where something is to be
done."""

MAY_LOOK: Final = 0.05
"""What an offer loses that shows something in a window where somebody asks what there is."""

WAY: Final = 2.0
"""How much these are worth among tools, whose scores reach further."""

NEAR: Final = 0.3
"""How near the tools of other apps are that stand beside those of the first. Without it: hands
-1."""

APP_NAMED: Final = 2.0
"""How strongly an app is meant that is named. Without it: first: unseen -8, hands -8."""

AREA: Final = 1.5
"""How much a request speaks for the usual app of an area that it is surely about. Without it: hands
-5, open -3, requests -2."""

LIKELY_APP: Final = 0.75
"""The power of an area's likelihood: the second likeliest is not far behind. Without it: requests
-1, toolsets -1."""

SAID: Final = 0.6
"""What a sure word of an area adds. Without it: open -1, toolsets first -4."""

MOST: Final = 1.5
"""The most that the words of an area add. Without it: toolsets -3, requests -1."""

NEXT: Final = 0.85
"""What of that the next app of an area has. Without it: first: requests -2, hands -1."""

USUAL_WORDS: Final = 0.15
"""What the usual app of an area has before apps of none. Without it: hands -2."""

OTHER: Final = 0.6
"""What of that another app of an area has, and what is of no app. Without it: first: unseen -2,
requests -1."""

ITSELF: Final = 0.9
"""From here on an option is the word itself, or what it was mistyped of. Without it: requests -1,
toolsets first -2."""

PART: Final = 1.6
"""How strongly an app is meant by a word of its name that is its own. Without it: first: open -1,
unseen -1."""

OTHERWISE: Final = 0.25
"""How strongly by another word of its name. Without it: unseen -4, toolsets -4, open -2."""

PLAINLY: Final = 0.4
"""How likely it may be that a request is for what no app does, and how much more for each sure word
of what apps do. Without it: unseen -2."""

ABSENT: Final = 0.6
"""How much more a request must speak for what an app is for that has no tools here.
Chosen on requests that nothing serves."""

WEAK: Final = 0.4
"""What a word tells of an app that has it elsewhere than in a name. Without it: nothing among 94
apps: for more apps than are chosen."""

MEANT: Final = 1.2
"""How much a hint of strength 1 counts in choosing apps, against what a word tells. Without it:
nothing among 94 apps: for more apps than are chosen."""

FLOOR: Final = 0.85
"""Where nothing reaches this, nothing fits. Chosen on requests that nothing serves."""

SURE_APP: Final = 1.9
"""As much, where the app that the request is for has no tools here.
Chosen on requests that nothing serves."""

CERTAIN: Final = 1.4
"""As much of a tool that is DANGEROUS: of 64 requests for one none had less. Without it: unseen
-40, hands -18, requests -11."""

FOR_ANY: Final = 0.6
"""What of an app's name speaks for the tools for any app. Without it: unseen -7, hands -6."""

TOOLSET: Final = 0.9
"""How strongly tools of no app can be meant: never so that all of them are offered. Without it:
toolsets -1."""

LIKE: Final = 0.7
"""What a word is worth that is like one that was meant. Without it: requests -3."""

MISTYPED: Final = 0.9
"""What a word is worth that may be what was meant. Without it: first: requests -1."""

WRITTEN_DOWN: Final = 0.3
"""What a word is worth that stands in quotes, or behind a colon. Without it: nothing on these sets:
what is dictated is no request."""

VERB: Final = 0.55
"""How much a verb that speaks for an operation counts as a word to find. Without it: first:
toolsets -2, others -2."""

TIME: Final = 0.5
"""What a stem is worth that tools for a day or a span of time are known by. Without it: first:
requests -3."""
