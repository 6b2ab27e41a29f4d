"""Tables of listeners, backend groups, backends and their uses, from rows that are loaded already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from compute.loadbalancers.choices import Association, Scheduler, StickyType
from compute.loadbalancers.console.foreign import is_backup
from compute.loadbalancers.console.tree import Tree
from compute.loadbalancers.console.words import MEANING, cloud_badge, our_badge, outside_badges, row_badges
from compute.loadbalancers.models import Backend, Listener, MemberBinding, PoolBinding
from compute.loadbalancers.rules import join_host_port
from core.admin.markup import NOTHING, anchor, badges, code, moment
from core.admin.parts import Button, Drawn, Table
from core.admin.site import site
from core.admin.tones import Badge, Tone, worst
from core.engine.plan import words

BACKEND_COLUMNS = ("Backend", "State", "Weight", "Since", "Why", "Change")


def use_words(pool: PoolBinding) -> str:
    """Which listeners and rules send to a pool. Wants `default_listeners` loaded; `rule_names` where rules are known."""
    names = [row.name for row in pool.default_listeners.all() if row.deleted_at is None]
    listeners = [f"{'listener' if len(names) == 1 else 'listeners'} {words(names)}"] if names else []
    if users := [*listeners, *getattr(pool, "rule_names", ())]:
        return words(users)
    return "a rule" if pool.associated_type == Association.RULE else "no listener"


def sticky_words(pool: PoolBinding) -> str:
    """How a pool keeps clients on their backends."""
    if not pool.sticky_session:
        return "no"
    words = str(StickyType(pool.sticky_session_type).label)
    return f"by a {words}" + (f" named {pool.sticky_session_cookie}" if pool.sticky_session_cookie else "")


def backend_badges(backend: Backend, members: Sequence[MemberBinding]) -> list[Badge]:
    """A backend's states: our word, that it is drained, the worst of what the cloud says of its uses, and a change outside."""
    found = [our_badge(backend)]
    if backend.weight == 0:
        found.append(Badge(Tone.OFF, "drained"))
    at_cloud = [word for member in members if (word := cloud_badge(member)) is not None]
    if at_cloud:
        found.append(worst(at_cloud))
    if any(is_backup(member) for member in members):
        found.append(Badge(Tone.PLAIN, "backup", "It takes traffic only when no other backend of its group can."))
    return [*found, *outside_badges(backend)]


def why_words(row: Any) -> Any:
    """Why something is not well."""
    if row.failure:
        return str(row.failure.get("detail", ""))
    if row.operating_status in ("ERROR", "OFFLINE", "DEGRADED"):
        return MEANING[row.operating_status]
    return NOTHING


def listener_table(listeners: Sequence[Listener], buttons: Sequence[Button]) -> Table:
    """The listeners of a balancer."""
    rows = [
        [
            anchor(site.url_of("listener", row.pk), row.name),
            badges([*row_badges(row), *outside_badges(row)]),
            f"{row.get_listener_type_display()} : {row.listener_port}",
            anchor(site.url_of("backendgroup", row.pool_binding.backend_group_id), row.pool_binding.backend_group.name)
            if row.pool_binding
            else NOTHING,
            why_words(row),
        ]
        for row in listeners
    ]
    columns = ["Listener", "State", "Listens on", "Sends to", "Why"]
    return Table("Listeners", columns, rows, empty="It listens nowhere yet. Add a listener.", buttons=buttons)


def group_tables(tree: Tree, add_url: str, why_not: str) -> list[Any]:
    """A table of backends per group of a tree; above them the button for one more."""
    by_group: dict[Any, list[MemberBinding]] = defaultdict(list)
    for pool in tree.pools:
        by_group[pool.backend_group_id] += tree.members.get(pool.pk, ())
    backends = Backend.objects.filter(backend_group__in=tree.groups, deleted_at=None)
    of_group: dict[Any, list[Backend]] = defaultdict(list)
    for backend in backends:
        of_group[backend.backend_group_id].append(backend)
    add = Button("Add backend group", add_url, icon="add", why_not=why_not)
    if not tree.groups:
        return [Table("Backend groups", ["Group"], [], empty="It has no backend group yet.", buttons=[add])]
    tables: list[Any] = [Drawn("console/parts/buttons.html", {"buttons": [add]})]
    for group in tree.groups:
        more = Button("Open", site.url_of("backendgroup", group.pk))
        found = backend_table(group.name, of_group[group.pk], by_group[group.pk], why_not)
        tables.append(replace(found, buttons=[more]))
    return tables


def backend_table(title: str, backends: Sequence[Backend], members: Sequence[MemberBinding], why_not: str) -> Table:
    """Backends with both states, the reason where something is wrong, and the ways to change them."""
    by_backend: dict[Any, list[MemberBinding]] = defaultdict(list)
    for member in members:
        by_backend[member.backend_id].append(member)
    admin = site.admin_for("backend")
    rows = []
    for backend in backends:
        uses = by_backend[backend.pk]
        wrong = next((use for use in uses if use.failure or use.operating_status in ("ERROR", "OFFLINE")), None)
        since = max((use.observed_at for use in uses if use.observed_at), default=None)
        rows.append(
            [
                anchor(site.url_of("backend", backend.pk), join_host_port(backend.address, backend.port)),
                badges(backend_badges(backend, uses)),
                f"{backend.weight}, drained" if backend.weight == 0 else backend.weight,
                moment(since, "–"),
                why_words(wrong) if wrong is not None else NOTHING,
                NOTHING
                if why_not or backend.delete_requested_at
                else anchor(admin.page_url("edit", backend.pk), "Change"),
            ]
        )
    return Table(title, BACKEND_COLUMNS, rows, empty="It has no backends. Add the addresses that traffic should go to.")


def pool_table(pools: Sequence[PoolBinding]) -> Table:
    """The uses of a group: each is a pool at the cloud."""
    rows = [
        [
            use_words(pool), badges(row_badges(pool)), pool.protocol.upper(), Scheduler(pool.scheduler).label,
            sticky_words(pool), code(pool.external_id),
        ]
        for pool in pools
    ]  # fmt: skip
    columns = ["Used by", "State", "Protocol", "Algorithm", "Session persistence", "Id at the cloud"]
    return Table(
        "Uses", columns, rows, empty="Nothing uses it yet, so it does not exist at the cloud. Point a listener at it."
    )


def member_table(members: Sequence[MemberBinding]) -> Table:
    """The uses of a backend: each is a member at the cloud."""
    rows = [
        [
            use_words(member.pool_binding),
            badges(row_badges(member)),
            moment(member.observed_at, "–"),
            why_words(member),
            code(member.external_id),
        ]
        for member in members
    ]
    columns = ["Used by", "State", "Since", "Why", "Id at the cloud"]
    return Table(
        "Where it takes traffic", columns, rows, empty="Nothing uses its backend group, so it takes no traffic."
    )
