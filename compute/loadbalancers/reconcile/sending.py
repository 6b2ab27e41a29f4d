"""Steps of a plan → calls of the driver. Knows neither database nor task: what came back is stored by `storing`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from compute.clouds.errors import Refused
from compute.clouds.ports import Region
from compute.clouds.specs import BalancerCapabilities, State
from compute.loadbalancers import desired
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.plan import CASCADE, Wanted, WantedTree
from core.engine.plan import Step

# States by our row, of the objects whose ids the answer told.
Sent = Mapping[str, State]


def batches(steps: Sequence[Step], wanted: WantedTree, capabilities: BalancerCapabilities) -> Iterator[list[Step]]:
    """Steps that one call carries: a new tree as a whole, new members of one pool; else one by one."""
    rows = wanted.by_row()
    queue = list(steps)
    if queue and _creates(queue[0], "project"):
        yield [queue.pop(0)]
    if queue and _creates(queue[0], "loadbalancer") and capabilities.tree_create:
        yield [s for s in queue if s.verb == "create"]
        queue = [s for s in queue if s.verb != "create"]
    while queue:
        batch = [queue.pop(0)]
        if _creates(batch[0], "member") and capabilities.member_batch:
            parent = rows[batch[0].row].parent
            while queue and _creates(queue[0], "member") and rows[queue[0].row].parent == parent:
                batch.append(queue.pop(0))
        yield batch


def _creates(step: Step, kind: str) -> bool:
    return step.verb == "create" and step.kind == kind


class Sender:
    """Sends the steps of one plan for one tree. `ids`: the cloud's ids by our row, as far as they are known now."""

    def __init__(self, lb: LoadBalancer, region: Region, wanted: WantedTree, ids: Mapping[str, str]) -> None:
        self.lb = lb
        self.region = region
        self.port = region.balancer
        self.wanted = wanted
        self.rows = wanted.by_row()
        self.ids = dict(ids)

    def send(self, batch: Sequence[Step]) -> Sent:
        """One call for one batch. Raises `CloudError` as the driver does; new ids are known to the steps after it."""
        sent = self._send(batch)
        self.ids.update({row: state.external_id for row, state in sent.items()})
        return sent

    def _send(self, batch: Sequence[Step]) -> Sent:
        head = batch[0]
        if head.kind == "floatingip":
            return {head.row: self._address(head)}
        senders: Mapping[str, Callable[[], Sent]] = {
            "create": lambda: self._create(batch),
            "update": lambda: self._update(head),
            "delete": lambda: self._delete(head),
        }
        return senders[head.verb]()

    def _address(self, step: Step) -> State:
        external_id = self.rows[step.row].external_id
        if step.verb == "bind":
            return self.region.network.bind(external_id, self.lb.port_id)
        return self.region.network.release(external_id)

    def _create(self, batch: Sequence[Step]) -> Sent:
        head, item = batch[0], self.rows[batch[0].row]
        if head.kind == "loadbalancer":
            spec = desired.balancer_spec(self.wanted, batch, project_id=self.lb.external_project_id)
            return {head.row: self.port.create_tree(spec)}
        if head.kind == "listener":
            listener = desired.listener_spec(item, pool_id=self._pool_id(item))
            return {head.row: self.port.create_listener(self.lb.external_id, listener)}
        if head.kind == "pool":
            return {head.row: self.port.create_pool(desired.pool_spec(item), loadbalancer_id=self.lb.external_id)}
        specs = [desired.member_spec(self.rows[s.row]) for s in batch]
        if len(specs) == 1:
            return {head.row: self.port.create_member(self._parent_id(item), specs[0])}
        self.port.add_members(self._parent_id(item), specs)
        return {}

    def _update(self, step: Step) -> Sent:
        item, external_id = self.rows[step.row], self.ids[step.row]
        change = {name: item.desired[name] for name in step.after}
        if step.kind == "listener":
            if "default_pool" in change:
                del change["default_pool"]
                change["default_pool_id"] = self._pool_id(item)
            self.port.update_listener(external_id, change)
        elif step.kind == "pool":
            self.port.update_pool(external_id, change)
        elif step.kind == "member":
            self.port.update_member(self._parent_id(item), external_id, change)
        else:
            self.port.update_balancer(external_id, change)
        return {}

    def _delete(self, step: Step) -> Sent:
        item = self.rows[step.row]
        external_id = self.ids.get(step.row) or item.external_id
        if step.kind == "listener":
            self.port.delete_listener(external_id)
        elif step.kind == "pool":
            self.port.delete_pool(external_id)
        elif step.kind == "member":
            self.port.delete_member(self._parent_id(item), external_id)
        else:
            # Without cascade the plan let pass only what is deleted here too, row by row: it goes in the same call.
            self.port.delete_balancer(external_id, cascade=item.allows(CASCADE) or bool(step.before.get("children")))
        return {}

    def _pool_id(self, listener: Wanted) -> str:
        """The cloud's id of a listener's wanted pool, "" where none is wanted. Raises `Refused` when it is missing there."""
        row = str(listener.desired.get("default_pool") or "")
        return self._there(row, "Read the balancer again, then choose another backend group.") if row else ""

    def _parent_id(self, member: Wanted) -> str:
        """The cloud's id of the pool that a member is in. Raises `Refused` when it is missing there."""
        return self._there(member.parent, "Read the balancer again; the group has to be used anew by its listener.")

    def _there(self, pool: str, hint: str) -> str:
        if pool not in self.ids:
            raise Refused("its backend group is missing at the cloud", hint=hint)
        return self.ids[pool]
