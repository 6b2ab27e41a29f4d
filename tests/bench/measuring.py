"""What benchmarks share: a PostgreSQL database of their own, taking turns, and the one line of JSON at the end.

A figure is only as good as its floor: both are measured by turns in one process, so that a slow moment hits both.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import environ
import psycopg2
from psycopg2 import sql

DATABASE = "skydeck_bench"


def postgres() -> str:
    """The server that benchmarks make their database on, as a URL."""
    return os.environ.get("SKYDECK_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")


def use_own_database(name: str = DATABASE) -> None:
    """Make an empty database and point `DATABASE_URL` at it. Call before Django is set up."""
    url = postgres()
    parts = environ.Env.db_url_config(url)
    link = psycopg2.connect(
        host=parts["HOST"], port=parts["PORT"] or 5432, user=parts["USER"], password=parts["PASSWORD"], dbname=parts["NAME"]
    )  # fmt: skip
    link.autocommit = True
    with link.cursor() as cursor:
        cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    link.close()
    os.environ["DATABASE_URL"] = url.rpartition("/")[0] + f"/{name}"


def by_turns(calls: Sequence[Callable[[], Any]], *, rounds: int, warm: int = 3) -> list[list[float]]:
    """Milliseconds of every call in every round, measured by turns after some rounds that do not count."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(rounds + warm):
        for place, call in enumerate(calls):
            began = time.perf_counter()
            call()
            if number >= warm:
                times[place].append((time.perf_counter() - began) * 1000)
    return times


def p50(times: Sequence[float]) -> float:
    """The median."""
    return statistics.median(times)


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements that reach the database meanwhile."""
    from django.db import connection

    seen: list[str] = []

    def note(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        seen.append(statement)
        return execute(statement, params, many, context)

    with connection.execute_wrapper(note):
        yield seen


def say(text: str) -> None:
    """Progress, on stderr: the last line of stdout is the result."""
    print(text, file=sys.stderr, flush=True)


def report(
    bench: str, ratio: float, *, at_most: float | None = None, at_least: float | None = None, **detail: Any
) -> bool:
    """Print the one line of a benchmark; False when the ratio misses its bound, if it has one."""
    bound = {k: v for k, v in (("at_most", at_most), ("at_least", at_least)) if v is not None}
    line = {"bench": bench, "ratio": round(ratio, 3), "unit": "ratio", "detail": {**bound, **detail}}
    print(json.dumps(line), flush=True)
    return not (at_most is not None and ratio > at_most) and not (at_least is not None and ratio < at_least)
