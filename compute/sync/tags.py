"""Tags that clouds give their objects, kept beside ours (rule 99). Our own markers are no tags for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compute.clouds.specs import State
from compute.sync.reading import Reading
from core.tags.rules import cloud_tags
from core.tags.services import mirror_tags

MARKER = "skydeck:"  # of whichever installation


def keep_tags(reading: Reading, model: Any, seen: Iterable[tuple[Any, State]]) -> None:
    """Keep what the cloud says of objects that moved: pairs of a row's id and its object. With the name of the cloud project that each is
    in, as `ext:project`. Call it inside a transaction of the lease."""
    said = {
        pk: cloud_tags(
            (tag for tag in item.tags if not tag.startswith(MARKER)),
            project=reading.cloud_projects.get(item.project_id, ""),
        )
        for pk, item in seen
    }
    if said:
        mirror_tags(model._meta.model_name, said)
