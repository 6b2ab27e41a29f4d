"""Domains, the projects in them, and the people: rows and constraints only. Written by `identity.directory.services`.

A person logs in as `name` (domain `default`), as `name@domain`, or with the domain given apart: `User.objects.for_login`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from django.contrib import auth
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models import Count, Q

from core.access import Owner
from core.models import Base, count_of
from identity.directory.choices import PREFERENCES

DEFAULT_DOMAIN = "default"


class DomainQuerySet(models.QuerySet["Domain"]):
    def for_list(self) -> Self:
        """With what a list shows: how many projects and users there are."""
        return self.annotate(
            project_count=count_of(Project._base_manager.all(), "domain"),
            user_count=count_of(User._base_manager.all(), "domain"),
        )


class Domain(Base):
    """A tenant: it owns cloud accounts, projects and people."""

    owner = Owner(domain="id")

    name = models.CharField(max_length=64, unique=True)
    description = models.CharField(max_length=255, blank=True, default="")
    enabled = models.BooleanField(default=True)
    version = models.PositiveBigIntegerField(default=1, editable=False)

    objects = DomainQuerySet.as_manager()

    class Meta:
        verbose_name = "domain"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ProjectQuerySet(models.QuerySet["Project"]):
    def for_list(self) -> Self:
        """With what a list shows: the domain, and how many people have a role in the project."""
        return self.select_related("domain").annotate(user_count=Count("role_assignments__user", distinct=True))


class Project(Base):
    """Owns what people make: balancers, addresses, pods."""

    owner = Owner(project="id", domain="domain_id")

    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="projects")
    name = models.CharField(max_length=64)
    description = models.CharField(max_length=255, blank=True, default="")
    enabled = models.BooleanField(default=True)
    version = models.PositiveBigIntegerField(default=1, editable=False)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        verbose_name = "project"
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["domain", "name"], name="project_name_once_per_domain")]

    def __str__(self) -> str:
        return self.name


class UserQuerySet(models.QuerySet["User"]):
    def for_list(self) -> Self:
        """With what a list shows: domain, default project, and in how many projects the person has a role."""
        return self.select_related("domain", "default_project").annotate(
            project_count=Count("role_assignments__project", distinct=True)
        )

    def for_login(self, login: str, domain: str = "") -> User | None:
        """The person who logs in as `login`.

        With `domain` (name), the name is taken as it stands. Without, it is looked for in domain `default` first, then
        read as `name@domain`; so a name that holds an `@` still works.
        """
        people = self.select_related("domain")
        if domain:
            return people.filter(name=login, domain__name=domain).first()
        wanted = Q(name=login, domain__name=DEFAULT_DOMAIN)
        name, _, at = login.rpartition("@")
        if name and at:
            wanted |= Q(name=name, domain__name=at)
        found = list(people.filter(wanted))
        return next((u for u in found if u.name == login), next(iter(found), None))


class UserManager(BaseUserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]
    def get_by_natural_key(self, username: str | None) -> User:
        """Django's look-up by log-in name."""
        user: User | None = self.for_login(username or "")
        if user is None:
            raise User.DoesNotExist
        return user


class User(AbstractBaseUser, Base):  # type: ignore[django-manager-missing]  # of knox, which is untyped
    """A person, or a machine that logs in like one. What they may do is said by role assignments, never by flags here."""

    owner = Owner(domain="domain_id", user="id")

    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="users")
    name = models.CharField(max_length=64)
    display_name = models.CharField(max_length=128, blank=True, default="")
    email = models.EmailField(blank=True, default="")
    description = models.CharField(max_length=255, blank=True, default="")
    enabled = models.BooleanField(default=True)
    default_project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    preferences = models.JSONField(default=dict, blank=True)
    version = models.PositiveBigIntegerField(default=1, editable=False)

    USERNAME_FIELD = "name"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    # Filled by `identity.access` for the length of a request: what it read, and the scope that the session chose.
    held_scopes: Any = None
    session_scope: str = ""

    class Meta:
        verbose_name = "user"
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["domain", "name"], name="user_name_once_per_domain")]

    def __str__(self) -> str:
        return self.display_name or self.name

    @property
    def is_active(self) -> bool:  # type: ignore[override]
        return self.enabled

    @property
    def is_staff(self) -> bool:
        """Django's question whether the person may use the console: with any role, yes. Answered by the backend."""
        return self.has_module_perms("console")

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """Django's question for a right; ours are asked of `request.actor`."""
        return any(b.has_perm(self, perm, obj) for b in auth.get_backends() if hasattr(b, "has_perm"))

    def has_perms(self, perms: Iterable[str], obj: Any = None) -> bool:
        return all(self.has_perm(perm, obj) for perm in perms)

    def has_module_perms(self, app_label: str) -> bool:
        return any(b.has_module_perms(self, app_label) for b in auth.get_backends() if hasattr(b, "has_module_perms"))

    def get_full_name(self) -> str:
        """What the console calls the person."""
        return self.display_name or self.name

    def get_short_name(self) -> str:
        return self.name

    def preference(self, name: str) -> Any:
        """One of the person's preferences, or the product's default (`identity.directory.choices.PREFERENCES`)."""
        return self.preferences.get(name, PREFERENCES[name].default)
