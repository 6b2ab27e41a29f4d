"""The demonstration: clouds in memory, registered as accounts and read once. Run at every start; it adds what is missing."""

from __future__ import annotations

from django.conf import settings

from compute.accounts.models import CloudAccount
from compute.accounts.services import account_create
from compute.clouds.memory import estate
from core.access import product_actor
from core.tasks.runner import run_task
from identity.models import Domain


def fill_estate() -> None:
    """Make the demonstration clouds and register them. An account that a person deleted is not brought back."""
    actor = product_actor("demonstration")
    domain = Domain.objects.get(name="default")
    made = estate.fill(settings.SKYDECK_HOME / "memory-clouds")
    for account in estate.ACCOUNTS:
        if account.cloud not in made or CloudAccount.objects.filter(domain=domain, name=account.name).exists():
            continue
        change = account_create(
            actor=actor,
            domain=domain,
            name=account.name,
            description=account.description,
            provider="memory",
            access_url=account.auth_url,
            auth_kind=account.kind,
            username=account.username,
            secret=account.secret,
            project_name=account.project_name,
            application_credential_id=account.application_credential_id,
        )
        if change.task is not None:
            # Read at once, so that the first page is full; the ring that was sent finds nothing left to do.
            run_task(change.task.pk)
