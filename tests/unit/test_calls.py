"""Which calls to a cloud count as failures, for the task page: an answer that was to be expected is none."""

from __future__ import annotations

import pytest

from compute.clouds import calls
from compute.clouds.calls import Call


class _Watch:
    def __init__(self) -> None:
        self.told: list[Call] = []

    def before(self, call: Call) -> None:
        pass

    def after(self, call: Call) -> None:
        self.told.append(call)


@pytest.mark.parametrize(
    ("method", "status", "failure", "as_probe"),
    [
        ("GET", 200, False, False),
        ("GET", 403, True, False),
        ("GET", 401, True, False),
        ("GET", 404, False, False),
        ("GET", 500, True, True),
        ("GET", 0, True, True),
        ("PUT", 403, True, True),
        ("DELETE", 404, True, True),
        ("POST", 201, False, False),
    ],
)
def test_a_refusal_is_a_failure_unless_it_was_asked_for(
    method: str, status: int, failure: bool, as_probe: bool
) -> None:
    watch = _Watch()
    call = Call("identity", method, "/v3/projects", status=status)
    with calls.watching(watch):
        calls.after(call)
        with calls.probing():
            calls.after(call)
        calls.after(call)
    assert [told.is_failure for told in watch.told] == [failure, as_probe, failure]
