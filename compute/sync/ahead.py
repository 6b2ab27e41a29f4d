"""Reading ahead: threads that wait for the cloud while the job writes what was read before.

Readers talk to the cloud and to nothing else: never to the database, and they change nothing anywhere. Their calls are told to
the job's watch by the job's own thread, whenever it takes something from them or waits for it; so the lease is proved, calls are
counted and failures are listed as if it had made them. What a reader meets is raised where its answer is taken. Queues are
bounded: a reader that is far ahead waits.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Generic, TypeVar

from compute.clouds import calls
from compute.clouds.calls import Call
from compute.clouds.specs import State
from core.tasks.runner import Context

Item = TypeVar("Item")
Answer = TypeVar("Answer")

READERS = 4  # threads that read objects one by one
MOST_AHEAD = 16  # of those objects are read and not yet taken
LOT = 200  # objects of a listing are handed over together
MOST_LOTS = 5  # of a listing are read and not yet taken
LOOK_UP = 0.5  # seconds after which one who waits looks whether it is still worth it


class Stopped(Exception):
    """Nobody wants the answer any more: raised in a reader before its next call leaves."""


class _Relay:
    """The watch of the readers."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.made: deque[Call] = deque()

    def before(self, call: Call) -> None:
        if self.stopped.is_set():
            raise Stopped
        if call.is_write:
            raise RuntimeError(f"a reader must change nothing: {call.method} {call.path}")

    def after(self, call: Call) -> None:
        self.made.append(call)


@dataclass
class _End:
    """The last thing in the queue of a listing."""

    error: BaseException | None


@dataclass(frozen=True)
class Look(Generic[Item, Answer]):
    """What came of one object. `seconds`: how long its reader waited for the cloud."""

    item: Item
    answer: Answer | None
    error: Exception | None
    seconds: float


class Ahead:
    """The readers of one job. Use by `with`: at its end, however it comes, they stop before their next call."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._relay = _Relay()
        self._begun: dict[str, tuple[datetime, Iterator[State]]] = {}
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="sync-reader")

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        self._relay.stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        made, self._relay.made = self._relay.made, deque()
        watch = calls.current()
        for call in made if watch is not None else ():
            watch.after(call)  # type: ignore[union-attr]  # they were made: counted, whoever has the task by now

    def begin(self, key: str, began: datetime, listing: Callable[[], Iterable[State]]) -> None:
        """Read a listing from now on; `taken` gives it by its key. `began`: the database's time before."""
        self._begun[key] = (began, self._listed(listing))

    def began(self, key: str) -> datetime:
        """When the reading of that listing began: now, for one that nobody has begun."""
        began = self._begun.get(key)
        return began[0] if began else self._context.now()

    def taken(self, key: str, listing: Callable[[], Iterable[State]]) -> Iterator[State]:
        """The listing that was begun under this key, or this one, from now on."""
        begun = self._begun.pop(key, None)
        return begun[1] if begun else self._listed(listing)

    def each(self, items: Iterable[Item], look: Callable[[Item], Answer]) -> Iterator[Look[Item, Answer]]:
        """Look at each, several at once; the answers come in the order of the items."""
        running: deque[Future[Look[Item, Answer]]] = deque()
        try:
            for item in items:
                running.append(self._pool.submit(copy_context().run, partial(self._look, look, item)))
                if len(running) >= MOST_AHEAD:
                    yield self._result(running.popleft())
            while running:
                yield self._result(running.popleft())
        finally:
            for one in running:
                one.cancel()

    # -- in the job's thread

    def _tell(self) -> None:
        """Tell the job's watch of the calls that were made meanwhile. Raises what it raises."""
        watch = calls.current()
        while self._relay.made:
            call = self._relay.made.popleft()
            if watch is not None:
                watch.before(call)
                watch.after(call)

    def _still_wanted(self) -> None:
        """While one waits. Raises `LeaseLost`, `Cancelled`."""
        self._context.guard_lazily()
        self._context.check_cancel()

    def _result(self, future: Future[Look[Item, Answer]]) -> Look[Item, Answer]:
        while True:
            try:
                found = future.result(LOOK_UP)
            except NotYet:
                self._tell()
                self._still_wanted()
            else:
                self._tell()
                return found

    def _listed(self, listing: Callable[[], Iterable[State]]) -> Iterator[State]:
        lots: queue.Queue[list[State] | _End] = queue.Queue(MOST_LOTS)
        run = partial(copy_context().run, partial(self._fill, listing, lots))
        threading.Thread(target=run, name="sync-listing", daemon=True).start()
        return self._taken_from(lots)

    def _taken_from(self, lots: queue.Queue[list[State] | _End]) -> Iterator[State]:
        while True:
            try:
                lot = lots.get(timeout=LOOK_UP)
            except queue.Empty:
                self._tell()
                self._still_wanted()
                continue
            self._tell()
            if isinstance(lot, _End):
                if lot.error is not None:
                    raise lot.error
                return
            yield from lot

    # -- in a reader

    def _look(self, look: Callable[[Item], Answer], item: Item) -> Look[Item, Answer]:
        asked = time.monotonic()
        with calls.watching(self._relay):
            try:
                return Look(item, look(item), None, time.monotonic() - asked)
            except Exception as error:
                return Look(item, None, error, time.monotonic() - asked)

    def _fill(self, listing: Callable[[], Iterable[State]], lots: queue.Queue[list[State] | _End]) -> None:
        lot: list[State] = []
        error: BaseException | None = None
        with calls.watching(self._relay):
            try:
                for state in listing():
                    lot.append(state)
                    if len(lot) == LOT:
                        self._hand_over(lots, lot)
                        lot = []
            except Exception as met:
                error = met
        try:
            if lot:
                self._hand_over(lots, lot)
            self._hand_over(lots, _End(error))
        except Stopped:
            return

    def _hand_over(self, lots: queue.Queue[list[State] | _End], lot: list[State] | _End) -> None:
        while not self._relay.stopped.is_set():
            try:
                lots.put(lot, timeout=LOOK_UP)
            except queue.Full:
                continue
            return
        raise Stopped
