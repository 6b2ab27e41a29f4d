"""Which address leads where. Apps bring their own routes; this page only hangs them up."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from core import health
from core.admin.site import site
from core.api import problems

handler400 = problems.bad_request
handler403 = problems.forbidden
handler404 = problems.not_found
handler500 = problems.server_error

api: list[URLPattern | URLResolver] = [
    path("", include("core.api.urls")),
    path("", include("identity.urls")),
    path("", include("compute.urls")),
    re_path(r"^(?P<path>.*)$", problems.unknown_address),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("api/", include(api)),
    path("", include("identity.access.urls")),
    path("console/", site.urls),
    path("", RedirectView.as_view(url="/console/")),
]
