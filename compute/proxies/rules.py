"""The rules of proxy settings. Pure checks: each returns nothing or raises one `Problem` naming the field."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Any

from compute.clouds.outbound import check_url
from core.errors import (
    InputParameterError,
    InvalidStatusError,
    MissingParameterError,
    NotEmptyError,
)
from core.names import check_name as check_name

HOST = re.compile(r"\.?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)


def check_addresses(http_proxy: str, https_proxy: str) -> None:
    """One address at least, each of a host that may be connected to, with nothing behind the port."""
    if not http_proxy and not https_proxy:
        raise MissingParameterError("Give the proxy's address.", field="https_proxy")
    for field, url in (("http_proxy", http_proxy), ("https_proxy", https_proxy)):
        if not url:
            continue
        parts = check_url(url, field=field, resolve=False)
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise InputParameterError(
                "A proxy's address is a host with its port and nothing behind it.",
                field=field,
                hint="Example: http://proxy.example.org:3128",
            )


def check_no_proxy(text: str) -> str:
    """What is reached directly: hosts, `.domains` and networks. Returns it in one spelling: commas, no blanks.

    >>> check_no_proxy("cloud.example.org, .lan 10.0.0.0/8")
    'cloud.example.org,.lan,10.0.0.0/8'
    """
    entries = text.replace(",", " ").split()
    for entry in entries:
        if not HOST.fullmatch(entry) and not _is_network(entry):
            raise InputParameterError(
                f"“{entry}” is no host, no domain and no network.",
                field="no_proxy",
                hint="Example: cloud.example.org, .lan, 10.0.0.0/8",
            )
    return ",".join(entries)


def _is_network(text: str) -> bool:
    try:
        return bool(ip_network(text, strict=False))
    except ValueError:
        return False


def check_user(username: str, *, secret: bool) -> None:
    """A password is somebody's."""
    if secret and not username:
        raise MissingParameterError("Say whose password this is.", field="username")


def check_can_readdress(*, used_by: int, name: str, field: str) -> None:
    """What accounts send their secrets through does not change under them: whoever may change a proxy need not be allowed to
    log in with them."""
    if used_by:
        raise InvalidStatusError(
            f"The proxy “{name}” is used by {_accounts(used_by)}, so its address stays.",
            field=field,
            hint="Make a new proxy setting, and give it to the accounts together with their secret.",
        )


def check_can_delete(*, used_by: int, name: str) -> None:
    """One that is used stays."""
    if used_by:
        raise NotEmptyError(
            f"The proxy “{name}” is used by {_accounts(used_by)}.",
            hint="Give these another one, or let them connect directly.",
        )


def check_same_domain(proxy_domain: Any, domain: Any) -> None:
    """An account goes by a proxy of its own domain. Both are ids."""
    if proxy_domain != domain:
        raise InputParameterError(
            "The proxy setting lies in another domain than the account.",
            field="proxy_setting",
            hint="Choose one of the account's own domain.",
        )


def _accounts(number: int) -> str:
    return "one cloud account" if number == 1 else f"{number} cloud accounts"
