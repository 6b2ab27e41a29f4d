"""Bringing one balancer's tree to what people want: one reconcile job per tree, level-triggered.

Each run looks first, makes the plan, sends what the task's change set allows, and stores every answer at once in a short
transaction of its own. It can be killed at any point: the next run looks, recognises what was made, and goes on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from compute.clouds.calls import watching
from compute.clouds.errors import Busy, CloudError, Gone, QuotaFull, Refused, Unreachable, Unsupported
from compute.clouds.ports import BalancerPort
from compute.clouds.specs import State, TreeState
from compute.eips.models import Eip
from compute.loadbalancers import desired, mirror, rules, services, state
from compute.loadbalancers.choices import PENDING_WORDS
from compute.loadbalancers.looking import load, locked, look, region_of, tree_in_flight
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import CASCADE, KIND_WORDS, Sight, Wanted, WantedTree, fields_of, plan, recognise
from compute.work import TaskWatch
from core.access import product_actor
from core.engine.plan import Plan, Step
from core.errors import InvalidStatusError, PlanChangedError, Problem, Remembered, TimeoutError
from core.tasks import services as tasks
from core.tasks.models import DONE, Task, TaskStep
from core.tasks.registry import Job, Later, Preview, register
from core.tasks.runner import Context

ROWS: Mapping[str, Any] = {
    "loadbalancer": LoadBalancer, "listener": Listener, "pool": PoolBinding, "member": MemberBinding, "floatingip": Eip,
}  # fmt: skip
# How long a worker itself waits for a tree to settle before it gives the task back, and how often it looks (seconds).
PATIENCE = 12.0
GROWTH = 1.6
# How long a tree may stay PENDING_* before the task gives up on it (A12).
SETTLE_LIMIT = timedelta(minutes=10)
MAX_ROUNDS = 6
# Seconds after which a cloud has usually probed the members of a new tree.
HEALTH_SETTLES = 15.0
# So many answers in a row may stay away (time-outs, 5xx) before the task fails with the last one's reason.
MAX_DOUBTS = 5
# So many looks may miss a balancer that has an id before it counts as removed outside.
MAX_ABSENT = 3


class NotSettled(Exception):
    """The tree is still PENDING_*: come back later."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class LookAgain(Exception):
    """What the cloud did is not certain, or not what was expected: observe and plan anew."""


@dataclass(frozen=True)
class Pace:
    """How soon a worker looks at a busy tree for the first time, and how long it pauses between two looks at most."""

    first: float
    longest: float


CHANGED = Pace(0.2, 1.0)
# A new tree takes seconds: five looks see it through the first thirteen of them.
NEW = Pace(1.0, 4.0)


@dataclass(frozen=True)
class Sent:
    """What a send gave back: states by our row, of objects whose ids are known now."""

    states: Mapping[str, State]


class Reconciler:
    """One run of one task on one tree."""

    def __init__(self, context: Context, lb: LoadBalancer) -> None:
        self.context = context
        self.task: Task = context.task
        self.lb = lb
        self.region = region_of(lb)
        self.watch = TaskWatch(context)
        # Refused steps by mark: what this task was told no for stays so until somebody runs it again.
        failed = TaskStep.objects.filter(task=self.task, state=TaskStep.FAILED).exclude(problem=None)
        self.refused: dict[str, Problem] = {s.mark: Remembered(s.problem or {}) for s in failed}
        self.refused_rows: set[str] = set()
        self.echoes: set[str] = set()  # marks of steps that were refused as doubles and looked for
        self.stopped = False

    @property
    def port(self) -> BalancerPort:
        return self.region.balancer

    # -- the loop

    def run(self) -> Later | None:
        with watching(self.watch):
            try:
                if self.task.memory.get("waiting_since"):
                    self._settle_from_before()
                return self._rounds()
            except NotSettled as unsettled:
                return self._later(unsettled.word)
            except Unreachable as error:
                return self._read_later(error)

    def _rounds(self) -> Later | None:
        for _ in range(MAX_ROUNDS):
            lb = self.lb = load(self.lb.pk)
            if lb.deleted_at is not None:
                return None
            account = lb.manager.account
            rules.check_account_writable(enabled=account.enabled, read_only=account.read_only, name=account.name)
            wanted = desired.wanted_tree(lb, self.task.change_set)
            tree = look(lb, self.region, wanted)
            if not self._settled(lb, tree):
                continue
            self._record(tree, wanted)
            wanted = desired.wanted_tree(self.lb, self.task.change_set)
            if self._may_be_stale(tree):
                return Later(2.0, "The cloud does not show the balancer at this moment")
            self._refuse_missing(tree)
            todo = self._plan(wanted, tree)
            self._hold_to_plan(todo)
            self.refused = {mark: p for mark, p in self.refused.items() if mark in todo.marks}
            self.refused_rows = {s.row for s in todo.steps if s.mark in self.refused}
            steps = [s for s in todo.steps if s.mark not in self.refused]
            if not steps:
                self._finish(wanted, tree)
                return None
            try:
                self._carry_out(steps, wanted, recognise(wanted, tree))
            except LookAgain:
                continue
        raise TimeoutError(
            f"The cloud's answers for {self.lb.name} did not come to rest in {MAX_ROUNDS} attempts.",
            hint="Look at the balancer at the cloud, then run the task again.",
        )

    def _plan(self, wanted: WantedTree, tree: TreeState | None) -> Plan:
        """The plan; what it refuses as a whole stays on the balancer as its failure."""
        try:
            return plan(wanted, tree)
        except Problem as problem:
            LoadBalancer.objects.filter(pk=self.lb.pk).update(failure=problem.as_dict())
            raise

    def _finish(self, wanted: WantedTree, tree: TreeState | None) -> None:
        if tree is None and wanted.balancer.tombstone:
            with self.context.owning():
                mirror.bury_tree(self.lb, timezone.now())
        else:
            with self.context.owning():
                mirror.bury_unused(self.lb, timezone.now())
                _bury_never_made(self.lb, self.task)
        if self.refused:
            raise self._summary()

    def _summary(self) -> Problem:
        """One problem for the task out of the refused steps: what was made, what was not, and why."""
        problems = list(self.refused.values())
        first = problems[0]
        # Steps that went out in one call were refused in one answer: it is told once, about the first of them.
        answers = {p.cloud_request_id or p.detail: p.detail for p in reversed(problems)}
        told = " ".join(reversed(answers.values()))
        summary = Remembered(
            {
                **first.as_dict(),
                "detail": told if len(problems) == 1 else f"{len(problems)} steps were refused. {told}",
                "hint": "Run the task again when the reason is gone, or take back what was not sent.",
            }
        )
        done = TaskStep.objects.filter(task=self.task, state=TaskStep.DONE)
        summary.extra = {"done": [s.sentence for s in done]}
        return summary

    # -- looking

    def _record(self, tree: TreeState | None, wanted: WantedTree) -> None:
        """Store what was seen of a tree at rest."""
        if tree is None:
            return
        with self.context.owning():
            mirror.TreeWriter(locked(self.lb.pk), actor=product_actor(), task_id=self.task.pk).record(tree)
            for item in wanted.floating_ips:
                seen = next((s for s in tree.floating_ips if s.external_id == item.external_id), None)
                if seen is not None:
                    _record_address(item.row, seen)
        self.lb = load(self.lb.pk)

    def _may_be_stale(self, tree: TreeState | None) -> bool:
        """A balancer that is not there is looked for some times more: right after its creation a read may be older than it."""
        if tree is not None or not self.lb.external_id or self.lb.delete_requested_at is not None:
            return False
        looks = int(self.task.memory.get("absent", 0))
        self.context.remember(absent=looks + 1)
        return looks < MAX_ABSENT

    def _refuse_missing(self, tree: TreeState | None) -> None:
        if tree is None and self.lb.external_id and self.lb.delete_requested_at is None:
            LoadBalancer.objects.filter(pk=self.lb.pk, missing_since=None).update(missing_since=timezone.now())
            raise Gone(
                f"Load balancer {self.lb.name} is missing at the cloud.",
                hint="It was removed outside. Delete it here, or create it anew.",
            )
        if tree is not None and tree.balancer.provisioning == "ERROR" and self.lb.delete_requested_at is None:
            raise InvalidStatusError(
                f"Load balancer {self.lb.name} is in ERROR at the cloud, which allows no change but its deletion.",
                hint="Ask the cloud's administrators for a failover, or delete it and build it anew.",
            )

    def _hold_to_plan(self, todo: Plan) -> None:
        """Show the steps; hold them against the plan that a person confirmed. Runs before the first write of a round."""
        task = self.task
        if task.plan_digest and task.approved is None:
            # What somebody changed once more meanwhile is another task's: less to do than was confirmed is no surprise.
            if todo.steps and todo.digest != task.plan_digest:
                self._stop_changed(todo)
            task.approved = sorted(todo.marks)
            if not self.context.mine().update(approved=task.approved):
                raise InvalidStatusError("The task is no longer this worker's.")
        elif task.approved is not None and not todo.marks <= set(task.approved):
            self._stop_changed(todo)
        self.context.show_steps([(s.mark, s.sentence) for s in todo.steps])
        over = TaskStep.objects.filter(task=task).exclude(mark__in=todo.marks).exclude(state=TaskStep.DONE)
        over.update(state=TaskStep.DONE, ended_at=timezone.now())

    def _stop_changed(self, todo: Plan) -> None:
        raise PlanChangedError(
            "The cloud changed since you looked: the work now needs steps that were not in the plan you confirmed. "
            "Nothing more was sent.",
            hint="Read the new plan and confirm it, or take the change back.",
            extra=todo.as_dict(),
        )

    # -- waiting

    def _settled(self, lb: LoadBalancer, tree: TreeState | None) -> bool:
        """Is the tree's root at rest? If not, wait for it, in the worker and then outside it, and look again."""
        if tree is None or tree.balancer.provisioning not in PENDING_WORDS:
            return True
        if not lb.external_id:
            # A create whose answer was lost: the id is kept before anything else, so that nothing is made twice.
            with self.context.owning():
                said = tree.balancer.fields
                LoadBalancer.objects.filter(pk=lb.pk).update(
                    external_id=tree.balancer.external_id,
                    applied={n: said[n] for n in fields_of("loadbalancer") if n in said},
                )
            self.lb = load(lb.pk)
        self._wait(tree.balancer.provisioning)
        return False

    def _wait(self, word: str, *, pace: Pace = CHANGED) -> State | None:
        """Look at the root alone until it is no longer pending; None when it is gone. Raises `NotSettled`."""
        pause, spent = pace.first, 0.0
        while True:
            time.sleep(pause)
            spent += pause
            try:
                root = self.port.status(self._root_id())
            except Gone:
                return None
            if root.provisioning not in PENDING_WORDS:
                self._rested()
                return root
            word = root.provisioning
            if spent >= PATIENCE:
                raise NotSettled(word)
            self.context.guard_lazily()
            pause = min(pace.longest, pause * GROWTH)

    def _root_id(self) -> str:
        return self.lb.external_id

    def _settle_from_before(self) -> None:
        """A run that continues a wait: one look at the root before anything else is read."""
        try:
            root = self.port.status(self._root_id())
        except Gone:
            self._rested()
            return
        if root.provisioning in PENDING_WORDS:
            raise NotSettled(root.provisioning)
        self._rested()

    def _rested(self) -> None:
        if self.task.memory.get("waiting_since"):
            self.context.remember(waiting_since="", looks=0)

    def _later(self, word: str) -> Later:
        since = self.task.memory.get("waiting_since") or timezone.now().isoformat()
        looks = int(self.task.memory.get("looks", 0))
        waited = timezone.now() - datetime.fromisoformat(since)
        if waited >= SETTLE_LIMIT:
            raise TimeoutError(
                f"Load balancer {self.lb.name} has been {word} since {since[:19].replace('T', ' ')} UTC and does not come to rest.",
                hint="Its administrators can free it at the cloud; then run the task again.",
                cloud_request_id=self.watch.last_request_id,
                extra={"stuck_since": since},
            )
        self.context.remember(waiting_since=since, looks=looks + 1)
        return Later(min(10.0, 2.0 * 1.5**looks), f"The load balancer has been {word} since {since[11:19]} UTC")

    # -- sending

    def _carry_out(self, steps: Sequence[Step], wanted: WantedTree, sight: Sight) -> None:
        rows = wanted.by_row()
        ids = {row: s.external_id for row, s in sight.states.items()}
        queue = deque(self._batches(steps, rows))
        while queue:
            batch = queue.popleft()
            if any(n in self.refused_rows for s in batch for n in s.needs):
                self._leave_out(batch)
                continue
            self.context.check_cancel()
            for step in batch:
                self.context.step_started(step.mark)
            try:
                sent = self._send(batch, rows, ids, wanted)
            except (Busy, Gone) as error:
                if isinstance(error, Busy):
                    self._wait("PENDING_UPDATE")
                raise LookAgain from None
            except (Refused, Unsupported) as refusal:
                if isinstance(refusal, QuotaFull) and len(batch) > 1 and batch[0].kind == "member":
                    # Sent singly, as much as fits is made and the rest is named.
                    queue.extendleft([step] for step in reversed(batch))
                elif self._already_there(refusal) and not self.echoes.issuperset(s.mark for s in batch):
                    self.echoes.update(s.mark for s in batch)
                    raise LookAgain from None
                else:
                    self._refuse(batch, refusal)
                continue
            except CloudError as error:
                if not error.doubtful:
                    raise
                time.sleep(min(5.0, 0.5 * 2 ** self._doubt(error)))
                raise LookAgain from None
            self._store(batch, sent, rows)
            ids.update({row: s.external_id for row, s in sent.states.items()})
            self._after(batch)
        raise LookAgain

    def _leave_out(self, batch: Sequence[Step]) -> None:
        for step in batch:
            problem = Problem(f"{_not_done(step)}: what it needs was not made.")
            self.refused[step.mark] = problem
            self.refused_rows.add(step.row)
            self.context.step_failed(step.mark, problem)

    @staticmethod
    def _already_there(refusal: CloudError) -> bool:
        """A 409 that speaks of a double may be the echo of a call of ours whose answer was lost (A02): look, once. What is
        still refused after that is somebody else's."""
        text = refusal.cause.lower()
        return (
            refusal.http_status == 409
            and ("already" in text or "duplicate" in text)
            and not isinstance(refusal, QuotaFull)
        )

    def _doubt(self, error: CloudError) -> int:
        """One more answer that did not come, since the last that did. Too many in a row are the task's problem."""
        doubts = int(self.task.memory.get("doubts", 0)) + 1
        if doubts > MAX_DOUBTS:
            raise error
        self.context.remember(doubts=doubts)
        return doubts

    def _read_later(self, error: Unreachable) -> Later:
        """The cloud could not be read: try again later, outside the worker."""
        return Later(min(10.0, 2.0 * self._doubt(error)), error.detail)

    def _batches(self, steps: Sequence[Step], rows: Mapping[str, Wanted]) -> Iterator[list[Step]]:
        """Steps that one call carries: a new tree as a whole, new members of one pool; else one by one."""
        capabilities = self.port.capabilities()
        queue = list(steps)
        if queue and queue[0].kind == "loadbalancer" and queue[0].verb == "create" and capabilities.tree_create:
            tree = [s for s in queue if s.verb == "create"]
            yield tree
            queue = [s for s in queue if s.verb != "create"]
        while queue:
            head = queue.pop(0)
            batch = [head]
            if head.kind == "member" and head.verb == "create" and capabilities.member_batch:
                parent = rows[head.row].parent
                while (
                    queue
                    and queue[0].kind == "member"
                    and queue[0].verb == "create"
                    and rows[queue[0].row].parent == parent
                ):
                    batch.append(queue.pop(0))
            yield batch

    def _send(
        self, batch: Sequence[Step], rows: Mapping[str, Wanted], ids: Mapping[str, str], wanted: WantedTree
    ) -> Sent:
        head = batch[0]
        item = rows[head.row]
        if head.kind == "floatingip":
            return Sent({head.row: self._send_address(head, item)})
        if head.verb == "create" and head.kind == "loadbalancer":
            whole = batch if len(batch) > 1 else [head]
            spec = desired.balancer_spec(wanted, whole, project_id=self.lb.external_project_id)
            return Sent({head.row: self.port.create_tree(spec)})
        senders: Mapping[str, Callable[[], Sent]] = {
            "create": lambda: self._send_create(batch, rows, ids),
            "update": lambda: self._send_update(head, item, ids),
            "delete": lambda: self._send_delete(head, item, ids),
        }
        return senders[head.verb]()

    def _send_create(self, batch: Sequence[Step], rows: Mapping[str, Wanted], ids: Mapping[str, str]) -> Sent:
        head, item = batch[0], rows[batch[0].row]
        root_id = self._root_id()
        if head.kind == "listener":
            pool_id = _pool_id(item, ids)
            return Sent({head.row: self.port.create_listener(root_id, desired.listener_spec(item, pool_id=pool_id))})
        if head.kind == "pool":
            return Sent({head.row: self.port.create_pool(desired.pool_spec(item), loadbalancer_id=root_id)})
        specs = [desired.member_spec(rows[s.row]) for s in batch]
        if len(specs) == 1:
            return Sent({head.row: self.port.create_member(ids[item.parent], specs[0])})
        self.port.add_members(ids[item.parent], specs)
        return Sent({})

    def _send_update(self, step: Step, item: Wanted, ids: Mapping[str, str]) -> Sent:
        change = {name: item.desired[name] for name in step.after}
        external_id = ids[step.row]
        if step.kind == "listener":
            if "default_pool" in change:
                change.pop("default_pool")
                change["default_pool_id"] = _pool_id(item, ids)
            self.port.update_listener(external_id, change)
        elif step.kind == "pool":
            self.port.update_pool(external_id, change)
        elif step.kind == "member":
            self.port.update_member(ids[item.parent], external_id, change)
        else:
            self.port.update_balancer(external_id, change)
        return Sent({})

    def _send_delete(self, step: Step, item: Wanted, ids: Mapping[str, str]) -> Sent:
        external_id = ids.get(step.row) or item.external_id
        if step.kind == "listener":
            self.port.delete_listener(external_id)
        elif step.kind == "pool":
            self.port.delete_pool(external_id)
        elif step.kind == "member":
            self.port.delete_member(ids[item.parent], external_id)
        else:
            self.port.delete_balancer(external_id, cascade=item.allows(CASCADE))
        return Sent({})

    def _send_address(self, step: Step, item: Wanted) -> State:
        if step.verb == "bind":
            return self.region.network.bind(item.external_id, self.lb.port_id)
        return self.region.network.release(item.external_id)

    # -- after a send

    def _store(self, batch: Sequence[Step], sent: Sent, rows: Mapping[str, Wanted]) -> None:
        """Keep what the cloud accepted, at once: new ids, and the values that it took."""
        with self.context.owning():
            for step in batch:
                item, model = rows[step.row], ROWS[step.kind]
                given = sent.states.get(step.row)
                if step.kind == "floatingip":
                    _record_address(step.row, given, accepted=True)
                elif step.verb == "create" and given is not None:
                    # The values are what the cloud accepted of ours; the next full look records what it says.
                    model.objects.filter(pk=step.row).update(
                        external_id=given.external_id, applied=dict(item.desired), failure=None,
                        provisioning_status=given.provisioning, operating_status=given.operating,
                    )  # fmt: skip
                elif step.verb == "update":
                    row = model.objects.get(pk=step.row)
                    row.applied = {
                        **row.applied,
                        **{n: item.desired[n] for n in step.after if n in fields_of(step.kind)},
                    }
                    row.failure = None
                    row.save(update_fields=["applied", "failure"])
            if batch[0].kind == "loadbalancer":
                self.lb = load(self.lb.pk)
            state.refresh(self.lb)

    def _after(self, batch: Sequence[Step]) -> None:
        """Wait for the tree to come to rest, then tick the steps off. A tree that went to ERROR is looked at in full."""
        head = batch[0]
        if head.kind != "floatingip":
            new_tree = head.kind == "loadbalancer" and head.verb == "create"
            root = self._wait("PENDING_UPDATE", pace=NEW if new_tree else CHANGED)
            if root is not None:
                if root.provisioning == "ERROR":
                    raise LookAgain
                port_id = str(root.fields.get("port_id") or "")
                if new_tree and port_id:
                    LoadBalancer.objects.filter(pk=self.lb.pk).update(
                        port_id=port_id, address=root.fields.get("address") or self.lb.address
                    )
                    self.lb = load(self.lb.pk)
        for step in batch:
            self.context.step_done(step.mark)
        if self.task.memory.get("doubts"):
            self.context.remember(doubts=0)

    def _refuse(self, batch: Sequence[Step], refusal: Problem) -> None:
        """The cloud said no: each row keeps the reason, its values stay pending, independent steps go on."""
        for step in batch:
            problem = type(refusal)(
                f"{_not_done(step)}: {refusal.detail}", cause=refusal.cause, cloud_request_id=refusal.cloud_request_id,
                hint=refusal.hint,
            )  # fmt: skip
            self.refused[step.mark] = problem
            self.refused_rows.add(step.row)
            ROWS[step.kind].objects.filter(pk=step.row).update(failure=problem.as_dict())
            self.context.step_failed(step.mark, problem)


def _pool_id(item: Wanted, ids: Mapping[str, str]) -> str:
    """The cloud's id of a listener's wanted pool, "" where none is wanted. Raises `Refused` when that pool is missing there."""
    row = str(item.desired.get("default_pool") or "")
    if row and row not in ids:
        raise Refused(
            "its pool is missing at the cloud", hint="Read the balancer again, then choose another backend group."
        )
    return ids.get(row, "")


def _not_done(step: Step) -> str:
    done = {"create": "created", "update": "changed", "delete": "deleted", "bind": "bound", "release": "released"}[
        step.verb
    ]
    return f"{KIND_WORDS[step.kind].capitalize()} {step.target} was not {done}"


def _record_address(row: Any, seen: State | None, *, accepted: bool = False) -> None:
    if seen is None:
        return
    values = {"port_id": str(seen.fields.get("port_id") or "")}
    changes: dict[str, Any] = {"observed": values, "observed_at": timezone.now()}
    taken_away = not Eip.objects.filter(pk=row).exclude(loadbalancer=None).exists()
    if accepted or taken_away:
        # An address that nobody wants on a balancer is where the cloud says it is.
        changes |= {"applied": values, "failure": None}
    Eip.objects.filter(pk=row).update(**changes)


def _bury_never_made(lb: LoadBalancer, task: Task) -> None:
    """Rows of this change set whose deletion was asked for and that no cloud ever had are done at once."""
    named = {e["id"] for e in task.change_set}
    now = timezone.now()
    for model in (MemberBinding, PoolBinding, Listener):
        rows = model.objects.filter(pk__in=named, external_id="", deleted_at=None).exclude(delete_requested_at=None)
        mirror.bury(list(rows), now)
    mirror.bury_unused(lb, now)


def reconcile(context: Context) -> Later | None:
    """The job `loadbalancer.reconcile`."""
    return Reconciler(context, load(context.task.resource_id)).run()


def read(context: Context) -> Later | None:
    """The job `loadbalancer.read`: look at one tree and record what is there."""
    lb = load(context.task.resource_id)
    if lb.deleted_at is not None:
        return None
    with watching(TaskWatch(context)):
        tree = look(lb, region_of(lb), desired.wanted_tree(lb, ()), everything=True)
    with context.owning():
        lb = locked(lb.pk)
        if tree is None:
            LoadBalancer.objects.filter(pk=lb.pk, missing_since=None).update(missing_since=timezone.now())
        else:
            mirror.TreeWriter(lb, actor=product_actor(), task_id=context.task.pk).record(tree)
        state.refresh(lb)
    if tree is None:
        raise Gone(f"Load balancer {lb.name} is missing at the cloud.", hint="Delete it here, or create it anew.")
    return None


def probe(context: Context) -> None:
    """The job `loadbalancer.probe`: look once more at a new tree, whose members the cloud has probed meanwhile.

    Nobody waits for it: it stands on a line of its own, and leaves the tree to whoever works on it.
    """
    lb, began = load(context.task.resource_id), context.now()
    if lb.deleted_at is not None or tree_in_flight(lb.pk, began):
        return
    with watching(TaskWatch(context)):
        tree = look(lb, region_of(lb), desired.wanted_tree(lb, ()), everything=True)
    with context.owning():
        lb = locked(lb.pk)
        if tree is not None and lb.deleted_at is None and not tree_in_flight(lb.pk, began):
            mirror.TreeWriter(lb, actor=product_actor(), task_id=context.task.pk).record(tree)
            state.refresh(lb)


def ended(task: Task) -> None:
    """In whatever way a task ends, the tree's statuses are brought up to date in the same transaction."""
    lb = LoadBalancer.objects.filter(pk=task.resource_id, deleted_at=None).first()
    if lb is None:
        return
    state.refresh(lb)
    made = any(entry["verb"] == "create" for entry in task.change_set)
    if task.state == DONE and made and lb.enabled and lb.operating_status in ("OFFLINE", ""):
        # A new tree is ACTIVE some seconds before its members are probed: it is read once more, so that nothing stays OFFLINE.
        tasks.start(
            "loadbalancer.probe", lb, actor=product_actor(), line=f"probe:{lb.pk}", delay=HEALTH_SETTLES,
            project_id=lb.project_id, domain_id=task.domain_id,
        )  # fmt: skip


def register_jobs(preview: Preview) -> None:
    """Called once when the app starts. `preview`: the plan of a service call, for taking back."""
    register(
        Job(
            "loadbalancer.reconcile", "Change load balancer", reconcile,
            limit=timedelta(hours=1), ended=ended, revert=services.revert, preview=preview,
        )
    )  # fmt: skip
    register(Job("loadbalancer.read", "Read load balancer", read, limit=timedelta(minutes=10), ended=ended))
    register(Job("loadbalancer.probe", "Look at the health of load balancer", probe, limit=timedelta(minutes=10)))
