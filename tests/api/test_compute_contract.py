"""Accounts, networks, elastic IPs, load balancers and all below them keep the API's contract, on a memory cloud.

Rows are made in bulk where a test asks for many of them; what is written goes through the API to the cloud's plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar

import pytest

from compute.accounts.models import CloudAccount, CloudProvider
from compute.clouds.memory import Outside
from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject, MappingRule
from compute.proxies.models import ProxySetting
from compute.regions.models import CloudRegion
from compute.sync.models import COMPLETE, SyncPart, SyncRun
from identity.models import Domain, Project, User
from tests.api.contract import ReadContract, WriteContract
from tests.conftest import MakeUser
from tests.world import World

numbers: Iterator[int] = count()


class InAccount:
    """The rows lie in an account's region and belong to a project; no cloud is asked."""

    @pytest.fixture
    def people(self, domain: Domain) -> None:
        self.domain = domain
        self.project = Project.objects.create(domain=domain, name="shop-project")
        self.account = CloudAccount.objects.create(domain=domain, name="north", provider="memory", brand="Memory")
        self.manager = CloudProvider.objects.create(account=self.account, name="north")
        self.region = CloudRegion.objects.create(manager=self.manager, name="RegionOne", external_id="RegionOne")
        vpc = Vpc.objects.create(name="front", external_id="front", **self.where)
        self.network = Network.objects.create(
            vpc=vpc, name="front-v4", cidr="10.0.0.0/24", external_id="v4", **self.where
        )

    @property
    def where(self) -> dict[str, Any]:
        return {"manager": self.manager, "region": self.region, "project": self.project}

    def numbered(self, count: int) -> list[int]:
        return [next(numbers) for _ in range(count)]


class InWorld(InAccount):
    """The same in the world's account, for what is sent to its cloud."""

    @pytest.fixture
    def people(self, world: World) -> None:
        self.world, self.domain, self.project = world, world.domain, world.project
        self.manager, self.network = world.manager, world.network
        self.region = world.network.region


class InTree(InAccount):
    """The rows lie in a balancer that exists at the cloud."""

    @pytest.fixture
    def people(self, world: World) -> None:
        self.world = world
        self.lb = world.created("tree")
        self.group = BackendGroup.objects.get(loadbalancer=self.lb)

    def new_groups(self, count: int) -> list[BackendGroup]:
        return BackendGroup.objects.bulk_create(
            [BackendGroup(loadbalancer=self.lb, name=f"group-{n}") for n in self.numbered(count)]
        )


# --- accounts -------------------------------------------------------------------------------------------------------------


class TestCloudAccounts(InWorld, WriteContract):
    url = "/api/compute/cloudaccounts/"
    model = CloudAccount
    change = {"name": "renamed", "description": "new words", "read_only": True}
    fixed = {"provider": "memory", "status": "connected", "domain": "default"}
    created_status = deleted_status = 202

    def make_many(self, count: int) -> list[Any]:
        return CloudAccount.objects.bulk_create(
            [
                CloudAccount(
                    domain=self.domain, name=f"account-{n}", provider="memory", brand="Memory",
                    access_url=f"memory://cloud-{n}", username="operator", secret="s3cret", enabled=False, status="connected",
                )
                for n in self.numbered(count)
            ]
        )  # fmt: skip

    def body(self) -> dict[str, Any]:
        cloud = Outside.create(f"cloud-{next(numbers)}", folder=self.world.cloud.store.path.parent)
        cloud.user("operator", "operator-secret", {cloud.project("shop"): "member"})
        return {
            "name": cloud.name, "provider": "memory", "access_url": f"memory://{cloud.name}", "username": "operator",
            "secret": "operator-secret", "project_name": "shop",
        }  # fmt: skip


class TestCloudAccountsOfADomain(TestCloudAccounts):
    """The same for somebody whose rights end at the domain."""

    @pytest.fixture
    def reader(self, make_user: MakeUser, people: None) -> User:
        return make_user("dirk", role="domain_reader")

    @pytest.fixture
    def writer(self, domain_admin: User, people: None) -> User:
        return domain_admin

    @pytest.fixture
    def onlooker(self, make_user: MakeUser, people: None) -> User:
        return make_user("otto", role="domain_reader")


class TestCloudProviders(InAccount, ReadContract):
    url = "/api/compute/cloudproviders/"
    model = CloudProvider

    def make_many(self, count: int) -> list[Any]:
        return CloudProvider.objects.bulk_create(
            [CloudProvider(account=self.account, name=f"manager-{n}", external_id=str(n)) for n in self.numbered(count)]
        )


class TestCloudRegions(InAccount, ReadContract):
    url = "/api/compute/cloudregions/"
    model = CloudRegion

    def make_many(self, count: int) -> list[Any]:
        return CloudRegion.objects.bulk_create(
            [
                CloudRegion(manager=self.manager, name=f"region-{n}", external_id=f"region-{n}")
                for n in self.numbered(count)
            ]
        )


class TestExternalProjects(InAccount, ReadContract):
    url = "/api/compute/externalprojects/"
    model = ExternalProject

    def make_many(self, count: int) -> list[Any]:
        return ExternalProject.objects.bulk_create(
            [
                ExternalProject(account=self.account, project=self.project, name=f"project-{n}", external_id=str(n))
                for n in self.numbered(count)
            ]
        )


class TestMappingRules(InAccount, WriteContract):
    url = "/api/compute/mappingrules/"
    model = MappingRule
    change = {"pattern": "squad-*", "position": 7}
    fixed: ClassVar[dict[str, Any]] = {"account": "x", "version": 7}

    def make_many(self, count: int) -> list[Any]:
        return MappingRule.objects.bulk_create(
            [MappingRule(account=self.account, project=self.project, pattern=f"team-{n}") for n in self.numbered(count)]
        )

    def body(self) -> dict[str, Any]:
        return {"account": self.account.name, "project": self.project.name, "pattern": f"new-{next(numbers)}"}


class TestProxySettings(InAccount, WriteContract):
    url = "/api/compute/proxysettings/"
    model = ProxySetting
    change = {"name": "renamed", "no_proxy": "lan"}
    fixed: ClassVar[dict[str, Any]] = {"domain": "x", "version": 7}

    def make_many(self, count: int) -> list[Any]:
        return ProxySetting.objects.bulk_create(
            [
                ProxySetting(domain=self.account.domain, name=f"way-{n}", https_proxy="http://proxy:1")
                for n in self.numbered(count)
            ]
        )

    def body(self) -> dict[str, Any]:
        return {
            "name": f"new-{next(numbers)}", "domain": self.account.domain.name, "https_proxy": "http://proxy.example:3128",
        }  # fmt: skip


class TestSyncRuns(InAccount, ReadContract):
    url = "/api/compute/sync_runs/"
    model = SyncRun

    def make_many(self, count: int) -> list[Any]:
        runs = SyncRun.objects.bulk_create(
            [SyncRun(account=self.account, state=COMPLETE, started_by=f"user-{n}") for n in self.numbered(count)]
        )
        SyncPart.objects.bulk_create([SyncPart(run=run, kind=kind) for run in runs for kind in ("network", "pool")])
        return runs


# --- networks -------------------------------------------------------------------------------------------------------------


class TestVpcs(InAccount, ReadContract):
    url = "/api/compute/vpcs/"
    model = Vpc

    def make_many(self, count: int) -> list[Any]:
        return Vpc.objects.bulk_create(
            [Vpc(name=f"vpc-{n}", external_id=f"vpc-{n}", **self.where) for n in self.numbered(count)]
        )


class TestNetworks(InAccount, ReadContract):
    url = "/api/compute/networks/"
    model = Network

    def make_many(self, count: int) -> list[Any]:
        vpcs = TestVpcs.make_many(self, count)  # type: ignore[arg-type]
        return Network.objects.bulk_create(
            [
                Network(name=f"net-{n}", external_id=f"net-{n}", vpc=vpc, cidr="10.9.0.0/24", **self.where)
                for n, vpc in zip(self.numbered(count), vpcs, strict=True)
            ]
        )


class TestEips(InAccount, ReadContract):
    url = "/api/compute/eips/"
    model = Eip

    def make_many(self, count: int) -> list[Any]:
        rows = TestLoadBalancers.make_many(self, count)  # type: ignore[arg-type]
        return Eip.objects.bulk_create(
            [
                Eip(
                    name=f"eip-{n}",
                    ip_addr=f"203.0.113.{n % 250}",
                    external_id=f"eip-{n}",
                    loadbalancer=lb,
                    **self.where,
                )
                for n, lb in zip(self.numbered(count), rows, strict=True)
            ]
        )


# --- load balancers -------------------------------------------------------------------------------------------------------


class TestLoadBalancers(InWorld, WriteContract):
    url = "/api/compute/loadbalancers/"
    model = LoadBalancer
    change = {"name": "renamed", "description": "new words"}
    fixed: ClassVar[dict[str, Any]] = {
        "address": "10.0.0.77", "address_type": "internet", "network": "front-v4", "manager": "x", "project": "web",
        "provider": "ovn", "external_id": "x", "version": 7,
    }  # fmt: skip
    created_status = updated_status = deleted_status = 202

    def make_many(self, count: int) -> list[Any]:
        rows = LoadBalancer.objects.bulk_create(
            [
                LoadBalancer(name=f"lb-{n}", cloud_name=f"lb-{n}", network=self.network, **self.where)
                for n in self.numbered(count)
            ]
        )
        if isinstance(self, TestLoadBalancers):
            Eip.objects.bulk_create(
                [Eip(ip_addr="203.0.113.9", external_id=str(lb.pk), loadbalancer=lb, **self.where) for lb in rows]
            )
        return rows

    def body(self) -> dict[str, Any]:
        return {
            "name": f"new-{next(numbers)}", "manager": str(self.manager.pk), "network": "front-v4",
            "listeners": [
                {
                    "listener_type": "http", "listener_port": 80,
                    "new_backend_group": {"name": "web", "backends": [{"backend": "10.0.0.5", "port": 8080, "weight": 5}]},
                }
            ],
        }  # fmt: skip


class TestLoadBalancersOfAProject(TestLoadBalancers):
    """The same for somebody whose rights end at the project; the neighbour has all rights in another one."""

    @pytest.fixture
    def reader(self, make_user: MakeUser, people: None) -> User:
        return make_user("rolf", role="project_reader", project=self.project)

    @pytest.fixture
    def writer(self, make_user: MakeUser, people: None) -> User:
        return make_user("paula", role="project_admin", project=self.project)

    @pytest.fixture
    def onlooker(self, make_user: MakeUser, people: None) -> User:
        return make_user("otto", role="project_reader", project=self.project)

    @pytest.fixture
    def outsider(self, make_user: MakeUser, people: None, other_project: Project) -> User:
        return make_user("nick", role="project_admin", project=other_project)


class TestListeners(InTree, WriteContract):
    url = "/api/compute/loadbalancerlisteners/"
    model = Listener
    change = {"name": "renamed", "client_idle_timeout": 9000, "connection_limit": 100}
    fixed = {"listener_type": "udp", "listener_port": 81, "loadbalancer": "tree"}
    created_status = updated_status = deleted_status = 202

    def make_many(self, count: int) -> list[Any]:
        groups, ports = self.new_groups(count), self.numbered(count)
        rows = Listener.objects.bulk_create(
            [
                Listener(loadbalancer=self.lb, name=f"listener-{n}", listener_type="http", listener_port=1000 + n)
                for n in ports
            ]
        )
        bindings = PoolBinding.objects.bulk_create(
            [
                PoolBinding(loadbalancer=self.lb, backend_group=group, listener=row, protocol="http")
                for group, row in zip(groups, rows, strict=True)
            ]
        )
        for row, binding in zip(rows, bindings, strict=True):
            row.pool_binding = binding
        Listener.objects.bulk_update(rows, ["pool_binding"])
        return rows

    def body(self) -> dict[str, Any]:
        n = next(numbers)
        return {
            "loadbalancer": str(self.lb.pk), "listener_type": "tcp", "listener_port": 20000 + n, "scheduler": "rr",
            "new_backend_group": {"name": f"new-{n}", "backends": [{"backend": "10.0.0.8", "port": 80}]},
        }  # fmt: skip


class TestBackendGroups(InTree, WriteContract):
    url = "/api/compute/loadbalancerbackendgroups/"
    model = BackendGroup
    change = {"name": "renamed", "description": "new words"}
    fixed = {"loadbalancer": "tree", "type": "normal"}
    deleted_status = 202

    def make_many(self, count: int) -> list[Any]:
        rows = self.new_groups(count)
        Backend.objects.bulk_create(
            [Backend(backend_group=row, name="one", address="10.0.0.9", port=80) for row in rows]
        )
        return rows

    def body(self) -> dict[str, Any]:
        return {
            "loadbalancer": str(self.lb.pk), "name": f"new-{next(numbers)}",
            "backends": [{"backend": "10.0.0.8", "port": 80}, {"backend": "2001:db8::8", "port": 80, "weight": 0}],
        }  # fmt: skip


class TestBackends(InTree, WriteContract):
    url = "/api/compute/loadbalancerbackends/"
    model = Backend
    change = {"name": "renamed", "weight": 0}
    fixed = {"backend": "10.0.0.77", "port": 81, "backend_group": "web-80", "backend_type": "ip"}
    created_status = updated_status = deleted_status = 202

    def make_many(self, count: int) -> list[Any]:
        rows = Backend.objects.bulk_create(
            [
                Backend(backend_group=self.group, name=f"backend-{n}", address="10.0.0.9", port=1000 + n)
                for n in self.numbered(count)
            ]
        )
        pool = PoolBinding.objects.get(backend_group=self.group)
        MemberBinding.objects.bulk_create([MemberBinding(pool_binding=pool, backend=row) for row in rows])
        return rows

    def body(self) -> dict[str, Any]:
        return {
            "backend_group": str(self.group.pk), "backend_type": "ip", "backend": "10.0.0.8",
            "port": 20000 + next(numbers), "weight": 256,
        }  # fmt: skip
