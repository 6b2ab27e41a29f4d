"""Readers of a sync: their order, their errors, how far ahead they may be, how they stop, and what the job's watch is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from compute.clouds import calls
from compute.clouds.calls import Call
from compute.clouds.errors import Unreachable
from compute.clouds.specs import State
from compute.sync import ahead
from compute.sync.ahead import LOT, MOST_AHEAD, MOST_LOTS, Ahead

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Job:
    """As much of a task's context as readers need. `says`: called while the job waits."""

    def __init__(self, says: Callable[[], None] = lambda: None) -> None:
        self.guard_lazily = says
        self.check_cancel = lambda: None

    def now(self) -> datetime:
        return BEGAN


class Watch:
    """Notes calls, with the thread that told of them."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def before(self, call: Call) -> None:
        return None

    def after(self, call: Call) -> None:
        self.told.append((call.path, threading.current_thread().name))


def opened(says: Callable[[], None] = lambda: None) -> Ahead:
    return Ahead(cast(Any, Job(says)))


def call(path: str, method: str = "GET") -> None:
    """As a driver makes one."""
    calls.before(Call("network", method, path))
    calls.after(Call("network", method, path, status=200))


def states(count: int, made: list[int] | None = None) -> Iterator[State]:
    for number in range(count):
        if made is not None:
            made.append(number)
        yield State("network", f"n-{number}")


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_listings_that_were_begun_together_are_whole_and_in_order() -> None:
    with opened() as readers:
        readers.begin("a", BEGAN, lambda: states(3 * LOT + 1))
        readers.begin("b", BEGAN, lambda: states(2))
        assert [s.external_id for s in readers.taken("b", lambda: states(0))] == ["n-0", "n-1"]
        assert len(list(readers.taken("a", lambda: states(0)))) == 3 * LOT + 1
        assert list(readers.taken("a", lambda: states(0))) == [], "a second time it is read anew"


def test_an_error_comes_where_the_listing_broke_off() -> None:
    def broken() -> Iterator[State]:
        yield from states(LOT + 5)
        raise Unreachable("no answer")

    got: list[State] = []
    with opened() as readers:
        readers.begin("a", BEGAN, broken)
        with pytest.raises(Unreachable):
            for state in readers.taken("a", broken):
                got.append(state)
    assert len(got) == LOT + 5


def test_a_reader_that_is_far_ahead_waits() -> None:
    made: list[int] = []
    with opened() as readers:
        readers.begin("a", BEGAN, lambda: states(100 * LOT, made))
        until(lambda: len(made) >= MOST_LOTS * LOT)
        time.sleep(0.2)
        assert len(made) <= (MOST_LOTS + 1) * LOT
        assert len(list(readers.taken("a", lambda: states(0)))) == 100 * LOT


def test_objects_come_in_their_order_and_few_are_read_ahead() -> None:
    asked: list[int] = []

    def look(number: int) -> int:
        asked.append(number)
        time.sleep(0.02 if number % 2 else 0)
        if number == 7:
            raise Unreachable("no answer")
        return number

    with opened() as readers:
        found = readers.each(range(200), look)
        first = next(found)
        time.sleep(0.3)
        assert len(asked) <= MOST_AHEAD
        rest = [first, *found]
    assert [one.item for one in rest] == list(range(200))
    assert [one.item for one in rest if one.error is not None] == [7]


def test_the_jobs_own_thread_tells_the_watch_of_every_call() -> None:
    watch = Watch()

    def listing() -> Iterator[State]:
        call("/networks")
        yield from states(1)

    with calls.watching(watch), opened() as readers:
        list(readers.taken("", listing))
        list(readers.each(range(3), lambda number: call(f"/pools/{number}")))
    assert sorted(path for path, _ in watch.told) == ["/networks", "/pools/0", "/pools/1", "/pools/2"]
    assert {name for _, name in watch.told} == {threading.current_thread().name}


def test_calls_of_what_nobody_took_are_told_at_the_end() -> None:
    watch, made = Watch(), threading.Event()

    def listing() -> Iterator[State]:
        call("/networks")
        made.set()
        yield from states(1)

    with calls.watching(watch), opened() as readers:
        readers.begin("a", BEGAN, listing)
        assert made.wait(10)
    assert [path for path, _ in watch.told] == ["/networks"]


def test_readers_stop_before_their_next_call() -> None:
    ended: list[BaseException] = []
    go = threading.Event()

    def listing() -> Iterator[State]:
        try:
            yield from states(1)
            go.wait(10)
            call("/networks")
        except BaseException as error:
            ended.append(error)
            raise

    with opened() as readers:
        readers.begin("a", BEGAN, listing)
    go.set()
    until(lambda: bool(ended))
    assert isinstance(ended[0], ahead.Stopped)


def test_a_job_that_waits_finds_out_that_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "LOOK_UP", 0.05)
    silent = threading.Event()

    def cancelled() -> None:
        raise KeyboardInterrupt

    def listing() -> Iterator[State]:
        silent.wait(10)
        yield from states(1)

    try:
        with opened(cancelled) as readers, pytest.raises(KeyboardInterrupt):
            list(readers.taken("", listing))
    finally:
        silent.set()


def test_a_reader_changes_nothing() -> None:
    with opened() as readers:
        (found,) = readers.each(["x"], lambda _: call("/networks/1", "DELETE"))
    assert isinstance(found.error, RuntimeError)
