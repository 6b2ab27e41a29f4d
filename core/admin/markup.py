"""Small pieces of HTML that every page uses: badges, times, references, JSON. Values are escaped here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from core.admin.tones import Badge, Tone

NOTHING = mark_safe('<span class="sd-none" aria-label="none">–</span>')
MINUTE, HOUR, DAY = 60, 3600, 86400


def icon(tone: Tone) -> SafeString:
    """The shape of a tone; decoration beside a word."""
    return format_html('<svg class="sd-dot sd-{0}" aria-hidden="true"><use href="#sd-{0}"/></svg>', str(tone))


def badge(value: Badge) -> SafeString:
    """Shape and word."""
    return format_html(
        '<span class="sd-badge sd-{}"{}>{}<span>{}</span></span>',
        str(value.tone),
        format_html(' title="{}"', value.title) if value.title else "",
        icon(value.tone),
        value.text,
    )


def badges(values: Iterable[Badge]) -> SafeString:
    """Several states of one thing, side by side."""
    return format_html('<span class="sd-badges">{}</span>', format_html_join("", "{}", ((badge(v),) for v in values)))


def ago(moment: datetime, now: datetime | None = None) -> str:
    """How far a time is away, in words: `just now`, `5 min ago`, `in 2 h`, `3 days ago`."""
    seconds = ((now or timezone.now()) - moment).total_seconds()
    size = abs(seconds)
    if size < 45:
        return "just now" if seconds >= 0 else "in a moment"
    if size < 90 * MINUTE:
        words = f"{max(1, round(size / MINUTE))} min"
    elif size < 36 * HOUR:
        words = f"{round(size / HOUR)} h"
    else:
        words = f"{round(size / DAY)} days"
    return f"{words} ago" if seconds >= 0 else f"in {words}"


def moment(value: datetime | None, nothing: str = "never") -> SafeString:
    """A time as people read it, the exact one on hover (the page's script puts it into the reader's time zone)."""
    if value is None:
        return format_html('<span class="sd-none">{}</span>', nothing)
    exact = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC" data-ago>{}</time>',
        exact.isoformat(timespec="seconds").replace("+00:00", "Z"),
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        ago(value),
    )


def duration(start: datetime | None, end: datetime | None = None) -> str:
    """How long something took, or takes so far: `0.8 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
    if start is None:
        return ""
    seconds = max(0.0, ((end or timezone.now()) - start).total_seconds())
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"


def milliseconds(value: int) -> str:
    """How long a call took, by the unit that fits: `85 ms`, `5.9 s`."""
    return f"{value} ms" if value < 1000 else f"{value / 1000:.1f} s"


def anchor(url: str, text: object) -> SafeString:
    """A reference; plain text where there is nowhere to go."""
    return format_html('<a class="sd-link" href="{}">{}</a>', url, text) if url else format_html("{}", text)


def code(value: object) -> SafeString:
    """An id, address or path, to be copied."""
    return format_html('<code class="sd-code">{}</code>', value) if value else NOTHING


def pretty(value: Any) -> str:
    """JSON as people read it."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str)


def plain_value(value: Any) -> str:
    """A value of a change as one line of text."""
    if value is None or value == "":
        return "nothing"
    if value is True or value is False:
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(value)


def plural(number: int, word: str, many: str = "") -> str:
    """`1 listener`, `2 listeners`."""
    return f"{number} {word if number == 1 else many or word + 's'}"
