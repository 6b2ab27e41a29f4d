"""Giving roles and taking them away: the only writer of role assignments, and the checks that nobody gets round."""

from __future__ import annotations

from django.db.models import QuerySet

from core.access import Actor, Reach, ensure
from core.audit import services as audit
from core.engine.writing import Change, writing
from core.errors import DuplicateResourceError, NotSufficientPrivilegeError
from identity.access import policies, rules
from identity.access.models import Role, RoleAssignment
from identity.directory.models import Domain, Project, User

ASSIGNMENTS = "identity.role_assignments"
ADMIN = "admin"


def assignment_create(
    *,
    actor: Actor,
    user: User,
    role: Role,
    project: Project | None = None,
    domain: Domain | None = None,
    scope: str = "",
) -> Change:
    """Give a person a role in a project, a domain, or the system (rules 142, 143)."""
    actor.require(f"{ASSIGNMENTS}.create")
    where = rules.scope_of(scope=scope, has_domain=domain is not None, has_project=project is not None)
    rules.check_role_fits(role.name, role.scope, where)
    home = project.domain if project is not None else domain
    given = RoleAssignment(user=user, role=role, scope=where, domain=home, project=project)
    with writing() as done:
        reach = actor.decide(f"{ASSIGNMENTS}.create").reach
        if where is Reach.SYSTEM and reach is not Reach.SYSTEM:
            raise NotSufficientPrivilegeError(
                "Roles of the whole system are given by its administrators.", field="scope"
            )
        ensure(actor, f"{ASSIGNMENTS}.create", given)
        rules.check_guest(
            user_domain=user.domain_id,
            target_domain=home.pk if home else None,
            target_name=home.name if home else "",
            reach=reach,
        )
        rules.check_not_more_than_own(role.name, _beyond(actor, role))
        twin = RoleAssignment.objects.filter(user=user, role=role, scope=where, domain=home, project=project).first()
        if twin is not None:
            raise DuplicateResourceError(
                f"{user.name} has the role {role.name} there already.", extra={"ids": [str(twin.pk)]}
            )
        given.save(force_insert=True)
        audit.record(actor, "create", given, after=_words(given))
        return done(given)


def assignment_delete(given: RoleAssignment, *, actor: Actor, expected_version: int | None = None) -> Change:
    """Take a role away (rule 144). The last administrator of the system stays."""
    ensure(actor, f"{ASSIGNMENTS}.delete", given)
    with writing() as done:
        current = (given.domain_id, given.project_id) == (
            actor.domain_id,
            actor.project_id,
        ) and given.scope == actor.reach
        rules.check_leaving(own=given.user_id == actor.user_id, current=current)
        if given.role.name == ADMIN:
            check_not_last_admin(given.user)
        audit.record(actor, "delete", given, before=_words(given))
        pk = given.pk
        given.delete()
        given.pk = pk
        return done(given)


def check_not_above(actor: Actor, user: User, right: str) -> None:
    """Nobody administers a person who has rights beyond their own reach: a new password would hand them over. `right`: what is
    done with the person by."""
    reach = actor.decide(right).reach
    if reach is Reach.SYSTEM or user.pk == actor.user_id:
        return
    inside = user.role_assignments.filter(domain=actor.domain_id).exclude(scope=Reach.SYSTEM)
    if user.role_assignments.exclude(pk__in=inside).exists():
        raise NotSufficientPrivilegeError(
            f"{user.name} has roles beyond your {reach}, so an administrator of the system has to do this."
        )


def check_not_last_admin(user: User) -> None:
    """Raise `ForbiddenError` if the person is the only enabled administrator of the system. Call it in a transaction."""
    admins = _locked_admins()
    if admins.filter(user=user).exists():
        rules.check_remaining_admins(admins.exclude(user=user).count())


def check_not_last_admins(domain: Domain) -> None:
    """Raise `ForbiddenError` if all enabled administrators of the system live in this domain. Call it in a transaction."""
    admins = _locked_admins()
    if admins.filter(user__domain=domain).exists():
        rules.check_remaining_admins(admins.exclude(user__domain=domain).count())


def _locked_admins() -> QuerySet[RoleAssignment]:
    """Roles of enabled administrators. Whoever counts them holds the role's row to the end of the transaction: else two could
    each see the other one's administrator and both be let through."""
    list(Role.objects.select_for_update(no_key=True).filter(name=ADMIN))
    return RoleAssignment.objects.filter(role__name=ADMIN, user__enabled=True, user__domain__enabled=True)


def _beyond(actor: Actor, role: Role) -> list[str]:
    """Patterns of rights that the role grants further than the actor has them. The engine is asked for whole patterns."""
    grants = policies.BUILTIN[role.name].grants if role.name in policies.BUILTIN else ()
    return [g.pattern for g in grants if actor.decide(g.pattern).reach.rank < g.reach.rank]


def _words(given: RoleAssignment) -> dict[str, str]:
    where = given.project or given.domain
    return {"user": given.user.name, "role": given.role.name, "scope": given.scope, "in": where.name if where else ""}
