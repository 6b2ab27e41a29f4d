"""Faults on demand: what goes wrong at a cloud, put up by a test or a demonstration and used up call by call.

They lie in the cloud's own file, so a fault that one process puts up hits the calls of another. Faults only describe;
the wire and the server half act on them. A read is tried three times, as by the OpenStack driver: a passing failure
(`unreachable`, `html_503`) of a read shows only when it is put up for three calls, or for all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from compute.clouds.memory.store import Store

KINDS: Mapping[str, str] = {
    "do_then_500": "the change is made, the answer is 500",
    "do_then_lost": "the change is made, the connection is closed before the answer",
    "refuse": "`status` and `words` instead of the change",
    "busy": "409 immutable instead of the change",
    "unreachable": "no answer, no change",
    "html_503": "503 with a page of HTML, no change",
    "cut_list_after": "a list breaks off after `rows` objects with `status`",
    "empty_list": "a list answers 200 with nothing in it",
    "leave_out": "a list answers 200 and lacks the first `rows` objects of a page",
    "list_twice": "a list shows the objects of a page twice",
    "expired_token": "401; a new log-in helps",
    "never_active": "the change is accepted, the balancer stays PENDING_*",
    "error_status": "the change is accepted, the balancer ends in ERROR",
    "slow": "the answer takes `ms` longer; past the credential's time-out the change is made but no answer comes",
    "stale_read": "the next `reads` reads show the object as it was before the change",
    "gone": "404",
    "null_lists": "null where lists and objects should be",
}


@dataclass(frozen=True)
class Fault:
    """One fault as it meets a call."""

    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def get(self, name: str, default: Any) -> Any:
        return self.params.get(name, default)


NONE = Fault("")


class Faults:
    """The faults of one cloud: `cloud.faults.add(method="POST", path="*/members", kind="do_then_500")`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self,
        *,
        kind: str,
        method: str = "*",
        path: str = "*",
        times: int | None = 1,
        skip: int = 0,
        region: str = "*",
        **params: Any,
    ) -> None:
        """Put up a fault for calls whose method, path and region fit these patterns (`*` and `?` as in file names).

        `times`: so many calls, None for every call from now on. `skip`: let so many fitting calls pass first. One fault
        meets a call: the first one put up. Raises `ValueError` for a kind that there is not.
        """
        if kind not in KINDS:
            raise ValueError(f"There is no fault {kind!r}; there are {', '.join(KINDS)}.")
        with self._store.writing() as tx:
            tx.sql.execute(
                "INSERT INTO fault (region, method, path, kind, times, skip, params) VALUES (?,?,?,?,?,?,?)",
                (region, method, path, kind, times, skip, json.dumps(params)),
            )

    @contextmanager
    def adding(self, **fault: Any) -> Iterator[None]:
        """As `add`, for a block; afterwards no fault is left."""
        self.add(**fault)
        try:
            yield
        finally:
            self.clear()

    def clear(self) -> None:
        """Take down all faults, and let every read show the present."""
        with self._store.writing() as tx:
            tx.sql.execute("DELETE FROM fault")
            tx.sql.execute("DELETE FROM stale")

    def left(self) -> list[str]:
        """The kinds of the faults that are still up, oldest first."""
        with self._store.reading() as tx:
            return [kind for (kind,) in tx.sql.execute("SELECT kind FROM fault ORDER BY seq")]

    def take(self, *, method: str, path: str, region: str) -> Fault:
        """For the wire: the fault that meets this call, used up by it. Without one, `NONE`."""
        if not self._store.any("SELECT 1 FROM fault LIMIT 1"):
            return NONE
        with self._store.writing() as tx:
            rows = tx.sql.execute("SELECT seq, region, method, path, kind, times, skip, params FROM fault ORDER BY seq")
            for seq, in_region, verb, pattern, kind, times, skip, params in rows.fetchall():
                fits = fnmatchcase(region, in_region) and fnmatchcase(method, verb) and fnmatchcase(path, pattern)
                if not fits:
                    continue
                if skip:
                    tx.sql.execute("UPDATE fault SET skip = skip - 1 WHERE seq=?", (seq,))
                    continue
                if times is not None:
                    tx.sql.execute("UPDATE fault SET times = times - 1 WHERE seq=?", (seq,))
                    tx.sql.execute("DELETE FROM fault WHERE seq=? AND times <= 0", (seq,))
                return Fault(kind, json.loads(params))
        return NONE
