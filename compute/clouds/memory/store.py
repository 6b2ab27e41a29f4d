"""One SQLite file per cloud: what every process and thread sees, and what survives the death of any of them.

It keeps rows and transactions and knows nothing of load balancers. It must not use Django's ORM: drivers never do, and
a task's transaction must not reach into a cloud's state.
"""

# ruff: noqa: S608  (queries are put together from names of columns in this package; values are always bound)

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Doc = dict[str, Any]

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")
COLUMNS = "seq, kind, id, parent, root, link, project, name, address, doc"
SCHEMA = """
CREATE TABLE object (
    seq INTEGER PRIMARY KEY, region TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
    parent TEXT NOT NULL, root TEXT NOT NULL, link TEXT NOT NULL,
    project TEXT NOT NULL, name TEXT NOT NULL, address TEXT NOT NULL, doc TEXT NOT NULL
);
CREATE UNIQUE INDEX object_id ON object (region, kind, id);
CREATE INDEX object_list ON object (region, kind, seq);
CREATE INDEX object_project ON object (region, kind, project, seq);
CREATE INDEX object_name ON object (region, kind, name);
CREATE INDEX object_parent ON object (region, kind, parent, seq);
CREATE INDEX object_link ON object (region, kind, link) WHERE link <> '';
CREATE INDEX object_root ON object (region, root, seq) WHERE root <> '';
CREATE TABLE tag (region TEXT, kind TEXT, tag TEXT, id TEXT, PRIMARY KEY (region, kind, tag, id)) WITHOUT ROWID;
CREATE INDEX tag_of ON tag (region, kind, id);
CREATE TABLE pending (
    region TEXT, root TEXT, reads INTEGER NOT NULL, until REAL NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (region, root)
);
CREATE TABLE stale (
    region TEXT, kind TEXT, id TEXT, reads INTEGER NOT NULL, doc TEXT, PRIMARY KEY (region, kind, id)
);
CREATE TABLE fault (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, region TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL,
    kind TEXT NOT NULL, times INTEGER, skip INTEGER NOT NULL, params TEXT NOT NULL
);
CREATE TABLE knob (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class NoSuchCloud(Exception):
    """There is no file for a cloud of this name."""


@dataclass
class Row:
    """One object of a cloud. `doc` is the API's own object; the rest is what it is looked up by.

    `parent`: what it lies in (a member's pool). `root`: the balancer whose tree it belongs to. `link`: what it points
    to (a listener's default pool, a floating IP's port).
    """

    kind: str
    id: str
    doc: Doc = field(default_factory=dict)
    parent: str = ""
    root: str = ""
    link: str = ""
    project: str = ""
    name: str = ""
    address: str = ""
    seq: int = 0


class Transaction:
    """The objects of one region, inside an open transaction of this thread."""

    def __init__(self, connection: sqlite3.Connection, region: str) -> None:
        self.sql = connection
        self.region = region

    def at(self, region: str) -> Transaction:
        """The same transaction, looking at another region; "" holds what has no region."""
        return Transaction(self.sql, region)

    def get(self, kind: str, id: str) -> Row | None:
        rows = self._rows("region=? AND kind=? AND id=?", (self.region, kind, id))
        return rows[0] if rows else None

    def find(
        self,
        kind: str,
        *,
        tag: str = "",
        ids: Sequence[str] | None = None,
        after: int = 0,
        limit: int = -1,
        **equal: str,
    ) -> list[Row]:
        """Rows of a kind in the order in which they were made. `equal`: columns that must have this value."""
        # The planner would rather walk a whole kind or project in order than look few rows up; "+" keeps it from that.
        narrow = bool(tag) or ids is not None or bool(set(equal) - {"project"})
        seq = "+seq" if narrow else "seq"
        where, values = ["region=?", "kind=?", f"{seq}>?"], [self.region, kind, after]
        for column, value in equal.items():
            # The second half lets it use an index that leaves empty values out.
            also = f" AND {column}<>''" if column in ("root", "link") else ""
            where.append(f"{'+' if narrow and column == 'project' else ''}{column}=?{also}")
            values.append(value)
        if tag:
            where.append("id IN (SELECT id FROM tag WHERE region=? AND kind=? AND tag=?)")
            values += [self.region, kind, tag]
        if ids is not None:
            where.append("id IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(list(ids)))
        return self._rows(" AND ".join(where) + f" ORDER BY {seq} LIMIT ?", (*values, limit))

    def tree(self, root: str) -> list[Row]:
        """Everything of one balancer but itself."""
        return self._rows("region=? AND root=? AND root<>'' ORDER BY seq", (self.region, root))

    def everything(self) -> list[Row]:
        """All objects of the region, by kind and id."""
        return self._rows("region=? ORDER BY kind, id", (self.region,))

    def related(self, kind: str, column: str, values: Iterable[str]) -> dict[str, list[str]]:
        """Ids of a kind, grouped by a column that has one of these values: one query for a whole page of objects."""
        found: dict[str, list[str]] = {}
        query = (
            f"SELECT {column}, id FROM object WHERE region=? AND kind=? AND {column} <> ''"
            f" AND {column} IN (SELECT value FROM json_each(?)) ORDER BY +seq"
        )
        for value, id in self.sql.execute(query, (self.region, kind, json.dumps(list(values)))):
            found.setdefault(value, []).append(id)
        return found

    def count(self, kind: str, **equal: str) -> int:
        where = "".join(f" AND {column}=?" for column in equal)
        query = f"SELECT count(*) FROM object WHERE region=? AND kind=?{where}"
        return int(self.sql.execute(query, (self.region, kind, *equal.values())).fetchone()[0])

    def insert(self, row: Row) -> Row:
        """Add a row. Raises `sqlite3.IntegrityError` when its id is taken."""
        cursor = self.sql.execute(
            "INSERT INTO object (region, kind, id, parent, root, link, project, name, address, doc)"
            " VALUES (?,?,?,?,?,?,?,?,?,?)",
            (
                self.region, row.kind, row.id, row.parent, row.root, row.link,
                row.project, row.name, row.address, json.dumps(row.doc),
            ),
        )  # fmt: skip
        row.seq = int(cursor.lastrowid or 0)
        self._tag(row)
        return row

    def save(self, row: Row) -> Row:
        self.sql.execute(
            "UPDATE object SET parent=?, root=?, link=?, project=?, name=?, address=?, doc=? WHERE seq=?",
            (row.parent, row.root, row.link, row.project, row.name, row.address, json.dumps(row.doc), row.seq),
        )
        if "tags" in row.doc:
            self.sql.execute("DELETE FROM tag WHERE region=? AND kind=? AND id=?", (self.region, row.kind, row.id))
            self._tag(row)
        return row

    def remove(self, row: Row) -> None:
        self.sql.execute("DELETE FROM object WHERE seq=?", (row.seq,))
        self.sql.execute("DELETE FROM tag WHERE region=? AND kind=? AND id=?", (self.region, row.kind, row.id))

    def _tag(self, row: Row) -> None:
        if tags := row.doc.get("tags"):
            self.sql.executemany(
                "INSERT OR IGNORE INTO tag (region, kind, tag, id) VALUES (?,?,?,?)",
                [(self.region, row.kind, tag, row.id) for tag in tags],
            )

    def _rows(self, where: str, values: Sequence[Any]) -> list[Row]:
        found = self.sql.execute(f"SELECT {COLUMNS} FROM object WHERE {where}", values)
        return [
            Row(
                seq=seq, kind=kind, id=id, parent=parent, root=root, link=link,
                project=project, name=name, address=address, doc=json.loads(doc),
            )
            for seq, kind, id, parent, root, link, project, name, address, doc in found
        ]  # fmt: skip


class Store:
    """The file of one cloud. Each thread has its own connection; a forked child opens new ones."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._opened = 0  # rises with `close`: connections of an earlier count are not used any more

    @contextmanager
    def writing(self, region: str = "") -> Iterator[Transaction]:
        """A transaction that holds the file's write lock from its start; rolled back when the block raises."""
        yield from self._transaction("BEGIN IMMEDIATE", region)

    @contextmanager
    def reading(self, region: str = "") -> Iterator[Transaction]:
        """A transaction that sees one state of the cloud."""
        yield from self._transaction("BEGIN", region)

    def any(self, query: str, *values: Any) -> bool:
        """Whether a query finds a row, without opening a transaction: the quick look before a rare write."""
        return self._connection().execute(query, values).fetchone() is not None

    def close(self) -> None:
        """Give up the connections: this thread's now, those of others when they next want one."""
        kept = getattr(self._local, "connection", None)
        if kept is not None:
            kept[1].close()
        self._opened += 1

    def _transaction(self, begin: str, region: str) -> Iterator[Transaction]:
        connection = self._connection()
        connection.execute(begin)
        try:
            yield Transaction(connection, region)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite ends it by itself when the disk is full
                connection.execute("ROLLBACK")
            raise

    def _connection(self) -> sqlite3.Connection:
        valid = (os.getpid(), self._opened)
        kept: tuple[tuple[int, int], sqlite3.Connection] | None = getattr(self._local, "connection", None)
        if kept is not None and kept[0] == valid:
            return kept[1]
        if not self.path.exists():
            raise NoSuchCloud(self.path.stem)
        connection = connect(self.path)
        self._local.connection = (valid, connection)
        return connection


def connect(path: Path) -> sqlite3.Connection:
    """A connection that waits for others and is quick; losing the last changes matters only when the machine dies."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-8000")
    return connection


def create(path: Path) -> None:
    """Make an empty cloud. The file appears whole or not at all. Raises `FileExistsError` when there is one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = connect(draft)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        connection.close()  # the last one to close writes the journal back, so the file can be moved
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


_stores: dict[Path, Store] = {}
_stores_lock = threading.Lock()


def store_at(folder: Path, name: str) -> Store:
    """The store of a cloud, one per file and process. Raises `NoSuchCloud` for a name that cannot be one."""
    if not NAME.fullmatch(name):
        raise NoSuchCloud(name)
    path = folder / f"{name}.sqlite3"
    with _stores_lock:
        return _stores.setdefault(path, Store(path))
