"""`list`, `list-deep`, `list-1000`: our list of balancers with details, against a bare view on the same rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from tests.bench.measuring import by_turns, counted, p50, report, say, use_own_database

BALANCERS = int(os.environ.get("SKYDECK_BENCH_BALANCERS", "100000"))
LIST = "/api/compute/loadbalancers/"
FLOOR = "/bench/floor/"


class Lists:
    """The product with its estate, asked through Django's whole stack."""

    def __init__(self) -> None:
        use_own_database()
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
        from django.conf import settings
        from django.core.management import call_command
        from django.test import Client

        import config.asgi  # noqa: F401  (the product as it is served)

        settings.ROOT_URLCONF = "tests.bench.floor"
        call_command("migrate", verbosity=0)
        from tests.bench import estate

        token = estate.administrator_token()
        say(f"Writing {BALANCERS} balancers …")
        estate.fill(BALANCERS)
        self.client = Client(headers={"Authorization": f"Token {token}"})

    def ask(self, address: str, *, limit: int, offset: int = 0) -> Callable[[], None]:
        """A call for one page, which has to have its rows."""
        wanted = min(limit, BALANCERS - offset)

        def call() -> None:
            answer = self.client.get(address, {"limit": limit, "offset": offset})
            assert answer.status_code == 200, answer.content[:500]
            body = json.loads(answer.content)
            assert len(body["results"]) == wanted and body["count"] == BALANCERS, (len(body["results"]), body["count"])

        return call

    def statements(self, *, limit: int, offset: int = 0) -> int:
        """How many statements a page of ours takes."""
        with counted() as seen:
            self.ask(LIST, limit=limit, offset=offset)()
        return len(seen)

    def first(self) -> bool:
        ours, floor = by_turns([self.ask(LIST, limit=20), self.ask(FLOOR, limit=20)], rounds=40)
        return report(
            "list", p50(ours) / p50(floor), at_most=3, rows=BALANCERS, ours_ms=round(p50(ours), 2),
            floor_ms=round(p50(floor), 2), statements=self.statements(limit=20),
        )  # fmt: skip

    def deep(self) -> bool:
        last, middle = BALANCERS - 20, BALANCERS // 2
        pages = [self.ask(LIST, limit=20, offset=n) for n in (0, middle, last)]
        first, half, deep = by_turns(pages, rounds=30)
        return report(
            "list-deep", p50(deep) / p50(first), at_most=1.5, rows=BALANCERS, first_ms=round(p50(first), 2),
            middle_ms=round(p50(half), 2), last_ms=round(p50(deep), 2),
        )  # fmt: skip

    def thousand(self) -> bool:
        ours, floor = by_turns([self.ask(LIST, limit=1000), self.ask(FLOOR, limit=1000)], rounds=15)
        few, many = self.statements(limit=20), self.statements(limit=1000)
        fits = report(
            "list-1000", p50(ours) / p50(floor), at_most=3, rows=BALANCERS, ours_ms=round(p50(ours), 2),
            floor_ms=round(p50(floor), 2), statements=many, statements_of_20=few,
        )  # fmt: skip
        return fits and few == many
