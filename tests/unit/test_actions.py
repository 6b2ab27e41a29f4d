"""Verbs, rights and reaches on one row, without a query: the same answers as `visible_to` gives with one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F

from core.access import Actor, Decision, Owner, Reach, ensure, product_actor, reaches
from core.actions import Action, Verb, always, possibilities
from core.engine.writing import Change, writing
from core.errors import (
    ForbiddenError,
    InvalidStatusError,
    NotSufficientPrivilegeError,
    PreconditionFailedError,
    ResourceNotFoundError,
)
from core.ids import new_id
from identity.models import Domain

MINE, OTHER = new_id(), new_id()


@dataclass
class FixedEngine:
    reach: Reach

    def decide(self, actor: Actor, right: str) -> Decision:
        return Decision(self.reach, policy="test", reason="" if self.reach is not Reach.NONE else "not granted")


def actor_of(reach: Reach) -> Actor:
    return Actor(user_id=MINE, name="ada", engine=FixedEngine(reach), reach=reach, domain_id=MINE, project_id=MINE)


@dataclass
class Row:
    owner = Owner(project="parent__project_id", domain="domain_id", user="user_id", shared="is_shared")

    project_id: UUID = OTHER
    domain_id: UUID = OTHER
    user_id: UUID = OTHER
    is_shared: bool = False
    state: str = "idle"
    parent: Any = field(default=None)

    def __post_init__(self) -> None:
        self.parent = self


class HiddenRow(Row):
    pk = OTHER


class Bare:
    pass


class Everybodys:
    owner = Owner(everyone=True)


@pytest.mark.parametrize(
    ("reach", "row", "verb", "answer"),
    [
        (Reach.NONE, Row(project_id=MINE, domain_id=MINE, user_id=MINE, is_shared=True), "get", False),
        (Reach.SYSTEM, Row(), "delete", True),
        (Reach.DOMAIN, Row(domain_id=MINE), "delete", True),
        (Reach.DOMAIN, Row(project_id=MINE), "delete", False),
        (Reach.PROJECT, Row(project_id=MINE), "delete", True),
        (Reach.PROJECT, Row(domain_id=MINE), "delete", False),
        (Reach.PROJECT, Row(domain_id=MINE, is_shared=True), "get", True),
        (Reach.PROJECT, Row(domain_id=MINE, is_shared=True), "delete", False),
        (Reach.PROJECT, Row(domain_id=OTHER, is_shared=True), "get", False),
        (Reach.OWN, Row(user_id=MINE), "update", True),
        (Reach.OWN, Row(), "update", False),
        (Reach.SYSTEM, Bare(), "get", False),
        (Reach.PROJECT, Everybodys(), "get", True),
        (Reach.PROJECT, Everybodys(), "delete", False),
        (Reach.SYSTEM, Everybodys(), "delete", True),
    ],
)
def test_what_a_right_reaches(reach: Reach, row: Any, verb: str, answer: bool) -> None:
    assert reaches(row, actor_of(reach), f"test.rows.{verb}") is answer


def test_a_refusal_tells_a_missing_right_from_a_short_one_and_hides_what_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.access.not_found", lambda model, where: ResourceNotFoundError("There is no such row."))
    with pytest.raises(ForbiddenError, match="not granted"):
        ensure(actor_of(Reach.NONE), "test.rows.delete", Row())  # type: ignore[arg-type]
    with pytest.raises(NotSufficientPrivilegeError, match="reaches your own project"):
        ensure(actor_of(Reach.PROJECT), "test.rows.delete", Row(domain_id=MINE, is_shared=True))  # type: ignore[arg-type]
    with pytest.raises(ResourceNotFoundError):
        ensure(actor_of(Reach.PROJECT), "test.rows.delete", HiddenRow())  # type: ignore[arg-type]
    assert ensure(actor_of(Reach.PROJECT), "test.rows.delete", Row(project_id=MINE)).policy == "test"  # type: ignore[arg-type]


def busy(row: Row, actor: Actor) -> str:
    return "It is busy." if row.state == "busy" else ""


def test_can_and_why_not() -> None:
    verbs = {"stop": Verb("test.rows.stop", busy), "go": Verb("test.rows.go")}
    mine, actor = Row(project_id=MINE, state="busy"), actor_of(Reach.PROJECT)
    assert possibilities(mine, actor, verbs) == ({"stop": False, "go": True}, {"stop": "It is busy."})  # type: ignore[arg-type]
    can, why = possibilities(Row(state="busy"), actor, verbs)  # type: ignore[arg-type]
    assert can == {"stop": False, "go": False} and "reaches your own project" in why["stop"]


def test_an_action_checks_before_it_runs() -> None:
    calls: list[dict[str, Any]] = []

    def run(row: Any, **values: Any) -> Change:
        calls.append(values)
        return Change(row)

    actor, row = actor_of(Reach.PROJECT), Row(project_id=MINE, state="busy")
    guarded = Action("stop", "Stop", right="test.rows.stop", run=run, guard=busy)
    with pytest.raises(InvalidStatusError, match="busy"):
        guarded.perform(row, actor=actor)  # type: ignore[arg-type]
    with pytest.raises(ForbiddenError):
        guarded.perform(row, actor=actor_of(Reach.NONE))  # type: ignore[arg-type]
    assert calls == []
    Action("go", "Go", right="test.rows.go", run=run, guard=always).perform(row, actor=actor, speed=3)  # type: ignore[arg-type]
    planned = Action("go", "Go", right="test.rows.go", run=run, guard=always, dry_run=True)
    planned.perform(row, actor=actor, plan_digest="abc")  # type: ignore[arg-type]
    assert calls == [{"actor": actor, "speed": 3}, {"actor": actor, "plan_digest": "abc"}]


@pytest.mark.django_db
def test_the_version_is_compared_inside_the_services_transaction() -> None:
    """Somebody else changes the row after it was read and before the service writes."""
    row = Domain.objects.create(name="home")
    read = Domain.objects.get(pk=row.pk)
    inside: list[bool] = []

    def run(obj: Domain, **values: Any) -> Change:
        Domain.objects.filter(pk=obj.pk).update(version=F("version") + 1)
        with writing() as done:
            inside.append(True)
            return done(obj)

    def twice(obj: Domain, **values: Any) -> Change:
        with writing() as done:
            Domain.objects.filter(pk=obj.pk).update(version=F("version") + 1)
            with writing():
                return done(obj)

    action = Action("go", "Go", right="test.rows.go", run=run, guard=always)
    with pytest.raises(PreconditionFailedError):
        action.perform(read, actor=product_actor(), expected_version=read.version)
    assert not inside
    action.perform(read, actor=product_actor())
    with writing():
        pass
    now = Domain.objects.get(pk=row.pk)
    Action("go", "Go", right="test.rows.go", run=twice, guard=always).perform(
        now, actor=product_actor(), expected_version=now.version
    )
