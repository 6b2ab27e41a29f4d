"""The product as a program uses it: its REST API with a token, and its tasks carried out in this process, waiting as long as
they ask to wait. Nothing is patched but a counter beside the watch that every call to a cloud passes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from compute import work
from compute.clouds.calls import Call, watching
from core.tasks.models import OPEN, Task
from core.tasks.runner import run_task
from tests.conftest import Api

Json = dict[str, Any]
REGION = "RegionOne"


@dataclass
class Counter:
    """The calls that left, logins aside."""

    calls: list[Call] = field(default_factory=list)

    def before(self, call: Call) -> None:
        pass

    def after(self, call: Call) -> None:
        if not call.path.endswith("/auth/tokens"):
            self.calls.append(call)

    @property
    def writes(self) -> list[str]:
        return [f"{c.method} {c.path}" for c in self.calls if c.is_write]

    def __len__(self) -> int:
        return len(self.calls)

    def __str__(self) -> str:
        return "\n".join(f"{c.method} {c.path} {c.status} {c.ms} ms" for c in self.calls)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter]:
    """Count the calls of requests and tasks in this block."""
    counter = Counter()
    after = work.TaskWatch.after

    def also(watch: work.TaskWatch, call: Call) -> None:
        counter.after(call)
        after(watch, call)

    with monkeypatch.context() as patch, watching(counter):
        patch.setattr(work.TaskWatch, "after", also)
        yield counter


def carry_out(line: str = "", *, within: float = 120.0) -> None:
    """Run open tasks as workers would, each when it is due, until none is open: those of one line, or all."""
    end = time.monotonic() + within
    while True:
        tasks = Task.objects.filter(state__in=OPEN, **({"line": line} if line else {}))
        rows = list(tasks.order_by("id").values_list("pk", "due_at"))
        if not rows:
            return
        assert time.monotonic() < end, f"{len(rows)} tasks are still open after {within:.0f} s"
        due = [pk for pk, at in rows if at <= timezone.now()]
        for pk in due:
            run_task(pk)
        if not due:
            time.sleep(0.1)


class Console:
    """One person's API. Addresses are those below `/api/`; an answer that was not expected fails the test."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def call(self, method: str, path: str, body: Json | None = None, *, expect: int, **query: Any) -> Any:
        """One call; returns the body."""
        status, shown = self.attempt(method, path, body, **query)
        assert status == expect, f"{method} {path} {query}: {status} {shown}"
        return shown

    def attempt(self, method: str, path: str, body: Json | None = None, **query: Any) -> tuple[int, Any]:
        """One call that may be refused, as a problem in sentences; the status and the body."""
        url = f"/api/{path.rstrip('/')}/" + (f"?{urlencode(query)}" if query else "")
        send = getattr(self._api, method.lower())
        answer = send(url) if body is None else send(url, body, format="json")
        shown = answer.json() if answer.content else None
        assert answer.status_code < 400 or answer["Content-Type"] == "application/problem+json", (
            f"{method} {url}: {shown}"
        )
        return answer.status_code, shown

    def get(self, path: str, **query: Any) -> Json:
        return dict(self.call("GET", path, expect=200, **query))

    def rows(self, path: str, **query: Any) -> list[Json]:
        """A whole list."""
        return list(self.get(path, limit=500, **query)["results"])

    def one(self, path: str, **query: Any) -> Json:
        """The one row that fits."""
        (row,) = self.rows(path, **query)
        return row

    def plan(self, method: str, path: str, body: Json | None = None, **query: Any) -> Json:
        """What a change would do."""
        return dict(self.call(method, path, body, expect=200, dry_run="true", **query))

    def change(self, method: str, path: str, body: Json | None = None, **query: Any) -> Json:
        """A change that reaches a cloud: 202 with the resource and the task."""
        return dict(self.call(method, path, body, expect=202, **query))

    def done(self, answer: Json, *, within: float = 120.0) -> Json:
        """Carry out what a change started; its task, which has to be done."""
        task = self.ended(answer, within=within)
        assert task["state"] == "done", task["problem"]
        return task

    def ended(self, answer: Json, *, within: float = 120.0) -> Json:
        """Carry out what a change started; its task, in whatever way it ended."""
        carry_out(self.task(answer)["line"], within=within)
        return self.task(answer)

    def task(self, answer: Json) -> Json:
        """The task of a change as it stands now."""
        return self.get(f"core/tasks/{answer['task']['id']}/")

    def sync(self, account: Json) -> Json:
        """Read an account now; the run that did it, which has to be complete."""
        self.done(self.change("POST", f"compute/cloudaccounts/{account['id']}/sync/"))
        run = self.rows("compute/sync_runs", account=account["id"], ordering="-created_at")[0]
        assert run["state"] == "complete", run
        return run


def registered(console: Console, form: Json) -> Json:
    """An account that was accepted and read."""
    answer = console.change("POST", "compute/cloudaccounts", form)
    console.done(answer)
    account = answer["resource"]
    run = console.one("compute/sync_runs", account=account["id"])
    assert run["state"] == "complete", run
    return account


def shop(console: Console, account: Json, name: str, *, subnet: str) -> Json:
    """The body of a balancer with an HTTP listener, a group and two members."""
    backends = [{"backend": "10.77.0.5", "port": 8080}, {"backend": "10.77.0.6", "port": 8080, "weight": 20}]
    return {
        "name": name,
        "manager": console.one("compute/cloudproviders", account=account["id"])["id"],
        "network": console.one("compute/networks", name=subnet, account=account["id"])["id"],
        "listeners": [
            {"listener_type": "http", "listener_port": 80, "new_backend_group": {"name": "web", "backends": backends}}
        ],
    }


def built(console: Console, account: Json, name: str, *, subnet: str) -> Json:
    """Such a balancer, made."""
    answer = console.change("POST", "compute/loadbalancers", shop(console, account, name, subnet=subnet))
    console.done(answer)
    return console.get(f"compute/loadbalancers/{answer['resource']['id']}")
