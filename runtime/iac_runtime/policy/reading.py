"""Reading a TOML file of ours: each key is known, each value has its type, each error its line."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeAlias

from iac_base.errors import SetupError, near_text, quoted
from iac_base.positions import Document, TextError, read_toml
from iac_base.positions import Path as Where


class TableReader:
    """Reads one document; remembers it and its name for the errors.

    Args:
        text: The TOML text.
        name: The file's, for messages.

    Raises:
        SetupError: It is no TOML, as every method does where a value is not right; one line.
    """

    def __init__(self, text: str, name: str) -> None:
        try:
            self.document: Document = read_toml(text)
        except TextError as error:
            raise SetupError(f"{name} line {error.line or 1}: {error.reason}.") from None
        self.name = name

    def wrong(self, where: Where, message: str) -> NoReturn:
        """Raise what is wrong, with the line of its place."""
        raise SetupError(f"{self.name} line {self.document.line(where)}: {message}")

    def table(self, where: Where, value: Any, keys: "Keys") -> dict[str, Any]:
        """Return what a table says, by the field that each of its keys is for."""
        if not isinstance(value, Mapping):
            self.wrong(where, f"{where[-1]} must be a table.")
        for key in value:
            if key not in keys:
                hint = near_text(key, sorted(keys))
                self.wrong((*where, key), f"there is no key {quoted(key)}. {hint}")
        found: dict[str, Any] = {}
        for key, part in value.items():
            field, read = keys[key]
            said = read(self, (*where, key), part)
            found.update({field: said} if field else said)
        return found

    def word(self, where: Where, value: Any, known: Iterable[str], message: str) -> str:
        """Return a word that is among those that are known; `message` says that it is not."""
        if not isinstance(value, str) or value not in known:
            word = str(value)
            self.wrong(where, f"{message.format(quoted(word))} {near_text(word, known)}")
        return value

    def switch(self, where: Where, value: Any) -> bool:
        """Return true or false."""
        if not isinstance(value, bool):
            self.wrong(where, f"{where[-1]} must be true or false.")
        return value

    def sentence(self, where: Where, value: Any) -> str:
        """Return a text as one line."""
        if not isinstance(value, str):
            self.wrong(where, f"{where[-1]} must be a text.")
        return " ".join(value.split())

    def texts(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts as a tuple."""
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(x, str) and x for x in found):
            self.wrong(where, f"{where[-1]} must be a text or a list of texts.")
        return tuple(found)

    def some(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts; a rule of none would speak of every call."""
        found = self.texts(where, value)
        if not found:
            self.wrong(where, f"{where[-1]} is empty; give it a text, or leave it out.")
        return found


Keys: TypeAlias = Mapping[str, tuple[str, Callable[[Any, Where, Any], Any]]]
"""Key -> the field that it is for (empty for a table of several), and what reads its value: a
method of the reader."""
