"""Since when something exists, truly told: a row that was read from a cloud is as old as the cloud says, not as our row.

Where the cloud does not tell, our row's own time is shown under words that say what it is.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.models import F, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, NullIf, Replace
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.admin.markup import moment
from core.admin.parts import Fact

SINCE = "In Skydeck since"
# Orders rows of a mirrored kind by `made_at`: both times as ISO text, which sorts as time does.
BY_AGE = Coalesce(
    NullIf(KeyTextTransform("created_at", F("raw")), Value("")),
    Replace(Cast("created_at", TextField()), Value(" "), Value("T")),
    output_field=TextField(),
)


def made_at(row: Any) -> datetime | None:
    """When the thing was made: the cloud's own time, else ours if we made it; None when nobody told us.

    Clouds write times with and without a zone; without one they mean UTC.
    """
    said = (getattr(row, "raw", None) or {}).get("created_at")
    try:
        time = parse_datetime(said) if isinstance(said, str) else None
    except ValueError:
        time = None
    if time is not None:
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    found: datetime = row.created_at
    return None if getattr(row, "imported_at", None) else found


def age_cell(row: Any) -> SafeString:
    """The age in a list."""
    time = made_at(row)
    return moment(time) if time else format_html("in Skydeck since {}", moment(row.created_at))


def age_fact(row: Any, *sides: Any) -> Fact:
    """The age on a page. `sides`: the cloud's objects of a row that has none of its own; the oldest one counts."""
    times = [time for side in sides if (time := made_at(side)) is not None]
    if sides:
        return Fact("Created", moment(min(times))) if times else Fact(SINCE, moment(row.created_at))
    time = made_at(row)
    return Fact("Created", moment(time)) if time else Fact(SINCE, moment(row.created_at))
