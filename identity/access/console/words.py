"""How roles are told: their names, where they are given, and what they allow. Pure functions of plain values and loaded rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.access import Reach
from identity.access.models import Role, RoleAssignment
from identity.access.policies import BUILTIN, SELF, Grant

GIVEN_IN = {Reach.SYSTEM: "the whole system", Reach.DOMAIN: "a domain", Reach.PROJECT: "a project"}
REACHES = {
    Reach.SYSTEM: "in the whole system",
    Reach.DOMAIN: "in the domain",
    Reach.PROJECT: "in the project",
    Reach.OWN: "their own",
}
# What a pattern of rights is about, as people call it. What is missing here is told by its own name.
THINGS = {
    "*.*": "everything", "compute.*": "clouds and all that is in them", "core.*": "tasks, tags and the audit trail",
    "notify.*": "notifications", "compute.loadbalancer*": "load balancers, listeners, backend groups, backends",
    "compute.eips": "elastic IPs", "compute.vpcs": "VPCs", "compute.secgroups": "security groups",
    "compute.secgrouprules": "security group rules", "compute.externalprojects": "external projects",
    "compute.proxysettings": "proxy settings", "compute.mappingrules": "mapping rules",
    "compute.cloudregions": "regions", "compute.cloudproviders": "subaccounts", "core.events": "the audit trail",
    "identity.role_assignments": "role assignments", "identity.tokens": "tokens of the API",
}  # fmt: skip
SEEING = {"list", "get"}


@dataclass(frozen=True)
class Allowed:
    """What a role allows with one kind of thing. `verbs`: “see”, “see and change”, or the verbs by name."""

    thing: str
    verbs: str
    where: str


def role_word(role: Role) -> str:
    """`project_admin` as `project admin`."""
    return role.name.replace("_", " ")


ROLE_NAMES = re.compile(rf"\b({'|'.join(name for name in BUILTIN if '_' in name)})\b")


def tell(text: str) -> str:
    """A sentence of a service or of the policy engine with its roles as the console calls them."""
    return ROLE_NAMES.sub(lambda found: found[0].replace("_", " "), text)


def place_word(given: RoleAssignment) -> str:
    """Where a role was given. Wants project and domain loaded."""
    if given.project is not None:
        return f"project {given.project}"
    return f"domain {given.domain}" if given.domain is not None else "the whole system"


def given_word(given: RoleAssignment) -> str:
    """What is told when somebody was given a role."""
    return f"User {given.user} has the role {role_word(given.role)} in {place_word(given)}."


def allowed_by(role: str) -> list[Allowed]:
    """What a built-in role allows, by kind of thing and reach; a role that is not built in allows nothing yet."""
    return told(BUILTIN[role].grants) if role in BUILTIN else []


def allowed_to_everybody() -> list[Allowed]:
    """What everybody may do who is logged in."""
    return told(SELF)


def told(grants: Iterable[Grant]) -> list[Allowed]:
    """Grants as people read them: one line for each thing and reach, in the order of the policy."""
    verbs: dict[tuple[str, Reach], set[str]] = {}
    for grant in grants:
        resource, _, verb = grant.pattern.rpartition(".")
        verbs.setdefault((resource, grant.reach), set()).add(verb)
    return [
        Allowed(_thing(resource), _verbs(found), REACHES.get(reach, str(reach)))
        for (resource, reach), found in verbs.items()
    ]


def _thing(resource: str) -> str:
    return THINGS.get(resource, resource.rpartition(".")[2].replace("_", " "))


def _verbs(found: set[str]) -> str:
    if "*" in found:
        return "see and change"
    others = sorted(found - SEEING)
    return ", ".join([*(["see"] if found >= SEEING else sorted(found & SEEING)), *others])
