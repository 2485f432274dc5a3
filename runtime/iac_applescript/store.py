"""What was learned: SQLite with FTS5 in the state folder, bounded, with nothing personal in it.

A pattern is advice. It never changes a level, a permission or a description.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from iac_applescript.analysis.findings import Language
from iac_applescript.patterns import (
    FoundPattern,
    PatternCandidate,
    RunOutcome,
    ScriptPattern,
    indexed_words,
    normalize_pattern,
    query_words,
    rank_patterns,
    widen_placeholders,
)
from iac_base.errors import SetupError
from iac_base.files import StateFileError
from iac_base.sqlite import DAMAGED, Database, DatabaseSchema, set_aside
from iac_base.words import split_words, stem_word
from iac_runtime.search.intent import read_intent
from iac_runtime.tool import Level
from iac_runtime.toolkit import Effect

P = ParamSpec("P")
T = TypeVar("T")

FILE: Final = "patterns.db"

LIMIT: Final = 20_000
"""Patterns that are kept; past it the least useful twentieth goes."""

OFF: Final = "IAC_LEARNING"
"""The environment variable that switches learning off when it is `off`."""

_COLUMNS: Final = ", ".join(ScriptPattern._fields)
_FIND: Final = (
    "SELECT rowid, said, done FROM words WHERE words MATCH ? AND rowid >= ?"
    " ORDER BY bm25(words, 4, 1) LIMIT ?"
)
_NEWEST: Final = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
_CANDIDATES: Final = 120
_WIDEST: Final = 400
"""Rows that a search may rank: words that more patterns have than that tell none apart, and of
patterns that only such a word finds, the newest are looked at."""

_USELESS: Final = """
DELETE FROM patterns WHERE id IN (
    SELECT id FROM patterns ORDER BY successes > 0, successes - failures, last LIMIT ?
) RETURNING id"""

_INDEX: Final = (
    """CREATE VIRTUAL TABLE words USING fts5(
        said, done, tokenize = 'unicode61 remove_diacritics 0', detail = column
    )""",
    "CREATE VIRTUAL TABLE counts USING fts5vocab(words, row)",
)


def _clean_patterns(base: sqlite3.Connection) -> None:
    """Keep what an older version kept as it is kept now; of two that became one, the latest."""
    kept = []
    for row in base.execute(f"SELECT {_COLUMNS} FROM patterns ORDER BY last DESC"):  # noqa: S608
        # JavaScript that cannot be read here cannot be cleaned.
        with suppress(SetupError):
            kept.append(normalize_pattern(ScriptPattern(*row)))
    base.execute("PRAGMA secure_delete = ON")
    for statement in ("DELETE FROM patterns", "DROP TABLE counts", "DROP TABLE words", *_INDEX):
        base.execute(statement)
    marks = ", ".join("?" * len(ScriptPattern._fields))
    for pattern in {row.digest: row for row in reversed(kept)}.values():
        base.execute(f"INSERT INTO patterns ({_COLUMNS}) VALUES ({marks})", pattern)  # noqa: S608
        _index_pattern(base, pattern.id, pattern)


def _index_pattern(base: sqlite3.Connection, id: int, row: ScriptPattern) -> tuple[str, str]:
    words = indexed_words(row.intent, row.app, row.script)
    base.execute("INSERT INTO words (rowid, said, done) VALUES (?, ?, ?)", (id, *words))
    return words


_SCHEMA: Final = DatabaseSchema(
    migrations=(
        (
            """CREATE TABLE patterns (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                digest TEXT NOT NULL UNIQUE,
                intent TEXT NOT NULL,
                app TEXT NOT NULL,
                language TEXT NOT NULL,
                script TEXT NOT NULL,
                kind TEXT NOT NULL,
                error TEXT NOT NULL,
                number INTEGER,
                milliseconds REAL NOT NULL,
                successes INTEGER NOT NULL,
                failures INTEGER NOT NULL,
                first TEXT NOT NULL,
                last TEXT NOT NULL
            )""",
            "CREATE INDEX patterns_of_app ON patterns (app)",
            *_INDEX,
        ),
        (
            "ALTER TABLE patterns ADD COLUMN level TEXT NOT NULL DEFAULT 'DANGEROUS'",
            "ALTER TABLE patterns ADD COLUMN effects TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE patterns ADD COLUMN provenance TEXT NOT NULL DEFAULT 'learned'",
            # A text that something was taken out of is none to run.
            """DELETE FROM patterns WHERE script LIKE '%[redacted]%' OR script LIKE '%[address]%'
                OR script LIKE '%[number]%' OR script LIKE '%[long text]%'
                OR script LIKE '%Users/me%' OR script LIKE '%Users:me%'""",
            "DELETE FROM words WHERE rowid NOT IN (SELECT id FROM patterns)",
        ),
        _clean_patterns,
    ),
    # What was learned is advice: the last of it may be lost with the machine.
    durable=False,
)


class PatternStats(NamedTuple):
    """What was learned: counts in all, by app, and what fails most."""

    patterns: int
    successes: int
    failures: int
    apps: tuple[tuple[str, int, int], ...]
    failing: tuple[ScriptPattern, ...]


def is_learning_off() -> bool:
    """Say whether the user switched learning off."""
    return os.environ.get(OFF, "").casefold() in ("off", "0", "no", "false")


def _repairs_damage(method: Callable[P, T]) -> Callable[P, T]:
    """Return a method of the store that mends a file that is damaged, and does it again."""

    @wraps(method)
    def with_repair(*args: P.args, **kwargs: P.kwargs) -> T:
        store: Any = args[0]
        for mend in (store.rebuild_index, store.reset_file):
            try:
                return method(*args, **kwargs)
            except StateFileError as error:
                if error.why != DAMAGED:
                    raise
            mend()
        return method(*args, **kwargs)

    return with_repair


class PatternStore:
    """The patterns of this user. Safe to use from several threads and processes."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        """Take the state folder; nothing is opened before it is needed."""
        self._database = Database(folder / FILE, _SCHEMA)
        self._limit = limit
        self._counts: dict[str, int] = {}
        self._counted = -1

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def rebuild_index(self) -> None:
        """Build the index of words anew; a file that cannot be mended is set aside."""
        try:
            # Opened after a failure, it is checked, and set aside if its pages are damaged.
            with self._database.begin_transaction() as base:
                for table in ("counts", "words"):
                    base.execute(f"DROP TABLE IF EXISTS {table}")
                for statement in _INDEX:
                    base.execute(statement)
                for row in self._select_patterns(base, "", ()):
                    _index_pattern(base, row.id, row)
        except StateFileError as error:
            if error.why != DAMAGED:
                raise
            self.reset_file()
        self._counts, self._counted = {}, -1

    def reset_file(self) -> None:
        """Set the file aside; the next use begins another."""
        self._database.close()
        set_aside(self._database.path)
        self._counts, self._counted = {}, -1

    @_repairs_damage
    def remember_run(
        self,
        intent: str,
        app: str,
        language: str,
        script: str,
        outcome: RunOutcome,
        level: Level = "MODIFY",
        effects: Iterable[Effect] = (),
        arguments: Sequence[Any] = (),
    ) -> int | None:
        """Count a run of a script for an intent; return the pattern's id.

        Runs that differ in their values alone are one pattern, and what varied between those that
        worked is a slot; of a DANGEROUS script every value counts but names and addresses. What the
        script was given, its `arguments`, is in no text of the pattern.

        None where learning is off, or where nothing tells what the script was for.
        """
        if is_learning_off() or not intent.strip():
            return None
        now = datetime.now(UTC).isoformat(timespec="seconds")
        runs = (int(outcome.ok), int(not outcome.ok))
        did = "\n".join(
            dict.fromkeys(" ".join(filter(None, row.audit_row()[:2])) for row in effects)
        )
        told = (intent, app, language, script, *outcome[1:], *runs, now, now, level, did)
        row = normalize_pattern(ScriptPattern(0, "", *told), [*map(str, arguments)])
        with self._database.begin_transaction() as base:
            return self._add_pattern(base, row)

    @_repairs_damage
    def add_patterns(self, rows: Sequence[ScriptPattern]) -> int:
        """Add patterns of an export, in one transaction; return how many."""
        with self._database.begin_transaction() as base:
            for row in rows:
                self._add_pattern(base, row, bound=False)
            self._keep_bound(base)
        return len(rows)

    @_repairs_damage
    def find_patterns(self, intent: str, *, app: str = "", limit: int = 3) -> list[FoundPattern]:
        """Return what worked for such an intent, best first."""
        words = query_words(intent)
        with self._database.hold_connection() as base:
            counts = self._known_counts(base)
            match, common = _match_query(words, counts)
            if not match:
                return []
            newest = base.execute(_NEWEST, (match, _WIDEST)).fetchone() if common else None
            first = newest[0] if newest else 0
            rows = base.execute(_FIND, (match, first, _CANDIDATES)).fetchall()
            marks = ",".join("?" * len(rows))
            patterns = {
                pattern.id: pattern
                for pattern in self._select_patterns(
                    base, f"WHERE id IN ({marks})", tuple(row[0] for row in rows)
                )
            }
            total = max(self._counted, 1)
        candidates = [
            PatternCandidate(patterns[id], frozenset(said.split()), frozenset(done.split()))
            for id, said, done in rows
            if id in patterns
        ]
        same = frozenset(map(stem_word, split_words(intent)))
        asked = read_intent(intent.casefold())
        wanted = asked if asked.ways or asked.refused else None
        return rank_patterns(words, candidates, counts, total, app, same, wanted)[:limit]

    @_repairs_damage
    def get(self, id: int) -> ScriptPattern | None:
        """Return a pattern by its number."""
        with self._database.hold_connection() as base:
            return next(iter(self._select_patterns(base, "WHERE id = ?", (id,))), None)

    @_repairs_damage
    def all_patterns(self) -> list[ScriptPattern]:
        """Return all patterns, the latest first."""
        with self._database.hold_connection() as base:
            return self._select_patterns(base, "ORDER BY last DESC, id DESC", ())

    def successes_like(self, script: str, app: str, limit: int = 3) -> list[ScriptPattern]:
        """Return patterns that worked and share words with a script."""
        done = indexed_words("", app, script)[1]
        matches = self.find_patterns(f"{app.rpartition('.')[2]} {done}"[:400], app=app, limit=10)
        return [row.pattern for row in matches if row.pattern.is_trusted][:limit]

    @_repairs_damage
    def forget_patterns(self, ids: Sequence[int] | None = None) -> int:
        """Remove patterns by number, or all; return how many there were."""
        with self._database.begin_transaction() as base:
            if ids is None:
                gone = [row[0] for row in base.execute("DELETE FROM patterns RETURNING id")]
            else:
                gone = [
                    row[0]
                    for id in ids
                    for row in base.execute("DELETE FROM patterns WHERE id = ? RETURNING id", (id,))
                ]
            base.executemany("DELETE FROM words WHERE rowid = ?", [(id,) for id in gone])
            return len(gone)

    @_repairs_damage
    def read_stats(self) -> PatternStats:
        """Return what was learned."""
        with self._database.hold_connection() as base:
            count, good, bad = base.execute(
                "SELECT count(*), total(successes), total(failures) FROM patterns"
            ).fetchone()
            apps = base.execute(
                "SELECT app, sum(successes), sum(failures) FROM patterns WHERE app != ''"
                " GROUP BY app ORDER BY sum(successes + failures) DESC, app LIMIT 20"
            ).fetchall()
            failing = self._select_patterns(
                base, "WHERE failures > successes ORDER BY failures DESC, last DESC LIMIT 5", ()
            )
        return PatternStats(count, int(good), int(bad), tuple(apps), tuple(failing))

    def _add_pattern(
        self, base: sqlite3.Connection, row: ScriptPattern, *, bound: bool = True
    ) -> int:
        same = self._select_patterns(base, "WHERE digest = ?", (row.digest,))
        if same:
            known = same[0]
            script, better = known.script, row.successes > 0
            if better:
                language: Language = "javascript" if row.language == "javascript" else "applescript"
                both = known.successes > 0 and script and row.script
                script = widen_placeholders(script, row.script, language) if both else row.script
            if row.provenance == "import":
                return known.id
            base.execute(
                "UPDATE patterns SET successes = successes + :successes,"
                " failures = failures + :failures, kind = :kind, error = :error, script = :script,"
                " number = :number, milliseconds = :milliseconds, last = max(last, :last),"
                " level = :level, effects = :effects, provenance = :provenance WHERE id = :id",
                {**row._asdict(), "id": known.id, "script": script},
            )
            return known.id
        marks = ", ".join("?" * (len(ScriptPattern._fields) - 1))
        names = ", ".join(ScriptPattern._fields[1:])
        id = base.execute(f"INSERT INTO patterns ({names}) VALUES ({marks})", row[1:]).lastrowid  # noqa: S608
        words = _index_pattern(base, int(id or 0), row)
        for word in {*words[0].split(), *words[1].split()}:
            self._counts[word] = self._counts.get(word, 0) + 1
        self._counted += 1
        if bound:
            self._keep_bound(base)
        return int(id or 0)

    def _keep_bound(self, base: sqlite3.Connection) -> None:
        count = base.execute("SELECT count(*) FROM patterns").fetchone()[0]
        if count > self._limit:
            extra = count - self._limit + self._limit // 20
            gone = base.execute(_USELESS, (extra,)).fetchall()
            base.executemany("DELETE FROM words WHERE rowid = ?", gone)

    def _known_counts(self, base: sqlite3.Connection) -> Mapping[str, int]:
        """Return how many patterns have each word; of many patterns nearly, which is enough."""
        latest = base.execute("SELECT seq FROM sqlite_sequence WHERE name = 'patterns'").fetchone()
        total = int(latest[0]) if latest else 0
        few = self._counted < _WIDEST
        if total != self._counted and (few or abs(total - self._counted) > self._counted // 4):
            self._counts = dict(base.execute("SELECT term, doc FROM counts"))
            self._counted = total
        return self._counts

    def _select_patterns(
        self, base: sqlite3.Connection, clause: str, values: tuple[Any, ...]
    ) -> list[ScriptPattern]:
        text = f"SELECT {_COLUMNS} FROM patterns {clause}"  # noqa: S608 (constant clauses)
        return [ScriptPattern(*row) for row in base.execute(text, values)]


def _match_query(
    words: Mapping[str, Mapping[str, float]], counts: Mapping[str, int]
) -> tuple[str, bool]:
    """Return the query: the words that tell most, as many as about `_WIDEST` patterns have.

    Also whether more have them: even the word that tells most can be a common one.
    """
    options_of_all = {option for options in words.values() for option in options}
    wanted = sorted(options_of_all & counts.keys(), key=lambda word: (counts[word], word))
    kept: list[str] = []
    rows = 0
    for word in wanted:
        if kept and rows + counts[word] > _WIDEST:
            break
        rows += counts[word]
        kept.append(word)
    return " OR ".join(f'"{word}"' for word in kept), rows > _WIDEST
