"""The other side of a memory cloud: what people do there with other tools, and what tests must see and force.

Nothing of this passes the watch or meets a fault, and what is done here is ready at once, whatever the knobs say.
Drivers never import this module.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compute.clouds.memory import cloud, knobs
from compute.clouds.memory.faults import Faults
from compute.clouds.memory.knobs import SERVICES, Knobs
from compute.clouds.memory.refusals import Answer, as_error
from compute.clouds.memory.server import children, extras, health, keystone, listing, neutron, settling, trees
from compute.clouds.memory.server.desk import OUTSIDE, Desk, new_id
from compute.clouds.memory.store import Doc, Row, Transaction, create, store_at
from compute.clouds.specs import Credentials

TREE_KINDS = ("loadbalancer", "listener", "pool", "member", "monitor", "policy", "rule")
# What the body of a new object calls the object that it lies in.
PARENTS = {"listener": "loadbalancer_id", "pool": "loadbalancer_id", "monitor": "pool_id", "policy": "listener_id"}


class Outside:
    """One cloud seen from its own side. Every method raises the `CloudError` that a driver would for the same refusal.

    `clock` and `ids` may be set for estates that must come out the same every time.
    """

    def __init__(self, name: str, *, folder: Path | None = None) -> None:
        self.name = name
        self.store = store_at(folder or cloud.folder(), name)
        self.faults = Faults(self.store)
        self.clock: Callable[[], float] = time.time
        self.ids: Callable[[], str] = new_id
        self._open: Transaction | None = None

    @classmethod
    def create(
        cls, name: str, *, regions: Sequence[str] = ("RegionOne",), folder: Path | None = None, **settings: Any
    ) -> Outside:
        """A new, empty cloud; `settings` are knobs. Raises `FileExistsError` when there is one of that name."""
        made = cls(name, folder=folder)
        create(made.store.path)
        made.set(catalogue=dict.fromkeys(regions, SERVICES), **settings)
        return made

    # --- behaviour

    @property
    def knobs(self) -> Knobs:
        with self.store.reading() as tx:
            return knobs.load(tx)

    def set(self, **values: Any) -> None:
        """Turn knobs: see `Knobs`."""
        with self._transaction("") as tx:
            knobs.save(tx, **values)

    def offer(self, region: str, services: Sequence[str]) -> None:
        """Set the services that the catalogue names for a region."""
        self.set(catalogue={**self.knobs.catalogue, region: tuple(services)})

    # --- identity

    def project(self, name: str, *, description: str = "", enabled: bool = True) -> str:
        id = self.ids().replace("-", "")
        doc: Doc = {
            "id": id, "name": name, "description": description, "enabled": enabled, "domain_id": "default",
            "domain_name": "Default", "is_domain": False, "parent_id": "default", "tags": [],
        }  # fmt: skip
        return self._insert(Row("project", id, doc, name=name))

    def user(self, name: str, password: str, roles: Mapping[str, str | Sequence[str]], *, enabled: bool = True) -> str:
        """A user with roles by project id: "admin", "member", "reader"."""
        id = self.ids().replace("-", "")
        doc: Doc = {
            "id": id, "name": name, "enabled": enabled, "domain_name": "Default", "password": keystone.sealed(password),
        }  # fmt: skip
        self._insert(Row("user", id, doc, name=name))
        for project_id, granted in roles.items():
            for role in [granted] if isinstance(granted, str) else granted:
                self.grant(id, project_id, role)
        return id

    def grant(self, user_id: str, project_id: str, role: str) -> None:
        self._insert(Row("grant", f"{user_id}:{project_id}:{role}", {}, parent=user_id, link=project_id, name=role))

    def revoke(self, user_id: str, project_id: str) -> None:
        """Take all roles in a project away; tokens that are out stay good, new log-ins are refused."""
        with self._transaction("") as tx:
            for grant in tx.find("grant", parent=user_id, link=project_id):
                tx.remove(grant)

    def set_password(self, user_id: str, password: str) -> None:
        """From now on tokens of this user are not accepted any more."""
        with self._transaction("") as tx:
            row = _need(tx, "user", user_id)
            row.doc["password"] = keystone.sealed(password)
            tx.save(row)

    def application_credential(
        self, user_id: str, project_id: str, secret: str, roles: Sequence[str] = ("member",), *, id: str = ""
    ) -> str:
        id = id or self.ids().replace("-", "")
        doc: Doc = {"id": id, "roles": list(roles), "password": keystone.sealed(secret)}
        return self._insert(Row("application_credential", id, doc, parent=user_id, project=project_id))

    def delete_application_credential(self, id: str) -> None:
        with self._transaction("") as tx:
            tx.remove(_need(tx, "application_credential", id))

    def credentials(self, username: str, secret: str, project_name: str = "") -> Credentials:
        """What a driver needs to log in with a password."""
        return Credentials(
            auth_url=f"{cloud.SCHEME}{self.name}", username=username, secret=secret, project_name=project_name
        )

    # --- networks

    def network(self, region: str, project_id: str, name: str, *, shared: bool = False, external: bool = False) -> str:
        id = self.ids()
        doc: Doc = {
            "id": id, "name": name, "description": "", "admin_state_up": True, "status": "ACTIVE", "shared": shared,
            "router:external": external, "mtu": 1450, "project_id": project_id, "tenant_id": project_id, "tags": [],
            "created_at": self._now("Z"), "updated_at": self._now("Z"),
        }  # fmt: skip
        return self._insert(Row("network", id, doc, project=project_id, name=name), region)

    def subnet(self, region: str, network_id: str, cidr: str, *, name: str = "", dns: Sequence[str] = ()) -> str:
        """A subnet with a gateway at its first address and one pool of the rest."""
        id = self.ids()
        with self._transaction(region) as tx:
            network = _need(tx, "network", network_id)
            doc = neutron.subnet_doc(id, network, cidr, name=name, dns=dns, now=self._now("Z"))
            tx.insert(Row("subnet", id, doc, parent=network_id, project=network.project, name=name))
        return id

    def port(
        self,
        region: str,
        subnet_id: str,
        *,
        address: str = "",
        device_id: str = "",
        device_owner: str = "",
        name: str = "",
    ) -> str:
        """A port, as a server or a tool would make it."""
        with self._desk(region) as desk:
            subnet = _need(desk.tx, "subnet", subnet_id)
            port = neutron.new_port(
                desk,
                subnet,
                project=subnet.project,
                device_owner=device_owner,
                device_id=device_id,
                address=address,
                name=name,
            )
        return port.id

    def floating_ip(
        self, region: str, network_id: str, project_id: str, *, port_id: str = "", description: str = ""
    ) -> str:
        body = {
            "floating_network_id": network_id, "project_id": project_id, "port_id": port_id, "description": description,
        }  # fmt: skip
        with self._desk(region) as desk:
            return neutron.allocate_floating_ip(desk, body).id

    def bind(self, region: str, floating_ip_id: str, port_id: str) -> None:
        """Bind a floating IP to a port; "" releases it."""
        with self._desk(region) as desk:
            neutron.update_floating_ip(desk, floating_ip_id, {"port_id": port_id})

    # --- balancers

    def tree(self, region: str, body: Mapping[str, Any], *, project_id: str) -> str:
        """A whole balancer from Octavia's own nested body, with monitors and policies as one likes; ACTIVE at once."""
        with self._desk(region) as desk:
            id = str(trees.create(desk, {**body, "project_id": project_id})["id"])
            settling.settle(desk, id)
        return id

    def make(self, region: str, kind: str, under: str, body: Mapping[str, Any]) -> str:
        """One object below another.

        A listener or pool under a balancer, a member or monitor under a pool, a policy under a listener, a rule under a
        policy.
        """
        with self._desk(region) as desk:
            whole = {**body, PARENTS[kind]: under} if kind in PARENTS else dict(body)
            match kind:
                case "listener":
                    made = children.create_listener(desk, whole)
                case "pool":
                    made = children.create_pool(desk, whole)
                case "member":
                    made = children.create_member(desk, under, whole)
                case "monitor":
                    made = extras.create_monitor(desk, whole)
                case "policy":
                    made = extras.create_policy(desk, whole)
                case _:
                    made = extras.create_rule(desk, under, whole)
            self._settle(desk, kind, made["id"])
        return str(made["id"])

    def change(self, region: str, kind: str, id: str, **body: Any) -> None:
        """Change fields of one object, under the API's names (`admin_state_up`, `weight`, `allowed_cidrs`, …)."""
        with self._desk(region) as desk:
            match kind:
                case "loadbalancer":
                    trees.update(desk, id, body)
                case "listener":
                    children.update_listener(desk, id, body)
                case "pool":
                    children.update_pool(desk, id, body)
                case "member":
                    children.update_member(desk, _need(desk.tx, kind, id).parent, id, body)
                case "monitor" | "policy" | "rule":
                    extras.update(desk, kind, id, body)
                case _:  # networks and the like hold no rules that matter here
                    row = _need(desk.tx, kind, id)
                    row.doc |= {**body, "updated_at": self._now("Z")}
                    row.name = str(row.doc.get("name") or "")
                    desk.tx.save(row)
            self._settle(desk, kind, id)

    def remove(self, region: str, kind: str, id: str) -> None:
        """Delete one object; a balancer goes with everything below it."""
        with self._desk(region) as desk:
            row = _need(desk.tx, kind, id)
            match kind:
                case "loadbalancer":
                    trees.delete(desk, id, cascade=True)
                case "listener":
                    children.delete_listener(desk, id)
                case "pool":
                    children.delete_pool(desk, id)
                case "member":
                    children.delete_member(desk, row.parent, id)
                case "monitor" | "policy" | "rule":
                    extras.delete(desk, kind, id)
                case _:
                    desk.tx.remove(row)
            if kind in TREE_KINDS:
                settling.settle(desk, row.root or id)

    def quota(self, region: str, project_id: str, **limits: int) -> None:
        """Limits by kind (loadbalancer, listener, pool, member, monitor, policy, rule, floatingip); -1 is unlimited."""
        with self._transaction(region) as tx:
            row = tx.get("quota", project_id)
            if row is None:
                tx.insert(Row("quota", project_id, dict(limits), project=project_id))
            else:
                row.doc |= limits
                tx.save(row)

    def health(self, region: str, member_id: str, said: str) -> None:
        """What a member's probe says from now on: UP, DOWN, DRAIN or MAINT. It shows where the pool has a monitor."""
        with self._desk(region) as desk:
            member = _need(desk.tx, "member", member_id)
            member.doc["_health"] = said
            desk.tx.save(member)
            balancer = _need(desk.tx, "loadbalancer", member.root)
            changed = health.work_out(balancer, desk.tx.tree(balancer.id))
            if changed:
                balancer.doc["updated_at"] = desk.now
            for row in (balancer, *changed):
                desk.tx.save(row)

    def force(
        self, region: str, id: str, *, kind: str = "loadbalancer", provisioning: str = "", operating: str = ""
    ) -> None:
        """Set statuses by hand. A balancer forced to ACTIVE is free again with all below it; to PENDING_*: stuck."""
        with self._desk(region) as desk:
            row = _need(desk.tx, kind, id)
            if provisioning and kind == "loadbalancer":
                if provisioning == "ACTIVE":
                    for child in desk.tx.tree(id):
                        child.doc[settling.PROVISIONING] = "ACTIVE"
                        desk.tx.save(child)
                    settling.settle(desk, id)
                    row = _need(desk.tx, kind, id)
                desk.tx.sql.execute("DELETE FROM pending WHERE region=? AND root=?", (region, id))
            if provisioning:
                row.doc[settling.PROVISIONING] = provisioning
            if operating:
                row.doc["operating_status"] = operating
            row.doc["updated_at"] = desk.now
            desk.tx.save(row)

    # --- looking

    def get(self, region: str, kind: str, id: str) -> Doc | None:
        """One object as the API shows it, or None."""
        with self._desk(region) as desk:
            return listing.as_it_is(desk, kind, id)

    def all(self, region: str, kind: str, *, under: str = "") -> list[Doc]:
        """All objects of a kind, or those that lie in one object (a pool's members, a balancer's listeners)."""
        with self._desk(region) as desk:
            rows = desk.tx.find(kind, parent=under) if under else desk.tx.find(kind)
            return [doc for row in rows if (doc := listing.as_it_is(desk, kind, row.id))]

    def count(self, region: str, kind: str, **equal: str) -> int:
        with self._transaction(region) as tx:
            return tx.count(kind, **equal)

    def dump(self, region: str, *, leave_out: Sequence[str] = ()) -> str:
        """The whole state of a region as sorted JSON, for a comparison before and after."""
        with self._desk(region) as desk:
            found = {
                f"{row.kind} {row.id}": {
                    "parent": row.parent,
                    **{name: value for name, value in row.doc.items() if name not in leave_out},
                }
                for row in desk.tx.everything()
            }
        return json.dumps(found, indent=1, sort_keys=True)

    def reset(self) -> None:
        """Empty all regions and take down all faults; users, projects and knobs stay."""
        with self._transaction("") as tx:
            for rows in ("object WHERE region <> ''", "tag", "pending", "stale", "fault"):
                tx.sql.execute("DELETE FROM " + rows)  # noqa: S608

    def drop(self) -> None:
        """Remove the cloud."""
        self.store.close()
        for suffix in ("", "-wal", "-shm"):
            self.store.path.with_name(self.store.path.name + suffix).unlink(missing_ok=True)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Put many things into one transaction: much faster, and others see all or nothing."""
        with self.store.writing() as tx:
            self._open = tx
            try:
                yield
            finally:
                self._open = None

    # --- how

    @contextmanager
    def _transaction(self, region: str) -> Iterator[Transaction]:
        if self._open is not None:
            yield self._open.at(region)
            return
        with self.store.writing(region) as tx:
            yield tx

    @contextmanager
    def _desk(self, region: str) -> Iterator[Desk]:
        try:
            with self._transaction(region) as tx:
                desk = Desk(tx, OUTSIDE, knobs.load(tx), clock=self.clock, new_id=self.ids)
                settling.settle_due(desk)
                yield desk
        except Answer as answer:
            raise as_error(answer) from None

    def _settle(self, desk: Desk, kind: str, id: str) -> None:
        if kind in TREE_KINDS:
            settling.settle(desk, id if kind == "loadbalancer" else _need(desk.tx, kind, id).root)

    def _insert(self, row: Row, region: str = "") -> str:
        with self._transaction(region) as tx:
            return tx.insert(row).id

    def _now(self, suffix: str = "") -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.clock())) + suffix


def _need(tx: Transaction, kind: str, id: str) -> Row:
    row = tx.get(kind, id)
    if row is None:
        raise LookupError(f"There is no {kind} {id} in the region {tx.region!r}.")
    return row
