"""Opening clouds by provider name, and keeping the opened ones: bounded, per process, closed when they leave the cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from compute.clouds.errors import Unsupported
from compute.clouds.ports import Cloud
from compute.clouds.specs import Credentials

Opener = Callable[[Credentials], Cloud]
CACHE_SIZE = 64

_openers: dict[str, Opener] = {}
_cache: OrderedDict[tuple[str, Credentials], Cloud] = OrderedDict()
_lock = threading.Lock()


def register(provider: str, opener: Opener) -> None:
    """Make a provider known; called once when the app starts."""
    _openers[provider] = opener


def providers() -> tuple[str, ...]:
    """The names of all providers, sorted."""
    return tuple(sorted(_openers))


def open_cloud(provider: str, credentials: Credentials) -> Cloud:
    """The opened cloud for these credentials; a changed credential opens a new one. No call is made yet."""
    try:
        opener = _openers[provider]
    except KeyError:
        raise Unsupported(f"There is no provider “{provider}”.", field="provider") from None
    key = (provider, credentials)
    with _lock:
        cloud = _cache.get(key)
        if cloud is None:
            cloud = _cache[key] = opener(credentials)
        _cache.move_to_end(key)
        evicted = _cache.popitem(last=False)[1] if len(_cache) > CACHE_SIZE else None
    if evicted is not None:
        evicted.close()
    return cloud


def close_all() -> None:
    """Close every opened cloud, as a fork or the end of a process wants it."""
    with _lock:
        clouds = list(_cache.values())
        _cache.clear()
    for cloud in clouds:
        cloud.close()
