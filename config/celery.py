"""The Celery application (`celery -A config.celery worker`). Its tasks live in `core.tasks.celery`.

Messages carry the id of a task row and nothing else; the schedule is code, not rows.
"""

import os

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings
from kombu import Queue
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.prod")

QUEUES = ("fast", "sync", "notify", "host")

if settings.SKYDECK_EMBEDDED_BROKER:
    # kombu does not make the folders of its filesystem transport.
    (settings.BROKER_FOLDER / "control").mkdir(parents=True, exist_ok=True)
    TRANSPORT_ALIASES["filesystem"] = "config.broker:Transport"
app = Celery("skydeck")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [Queue(name) for name in QUEUES]
app.conf.beat_schedule = {
    "sweep": {"task": "core.sweep", "schedule": settings.SKYDECK_SWEEP_SECONDS, "options": {"expires": 30}},
    "accounts": {"task": "core.round", "args": ("accounts",), "schedule": 30.0, "options": {"expires": 30}},
    "tidy": {"task": "core.tidy", "schedule": 3600.0, "options": {"expires": 600}},
    "reap": {"task": "core.reap", "schedule": settings.SKYDECK_REAP_SECONDS, "options": {"expires": 30}},
}
app.conf.beat_schedule_filename = str(settings.SKYDECK_HOME / "celerybeat-schedule")
app.autodiscover_tasks(["core.tasks"], related_name="celery")


def _keep_our_logging(**kwargs: object) -> None:
    """Celery replaces the root logger unless something listens here."""


setup_logging.connect(_keep_our_logging, weak=False)
