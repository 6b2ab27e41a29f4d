"""What every installation starts with: the default domain and project, the built-in roles, the first administrator.

Run as often as one likes; it makes what is missing and changes nothing else.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.db import transaction

from core.access import Reach, product_actor
from core.audit import services as audit
from identity.access.models import Role, RoleAssignment
from identity.access.policies import BUILTIN
from identity.access.services import ADMIN
from identity.directory.models import Domain, Project, User
from identity.directory.rules import DEFAULT_DOMAIN, FIRST_ADMIN, SYSTEM_PROJECT


@dataclass(frozen=True)
class FirstAdmin:
    """The first administrator; `password` only if it was generated just now and must be shown, once."""

    user: User
    created: bool
    password: str = ""


@transaction.atomic
def ensure_roles() -> dict[str, Role]:
    """The built-in roles, by name."""
    for policy in BUILTIN.values():
        values = {"description": policy.description, "scope": str(policy.scope), "builtin": True}
        Role.objects.update_or_create(name=policy.name, defaults=values)
    return {role.name: role for role in Role.objects.filter(name__in=BUILTIN)}


@transaction.atomic
def ensure_admin(password: str = "") -> FirstAdmin:
    """Make domain, project, roles and the first administrator where they are missing. `password`: for a new one only."""
    actor = product_actor("skydeck")
    domain, made = Domain.objects.get_or_create(
        name=DEFAULT_DOMAIN, defaults={"description": "Where everything begins."}
    )
    if made:
        audit.record(actor, "create", domain, after={"name": domain.name})
    project, made = Project.objects.get_or_create(
        domain=domain, name=SYSTEM_PROJECT, defaults={"description": "What belongs to nobody in particular."}
    )
    if made:
        audit.record(actor, "create", project, after={"name": project.name})
    roles = ensure_roles()
    user = User.objects.filter(domain=domain, name=FIRST_ADMIN).first()
    if user is not None:
        return FirstAdmin(user, created=False)
    generated = "" if password else secrets.token_urlsafe(15)
    user = User(domain=domain, name=FIRST_ADMIN, display_name="Administrator", default_project=project)
    user.set_password(password or generated)
    user.save(force_insert=True)
    audit.record(actor, "create", user, after={"name": user.name})
    RoleAssignment.objects.create(user=user, role=roles[ADMIN], scope=Reach.SYSTEM)
    return FirstAdmin(user, created=True, password=generated)
