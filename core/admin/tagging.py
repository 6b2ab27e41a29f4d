"""Tags on the page of every object: what people noted, what the cloud says, and the page that changes the people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import Model, Q
from django.http import HttpRequest

from core.access import missing_right
from core.admin.actors import actor_of
from core.admin.changepage import ChangePage
from core.admin.forms import ConsoleForm, TextArea
from core.admin.markup import NOTHING
from core.admin.parts import Button, Tab, Table
from core.engine.writing import Change
from core.tags import rules
from core.tags.models import Tag
from core.tags.services import is_tagged, may_see_internal, tags_of, write_tags

if TYPE_CHECKING:
    from core.admin.resource import ResourceAdmin

PAGE = "edit_tags"
WHOSE = {rules.USER: "people", rules.CLOUD: "the cloud", rules.INTERNAL: "Skydeck"}


def named_by_tag(model: type[Model], term: str) -> Q | None:
    """Objects with a tag of this key or value, as `owner`, `ann`, `owner:ann` or `owner=ann`; None where there are none of this
    kind at all."""
    if not term or not is_tagged(model):
        return None
    rows = Tag.objects.filter(kind=model._meta.model_name).exclude(key__startswith=rules.INTERNAL)
    asked = Q(value=term)
    with suppress(ValueError):
        keys, value = rules.parse_wanted(term.replace("=", ":", 1))
        asked |= Q(key__in=keys) if value is None else Q(key__in=keys, value=value)
    return Q(pk__in=rows.filter(asked).values("object_id"))


class TagsField(forms.CharField):
    """One tag a line: `key = value`, or `key` alone."""

    widget = TextArea

    def clean(self, value: Any) -> dict[str, str]:
        found: dict[str, str] = {}
        for number, line in enumerate(str(super().clean(value)).splitlines(), start=1):
            key, _, text = (part.strip() for part in line.partition("="))
            if not line.strip():
                continue
            if key in found:
                raise forms.ValidationError(f"Line {number}: there is “{key}” already.")
            found[key] = text
        return found


class TagsForm(ConsoleForm):
    """What people note on an object."""

    tags = TagsField(
        label="Tags", required=False, widget=TextArea({"rows": 8, "placeholder": "owner = ann\ntier = gold"}),
        help_text="One a line: key = value. What is taken out of here is taken off the object.",
    )  # fmt: skip


class TagsPage(ChangePage):
    """Replaces people's tags as a set."""

    form_class = TagsForm
    confirm_label = "Save"
    intro = (
        "Lists find what is tagged: search for a tag, a value, or both as owner:ann. Nothing is sent to the cloud, and what the "
        "cloud says stays."
    )

    def get_title(self) -> str:
        return f"Tags of {self.obj}"

    def initial(self) -> dict[str, Any]:
        mine = tags_of([self.obj.pk]).get(self.obj.pk, {})
        lines = [
            f"{key.removeprefix(rules.USER)} = {value}" if value else key.removeprefix(rules.USER)
            for key, value in mine.items()
            if key.startswith(rules.USER)
        ]
        return {"tags": "\n".join(lines)}

    def why_not(self) -> str:
        return missing_right(self.obj, self.actor, f"{self.admin.right}.update")

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return write_tags(
            self.obj, actor=self.actor, right=f"{self.admin.right}.update", tags=values["tags"], replace=True
        )

    def object_url(self, change: Change) -> str:
        return str(self.admin.tab_url(self.obj.pk, "tags"))

    def done_words(self, change: Change) -> str:
        return f"The tags of {change.resource} are saved."


def tags_tab(admin: ResourceAdmin) -> Tab:
    """The tab of an object's tags."""

    def parts(request: HttpRequest, obj: Any) -> Sequence[Any]:
        actor = actor_of(request)
        found = tags_of([obj.pk], internal=may_see_internal(actor)).get(obj.pk, {})
        rows = []
        for key, value in found.items():
            prefix = next((one for one in WHOSE if key.startswith(one)), "")
            rows.append([key.removeprefix(prefix), value or NOTHING, WHOSE.get(prefix, NOTHING)])
        why_not = missing_right(obj, actor, f"{admin.right}.update")
        button = Button("Change tags", admin.page_url(PAGE, obj.pk), icon="sell", why_not=why_not)
        empty = "Nobody has tagged it. Tags such as owner = ann find things again, over all kinds and clouds."
        return (Table("Tags", ["Tag", "Value", "Written by"], rows, empty=empty, buttons=[button]),)

    return Tab("tags", "Tags", parts)
