"""Index of the app's faces in the console; each lives in its family."""

from identity.access import admin as access
from identity.directory import admin as directory

__all__ = ["access", "directory"]
