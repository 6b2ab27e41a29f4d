"""Reading and writing tags. Reading costs one query for a page of rows; nothing here talks to a cloud."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model

from core.access import Actor, Reach, ensure
from core.audit.services import record
from core.engine.writing import Change, writing
from core.locks.services import hold
from core.models import Base
from core.tags import rules
from core.tags.models import Tag

CHUNK = 500
TagMap = dict[str, str]


def is_tagged(model: type[Model]) -> bool:
    """Whether objects of this kind have tags: all that have ids of ours."""
    return issubclass(model, Base)


def may_see_internal(actor: Actor | None) -> bool:
    """Internal tags are for administrators of the system."""
    return actor is not None and actor.decide("core.tags.internal").reach is Reach.SYSTEM


def tags_of(pks: Iterable[Any], *, internal: bool = False) -> dict[Any, TagMap]:
    """The tags of these objects, by id; one query."""
    found: dict[Any, TagMap] = defaultdict(dict)
    rows = Tag.objects.filter(object_id__in=list(pks))
    if not internal:
        rows = rows.exclude(key__startswith=rules.INTERNAL)
    for pk, key, value in rows.order_by("key").values_list("object_id", "key", "value"):
        found[pk][key] = value
    return found


def write_tags(
    obj: Any, *, actor: Actor, right: str, tags: rules.Tags, replace: bool = False, raw: bool = False
) -> Change:
    """`user-metadata`, `set-user-metadata` (`replace`: the rest of people's tags goes) and `metadata` (`raw` keys) of spec 4.4.

    A value of None takes the tag away. Raises `InputParameterError` and `ForbiddenError` on "tags" (rule 98).
    """
    ensure(actor, right, obj)
    wanted = rules.check_raw_tags(tags, internal=may_see_internal(actor)) if raw else rules.check_user_tags(tags)
    with writing() as done:
        hold(f"tags:{obj.pk}")
        known = dict(Tag.objects.filter(object_id=obj.pk).values_list("key", "value"))
        if replace:
            wanted = {**{key: None for key in known if key.startswith(rules.USER)}, **wanted}
        after = {key: value for key, value in {**known, **wanted}.items() if value is not None}
        rules.check_number(sum(key.startswith(rules.USER) for key in after))
        changed = {key: value for key, value in wanted.items() if known.get(key) != value}
        if changed:
            _store({obj.pk: changed}, kind=_kind(obj))
            verb = "metadata" if raw else "set-user-metadata" if replace else "user-metadata"
            record(
                actor, verb, obj, before={key: known[key] for key in changed if key in known},
                after={key: value for key, value in changed.items() if value is not None},
            )  # fmt: skip
        return done(obj)


def mirror_tags(kind: str, said: Mapping[UUID, TagMap]) -> int:
    """Rule 99: replace the clouds' tags of these objects as a set; people's tags stay. One query reads, and nothing is written
    where nothing differs. Returns how many objects changed. Call it inside the transaction that wrote the objects."""
    known: dict[UUID, TagMap] = {pk: {} for pk in said}
    rows = Tag.objects.filter(object_id__in=list(said), key__startswith=rules.CLOUD)
    for pk, key, value in rows.values_list("object_id", "key", "value"):
        known[pk][key] = value
    changes: dict[UUID, dict[str, str | None]] = {}
    for pk, tags in said.items():
        if known[pk] != tags:
            gone: dict[str, str | None] = {key: None for key in known[pk] if key not in tags}
            changes[pk] = {**gone, **{key: value for key, value in tags.items() if known[pk].get(key) != value}}
    if changes:
        _store(changes, kind=kind)
    return len(changes)


def forget_tags(pks: Collection[UUID]) -> None:
    """What is gone has no tags."""
    Tag.objects.filter(object_id__in=pks).delete()


def _kind(obj: Model) -> str:
    return str(obj._meta.model_name)


def _store(changes: Mapping[Any, Mapping[str, str | None]], *, kind: str) -> None:
    gone: dict[str, list[Any]] = defaultdict(list)
    for pk, tags in changes.items():
        for key, value in tags.items():
            if value is None:
                gone[key].append(pk)
    for key, pks in gone.items():
        Tag.objects.filter(object_id__in=pks, key=key).delete()
    rows = [
        Tag(kind=kind, object_id=pk, key=key, value=value)
        for pk, tags in changes.items()
        for key, value in tags.items()
        if value is not None
    ]
    Tag.objects.bulk_create(
        rows, batch_size=CHUNK, update_conflicts=True, unique_fields=["object_id", "key"],
        update_fields=["value", "updated_at"],
    )  # fmt: skip
