"""Backends as people paste them: one per line, `10.0.0.5:80 w5`, `[2001:db8::5]:80`, or an address alone. Pure: text and rules."""

from __future__ import annotations

import re
from typing import Any

from compute.loadbalancers.rules import check_port, check_weight, parse_address
from core.errors import InputParameterError, Problem, several

LINE = re.compile(
    r"^(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<plain>[^\s,;\[\]]+?))(?::(?P<port>\d{1,6}))?(?:[\s,;]+w(?:eight)?[\s=:]*(?P<weight>-?\d+))?$"
)
EXAMPLE = "10.0.0.5:80 w5"


def parse_backends(text: str, *, default_port: int | None = None) -> list[dict[str, Any]]:
    """The backends in a pasted text. Raises one problem that names every line that is not understood or cannot be.

    A comment starts with `#`. `default_port` is for lines that name none.
    """
    found: list[dict[str, Any]] = []
    wrong: list[Problem] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.split("#")[0].strip().rstrip(",;").strip()
        if not line:
            continue
        try:
            found.append(_backend(line, default_port))
            _checked(found[-1])
        except InputParameterError as problem:
            problem.detail, problem.field = f"Line {number}: {problem.detail}", "backends"
            wrong.append(problem)
    if wrong:
        raise several(wrong)
    return found


def target_of(text: str) -> tuple[str, int] | None:
    """The address and port of one backend as lists show it; None for any other text."""
    try:
        found = parse_backends(text)
    except Problem:
        return None
    return (str(parse_address(found[0]["address"])), found[0]["port"]) if len(found) == 1 else None


def _backend(line: str, default_port: int | None) -> dict[str, Any]:
    alone = line.split()[0]
    fits = LINE.match(line)
    if fits is None or (fits["plain"] and ":" in fits["plain"] and fits["port"] is None and not _is_six(fits["plain"])):
        raise InputParameterError(f"“{line}” is not understood. Write it like {EXAMPLE}.", field="backends")
    if fits["plain"] and _is_six(f"{fits['plain']}:{fits['port']}" if fits["port"] else fits["plain"]):
        address, port = re.split(r"[\s,;]", alone)[0], default_port  # an IPv6 address without brackets has no port
    else:
        address, port = fits["six"] or fits["plain"], int(fits["port"]) if fits["port"] else default_port
    if port is None:
        raise InputParameterError(f"“{line}” names no port. Write it like {EXAMPLE}.", field="backends")
    backend: dict[str, Any] = {"address": address, "port": port}
    if fits["weight"] is not None:
        backend["weight"] = int(fits["weight"])
    return backend


def _checked(backend: dict[str, Any]) -> None:
    """What the service asks of each value, asked here of every line, so that all that are wrong are told at once."""
    parse_address(backend["address"])
    check_port(backend["port"], field="port")
    if "weight" in backend:
        check_weight(backend["weight"])


def _is_six(text: str) -> bool:
    return text.count(":") >= 2
