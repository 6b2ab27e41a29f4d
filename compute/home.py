"""What clouds and balancers add to the console's first page: what needs somebody, how the accounts are, how much there is."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q, QuerySet, Value
from django.http import HttpRequest

from compute.accounts.admin import account_states, last_sync_words
from compute.accounts.choices import AccountStatus
from compute.accounts.models import CloudAccount
from compute.eips.models import Eip
from compute.loadbalancers.console.groups import BALANCER_ATTENTION, CHANGED_TREE, LISTENER_ATTENTION, UNWELL, fits
from compute.loadbalancers.console.words import tone_of, trouble_words
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network, Vpc
from core.access import Actor, visible_to
from core.admin.actors import actor_of
from core.admin.home import Contribution, Tally
from core.admin.markup import anchor, badges, moment
from core.admin.parts import Notice, Table
from core.admin.site import site
from core.admin.tones import Tone

MOST = 6
# kind, model, icon, label, right, rows that want a look
KINDS: tuple[tuple[str, Any, str, str, str, Q | None], ...] = (
    ("loadbalancer", LoadBalancer, "account_tree", "Load balancers", "compute.loadbalancers", BALANCER_ATTENTION),
    ("listener", Listener, "hearing", "Listeners", "compute.loadbalancerlisteners", LISTENER_ATTENTION),
    ("backendgroup", BackendGroup, "workspaces", "Backend groups", "compute.loadbalancerbackendgroups", None),
    ("backend", Backend, "dns", "Backends", "compute.loadbalancerbackends", None),
    ("network", Network, "lan", "Networks", "compute.networks", None),
    ("vpc", Vpc, "hub", "VPCs", "compute.vpcs", None),
    ("eip", Eip, "public", "Elastic IPs", "compute.eips", None),
)


def part(request: HttpRequest) -> Contribution:
    """Three queries: accounts, balancers in trouble, counts of all kinds in one."""
    actor = actor_of(request)
    sees_accounts = actor.may("compute.cloudaccounts.list")
    accounts = list(visible_to(CloudAccount.objects.owned(), actor, "compute.cloudaccounts.list"))
    balancers = visible_to(LoadBalancer.objects.filter(deleted_at=None), actor, "compute.loadbalancers.list")
    troubled = list(
        balancers.annotate(unwell=fits(UNWELL), changed=fits(CHANGED_TREE))
        .filter(Q(unwell=True) | Q(changed=True))
        .order_by("-unwell", "name", "id")
        .select_related("manager__account", "region")
        .defer("manager__account__secret")[: MOST + 1]
    )
    tallies = counts(actor)
    return Contribution(
        notices=[*account_notices(accounts), *balancer_notices(troubled)],
        counts=tallies,
        parts=[account_table(accounts)] if accounts else [],
        empty=first_step(actor, accounts, sees_accounts, tallies),
    )


def first_step(actor: Actor, accounts: list[CloudAccount], sees_accounts: bool, tallies: list[Tally]) -> Notice | None:
    """What to do first where there is nothing yet."""
    if accounts or any(tally.number for tally in tallies):
        return None
    if sees_accounts and actor.may("compute.cloudaccounts.create"):
        return Notice(
            Tone.PLAIN, "Connect your first cloud",
            hint="Give Skydeck a login at an OpenStack cloud. It tries the login first, then reads what is there; nothing at the cloud is changed.",
            url=site.admin_for("cloudaccount").page_url("add"), link="Connect a cloud",
        )  # fmt: skip
    return Notice(
        Tone.PLAIN, "There is nothing here yet",
        hint="What your project owns shows here as soon as an administrator has connected a cloud.",
    )  # fmt: skip


def account_notices(accounts: list[CloudAccount]) -> list[Notice]:
    """Accounts without contact, and those that were not read completely."""
    found = []
    for account in accounts:
        url = site.url_of("cloudaccount", account.pk)
        if account.status == AccountStatus.DELETE_FAILED:
            reason = (account.last_error or {}).get("detail", "")
            text = f"Account {account.name} could not be forgotten. {reason}".strip()
            found.append(Notice(Tone.BAD, text, "It can be forgotten again.", url, "Open the account"))
            continue
        if account.status == AccountStatus.DISCONNECTED:
            reason = (account.last_error or {}).get("detail", "The cloud does not answer.")
            hint = str((account.last_error or {}).get("hint", ""))
            found.append(
                Notice(Tone.BAD, f"No contact with account {account.name}. {reason}", hint, url, "Open the account")
            )
        elif account.last_sync_state in ("partial", "failed", "interrupted"):
            reason = (account.last_error or {}).get("detail", "")
            text = f"Account {account.name} was not read completely the last time. {reason}".strip()
            found.append(Notice(Tone.WARN, text, "What was not read stands as it was before.", url, "Open the account"))
    return found


def balancer_notices(troubled: list[Any]) -> list[Notice]:
    """Balancers in error, and those in which something was changed outside; one sentence each."""
    found = []
    admin = site.admin_for("loadbalancer")
    for lb in troubled[:MOST]:
        called = f"Load balancer {lb.name} ({lb.manager.account.name} / {lb.region.name})"
        if lb.unwell:
            url, text = site.url_of("loadbalancer", lb.pk), f"{called} {trouble_words(lb)}"
            hint = "Something in it was changed outside, too." if lb.changed else ""
            found.append(Notice(tone_of(lb), text, hint=hint, url=url, link="See what is wrong"))
        else:
            text = f"{called} was changed outside, and nobody has decided about it yet."
            found.append(Notice(Tone.WARN, text, url=admin.tab_url(lb.pk, "drift"), link="Compare the values"))
    if len(troubled) > MOST:
        url = site.list_url("loadbalancer", "?show=attention")
        found.append(Notice(Tone.WARN, "More load balancers want a look.", url=url, link="All of them"))
    return found


def counts(actor: Actor) -> list[Tally]:
    """How many of each kind, in one query."""
    queries: list[QuerySet[Any]] = []
    for kind, model, _, _, right, bad in KINDS:
        if actor.may(f"{right}.list"):
            rows = visible_to(model.objects.filter(deleted_at=None), actor, f"{right}.list").order_by()
            tally = Count("pk", filter=bad) if bad is not None else Value(0)
            queries.append(
                rows.annotate(kind=Value(kind))
                .values("kind")
                .annotate(n=Count("pk"), bad=tally)
                .values_list("kind", "n", "bad")
            )
    if not queries:
        return []
    rows_found = queries[0].union(*queries[1:], all=True) if len(queries) > 1 else queries[0]
    numbers = {kind: (n, bad) for kind, n, bad in rows_found}
    found = []
    for kind, _, icon, label, right, _ in KINDS:
        if actor.may(f"{right}.list"):
            number, wrong = numbers.get(kind, (0, 0))
            url, bad_url = site.list_url(kind), site.list_url(kind, "?show=attention")
            found.append(
                Tally(label, icon, number, url, wrong, "want a look" if wrong != 1 else "wants a look", bad_url)
            )
    return found


def account_table(accounts: list[CloudAccount]) -> Table:
    """The accounts with their health and the age of what is known."""
    rows = [
        [
            anchor(site.url_of("cloudaccount", account.pk), account.name),
            badges(account_states(account)),
            account.brand,
            moment(account.last_sync_at),
            last_sync_words(account),
        ]
        for account in accounts
    ]
    return Table("Cloud accounts", ["Account", "Health", "Cloud", "Last read", "Last sync"], rows)


site.home_parts.append(part)
