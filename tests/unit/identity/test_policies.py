"""The built-in roles: who may do what, how far it reaches, and how a refusal reads. No database."""

from __future__ import annotations

import pytest

from core.access import Actor, Reach
from core.ids import new_id
from identity.access.engine import BuiltinEngine, NobodyEngine
from identity.access.policies import BUILTIN, Grant, grants_of, roles_with


def actor_with(*roles: str) -> Actor:
    reach = max((BUILTIN[r].scope for r in roles), key=lambda r: r.rank, default=Reach.NONE)
    return Actor(
        user_id=new_id(),
        name="ada",
        engine=BuiltinEngine("project “web”"),
        reach=reach,
        domain_id=new_id(),
        project_id=new_id(),
        roles=frozenset(roles),
    )


@pytest.mark.parametrize(
    ("role", "right", "reach"),
    [
        ("admin", "compute.loadbalancers.delete", Reach.SYSTEM),
        ("admin", "identity.domains.create", Reach.SYSTEM),
        ("system_reader", "compute.cloudaccounts.list", Reach.SYSTEM),
        ("system_reader", "compute.cloudaccounts.sync", Reach.NONE),
        ("system_reader", "identity.users.update", Reach.OWN),
        ("domain_admin", "compute.cloudaccounts.create", Reach.DOMAIN),
        ("domain_admin", "identity.users.create", Reach.DOMAIN),
        ("domain_admin", "identity.domains.get", Reach.DOMAIN),
        ("domain_admin", "identity.domains.create", Reach.NONE),
        ("domain_admin", "identity.domains.update", Reach.NONE),
        ("domain_reader", "compute.loadbalancers.list", Reach.DOMAIN),
        ("domain_reader", "compute.loadbalancers.create", Reach.NONE),
        ("project_admin", "compute.loadbalancers.create", Reach.PROJECT),
        ("project_admin", "compute.loadbalancerlisteners.delete", Reach.PROJECT),
        ("project_admin", "compute.eips.associate", Reach.PROJECT),
        ("project_admin", "compute.networks.list", Reach.PROJECT),
        ("project_admin", "compute.cloudregions.list", Reach.DOMAIN),
        ("project_admin", "compute.cloudaccounts.list", Reach.NONE),
        ("project_admin", "compute.networks.delete", Reach.NONE),
        ("project_admin", "core.tasks.cancel", Reach.PROJECT),
        ("project_admin", "identity.role_assignments.create", Reach.NONE),
        ("project_reader", "compute.loadbalancers.get", Reach.PROJECT),
        ("project_reader", "compute.loadbalancers.update", Reach.NONE),
        ("project_reader", "core.tasks.cancel", Reach.NONE),
        ("project_reader", "identity.users.get", Reach.OWN),
    ],
)
def test_what_the_built_in_roles_grant(role: str, right: str, reach: Reach) -> None:
    assert actor_with(role).decide(right).reach == reach


def test_the_widest_of_several_roles_counts_and_is_named() -> None:
    decision = actor_with("project_reader", "domain_admin").decide("compute.loadbalancers.list")
    assert (decision.reach, decision.policy) == (Reach.DOMAIN, "domain_admin")


def test_a_refusal_names_the_right_the_roles_that_grant_it_and_the_scope() -> None:
    reason = actor_with("project_reader").decide("compute.loadbalancers.create").reason
    assert reason == (
        "In project “web” your roles (project_reader) do not grant compute.loadbalancers.create. "
        "Roles that grant it: admin, domain_admin and project_admin."
    )
    assert "you have no role" in actor_with().decide("compute.loadbalancers.list").reason


def test_rule_105_an_unknown_right_is_refused_below_the_system() -> None:
    for role in BUILTIN.values():
        expected = Reach.SYSTEM if role.name == "admin" else Reach.NONE
        assert actor_with(role.name).decide("space.rockets.launch").reach == expected


def test_strangers_are_refused_everything() -> None:
    actor = Actor(user_id=None, name="anonymous", engine=NobodyEngine())
    assert not actor.may("identity.roles.list")


def test_a_pattern_covers_rights_of_the_same_form_only() -> None:
    grant = Grant("compute.loadbalancer*.*", Reach.PROJECT)
    assert grant.covers("compute.loadbalancerbackends.create")
    assert not grant.covers("compute.eips.create")
    assert not grant.covers("compute.loadbalancers")
    assert not grant.covers("compute.loadbalancers.create.more")


def test_no_role_reaches_further_than_where_it_is_given() -> None:
    for role in BUILTIN.values():
        limit = Reach.DOMAIN if role.scope is Reach.PROJECT else role.scope
        assert all(grant.reach.rank <= limit.rank for _, grant in grants_of([role.name])), role.name


def test_project_roles_reach_the_domain_for_reading_only() -> None:
    for name in ("project_admin", "project_reader"):
        wide = [g for g in BUILTIN[name].grants if g.reach is Reach.DOMAIN]
        assert wide and all(g.pattern.endswith((".list", ".get")) for g in wide)


def test_roles_with_a_right() -> None:
    assert roles_with("identity.domains.create") == ["admin"]
