"""Log-ins, tokens, projects and the catalogue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compute.clouds.errors import Refused, Unauthorised, Unreachable, Unsupported
from compute.clouds.memory import open_memory
from compute.clouds.specs import Credentials
from tests.unit.clouds_memory.conftest import REGION, Site


def test_case_a18_tokens_that_are_good_for_two_calls(site: Site) -> None:
    for number in range(6):
        site.tree(name=f"lb-{number}")
    site.outside.set(token_calls=2, page_size=1)
    fresh = open_memory(site.outside.credentials("ann", "ann-secret", "demo"))
    site.seen.clear()
    found = [state.name for state in fresh.region(REGION).balancer.balancers()]
    assert found == [f"lb-{number}" for number in range(6)]
    assert [status for *_, status in site.sent if status == 401] == [401, 401]


def test_case_a18_a_deleted_application_credential(site: Site) -> None:
    user = site.outside.user("robot", "robot-secret", {site.project: "member"})
    id = site.outside.application_credential(user, site.project, "app-secret")
    credentials = Credentials(
        auth_url="memory://north", kind="application_credential", secret="app-secret", application_credential_id=id
    )
    cloud = open_memory(credentials)
    assert cloud.account.describe().project_name == "demo"
    list(cloud.region(REGION).balancer.balancers())
    site.outside.delete_application_credential(id)
    site.seen.clear()
    with pytest.raises(Unauthorised) as caught:
        list(cloud.region(REGION).balancer.balancers())
    assert site.sent == [("GET", "loadbalancers", 401), ("POST", "tokens", 404)]
    assert "app-secret" not in str(caught.value.as_dict())
    with pytest.raises(Unauthorised):
        open_memory(replace(credentials, secret="wrong")).account.describe()


def test_a_changed_password_ends_the_token(site: Site) -> None:
    user = site.outside.user("eve", "old-secret", {site.project: "member"})
    cloud = open_memory(site.outside.credentials("eve", "old-secret", "demo"))
    port = cloud.region(REGION).balancer
    site.outside.set_password(user, "new-secret")
    with pytest.raises(Unauthorised):
        list(port.balancers())
    site.outside.set_password(user, "old-secret")
    assert list(port.balancers()) == []


def test_a_project_without_a_role(site: Site) -> None:
    other = site.outside.project("other")
    with pytest.raises(Unauthorised):
        open_memory(site.outside.credentials("ann", "ann-secret", "other")).account.describe()
    region = site.cloud.region(REGION, project_id=other)
    with pytest.raises(Refused, match="no role in project"):
        list(region.balancer.balancers())
    user = site.outside.user("both", "both-secret", {site.project: "member", other: "member"})
    cloud = open_memory(site.outside.credentials("both", "both-secret", "demo"))
    network = site.outside.network(REGION, other, "other-net")
    subnet = site.outside.subnet(REGION, network, "10.5.0.0/24")
    scoped = cloud.region(REGION, project_id=other).balancer
    made = scoped.create_tree(site.spec(subnet_id=subnet))
    assert made.project_id == other
    assert list(cloud.region(REGION).balancer.balancers()) == []
    assert {p.name for p in cloud.account.projects()} == {"demo", "other"}
    site.outside.revoke(user, other)
    assert {p.name for p in cloud.account.projects()} == {"demo"}


def test_case_a16_a_service_that_is_not_offered(site: Site) -> None:
    site.outside.offer("r2", ["identity", "network"])
    cloud = open_memory(site.outside.credentials("ann", "ann-secret", "demo"))
    with pytest.raises(Unsupported, match="load-balancer"):
        _ = cloud.region("r2").balancer
    assert list(cloud.region("r2").network.networks()) == []
    bad = [row for row in cloud.account.check() if not row.ok]
    assert [(row.service, row.region) for row in bad] == [("load-balancer", "r2")]
    assert bad[0].problem and bad[0].problem["code"] == "NotSupportedError"


def test_case_a16_a_role_without_access_to_balancers(site: Site) -> None:
    site.cloud.faults.add(path="/v2.0/lbaas/*", kind="refuse", status=403, words="Policy does not allow", times=None)
    [bad] = [row for row in site.cloud.account.check([REGION]) if not row.ok]
    assert bad.service == "load-balancer" and bad.problem and bad.problem["cause"] == "Policy does not allow"


def test_addresses_of_clouds_that_are_not_there(site: Site) -> None:
    for address in ("https://cloud.example.org", "memory://", "memory://../etc"):
        with pytest.raises(Unreachable):
            open_memory(Credentials(auth_url=address))
    nobody = open_memory(Credentials(auth_url="memory://nobody", username="ann", secret="x"))
    [row] = nobody.account.check()
    assert not row.ok and row.problem and "nobody" in row.problem["cause"]
