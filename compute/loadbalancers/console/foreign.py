"""What stands at the cloud in a tree and that Skydeck leaves as it is: health checks, rules, allowed addresses, headers, backups.

Told from what the cloud said last; pure functions of loaded rows. Clouds say odd things, so nothing here trusts a shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compute.loadbalancers.console.tree import action_words, rule_words
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from core.admin.markup import plural
from core.admin.parts import Table

TITLE = "Made elsewhere, and left as it is"


def is_backup(member: MemberBinding) -> bool:
    """It takes traffic only when no other backend of its group can."""
    return member.raw.get("backup") is True


def rules_of(listener: Listener) -> list[Mapping[str, Any]]:
    """The rules of a listener, in their order."""
    return _referring(listener.loadbalancer, "policies", "listener_id", listener.external_id)


def rules_to(pool: PoolBinding, lb: LoadBalancer) -> list[Mapping[str, Any]]:
    """The rules that send to a pool."""
    return _referring(lb, "policies", "redirect_pool_id", pool.external_id)


def listener_table(listener: Listener, pools: Sequence[PoolBinding]) -> list[Table]:
    """A card of what a listener has beside its columns; none where it has nothing. `pools`: those that rules may send to."""
    raw = listener.raw
    groups = {pool.external_id: pool.backend_group.name for pool in pools if pool.external_id}
    rows = [["Rule", rule_sentence(rule, groups)] for rule in rules_of(listener)]
    addresses, headers = raw.get("allowed_cidrs"), raw.get("insert_headers")
    if isinstance(addresses, list) and addresses:
        rows.append(["Takes traffic only from", ", ".join(map(str, addresses))])
    if isinstance(headers, Mapping) and headers:
        rows.append(["Headers that it adds", ", ".join(f"{name}: {value}" for name, value in headers.items())])
    return _table(rows)


def group_table(pools: Sequence[PoolBinding], lb: LoadBalancer) -> list[Table]:
    """A card of the health checks of a group's uses; none where nothing checks."""
    checks = [
        monitor_words(monitor.get("fields") or {})
        for pool in pools
        for monitor in _referring(lb, "monitors", "pool_id", pool.external_id)
    ]
    return _table([["Health check", check] for check in dict.fromkeys(checks)])


def rule_name(rule: Mapping[str, Any], listeners: Mapping[str, str]) -> str:
    """A rule by its name and that of its listener: `rule toapi of listener web`."""
    listener = listeners.get(str((rule.get("refs") or {}).get("listener_id") or ""), "")
    return f"rule {rule.get('name') or ''}".strip() + (f" of listener {listener}" if listener else "")


def rule_sentence(rule: Mapping[str, Any], groups: Mapping[str, str]) -> str:
    """What a rule does, and when: `toapi: to backend group api if path starts with /api`."""
    found = rule.get("rules")
    conditions = [rule_words(r) for r in (found if isinstance(found, list) else ()) if _is_condition(r)]
    group = groups.get(str((rule.get("refs") or {}).get("redirect_pool_id") or ""), "")
    does = f"to backend group {group}" if group else action_words(rule.get("fields") or {})
    when = f"if {' and '.join(conditions)}" if conditions else "always"
    name = f"{rule['name']}: " if rule.get("name") else ""
    return f"{name}{does} {when}".strip()


def monitor_words(fields: Mapping[str, Any]) -> str:
    """A health check: `HTTP GET /health every 5 s, answers within 3 s; down after 3 failures`."""
    kind = str(fields.get("type") or "")
    asks = f" {fields.get('http_method') or 'GET'} {fields.get('url_path') or '/'}" if kind.startswith("HTTP") else ""
    codes = f", wants {fields['expected_codes']}" if asks and fields.get("expected_codes") else ""
    down = plural(int(fields.get("max_retries_down") or 3), "failure")
    off = "" if fields.get("enabled", True) else " (disabled)"
    return f"{kind}{asks} every {fields.get('delay')} s, answer within {fields.get('timeout')} s{codes}; down after {down}{off}"


def _table(rows: list[list[str]]) -> list[Table]:
    return [Table(TITLE, ["What", "At the cloud"], rows)] if rows else []


def _is_condition(rule: Any) -> bool:
    return isinstance(rule, Mapping) and bool(rule.get("type"))


def _referring(lb: LoadBalancer, kind: str, ref: str, external_id: str) -> list[Mapping[str, Any]]:
    rows = [row for row in lb.foreign.get(kind, []) if (row.get("refs") or {}).get(ref) == external_id]
    return rows if external_id else []
