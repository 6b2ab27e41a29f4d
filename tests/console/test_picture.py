"""The picture of a tree as text: where boxes lie, what they say, what is drawn dashed. No database."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.template.loader import render_to_string

from compute.loadbalancers.console.picture import (
    HEIGHT,
    LINE_SIZE,
    THIN,
    TITLE_SIZE,
    WIDTH,
    Graph,
    Node,
    Picture,
    layout,
    short,
    text_width,
)
from compute.loadbalancers.console.tree import MOST_MEMBERS, Tree, graph_of, rule_words
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from core.admin.parts import Drawn
from core.admin.tones import Tone


def node(key: str, **values: Any) -> Node:
    return Node(key, "member", key, **values)


def boxes(picture: Picture) -> dict[str, tuple[int, int]]:
    return {box.node.key: (box.x, box.y) for box in picture.boxes}


def test_a_parent_stands_in_the_middle_of_its_children() -> None:
    graph = Graph(
        (("a", (node("pool"),)), ("b", (node("m1"), node("m2"), node("m3")))),
        (("pool", "m1"), ("pool", "m2"), ("pool", "m3")),
    )
    where = boxes(layout(graph))
    assert where["pool"][1] == where["m2"][1]
    assert where["m1"][1] < where["m2"][1] < where["m3"][1]


def test_no_two_boxes_of_a_column_overlap() -> None:
    links = tuple((f"p{n}", f"m{n}-{k}") for n in range(6) for k in range(n)) + tuple(("l", f"p{n}") for n in range(6))
    graph = Graph(
        (
            ("l", (node("l"),)),
            ("p", tuple(node(f"p{n}") for n in range(6))),
            ("m", tuple(node(f"m{n}-{k}") for n in range(6) for k in range(n))),
        ),
        links,
    )
    picture = layout(graph)
    for x in {box.x for box in picture.boxes}:
        column = sorted(box.y for box in picture.boxes if box.x == x)
        assert all(below - above >= HEIGHT for above, below in zip(column, column[1:], strict=False))
    assert picture.height >= max(box.y + HEIGHT for box in picture.boxes)


def test_an_empty_column_takes_no_room() -> None:
    picture = layout(Graph((("a", (node("x"),)), ("b", ()), ("c", (node("y"),))), (("x", "y"),)))
    assert [head for _, head in picture.heads] == ["a", "c"]


def test_what_leads_to_trouble_is_marked() -> None:
    graph = Graph(
        (("a", (node("x"),)), ("b", (node("bad", tone=Tone.BAD), node("good", tone=Tone.OK)))),
        (("x", "bad"), ("x", "good")),
    )
    assert [curve.tone for curve in layout(graph).curves] == ["bad", ""]


def test_long_names_are_cut_but_told_whole() -> None:
    long = "a-very-long-name-of-something-that-does-not-fit"
    picture = layout(Graph((("a", (node(long),)),), ()))
    assert long.startswith(picture.boxes[0].title.removesuffix("…")) and picture.boxes[0].title.endswith("…")
    assert long in picture.boxes[0].node.words


@pytest.mark.parametrize(
    "text", ["mail-inbound-submission", "MMMMWWWW-MAIL-WWW", "illicit-little-filling-list", "a" * 60]
)
def test_no_text_runs_into_an_icon(text: str) -> None:
    """The icon of the state stands at 156, the one of a change outside below it; letters begin at 13."""
    box = layout(Graph((("a", (node(text, line=text, state=text, drift="x"),)),), ())).boxes[0]
    assert 13 + text_width(box.title, TITLE_SIZE) <= 156 and 13 + text_width(box.state, LINE_SIZE) <= 156
    assert 13 + text_width(box.line, LINE_SIZE * THIN) <= WIDTH - 4
    assert short("short", 100, 10) == "short" and len(box.title) > 8


def tree(members: int = 2, **foreign: Any) -> Tree:
    """An unsaved tree; nothing in the drawing asks the database."""
    lb = LoadBalancer(
        name="shop",
        address="10.0.0.2",
        status="enabled",
        provisioning_status="ACTIVE",
        operating_status="ONLINE",
        foreign=foreign,
    )
    lb.live_eips = []  # type: ignore[attr-defined]
    group = BackendGroup(loadbalancer=lb, name="web")
    pool = PoolBinding(
        loadbalancer=lb, backend_group=group, protocol="http", external_id="pool-1", status="enabled",
        provisioning_status="ACTIVE", operating_status="DEGRADED",
    )  # fmt: skip
    listener = Listener(
        loadbalancer=lb, name="http-80", listener_type="http", listener_port=80, external_id="listener-1", pool_binding=pool,
        status="enabled", provisioning_status="ACTIVE", operating_status="ONLINE",
    )  # fmt: skip
    bindings = [
        MemberBinding(
            pool_binding=pool, backend=Backend(backend_group=group, name=f"b{n}", address=f"10.0.1.{n}", port=80),
            status="enabled", provisioning_status="ACTIVE", operating_status="ERROR" if n == 0 else "ONLINE",
        )
        for n in range(members)
    ]  # fmt: skip
    return Tree(lb, [listener], [pool], {pool.pk: bindings}, [group])


def drawn(given: Tree) -> str:
    picture = layout(graph_of(given, lambda kind, pk: f"/{kind}/{pk}/"))
    part = Drawn("console/loadbalancers/picture.html", {"picture": picture, "legend": [], "name": "shop"})
    return render_to_string(part.template, {"part": part})


def test_both_states_stand_on_every_box() -> None:
    svg = drawn(tree())
    for words in (
        "10.0.0.2",
        "http-80",
        "HTTP : 80",
        "enabled · ONLINE",
        "enabled · DEGRADED",
        "enabled · ERROR",
        "10.0.1.0:80",
    ):
        assert words in svg, words


def test_a_member_in_error_says_why_and_is_led_to_by_a_dashed_line() -> None:
    svg = drawn(tree())
    assert "its health check fails" in svg
    assert 'class="sd-pic-curve sd-pic-bad"' in svg


@pytest.mark.parametrize(
    ("operating", "tone"),
    [
        ("ONLINE", "ok"),
        ("NO_MONITOR", "plain"),
        ("DRAINING", "off"),
        ("OFFLINE", "warn"),
        ("DEGRADED", "warn"),
        ("ERROR", "bad"),
    ],
)
def test_a_backend_is_drawn_as_the_cloud_says_and_never_as_healthy_unchecked(operating: str, tone: str) -> None:
    given = tree(1)
    (member,) = next(iter(given.members.values()))
    member.operating_status = operating
    nodes = [n for _, column in graph_of(given, lambda kind, pk: "").columns for n in column]
    assert next(n for n in nodes if n.kind == "backend").tone == tone


def test_every_box_is_a_link_with_words_for_screen_readers() -> None:
    svg = drawn(tree())
    labels = re.findall(r'<a href="/(\w+)/[^"]+"[^>]*aria-label="([^"]+)"', svg)
    assert [kind for kind, _ in labels] == ["loadbalancer", "listener", "backendgroup", "backend", "backend"]
    assert "backend 10.0.1.0:80, its health check fails, enabled · ERROR, weight 10" in dict(
        reversed(labels)
    ).values() or any("10.0.1.0:80" in words and "ERROR" in words for _, words in labels)
    assert svg.count("<title>") == 6


def test_every_attribute_is_quoted_and_names_are_escaped() -> None:
    given = tree()
    given.lb.name = '<script>"x"'
    svg = drawn(given)
    assert "<script>" not in svg
    assert not re.search(r"\s[\w-]+=[^\"'\s>]", re.sub(r'"[^"]*"', '""', svg))


def test_a_big_pool_is_one_box_with_its_trouble_beside_it() -> None:
    svg = drawn(tree(members=MOST_MEMBERS + 1))
    assert "13 backends" in svg and "12 ok, 1 error" in svg
    assert "10.0.1.0:80" in svg and "10.0.1.5:80" not in svg


def test_rules_of_others_are_drawn_with_what_they_do() -> None:
    policy = {
        "name": "api", "fields": {"action": "REDIRECT_TO_POOL"}, "refs": {"listener_id": "listener-1", "redirect_pool_id": "pool-1"},
        "operating": "ONLINE", "provisioning": "ACTIVE", "rules": [{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/api"}],
    }  # fmt: skip
    svg = drawn(tree(policies=[policy]))
    for words in ("Rules", "path starts with /api", "made elsewhere", "when no rule fits"):
        assert words in svg, words


def test_a_rule_without_its_conditions_is_drawn_by_name() -> None:
    policy = {
        "name": "to-https",
        "fields": {"action": "REDIRECT_TO_URL", "redirect_url": "https://shop.example/"},
        "refs": {"listener_id": "listener-1"},
        "rules": [{"id": "x"}],
    }
    svg = drawn(tree(policies=[policy]))
    assert "to-https" in svg and "to https://shop.example" in svg


def test_rule_words() -> None:
    rule = {"type": "HOST_NAME", "compare_type": "EQUAL_TO", "value": "a.example", "invert": True}
    assert rule_words(rule) == "not host is a.example"
    assert (
        rule_words({"type": "HEADER", "key": "X-A", "compare_type": "REGEX", "value": "b.*"}) == "header X-A fits b.*"
    )
