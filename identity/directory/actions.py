"""The verbs of domains, projects and people beside create, update and delete."""

from __future__ import annotations

from typing import Any

from core.access import Actor
from core.actions import Action, always
from identity.directory import services
from identity.directory.serializers import PasswordSerializer


def _is_disabled(obj: Any, actor: Actor) -> str:
    return "" if not obj.enabled else "It is enabled already."


def _is_enabled(obj: Any, actor: Actor) -> str:
    return "" if obj.enabled else "It is disabled already."


DOMAIN_ACTIONS = (
    Action("enable", "Enable", right="identity.domains.enable", run=services.domain_enable, guard=_is_disabled, bulk=True),
    Action(
        "disable", "Disable", right="identity.domains.disable", run=services.domain_disable, guard=_is_enabled,
        danger=True, bulk=True, description="Nobody of the domain can log in any more; what it owns runs on.",
    ),
)  # fmt: skip

PROJECT_ACTIONS = (
    Action(
        "enable", "Enable", right="identity.projects.enable", run=services.project_enable, guard=_is_disabled, bulk=True
    ),
    Action(
        "disable", "Disable", right="identity.projects.disable", run=services.project_disable, guard=_is_enabled,
        danger=True, bulk=True, description="Nobody can work in the project any more; what it owns runs on.",
    ),
)  # fmt: skip

USER_ACTIONS = (
    Action("enable", "Enable", right="identity.users.enable", run=services.user_enable, guard=_is_disabled, bulk=True),
    Action(
        "disable", "Disable", right="identity.users.disable", run=services.user_disable, guard=_is_enabled, danger=True,
        bulk=True, description="Sessions and tokens end to work at once.",
    ),
    Action(
        "set-password", "Set a password", right="identity.users.set-password", run=services.user_set_password,
        args=PasswordSerializer, guard=always, danger=True, description="All sessions and tokens of the person end.",
    ),
)  # fmt: skip
