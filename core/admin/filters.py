"""Filters of lists: quick filters with counts, and choices worked out of the rows that one sees.

They narrow what the list already shows, so they never reveal a foreign row, not even by a choice's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

MOST_CHOICES = 200
SHOW = "show"


@dataclass(frozen=True)
class Group:
    """A quick filter: rows that `q` fits. `tone` colours it when there are any."""

    slug: str
    label: str
    q: Q
    tone: str = ""


@dataclass(frozen=True)
class Chip:
    """A quick filter as the list draws it."""

    label: str
    count: int
    query: str
    chosen: bool
    tone: str


class QuickFilter(SimpleListFilter):
    """The chips above a list. Their counts are one query over the rows that one sees."""

    title = "what to show"
    parameter_name = SHOW
    groups: ClassVar[Sequence[Group]] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.all_rows: QuerySet[Any] = model_admin.get_queryset(request)
        return [(g.slug, g.label) for g in self.groups]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        for group in self.groups:
            if group.slug == self.value():
                return queryset.filter(group.q)
        raise IncorrectLookupParameters(f"There is no group “{self.value()}”.")

    def chips(self, changelist: Any) -> Iterator[Chip]:
        """“All” and the groups, each with its count."""
        counts = self.all_rows.aggregate(
            all=Count("pk"), **{f"g_{g.slug}": Count("pk", filter=g.q) for g in self.groups}
        )
        chosen = self.value()
        yield Chip("All", counts["all"], changelist.get_query_string(remove=[SHOW, "p"]), chosen is None, "")
        for group in self.groups:
            number = counts[f"g_{group.slug}"]
            query = changelist.get_query_string({SHOW: group.slug}, remove=["p"])
            yield Chip(group.label, number, query, chosen == group.slug, group.tone if number else "")


def quick_filter(groups: Sequence[Group]) -> type[QuickFilter]:
    """A quick filter over these groups."""
    return type("GroupsFilter", (QuickFilter,), {"groups": tuple(groups)})


class RelatedFilter(SimpleListFilter):
    """A choice among the related objects of the rows that one sees. `path`: the look-up to the object, `name`: to its name."""

    path: ClassVar[str] = ""
    name: ClassVar[str] = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = model_admin.get_queryset(request).order_by(self.name).values_list(f"{self.path}_id", self.name)
        return [(str(pk), str(name)) for pk, name in rows.distinct()[:MOST_CHOICES] if pk is not None]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        try:
            return queryset.filter(**{f"{self.path}_id": self.value()})
        except (ValidationError, ValueError) as error:
            raise IncorrectLookupParameters(error) from error


def related_filter(title: str, parameter: str, path: str) -> type[RelatedFilter]:
    """A filter by a related object, by its name."""
    fields = {"title": title, "parameter_name": parameter, "path": path, "name": f"{path}__name"}
    return type("RelatedRowFilter", (RelatedFilter,), fields)


class WordFilter(SimpleListFilter):
    """A choice among fixed words of a column."""

    path: ClassVar[str] = ""
    words: ClassVar[Sequence[tuple[str, str]]] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        return self.words

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.path: self.value()}) if self.value() else queryset


def word_filter(title: str, parameter: str, path: str, words: Sequence[tuple[str, str]]) -> type[WordFilter]:
    """A filter by a column that holds one of a few words."""
    return type(
        "FixedWordFilter", (WordFilter,), {"title": title, "parameter_name": parameter, "path": path, "words": words}
    )
