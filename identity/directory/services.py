"""The verbs of domains, projects and people: the only writers of these rows.

Each checks the right on the very row, writes row and audit in one short transaction, and returns a `Change`.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from core.access import Actor, Reach, ensure
from core.audit import services as audit
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.errors import DuplicateNameError, InputParameterError, WeakPasswordError
from identity.access.services import check_not_above, check_not_last_admin, check_not_last_admins
from identity.directory import rules
from identity.directory.belongings import check_empty, clear_dead
from identity.directory.models import Domain, Project, User
from identity.login.models import ApiToken

DOMAINS, PROJECTS, USERS = "identity.domains", "identity.projects", "identity.users"


# --- domains --------------------------------------------------------------------------------------------------------------


def domain_create(*, actor: Actor, name: str, description: str = "", enabled: bool = True) -> Change:
    """Create a domain. Its name is unique in the installation."""
    actor.require(f"{DOMAINS}.create")
    domain = Domain(name=rules.check_name(name), description=description, enabled=enabled)
    with writing() as done:
        ensure(actor, f"{DOMAINS}.create", domain)
        _free_name(Domain, domain.name)
        domain.save(force_insert=True)
        _audit_created(actor, domain, "name", "description", "enabled")
        return done(domain)


def domain_update(domain: Domain, *, actor: Actor, expected_version: int | None = None, **values: Any) -> Change:
    """Change name, description or whether the domain is enabled (rule 133)."""
    return _domain_change(domain, actor, "update", expected_version, values)


def _domain_change(
    domain: Domain, actor: Actor, verb: str, expected_version: int | None, values: dict[str, Any]
) -> Change:
    ensure(actor, f"{DOMAINS}.{verb}", domain)
    with writing() as done:
        domain = Domain.objects.select_for_update().get(pk=domain.pk)
        check_version(domain, expected_version)
        rules.check_domain_change(domain.name, _differing(domain, values))
        if values.get("enabled") is False:
            check_not_last_admins(domain)
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            _free_name(Domain, values["name"], exclude=domain.pk)
        return done(_save(actor, domain, values))


def domain_delete(domain: Domain, *, actor: Actor, expected_version: int | None = None) -> Change:
    """Delete a disabled domain that no project and nothing else lies in any more, with its people (rule 133)."""
    ensure(actor, f"{DOMAINS}.delete", domain)
    with writing() as done:
        domain = Domain.objects.select_for_update().get(pk=domain.pk)
        check_version(domain, expected_version)
        projects = Project.objects.filter(domain=domain).count()
        rules.check_domain_delete(domain.name, enabled=domain.enabled, projects=projects)
        audit.record_many(
            [
                audit.entry(actor, "delete", user, before={"name": user.name}, note="with its domain")
                for user in domain.users.all()
            ]
        )
        domain.users.all().delete()
        return done(_delete(actor, domain))


def domain_enable(domain: Domain, *, actor: Actor) -> Change:
    """Let the people of a domain in again."""
    return _domain_change(domain, actor, "enable", None, {"enabled": True})


def domain_disable(domain: Domain, *, actor: Actor) -> Change:
    """Keep the people of a domain out, at once: sessions and tokens end to work."""
    return _domain_change(domain, actor, "disable", None, {"enabled": False})


# --- projects -------------------------------------------------------------------------------------------------------------


def project_create(
    *, actor: Actor, name: str, domain: Domain | None = None, description: str = "", enabled: bool = True
) -> Change:
    """Create a project, in the caller's domain if none is given. Its name is unique in its domain (rule 93)."""
    actor.require(f"{PROJECTS}.create")
    project = Project(
        domain=domain or home_domain(actor), name=rules.check_name(name), description=description, enabled=enabled
    )
    with writing() as done:
        ensure(actor, f"{PROJECTS}.create", project)
        _free_name(Project, project.name, domain=project.domain)
        project.save(force_insert=True)
        _audit_created(actor, project, "name", "description", "enabled")
        return done(project)


def project_update(project: Project, *, actor: Actor, expected_version: int | None = None, **values: Any) -> Change:
    """Change name, description or whether the project is enabled (rule 134)."""
    return _project_change(project, actor, "update", expected_version, values)


def _project_change(
    project: Project, actor: Actor, verb: str, expected_version: int | None, values: dict[str, Any]
) -> Change:
    ensure(actor, f"{PROJECTS}.{verb}", project)
    with writing() as done:
        project = Project.objects.select_for_update(of=("self",)).select_related("domain").get(pk=project.pk)
        check_version(project, expected_version)
        rules.check_project_change(project.name, project.domain.name, _differing(project, values))
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            _free_name(Project, values["name"], exclude=project.pk, domain=project.domain)
        return done(_save(actor, project, values))


def project_delete(project: Project, *, actor: Actor, expected_version: int | None = None) -> Change:
    """Delete a project that nobody and nothing is in any more (rule 134)."""
    ensure(actor, f"{PROJECTS}.delete", project)
    with writing() as done:
        project = Project.objects.select_for_update(of=("self",)).select_related("domain").get(pk=project.pk)
        check_version(project, expected_version)
        users = project.role_assignments.values("user").distinct().count()
        rules.check_project_delete(project.name, project.domain.name, users=users)
        return done(_delete(actor, project))


def project_enable(project: Project, *, actor: Actor) -> Change:
    """Let people work in a project again."""
    return _project_change(project, actor, "enable", None, {"enabled": True})


def project_disable(project: Project, *, actor: Actor) -> Change:
    """Keep people from working in a project; what it owns stays and runs on."""
    return _project_change(project, actor, "disable", None, {"enabled": False})


# --- people ---------------------------------------------------------------------------------------------------------------


def user_create(
    *,
    actor: Actor,
    name: str,
    domain: Domain | None = None,
    password: str = "",
    display_name: str = "",
    email: str = "",
    description: str = "",
    enabled: bool = True,
) -> Change:
    """Create a person, in the caller's domain if none is given. Without a password nobody can log in as them yet."""
    actor.require(f"{USERS}.create")
    user = User(
        domain=domain or home_domain(actor),
        name=rules.check_name(name),
        display_name=display_name,
        email=email,
        description=description,
        enabled=enabled,
    )
    if password:
        check_password(password, user)
        user.set_password(password)
    else:
        user.set_unusable_password()
    with writing() as done:
        ensure(actor, f"{USERS}.create", user)
        _free_name(User, user.name, domain=user.domain)
        user.save(force_insert=True)
        _audit_created(actor, user, "name", "display_name", "email", "description", "enabled")
        return done(user)


def user_update(user: User, *, actor: Actor, expected_version: int | None = None, **values: Any) -> Change:
    """Change a person. Everybody may change their own profile; the rest is for who administers people (rule 141)."""
    return _user_change(user, actor, "update", expected_version, values)


def _user_change(user: User, actor: Actor, verb: str, expected_version: int | None, values: dict[str, Any]) -> Change:
    right = f"{USERS}.{verb}"
    ensure(actor, right, user)
    with writing() as done:
        user = _locked_user(user)
        check_version(user, expected_version)
        own = user.pk == actor.user_id
        if "preferences" in values:
            rules.check_preferences(values["preferences"])
            values["preferences"] = {**user.preferences, **values["preferences"]}
        rules.check_user_change(
            user.name,
            user.domain.name,
            _differing(user, values),
            own=own,
            reach_is_own=actor.decide(right).reach is Reach.OWN,
        )
        if not own:
            check_not_above(actor, user, right)
        if values.get("enabled") is False:
            check_not_last_admin(user)
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            _free_name(User, values["name"], exclude=user.pk, domain=user.domain)
        _check_default_project(user, values.get("default_project"))
        return done(_save(actor, user, values))


def user_delete(user: User, *, actor: Actor, expected_version: int | None = None) -> Change:
    """Delete a person with their roles and tokens (rule 141). What they made stays."""
    ensure(actor, f"{USERS}.delete", user)
    with writing() as done:
        user = _locked_user(user)
        check_version(user, expected_version)
        rules.check_user_delete(user.name, user.domain.name, own=user.pk == actor.user_id)
        check_not_above(actor, user, f"{USERS}.delete")
        check_not_last_admin(user)
        return done(_delete(actor, user))


def user_enable(user: User, *, actor: Actor) -> Change:
    """Let a person log in again."""
    return _user_change(user, actor, "enable", None, {"enabled": True})


def user_disable(user: User, *, actor: Actor) -> Change:
    """Keep a person out, at once: sessions and tokens end to work."""
    return _user_change(user, actor, "disable", None, {"enabled": False})


def user_set_password(user: User, *, actor: Actor, password: str) -> Change:
    """Give a person a new password, as an administrator does; all of their tokens end."""
    ensure(actor, f"{USERS}.set-password", user)
    with writing() as done:
        user = _locked_user(user)
        check_not_above(actor, user, f"{USERS}.set-password")
        write_password(user, password, actor=actor)
        return done(user)


def write_password(user: User, password: str, *, actor: Actor, keep_token: uuid.UUID | None = None) -> None:
    """Store a new password inside a service's transaction; sessions and tokens made with the old one end."""
    check_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password", "updated_at"])
    ApiToken.objects.filter(user=user).exclude(pk=keep_token).delete()
    audit.record(actor, "set-password", user)


def check_password(password: str, user: User) -> None:
    """Raise `WeakPasswordError` with every reason (rule 136)."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise WeakPasswordError(" ".join(error.messages), field="password") from None


# --- shared ---------------------------------------------------------------------------------------------------------------


def home_domain(actor: Actor) -> Domain:
    """The domain in which an actor makes things when it names none: that of its scope, else the default one."""
    if actor.domain_id is not None:
        return Domain.objects.get(pk=actor.domain_id)
    return Domain.objects.get(name=rules.DEFAULT_DOMAIN)


def _locked_user(user: User) -> User:
    locked: User = User.objects.select_for_update(of=("self",)).select_related("domain").get(pk=user.pk)
    return locked


def _free_name(model: Any, name: str, *, exclude: uuid.UUID | None = None, **scope: Any) -> None:
    if model.objects.filter(name=name, **scope).exclude(pk=exclude).exists():
        raise DuplicateNameError(f"There is already a {model._meta.verbose_name} called “{name}”.", field="name")


def _check_default_project(user: User, project: Project | None) -> None:
    if project is not None and not user.role_assignments.filter(project=project).exists():
        raise InputParameterError(f"{user.name} has no role in the project “{project.name}”.", field="default_project")


def _differing(row: Any, values: dict[str, Any]) -> set[str]:
    return {name for name, value in values.items() if getattr(row, name) != value}


def _save(actor: Actor, row: Any, values: dict[str, Any]) -> Any:
    changes = Changes(actor)
    changes.update(row, values)
    changes.write_audit()
    return row


def _audit_created(actor: Actor, row: Any, *names: str) -> None:
    changes = Changes(actor)
    changes.created(row, *names)
    changes.write_audit()


def _delete(actor: Actor, row: Any) -> Any:
    check_empty(row)
    audit.record(actor, "delete", row, before={"name": row.name})
    pk = row.pk
    clear_dead(row)
    row.delete()
    row.pk = pk
    return row
