"""`python -m tests.bench NAME…`: run benchmarks; the exit code tells whether every ratio kept its bound."""

from __future__ import annotations

import sys

LISTS = {"list": "first", "list-deep": "deep", "list-1000": "thousand"}


def main(names: list[str]) -> int:
    """Run these, or all."""
    unknown = [n for n in names if n not in LISTS]
    if unknown:
        print(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(LISTS)}.", file=sys.stderr)
        return 2
    kept = True
    lists = [n for n in (names or LISTS) if n in LISTS]
    if lists:
        from tests.bench.lists import Lists

        here = Lists()
        for name in lists:
            kept &= getattr(here, LISTS[name])()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
