"""Words and tones of what `core` itself shows: tasks, steps, verbs of the audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.admin.site import site
from core.admin.tones import Badge, Tone
from core.audit.models import AuditEvent
from core.engine.plan import words
from core.tasks import registry
from core.tasks.models import CANCELLED, DONE, FAILED, LOST, QUEUED, RUNNING, WAITING, Task, TaskStep

TASK_BADGES = {
    QUEUED: Badge(
        Tone.MOTION, "queued", "It starts as soon as a worker is free and the work before it on the same tree is over."
    ),
    RUNNING: Badge(Tone.MOTION, "running"),
    WAITING: Badge(Tone.MOTION, "waiting", "It looks again in a moment; no worker is held meanwhile."),
    DONE: Badge(Tone.OK, "done"),
    FAILED: Badge(Tone.BAD, "failed"),
    CANCELLED: Badge(Tone.OFF, "cancelled"),
    LOST: Badge(Tone.BAD, "lost", "Its worker stopped answering, several times."),
}
STEP_BADGES = {
    TaskStep.PENDING: Badge(Tone.PLAIN, "to do"),
    TaskStep.RUNNING: Badge(Tone.MOTION, "at work"),
    TaskStep.DONE: Badge(Tone.OK, "done"),
    TaskStep.FAILED: Badge(Tone.BAD, "refused"),
    TaskStep.SKIPPED: Badge(Tone.OFF, "left out"),
}
VERBS = {
    "create": "created", "update": "changed", "delete": "asked to delete", "restore": "took back the deletion of",
    "cancel": "asked to stop", "retry": "ran again", "import": "found", "adopt": "took over",
    "gone": "found gone", "changed outside": "changed outside:",
}  # fmt: skip


def task_badge(task: Task) -> Badge:
    """A task's state; one that was asked to stop says so."""
    if task.is_open and task.cancel_requested_at is not None:
        return Badge(Tone.MOTION, "stopping", "It stops between two steps.")
    return TASK_BADGES[task.state]


def task_title(task: Task) -> str:
    """What a task does, to what, and of a change what is changed: `Change load balancer shop: weight of backend 10.0.0.5:80`.
    Told from its change set; no query."""
    title = registry.get(task.kind).title
    own = next((entry["verb"] for entry in task.change_set if entry["id"] == str(task.resource_id)), "")
    if own in ("create", "delete") and title.startswith("Change "):
        title = f"{own.capitalize()} {title.removeprefix('Change ')}"
    elif what := change_words(task.change_set, str(task.resource_id)):
        return f"{title} {task.resource_name}: {what}"
    return f"{title}: {task.resource_name}" if task.resource_name else title


def change_words(change_set: Sequence[Mapping[str, Any]], root: str) -> str:
    """What a change set comes to in a few words. `root`: the row that the task is about, which needs no name. What is in
    something else that comes or goes is not told by itself."""
    entries = [e for e in change_set if e.get("name") and site.admin_for(e["kind"]) is not None]
    links = [w for e in entries if (w := _link_words(e))]
    if links:
        return words(links)
    told = []
    for verb in ("create", "update", "delete", "restore"):
        of_verb = [e for e in entries if e["verb"] == verb]
        outermost = min((site.rank_of(e["kind"]) for e in of_verb), default=0)
        told += _verb_words(verb, [e for e in of_verb if site.rank_of(e["kind"]) == outermost], root)
    return words(told)


def _link_words(entry: Mapping[str, Any]) -> str:
    """A row that is tied to another one, or no longer is: `bind elastic IP 203.0.113.4`."""
    before, after = entry["fields"].get(site.link_fields.get(entry["kind"], ""), (None, None))
    if bool(before) == bool(after):
        return ""
    return f"{'bind' if after else 'unbind'} {site.kind_word(entry['kind'])} {entry['name']}"


def _verb_words(verb: str, entries: Sequence[Mapping[str, Any]], root: str) -> list[str]:
    """Entries of one kind and verb: by name when it is one, else by their number."""
    if not entries:
        return []
    kind, start = (
        site.kind_word(entries[0]["kind"]),
        {"create": "add ", "delete": "delete ", "restore": "keep "}.get(verb, ""),
    )
    thing = f"{kind} {entries[0]['name']}" if len(entries) == 1 else f"{len(entries)} {kind}s"
    if verb != "update":
        return [f"{start}{thing}"]
    columns = dict.fromkeys(name for entry in entries for name in entry["fields"])
    # The name at the cloud goes with ours.
    fields = words([site.field_word(n) for n in columns if n != "cloud_name" or "name" not in columns])
    return [fields if entries[0]["id"] == root else f"{fields} of {thing}"] if fields else []


def verb_word(verb: str) -> str:
    """A verb of the audit trail as people say it."""
    return VERBS.get(verb, verb)


def event_word(event: AuditEvent) -> str:
    """What an audit row says was done. A deletion that no person asked for is one that was noticed."""
    if event.verb == "delete" and event.actor_id is None:
        return VERBS["gone"]
    return verb_word(event.verb)
