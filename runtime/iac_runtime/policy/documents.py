"""Reading a TOML document by its tables: every key is known, every error names its line."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeAlias

from iac_base.errors import SetupError, near_text, quote_text
from iac_base.positions import Path as Where
from iac_base.positions import PositionedDocument, TextError, read_toml


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
            self.document: PositionedDocument = read_toml(text)
        except TextError as error:
            raise SetupError(f"{name} line {error.line or 1}: {error.reason}.") from None
        self.name = name

    def raise_error(self, where: Where, message: str) -> NoReturn:
        """Raise what is wrong, with the line of its place."""
        raise SetupError(f"{self.name} line {self.document.line_of(where)}: {message}")

    def read_table(self, where: Where, value: Any, keys: "TableKeys") -> dict[str, Any]:
        """Return what a table says, by the field that each of its keys is for."""
        if not isinstance(value, Mapping):
            self.raise_error(where, f"{where[-1]} must be a table.")
        for key in value:
            if key not in keys:
                hint = near_text(key, sorted(keys))
                self.raise_error((*where, key), f"there is no key {quote_text(key)}. {hint}")
        row: dict[str, Any] = {}
        for key, part in value.items():
            field, read = keys[key]
            content = read(self, (*where, key), part)
            row.update({field: content} if field else content)
        return row

    def read_word(self, where: Where, value: Any, known: Iterable[str], message: str) -> str:
        """Return a word that is among those that are known; `message` says that it is not."""
        if not isinstance(value, str) or value not in known:
            word = str(value)
            self.raise_error(where, f"{message.format(quote_text(word))} {near_text(word, known)}")
        return value

    def read_words(
        self, where: Where, value: Any, known: Iterable[str], message: str
    ) -> tuple[str, ...]:
        """Return a text or a list of texts that are all among those that are known."""
        words = self.read_texts(where, value)
        return tuple(self.read_word(where, word, known, message) for word in words)

    def read_boolean(self, where: Where, value: Any) -> bool:
        """Return true or false."""
        if not isinstance(value, bool):
            self.raise_error(where, f"{where[-1]} must be true or false.")
        return value

    def read_single_line(self, where: Where, value: Any) -> str:
        """Return a text as one line."""
        if not isinstance(value, str):
            self.raise_error(where, f"{where[-1]} must be a text.")
        return " ".join(value.split())

    def read_texts(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts as a tuple."""
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(x, str) and x for x in texts):
            self.raise_error(where, f"{where[-1]} must be a text or a list of texts.")
        return tuple(texts)

    def read_nonempty_texts(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts; a rule of none would speak of every call."""
        texts = self.read_texts(where, value)
        if not texts:
            self.raise_error(where, f"{where[-1]} is empty; give it a text, or leave it out.")
        return texts


TableKeys: TypeAlias = Mapping[str, tuple[str, Callable[[Any, Where, Any], Any]]]
"""Key -> the field that it is for (empty for a table of several), and what reads its value: a
method of the reader."""


def table_keys(keys: str, read: Callable[[Any, Where, Any], Any]) -> TableKeys:
    """Return keys, between blanks, that are each for the field of its name and read alike."""
    return {key: (key, read) for key in keys.split()}
