"""Is the process up (`/healthz`), and can it do its work (`/readyz`)? For load balancers and people, without log-in.

Nothing secret is told: no address, no error text of a database.
"""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models.functions import Now
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache

from core.tasks.models import QUEUED, WAITING, Task
from core.tasks.turns import in_turn

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 1.0
# A task whose turn it is and that nobody took for this long says that no worker is at work.
PATIENCE = timedelta(minutes=2)
PORTS = {"amqp": 5672, "amqps": 5671, "pyamqp": 5672, "redis": 6379, "rediss": 6379}


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the product can work, else 503 with the reasons as sentences."""
    checks = {"database": database(), "broker": broker()}
    age = 0.0
    if not checks["database"]:
        age = oldest_due_age()
        late = age > PATIENCE.total_seconds()
        checks["workers"] = f"A task has been waiting for a worker for {age:.0f} seconds." if late else ""
    reasons = {name: why for name, why in checks.items() if why}
    body = {"status": "not ready" if reasons else "ready", "reasons": reasons, "oldest_due_task_seconds": round(age, 1)}
    return JsonResponse(body, status=503 if reasons else 200)


def database() -> str:
    """Why the database cannot be used, or ""."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.warning("the database does not answer", error=type(error).__name__)
        return "The database does not answer."
    return ""


def broker() -> str:
    """Why the broker cannot be used, or "". A quick look: is its folder writable, does its port take a connection?"""
    if settings.SKYDECK_EMBEDDED_BROKER:
        folder = settings.BROKER_FOLDER
        missing = folder if folder.exists() else folder.parent
        return "" if os.access(missing, os.W_OK) else "The broker's folder cannot be written to."
    url = urlsplit(settings.CELERY_BROKER_URL.split(";")[0])
    try:
        with socket.create_connection(
            (url.hostname or "localhost", url.port or PORTS.get(url.scheme, 5672)), CONNECT_SECONDS
        ):
            return ""
    except OSError:
        return "The broker does not take connections."


def oldest_due_age() -> float:
    """Seconds since which the longest waiting task is due, among those whose turn it is; by the database's clock."""
    due = Task.objects.filter(in_turn(), state__in=(QUEUED, WAITING), due_at__lte=Now()).order_by("due_at")
    row = due.annotate(now=Now()).values_list("due_at", "now").first()
    return max(0.0, (row[1] - row[0]).total_seconds()) if row else 0.0
