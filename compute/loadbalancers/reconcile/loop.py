"""One run of a reconcile task on one balancer's tree: look, plan, send what the change set allows, store every answer at once.

Level-triggered: it can be killed at any point; the next run looks, recognises what was made, and goes on from there.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q

from compute.clouds.calls import watching
from compute.clouds.errors import Busy, CloudError, Gone, QuotaFull, Refused, Unreachable, Unsupported
from compute.clouds.specs import TreeState
from compute.loadbalancers import desired, rules
from compute.loadbalancers.choices import PENDING_WORDS
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.plan import (
    CASCADE,
    CREATE,
    DELETE,
    KIND_WORDS,
    Sight,
    WantedTree,
    algorithms_in,
    missing,
    observed_fields,
    plan,
    recognise,
)
from compute.loadbalancers.reconcile import storing
from compute.loadbalancers.reconcile.looking import load, look, region_of
from compute.loadbalancers.reconcile.sending import Sender, batches
from compute.loadbalancers.reconcile.waiting import CHANGED, NEW, NotSettled, Rest
from compute.projects.making import make_project
from compute.projects.rules import check_may_make
from compute.work import TaskWatch
from core.engine.merge import same
from core.engine.plan import Plan, Step, words
from core.errors import InvalidStatusError, PlanChangedError, Problem, Remembered, TimeoutError
from core.tasks.models import Task, TaskStep
from core.tasks.registry import Later
from core.tasks.runner import Context

MAX_ROUNDS = 6
# So many answers in a row may stay away (time-outs, 5xx) before the task fails with the last one's reason.
MAX_DOUBTS = 5
# So many looks may miss a balancer that has an id before it counts as removed outside.
MAX_ABSENT = 3
# So long after a creation was begun whose answer did not come, what it made may not show yet: our own time-out, and the time
# in which the cloud still works at it. Only then is it sent again.
UNSURE = timedelta(seconds=60)
LEFT_OUT = {
    "delete": "what still uses it could not be taken off it",
    **dict.fromkeys(("create", "update", "bind", "release"), "what it needs was not made"),
}
PAST = {"create": "created", "update": "changed", "delete": "deleted", "bind": "bound", "release": "released"}


class LookAgain(Exception):
    """What the cloud did is not certain, or not what was expected: observe and plan anew."""


class SomebodyElse(Exception):
    """Another task is doing what this one needs."""


class Reconciler:
    """One run of one task on one tree."""

    def __init__(self, context: Context, lb: LoadBalancer) -> None:
        self.context = context
        self.task: Task = context.task
        self._at(lb)
        self.watch = TaskWatch(context)
        # Refused steps by mark: what this task was told no for stays so until somebody runs it again.
        failed = TaskStep.objects.filter(task=self.task, state=TaskStep.FAILED, problem__isnull=False)
        self.refused: dict[str, Problem] = {s.mark: Remembered(s.problem or {}) for s in failed}
        self.refused_rows: set[str] = set()
        self.reasons: dict[str, Problem] = {}  # why, by row, of those that were refused in this run
        self.echoes: set[str] = set()  # marks of steps that were refused as doubles and looked for
        self.deletion_sent = False  # in this run: what is not there after it is gone
        # Rows of the change set that the cloud has not any more, and what they are called: also in an earlier run.
        self.missing: dict[str, str] = dict(self.task.memory.get("missing", {}))
        # What the cloud had, by row and field, before it took what this task sent.
        self.sent: dict[str, dict[str, Any]] = {r: dict(f) for r, f in self.task.memory.get("sent", {}).items()}

    def _at(self, lb: LoadBalancer) -> None:
        """Work on the tree as it is now, in its cloud project."""
        self.lb = lb
        self.region = region_of(lb)
        self.rest = Rest(self.context, self.region.balancer)

    def run(self) -> Later | None:
        """Until nothing is left to do, or `Later`. Raises `Problem` with what stands in the way."""
        with watching(self.watch):
            try:
                self.rest.go_on(self.lb.external_id)
                return self._rounds()
            except NotSettled as unsettled:
                request_id = self.watch.last_request_id
                return self.rest.later(unsettled.word, name=self.lb.name, request_id=request_id)
            except (Unreachable, Busy) as error:  # no answer, or "too many requests"
                return Later(min(10.0, 2.0 * self._doubt(error)), error.detail)
            except SomebodyElse as busy:
                return Later(2.0, str(busy))

    def _rounds(self) -> Later | None:
        for _ in range(MAX_ROUNDS):
            lb = self.lb = load(self.lb.pk)
            if lb.deleted_at is not None:
                return None
            account = lb.manager.account
            rules.check_account_writable(enabled=account.enabled, read_only=account.read_only, name=account.name)
            wanted = self._placed()
            tree = look(lb, self.region, wanted)
            if not self._settled(tree):
                continue
            if tree is not None:
                sight = recognise(wanted, tree)
                lost, unheard = missing(wanted, sight), self._unheard(wanted, sight)
                if self._lags(wanted, lost, unheard):
                    return Later(2.0, "The cloud does not show yet what it has just accepted")
                if unheard:
                    self._refuse_unheard(wanted, unheard)
                with self.context.owning():
                    if lost.items() - self.missing.items() or self.task.memory.get("absent"):
                        self.missing |= lost
                        self.context.remember(missing=self.missing, absent=0)
                    storing.seen(lb, tree, wanted, self.task)
                self.lb = load(lb.pk)
            wanted = desired.wanted_tree(self.lb, self.task.change_set)
            if self._may_be_stale(tree):
                return Later(2.0, "The cloud does not show the balancer at this moment")
            if wanted.project is None and self._may_still_come(tree):
                return Later(
                    5.0,
                    "The cloud gave no answer to the creation of the balancer; it is looked for before it is sent again",
                )
            if tree is None and not self._surely_gone(wanted):
                continue
            self._refuse_missing(tree)
            todo = self._plan(wanted, tree)
            self._hold_to_plan(todo)
            self.refused = {mark: p for mark, p in self.refused.items() if mark in todo.marks}
            self.refused_rows = {s.row for s in todo.steps if s.mark in self.refused}
            steps = [s for s in todo.steps if s.mark not in self.refused]
            if not steps:
                with self.context.owning():
                    storing.at_its_end(self.lb, tree, wanted, self.task)
                if self.refused:
                    raise self._summary()
                if self.missing:
                    raise self._gone()
                return None
            try:
                self._carry_out(steps, wanted, recognise(wanted, tree))
            except LookAgain:
                continue
        raise TimeoutError(
            f"The cloud's answers for {self.lb.name} did not come to rest in {MAX_ROUNDS} attempts.",
            hint="Look at the balancer at the cloud, then run the task again.",
        )

    # -- before the first write of a round

    def _settled(self, tree: TreeState | None) -> bool:
        """Is the tree's root at rest? If not, wait for it, in the worker and then outside it, and look again."""
        if tree is None or tree.balancer.provisioning not in PENDING_WORDS:
            return True
        if not self.lb.external_id:
            with self.context.owning():
                storing.found(self.lb, tree.balancer)
        self.rest.wait(self.lb.external_id, tree.balancer.provisioning)
        return False

    def _may_be_stale(self, tree: TreeState | None) -> bool:
        """A balancer that is not there is looked for some times more: right after its creation a read may be older than it."""
        if tree is not None or not self.lb.external_id:
            return False
        if self.lb.delete_requested_at is not None and not self.task.plan_digest:
            return False
        looks = int(self.task.memory.get("absent", 0))
        self.context.remember(absent=looks + 1)
        return looks < MAX_ABSENT

    def _unheard(self, wanted: WantedTree, sight: Sight) -> dict[str, list[str]]:
        """Fields by row that the cloud accepted from this task and shows as they were before: a read that is older than the
        change, or a change that was not made. That is never somebody else's change."""
        rows = wanted.by_row()
        found: dict[str, list[str]] = {}
        for row, sent in self.sent.items():
            item, seen = rows.get(row), sight.states.get(row)
            if item is None or seen is None:
                continue
            now = observed_fields(item, seen, wanted, sight)
            accepted = [n for n in sent if same(item.applied.get(n), item.desired.get(n))]
            names = [n for n in accepted if same(now.get(n), sent[n]) and not same(now.get(n), item.desired.get(n))]
            found |= {row: names} if names else {}
        return found

    def _refuse_unheard(self, wanted: WantedTree, unheard: Mapping[str, list[str]]) -> None:
        """What stays as it was, however often one looks, is not done."""
        rows = wanted.by_row()
        told = words([f"{words(names)} of {KIND_WORDS[rows[r].kind]} {rows[r].label}" for r, names in unheard.items()])
        problem = Refused(
            f"The cloud accepted the change of {told}, but shows it as it was before.",
            hint="Run the task again; if it stays so, report it to those who run the cloud.",
            cloud_request_id=self.watch.last_request_id,
        )
        with self.context.owning():
            for row, names in unheard.items():
                storing.not_taken(rows[row], {n: self.sent[row][n] for n in names}, problem)
        raise problem

    def _lags(self, wanted: WantedTree, lost: Mapping[str, str], unheard: Mapping[str, list[str]]) -> bool:
        """What this task has made or changed is looked for some times more: a read may be older than it."""
        rows = wanted.by_row()
        if not unheard and not any(CREATE in (rows[row].may or ()) for row in lost):
            return False
        looks = int(self.task.memory.get("lags", 0))
        self.context.remember(lags=looks + 1)
        return looks < MAX_ABSENT

    def _may_still_come(self, tree: TreeState | None) -> bool:
        """True while a creation without an answer, of this task or of a worker that died, may still show (A02)."""
        if tree is not None or self.lb.external_id:
            return False
        begun = Q(state=TaskStep.RUNNING) | Q(
            state=TaskStep.FAILED, problem__isnull=True
        )  # the second: its task was stopped
        steps = TaskStep.objects.filter(begun, task__line=self.lb.line, started_at__gt=self.context.now() - UNSURE)
        return steps.exists()

    def _surely_gone(self, wanted: WantedTree) -> bool:
        """A balancer that shall go and is not seen: its deletion is sent all the same, since one answer may lie. False when the
        cloud does not take it, and so has the balancer."""
        root = wanted.balancer
        if not (root.tombstone and root.external_id and root.allows(DELETE)) or self.deletion_sent:
            return True
        self.deletion_sent = True
        try:
            self.region.balancer.delete_balancer(root.external_id, cascade=root.allows(CASCADE))
        except (Busy, Refused):
            return False
        return True

    def _placed(self) -> WantedTree:
        """What is wanted, of a balancer whose cloud project is known as soon as there is one. Raises where it has none and none
        is to be made any more."""
        if desired.lacks_project(self.lb):
            with self.context.owning():
                storing.place(self.lb)
            self._at(load(self.lb.pk))
        wanted = desired.wanted_tree(self.lb, self.task.change_set)
        if desired.lacks_project(self.lb) and wanted.project is None and not wanted.balancer.tombstone:
            check_may_make((), project=self.lb.project.name, account=self.lb.manager.account.name)
        return wanted

    def _refuse_missing(self, tree: TreeState | None) -> None:
        if tree is None and self.lb.external_id and self.lb.delete_requested_at is None:
            with self.context.owning():
                storing.missing(self.lb)
            raise Gone(
                f"Load balancer {self.lb.name} is missing at the cloud.",
                hint="It was removed outside. Delete it here, or create it anew.",
            )
        if tree is not None and tree.balancer.provisioning == "ERROR" and self.lb.delete_requested_at is None:
            raise InvalidStatusError(
                f"Load balancer {self.lb.name} is in ERROR at the cloud, which allows no change but its deletion.",
                hint="Ask the cloud's administrators for a failover, or delete it and build it anew.",
            )

    def _plan(self, wanted: WantedTree, tree: TreeState | None) -> Plan:
        """The plan; what it refuses as a whole stays on the balancer as its failure."""
        try:
            todo = plan(wanted, tree)
            if algorithms := algorithms_in(todo.steps):
                rules.check_offered(algorithms, self.region.balancer.capabilities().algorithms)
            return todo
        except Problem as problem:
            with self.context.owning():
                storing.unplannable(self.lb, problem)
            raise

    def _hold_to_plan(self, todo: Plan) -> None:
        """Show the steps; hold them against the plan that a person confirmed."""
        task = self.task
        if task.plan_digest and task.approved is None:
            # Less to do than was confirmed is no surprise: others did it, or changed it once more in a task of their own. (Of a
            # plan so long that its digest names no single steps, only the whole is known again.)
            if not todo.within(task.plan_digest):
                self._stop_changed(todo)
            task.approved = sorted(todo.marks)
            with self.context.owning():
                self.context.mine().update(approved=task.approved)
        elif task.approved is not None and not todo.marks <= set(task.approved):
            self._stop_changed(todo)
        self.context.show_steps([(s.mark, s.sentence) for s in todo.steps])

    def _stop_changed(self, todo: Plan) -> None:
        raise PlanChangedError(
            "The cloud changed since you looked: the work now needs steps that were not in the plan you confirmed. "
            "Nothing more was sent.",
            hint="Read the new plan and confirm it, or take the change back.",
            extra=todo.as_dict(),
        )

    # -- the steps

    def _carry_out(self, steps: Sequence[Step], wanted: WantedTree, sight: Sight) -> None:
        ids = {row: s.external_id for row, s in sight.states.items()}
        sender = Sender(self.lb, self.region, wanted, ids)
        queue = deque(batches(steps, wanted, self.region.balancer.capabilities()))
        while queue:
            batch = queue.popleft()
            if any(n in self.refused_rows for s in batch for n in s.needs):
                self._leave_out(batch)
                continue
            self.context.check_cancel()
            for step in batch:
                self.context.step_started(step.mark)
            try:
                if batch[0].kind == "project":
                    self._make_project(batch[0])
                sent = sender.send(batch)
            except (Busy, Gone) as error:
                if isinstance(error, Busy):
                    self.rest.wait(self.lb.external_id, "PENDING_UPDATE")
                raise LookAgain from None
            except (Refused, Unsupported) as refusal:
                if isinstance(refusal, QuotaFull) and len(batch) > 1 and batch[0].kind == "member":
                    # Sent singly, as much as fits is made and the rest is named.
                    queue.extendleft([step] for step in reversed(batch))
                elif _already_there(refusal) and not self.echoes.issuperset(s.mark for s in batch):
                    self.echoes.update(s.mark for s in batch)
                    raise LookAgain from None
                else:
                    self._refuse(batch, refusal)
                continue
            except CloudError as error:
                if not error.doubtful:
                    for step in batch:
                        self.context.step_not_sent(step.mark)
                    raise
                time.sleep(min(5.0, 0.5 * 2 ** self._doubt(error)))
                raise LookAgain from None
            with self.context.owning():
                storing.accepted(self.lb, batch, sent, sender.rows)
                self._note_sent(batch, wanted, sight)
            self._after(batch)
        raise LookAgain

    def _note_sent(self, batch: Sequence[Step], wanted: WantedTree, sight: Sight) -> None:
        """Keep what the cloud had before each change that it took."""
        changed = [step for step in batch if step.verb == "update" and step.row in sight.states]
        rows = wanted.by_row()
        for step in changed:
            before = observed_fields(rows[step.row], sight.states[step.row], wanted, sight)
            self.sent.setdefault(step.row, {}).update({name: before.get(name) for name in step.after})
        if changed:
            self.context.remember(sent=self.sent)

    def _make_project(self, step: Step) -> None:
        """The balancer's cloud project; then everything is looked at again, from inside it."""
        if not make_project(self.context, step.row):
            raise SomebodyElse("Another task is making the cloud project that this one needs")
        self.context.step_done(step.mark)
        raise LookAgain

    def _after(self, batch: Sequence[Step]) -> None:
        """Wait for the tree to come to rest, then tick the steps off. A tree that went to ERROR is looked at in full."""
        head = batch[0]
        self.deletion_sent |= (head.kind, head.verb) == ("loadbalancer", "delete")
        if head.kind != "floatingip":
            new_tree = head.kind == "loadbalancer" and head.verb == "create"
            root = self.rest.wait(self.lb.external_id, "PENDING_UPDATE", pace=NEW if new_tree else CHANGED)
            if root is not None and root.provisioning == "ERROR":
                raise LookAgain
            if root is not None and new_tree:
                with self.context.owning():
                    storing.at_rest(self.lb, root)
        for step in batch:
            self.context.step_done(step.mark)
        if self.task.memory.get("doubts"):
            self.context.remember(doubts=0)

    def _doubt(self, error: CloudError) -> int:
        """One more answer that did not come, since the last that did. Too many in a row are the task's problem."""
        doubts = int(self.task.memory.get("doubts", 0)) + 1
        if doubts > MAX_DOUBTS:
            raise error
        self.context.remember(doubts=doubts)
        return doubts

    # -- refusals

    def _refuse(self, batch: Sequence[Step], refusal: Problem) -> None:
        """The cloud said no: independent steps go on."""
        for step in batch:
            problem = type(refusal)(
                f"{_not_done(step)}: {refusal.detail}", cause=refusal.cause, cloud_request_id=refusal.cloud_request_id,
                hint=refusal.hint,
            )  # fmt: skip
            with self.context.owning():
                storing.refused(step, problem)
            self._count_out(step, problem)

    def _leave_out(self, batch: Sequence[Step]) -> None:
        for step in batch:
            first = next((self.reasons[row] for s in batch for row in s.needs if row in self.reasons), None)
            problem = Problem(
                f"{_not_done(step)}: {LEFT_OUT[step.verb]}.", cause=first.cause if first is not None else ""
            )
            with self.context.owning():
                storing.refused(step, problem)
            self._count_out(step, problem)

    def _count_out(self, step: Step, problem: Problem) -> None:
        self.refused[step.mark] = problem
        self.refused_rows.add(step.row)
        self.reasons[step.row] = problem
        self.context.step_failed(step.mark, problem)

    def _gone(self) -> Problem:
        """What was to be changed was removed outside: that is no success."""
        names = list(self.missing.values())
        verb = "is" if len(names) == 1 else "are"
        return Gone(
            f"{words(names)} {verb} missing at the cloud: somebody removed {'it' if len(names) == 1 else 'them'} outside. "
            "Everything else was done.",
            hint="Make it anew, or delete it here.",
        )

    def _summary(self) -> Problem:
        """One problem for the task out of the refused steps: what was made, what was not, and why."""
        problems = list(self.refused.values())
        # Steps that went out in one call were refused in one answer: it is told once, about the first of them.
        answers = {p.cloud_request_id or p.detail: p.detail for p in reversed(problems)}
        told = " ".join(reversed(answers.values()))
        done = TaskStep.objects.filter(task=self.task, state=TaskStep.DONE)
        summary = Remembered(
            {
                **problems[0].as_dict(),
                "detail": told if len(problems) == 1 else f"{len(problems)} steps were refused. {told}",
                "hint": "Run the task again when the reason is gone, or take back what was not sent.",
            }
        )
        summary.extra = {"done": [s.sentence for s in done]}
        return summary


def _already_there(refusal: CloudError) -> bool:
    """A 409 that speaks of a double may be the echo of a call of ours whose answer was lost (A02): look, once. What is still
    refused after that is somebody else's."""
    text = refusal.cause.lower()
    doubled = "already" in text or "duplicate" in text
    return refusal.http_status == 409 and doubled and not isinstance(refusal, QuotaFull)


def _not_done(step: Step) -> str:
    return f"{KIND_WORDS[step.kind].capitalize()} {step.target} was not {PAST[step.verb]}"
