"""External projects of an account: which there are, and whom each belongs to here (spec 3, rules 73 to 77)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils import timezone

from compute.clouds.errors import CloudError
from compute.clouds.specs import State
from compute.projects import rules
from compute.projects.choices import ProjectStatus, Source
from compute.projects.models import ExternalProject, MappingRule
from compute.sync.bulk import held
from compute.sync.models import PARTIAL, SyncPart
from compute.sync.reading import Reading, ends_the_run, is_sound, left_out
from compute.sync.tags import keep_tags
from compute.work import tag_of
from core.audit.models import AuditEvent
from core.audit.services import entry, record_many
from core.errors import DuplicateNameError
from identity.directory.cloud import project_for_cloud


def read_projects(reading: Reading, part: SyncPart, states: Iterable[State]) -> None:
    """All projects are listed first: who has which local project is known before a new one gets its own."""
    listed: dict[str, State] = {}
    failure: CloudError | None = None
    try:
        for item in states:
            listed[item.external_id] = item
    except CloudError as error:
        if ends_the_run(error):
            raise
        failure = error  # what came before it is read all the same
    part.seen = len(listed)
    # The rows are read after the listing: what is to be made at the cloud has its row before it is there.
    rows = ExternalProject.objects.filter(account=reading.account, deleted_at=None)
    known = {p.external_id: p for p in rows.exclude(external_id="").select_related("project")}
    unmade = {tag_of(p.pk): p for p in rows.filter(external_id="").select_related("project")}
    taken = {p.project_id for p in known.values() if p.external_id in listed} | {p.project_id for p in unmade.values()}
    mirror = _Projects(reading, part, taken, _mappings(reading, part))
    for item in listed.values():
        reading.context.check_cancel_lazily()
        if not is_sound(part, item):
            continue
        row = known.get(item.external_id) or next((unmade[tag] for tag in item.tags if tag in unmade), None)
        try:
            mirror.read(item, row)
        except Exception as error:
            if ends_the_run(error):
                raise
            left_out(part, item.name or item.external_id, error)
    with reading.context.owning():
        ids = dict(rows.exclude(external_id="").values_list("external_id", "pk"))
        keep_tags(reading, ExternalProject, ((ids[id], item) for id, item in listed.items() if id in ids))
    if failure is not None:
        raise failure
    gone = [p for p in known.values() if p.external_id not in listed]
    if not held(part, len(gone), len(known), "projects"):
        with reading.context.owning():
            part.gone = rows.filter(pk__in=[p.pk for p in gone]).update(deleted_at=timezone.now())
            record_many(_told(reading, "delete", row, note="gone outside") for row in gone)


def _mappings(reading: Reading, part: SyncPart) -> list[rules.Mapping]:
    """The account's mapping rules. One that leads into another domain, where the account was before, does not count."""
    found = []
    for row in MappingRule.objects.filter(account=reading.account).select_related("project"):
        if row.project.domain_id == reading.account.domain_id:
            found.append(rules.Mapping(row.matched_by, row.pattern, row.project))
        else:
            part.state = PARTIAL
            part.note(f"mapping rule {row}: project {row.project.name} lies in another domain than the account")
    return found


@dataclass
class _Projects:
    """The projects of one account. `taken`: local projects that other projects of this cloud have."""

    reading: Reading
    part: SyncPart
    taken: set[Any]
    mappings: list[rules.Mapping]

    def read(self, item: State, row: ExternalProject | None) -> None:
        if row is None:
            self._add(item)
            return
        values: dict[str, Any] = {"name": item.name[:255], "external_id": item.external_id}
        if row.status != ProjectStatus.CREATING:  # that ends when the account's user has its role in it
            values["status"] = _status(item)
        account = self.reading.account
        ruled = self._ruled(item) if row.project_src == Source.CLOUD else None
        if ruled is not None:
            values["project"] = ruled
        elif row.project is None or row.project.domain_id != account.domain_id:
            values["project"] = self._owner(item)  # rule 77
        if self._changes(row, values):
            self.part.changed += 1
        else:
            self.part.unchanged += 1

    def _add(self, item: State) -> None:
        fields = item.fields
        with self.reading.context.owning():
            owner = self._owner(item)
            made = ExternalProject.objects.create(
                account=self.reading.account, external_id=item.external_id, name=item.name[:255], status=_status(item),
                project=owner, external_domain_id=str(fields.get("domain_id") or ""),
                description=str(fields.get("description") or "")[:255],
            )  # fmt: skip
            _told(self.reading, "import", made, note="found at the cloud").save(force_insert=True)
        self.taken.add(owner.pk)
        self.reading.names_moved = True
        self.part.added += 1

    def _changes(self, row: ExternalProject, values: dict[str, Any]) -> bool:
        """Set what differs. False when nothing does."""
        before = {name: getattr(row, name) for name in values}
        changed = [name for name in values if before[name] != values[name]]
        if not changed:
            return False
        for name in changed:
            setattr(row, name, values[name])
        if "project" in changed:
            row.project_src = Source.CLOUD
        self.reading.names_moved |= "name" in changed
        with self.reading.context.owning():
            row.save(update_fields=[*changed, "project_src", "updated_at"])
            _told(
                self.reading, "update", row, note="changed outside",
                before={n: _plain(before[n]) for n in changed}, after={n: _plain(values[n]) for n in changed},
            ).save(force_insert=True)  # fmt: skip
        return True

    def _ruled(self, item: State) -> Any:
        return rules.mapped_to(self.mappings, name=item.name, tags=item.tags)

    def _owner(self, item: State) -> Any:
        """The local project for one that is new here: by a mapping rule that fits; without auto-create the account's own (rule 74); else the one that this
        very cloud project had before, here or by another login; else one by its name (rule 75), and where none can be made the
        account's own (rule 76). Raises `DuplicateNameError` where there is none either."""
        account = self.reading.account
        ruled = self._ruled(item)
        if ruled is not None:
            return ruled
        if account.project is not None and not account.auto_create_project:
            return account.project
        same_cloud = Q(account=account) | Q(account__provider=account.provider, account__access_url=account.access_url)
        mapped = ExternalProject.objects.filter(
            same_cloud, external_id=item.external_id, project__domain=account.domain_id
        )
        before = mapped.exclude(project__in=self.taken).select_related("project").order_by("deleted_at", "-id").first()
        if before is not None:
            return before.project
        name = item.name or item.external_id
        try:
            return project_for_cloud(account.domain, name, actor=self.reading.actor, taken=self.taken)
        except DuplicateNameError as clash:
            if account.project is None:
                raise
            self.part.state = PARTIAL
            self.part.note(
                f"{name} belongs to project {account.project.name}, for it could get none of its own: {clash.detail}"
            )
            return account.project


def _status(item: State) -> str:
    """Rule 88: what is switched off at the cloud cannot be used."""
    return ProjectStatus.AVAILABLE if item.fields.get("enabled", True) else ProjectStatus.UNKNOWN


def _plain(value: Any) -> Any:
    return str(value.pk) if hasattr(value, "pk") else value


def _told(reading: Reading, verb: str, row: ExternalProject, **values: Any) -> AuditEvent:
    row.account = reading.account  # whose domain owns it
    return entry(reading.actor, verb, row, **values)
