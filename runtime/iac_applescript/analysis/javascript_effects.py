"""What a member of a JavaScript does, as effects: the same as the tool says that does it.

A member is asked of the app that its chain begins with. Where that is not plain it may be asked of
every app whose dictionary knows its name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from iac_applescript.analysis.javascript_names import ScriptNames
from iac_applescript.analysis.javascript_tokens import Shape
from iac_applescript.analysis.statement_effects import ADDITIONS, effect_on, flows_of, verb_for
from iac_applescript.analysis.vocabulary import TermUse, Use, Vocabulary
from iac_applescript.analysis.words import COMMANDS
from iac_runtime.policy.effects import Effect, Verb
from iac_runtime.tool import Level

_PICKS: Final = frozenset(("Application", "at", "byId", "byName", "whose", "where"))


@dataclass(frozen=True, slots=True)
class Member:
    """A member that is called or set.

    Attributes:
        shape, names, apps: The script, its own names, and the apps that it names.
        place: Where the member stands; for the class that is made the name of that.
        use: What it is in a dictionary.
    """

    shape: Shape
    names: ScriptNames
    apps: list[Vocabulary]
    place: int
    use: Use

    def effects(self, level: Level, verb: Verb | None) -> Iterator[Effect]:
        """Yield what it does, by its name where no verb is given."""
        name, place = self.shape.tokens[self.place].text, self._asked()
        root = self._root(place)
        for app in self._apps(name, root):
            row = next(_rows(app, name, self.use), None)
            said = verb or verb_for(name, row, level)
            kind = row.term if row and self.use == "class" else self._kind(app, root, place)
            yield effect_on(app, said, kind, level, flows_of(name, self._texts(place)))

    def _asked(self) -> int:
        """Return the place of the member, or of `make` where `new` gives it a class."""
        if self.shape.text(self.place - 1) in (".", "?."):
            return self.place
        return self.shape.around(self.shape.around(self.place)) - 1

    def _root(self, place: int) -> int:
        """Return where the chain of members begins that a member ends; -1 if a call is given more
        than which object is meant, as that may hand on another."""
        while self.shape.text(place - 1) in (".", "?."):
            place -= 2
            while (bracket := self.shape.text(place)) in (")", "]"):
                end, place = place, self.shape.brackets.opening.get(place, 1) - 1
                if bracket == ")" and place + 2 < end and self.shape.text(place) not in _PICKS:
                    return -1
        return place

    def _apps(self, name: str, root: int) -> list[Vocabulary]:
        asked = self.names.apps.get(self.shape.text(root), "")
        if [self.shape.text(at) for at in range(root, root + 4)] == ["Application", "(", "", ")"]:
            asked = self.shape.tokens[root + 2].text
        others = [app for app in self.apps if app.key != ADDITIONS]
        own = [
            app
            for app in others
            if asked.casefold() in (app.name.casefold(), app.bundle.casefold())
        ]
        if name in COMMANDS:
            # Every app is sent them, whatever its dictionary says.
            return own or others
        seen = self.apps if self.use == "command" else others
        known = [app for app in seen if any(_rows(app, name, self.use))]
        return [app for app in own if app in known] or [*own, *known] or others

    def _kind(self, app: Vocabulary, root: int, place: int) -> str:
        """Return the class that the chain before a member names last, or its arguments first."""
        chain = [*range(place - 1, place if root < 0 else root, -1), *self._given(place)]
        rows = (_rows(app, self.shape.text(at), "class") for at in chain)
        return next((row.term for found in rows for row in found), "")

    def _given(self, place: int) -> range:
        opening = place + 1 if self.shape.text(place + 1) == "(" else -1
        return range(place + 2, self.shape.end(opening, place + 5))

    def _texts(self, place: int) -> Iterator[tuple[str, str]]:
        """Yield the literal texts that are given, each with the key that it stands behind."""
        for at in self._given(place):
            if at < len(self.shape.tokens) and self.shape.tokens[at].kind == "string":
                path = self.shape.text(at - 2) == "Path"
                yield self.shape.text(at - (4 if path else 2)), self.shape.tokens[at].text


def _rows(app: Vocabulary, name: str, use: Use) -> Iterator[TermUse]:
    entries = (*app.names.get(name, ()), *app.terms.get(name.casefold(), ()))
    return (row for row in entries if row.use == use)
