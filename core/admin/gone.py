"""What is told of a row that is not there any more: what it was, who ended it and when, and the way on.

Only the audit trail knows, so only who may read the trail of that row is told; for everybody else there never was such a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.html import format_html

from core.access import Actor, visible_to
from core.admin.markup import anchor, moment
from core.admin.site import site
from core.admin.tabs import change_table
from core.audit.models import AuditEvent
from core.errors import ResourceNotFoundError

if TYPE_CHECKING:
    from core.admin.resource import ResourceAdmin

SHOWN = 20
WORDS = {"deleted": "is deleted", "gone": "is gone", "unknown": "is not here any more"}


def gone_problem(admin: ResourceAdmin, actor: Actor, object_id: UUID) -> ResourceNotFoundError | None:
    """The problem of a row that was here once, with its trail for the page; None when this actor may know of none."""
    events = visible_to(AuditEvent.objects.all(), actor, "core.events.list")
    trail = list(events.filter(kind=admin.opts.model_name, object_id=object_id)[:SHOWN])
    if not trail:
        return None
    last = next((event for event in trail if event.verb in ("delete", "gone")), None)
    kind = str(admin.opts.verbose_name)
    name = f"{kind[:1].upper()}{kind[1:]} {trail[0].object_name}"
    if last is None:
        words, told = WORDS["unknown"], ""
    elif last.verb == "gone" or last.actor_id is None:
        # No person asked for it: Skydeck itself has noticed.
        words, told = WORDS["gone"], format_html("Noticed by {} {}", last.actor_name, moment(last.at))
    else:
        words, told = (
            WORDS["deleted"],
            format_html("Its deletion was asked for by {} {}", last.actor_name, moment(last.at)),
        )
    task = (
        anchor(site.url_of("task", last.task_id), "the task that did it") if last is not None and last.task_id else ""
    )
    shown: dict[str, Any] = {
        "name": trail[0].object_name,
        "told": told,
        "note": last.note if last is not None else "",
        "task": task,
        "list_url": admin.page_url("changelist"),
        "list_title": admin.plural_title(),
        "kinds": admin.opts.verbose_name_plural,
        "part": change_table("What was done with it", trail, actor=actor, empty=""),
    }
    return ResourceNotFoundError(f"{name} {words}.", extra={"gone": shown})
