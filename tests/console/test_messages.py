"""What is said after every verb: that which happened or will happen, and in the same words everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from compute.accounts.models import CloudAccount
from compute.loadbalancers.models import BackendGroup, LoadBalancer
from core.admin.site import site
from core.tasks.models import RUNNING, Task
from identity.models import Role, User
from tests.console.test_changes import confirm, page_of
from tests.world import World

ROOT = Path(__file__).resolve().parents[2]
MESSAGE = re.compile(r'role="status">([^<]+)</li>')


def said(client: Client, url: str, data: dict[str, Any] | None = None) -> str:
    """The message on the page to which a post leads."""
    return " ".join(MESSAGE.findall(client.post(url, data or {}, follow=True).content.decode()))


def test_a_waiting_task_is_stopped_and_a_running_one_is_asked_to(boss: Client, world: World) -> None:
    task = world.create("shop").task
    assert task is not None
    assert said(boss, page_of("task", "cancel", task.pk)) == "The task is stopped. Nothing had been sent to the cloud."
    other = world.create("second").task
    assert other is not None
    Task.objects.filter(pk=other.pk).update(state=RUNNING, lease_until="2999-01-01T00:00:00Z", lease_token="x")
    assert said(boss, page_of("task", "cancel", other.pk)) == "", "a message would stay when the task has ended"
    page = boss.get(site.url_of("task", other.pk)).content.decode()
    assert "The task was asked to stop. It stops between two steps and then says what had been sent." in page


def test_run_again_and_take_back_say_which_task_this_is(boss: Client, world: World) -> None:
    task = world.create("shop").task
    assert task is not None
    Task.objects.filter(pk=task.pk).update(state="failed", problem={"detail": "Refused."})
    assert "This task runs the work again" in said(boss, page_of("task", "retry", task.pk))
    Task.objects.filter(pk=task.pk).update(settled_at=None)
    Task.objects.exclude(pk=task.pk).update(state="done")
    page = boss.get(page_of("task", "revert", task.pk))
    given = {"_stage": "confirm", "_plan": page.context["plan"].digest}
    assert "takes back what the other one did not finish" in said(boss, page_of("task", "revert", task.pk), given)


@pytest.mark.parametrize(
    ("verb", "words"),
    [("disable", "is disabled. Nothing is read or sent through it"), ("enable", "is enabled. Choose “Sync now”")],
)
def test_accounts(boss: Client, world: World, verb: str, words: str) -> None:
    CloudAccount.objects.filter(pk=world.account.pk).update(enabled=verb == "disable")
    assert words in said(boss, page_of("cloudaccount", verb, world.account.pk))


@pytest.mark.parametrize(
    ("verb", "words"),
    [("disable", "User rita is disabled. Sessions and tokens no longer work."), ("enable", "can log in again.")],
)
def test_people(boss: Client, make_user: Callable[..., User], verb: str, words: str) -> None:
    user = make_user("rita")
    User.objects.filter(pk=user.pk).update(enabled=verb == "disable")
    assert words in said(boss, page_of("user", verb, user.pk))


@pytest.mark.parametrize(
    ("verb", "words"), [("disable", "Nobody can work in it"), ("enable", "People can work in it again.")]
)
def test_projects(boss: Client, project: Any, verb: str, words: str) -> None:
    type(project).objects.filter(pk=project.pk).update(enabled=verb == "disable")
    assert words in said(boss, page_of("project", verb, project.pk))


def test_a_role_and_a_password(boss: Client, make_user: Callable[..., User], project: Any) -> None:
    user = make_user("rita")
    role = Role.objects.get(name="project_admin")
    words = said(boss, page_of("user", "role", user.pk), {"role": str(role.pk), "project": str(project.pk)})
    assert words == f"User rita has the role project admin in project {project}."
    assert "User rita has a new password." in said(
        boss, page_of("user", "password", user.pk), {"password": "a-long-password-7"}
    )


def test_what_needed_no_cloud_says_so(boss: Client, shop: LoadBalancer) -> None:
    url = page_of("loadbalancer", "edit", shop.pk)
    given = {"name": "shop", "description": "", "enabled": "on", "disable_delete": "on", "version": str(shop.version)}
    answer = confirm(boss, url, boss.post(url, given).content.decode())
    page = boss.get(answer["Location"]).content.decode()
    assert MESSAGE.findall(page) == ["Load balancer shop is saved. Nothing had to be sent to the cloud."]
    add = page_of("loadbalancer", "add_group", shop.pk)
    words = said(boss, add, {"name": "spare", "description": "", "backends": ""})
    assert words == "Backend group spare is saved. It is made at the cloud as soon as a listener uses it."
    assert BackendGroup.objects.filter(name="spare").exists()


def test_work_that_a_task_does_leads_to_the_task(boss: Client, shop: LoadBalancer, world: World) -> None:
    for url in (page_of("loadbalancer", "read", shop.pk), page_of("cloudaccount", "sync", world.account.pk)):
        assert "/core/task/" in boss.post(url)["Location"]


# --- one word for one thing -----------------------------------------------------------------------------------------------

SENTENCE = re.compile(r'"([^"\n]*)"')
# What the reader of a console must not meet: other words for a backend group, a backend, an elastic IP, to enable.
OTHER_WORDS = re.compile(r"\b(pools?|members?|floating (?:IP|address)\w*|[Ss]witch(?:ed)? o(?:n|ff))\b")
FACES = sorted(
    [
        *ROOT.glob("core/admin/*.py"), *ROOT.glob("compute/*/admin.py"), *ROOT.glob("compute/*/console/*.py"),
        *ROOT.glob("compute/*/guards.py"), *ROOT.glob("compute/*/actions.py"), *ROOT.glob("compute/*.py"),
        *ROOT.glob("identity/*/admin.py"), *ROOT.glob("identity/*/console/*.py"),
    ]
)  # fmt: skip


def sentences(path: Path) -> list[str]:
    """Texts of a module that people may read: strings with a space in them, or that begin with a capital letter."""
    lines = [line for line in path.read_text().splitlines() if '"""' not in line]
    found = SENTENCE.findall("\n".join(lines))
    return [text for text in found if " " in text.strip() or text[:1].isupper()]


@pytest.mark.parametrize("path", FACES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_console_has_one_word_for_one_thing(path: Path) -> None:
    wrong = [text for text in sentences(path) if OTHER_WORDS.search(re.sub(r"{[^}]*}", "", text))]
    assert wrong == []


def test_templates_have_one_word_for_one_thing() -> None:
    for path in ROOT.glob("templates/console/**/*.html"):
        text = re.sub(r"{[{%#].*?[}%#]}|<[^>]*>", " ", path.read_text())
        assert not OTHER_WORDS.search(text), path


def test_plans_speak_as_the_console_does(boss: Client, world: World, shop: LoadBalancer) -> None:
    page = boss.get(page_of("loadbalancer", "delete", shop.pk)).content.decode()
    assert "1 listener, 1 backend group and 2 backends" in page
    steps = " ".join(Task.objects.get(resource_id=shop.pk).steps.values_list("sentence", flat=True))
    assert "Create backend group" in steps and "Add backend 10.0.0.5:8080" in steps
    assert not OTHER_WORDS.search(steps)
