"""A cloud in memory: a real driver with a cloud of its own behind it, for demonstrations and for most tests.

The driver (`cloud`, `account`, `network`, `balancer`, `wire`) speaks to the cloud's half in `server/` as others speak
HTTP. The state lies in one SQLite file per cloud, shared by all processes. Nothing here touches Django.
"""

from compute.clouds.memory.cloud import MemoryCloud, configure, open_memory
from compute.clouds.memory.faults import Faults
from compute.clouds.memory.outside import Outside

__all__ = ["Faults", "MemoryCloud", "Outside", "configure", "open_memory"]
