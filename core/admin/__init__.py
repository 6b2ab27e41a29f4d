"""The console: the one place that knows the admin theme. Families import `site` and `ResourceAdmin` from its modules.

Importing it registers what `core` itself shows: the first page, tasks and the audit trail.
"""

from core.admin import auditlog, tasks
from core.admin.home import home
from core.admin.site import site as _site

_site.home = home

__all__ = ["auditlog", "tasks"]
