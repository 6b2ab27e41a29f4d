"""The plan of a balancer's tree: the steps between what people want and what the cloud says. Pure: no rows, no calls.

A plan touches only fields that we model and that are pending, deletes only what carries our tombstone, and leaves objects
and fields that it does not know as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compute.clouds.specs import CHANGEABLE, PROJECT_ROLE, BalancerCapabilities, State, TreeState
from compute.loadbalancers.choices import algorithm_word
from core.engine.merge import Standing, merge
from core.engine.plan import Impact, Plan, Step, words
from core.errors import NotEmptyError

CREATE, DELETE, CASCADE = "create", "delete", "cascade"


def pushed(field: str) -> str:
    """The word by which a task may set a field over what somebody else set it to, though nothing new is wanted here."""
    return f"push:{field}"


KIND_WORDS = {
    "loadbalancer": "load balancer", "listener": "listener", "pool": "backend group", "member": "backend",
    "floatingip": "elastic IP", "project": "cloud project",
}  # fmt: skip
FIELD_WORDS = {
    "enabled": "enabled", "connection_limit": "connection limit", "default_pool": "backend group",
    "timeout_client_data": "client time-out", "timeout_member_connect": "connect time-out to backends",
    "timeout_member_data": "backend time-out", "session_persistence": "session persistence", "algorithm": "algorithm",
}  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """One cloud object as people want it, with what the cloud accepted last.

    `row`: the id of our row; `label`: what it is called in sentences and digests, so never an id. `desired` and `applied`:
    changeable fields; a listener's `default_pool` is the *row* of a pool, "" for none. `fixed`: fields of its creation.
    `may`: what this task may send of it: field names, "create", "delete"; None means everything. `parent`: the row of the
    pool that a member is in. `tag`: our marker at the cloud. `where`: the
    place of a balancer, for people.
    """

    kind: str
    row: str
    label: str
    desired: Mapping[str, Any] = field(default_factory=dict)
    applied: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    external_id: str = ""
    tombstone: bool = False
    may: frozenset[str] | None = None
    parent: str = ""
    tag: str = ""
    where: str = ""

    def allows(self, word: str) -> bool:
        return self.may is None or word in self.may


@dataclass(frozen=True)
class WantedTree:
    """A whole balancer as people want it. `project`: the cloud project that has to be made before it."""

    balancer: Wanted
    listeners: tuple[Wanted, ...] = ()
    pools: tuple[Wanted, ...] = ()
    members: tuple[Wanted, ...] = ()
    floating_ips: tuple[Wanted, ...] = ()
    project: Wanted | None = None

    def all(self) -> tuple[Wanted, ...]:
        before = (self.project,) if self.project is not None else ()
        return (*before, self.balancer, *self.listeners, *self.pools, *self.members, *self.floating_ips)

    def by_row(self) -> dict[str, Wanted]:
        return {w.row: w for w in self.all()}


@dataclass(frozen=True)
class Sight:
    """The cloud's objects of a tree under our rows: what was found, and what of it was not known by id before."""

    states: Mapping[str, State] = field(default_factory=dict)
    adopted: frozenset[str] = frozenset()


def algorithms_in(steps: Iterable[Step]) -> list[str]:
    """The algorithms, in the words of the cloud, that the steps would set and that not every cloud offers: for the others no
    call is spent on asking."""
    everywhere = BalancerCapabilities().algorithms
    asked = (str(s.after["algorithm"]) for s in steps if s.kind == "pool" and s.after.get("algorithm"))
    return [algorithm for algorithm in asked if algorithm not in everywhere]


def recognise(wanted: WantedTree, observed: TreeState | None) -> Sight:
    """Find our rows among the cloud's objects: by external id, else by our marker, else by what is unique by nature.

    What is found without a known id was created by a call whose answer was lost: it is adopted, never made twice. By nature
    (address and port in a pool of ours) only members are found; a foreign listener on the same port stays foreign.
    """
    if observed is None:
        return Sight()
    states: dict[str, State] = {wanted.balancer.row: observed.balancer}
    adopted = set() if wanted.balancer.external_id else {wanted.balancer.row}

    def look(items: Iterable[Wanted], found: Iterable[State], *, natural: bool = False) -> None:
        items, by_id = list(items), {s.external_id: s for s in found}
        # First what is known by id, tombstones too: the old member at an address is never taken for the new one.
        for item in items:
            if item.external_id and item.external_id in by_id:
                states[item.row] = by_id.pop(item.external_id)
        by_tag = {tag: s for s in by_id.values() for tag in s.tags}
        by_nature = {_nature(s.fields): s for s in by_id.values()} if natural else {}
        for item in items:
            if item.external_id:
                continue
            state = by_tag.get(item.tag) or by_nature.get(_nature(item.fixed))
            if state is not None and by_id.pop(state.external_id, None) is not None:
                states[item.row] = state
                adopted.add(item.row)

    look(wanted.listeners, observed.listeners)
    look(wanted.pools, observed.pools)
    for pool in wanted.pools:
        state = states.get(pool.row)
        if state is not None:
            mine = [m for m in wanted.members if m.parent == pool.row]
            look(mine, observed.members.get(state.external_id, ()), natural=True)
    look(wanted.floating_ips, observed.floating_ips)
    return Sight(states, frozenset(adopted))


def _nature(fields: Mapping[str, Any]) -> tuple[Any, Any]:
    return (fields.get("address"), fields.get("port"))


def plan(wanted: WantedTree, observed: TreeState | None) -> Plan:
    """The steps, in order, that this task may and must do. `observed` None: there is no such balancer at the cloud."""
    sight = recognise(wanted, observed)
    root = wanted.balancer
    if root.tombstone:
        if not root.allows(DELETE):
            return Plan()
        check_may_delete(wanted, observed, sight)
        return _delete_root(wanted, observed)
    if observed is None and root.external_id:
        return Plan(warnings=(f"Load balancer {root.label} is missing at the cloud.",))
    making = _to_create(wanted, sight)
    maker = _Maker(wanted, sight, making)
    steps: list[Step] = []
    if root.row in making:
        if wanted.project is not None:
            steps.append(maker.create(wanted.project))
        steps.append(maker.create(root))
    steps += [maker.delete(w) for w in wanted.listeners if maker.deletes(w)]
    for pool in wanted.pools:
        members = [m for m in wanted.members if m.parent == pool.row]
        if pool.row in making:
            steps.append(maker.create(pool))
        steps += [maker.create(m) for m in members if m.row in making]
        steps += maker.updates([pool, *members])
    for listener in wanted.listeners:
        if listener.row in making:
            steps.append(maker.create(listener))
    steps += maker.updates(wanted.listeners)
    gone_pools = {w.row for w in wanted.pools if maker.deletes(w)}
    steps += [maker.delete(w) for w in wanted.members if maker.deletes(w) and w.parent not in gone_pools]
    steps += [maker.delete(w) for w in wanted.pools if w.row in gone_pools]
    steps += maker.updates([root])
    steps += maker.bindings()
    return Plan(tuple(steps), maker.warnings())


def check_may_delete(wanted: WantedTree, observed: TreeState | None, sight: Sight) -> None:
    """LB-D1, A11, against what the cloud has: without cascade nothing goes that is not deleted here too, row by row.

    Raises `NotEmptyError` that counts it.
    """
    if observed is None or wanted.balancer.allows(CASCADE):
        return
    going = {w.row for w in wanted.all() if w.tombstone}
    counted = _counted(observed, {s.external_id for row, s in sight.states.items() if row in going})
    if counted:
        raise NotEmptyError(
            f"Load balancer {wanted.balancer.label} holds {counted} at the cloud that would go with it.",
            hint="Read it again and look at them, or delete it with everything in it.",
        )


def _counted(observed: TreeState, without: Collection[str] = ()) -> str:
    members = [state for states in observed.members.values() for state in states]
    kinds = ((observed.listeners, "listener"), (observed.pools, "backend group"), (members, "backend"))
    parts = [(sum(s.external_id not in without for s in states), word) for states, word in kinds]
    return words([_count(n, word) for n, word in parts if n])


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _to_create(wanted: WantedTree, sight: Sight) -> frozenset[str]:
    """Rows to create: those the task may create, and what they hang on."""

    def absent(item: Wanted) -> bool:
        return item.row not in sight.states and not item.external_id and not item.tombstone

    rows = {w.row: w for w in wanted.all() if absent(w) and w.kind not in ("floatingip", "project")}
    # A change of something whose creation was refused wants it made, as it is wanted now.
    making = {row for row, w in rows.items() if w.may is None or w.may - {DELETE, CASCADE}}
    changed = True
    while changed:
        needs: set[str] = set()
        for row in making:
            needs.update(n for n in (rows[row].parent, str(rows[row].desired.get("default_pool", ""))) if n in rows)
        changed = not needs <= making
        making |= needs
    binds = any(_binds(w) for w in wanted.floating_ips)
    if (making or binds) and wanted.balancer.row in rows:
        making.add(wanted.balancer.row)
        if wanted.project is not None:
            making.add(wanted.project.row)
    return frozenset(making)


def _binds(item: Wanted) -> bool:
    return item.allows("port_id") and bool(item.desired.get("port_id"))


@dataclass(frozen=True)
class _Maker:
    """Makes single steps; knows the whole tree for labels and needs."""

    wanted: WantedTree
    sight: Sight
    making: frozenset[str]

    def _label(self, row: str) -> str:
        found = self.wanted.by_row().get(row)
        return found.label if found else ""

    def _words(self, item: Wanted, values: Mapping[str, Any]) -> dict[str, Any]:
        """Fields as people and digests see them: a default pool by its label."""
        return {k: (self._label(v) if k == "default_pool" else v) for k, v in values.items()}

    def _id(self, item: Wanted) -> str:
        state = self.sight.states.get(item.row)
        return state.external_id if state is not None else ""

    def deletes(self, item: Wanted) -> bool:
        return item.tombstone and item.allows(DELETE) and item.row in self.sight.states

    def create(self, item: Wanted) -> Step:
        after = self._words(item, {**item.fixed, **item.desired})
        needs = [item.parent, str(item.desired.get("default_pool", "")), self.wanted.balancer.row]
        if item.kind == "loadbalancer" and self.wanted.project is not None:
            needs.append(self.wanted.project.row)
        if item.kind == "listener":
            # It does not take traffic before all of its new group is there.
            pool = str(item.desired.get("default_pool", ""))
            needs += [w.row for w in self.wanted.members if w.parent == pool and pool in self.making]
        return Step(
            verb="create",
            kind=item.kind,
            target=item.label,
            sentence=_create_sentence(item, after),
            after={k: v for k, v in after.items() if v not in ("", None, {}, [])},
            row=item.row,
            needs=tuple(n for n in needs if n in self.making and n != item.row) if item.kind != "project" else (),
        )

    def delete(self, item: Wanted) -> Step:
        """A pool goes only when every listener that has it at the cloud was taken off it, or is gone, before."""
        impact = Impact(True, True, _delete_impact(item))
        others = _others_inside(self.sight.states[item.row])
        return Step(
            verb="delete",
            kind=item.kind,
            target=item.label,
            sentence=_delete_sentence(item, words(others)),
            before={**self._words(item, item.applied), **({"with": others} if others else {})},
            impact=impact,
            row=item.row,
            external_id=self._id(item),
            needs=tuple(w.row for w in self.wanted.listeners if self._uses(w, item)) if item.kind == "pool" else (),
        )

    def _uses(self, listener: Wanted, pool: Wanted) -> bool:
        """Whether a listener has the pool at the cloud now."""
        state = self.sight.states.get(listener.row)
        return state is not None and state.fields.get("default_pool_id") == self._id(pool)

    def updates(self, items: Iterable[Wanted]) -> list[Step]:
        return [step for item in items if (step := self._update(item)) is not None]

    def _update(self, item: Wanted) -> Step | None:
        state = self.sight.states.get(item.row)
        if state is None or item.tombstone:
            return None
        observed = observed_fields(item, state, self.wanted, self.sight)
        applied = item.applied if item.row not in self.sight.adopted else observed
        names = tuple(n for n in fields_of(item.kind) if item.allows(n))
        result = merge(item.desired, applied, observed, names)
        over = [*result.fields(Standing.CONFLICT), *(n for n in result.drifted if pushed(n) in (item.may or ()))]
        sent = [n for n in names if n in result.to_send or n in over]
        if not sent:
            return None
        after = {n: item.desired[n] for n in sent}
        before = {n: observed.get(n) for n in sent}
        overwritten = {n: observed.get(n) for n in over}
        pool = str(after.get("default_pool", ""))
        return Step(
            verb="update",
            kind=item.kind,
            target=item.label,
            sentence=_update_sentence(item, self._words(item, before), self._words(item, after)),
            before=self._words(item, before),
            after=self._words(item, after),
            impact=_update_impact(item, after),
            row=item.row,
            external_id=self._id(item),
            needs=(pool,) if pool in self.making else (),
            overwrites=self._words(item, overwritten),
        )

    def bindings(self) -> list[Step]:
        """Releases before binds, so that one address can take the place of another."""
        steps: list[Step] = []
        for item in self.wanted.floating_ips:
            state = self.sight.states.get(item.row)
            observed = state.fields.get("port_id", "") if state else item.applied.get("port_id", "")
            if not item.allows("port_id") or observed == item.desired.get("port_id"):
                continue
            if item.desired.get("port_id"):
                steps.append(
                    Step(
                        "bind",
                        "floatingip",
                        item.label,
                        f"Bind elastic IP {item.label} to load balancer {self.wanted.balancer.label}.",
                        before={"bound": bool(observed)},
                        after={"bound": True},
                        row=item.row,
                        needs=(self.wanted.balancer.row,) if self.wanted.balancer.row in self.making else (),
                        overwrites={"port_id": observed}
                        if observed and observed != item.applied.get("port_id")
                        else {},
                    )
                )
            elif observed and observed == item.fixed.get("port_id"):
                # Only off our own address: what somebody moved elsewhere meanwhile stays where it is.
                steps.insert(
                    0,
                    Step(
                        "release",
                        "floatingip",
                        item.label,
                        f"Unbind elastic IP {item.label} from load balancer {self.wanted.balancer.label}; the address is kept.",
                        before={"bound": True},
                        after={"bound": False},
                        row=item.row,
                        external_id=item.external_id,
                        impact=Impact(True, False, f"Clients that use {item.label} lose their way in."),
                    ),
                )
        return steps

    def warnings(self) -> tuple[str, ...]:
        drifted = []
        for item in self.wanted.all():
            state = self.sight.states.get(item.row)
            if item.kind == "floatingip":
                moved = state is not None and item.allows("port_id") and not item.desired.get("port_id")
                port = state.fields.get("port_id", "") if state is not None and moved else ""
                if port and port != item.fixed.get("port_id"):
                    drifted.append(f"where elastic IP {item.label} is bound")
                continue
            if state is None or item.row in self.sight.adopted:
                continue
            result = merge(
                item.desired, item.applied, observed_fields(item, state, self.wanted, self.sight), fields_of(item.kind)
            )
            left = [n for n in result.drifted if pushed(n) not in (item.may or ())]
            drifted += [f"{_field(n)} of {KIND_WORDS[item.kind]} {item.label}" for n in left]
        if not drifted:
            return ()
        return (f"Changed outside since it was last read, and left as it is: {words(drifted[:5])}.",)


def missing(wanted: WantedTree, sight: Sight) -> dict[str, str]:
    """What this task wants to change and the cloud, which had it, does not show: what each is called, by row."""
    return {
        w.row: f"{KIND_WORDS[w.kind].capitalize()} {w.label}"
        for w in (*wanted.listeners, *wanted.pools, *wanted.members)
        if w.may and w.external_id and not w.tombstone and w.row not in sight.states
    }


def fields_of(kind: str) -> tuple[str, ...]:
    """The fields a plan compares: the changeable ones, with a listener's pool by row instead of by id."""
    return tuple("default_pool" if n == "default_pool_id" else n for n in CHANGEABLE[kind])


def observed_fields(item: Wanted, state: State, wanted: WantedTree, sight: Sight) -> dict[str, Any]:
    """The cloud's values under the names of `fields_of`; a pool that is none of ours is `id:<external id>`."""
    values = dict(state.fields)
    if item.kind == "listener":
        pool_id = values.pop("default_pool_id", "") or ""
        rows = {sight.states[p.row].external_id: p.row for p in wanted.pools if p.row in sight.states}
        values["default_pool"] = rows.get(pool_id, f"id:{pool_id}") if pool_id else ""
    return values


def _delete_root(wanted: WantedTree, observed: TreeState | None) -> Plan:
    root = wanted.balancer
    if observed is None:
        return Plan()
    policies = sum(len(s.refs.get("policy_ids") or ()) for s in observed.listeners)
    monitors = sum(bool(s.refs.get("monitor_id")) for s in observed.pools)
    foreign = [_count(n, word) for n, word in ((policies, "rule set"), (monitors, "health monitor")) if n]
    counted = words([part for part in (_counted(observed), *foreign) if part])
    inside = [
        *foreign,
        *(
            f"listener {s.name or s.external_id} {s.fields.get('protocol')}:{s.fields.get('port')}"
            for s in observed.listeners
        ),
        *(f"backend group {s.name or s.external_id}" for s in observed.pools),
        *(f"backend {m.fields.get('address')}:{m.fields.get('port')}" for ms in observed.members.values() for m in ms),
    ]
    address = observed.balancer.fields.get("address", "")
    step = Step(
        "delete", "loadbalancer", root.label,
        f"Delete load balancer {root.label}{f' with its {counted}' if counted else ''}.",
        before={"address": address, "children": sorted(inside)},
        impact=Impact(True, True, f"Everything that reaches {address or root.label} is cut off, and the address may go to others."),
        row=root.row, external_id=observed.balancer.external_id,
    )  # fmt: skip
    return Plan((step,), tuple(f"Elastic IP {w.label} is kept and becomes free." for w in wanted.floating_ips))


def _field(name: str) -> str:
    return FIELD_WORDS.get(name, name.replace("_", " "))


def _told(name: str, value: Any) -> Any:
    return algorithm_word(value) if name == "algorithm" and isinstance(value, str) else value


def _value(value: Any) -> str:
    if value in (None, "", {}, []):
        return "nothing"
    if value is True:
        return "yes"
    if value is False:
        return "no"
    if isinstance(value, Mapping):
        return words([f"{k} {v}" for k, v in value.items()])
    return str(value)


def _create_sentence(item: Wanted, after: Mapping[str, Any]) -> str:
    if item.kind == "loadbalancer":
        at = f"with address {after['address']}" if after.get("address") else "with an address chosen by the cloud"
        return f"Create load balancer {item.label} {at}{f' in {item.where}' if item.where else ''}."
    if item.kind == "listener" and after.get("default_pool"):
        return f"Create listener {item.label} that sends to backend group {after['default_pool']}."
    if item.kind == "pool":
        return f"Create backend group {item.label} ({after.get('protocol')}, {algorithm_word(str(after.get('algorithm', '')))})."
    if item.kind == "project":
        return f"Create project {item.label} in the cloud of account {item.where}, and give the account's user the role {PROJECT_ROLE} in it."
    if item.kind == "member":
        return f"Add backend {item.label} with weight {after.get('weight')}."
    return f"Create {KIND_WORDS[item.kind]} {item.label}."


def _update_sentence(item: Wanted, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    parts = [f"{_field(n)} from {_value(_told(n, before.get(n)))} to {_value(_told(n, v))}" for n, v in after.items()]
    return f"Change {KIND_WORDS[item.kind]} {item.label}: {words(parts)}."


def _update_impact(item: Wanted, after: Mapping[str, Any]) -> Impact:
    if after.get("enabled") is False:
        return Impact(True, False, f"{item.label} stops taking traffic.")
    if "default_pool" in after and item.kind == "listener":
        return Impact(True, False, "Open connections to the old backend group may be cut.")
    if item.kind == "pool" and ("algorithm" in after or "session_persistence" in after):
        return Impact(False, False, "Clients may be sent to other backends than before.")
    if item.kind == "member" and after.get("weight") == 0:
        return Impact(False, False, f"{item.label} gets no new connections; open ones go on.")
    return Impact()


def _delete_sentence(item: Wanted, inside: str) -> str:
    """A group may stay here, with its backends, when a use of it ends: only what is at the cloud goes."""
    along = f", and with it {inside} that somebody made at the cloud" if inside else ""
    if item.kind == "pool":
        return f"Remove backend group {item.label} from the cloud{along}."
    return f"Delete {KIND_WORDS[item.kind]} {item.label}{along}."


def _others_inside(state: State) -> list[str]:
    """What hangs on an object at the cloud, goes with it, and cannot be made again from here."""
    policies, monitor = len(state.refs.get("policy_ids") or ()), bool(state.refs.get("monitor_id"))
    return [*([_count(policies, "rule set")] if policies else []), *(["a health monitor"] if monitor else [])]


def _delete_impact(item: Wanted) -> str:
    if item.kind == "listener":
        return f"Clients of {item.label} are cut off."
    if item.kind == "member":
        return f"Connections to {item.label} are cut; the other backends take over."
    return f"Whatever still uses {item.label} is cut off."
