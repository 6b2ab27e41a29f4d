"""System checks, closed by default: what is not declared does not start.

A model without an owner, a resource without right or filter set, a verb without right and guard: each is an error of
`manage.py check`, and of every command that runs the checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db.models import Model
from django.urls import get_resolver

from core.access import Owner
from core.actions import Action
from core.api import routers
from core.api.filters import ResourceFilterSet

# Rows that no list shows by themselves: they are reached through what they belong to, which has an owner.
# Rows that nobody lists by themselves; tags are whose the tagged object is.
INTERNAL = frozenset(
    {"core.line", "core.lease", "core.taskstep", "core.taskevent", "core.idempotencyrecord", "core.tag"}
)
RIGHT = re.compile(r"[a-z]+\.[a-z_]+(\.[a-z_-]+)?")
# Words that the viewset's own routes use.
TAKEN = frozenset(
    {"create", "update", "delete", "list", "get", "tasks", "events", "metadata", "user-metadata", "set-user-metadata"}
)


@register(Tags.models)
def check_owners(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Every model of ours says who owns its rows."""
    return [
        Error(
            f"{model._meta.label} does not say who owns its rows.",
            hint="Declare `owner = Owner(…)`; without it nobody sees a row.",
            obj=model,
            id="skydeck.E001",
        )
        for model in our_models()
        if model._meta.label_lower not in INTERNAL and not isinstance(getattr(model, "owner", None), Owner)
    ]


@register(Tags.urls)
def check_resources(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Every resource with an address has a right, a filter set and sound verbs."""
    get_resolver().url_patterns  # noqa: B018  (imports every viewset)
    return [problem for viewset in routers.routed for problem in resource_problems(viewset)]


def our_models() -> list[type[Model]]:
    """The concrete models of the product's own apps."""
    base = Path(settings.BASE_DIR)
    own = [config for config in apps.get_app_configs() if Path(config.path).parent == base]
    return [model for config in own for model in config.get_models()]


def resource_problems(viewset: Any) -> Iterator[CheckMessage]:
    """What a viewset does not declare."""
    name = viewset.__name__
    if not RIGHT.fullmatch(viewset.right):
        yield Error(f"{name} has no right like compute.loadbalancers.", obj=viewset, id="skydeck.E002")
    filterset = getattr(viewset, "filterset_class", None)
    if filterset is None or not issubclass(filterset, ResourceFilterSet):
        yield Error(f"{name} has no filter set.", obj=viewset, id="skydeck.E003")
    if getattr(viewset, "serializer_class", None) is None:
        yield Error(f"{name} has no serializer.", obj=viewset, id="skydeck.E004")
    for verb in ("create", "update"):
        if viewset.offers(verb) and getattr(viewset, f"{verb}_serializer_class") is None:
            yield Error(f"{name} offers {verb} without a body.", obj=viewset, id="skydeck.E005")
    for action in viewset.actions:
        yield from action_problems(action, name)
    names = [action.name for action in viewset.actions]
    for twice in sorted({n for n in names if names.count(n) > 1}):
        yield Error(f"{name} has two verbs called {twice}.", obj=viewset, id="skydeck.E008")


def action_problems(action: Action, where: str) -> Iterator[CheckMessage]:
    """What a verb does not declare."""
    if not RIGHT.fullmatch(action.right) or action.right.count(".") != 2:
        yield Error(f"{where}: the verb {action.name} has no right.", obj=action, id="skydeck.E006")
    if action.guard is None:
        yield Error(
            f"{where}: the verb {action.name} has no guard.",
            hint="Give one, or `core.actions.always`.",
            obj=action,
            id="skydeck.E007",
        )
    if action.name in TAKEN or not re.fullmatch(r"[a-z][a-z0-9-]*", action.name):
        yield Error(f"{where}: a verb cannot be called “{action.name}”.", obj=action, id="skydeck.E009")
