"""The scope switch in the console's sidebar: in which of one's scopes one works."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from core.access import Reach
from core.admin.site import site
from core.engine.plan import words
from identity.access.actors import Scope, default_scope, scopes_of
from identity.directory.models import User

QUOTED = re.compile("“(.*?)”")
KINDS = {Reach.SYSTEM: "system", Reach.DOMAIN: "domain", Reach.PROJECT: "project", Reach.NONE: "no scope"}
ICONS = {Reach.SYSTEM: "language", Reach.DOMAIN: "domain", Reach.PROJECT: "folder", Reach.NONE: "block"}


def scope_switch(request: HttpRequest) -> dict[str, Any]:
    """What the sidebar shows: the scope that applies, and those that one has. No query beyond the request's own."""
    user = request.user
    assert isinstance(user, User)
    held = scopes_of(user)
    current = held.get(user.session_scope) or default_scope(user)
    choices = [
        {
            "key": key,
            "name": scope_name(one.scope),
            "roles": f"{KINDS[one.scope.kind]} · {words(sorted(role.replace('_', ' ') for role in one.roles))}",
            "chosen": key == current.scope.key,
        }
        for key, one in held.items()
    ]
    return {
        "name": scope_name(current.scope),
        "kind": KINDS[current.scope.kind],
        "icon": ICONS[current.scope.kind],
        "choices": choices,
        "url": reverse("switch-scope"),
    }


def scope_name(scope: Scope) -> str:
    """A scope's name as a label: that of the project or the domain alone, which stand in quotes in its sentence."""
    quoted = QUOTED.search(scope.name)
    return quoted.group(1) if quoted else scope.name[:1].upper() + scope.name[1:]


site.scope_switch = scope_switch
