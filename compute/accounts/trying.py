"""Trying a login: who it is at its cloud, and whether every service that is needed answers, each named with its endpoint.

Nothing is written, and no row is looked for. Call it outside of any transaction: a cloud may take its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compute.accounts import rules
from compute.accounts.models import CloudAccount
from compute.accounts.opening import open_account
from compute.clouds.errors import CloudError, shown
from compute.clouds.specs import AccountInfo, ServiceCheck
from core.errors import ConflictError, InputParameterError, Problem


@dataclass(frozen=True)
class TestResult:
    """What a connection test found: who we are there, each service that was tried, and what people should know."""

    info: AccountInfo | None
    checks: tuple[ServiceCheck, ...]
    warnings: tuple[str, ...] = ()
    problem: Problem | None = None

    @property
    def ok(self) -> bool:
        return self.problem is None

    def as_dict(self) -> dict[str, Any]:
        """As the API and the form show it."""
        return {
            "ok": self.ok,
            "user": self.info.user_name if self.info else "",
            "project": self.info.project_name if self.info else "",
            "roles": list(self.info.roles) if self.info else [],
            "regions": list(self.info.regions) if self.info else [],
            "checks": [
                {
                    "service": c.service, "region": c.region, "endpoint": c.endpoint, "ok": c.ok, "needed": c.needed,
                    "ms": c.ms, "problem": dict(c.problem) if c.problem else None,
                }
                for c in self.checks
            ],
            "warnings": list(self.warnings),
            "problem": self.problem.as_dict() if self.problem else None,
        }  # fmt: skip


def same_regions(endpoints: Mapping[str, str]) -> dict[str, str]:
    """Regions whose endpoints are those of an earlier one: one cloud under two names."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for region, urls in sorted(endpoints.items()):
        if urls and urls in first:
            found[region] = first[urls]
        else:
            first[urls] = region
    return found


def try_login(account: CloudAccount) -> TestResult:
    """Log in, say who we are, and try every service needed. Never raises for the cloud's sake."""
    try:
        cloud = open_account(account)
        info = cloud.account.describe()
    except CloudError as error:
        return TestResult(None, (), problem=error)
    unknown = [r for r in account.regions if r not in info.regions]
    if unknown:
        problem = InputParameterError(
            f"The cloud at {account.access_url} has no region “{unknown[0]}”.",
            field="regions",
            hint=shown(f"It has {', '.join(info.regions)}."),
        )
        return TestResult(info, (), problem=problem)
    double = same_regions(info.endpoints)
    chosen = account.regions or list(info.regions)
    checks = tuple(cloud.account.check([r for r in chosen if double.get(r) not in chosen]))
    warnings = tuple(
        f"Region {r} has the same endpoints as {double[r]}: it is one cloud under two names, and only {double[r]} is read."
        for r in chosen
        if double.get(r) in chosen
    )
    if told := rules.reading_words(info.roles):
        warnings = (told, *warnings)
    failed = next((c for c in checks if not c.ok and c.needed), None)
    return TestResult(info, checks, warnings, _as_problem(failed, account) if failed else None)


def _as_problem(check: ServiceCheck, account: CloudAccount) -> Problem:
    found = dict(check.problem or {})
    where = f" in region {check.region}" if check.region else ""
    at = f" at {check.endpoint}" if check.endpoint else f" of {account.access_url}"
    return InputParameterError(
        f"The {check.service} service{where}{at} cannot be used: {found.get('detail', 'no reason given')}",
        field=str(found.get("field") or "access_url"),
        hint=str(found.get("hint", "")),
        cause=str(found.get("cause", "")),
        cloud_request_id=str(found.get("cloud_request_id", "")),
        extra={"endpoint": check.endpoint},
    )


def refusal_of(result: TestResult) -> Problem:
    """What is wrong with a login, at its field, with every check that was made (rules 12 and 35). Only of a bad test."""
    problem = result.problem
    assert problem is not None, "the login is good"
    if isinstance(problem, ConflictError):
        return problem
    field = {"auth_url": "access_url"}.get(problem.field, problem.field)
    return InputParameterError(
        problem.detail, field=field or "access_url", hint=problem.hint, cause=problem.cause,
        cloud_request_id=problem.cloud_request_id, extra={**problem.extra, "checks": result.as_dict()["checks"]},
    )  # fmt: skip
