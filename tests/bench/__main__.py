"""`python -m tests.bench NAME…`: run benchmarks; the exit code tells whether every ratio kept its bound."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

# Name → the module and class that prepares it, and the method that runs it. One preparation serves all of its benchmarks.
BENCHES = {
    "list": ("lists", "Lists", "first"),
    "list-deep": ("lists", "Lists", "deep"),
    "list-1000": ("lists", "Lists", "thousand"),
    "sync-first": ("syncing", "Syncs", "first"),
    "sync-again": ("syncing", "Syncs", "again"),
    "task": ("tasks", "Tasks", "task"),
    "scale": ("tasks", "Tasks", "scale"),
}


def main(names: list[str]) -> int:
    """Run these, or all."""
    unknown = [n for n in names if n not in BENCHES]
    if unknown:
        print(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}.", file=sys.stderr)
        return 2
    kept = True
    prepared: dict[str, Any] = {}
    try:
        for name in names or BENCHES:
            module, preparation, method = BENCHES[name]
            if module not in prepared:
                prepared[module] = getattr(import_module(f"tests.bench.{module}"), preparation)()
            kept &= getattr(prepared[module], method)()
    finally:
        for one in prepared.values():
            if hasattr(one, "close"):
                one.close()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
