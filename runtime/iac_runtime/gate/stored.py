"""Results too large for one answer: kept for a while, and read on in slices.

A kept result is a file of its own in the state folder, for its user alone. It is gone after
`MAX_AGE` seconds, or earlier when newer ones need the room. A list is sliced by items, a text by
characters, anything else by the characters of its JSON; the slices of a result, put together, are
the whole.
"""

import contextlib
import json
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import InvalidParameterError, SetupError, ToolError, quote_text
from iac_base.files import ensure_private_folder, open_state, write_whole
from iac_runtime.language.reader import RefText
from iac_runtime.policy.facts import Effect
from iac_runtime.policy.taint import hide_secrets, named_secret

MAX_AGE: Final = 6 * 3600
MAX_BYTES: Final = 64_000_000

_SHORTEST: Final = 20
"""Characters to which a text in an object is cut at most, before the object itself is."""

Unit = Literal["items", "characters", "characters of JSON"]
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}\Z")


_EARLIER: Final = "it was kept by an earlier version"


class KeptResult(NamedTuple):
    """A result, and what it came from: app, name, kind, reference and doubt of each effect.

    `holder` is the client that alone may read on in it (`CallFacts.token_client`).
    """

    unit: Unit
    whole: list[Any] | str
    sources: Sequence[Sequence[str]] = (("", "", "", "", _EARLIER),)
    holder: str = ""

    def without(self, secrets: Sequence[str]) -> "KeptResult":
        """Return it without fields that the policy's globs name."""
        json_text = isinstance(self.whole, str) and self.unit == "characters of JSON"
        hidden: dict[str, None] = {}
        value = json.loads(str(self.whole)) if json_text else self.whole
        value = hide_secrets(value, lambda name: named_secret(name, secrets), hidden)
        if not hidden:
            return self
        return self._replace(whole=json.dumps(value, ensure_ascii=False) if json_text else value)

    @property
    def read_effects(self) -> tuple[Effect, ...]:
        """The effects by which reading on is judged."""
        return tuple(
            Effect("read", app, name, kind, reference, doubt=doubt)
            for app, name, kind, reference, doubt in self.sources
        )


def truncate(
    value: Any, limit: int, effects: Iterable[Effect] = (), holder: str = ""
) -> tuple[Any, str]:
    """Return what of `value` fits into `limit` characters of JSON, and a note on the rest.

    What does not fit is kept, with the apps of the effects that it came from; the note says how
    much there is and how to read on. It is empty where nothing is missing.
    """
    if _json_length(value) <= limit:
        return value, ""
    rows = ((row.app, row.name, row.kind, row.reference, row.doubt) for row in effects)
    kept = KeptResult(*_choose_unit(value, limit), list(dict.fromkeys(rows)), holder)
    total = len(kept.whole)
    if kept.unit == "characters of JSON":
        shown, start = _clip_to_limit(value, limit), 0
    else:
        shown = _slice_from(kept.whole, 0, limit)
        start = len(shown)
    cut = f"truncated at {limit} characters: {start} of {total} {kept.unit}"
    try:
        ident = _write_result(kept)
    except (SetupError, OSError) as error:
        return shown, f"{cut}; the rest could not be kept ({error}): ask for fewer or less"
    return shown, f'{cut}; read on with read_more (result "{ident}", offset {start})'


def read_on(ident: str, offset: int, limit: int) -> dict[str, Any]:
    """Return a slice: `{"result", "unit", "offset", "total"}`, and `next` where more follows.

    Raises:
        InvalidParameterError: The offset lies outside the result.
        ToolError: NOT_FOUND: nothing of that id is kept, or not any more.
        SetupError: The state folder is not safe.
    """
    return page_of(load_result(ident), offset, limit)


def page_of(kept: KeptResult, offset: int, limit: int) -> dict[str, Any]:
    """Return a slice as `read_on` does."""
    total = len(kept.whole)
    if not 0 <= offset < max(total, 1):
        raise InvalidParameterError(
            f"offset: {offset} is outside the result, which has {total} {kept.unit}."
        )
    part = _slice_from(kept.whole, offset, limit)
    found = {"result": part, "unit": kept.unit, "offset": offset, "total": total}
    end = offset + len(part)
    return {**found, "next": end} if end < total else found


def _json_length(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _choose_unit(value: Any, limit: int) -> tuple[Unit, list[Any] | str]:
    if isinstance(value, str):
        return "characters", str(value)
    if isinstance(value, list) and all(_json_length(part) + 2 <= limit for part in value):
        return "items", value
    return "characters of JSON", json.dumps(value, ensure_ascii=False)


def _clip_to_limit(value: Any, limit: int) -> Any:
    """Return `value` with its longest texts cut, each to the same length, so that it fits."""
    width = limit // 2
    while width >= _SHORTEST:
        shown = _clip_texts(value, width)
        if _json_length(shown) <= limit:
            return shown
        width //= 2
    return cut_to_limit(value, limit)[0]


def _clip_texts(value: Any, width: int) -> Any:
    if isinstance(value, list):
        return [_clip_texts(part, width) for part in value]
    if isinstance(value, dict):
        return {key: _clip_texts(part, width) for key, part in value.items()}
    if isinstance(value, str) and not isinstance(value, RefText):
        return cut_to_limit(value, width)[0]
    return value


def _slice_from(whole: list[Any] | str, offset: int, limit: int) -> list[Any] | str:
    """Return what fits from `offset` on, and one item or character at least."""
    left, end = limit, offset
    if isinstance(whole, str):
        return _text_slice(whole, offset, limit)
    for part in whole[offset:]:
        left -= _json_length(part) + 2
        if left < 0 and end > offset:
            break
        end += 1
    return whole[offset:end]


def _text_slice(whole: str, offset: int, limit: int) -> str:
    part = whole[offset : offset + limit]
    # Escapes make the JSON of a text longer than the text.
    while len(part) > 1 and (over := _json_length(part) - limit) > 0:
        part = part[: max(1, min(len(part) - 1, len(part) - over // 6 - 1))]
    return part


def _results_folder() -> Path:
    return ensure_private_folder(open_state() / "results")


def _write_result(kept: KeptResult) -> str:
    """Write a result to a file of its own, atomically, and make room. Return its id."""
    folder = _results_folder()
    ident = secrets.token_urlsafe(16)
    data = json.dumps(kept._asdict(), ensure_ascii=False).encode("utf-8", "surrogatepass")
    _make_room(folder, len(data))
    write_whole(folder / f"{ident}.json", data)
    return ident


def _make_room(folder: Path, needed: int) -> None:
    """Remove what is too old, then the oldest until there is room for `needed` bytes."""
    files: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            found = path.lstat()
            files.append((found.st_mtime, found.st_size, path))
    held = sum(size for _, size, _ in files)
    now = time.time()
    for written, size, path in sorted(files):
        if now - written <= MAX_AGE and held + needed <= MAX_BYTES:
            break
        path.unlink(missing_ok=True)
        held -= size


def load_result(ident: str, holder: str = "") -> KeptResult:
    """Return the kept result of an id; another holder's is not there. Raises as `read_on`."""
    path = _results_folder() / f"{ident}.json"
    try:
        if not _ID.match(ident) or time.time() - path.lstat().st_mtime > MAX_AGE:
            raise _no_such_result(ident)
        raw = json.loads(path.read_text("utf-8", "surrogatepass"))
        kept = KeptResult(**raw)
    except (OSError, ValueError, TypeError) as error:
        raise _no_such_result(ident) from error
    if kept.holder != holder:
        raise _no_such_result(ident)
    return kept


def _no_such_result(ident: str) -> ToolError:
    return ToolError(
        "NOT_FOUND",
        f"There is no result {quote_text(ident)}, or it has expired.",
        "Call the original tool again.",
    )


_MARK: Final = "… [truncated]"


def cut_to_limit(value: Any, limit: int) -> tuple[Any, bool]:
    """Return `value` cut to about `limit` characters of JSON, and whether it was cut.

    Lists lose their last items and texts their ends; a text that was cut says so itself.
    """
    left = [limit]
    cut = _cut_value(value, left)
    return cut, left[0] < 0


def _cut_value(value: Any, left: list[int]) -> Any:
    if isinstance(value, list):
        kept = []
        for part in value:
            if left[0] <= 0:
                left[0] = -1
                break
            kept.append(_cut_value(part, left))
        return kept
    if isinstance(value, dict):
        fields = {}
        for key, part in value.items():
            left[0] -= len(key) + 4
            fields[key] = _cut_value(part, left)
        return fields
    if isinstance(value, str) and not isinstance(value, RefText):
        if len(value) > max(left[0], 0):
            value, left[0] = value[: max(left[0], 0)] + _MARK, -1
            return value
        left[0] -= len(value) + 2
        return value
    left[0] -= len(json.dumps(value)) + 1
    return value
