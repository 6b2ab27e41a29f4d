"""Reading one region alone, from its page."""

from __future__ import annotations

from compute.accounts import guards, services
from compute.accounts.models import CloudAccount
from compute.regions.models import CloudRegion
from core.access import Actor
from core.actions import Verb
from core.admin.changepage import ActionPage
from core.engine.writing import Change


def can_read(region: CloudRegion, actor: Actor) -> str:
    """Why the region cannot be read now."""
    if region.same_as:
        return f"It is the same cloud as region {region.same_as}, which is read."
    return guards.can_sync(region.manager.account, actor)


READ = Verb("compute.cloudaccounts.sync", can_read)


class ReadRegionPage(ActionPage):
    """Starts a sync that is kept to the region."""

    def perform(self) -> Change:
        account = CloudAccount.objects.sealed().get(pk=self.obj.manager.account_id)
        return services.account_sync(account, actor=self.actor, force=True, regions=[self.obj.name])
