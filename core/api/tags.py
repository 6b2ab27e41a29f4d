"""The list of tags of everything that the caller may see, and which keys and values there are."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action as route
from rest_framework.request import Request
from rest_framework.response import Response

from core.access import visible_to
from core.api.filters import ChoiceFilter, IdFilter, ResourceFilterSet, TextFilter
from core.api.pagination import MAX_LIMIT
from core.api.references import has_field
from core.api.routers import routed
from core.api.serializers import ResourceSerializer
from core.api.views import ResourceViewSet
from core.errors import NotFoundError
from core.tags import rules
from core.tags.models import Tag
from core.tags.services import is_tagged, may_see_internal

WHOSE = {"user": rules.USER, "cloud": rules.CLOUD, "internal": rules.INTERNAL}
PAIRS = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "value": {"type": "string"}, "count": {"type": "integer"}},
            },
        }
    },
}


class TagSerializer(ResourceSerializer):
    """One tag of one object."""

    class Meta:
        model = Tag
        fields = ("id", "kind", "object_id", "key", "value", "updated_at")


class WhoseFilter(ChoiceFilter):
    """By who writes such tags."""

    def __init__(self) -> None:
        super().__init__("key", choices=[(word, word) for word in WHOSE])

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        return qs.filter(Q(*(("key__startswith", WHOSE[word]) for word in value), _connector=Q.OR))


class TagFilterSet(ResourceFilterSet):
    kind = TextFilter()
    object_id = IdFilter()
    key = TextFilter()
    value = TextFilter()
    whose = WhoseFilter()

    search_fields = ("key", "value")
    orderings = ("key", "value", "kind", "updated_at")
    default_ordering = ("key",)

    class Meta:
        model = Tag


class TagViewSet(ResourceViewSet):
    """Tags of objects. They are written at the object itself."""

    right = "core.tags"
    queryset = Tag.objects.all()
    serializer_class = TagSerializer
    filterset_class = TagFilterSet

    def get_object(self) -> Any:
        found = self._listable().filter(pk=self.kwargs["pk"]).first() if self.kwargs["pk"].isdecimal() else None
        if found is None:
            raise NotFoundError("There is no such tag that you can see.")
        return found

    def _listable(self) -> QuerySet[Any]:
        """The tags of what the caller may list, of every kind."""

        self.actor.require(f"{self.right}.list")
        mine = Q(pk__in=())
        for one in routed:
            model: Any = one.serializer_class.Meta.model
            if is_tagged(model):
                there = model._default_manager.all()
                there = there.filter(deleted_at=None) if has_field(model, "deleted_at") else there
                rows = visible_to(there, self.actor, f"{one.right}.list")
                mine |= Q(kind=model._meta.model_name, object_id__in=rows.order_by().values("pk"))
        rows = Tag.objects.filter(mine)
        return rows if may_see_internal(self.actor) else rows.exclude(key__startswith=rules.INTERNAL)

    @extend_schema(summary="Which keys and values there are", responses={200: PAIRS})
    @route(detail=False, methods=["get"], url_path="pairs", url_name="pairs")
    def pairs(self, request: Request) -> Response:
        """Each key with each of its values, and how many objects have it; the most used first."""
        found = (
            self._found()
            .order_by()
            .values("key", "value")
            .annotate(count=Count("pk"))
            .order_by("-count", "key", "value")
        )
        return Response({"results": list(found[:MAX_LIMIT])})
