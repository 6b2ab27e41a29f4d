"""A big estate, written straight into the database: what lists are measured on."""

from __future__ import annotations

import datetime
from typing import Any

from django.db import connection

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network, Vpc
from compute.regions.models import CloudRegion
from identity.directory.bootstrap import DEFAULT_DOMAIN, ensure_admin
from identity.directory.models import Domain, Project, User
from identity.login.services import token_create
from tests.bench.measuring import say

PASSWORD = "bench-password-1"  # noqa: S105  (of a database that lives for one run)
ACCOUNTS, PROJECTS = 8, 50
CHUNK = 5000


def administrator_token() -> str:
    """The first administrator's token for the whole system."""
    admin = ensure_admin(PASSWORD)
    user = User.objects.select_related("domain").get(name=admin.user.name)
    made = token_create(username=user.name, password=PASSWORD, domain=user.domain.name, scope={"system": True})
    return made.text


def fill(balancers: int) -> None:
    """So many balancers with a listener and a group each, an elastic IP for every tenth, over some accounts and projects."""
    domain = Domain.objects.get(name=DEFAULT_DOMAIN)
    projects = [Project(domain=domain, name=f"project-{n:03}") for n in range(PROJECTS)]
    Project.objects.bulk_create(projects)
    places: list[dict[str, Any]] = []
    for n in range(ACCOUNTS):
        account = CloudAccount.objects.create(
            domain=domain, name=f"cloud-{n}", provider="OpenStack", brand="OpenStack", access_url=f"http://cloud-{n}:5000/v3",
            login_key=f"bench-{n}",
        )  # fmt: skip
        manager = CloudProvider.objects.create(account=account, name=account.name)
        region = CloudRegion.objects.create(manager=manager, name="RegionOne", external_id="RegionOne")
        here = {"manager": manager, "region": region}
        vpc = Vpc.objects.create(name="net", external_id=f"net-{n}", **here)
        network = Network.objects.create(name="subnet", external_id=f"subnet-{n}", cidr="10.0.0.0/16", vpc=vpc, **here)
        places.append({**here, "network": network})
    began = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    for first in range(0, balancers, CHUNK):
        numbers = range(first, min(balancers, first + CHUNK))
        rows = [
            LoadBalancer(
                name=f"balancer-{n:06}", project=projects[n % PROJECTS], external_id=f"lb-{n}", cloud_name=f"balancer-{n:06}",
                address=f"10.0.{n // 250 % 250}.{n % 250}", status="enabled", provisioning_status="ACTIVE",
                operating_status="ONLINE", observed_at=began, **places[n % ACCOUNTS],
            )
            for n in numbers
        ]  # fmt: skip
        LoadBalancer.objects.bulk_create(rows)
        Listener.objects.bulk_create(
            Listener(
                loadbalancer=row,
                name="http",
                listener_type="http",
                listener_port=80,
                external_id=f"l-{row.external_id}",
            )
            for row in rows
        )
        BackendGroup.objects.bulk_create(BackendGroup(loadbalancer=row, name="web") for row in rows)
        Eip.objects.bulk_create(
            Eip(
                ip_addr=f"203.0.{n // 250 % 250}.{n % 250}", external_id=f"fip-{n}", loadbalancer=rows[n - first],
                manager=rows[n - first].manager, region=rows[n - first].region, name=f"fip-{n}",
            )
            for n in numbers if n % 10 == 0
        )  # fmt: skip
        say(f"{numbers.stop} balancers")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
