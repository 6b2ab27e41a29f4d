"""Rules 73 to 89 of external projects that a sync or a verb decides; making them is in `test_cloud_projects`."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from compute.accounts.models import CloudAccount
from compute.clouds import registry
from compute.loadbalancers.models import LoadBalancer
from compute.projects import rules
from compute.projects.models import ExternalProject
from compute.projects.services import external_project_change_project
from compute.sync.models import SyncPart
from core.audit.models import AuditEvent
from core.errors import ForbiddenError, MissingParameterError
from identity.models import Domain, Project
from tests.api.contract import problem
from tests.conftest import MakeApi, MakeUser
from tests.world import REGION, World

URL = "/api/compute/externalprojects/"


@pytest.fixture
def seeing_all(world: World) -> World:
    """The account's user is an administrator at the cloud."""
    [user] = world.cloud.all("", "user")
    world.cloud.grant(user["id"], world.cloud_project, "admin")
    registry.close_all()  # a token says what its user was when it was given
    CloudAccount.objects.filter(pk=world.account.pk).update(project=None)
    world.sync()
    return world


def rows(world: World) -> dict[str, ExternalProject]:
    return {p.name: p for p in ExternalProject.objects.filter(account=world.account, deleted_at=None)}


def part(world: World) -> SyncPart:
    return SyncPart.objects.filter(run__account=world.account, kind="projects").latest("id")


def test_rule_73_added_changed_and_gone_are_counted(seeing_all: World) -> None:
    world = seeing_all
    new, old = world.cloud.project("new"), world.cloud.project("old")
    world.sync()
    assert (part(world).seen, part(world).added, part(world).unchanged) == (3, 2, 1)
    with world.cloud.store.writing("") as tx:
        row = tx.get("project", new)
        assert row is not None
        row.doc["name"] = "newer"
        tx.save(row)
        gone = tx.get("project", old)
        assert gone is not None
        tx.remove(gone)
    world.sync()
    assert (part(world).seen, part(world).changed, part(world).unchanged, part(world).gone) == (2, 1, 1, 1)
    assert set(rows(world)) == {"shop-project", "newer"}


def test_rule_74_without_auto_create_the_accounts_project_owns_it(seeing_all: World) -> None:
    world = seeing_all
    ops = Project.objects.create(domain=world.domain, name="ops")
    CloudAccount.objects.filter(pk=world.account.pk).update(project=ops, auto_create_project=False)
    world.cloud.project("stray")
    world.sync()
    assert rows(world)["stray"].project == ops and not Project.objects.filter(name="stray").exists()


def test_rule_75_the_local_project_of_its_name_or_a_new_one(seeing_all: World) -> None:
    world = seeing_all
    there = Project.objects.create(domain=world.domain, name="there")
    elsewhere = Project.objects.create(domain=Domain.objects.create(name="elsewhere"), name="far")
    for name in ("there", "absent", "far"):
        world.cloud.project(name)
    world.sync()
    found = rows(world)
    assert found["there"].project == there
    assert found["absent"].project is not None and found["absent"].project.domain == world.domain
    assert found["far"].project not in (elsewhere, None) and found["far"].project.domain == world.domain


def test_rule_76_what_cannot_be_made_belongs_to_the_accounts_project(seeing_all: World) -> None:
    world = seeing_all
    ops = Project.objects.create(domain=world.domain, name="ops")
    CloudAccount.objects.filter(pk=world.account.pk).update(project=ops, auto_create_project=True)
    for n, name in enumerate(["full", *(f"full-{n}" for n in range(1, 10))]):
        project = Project.objects.create(domain=world.domain, name=name)
        taken = {"account": world.account, "external_id": world.cloud.project(f"taken-{n}"), "name": f"taken-{n}"}
        ExternalProject.objects.create(project=project, **taken)
    world.cloud.project("full")
    world.sync()
    assert rows(world)["full"].project == ops
    assert part(world).state == "partial" and "belongs to project ops" in " ".join(part(world).notes)


def test_rule_77_a_project_of_another_domain_is_taken_back(seeing_all: World) -> None:
    world = seeing_all
    foreign = Project.objects.create(domain=Domain.objects.create(name="elsewhere"), name="far")
    ExternalProject.objects.filter(account=world.account).update(project=foreign)
    world.sync()
    owner = rows(world)["shop-project"].project
    assert owner is not None and owner.domain == world.domain


def test_rule_77_a_mapping_in_the_domain_is_kept(seeing_all: World) -> None:
    world = seeing_all
    other = Project.objects.create(domain=world.domain, name="other")
    ExternalProject.objects.filter(account=world.account).update(project=other)
    world.sync()
    assert rows(world)["shop-project"].project == other


def test_rule_78_change_project(world: World) -> None:
    row = rows(world)["shop-project"]
    with pytest.raises(MissingParameterError) as missing:
        external_project_change_project(row, actor=world.actor)
    foreign = Project.objects.create(domain=Domain.objects.create(name="elsewhere"), name="far")
    with pytest.raises(ForbiddenError) as refused:
        external_project_change_project(row, actor=world.actor, project=foreign)
    assert missing.value.field == refused.value.field == "project"
    before = AuditEvent.objects.count()
    external_project_change_project(row, actor=world.actor, project=row.project)
    row.refresh_from_db()
    assert row.version == 1 or row.project_src == "local"
    other = Project.objects.create(domain=world.domain, name="other")
    external_project_change_project(row, actor=world.actor, project=other)
    row.refresh_from_db()
    assert (row.project, row.project_src) == (other, "local")
    assert AuditEvent.objects.count() > before


def test_rule_78_in_the_api(world: World, make_user: MakeUser, api: MakeApi) -> None:
    client = api(make_user("root", role="admin"))
    row = rows(world)["shop-project"]
    problem(client.post(f"{URL}{row.pk}/change-project/", {}), 400, "MissingParameterError", field="project")
    problem(
        client.post(f"{URL}{row.pk}/change-project/", {"project": "nowhere"}),
        404,
        "ResourceNotFoundError",
        field="project",
    )
    Project.objects.create(domain=world.domain, name="other")
    answer = client.post(f"{URL}{row.pk}/change-project/", {"project": "other"})
    assert answer.status_code == 200, answer.json()
    assert client.get(f"{URL}{row.pk}/").json()["project"] == "other"


def test_what_lies_in_a_project_that_was_given_away_follows_with_the_next_sync(world: World) -> None:
    made = world.created("mine")
    foreign = world.cloud.tree(
        REGION, {"name": "theirs", "vip_subnet_id": world.subnet_id}, project_id=world.cloud_project
    )
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    other = Project.objects.create(domain=world.domain, name="other")
    LoadBalancer.objects.create(
        name="theirs", project=other, manager=world.manager, region=made.region, external_id="taken-name"
    )
    external_project_change_project(rows(world)["shop-project"], actor=world.actor, project=other)
    world.sync()
    theirs = LoadBalancer.objects.get(external_id=foreign)
    made.refresh_from_db()
    assert (theirs.project, theirs.name) == (other, "theirs-1")
    assert made.project == world.project, "what a person made for a project stays there"
    assert AuditEvent.objects.filter(object_id=theirs.pk, note__contains="cloud project").exists()
    assert world.network.project == other


def test_rule_79_and_80_nobody_writes_and_below_a_domain_nobody_lists(
    world: World, make_user: MakeUser, api: MakeApi
) -> None:
    row = rows(world)["shop-project"]
    problem(api(make_user("root", role="admin")).patch(f"{URL}{row.pk}/", {"name": "x"}), 405, "MethodNotAllowedError")
    member = api(make_user("member", role="project_admin", project=world.project))
    problem(member.get(URL), 403, "ForbiddenError", "NotSufficientPrivilegeError")


def test_rule_81_a_subaccount_stands_for_its_account(world: World, make_user: MakeUser, api: MakeApi) -> None:
    client = api(make_user("root", role="admin"))
    found = client.get(f"{URL}?cloudprovider={world.manager.pk}").json()
    assert [p["name"] for p in found["results"]] == ["shop-project"]
    problem(client.get(f"{URL}?cloudprovider=nobody"), 404, "ResourceNotFoundError", field="cloudprovider")


def test_rule_88_a_project_that_is_switched_off_is_unknown(seeing_all: World) -> None:
    seeing_all.cloud.project("off", enabled=False)
    seeing_all.sync()
    assert rows(seeing_all)["off"].status == "unknown"


def test_rule_89_one_row_for_one_id(world: World) -> None:
    row = rows(world)["shop-project"]
    with pytest.raises(IntegrityError), transaction.atomic():
        ExternalProject.objects.create(account=world.account, external_id=row.external_id, name="twin")


ids = st.integers(min_value=1, max_value=4)
found_projects = st.lists(
    st.builds(
        rules.Candidate, row=st.uuids(), name=st.sampled_from("abc"), available=st.booleans(), mapped=st.none() | ids
    ),
    max_size=6,
)


@given(found=found_projects, project=ids, name=st.sampled_from("abc"), default=st.none() | ids)
def test_rule_82_in_general(found: list[rules.Candidate], project: int, name: str, default: Any) -> None:
    chosen = rules.choose(found, project=project, name=name, default=default)
    mapped = [c for c in found if c.available and c.mapped == project]
    if mapped:
        assert chosen is mapped[0]
    elif chosen is not None:
        assert chosen.available and chosen.name == name and chosen.mapped in (None, default)
    else:
        assert not [c for c in found if c.available and c.name == name and c.mapped is None]


@given(name=st.text(min_size=1, max_size=80), taken=st.booleans())
def test_rule_83_and_84_names(name: str, taken: bool) -> None:
    names = rules.names_to_try(name, taken=taken)
    assert len(names) == (rules.ATTEMPTS if taken else 1)
    assert all(len(n) <= 64 for n in names) and names[0] == name[:64]
    assert [n[-2:] for n in names[1:]] == [f"-{k}" for k in range(1, len(names))]
