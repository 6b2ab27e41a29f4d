"""Roles, and who has which role where. What a role allows is data of `identity.access.policies`, not a row here.

Written by `identity.access.services` alone.
"""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Count, Q

from core.access import Owner, Reach
from core.models import Base

SCOPES = [(str(r), str(r)) for r in (Reach.SYSTEM, Reach.DOMAIN, Reach.PROJECT)]


class RoleQuerySet(models.QuerySet["Role"]):
    def for_list(self) -> Self:
        """With what a list shows: how often the role is given."""
        return self.annotate(assignment_count=Count("assignments"))


class Role(Base):
    """A name for a set of rights. `scope`: where it can be given. Built-in roles cannot be changed."""

    owner = Owner(everyone=True)

    name = models.CharField(max_length=64, unique=True)
    description = models.CharField(max_length=255, blank=True, default="")
    scope = models.CharField(max_length=8, choices=SCOPES)
    builtin = models.BooleanField(default=True, editable=False)

    objects = RoleQuerySet.as_manager()

    class Meta:
        verbose_name = "role"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class RoleAssignmentQuerySet(models.QuerySet["RoleAssignment"]):
    def for_list(self) -> Self:
        """With the names that a list shows."""
        return self.select_related("user", "role", "domain", "project")


class RoleAssignment(Base):
    """One person has one role in one scope. `domain` is also set for a project's scope, so that its domain owns the row."""

    owner = Owner(project="project_id", domain="domain_id", user="user_id")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="role_assignments")
    role = models.ForeignKey(Role, on_delete=models.PROTECT, related_name="assignments")
    scope = models.CharField(max_length=8, choices=SCOPES)
    domain = models.ForeignKey(
        "identity.Domain", null=True, blank=True, on_delete=models.CASCADE, related_name="role_assignments"
    )
    project = models.ForeignKey(
        "identity.Project", null=True, blank=True, on_delete=models.CASCADE, related_name="role_assignments"
    )

    objects = RoleAssignmentQuerySet.as_manager()

    class Meta:
        verbose_name = "role assignment"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "role"], condition=Q(scope=Reach.SYSTEM), name="roleassignment_once_in_system"
            ),
            models.UniqueConstraint(
                fields=["user", "role", "domain"], condition=Q(scope=Reach.DOMAIN), name="roleassignment_once_in_domain"
            ),
            models.UniqueConstraint(
                fields=["user", "role", "project"],
                condition=Q(scope=Reach.PROJECT),
                name="roleassignment_once_in_project",
            ),
            models.CheckConstraint(
                name="roleassignment_scope_fits",
                condition=Q(scope=Reach.SYSTEM, domain=None, project=None)
                | Q(scope=Reach.DOMAIN, domain__isnull=False, project=None)
                | Q(scope=Reach.PROJECT, domain__isnull=False, project__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} in {self.project or self.domain or 'the system'}"
