"""What the console's faces of this app share: columns that say where a row lies, and the words of simple states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.access import Actor
from core.admin.ages import BY_AGE, age_cell
from core.admin.filters import related_filter
from core.admin.markup import NOTHING, anchor
from core.admin.parts import Fact
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tones import Badge, Tone

# Words that clouds use for networks, regions and addresses, and what they mean to a person.
SIMPLE_TONES = {
    "available": Tone.OK, "inservice": Tone.OK, "ready": Tone.OK, "active": Tone.OK, "deleting": Tone.MOTION,
    "creating": Tone.MOTION, "associate": Tone.MOTION, "dissociate": Tone.MOTION, "error": Tone.BAD, "unknown": Tone.BAD, "outofservice": Tone.WARN,
}  # fmt: skip


def simple_badge(word: str) -> Badge:
    """A state that is one plain word."""
    told = {"inservice": "in service", "outofservice": "out of service"}.get(word, word.replace("_", " "))
    return Badge(SIMPLE_TONES.get(word, Tone.PLAIN), told)


def related(obj: Model | None, actor: Actor, text: str = "") -> SafeString | str:
    """A reference to a loaded row: a link where this actor may open it, its name otherwise."""
    if obj is None:
        return NOTHING
    return anchor(site.url_for(obj, actor), text or str(obj))


class ManagedAdmin(ResourceAdmin):
    """A row that lies in a cloud. `managed_at`: the path to the row that has `manager`, `region` and `project`."""

    managed_at: ClassVar[Sequence[str]] = ()

    def root(self, obj: Any) -> Any:
        """The row that knows the place."""
        for name in self.managed_at:
            obj = getattr(obj, name)
        return obj

    def get_list_filter(self, request: Any) -> list[Any]:
        path = "".join(f"{name}__" for name in self.managed_at)
        places = [
            related_filter("account", "account", f"{path}manager__account"),
            related_filter("project", "project", f"{path}project"),
        ]
        return [*super().get_list_filter(request), *places]

    def where(self, obj: Any) -> str:
        """Account and region in one phrase."""
        root = self.root(obj)
        return f"{root.manager.account.name} / {root.region.name}"

    @admin.display(description="Where")
    def place(self, obj: Any) -> SafeString:
        root = self.root(obj)
        project = root.project
        owner = format_html("<small>project {}</small>", project.name) if project is not None else ""
        account, region = root.manager.account.name, root.region.name
        return format_html('{} / <span class="sd-whole">{}</span>{}', account, region, owner)

    @admin.display(description="Age", ordering=BY_AGE)
    def age(self, obj: Any) -> SafeString:
        return age_cell(obj)

    def subtitle(self, obj: Any, actor: Actor) -> Sequence[Any]:
        root = self.root(obj)
        return (
            related(root.project, actor, f"project {root.project.name}") if root.project else "",
            related(root.manager.account, actor),
            related(root.region, actor),
        )

    def palette_words(self, obj: Any) -> str:
        return f"{self.opts.verbose_name} in {self.where(obj)}"

    def place_facts(self, obj: Any, actor: Actor) -> list[Fact]:
        """Owner and cloud as facts."""
        root = self.root(obj)
        facts = [
            Fact("Account", related(root.manager.account, actor)),
            Fact("Region", related(root.region, actor)),
            Fact("Project", related(root.project, actor)),
        ]
        if root.project is not None:
            facts.append(Fact("Domain", related(root.project.domain, actor)))
        return facts
