"""The system keeps an administrator, in whatever way the last ones are removed, also two at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from core.access import Actor, product_actor
from core.errors import ForbiddenError, Problem
from identity.access.models import Role, RoleAssignment
from identity.access.services import assignment_delete
from identity.directory import services
from identity.directory.models import Domain, User
from tests.conftest import give

Removal = Callable[[User, Actor], object]


def take_role(user: User, actor: Actor) -> object:
    return assignment_delete(user.role_assignments.get(), actor=actor)


def disable_domain(user: User, actor: Actor) -> object:
    return services.domain_disable(user.domain, actor=actor)


REMOVALS: dict[str, Removal] = {
    "role": take_role,
    "disable": lambda user, actor: services.user_disable(user, actor=actor),
    "delete": lambda user, actor: services.user_delete(user, actor=actor),
    "domain": disable_domain,
}


def two_admins(roles: dict[str, Role]) -> list[User]:
    """Each lives in a domain of their own."""
    users = []
    for name in ("one", "two"):
        domain = Domain.objects.create(name=f"home-{name}")
        users.append(User.objects.create(domain=domain, name=name))
        give(users[-1], roles["admin"])
    return users


def admins_left() -> int:
    return RoleAssignment.objects.filter(role__name="admin", user__enabled=True, user__domain__enabled=True).count()


@pytest.mark.parametrize("how", REMOVALS)
def test_the_last_administrator_stays(roles: dict[str, Role], how: str) -> None:
    first, last = two_admins(roles)
    REMOVALS[how](first, product_actor("test"))
    with pytest.raises(ForbiddenError, match="last administrator"):
        REMOVALS[how](last, product_actor("test"))
    assert admins_left() == 1


def test_all_administrators_of_one_domain_are_counted(roles: dict[str, Role]) -> None:
    first, second = two_admins(roles)
    User.objects.filter(pk=second.pk).update(domain=first.domain)
    with pytest.raises(ForbiddenError, match="last administrator"):
        services.domain_disable(first.domain, actor=product_actor("test"))
    services.domain_disable(second.domain, actor=product_actor("test"))
    assert admins_left() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("other", REMOVALS)
@pytest.mark.parametrize("one", REMOVALS)
def test_two_at_once_leave_one(roles: dict[str, Role], one: str, other: str) -> None:
    users = two_admins(roles)
    barrier = threading.Barrier(2)
    refused: list[Problem] = []

    def remove(how: str, user: User) -> None:
        barrier.wait()
        try:
            REMOVALS[how](user, product_actor("test"))
        except Problem as problem:
            refused.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=remove, args=pair) for pair in zip((one, other), users, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert admins_left() == 1
    assert len(refused) == 1 and isinstance(refused[0], ForbiddenError)
