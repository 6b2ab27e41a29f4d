"""How a memory cloud behaves: how long changes take, how long pages are, what its catalogue offers.

Kept in the cloud's own file, so that every process sees the same. Values only; it decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from compute.clouds.memory.store import Transaction

SERVICES = ("identity", "network", "load-balancer")


@dataclass(frozen=True)
class Knobs:
    """`settle_reads`: a balancer shows PENDING_* for that many reads of it alone, then it is ready.
    `settle_seconds`: and at least for that long.
    With 0 and 0 the answer to a write says PENDING_* and the next read is ACTIVE.

    `page_size`: objects in one page of a list. `token_calls`: a token is good for so many calls (0: for ever).
    `catalogue`: services by region. `providers`: of balancers, the first is the default.
    """

    settle_reads: int = 0
    settle_seconds: float = 0.0
    page_size: int = 500
    token_calls: int = 0
    catalogue: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    providers: tuple[str, ...] = ("amphora", "octavia")


def load(tx: Transaction) -> Knobs:
    """The knobs as they stand in the file."""
    stored = dict(tx.sql.execute("SELECT name, value FROM knob").fetchall())
    values = {f.name: json.loads(stored[f.name]) for f in fields(Knobs) if f.name in stored}
    if "catalogue" in values:
        values["catalogue"] = {region: tuple(services) for region, services in values["catalogue"].items()}
    if "providers" in values:
        values["providers"] = tuple(values["providers"])
    return Knobs(**values)


def save(tx: Transaction, **values: Any) -> None:
    """Change some knobs. Raises `TypeError` for one that there is not."""
    Knobs(**values)
    tx.sql.executemany(
        "INSERT OR REPLACE INTO knob (name, value) VALUES (?, ?)",
        [(name, json.dumps(value)) for name, value in values.items()],
    )
