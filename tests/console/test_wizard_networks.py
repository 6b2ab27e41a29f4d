"""Which networks the wizard offers: shared ones only where something of the person's project can be made."""

from __future__ import annotations

import pytest

from compute.accounts.models import CloudAccount
from compute.networks.models import Network
from compute.projects.models import ExternalProject
from compute.projects.queries import accounts_open_to, cloud_project_of
from identity.models import Project
from tests.conftest import MakeUser
from tests.console.conftest import Browser, few_queries
from tests.console.test_changes import page_of
from tests.world import World


@pytest.fixture
def lean(world: World, project: Project) -> Project:
    """A project that has nothing in the account; the account's network is shared and belongs to another project."""
    Network.objects.update(is_shared=True)
    CloudAccount.objects.update(project=None)
    return project


def offered(browser: Browser, make_user: MakeUser, project: Project) -> bool:
    user = make_user(
        f"p-{Project.objects.count()}-{ExternalProject.objects.count()}", role="project_admin", project=project
    )
    client = browser(user)
    with few_queries():
        page = client.get(page_of("loadbalancer", "add")).content.decode()
    assert ("There is no network that you could put it in" in page) != ("front-v4" in page)
    return "front-v4" in page


def test_not_where_the_project_has_nothing(world: World, lean: Project, browser: Browser, make_user: MakeUser) -> None:
    assert not offered(browser, make_user, lean)


@pytest.mark.parametrize("values", [{"mapped": True}, {"name": "web"}])
def test_where_the_project_has_a_cloud_project(
    values: dict[str, object], world: World, lean: Project, browser: Browser, make_user: MakeUser
) -> None:
    mapped = lean if values.pop("mapped", None) else None
    given = {"name": "theirs", "external_id": "x1", **values}
    ExternalProject.objects.create(account=world.account, project=mapped, **given)
    assert offered(browser, make_user, lean)


def test_where_the_account_may_make_one(world: World, lean: Project, browser: Browser, make_user: MakeUser) -> None:
    CloudAccount.objects.update(cloud_roles=["member", "admin"])
    assert offered(browser, make_user, lean)


def test_networks_of_its_own_are_offered_always(
    world: World, lean: Project, browser: Browser, make_user: MakeUser
) -> None:
    Network.objects.update(project=lean, is_shared=False)
    assert offered(browser, make_user, lean)


def test_it_says_what_making_would_say(world: World, lean: Project) -> None:
    """The same answer as the one that a service gives for one account."""
    account = world.account
    account.refresh_from_db()
    rows = (
        {"project": None, "name": "web", "external_id": "a"},
        {"project": lean, "name": "other", "external_id": "b"},
        {"project": lean, "name": "made", "external_id": "", "status": "creating"},
        {"project": None, "name": "web", "external_id": "c", "status": "unknown"},
        {"project": world.project, "name": "web", "external_id": "d"},
    )
    assert accounts_open_to(lean) == [] and cloud_project_of(account, lean) is None
    for values in rows:
        row = ExternalProject.objects.create(account=account, **values)
        assert bool(accounts_open_to(lean)) is (cloud_project_of(account, lean) is not None), values
        row.delete()
