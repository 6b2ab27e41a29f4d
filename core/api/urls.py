"""Addresses of tasks, the audit trail, the schema and its pages."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from core.api.docs import DocsView
from core.api.routers import Router
from core.api.tags import TagViewSet
from core.api.tasks import AuditEventViewSet, TaskViewSet

router = Router()
router.add(TaskViewSet)
router.add(AuditEventViewSet)
router.add(TagViewSet)

urlpatterns = [
    path("core/", include(router.urls)),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", DocsView.as_view(url_name="schema"), name="docs"),
]
