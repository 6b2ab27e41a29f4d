"""What the built-in roles allow: data, and the pure functions that read it. No ORM, no request.

A grant is a pattern of rights (`<app>.<resource>.<verb>`, `*` within a part) and how far it reaches. A right that no grant
covers is refused. Rows of policies may take this module's place behind `identity.access.engine` later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from core.access import Reach


@dataclass(frozen=True)
class Grant:
    """Rights of one pattern, as far as `reach`."""

    pattern: str
    reach: Reach

    def covers(self, right: str) -> bool:
        """True if the right (or every right of a narrower pattern) is among this grant's."""
        mine, theirs = self.pattern.split("."), right.split(".")
        return len(mine) == len(theirs) and all(fnmatchcase(t, m) for m, t in zip(mine, theirs, strict=True))


@dataclass(frozen=True)
class RolePolicy:
    """A built-in role: where it can be given, and what it grants there."""

    name: str
    scope: Reach
    description: str
    grants: tuple[Grant, ...]


def _grants(reach: Reach, *patterns: str) -> tuple[Grant, ...]:
    return tuple(Grant(p, reach) for p in patterns)


def _reading(reach: Reach, *resources: str) -> tuple[Grant, ...]:
    return _grants(reach, *(f"{r}.{verb}" for r in resources for verb in ("list", "get")))


# What everybody may do who is logged in, whatever the role: look after oneself.
SELF = (
    *_reading(Reach.OWN, "identity.users", "identity.role_assignments", "identity.tokens"),
    *_grants(Reach.OWN, "identity.users.update", "identity.tokens.create", "identity.tokens.delete"),
)

# Things of the domain that a project has to see to do its work.
SURROUNDINGS = (
    *_reading(
        Reach.DOMAIN,
        "identity.domains",
        "compute.cloudregions",
        "compute.cloudproviders",
        "compute.zones",
        "compute.images",
    ),
    *_reading(Reach.PROJECT, "identity.roles"),
)

PROJECT_READING = (
    *_reading(
        Reach.PROJECT,
        "identity.projects", "identity.role_assignments",
        "compute.loadbalancer*", "compute.eips", "compute.vpcs", "compute.networks", "compute.secgroups",
        "compute.secgrouprules", "compute.servers", "compute.pods", "compute.containers",
        "core.tasks", "core.events", "core.tags",
    ),
    *SURROUNDINGS,
)  # fmt: skip

PROJECT_CHANGING = _grants(
    Reach.PROJECT,
    "compute.loadbalancer*.*", "compute.eips.*", "compute.secgroups.*", "compute.secgrouprules.*", "compute.servers.*",
    "compute.pods.*", "compute.containers.*", "core.tasks.*", "core.tags.*",
)  # fmt: skip

BUILTIN: dict[str, RolePolicy] = {
    policy.name: policy
    for policy in (
        RolePolicy(
            "admin", Reach.SYSTEM, "Everything, in every domain.", _grants(Reach.SYSTEM, "*.*.*")
        ),
        RolePolicy(
            "system_reader", Reach.SYSTEM, "Sees everything and changes nothing: for audits.",
            _reading(Reach.SYSTEM, "*.*"),
        ),
        RolePolicy(
            "domain_admin", Reach.DOMAIN, "Everything in one domain: its accounts, projects, people and resources.",
            (
                *_grants(Reach.DOMAIN, "compute.*.*", "core.*.*", "notify.*.*", "identity.projects.*",
                         "identity.users.*", "identity.role_assignments.*"),
                *_reading(Reach.DOMAIN, "identity.domains", "identity.roles"),
            ),
        ),
        RolePolicy(
            "domain_reader", Reach.DOMAIN, "Sees everything in one domain and changes nothing.",
            _reading(Reach.DOMAIN, "*.*"),
        ),
        RolePolicy(
            "project_admin", Reach.PROJECT, "Changes everything that one project owns.",
            (*PROJECT_CHANGING, *PROJECT_READING),
        ),
        RolePolicy("project_reader", Reach.PROJECT, "Sees what one project owns.", PROJECT_READING),
    )
}  # fmt: skip


def grants_of(roles: Iterable[str]) -> tuple[tuple[str, Grant], ...]:
    """(role, grant) for these roles; unknown roles grant nothing."""
    return tuple((name, grant) for name in sorted(roles) if name in BUILTIN for grant in BUILTIN[name].grants)


def roles_with(right: str, *, beyond: Reach = Reach.NONE) -> list[str]:
    """The built-in roles that grant a right further than `beyond`, for telling people whom to ask for what."""
    return [p.name for p in BUILTIN.values() if any(g.reach.rank > beyond.rank and g.covers(right) for g in p.grants)]
