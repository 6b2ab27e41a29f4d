"""Waiting for a tree to come to rest: a short while in the worker, then outside it, and never for ever (A12).

Reads the root alone. Keeps what it must know between runs in the task's memory, and nothing anywhere else.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from compute.clouds.errors import Gone
from compute.clouds.ports import BalancerPort
from compute.clouds.specs import State
from compute.loadbalancers.choices import PENDING_WORDS
from core.errors import TimeoutError
from core.tasks.registry import Later
from core.tasks.runner import Context

# How long a worker itself waits for a tree to settle before it gives the task back (seconds), and how the pauses grow.
PATIENCE = 12.0
GROWTH = 1.6
# How long a tree may stay PENDING_* before the task gives up on it (A12).
SETTLE_LIMIT = timedelta(minutes=10)


class NotSettled(Exception):
    """The tree is still PENDING_*: come back later."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


@dataclass(frozen=True)
class Pace:
    """How soon a worker looks at a busy tree for the first time, and how long it pauses between two looks at most (seconds)."""

    first: float
    longest: float


CHANGED = Pace(0.2, 1.0)
# A new tree takes seconds: five looks see it through the first thirteen of them.
NEW = Pace(1.0, 4.0)


class Rest:
    """How one task waits for one tree's root."""

    def __init__(self, context: Context, port: BalancerPort) -> None:
        self.context = context
        self.port = port

    def wait(self, root_id: str, word: str, *, pace: Pace = CHANGED) -> State | None:
        """Look at the root until it is no longer pending; None when it is gone. Raises `NotSettled` when patience ends."""
        pause, spent = pace.first, 0.0
        while True:
            time.sleep(pause)
            spent += pause
            try:
                root = self.port.status(root_id)
            except Gone:
                return None
            if root.provisioning not in PENDING_WORDS:
                self._over()
                return root
            word = root.provisioning
            if spent >= PATIENCE:
                raise NotSettled(word)
            self.context.guard_lazily()
            pause = min(pace.longest, pause * GROWTH)

    def go_on(self, root_id: str) -> None:
        """A run that continues a wait takes one look at the root before anything else is read. Raises `NotSettled`."""
        if not self.context.task.memory.get("waiting_since"):
            return
        try:
            root = self.port.status(root_id)
        except Gone:
            self._over()
            return
        if root.provisioning in PENDING_WORDS:
            raise NotSettled(root.provisioning)
        self._over()

    def later(self, word: str, *, name: str, request_id: str) -> Later:
        """Give the task back, to look again outside the worker. Raises `TimeoutError` when the tree is stuck (A12)."""
        memory, now = self.context.task.memory, self.context.now()
        since = memory.get("waiting_since") or now.isoformat()
        looks = int(memory.get("looks", 0))
        if now - datetime.fromisoformat(since) >= SETTLE_LIMIT:
            raise TimeoutError(
                f"Load balancer {name} has been {word} since {since[:19].replace('T', ' ')} UTC and does not come to rest.",
                hint="Its administrators can free it at the cloud; then run the task again.",
                cloud_request_id=request_id,
                extra={"stuck_since": since},
            )
        self.context.remember(waiting_since=since, looks=looks + 1)
        return Later(min(10.0, 2.0 * 1.5**looks), f"The load balancer has been {word} since {since[11:19]} UTC")

    def _over(self) -> None:
        if self.context.task.memory.get("waiting_since"):
            self.context.remember(waiting_since="", looks=0)
