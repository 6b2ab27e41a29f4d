"""Properties of the plan of a balancer's tree, on random trees: carried out it gives what is wanted, made again it is empty,
and what is not ours is never touched."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from compute.clouds.specs import State, TreeState
from compute.loadbalancers.plan import Wanted, WantedTree, fields_of, plan, recognise
from core.engine.plan import Step

POOL = {"name": "", "description": "", "enabled": True, "algorithm": "ROUND_ROBIN", "session_persistence": {}}
ALGORITHMS = st.sampled_from(["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"])


@st.composite
def trees(draw: Any) -> WantedTree:
    """A tree as people want it; nothing of it is at the cloud yet."""
    pools, members = [], []
    for p in range(draw(st.integers(0, 3))):
        row = f"pool{p}"
        desired = {**POOL, "name": row, "algorithm": draw(ALGORITHMS)}
        pools.append(Wanted("pool", row, row, desired, fixed={"protocol": "http"}, tag=f"t:{row}"))
        for m in range(draw(st.integers(0, 3))):
            members.append(
                Wanted(
                    "member",
                    f"{row}m{m}",
                    f"10.0.0.{m}:80 in {row}",
                    {"name": f"m{m}", "weight": draw(st.integers(0, 256)), "enabled": draw(st.booleans())},
                    fixed={"address": f"10.0.0.{m}", "port": 80, "subnet_id": ""},
                    parent=row,
                    tag=f"t:{row}m{m}",
                )  # fmt: skip
            )
    listeners = []
    for n in range(draw(st.integers(0, 3))):
        pool = draw(st.sampled_from(["", *(p.row for p in pools)]))
        desired = {
            "name": f"l{n}", "description": "", "enabled": True, "connection_limit": draw(st.sampled_from([-1, 100])),
            "default_pool": pool, "timeout_client_data": 50000, "timeout_member_connect": 5000, "timeout_member_data": 50000,
        }  # fmt: skip
        listeners.append(
            Wanted(
                "listener", f"l{n}", f"l{n} (http:{n})", desired, fixed={"protocol": "http", "port": n}, tag=f"t:l{n}"
            )
        )
    root = Wanted(
        "loadbalancer", "lb", "shop", {"name": "shop", "description": "", "enabled": draw(st.booleans())}, tag="t:lb"
    )
    return WantedTree(root, tuple(listeners), tuple(pools), tuple(members))


class Cloud:
    """A few lines of a cloud that carries out steps."""

    def __init__(self) -> None:
        self.states: dict[str, State] = {}
        self.parents: dict[str, str] = {}

    def tree(self) -> TreeState | None:
        root = next((s for s in self.states.values() if s.kind == "loadbalancer"), None)
        if root is None:
            return None
        of = lambda kind: tuple(s for s in self.states.values() if s.kind == kind)  # noqa: E731
        members = {
            p.external_id: tuple(m for m in of("member") if self.parents[m.external_id] == p.external_id)
            for p in of("pool")
        }
        return TreeState(root, of("listener"), of("pool"), members)

    def carry_out(self, step: Step, wanted: WantedTree) -> None:
        item = wanted.by_row()[step.row]
        ids = {row: s.external_id for row, s in recognise(wanted, self.tree()).states.items()}
        if step.verb == "delete":
            gone = ids[step.row]
            del self.states[gone]
            return
        values = dict(item.desired)
        if item.kind == "listener":
            pool = values.pop("default_pool")
            values["default_pool_id"] = ids[pool] if pool else ""
        if step.verb == "create":
            new = f"id-{len(self.states)}-{step.row}"
            self.states[new] = State(
                item.kind, new, str(values.get("name")), "ACTIVE", fields={**item.fixed, **values}, tags=(item.tag,)
            )
            if item.parent:
                self.parents[new] = ids[item.parent]
        else:
            old = self.states[ids[step.row]]
            sent = {("default_pool_id" if n == "default_pool" else n) for n in step.after}
            self.states[ids[step.row]] = replace(old, fields={**old.fields, **{n: values[n] for n in sent}})


def carried_out(wanted: WantedTree, cloud: Cloud) -> WantedTree:
    """Carry out the whole plan, in its order; returns the tree with ids and applied values as the job stores them."""
    for step in plan(wanted, cloud.tree()).steps:
        cloud.carry_out(step, wanted)
    sight = recognise(wanted, cloud.tree())

    def stored(item: Wanted) -> Wanted:
        state = sight.states.get(item.row)
        return replace(item, external_id=state.external_id, applied=dict(item.desired)) if state else item

    return WantedTree(
        stored(wanted.balancer),
        *(tuple(map(stored, part)) for part in (wanted.listeners, wanted.pools, wanted.members)),
    )


@given(trees())
def test_carried_out_it_is_what_is_wanted_and_made_again_it_is_empty(wanted: WantedTree) -> None:
    cloud = Cloud()
    after = carried_out(wanted, cloud)
    assert len(cloud.states) == len(wanted.all())
    assert plan(after, cloud.tree()).steps == ()
    assert plan(wanted, cloud.tree()).steps == (), "recognised by its marks even if no answer came back"


@given(trees(), st.data())
def test_steps_stand_in_an_order_in_which_they_can_be_done(wanted: WantedTree, data: Any) -> None:
    steps = plan(wanted, None).steps
    seen: set[str] = set()
    for step in steps:
        assert set(step.needs) <= seen, step
        seen.add(step.row)
    assert len({s.mark for s in steps}) == len(steps)


@settings(max_examples=60)
@given(trees(), st.data())
def test_any_subset_of_the_plan_can_be_done_before_a_crash(wanted: WantedTree, data: Any) -> None:
    cloud = Cloud()
    steps = plan(wanted, None).steps
    for step in steps[: data.draw(st.integers(0, len(steps)))]:
        cloud.carry_out(step, wanted)
    rest = plan(wanted, cloud.tree())
    assert {s.mark for s in rest.steps} <= {s.mark for s in steps}, "nothing outside the confirmed plan"
    carried_out(wanted, cloud)
    assert len(cloud.states) == len(wanted.all())


@given(trees(), st.data())
def test_only_pending_fields_are_sent_and_foreign_ones_stay(wanted: WantedTree, data: Any) -> None:
    cloud = Cloud()
    after = carried_out(wanted, cloud)
    for state in list(cloud.states.values()):
        cloud.states[state.external_id] = replace(state, fields={**state.fields, "foreign": "kept"})
    if not after.members:
        return
    member = data.draw(st.sampled_from(after.members))
    changed = replace(member, desired={**member.desired, "weight": (member.desired["weight"] + 1) % 257})
    tree = replace(after, members=tuple(changed if m.row == member.row else m for m in after.members))
    (step,) = plan(tree, cloud.tree()).steps
    assert (step.verb, step.row, set(step.after)) == ("update", member.row, {"weight"})
    before = dict(cloud.states)
    cloud.carry_out(step, tree)
    differing = [i for i in before if before[i] != cloud.states[i]]
    assert len(differing) == 1 and cloud.states[differing[0]].fields["foreign"] == "kept"


@given(trees(), st.data())
def test_a_task_sends_only_its_change_set(wanted: WantedTree, data: Any) -> None:
    cloud = Cloud()
    after = carried_out(wanted, cloud)
    nothing = WantedTree(*(
        replace(part, may=frozenset(), desired={**part.desired, "name": "other"}) if isinstance(part, Wanted)
        else tuple(replace(w, may=frozenset(), desired={**w.desired, "name": "other"}) for w in part)
        for part in (after.balancer, after.listeners, after.pools, after.members)
    ))  # fmt: skip
    assert plan(nothing, cloud.tree()).steps == ()


@given(trees(), st.data())
def test_only_tombstones_are_deleted(wanted: WantedTree, data: Any) -> None:
    cloud = Cloud()
    after = carried_out(wanted, cloud)
    foreign = State("listener", "foreign", "foreign", "ACTIVE", fields={"protocol": "tcp", "port": 9999})
    cloud.states["foreign"] = foreign
    doomed = {w.row for w in after.listeners if data.draw(st.booleans())}
    tree = replace(after, listeners=tuple(replace(w, tombstone=w.row in doomed) for w in after.listeners))
    steps = plan(tree, cloud.tree()).steps
    assert {s.row for s in steps if s.verb == "delete"} == doomed
    for step in steps:
        cloud.carry_out(step, tree)
    assert cloud.states["foreign"] == foreign


@given(trees(), st.sampled_from(["mine", "theirs"]))
def test_a_value_set_outside_is_named_when_it_is_overwritten(wanted: WantedTree, case: str) -> None:
    cloud = Cloud()
    after = carried_out(wanted, cloud)
    root_id = after.balancer.external_id
    cloud.states[root_id] = replace(
        cloud.states[root_id], fields={**cloud.states[root_id].fields, "description": "outside"}
    )
    if case == "theirs":
        made = plan(after, cloud.tree())
        assert made.steps == () and "description of load balancer shop" in made.warnings[0]
        return
    tree = replace(after, balancer=replace(after.balancer, desired={**after.balancer.desired, "description": "mine"}))
    (step,) = plan(tree, cloud.tree()).steps
    assert step.overwrites == {"description": "outside"} and step.before == {"description": "outside"}
    assert (
        step.mark
        != plan(
            tree,
            TreeState(
                replace(cloud.states[root_id], fields={**cloud.states[root_id].fields, "description": ""}),
                *(cloud.tree().listeners, cloud.tree().pools, cloud.tree().members),
            ),
        )
        .steps[0]
        .mark
    )  # type: ignore[union-attr]


@given(trees())
def test_deletion_of_the_whole_tree_is_one_step_that_counts(wanted: WantedTree) -> None:
    cloud = Cloud()
    after = carried_out(wanted, cloud)
    tree = replace(after, balancer=replace(after.balancer, tombstone=True))
    (step,) = plan(tree, cloud.tree()).steps
    assert step.impact.final and step.impact.interrupts
    for count, word in (
        (len(wanted.listeners), "listener"),
        (len(wanted.pools), "backend group"),
        (len(wanted.members), "backend"),
    ):
        assert bool(re.search(rf"\b{count} {word}s?(?! group)\b", step.sentence)) == bool(count)
    assert plan(tree, None).steps == ()


def test_fields_of_a_listener_speak_of_pools_by_row() -> None:
    assert "default_pool" in fields_of("listener") and "default_pool_id" not in fields_of("listener")
