"""What a contact with a cloud tells of its account, as columns. The one place where status and health of accounts are decided."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F

from compute.accounts.choices import AccountStatus, Health
from compute.clouds.errors import CloudError


def told(now: datetime, failure: CloudError | None) -> dict[str, Any]:
    """After a cloud answered a login (rule 54), or did not (rule 53): failures are counted until it answers again."""
    if failure is None:
        return {
            "status": AccountStatus.CONNECTED, "health_status": Health.NORMAL, "error_count": 0, "probe_at": now,
        }  # fmt: skip
    return {
        "status": AccountStatus.DISCONNECTED, "health_status": Health.UNKNOWN, "error_count": F("error_count") + 1,
        "last_error": failure.as_dict(), "last_error_at": now,
    }  # fmt: skip
