"""Ids rise strictly within a process, and are version 7 UUIDs."""

from core.ids import is_id, new_id


def test_ids_rise_strictly() -> None:
    ids = [new_id() for _ in range(20_000)]
    assert ids == sorted(set(ids))
    assert {i.version for i in ids} == {7}


def test_is_id() -> None:
    assert is_id(str(new_id()))
    assert not is_id("web") and not is_id("") and not is_id(None)  # type: ignore[arg-type]
