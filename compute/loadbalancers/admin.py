"""Load balancers, listeners, backend groups and backends in the console: lists, pages with the picture, tabs and buttons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from compute.console import ManagedAdmin, related
from compute.loadbalancers.choices import AddressType, ListenerType, Scheduler, StickyType
from compute.loadbalancers.console import foreign, tables
from compute.loadbalancers.console import pages as change
from compute.loadbalancers.console.groups import (
    BACKEND_GROUPS,
    BALANCER_GROUPS,
    CHANGED_INSIDE,
    GROUP_GROUPS,
    LISTENER_GROUPS,
    fits,
)
from compute.loadbalancers.console.paste import target_of
from compute.loadbalancers.console.picture import layout, outline
from compute.loadbalancers.console.sides import (
    balancer_side,
    drift_words,
    listener_side,
    member_label,
    member_side,
    pool_side,
)
from compute.loadbalancers.console.tree import TONE_WORDS, graph_of, load_tree
from compute.loadbalancers.console.words import our_badge, outside_badges, row_badges
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.rules import join_host_port
from core.access import Actor, visible_to
from core.admin.actors import actor_of
from core.admin.ages import age_fact
from core.admin.filters import word_filter
from core.admin.markup import NOTHING, anchor, code, moment, plural
from core.admin.parts import Drawn, Fact, Facts, Notice, Offer, Tab, problem_notice
from core.admin.site import site
from core.admin.tabs import Mirror
from core.admin.tones import Badge, Tone
from core.admin.words import task_title
from core.tasks.models import FAILED, LOST, OPEN, Task

BACKUP_HINT = (
    "It takes traffic only when no other backend of its group can. It was set elsewhere; Skydeck leaves it as it is."
)
SHOWN_TASKS = 5  # of those that are at work on a tree, on its pages


class TreeAdmin(ManagedAdmin):
    """A row of a balancer's tree; what is at work on the tree stands on the page of every row of it."""

    counted = Q(deleted_at=None)
    in_palette = True

    def balancer(self, obj: Any) -> LoadBalancer:
        """The root of the row's tree."""
        root: LoadBalancer = self.root(obj)
        return root

    def states(self, obj: Any) -> list[Badge]:
        return [*row_badges(obj), *outside_badges(obj)]

    def get_row(self, request: HttpRequest, object_id: Any) -> Any:
        row = super().get_row(request, object_id)
        at_work = list(Task.objects.filter(line=self.balancer(row).line, state__in=OPEN).order_by("id"))
        row.busy = {entry["id"] for task in at_work for entry in task.change_set}
        row.open_tasks = at_work[:SHOWN_TASKS]
        return row

    def page_moves(self, obj: Any) -> bool:
        return bool(obj.open_tasks) or self.moving(obj)

    def notices(self, request: HttpRequest, obj: Any) -> list[Notice]:
        found = super().notices(request, obj)
        root = self.balancer(obj)
        if root.provisioning_status == "ERROR":
            found.append(error_notice(root))
        if root.missing_since is not None:
            hint = "Read it again to be sure. What stands here is how it was when it was seen last."
            found.append(Notice(Tone.WARN, f"The cloud has no load balancer {root.name} any more.", hint=hint))
        for task in obj.open_tasks:
            text = f"{task_title(task)} is at work. {task.note}".strip()
            found.append(Notice(Tone.MOTION, text, url=site.url_of("task", task.pk), link="Watch the task"))
        return found


def name_rules(pools: Sequence[PoolBinding], lb: LoadBalancer) -> None:
    """Give each pool the names of the rules that send to it; one query, and none where there is no such rule."""
    rules = {pool.pk: foreign.rules_to(pool, lb) for pool in pools}
    listeners: dict[str, str] = {}
    if any(rules.values()):
        rows = Listener.objects.filter(loadbalancer=lb, deleted_at=None).exclude(external_id="")
        listeners = dict(rows.values_list("external_id", "name"))
    for pool in pools:
        pool.rule_names = [foreign.rule_name(rule, listeners) for rule in rules[pool.pk]]  # type: ignore[attr-defined]


def events_inside(**tree: Any) -> Q:
    """Audit events of everything below a balancer (`loadbalancer=`) or a group (`backend_group=`), gone rows too."""
    if "backend_group" in tree:
        groups, pools = None, {"backend_group": tree["backend_group"]}
        backends: dict[str, Any] = {"backend_group": tree["backend_group"]}
    else:
        groups, pools = BackendGroup.objects.filter(**tree), tree
        backends = {"backend_group__loadbalancer": tree["loadbalancer"]}
    found = _events_of(PoolBinding.objects.filter(**pools)) | _events_of(Backend.objects.filter(**backends))
    found |= _events_of(MemberBinding.objects.filter(**{f"pool_binding__{name}": row for name, row in pools.items()}))
    return found if groups is None else found | _events_of(groups) | _events_of(Listener.objects.filter(**tree))


def _events_of(rows: QuerySet[Any]) -> Q:
    return Q(kind=rows.model._meta.model_name, object_id__in=rows.order_by().values("pk"))


def error_notice(lb: LoadBalancer) -> Notice:
    """What it means that the cloud has put a balancer into ERROR, and what can be done about it."""
    return Notice(
        Tone.BAD,
        f"The cloud has put load balancer {lb.name} into ERROR, and allows no change but its deletion.",
        hint="Those who run the cloud can start a failover of it; give them its id. Then choose “Read again”.",
        cause=str(lb.raw.get("error_message") or ""),
    )


@admin.register(LoadBalancer, site=site)
class LoadBalancerAdmin(TreeAdmin):
    """Roots of trees."""

    right = "compute.loadbalancers"
    add_label = "New load balancer"
    groups = BALANCER_GROUPS
    list_display = ("state", "name", "vip", "eip", "listeners_count", "place", "age")
    search_fields = ("name", "address", "=external_id", "eips__ip_addr")
    search_help_text = "Name, address or id"
    pages = (
        ("add/", change.WizardPage, "add"),
        ("<uuid:object_id>/edit/", change.EditBalancerPage, "edit"),
        ("<uuid:object_id>/delete/", change.DeleteBalancerPage, "delete"),
        ("<uuid:object_id>/associate-eip/", change.AssociateEipPage, "associate"),
        ("<uuid:object_id>/dissociate-eip/", change.DissociateEipPage, "dissociate"),
        ("<uuid:object_id>/read/", change.ReadBalancerPage, "read"),
        ("<uuid:object_id>/add-listener/", change.AddListenerPage, "add_listener"),
        ("<uuid:object_id>/add-group/", change.AddGroupPage, "add_group"),
    )
    offers = (
        Offer("Add listener", "add_listener", change.ADD_LISTENER, icon="add", primary=True),
        Offer("Change", "edit", change.EDIT_BALANCER, icon="edit"),
        Offer("Bind elastic IP", "associate", change.ASSOCIATE, icon="public", shown=lambda lb: lb.eip is None),
        Offer(
            "Unbind elastic IP",
            "dissociate",
            change.DISSOCIATE,
            icon="public_off",
            shown=lambda lb: lb.eip is not None,
        ),
        Offer("Read again", "read", change.READ, icon="sync", post=True),
        Offer("Delete", "delete", change.DELETE_BALANCER, icon="delete", danger=True),
    )
    empty_title = "No load balancer yet"
    empty_text = "Make the first one here: a name, a network, a port and the addresses behind it, all in one plan. Or connect a cloud that has some."

    def base_rows(self) -> QuerySet[Any]:
        return LoadBalancer.objects.for_list().annotate(changed_inside=fits(CHANGED_INSIDE))

    def states(self, obj: Any) -> list[Badge]:
        return [*row_badges(obj), *outside_badges(obj, inside=obj.changed_inside)]

    # -- the list

    @admin.display(description="Address", ordering="address")
    def vip(self, obj: LoadBalancer) -> Any:
        return code(obj.address)

    @admin.display(description="Elastic IP")
    def eip(self, obj: LoadBalancer) -> Any:
        return code(obj.eip.ip_addr if obj.eip is not None else "")

    @admin.display(description="Holds")
    def listeners_count(self, obj: Any) -> str:
        return f"{plural(obj.listener_count, 'listener')}, {plural(obj.backend_group_count, 'backend group')}"

    # -- the page

    def get_row(self, request: HttpRequest, object_id: Any) -> Any:
        row = super().get_row(request, object_id)
        row.tree = load_tree(row, row.busy)
        return row

    def failure_notice(self, request: HttpRequest, obj: Any) -> Notice | None:
        """The last change of the tree that was refused, whichever row of it that was about, with the way to its task."""
        if obj.open_tasks or not any(row.failure for row in obj.tree.rows()):
            return None
        tasks = visible_to(Task.objects.all(), actor_of(request), "core.tasks.list")
        task = tasks.filter(line=obj.line, state__in=(FAILED, LOST), settled_at=None).order_by("-id").first()
        if task is None:
            return super().failure_notice(request, obj)
        start = f"“{task_title(task)}” was not carried out."
        return problem_notice(task.problem or {}, start=start, url=site.url_of("task", task.pk), link="Open the task")

    def notices(self, request: HttpRequest, obj: Any) -> list[Notice]:
        found = super().notices(request, obj)
        changed = [(mirror.label, words) for mirror in obj.tree.mirrors() if (words := drift_words(mirror))]
        if changed:
            text = " ".join(f"{label}: {words}." for label, words in changed[:3])
            more = f" And {len(changed) - 3} more." if len(changed) > 3 else ""
            url = self.tab_url(obj.pk, "drift")
            found.append(Notice(Tone.WARN, f"Changed outside. {text}{more}", url=url, link="Compare the values"))
        return found

    def watched(self, obj: Any) -> Sequence[Mirror]:
        mirrors: list[Mirror] = obj.tree.mirrors()
        return mirrors

    def inside(self, obj: Any) -> Q:
        return events_inside(loadbalancer=obj)

    def mirrors(self, obj: Any) -> Sequence[Mirror]:
        return [balancer_side(obj, busy=obj.busy)]

    def known_names(self, obj: Any) -> Mapping[str, str]:
        names = {str(row.pk): row.name for row in (*obj.tree.groups, *obj.tree.listeners)}
        return names | {str(pool.pk): pool.backend_group.name for pool in obj.tree.pools}

    def subtitle(self, obj: LoadBalancer, actor: Actor) -> Sequence[Any]:
        return (code(obj.address), *super().subtitle(obj, actor))

    def tabs(self, request: HttpRequest, obj: Any) -> list[Tab]:
        return [
            *super().tabs(request, obj),
            Tab("listeners", "Listeners", self.listeners, count=obj.listener_count),
            Tab("groups", "Backend groups", self.backend_groups, count=obj.backend_group_count),
        ]

    def overview(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        actor = actor_of(request)
        picture = layout(graph := graph_of(obj.tree, site.url_of))
        legend = [(str(tone), TONE_WORDS[tone]) for tone in picture.legend]
        values = {"picture": picture, "legend": legend, "name": obj.name, "outline": outline(graph)}
        return (Drawn("console/loadbalancers/picture.html", values), self._facts(obj, actor))

    def _facts(self, obj: LoadBalancer, actor: Actor) -> Facts:
        eip = obj.eip
        facts = [
            Fact("Address", code(obj.address)),
            Fact("Elastic IP", related(eip, actor) if eip else NOTHING),
            Fact("Network", related(obj.network, actor)),
            Fact("VPC", related(obj.network.vpc, actor) if obj.network else NOTHING),
            *self.place_facts(obj, actor),
            Fact("Provider at the cloud", obj.provider or NOTHING),
            Fact("Zone", obj.availability_zone or NOTHING),
            Fact("Protected against deletion", "yes" if obj.disable_delete else "no"),
            age_fact(obj),
            Fact("Id at the cloud", code(obj.external_id)),
            Fact("Description", obj.description or NOTHING),
        ]
        if obj.missing_since:
            facts.insert(0, Fact("Missing at the cloud since", moment(obj.missing_since)))
        return Facts("About this load balancer", facts)

    def listeners(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        button = self.offer_button(request, obj, "add_listener")
        return (tables.listener_table(obj.tree.listeners, [button]),)

    def backend_groups(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        return tables.group_tables(
            obj.tree, self.page_url("add_group", obj.pk), change.ADD_GROUP.why_not(obj, actor_of(request))
        )


@admin.register(Listener, site=site)
class ListenerAdmin(TreeAdmin):
    """Ports on which balancers listen."""

    right = "compute.loadbalancerlisteners"
    managed_at = ("loadbalancer",)
    groups = LISTENER_GROUPS
    list_display = ("state", "name", "listens_on", "balancer_name", "group_name", "place", "age")
    list_filter = (word_filter("protocol", "type", "listener_type", ListenerType.choices),)
    search_fields = ("name", "loadbalancer__name", "=listener_port", "=external_id")
    search_help_text = "Name, load balancer or port"
    pages = (
        ("<uuid:object_id>/edit/", change.EditListenerPage, "edit"),
        ("<uuid:object_id>/delete/", change.DeleteListenerPage, "delete"),
    )
    offers = (
        Offer("Change", "edit", change.EDIT_LISTENER, icon="edit"),
        Offer("Delete", "delete", change.DELETE_LISTENER, icon="delete", danger=True),
    )
    empty_title = "No listener yet"
    empty_text = "A listener is a port on which a load balancer takes traffic. Open a load balancer and add one."

    def base_rows(self) -> QuerySet[Any]:
        return Listener.objects.for_list()

    @admin.display(description="Listens on", ordering="listener_port")
    def listens_on(self, obj: Listener) -> str:
        return f"{obj.get_listener_type_display()} : {obj.listener_port}"

    @admin.display(description="Load balancer", ordering="loadbalancer__name")
    def balancer_name(self, obj: Listener) -> SafeString:
        return anchor(site.url_of("loadbalancer", obj.loadbalancer_id), obj.loadbalancer.name)

    @admin.display(description="Sends to")
    def group_name(self, obj: Listener) -> Any:
        if obj.pool_binding is None:
            return NOTHING
        return anchor(
            site.url_of("backendgroup", obj.pool_binding.backend_group_id), obj.pool_binding.backend_group.name
        )

    def mirrors(self, obj: Any) -> Sequence[Mirror]:
        return [listener_side(obj, [obj.pool_binding] if obj.pool_binding else [], busy=obj.busy)]

    def subtitle(self, obj: Listener, actor: Actor) -> Sequence[Any]:
        return (self.listens_on(obj), related(obj.loadbalancer, actor), *super().subtitle(obj, actor))

    def overview(self, request: HttpRequest, obj: Listener) -> Sequence[Any]:
        actor = actor_of(request)
        pool = obj.pool_binding
        facts = [
            Fact("Listens on", self.listens_on(obj)),
            Fact("Load balancer", related(obj.loadbalancer, actor)),
            Fact(
                "Sends to",
                anchor(site.url_of("backendgroup", pool.backend_group_id), pool.backend_group.name)
                if pool
                else NOTHING,
            ),
            Fact("Algorithm", Scheduler(pool.scheduler).label if pool else NOTHING),
            Fact("Session persistence", tables.sticky_words(pool) if pool else NOTHING),
            Fact("Connection limit", "no limit" if obj.connection_limit == -1 else obj.connection_limit),
            Fact("Client time-out", f"{obj.client_idle_timeout} ms"),
            Fact("Connect time-out to backends", f"{obj.backend_connect_timeout} ms"),
            Fact("Backend time-out", f"{obj.backend_idle_timeout} ms"),
            age_fact(obj),
            Fact("Id at the cloud", code(obj.external_id)),
            Fact("Description", obj.description or NOTHING),
        ]
        pools: list[PoolBinding] = []
        if foreign.rules_of(obj):
            rows = PoolBinding.objects.filter(loadbalancer=obj.loadbalancer_id, deleted_at=None)
            pools = list(rows.select_related("backend_group"))
        return (Facts("About this listener", facts), *foreign.listener_table(obj, pools))


@admin.register(BackendGroup, site=site)
class BackendGroupAdmin(TreeAdmin):
    """Groups of backends. At the cloud each use is an object of its own, which it calls a pool."""

    right = "compute.loadbalancerbackendgroups"
    managed_at = ("loadbalancer",)
    groups = GROUP_GROUPS
    list_display = ("state", "name", "balancer_name", "holds", "place", "since")
    search_fields = ("name", "loadbalancer__name")
    search_help_text = "Name, load balancer or id"
    pages = (
        ("<uuid:object_id>/edit/", change.EditGroupPage, "edit"),
        ("<uuid:object_id>/delete/", change.DeleteGroupPage, "delete"),
        ("<uuid:object_id>/add-backends/", change.AddBackendsPage, "add_backends"),
    )
    offers = (
        Offer("Add backends", "add_backends", change.ADD_BACKENDS, icon="add", primary=True),
        Offer("Change", "edit", change.EDIT_GROUP, icon="edit"),
        Offer("Delete", "delete", change.DELETE_GROUP, icon="delete", danger=True),
    )
    empty_title = "No backend group yet"
    empty_text = "A backend group holds the addresses behind a listener. The wizard for load balancers makes one; more are added on a load balancer's page."

    def named_by(self, term: str) -> Q | None:
        return Q(pk__in=PoolBinding.objects.filter(external_id=term, deleted_at=None).values("backend_group"))

    def states(self, obj: BackendGroup) -> list[Badge]:
        return [our_badge(obj), *outside_badges(obj)]

    def get_row(self, request: HttpRequest, object_id: Any) -> Any:
        row = super().get_row(request, object_id)
        bindings = PoolBinding.objects.filter(backend_group=row, deleted_at=None).select_related("backend_group")
        row.pools = list(bindings.prefetch_related("default_listeners"))
        name_rules(row.pools, row.loadbalancer)
        return row

    @admin.display(description="Load balancer", ordering="loadbalancer__name")
    def balancer_name(self, obj: BackendGroup) -> SafeString:
        return anchor(site.url_of("loadbalancer", obj.loadbalancer_id), obj.loadbalancer.name)

    @admin.display(description="Holds")
    def holds(self, obj: Any) -> str:
        return plural(obj.backend_count, "backend")

    def inside(self, obj: Any) -> Q:
        return events_inside(backend_group=obj)

    def watched(self, obj: Any) -> Sequence[Mirror]:
        rows = MemberBinding.objects.filter(pool_binding__in=obj.pools, deleted_at=None).select_related("backend")
        return [*self.mirrors(obj), *(member_side(row, member_label(row), obj.busy) for row in rows)]

    def mirrors(self, obj: Any) -> Sequence[Mirror]:
        return [pool_side(pool, f"For {tables.use_words(pool)}", obj.busy) for pool in obj.pools]

    def subtitle(self, obj: BackendGroup, actor: Actor) -> Sequence[Any]:
        return (related(obj.loadbalancer, actor), *super().subtitle(obj, actor))

    def overview(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        actor = actor_of(request)
        members = MemberBinding.objects.filter(pool_binding__in=obj.pools, deleted_at=None)
        backends = Backend.objects.filter(backend_group=obj, deleted_at=None)
        facts = [
            Fact("Load balancer", related(obj.loadbalancer, actor)),
            Fact("Type", obj.get_type_display()),
            age_fact(obj, *obj.pools),
            Fact("Description", obj.description or NOTHING),
        ]
        why_not = change.EDIT_BACKEND.why_not(obj, actor)
        return (
            tables.backend_table("Backends", list(backends), list(members), why_not),
            tables.pool_table(obj.pools),
            *foreign.group_table(obj.pools, obj.loadbalancer),
            Facts("About this backend group", facts),
        )


@admin.register(Backend, site=site)
class BackendAdmin(TreeAdmin):
    """Servers behind groups. At the cloud each use is an object of its own, which it calls a member."""

    right = "compute.loadbalancerbackends"
    managed_at = ("backend_group", "loadbalancer")
    groups = BACKEND_GROUPS
    list_display_links = ("target",)
    list_display = ("state", "target", "weight_words", "group_link", "balancer_name", "place")
    search_fields = ("name", "address", "backend_group__name", "backend_group__loadbalancer__name")
    search_help_text = "Address, name, backend group, load balancer or id"
    pages = (
        ("<uuid:object_id>/edit/", change.EditBackendPage, "edit"),
        ("<uuid:object_id>/drain/", change.DrainBackendPage, "drain"),
        ("<uuid:object_id>/bring-back/", change.BringBackPage, "bring_back"),
        ("<uuid:object_id>/delete/", change.DeleteBackendPage, "delete"),
    )
    offers = (
        Offer("Change", "edit", change.EDIT_BACKEND, icon="edit"),
        Offer("Drain", "drain", change.EDIT_BACKEND, icon="water_drop", shown=lambda backend: backend.weight > 0),
        Offer("Bring back", "bring_back", change.EDIT_BACKEND, icon="undo", shown=lambda backend: backend.weight == 0),
        Offer("Delete", "delete", change.DELETE_BACKEND, icon="delete", danger=True),
    )
    empty_title = "No backend yet"
    empty_text = "Backends are the addresses that traffic is sent to. Paste them into the wizard for load balancers, or add them on a backend group's page."

    def named_by(self, term: str) -> Q | None:
        found = Q(pk__in=MemberBinding.objects.filter(external_id=term, deleted_at=None).values("backend"))
        target = target_of(term)
        return found | Q(address=target[0], port=target[1]) if target is not None else found

    def states(self, obj: Any) -> list[Badge]:
        return tables.backend_badges(obj, [b for b in obj.bindings.all() if b.deleted_at is None])

    @admin.display(description="Address", ordering="address")
    def target(self, obj: Backend) -> SafeString:
        return code(join_host_port(obj.address, obj.port))

    @admin.display(description="Weight", ordering="weight")
    def weight_words(self, obj: Backend) -> str:
        return f"{obj.weight}, drained" if obj.weight == 0 else str(obj.weight)

    @admin.display(description="Backend group", ordering="backend_group__name")
    def group_link(self, obj: Backend) -> SafeString:
        return anchor(site.url_of("backendgroup", obj.backend_group_id), obj.backend_group.name)

    @admin.display(description="Load balancer", ordering="backend_group__loadbalancer__name")
    def balancer_name(self, obj: Backend) -> SafeString:
        lb = obj.backend_group.loadbalancer
        return anchor(site.url_of("loadbalancer", lb.pk), lb.name)

    def get_row(self, request: HttpRequest, object_id: Any) -> Any:
        row = super().get_row(request, object_id)
        found = MemberBinding.objects.filter(backend=row, deleted_at=None).select_related("pool_binding", "backend")
        row.members = list(found.prefetch_related("pool_binding__default_listeners"))
        name_rules([member.pool_binding for member in row.members], row.backend_group.loadbalancer)
        return row

    def inside(self, obj: Any) -> Q:
        return _events_of(MemberBinding.objects.filter(backend=obj))

    def mirrors(self, obj: Any) -> Sequence[Mirror]:
        return [member_side(member, f"For {tables.use_words(member.pool_binding)}", obj.busy) for member in obj.members]

    def subtitle(self, obj: Backend, actor: Actor) -> Sequence[Any]:
        return (self.target(obj), related(obj.backend_group, actor), related(obj.backend_group.loadbalancer, actor))

    def overview(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        actor = actor_of(request)
        facts = [
            Fact("Address", self.target(obj)),
            Fact("Weight", self.weight_words(obj), hint="It takes no new connections." if obj.weight == 0 else ""),
            Fact("Enabled", "yes" if obj.enabled else "no"),
            *([Fact("Backup", "yes", hint=BACKUP_HINT)] if any(map(foreign.is_backup, obj.members)) else []),
            Fact("Backend group", related(obj.backend_group, actor)),
            Fact("Load balancer", related(obj.backend_group.loadbalancer, actor)),
            age_fact(obj, *obj.members),
            Fact("Description", obj.description or NOTHING),
        ]
        return (tables.member_table(obj.members), Facts("About this backend", facts))


def pool_names(ids: Iterable[str], actor: Actor) -> dict[str, str]:
    """Uses of backend groups by the names of the groups."""
    rows = visible_to(PoolBinding.objects.filter(pk__in=ids), actor, "compute.loadbalancerbackendgroups.list")
    return {str(pk): name for pk, name in rows.order_by().values_list("pk", "backend_group__name")}


site.names_of["poolbinding"] = pool_names
# Columns that changes are told in, by the words that forms and plans have for them.
site.field_words |= {
    "pool_binding": "backend group", "scheduler": "algorithm", "sticky_session": "session persistence",
    "sticky_session_type": "cookie", "sticky_session_cookie": "name of the application's cookie", "cloud_name": "name at the cloud",
    "client_idle_timeout": "client time-out", "backend_connect_timeout": "connect time-out to backends",
    "backend_idle_timeout": "backend time-out", "disable_delete": "protected against deletion", "listener_type": "protocol",
    "listener_port": "port", "address_type": "reached",
}  # fmt: skip
site.value_words |= {
    column: {value: str(label) for value, label in choices}
    for column, choices in {
        "scheduler": Scheduler.choices, "listener_type": ListenerType.choices, "address_type": AddressType.choices,
        "sticky_session_type": StickyType.choices,
    }.items()
}  # fmt: skip
