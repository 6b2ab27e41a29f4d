"""Small things that are said on every page: times, durations, values, pasted backends, charts. No database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from compute.loadbalancers.console.paste import parse_backends
from compute.sync.admin import part_badge
from compute.sync.models import SyncPart
from compute.sync.scopes import not_read
from core.admin.charts import Bar, bar_chart, nice_ceiling
from core.admin.markup import ago, badge, duration, milliseconds, moment, plain_value, plural
from core.admin.tones import Badge, Tone, worst
from core.errors import Problem

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "just now"),
        (60, "1 min ago"),
        (3000, "50 min ago"),
        (7200, "2 h ago"),
        (3 * 86400, "3 days ago"),
        (-300, "in 5 min"),
    ],
)
def test_ago(seconds: int, words: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(("value", "words"), [(0, "0 ms"), (85, "85 ms"), (999, "999 ms"), (5935, "5.9 s")])
def test_how_long_a_call_took(value: int, words: str) -> None:
    assert milliseconds(value) == words


def test_a_time_carries_the_exact_one() -> None:
    assert 'datetime="2026-09-01T12:00:00Z"' in moment(NOW) and "2026-09-01 12:00:00 UTC" in moment(NOW)
    assert "never" in moment(None)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.25, "0.2 s"), (42, "42 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")]
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(NOW, NOW + timedelta(seconds=seconds)) == words


def test_values_as_text() -> None:
    assert [plain_value(v) for v in (None, "", True, 0, {"b": 1}, "x")] == [
        "nothing",
        "nothing",
        "yes",
        "0",
        '{"b": 1}',
        "x",
    ]
    assert (plural(1, "person", "people"), plural(2, "person", "people"), plural(2, "step")) == (
        "1 person",
        "2 people",
        "2 steps",
    )


def test_a_badge_is_shape_and_word() -> None:
    html = badge(Badge(Tone.BAD, "<b>", "why"))
    assert 'href="#sd-bad"' in html and "&lt;b&gt;" in html and 'title="why"' in html and 'aria-hidden="true"' in html
    assert worst([Badge(Tone.OK, "a"), Badge(Tone.WARN, "b"), Badge(Tone.MOTION, "c")]).text == "b"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("10.0.0.5:80", {"address": "10.0.0.5", "port": 80}),
        ("10.0.0.5:80 w5", {"address": "10.0.0.5", "port": 80, "weight": 5}),
        ("10.0.0.5:80, weight=0", {"address": "10.0.0.5", "port": 80, "weight": 0}),
        ("  10.0.0.5  # the first", {"address": "10.0.0.5", "port": 443}),
        ("[2001:db8::5]:80 w2", {"address": "2001:db8::5", "port": 80, "weight": 2}),
        ("[2001:db8::5]", {"address": "2001:db8::5", "port": 443}),
        ("2001:db8::5", {"address": "2001:db8::5", "port": 443}),
        ("2001:db8::5:80", {"address": "2001:db8::5:80", "port": 443}),
    ],
)
def test_a_pasted_line(line: str, found: dict[str, object]) -> None:
    assert parse_backends(line, default_port=443) == [found]


@pytest.mark.parametrize("line", ["10.0.0.5:80 heavy", "10.0.0.5 80", "10.0.0.5:http", "[10.0.0.5:80", "a b c", ":80"])
def test_a_line_that_is_not_understood_is_named(line: str) -> None:
    with pytest.raises(Problem) as caught:
        parse_backends(f"10.0.0.1:80\n{line}")
    assert "Line 2" in caught.value.detail and caught.value.field == "backends"


def test_every_wrong_line_is_told_at_once_whatever_is_wrong_with_it() -> None:
    text = "10.0.0.999:80\n10.0.0.1:99999\n10.0.0.2:80 w900\nwhat is this\n10.0.0.3:80\n10.0.0.4"
    with pytest.raises(Problem) as caught:
        parse_backends(text)
    assert [one.detail.split(":")[0] for one in caught.value.errors] == [
        "Line 1",
        "Line 2",
        "Line 3",
        "Line 4",
        "Line 6",
    ]
    assert {one.field for one in caught.value.errors} == {"backends"}


def test_a_line_without_a_port_needs_one_from_elsewhere() -> None:
    with pytest.raises(Problem, match="names no port"):
        parse_backends("10.0.0.5")


def test_every_wrong_line_is_told_at_once() -> None:
    with pytest.raises(Problem) as caught:
        parse_backends("x y\n10.0.0.1:80\nz z")
    assert [p.detail[:6] for p in caught.value.errors] == ["Line 1", "Line 3"]


def test_an_empty_paste_is_no_backend() -> None:
    assert parse_backends("\n# nothing\n\n") == []


def test_charts() -> None:
    assert [nice_ceiling(n) for n in (0, 4, 5, 11, 60, 101)] == [4, 4, 5, 20, 100, 200]
    chart = bar_chart([Bar("a", (2, 2)), Bar("b", (0, 0))], [("x", "x"), ("y", "y")])
    first = chart.columns[0].pieces
    assert first[0].y > first[1].y and first[0].height == first[1].height
    assert chart.columns[1].words == "b: nothing" and not chart.empty
    assert bar_chart([Bar("a", (0,))], [("x", "x")]).empty


def test_a_region_that_is_another_one_is_not_called_complete() -> None:
    twin = SyncPart(kind="all", state="complete", notes=["it is the same cloud as region A, which is read"])
    shown = part_badge(twin)
    assert (shown.tone, shown.text) == (Tone.OFF, "not read") and "same cloud" in shown.title
    assert part_badge(SyncPart(kind="networks", state="complete")).text == "complete"


def test_what_was_not_read_is_counted_in_words() -> None:
    for count, words in ((1, "1 VPC lies in"), (2, "2 VPCs lie in")):
        part = SyncPart(kind="networks")
        not_read(part, count, "VPCs")
        assert part.notes[0].startswith(words)
