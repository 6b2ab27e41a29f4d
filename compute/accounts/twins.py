"""Accounts that are one and the same: the same login once more is refused; what reaches the same things another way is told.

What is compared: the login as it was typed (`rules.login_key`), and, once it has been tried, who that is by the cloud's own ids
and at which addresses its services answer. A name of a region says nothing: one cloud may go by two.
"""

from __future__ import annotations

from collections.abc import Iterator

from compute.accounts import rules
from compute.accounts.models import AccountQuerySet, CloudAccount
from compute.clouds.specs import AccountInfo
from core.access import Actor, visible_to
from core.locks.services import hold

RIGHT = "compute.cloudaccounts.get"
LOGINS = "compute.accounts.logins"


def key_of(draft: CloudAccount) -> str:
    """The key of an account's login."""
    names = ("access_url", "auth_kind", *rules.KEY_OF_PASSWORD, *rules.KEY_OF_APPLICATION)
    return rules.login_key(draft.provider, {name: getattr(draft, name) for name in names})


def hold_logins() -> None:
    """Let no other login be registered until the end of this transaction: two that are spelt differently, and are one to the
    cloud, would each not see the other. Hold them before any account's row."""
    hold(LOGINS)


def check_login_free(draft: CloudAccount, *, actor: Actor, tried: bool = True) -> None:
    """Rule 8 of 1.4, for a new account and for a changed login. Raises `ConflictError`.

    A login that was not `tried` yet is compared with the accounts that the actor may see alone: whoever does not know its secret
    shall not learn whether somebody else has it here.
    """
    # Whether there is one is asked first: of one that comes in between, at least the name is known then.
    taken = list(_others(draft).filter(login_key=key_of(draft)).values_list("pk", flat=True))
    seen = visible_to(_others(draft).filter(pk__in=taken), actor, RIGHT).values_list("name", flat=True).first()
    if tried or seen:
        rules.check_not_registered(taken=bool(taken), by=seen or "")


def check_nobody_there(draft: CloudAccount, info: AccountInfo, *, actor: Actor) -> tuple[str, ...]:
    """What a login that was tried has in common with other accounts, in a sentence for each that the actor may see.

    Raises `ConflictError` when one of them is the same user in the same project of the same cloud, by whatever address and in
    whatever region; another kind of login of that user may have other roles, and is only told.
    """
    warnings = []
    there = list(_at_one_place(draft, info))
    names = dict(visible_to(_others(draft), actor, RIGHT).values_list("pk", "name"))
    for other in there:
        same_project = other.cloud_project_id == info.project_id
        if same_project and other.cloud_user_id == info.user_id and other.auth_kind == draft.auth_kind:
            rules.check_not_registered(taken=True, by=names.get(other.pk, ""))
        if other.pk in names and (same_project or _knows(other, info.project_id)):
            warnings.append(
                f"The account “{other.name}” reads the project “{info.project_name}” of the same cloud already: what lies in "
                "it will be here twice, once for each account."
            )
    return tuple(warnings)


def _others(draft: CloudAccount) -> AccountQuerySet:
    return CloudAccount.objects.sealed().filter(provider=draft.provider, deleted_at=None).exclude(pk=draft.pk)


def _at_one_place(draft: CloudAccount, info: AccountInfo) -> Iterator[CloudAccount]:
    """Accounts that read from an address that this one will read from."""
    here = rules.places(info.endpoints, draft.regions)
    for other in _others(draft).exclude(endpoints={}).defer("ca_bundle", "last_error").order_by("name"):
        if here & rules.places(other.endpoints, other.regions):
            yield other


def _knows(account: CloudAccount, project_id: str) -> bool:
    return account.external_projects.filter(external_id=project_id, deleted_at=None).exists()
