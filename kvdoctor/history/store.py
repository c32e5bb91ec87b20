"""The history in one SQLite file.

Every change is one transaction with SQLite's rollback journal, synced: a process that is killed at
any moment loses at most the change it was making. (The write-ahead log would be quicker, and does
not work on the network file systems that many home folders lie on.) Entries are ordered by id,
never by time. A file that is damaged is set aside, never deleted; one that a newer kvdoctor wrote
is left alone.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from kvdoctor.clipboard import state_folder
from kvdoctor.data import asdict, replace
from kvdoctor.history.entry import Entry, HistoryError, Outcome, Packed, Place

NAME = "history.db"
MOST_ENTRIES = 500
MOST_BYTES = 64 * 1024 * 1024  # of compressed inputs
BUSY_SECONDS = 4.0  # another kvdoctor may be writing
APPLICATION = 0x6B764472  # "kvDr": a foreign database is no history
# Each step leads from the version of its index to the next one; user_version counts them.
STEPS = (
    """
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        started TEXT NOT NULL, changed TEXT NOT NULL,
        outcome TEXT NOT NULL, place TEXT NOT NULL, answers TEXT NOT NULL
    );
    CREATE TABLE inputs (
        entry INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
        position INTEGER NOT NULL, name TEXT NOT NULL, side TEXT NOT NULL,
        size INTEGER NOT NULL, left_out INTEGER NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (entry, position)
    );
    """,
)

T = TypeVar("T")


class Store:
    """One connection, for one thread. ``notices`` are sentences that the user must hear once."""

    def __init__(self, file: Path | None = None) -> None:
        """Open or make the file. Raises HistoryError."""
        self.notices: list[str] = []
        self.file = file if file is not None else state_folder() / NAME
        self._connection = self._opened()

    def close(self) -> None:
        self._connection.close()

    # -- writing --------------------------------------------------------------------------------

    def add(self, outcome: Outcome, place: Place, answers: Any, inputs: Sequence[Packed]) -> int:
        """A new entry; the oldest ones make room. Returns its id."""

        def change(made: sqlite3.Connection) -> int:
            now = _now()
            cursor = made.execute(
                "INSERT INTO entries (started, changed, outcome, place, answers)"
                " VALUES (?, ?, ?, ?, ?)",
                (now, now, _text(asdict(outcome)), _text(asdict(place)), _text(answers)),
            )
            number = int(cursor.lastrowid or 0)
            _put_inputs(made, number, inputs)
            _make_room(made, number)
            return number

        return self._change(change)

    def update(
        self,
        number: int,
        outcome: Outcome,
        place: Place,
        answers: Any,
        inputs: Sequence[Packed] | None = None,
    ) -> bool:
        """Change an entry; ``inputs`` too when given. False when it has been deleted."""

        def change(made: sqlite3.Connection) -> bool:
            row = (_now(), _text(asdict(outcome)), _text(asdict(place)), _text(answers), number)
            found = made.execute(
                "UPDATE entries SET changed = ?, outcome = ?, place = ?, answers = ? WHERE id = ?",
                row,
            ).rowcount
            if found and inputs is not None:
                made.execute("DELETE FROM inputs WHERE entry = ?", (number,))
                _put_inputs(made, number, inputs)
                _make_room(made, number)
            return bool(found)

        return self._change(change)

    def delete(self, number: int) -> bool:
        """Delete one entry with its inputs, overwritten in the file. False when it is not there."""
        return self._change(
            lambda made: bool(made.execute("DELETE FROM entries WHERE id = ?", (number,)).rowcount)
        )

    def delete_all(self) -> int:
        """Delete everything; returns how many entries there were."""
        many = self._change(lambda made: made.execute("DELETE FROM entries").rowcount)
        with self._told():
            self._connection.execute("VACUUM")
        return many

    # -- reading --------------------------------------------------------------------------------

    def entries(self, words: str = "") -> list[Entry]:
        """All entries that have every word, newest first, without their inputs' texts."""
        found = self._change(_all_entries, write=False)
        wanted = words.casefold().split()
        return [one for one in found if all(word in _searched(one) for word in wanted)]

    def entry(self, number: int) -> Entry | None:
        """One entry with its inputs."""

        def change(made: sqlite3.Connection) -> Entry | None:
            row = made.execute(f"{_SELECT} WHERE id = ?", (number,)).fetchone()
            if row is None:
                return None
            inputs = tuple(
                Packed(*one)
                for one in made.execute(
                    "SELECT name, side, size, left_out, data FROM inputs WHERE entry = ?"
                    " ORDER BY position",
                    (number,),
                )
            )
            return replace(_entry(row, tuple(one.name for one in inputs)), inputs=inputs)

        return self._change(change, write=False)

    def beside(self, number: int, step: int) -> int | None:
        """The id of the entry before (-1) or after (+1) ``number``; 0 stands after the last."""
        order, sign = ("DESC", "<") if step < 0 else ("ASC", ">")
        if number == 0:
            if step > 0:
                return None
            number = 2**62
        query = f"SELECT id FROM entries WHERE id {sign} ? ORDER BY id {order} LIMIT 1"  # noqa: S608
        row = self._change(lambda made: made.execute(query, (number,)).fetchone(), write=False)
        return int(row[0]) if row is not None else None

    # -- the file -------------------------------------------------------------------------------

    def _change(self, change: Callable[[sqlite3.Connection], T], *, write: bool = True) -> T:
        """Run one transaction, whole or not at all; on a damaged file once more on a fresh one."""
        with self._told():
            try:
                return self._transaction(change, write)
            except sqlite3.OperationalError:
                raise
            except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
                self._connection.close()
                self._set_aside(str(error), _identity(self.file))
                self._connection = self._connected()
                return self._transaction(change, write)

    def _transaction(self, change: Callable[[sqlite3.Connection], T], write: bool) -> T:
        made = self._connection
        made.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            result = change(made)
            made.execute("COMMIT")
        except BaseException:
            if made.in_transaction:
                made.execute("ROLLBACK")
            raise
        return result

    @contextmanager
    def _told(self) -> Iterator[None]:
        """SQLite's and the system's troubles as a HistoryError."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise HistoryError(f"no history: {reason}", file=str(self.file)) from error

    def _opened(self) -> sqlite3.Connection:
        with self._told():
            folder = self.file.parent
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self.file.exists():  # SQLite would make it readable for everybody
                os.close(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600))
            seen = _identity(self.file)
            try:
                return self._connected()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:
                self._set_aside(str(error), seen)
                return self._connected()

    def _connected(self) -> sqlite3.Connection:
        if not self.file.exists():
            os.close(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600))
        made = sqlite3.connect(
            self.file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            made.execute("PRAGMA foreign_keys = ON")
            made.execute("PRAGMA secure_delete = ON")
            made.execute("PRAGMA synchronous = FULL")
            self._prepare(made)
        except BaseException:
            made.close()
            raise
        return made

    def _prepare(self, made: sqlite3.Connection) -> None:
        """Make the tables, or bring an older form up to date; two processes may try at once."""
        version, application = _marks(made)
        if version == len(STEPS) and application == APPLICATION:
            if not _has_tables(made):
                raise sqlite3.DatabaseError("its tables are gone")
            return
        made.execute("BEGIN IMMEDIATE")
        try:
            version, application = _marks(made)
            if version > len(STEPS) and application == APPLICATION:
                raise HistoryError(
                    "no history: a newer kvdoctor wrote it",
                    file=str(self.file),
                    remedy="update kvdoctor, or move the file away",
                )
            if application not in (0, APPLICATION) or (application == 0 and _tables(made)):
                raise sqlite3.DatabaseError("it is no history of kvdoctor")
            for step in STEPS[version:]:
                for statement in step.split(";"):
                    made.execute(statement)
            made.execute(f"PRAGMA application_id = {APPLICATION}")
            made.execute(f"PRAGMA user_version = {len(STEPS)}")
            made.execute("COMMIT")
        except BaseException:
            if made.in_transaction:
                made.execute("ROLLBACK")
            raise

    def _set_aside(self, why: str, seen: tuple[int, int]) -> None:
        """Move a damaged file to a free name and say so; unless another kvdoctor just did."""
        with _alone(self.file.with_name(f"{NAME}.lock")):
            if _identity(self.file) != seen:
                return
            number = 1
            while (aside := self.file.with_name(f"{NAME}.damaged-{number}")).exists():
                number += 1
            self.file.rename(aside)
            journal = self.file.with_name(f"{self.file.name}-journal")
            if journal.exists():
                journal.rename(aside.with_name(f"{aside.name}-journal"))
        self.notices.append(f"the history was damaged ({why}): set aside as {aside}, begun anew")


_SELECT = "SELECT id, started, changed, outcome, place, answers FROM entries"


def _all_entries(made: sqlite3.Connection) -> list[Entry]:
    names: dict[int, list[str]] = {}
    for entry, name in made.execute("SELECT entry, name FROM inputs ORDER BY entry, position"):
        names.setdefault(entry, []).append(name)
    rows = made.execute(f"{_SELECT} ORDER BY id DESC").fetchall()
    return [_entry(row, tuple(names.get(row[0], ()))) for row in rows]


def _entry(row: tuple[Any, ...], names: tuple[str, ...]) -> Entry:
    number, started, changed, outcome, place, answers = row
    told, stood = json.loads(outcome), json.loads(place)
    return Entry(
        id=number,
        started=started,
        changed=changed,
        outcome=Outcome(**{**told, "fixes": tuple(told["fixes"])}),
        place=Place(**{**stood, "carried": tuple(stood["carried"])}),
        answers=json.loads(answers),
        names=names,
    )


def _searched(one: Entry) -> str:
    found = one.outcome
    parts = (
        found.title, found.record, found.error, found.cause, found.release, found.status,
        *found.fixes, *one.names, one.started, _text(one.answers),
    )  # fmt: skip
    return "\n".join(parts).casefold()


def _put_inputs(made: sqlite3.Connection, number: int, inputs: Sequence[Packed]) -> None:
    made.executemany(
        "INSERT INTO inputs (entry, position, name, side, size, left_out, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (number, at, one.name, one.side, one.size, one.left_out, one.data)
            for at, one in enumerate(inputs)
        ],
    )


def _make_room(made: sqlite3.Connection, kept: int) -> None:
    """Drop the oldest entries, but never ``kept``, until the rest is within both limits."""
    rows = made.execute(
        "SELECT id, (SELECT coalesce(sum(length(data)), 0) FROM inputs WHERE entry = entries.id)"
        " FROM entries ORDER BY id DESC"
    ).fetchall()
    total = 0
    for at, (number, size) in enumerate(rows):
        total += size
        if (at >= MOST_ENTRIES or total > MOST_BYTES) and number != kept:
            made.execute("DELETE FROM entries WHERE id = ?", (number,))


def _marks(made: sqlite3.Connection) -> tuple[int, int]:
    version = made.execute("PRAGMA user_version").fetchone()[0]
    return int(version), int(made.execute("PRAGMA application_id").fetchone()[0])


def _tables(made: sqlite3.Connection) -> set[str]:
    return {row[0] for row in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _has_tables(made: sqlite3.Connection) -> bool:
    return {"entries", "inputs"} <= _tables(made)


def _identity(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time, where the system can do that."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _text(what: Any) -> str:
    return json.dumps(what, ensure_ascii=False, default=str)
