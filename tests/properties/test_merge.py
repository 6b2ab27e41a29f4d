"""Properties of the three-way merge: what it may never do, whatever the values are."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.engine.merge import Standing, merge, same, standing, take_over

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from(["", "a", "b"]),
    st.just({}),
    st.just([]),
    st.just({"type": "X"}),
)
FIELDS = ("a", "b", "c")
OBJECTS = st.fixed_dictionaries(dict.fromkeys(FIELDS, VALUES))


@given(VALUES, VALUES)
def test_same_is_symmetric_and_reflexive(a: Any, b: Any) -> None:
    assert same(a, a)
    assert same(a, b) == same(b, a)


def test_same_knows_what_clouds_mean() -> None:
    assert same(None, "") and same(None, []) and same({}, None)
    assert not same(0, None) and not same(0, "") and not same(False, None) and not same(0, False) and not same(1, True)


@given(VALUES, VALUES, VALUES)
def test_standing_is_the_table(desired: Any, applied: Any, observed: Any) -> None:
    found = standing(desired, applied, observed)
    if same(desired, applied):
        assert found is (Standing.IN_STEP if same(observed, applied) else Standing.DRIFT)
    elif same(observed, applied):
        assert found is Standing.PENDING
    else:
        assert found is (Standing.AGREED if same(desired, observed) else Standing.CONFLICT)


@given(OBJECTS, OBJECTS, OBJECTS)
def test_what_is_pending_is_never_taken_over(desired: Any, applied: Any, observed: Any) -> None:
    adopted, recorded = take_over(desired, applied, observed, FIELDS)
    for name in FIELDS:
        if not same(desired[name], applied[name]):
            assert name not in adopted
    assert set(adopted) <= set(recorded)


@given(OBJECTS, OBJECTS, OBJECTS)
def test_after_taking_over_nothing_drifts(desired: Any, applied: Any, observed: Any) -> None:
    adopted, recorded = take_over(desired, applied, observed, FIELDS)
    again = merge({**desired, **adopted}, {**applied, **recorded}, observed, FIELDS)
    assert not again.drifted
    assert set(again.to_send) == set(merge(desired, applied, observed, FIELDS).to_send)


@given(OBJECTS)
def test_import_is_in_step(values: Any) -> None:
    assert set(merge(values, values, values, FIELDS).standings.values()) == {Standing.IN_STEP}


@given(OBJECTS, OBJECTS)
def test_what_the_cloud_does_not_tell_counts_as_applied(desired: Any, applied: Any) -> None:
    assert merge(desired, applied, {}, FIELDS) == merge(desired, applied, applied, FIELDS)
