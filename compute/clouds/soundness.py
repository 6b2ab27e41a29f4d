"""What a cloud says of one object, judged before any row is written: texts that no column holds, numbers out of range, characters
and values that PostgreSQL refuses. One such object is left out and named; what lies beside it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from compute.clouds.errors import Unreachable
from compute.clouds.specs import State, TreeState

# The columns that take them, in characters. A description is cut, so it may be as long as it likes.
LONGEST: Mapping[str, int] = {
    "external_id": 128, "project_id": 128, "name": 255, "provisioning": 24, "operating": 24, "updated_at": 32,
}  # fmt: skip
LONGEST_FIELD: Mapping[str, int] = {
    "address": 64, "cidr": 64, "gateway_ip": 64, "provider": 64, "protocol": 24, "algorithm": 64, "availability_zone": 128,
    "flavor_id": 128, "port_id": 128, "subnet_id": 128, "network_id": 128, "project_id": 128, "domain_id": 128,
}  # fmt: skip
# The least and the most that the columns take.
MOST = 2**31 - 1
NUMBERS: Mapping[str, tuple[int, int]] = {
    "mtu": (0, MOST), "ip_version": (0, 2**15 - 1), "port": (0, MOST), "weight": (0, MOST), "connection_limit": (-1, MOST),
    "timeout_client_data": (0, MOST), "timeout_member_connect": (0, MOST), "timeout_member_data": (0, MOST),
}  # fmt: skip


def is_storable(value: Any) -> bool:
    """Whether a JSON value can be stored: no NUL, no lone surrogate, no NaN, at any depth."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError, RecursionError):
        return False
    # Written out, a NUL looks like the six characters that somebody may have typed: only then it is looked for.
    return "\\u0000" not in text or not _has_nul(value)


def fault_of(state: State) -> str:
    """Why an object cannot be stored, as the end of a sentence; "" for one that can."""
    if state.fault:
        return state.fault
    for name, limit in LONGEST.items():
        if fault := _text_fault(name, getattr(state, name), limit):
            return fault
    for name, limit in LONGEST_FIELD.items():
        if fault := _text_fault(name, state.fields.get(name), limit):
            return fault
    for name, (least, most) in NUMBERS.items():
        value = state.fields.get(name)
        if value is not None and (not isinstance(value, int) or not least <= value <= most):
            return f"its {name} is no number from {least} to {most}"
    cookie = (state.fields.get("session_persistence") or {}).get("cookie_name")
    if fault := _text_fault("cookie_name", cookie, 128):
        return fault
    said = [state.external_id, state.name, state.project_id, list(state.tags), state.provisioning, state.operating]
    if not is_storable([*said, dict(state.fields), dict(state.refs), dict(state.raw)]):
        return "it holds a character or a number that cannot be stored (NUL, half a character, NaN)"
    return ""


def check_sound(state: State) -> State:
    """The same object. Raises `Unreachable`, which names it, for one that cannot be stored."""
    if fault := fault_of(state):
        raise Unreachable(f"What the cloud says of {state.kind} {state.external_id} cannot be used: {fault}.")
    return state


def check_tree(tree: TreeState) -> TreeState:
    """As `check_sound`, for a balancer with all below it: a tree that lacks something would have it removed here."""
    for state in _states(tree):
        check_sound(state)
    return tree


def _states(tree: TreeState) -> Iterator[State]:
    yield tree.balancer
    yield from tree.listeners
    yield from tree.pools
    for members in tree.members.values():
        yield from members
    yield from tree.policies or ()
    yield from tree.monitors or ()


def _text_fault(name: str, value: object, limit: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return f"its {name} is no text"
    return f"its {name} is longer than {limit} characters" if len(value) > limit else ""


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, Mapping):
        return any(_has_nul(k) or _has_nul(v) for k, v in value.items())
    return isinstance(value, (list, tuple)) and any(map(_has_nul, value))
