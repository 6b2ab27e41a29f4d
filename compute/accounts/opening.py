"""From an account's row to an opened cloud. The only place where an account's secret is read."""

from __future__ import annotations

from compute.accounts.models import CloudAccount
from compute.clouds.errors import Unauthorised
from compute.clouds.ports import Cloud, Region
from compute.clouds.registry import open_cloud
from compute.clouds.specs import Credentials, Proxy


def secret_of(account: CloudAccount) -> str:
    """The account's secret, fetched now where the row was loaded without it.

    Raises `Unauthorised` when no key of the key ring opens it.
    """
    try:
        return str(account.secret)
    except ValueError:
        raise Unauthorised(
            f"The stored secret of the account “{account.name}” cannot be opened: its key is not in the key ring.",
            field="secret",
            hint="Put the key back into the key ring, or give the secret again.",
        ) from None


def credentials_of(account: CloudAccount) -> Credentials:
    """The account's credentials as drivers take them."""
    return Credentials(
        auth_url=account.access_url,
        kind=account.auth_kind,
        username=account.username,
        secret=secret_of(account),
        user_domain_name=account.user_domain_name,
        project_domain_name=account.project_domain_name,
        project_name=account.project_name,
        application_credential_id=account.application_credential_id,
        interface=account.interface,
        ca_bundle=account.ca_bundle,
        verify_tls=account.verify_tls,
        proxy=proxy_of(account),
    )


def proxy_of(account: CloudAccount) -> Proxy | None:
    """The account's way through proxies. Raises `Unauthorised` when no key of the key ring opens its secret."""
    row = account.proxy_setting
    if row is None:
        return None
    try:
        secret = str(row.secret)
    except ValueError:
        raise Unauthorised(
            f"The stored password of the proxy setting “{row.name}” cannot be opened: its key is not in the key ring.",
            field="proxy_setting",
            hint="Put the key back into the key ring, or give the password again.",
        ) from None
    past = tuple(filter(None, row.no_proxy.split(",")))
    return Proxy(row.http_proxy, row.https_proxy, past, row.username, secret)


def open_account(account: CloudAccount) -> Cloud:
    """The account's cloud; no call is made yet."""
    return open_cloud(account.provider, credentials_of(account))


def open_region(account: CloudAccount, region_name: str, *, project_id: str = "") -> Region:
    """One region of the account, scoped to a cloud project where the credential can be."""
    return open_account(account).region(region_name, project_id=project_id)
