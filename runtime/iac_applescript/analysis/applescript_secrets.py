"""What a statement of an AppleScript reads that is never read: secrets, and records that hold them.

No bridge stands before an AppleScript, so what may be a secret is one: where it cannot be told
whose properties are read, they are those of any object of the apps that the script names.
"""

from collections.abc import Iterator, Sequence

from iac_applescript.analysis.applescript_shapes import find_unbracketed, word_at
from iac_applescript.analysis.applescript_units import Unit
from iac_applescript.analysis.budget import spend
from iac_applescript.analysis.statement_rules import StatementContext, plain_target
from iac_applescript.analysis.vocabulary import Vocabulary


def secrets_read(
    units: Sequence[Unit], scene: StatementContext, borrowed: Sequence[Vocabulary]
) -> Iterator[tuple[str, Unit]]:
    """Yield the name of each secret that a statement reads, and the unit that does.

    Args:
        units: The statement, or what a `tell` names.
        scene: What it stands in.
        borrowed: Apps whose words can be meant anywhere.
    """
    given = _given(units)
    for place, unit in enumerate(units):
        if unit.kind == "text" or unit.start in given or word_at(units, place + 1) == ":":
            continue
        if units[place + 1 : place + 2] and units[place + 1].kind == "text":
            # A text right behind a word is what a parameter of that name is given.
            continue
        rows = [entry for _, entry in unit.entries]
        rows += [entry for app in borrowed for entry in app.terms.get(unit.word, ())]
        if any(row.secret and row.use == "property" for row in rows) or (
            unit.word.startswith("«") and _is_secret_code(unit.word, scene.named)
        ):
            yield unit.word, unit
        elif unit.word == "properties" or (
            unit.word == "record" and word_at(units, place - 1) == "as"
        ):
            kind = _holder(units, place, scene)
            if kind:
                yield f"all of {kind}", unit


def _given(units: Sequence[Unit]) -> set[int]:
    """Return where the properties begin that `set` gives a value."""
    found: set[int] = set()
    for place, unit in enumerate(units):
        if unit.word == "set" and unit.kind == "command":
            rest = units[place + 1 :]
            target = plain_target(rest[: find_unbracketed(rest, "to")])
            found.update(part.start for part in target[:1])
    return found


def _is_secret_code(raw: str, apps: Sequence[Vocabulary]) -> bool:
    """Say whether a raw form is a secret's code, or that of all properties."""
    spend(100)
    code = raw.rstrip("»")[-4:]
    return any(
        row.code == code and (row.jxa in app.secrets or row.jxa == "properties")
        for app in apps
        if app.secrets
        for kind in app.tables.classes.values()
        for row in kind.properties
    )


def _holder(units: Sequence[Unit], place: int, scene: StatementContext) -> str:
    """Return the class whose properties are read, if it may have a secret; else an empty text."""
    spend(len(units) // 4)
    if word_at(units, place + 1) in ("of", "in"):
        near = [unit for unit in units[place + 2 :] if unit.has_use("class") or _is_open(unit)][:1]
    elif word_at(units, place - 1) in ("'s", "as"):
        near = [unit for unit in units[:place] if unit.has_use("class") or _is_open(unit)]
    else:
        near = [unit for unit in scene.object if unit.has_use("class")][:1]
    classes = [entry for unit in near for _, entry in unit.entries if entry.use == "class"]
    if near and not any(map(_is_open, near)):
        return next((row.term for row in classes if row.secret), "")
    # It may be an object of any app that is named.
    held = [app.name for app in (*scene.apps, *scene.named) if app.secrets]
    return f"an unknown object of {held[0]}" if held else ""


def _is_open(unit: Unit) -> bool:
    """Say whether a unit may be any object."""
    return unit.kind == "variable" or unit.word in ("it", "its", "me", "result")
