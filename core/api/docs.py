"""The page on which people read the schema. It is for everybody, and needs no outside host."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.views import SpectacularSwaggerView

from core.api.problems import problem_of, respond


class DocsView(SpectacularSwaggerView):
    """Its refusals are problems like all others: a template, as which the page is answered, has no form for them."""

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return HttpResponse(status=204)

    def handle_exception(self, exc: Exception) -> Any:
        return respond(self.request._request, problem_of(exc))
