"""Django's authentication backend: log-in by name and password, and the console's permission questions, which the policy
engine answers. Failures take the same time whether the person exists or not."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.http import HttpRequest

from core.access import Actor
from identity.access.actors import actor_for
from identity.directory.models import User

# Django's words for what we call the verbs of a right.
VERBS = {"view": "list", "add": "create", "change": "update", "delete": "delete"}


class ActorBackend(BaseBackend):
    """The only backend. Knows local passwords; directories come in through `identity.idps`."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        domain: str = "",
        **kwargs: Any,
    ) -> User | None:
        """The person, if the password is right and both person and domain are enabled."""
        if not username or password is None or "\x00" in username + domain:
            return None
        user: User | None = User.objects.for_login(username, domain)
        if user is None:
            User().set_password(password)  # as much work as checking one
            return None
        return user if user.check_password(password) and may_log_in(user) else None

    def get_user(self, user_id: Any) -> User | None:
        """The person of a session; None as soon as the person or the domain is disabled."""
        user = User.objects.select_related("domain").filter(pk=user_id).first()
        return user if user is not None and may_log_in(user) else None

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        """Answer for `compute.loadbalancers.delete` (a right of ours) or `compute.delete_loadbalancer` (Django's words)."""
        return _actor(user_obj).may(right_of(perm))

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        """Any role opens the console; what it shows is decided page by page."""
        return bool(_actor(user_obj).roles)


def may_log_in(user: User) -> bool:
    """A disabled person, and everybody of a disabled domain, is out. Wants the domain loaded."""
    return user.enabled and user.domain.enabled


def right_of(perm: str) -> str:
    """Our right for one of Django's permission names: the model's name in the plural is the resource."""
    app, _, name = perm.partition(".")
    verb, _, model = name.partition("_")
    if "." in name or verb not in VERBS:
        return perm
    return f"{app}.{model}s.{VERBS[verb]}"


def _actor(user: Any) -> Actor:
    return actor_for(user, getattr(user, "session_scope", ""))
