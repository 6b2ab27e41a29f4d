"""How the states of a tree's rows are told: our word and the cloud's, each with its tone. Pure functions of loaded rows."""

from __future__ import annotations

from typing import Any

from compute.loadbalancers.choices import MISSING, Status
from core.admin.tones import Badge, Tone

TONE_OF_STATUS = {
    Status.INIT: Tone.PLAIN,
    Status.CREATING: Tone.MOTION,
    Status.CREATE_FAILED: Tone.BAD,
    Status.ENABLED: Tone.OK,
    Status.DISABLED: Tone.OFF,
    Status.SYNC_CONF: Tone.MOTION,
    Status.SYNC_CONF_FAILED: Tone.BAD,
    Status.DELETING: Tone.MOTION,
    Status.DELETE_FAILED: Tone.BAD,
    Status.DELETED: Tone.OFF,
    Status.UNKNOWN: Tone.BAD,
}
TONE_OF_OPERATING = {
    "ONLINE": Tone.OK,
    "NO_MONITOR": Tone.PLAIN,
    "OFFLINE": Tone.WARN,
    "DEGRADED": Tone.WARN,
    "ERROR": Tone.BAD,
    "DRAINING": Tone.OFF,
}
MEANING = {
    "ONLINE": "it answers",
    "NO_MONITOR": "no health check watches it",
    "OFFLINE": "it takes no traffic",
    "DEGRADED": "a part of it is in error",
    "ERROR": "its health check fails",
    "DRAINING": "it takes no new connections",
}


def our_badge(row: Any) -> Badge:
    """Our word for a row."""
    status = Status(row.status)
    if status == Status.UNKNOWN and getattr(row, "provisioning_status", "") == MISSING:
        return Badge(
            Tone.WARN, "missing", "The cloud had it and does not show it any more: somebody removed it outside."
        )
    return Badge(TONE_OF_STATUS[status], str(status.label))


def cloud_badge(row: Any) -> Badge | None:
    """The cloud's word for a row; None while it does not exist there."""
    operating, provisioning = row.operating_status, row.provisioning_status
    if not (operating or provisioning) or provisioning == MISSING:
        return None
    if provisioning == "ERROR" or not operating:
        tone = {"ERROR": Tone.BAD, "ACTIVE": Tone.OK}.get(provisioning, Tone.MOTION)
        return Badge(tone, provisioning, f"The cloud says: provisioning {provisioning}")
    meaning = MEANING.get(operating, "")
    title = f"The cloud says: provisioning {provisioning}, operating {operating}" + (f" ({meaning})" if meaning else "")
    return Badge(TONE_OF_OPERATING.get(operating, Tone.PLAIN), operating, title)


def outside_badges(row: Any, *, inside: bool = False) -> list[Badge]:
    """A word beside the others where somebody changed the row at the cloud and a person is to decide; `inside`: or changed
    something in it. What is missing says so already."""
    if not (row.changed_outside or inside) or getattr(row, "provisioning_status", "") == MISSING:
        return []
    what = "It was" if row.changed_outside else "Something in it was"
    return [Badge(Tone.WARN, "changed outside", f"{what} changed at the cloud, and nobody has decided about it yet.")]


def row_badges(row: Any) -> list[Badge]:
    """Our word, then the cloud's."""
    cloud = cloud_badge(row)
    return [our_badge(row), *([cloud] if cloud else [])]


def tone_of(row: Any) -> Tone:
    """What the two words come to: what is disabled on purpose is not an alarm, what nobody checks is not healthy."""
    ours = our_badge(row)
    if ours.tone in (Tone.OFF, Tone.MOTION, Tone.BAD):
        return ours.tone
    cloud = cloud_badge(row)
    return cloud.tone if ours.tone is Tone.OK and cloud else ours.tone


def trouble_words(row: Any) -> str:
    """What is wrong with a row, as the end of a sentence that begins with its name."""
    reason = str((row.failure or {}).get("detail", ""))
    ours = our_badge(row)
    if ours.tone is Tone.BAD:
        return (
            f"is {ours.text}. {reason}".strip()
            if ours.text.startswith("in ")
            else f"has a problem: {ours.text}. {reason}".strip()
        )
    meaning = MEANING.get(row.operating_status, "it is not well")
    return f"is {row.operating_status}: {meaning}."


def state_words(row: Any) -> str:
    """Both words as text: `enabled · ONLINE`."""
    return " · ".join(badge.text for badge in row_badges(row))
