"""Every resource that has an address keeps the contract, in a class of its own."""

from __future__ import annotations

from collections.abc import Iterator

import config.urls  # the routes are made there
from core.api.routers import routed
from tests.api import test_compute_contract, test_identity, test_tasks, test_tokens
from tests.api.contract import ReadContract, WriteContract

assert config.urls.urlpatterns
HOMES = (test_compute_contract, test_identity, test_tasks, test_tokens)


def contracts() -> Iterator[type[ReadContract]]:
    for module in HOMES:
        for name, found in vars(module).items():
            if name.startswith("Test") and isinstance(found, type) and issubclass(found, ReadContract):
                yield found


def test_no_resource_is_left_out() -> None:
    kept = {contract.url.split("/")[-2] for contract in contracts()}
    # Tags are whose their objects are, of every kind: `tests/domain/tags` says what they keep.
    assert kept | {"tags"} == {viewset.path or viewset.right.rpartition(".")[2] for viewset in routed}


def test_what_can_be_made_is_tested_as_such() -> None:
    """Who offers writes keeps the contract of writes; tokens are made by logging in, which no such body describes."""
    for contract in contracts():
        if "create" in contract.offers and contract is not test_tokens.TestTokens:
            assert issubclass(contract, WriteContract), contract.__name__


def test_a_test_that_does_not_apply_is_not_there() -> None:
    tests = {c.__name__: {n for n in dir(c) if n.startswith("test_") and callable(getattr(c, n))} for c in contracts()}
    assert "test_change" in tests["TestUsers"] and "test_change" not in tests["TestRoleAssignments"]
    assert "test_delete_of_a_foreign_object_is_404" in tests["TestRoleAssignments"]
    assert "test_a_foreign_id_is_like_a_made_up_one" not in tests["TestRoles"]
