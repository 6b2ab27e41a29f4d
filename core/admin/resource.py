"""The base of every kind's face in the console: its list, its read-only page with tabs, its change pages and buttons.

Closed by default: what a person sees is `for_list()` narrowed by `visible_to`; there is no form of Django's admin anywhere,
because that would write rows. A family's `admin.py` declares columns, filters, tabs and offers; see `core.admin.tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.text import smart_split
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from core.access import Actor, get_visible, visible_to
from core.admin import tabs, tagging
from core.admin.actors import actor_of
from core.admin.ages import SINCE
from core.admin.filters import Group, QuickFilter, quick_filter
from core.admin.forms import SearchForm
from core.admin.gone import gone_problem
from core.admin.markup import badges, moment
from core.admin.parts import Button, Notice, Offer, Tab, problem_notice
from core.admin.polling import is_poll, polled
from core.admin.tabs import Mirror
from core.admin.tones import Badge, Tone
from core.errors import NotFoundError, ResourceNotFoundError
from core.tags.services import is_tagged

PageView = Callable[..., HttpResponseBase]


class PagedChangeList(ChangeList):
    """Searches, sorts and pages bare rows; only the rows of the page are loaded with joins and counts.

    So the last page of a hundred thousand rows costs what the first one does.
    """

    search_form_class = SearchForm
    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        self._check_place(request)
        try:
            super().get_results(request)
        except (OverflowError, ValueError) as error:  # a value in the address that no column can have
            raise IncorrectLookupParameters(error) from error
        if not 1 <= self.page_num <= self.paginator.num_pages:
            raise IncorrectLookupParameters(f"The list has {self.paginator.num_pages} pages.")
        page = list(self.result_list.values_list("pk", flat=True))
        rows = {row.pk: row for row in self.model_admin.list_rows().filter(pk__in=page)}
        self.result_list = [rows[pk] for pk in page if pk in rows]

    def _check_place(self, request: HttpRequest) -> None:
        """The page and the order that the address names, which are taken for none where they cannot be."""
        try:
            int(request.GET.get(PAGE_VAR) or 1)
            columns = [int(part.removeprefix("-")) for part in self.params.get(ORDER_VAR, "").split(".") if part]
            sortable = all(self.get_ordering_field(self.list_display[number]) for number in columns)
        except (IndexError, ValueError) as error:
            raise IncorrectLookupParameters(error) from error
        if not sortable:
            raise IncorrectLookupParameters("The list has no order by this column.")


class ResourceAdmin(ModelAdmin):
    """One kind of row. Subclasses declare; they hold no logic of their own beyond how a row is told."""

    right: ClassVar[str] = ""  # `<app>.<resource>`
    name_path: ClassVar[str] = "name"  # the column that a reference to a row shows; "": it has none
    counted: ClassVar[Q] = Q()  # rows that exist, for counts and choices
    groups: ClassVar[Sequence[Group]] = ()
    offers: ClassVar[Sequence[Offer]] = ()
    # Pages of their own: (route, view class, name); the view is made with `admin=`.
    pages: ClassVar[Sequence[tuple[str, Any, str]]] = ()
    add_label: ClassVar[str] = ""  # the button that starts the page called `add`
    in_palette: ClassVar[bool] = False
    poll_seconds: ClassVar[int] = 2  # how often a page looks again while its row moves
    empty_title: ClassVar[str] = ""
    empty_text: ClassVar[str] = ""

    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    change_list_template = "console/list.html"
    actions = None
    list_display_links = ("name",)
    sortable_by: Any = None

    # -- who sees what

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(actor_of(request).may(f"{self.right}.list"))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows that one sees, bare: for counting, searching, sorting and choices. Closed by default."""
        rows = visible_to(self.model._default_manager.all(), actor_of(request), f"{self.right}.list")
        return rows.filter(self.counted).order_by()

    def base_rows(self) -> QuerySet[Any]:
        """All rows with what a list and a page show, nobody's in particular."""
        manager: Any = self.model._default_manager
        rows: QuerySet[Any] = manager.for_list()
        return rows

    def list_rows(self) -> QuerySet[Any]:
        """The same for lists, where they show less than a page."""
        return self.base_rows()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[PagedChangeList]:
        return PagedChangeList

    def get_row(self, request: HttpRequest, object_id: UUID) -> Any:
        """The one row. Raises what is known of a row that is gone, or the sentence that there is none to be seen."""
        actor = actor_of(request)
        try:
            return get_visible(self.base_rows(), actor, f"{self.right}.get", pk=object_id)
        except ResourceNotFoundError as problem:
            raise gone_problem(self, actor, object_id) or problem from None

    # -- how a row is told

    def states(self, obj: Any) -> list[Badge]:
        """The states of a row, ours first."""
        return []

    def moving(self, obj: Any) -> bool:
        """True while work on the row goes on, so that pages look again by themselves."""
        return any(b.tone is Tone.MOTION for b in self.states(obj))

    def object_title(self, obj: Any) -> str:
        return str(obj)

    def subtitle(self, obj: Any, actor: Actor) -> Sequence[Any]:
        """What stands under the name: owner, cloud, address; text or safe HTML."""
        return ()

    def palette_words(self, obj: Any) -> str:
        """What the command palette says beside the name."""
        return str(self.opts.verbose_name)

    def notices(self, request: HttpRequest, obj: Any) -> list[Notice]:
        """Sentences above the tabs. A refused change is told first."""
        refused = self.failure_notice(request, obj)
        return [refused] if refused is not None else []

    def failure_notice(self, request: HttpRequest, obj: Any) -> Notice | None:
        """That the last change was refused, and why."""
        failure = getattr(obj, "failure", None)
        return problem_notice(failure, start="The last change was not carried out.") if failure else None

    # -- search

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Rows in which every word is found, and those that the whole of it names; each once."""
        if "\x00" in search_term or any(not word.strip("\"'") for word in smart_split(search_term)):
            return queryset.none(), False  # no name holds it, and the database would take it for no word at all
        found, doubled = super().get_search_results(request, queryset, search_term)
        named = self.named_by(search_term.strip()) if search_term.strip() else None
        tagged = tagging.named_by_tag(self.model, search_term.strip())
        if tagged is not None:
            named = tagged | named if named is not None else tagged
        if doubled or named is not None:
            found = queryset.filter(Q(pk__in=found.order_by().values("pk")) | (named or Q(pk__in=())))
        return found, False

    def named_by(self, term: str) -> Q | None:
        """Rows that a search for just this names by what is not a column of theirs: an id of theirs on other rows, an address
        as lists show it."""
        return None

    @admin.display(description="Status", ordering="status")
    def state(self, obj: Any) -> SafeString:
        return badges(self.states(obj))

    @admin.display(description="Age", ordering="created_at")
    def age(self, obj: Any) -> SafeString:
        return moment(obj.created_at)

    @admin.display(description=SINCE, ordering="created_at")
    def since(self, obj: Any) -> SafeString:
        return moment(obj.created_at)

    # -- the list

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        found = list(super().get_list_filter(request))
        return [quick_filter(self.groups), *found] if self.groups else found

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
        actor_of(request).require(f"{self.right}.list")
        response: HttpResponseBase = super().changelist_view(
            request, {"title": self.plural_title(), **(extra_context or {})}
        )
        if not isinstance(response, TemplateResponse) or "cl" not in (response.context_data or {}):
            return response
        context: Any = response.context_data
        changelist = context["cl"]
        self.shown_rows(request, list(changelist.result_list))
        quick = next((f for f in changelist.filter_specs if isinstance(f, QuickFilter)), None)
        narrowed = bool(changelist.query or any(f.used_parameters for f in changelist.filter_specs if f is not quick))
        context.update(
            chips=list(quick.chips(changelist)) if quick else [],
            choosers=[f for f in changelist.filter_specs if f is not quick],
            narrowed=narrowed or bool(quick and quick.value()),
            in_motion=any(self.moving(row) for row in changelist.result_list),
            add_button=self.add_button(request),
            subtitle=None,
            opts=None,  # the theme's header would make breadcrumbs of it
        )
        if is_poll(request):
            return polled(request, "console/list_rows.html", context, moving=context["in_motion"])
        return response

    def shown_rows(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Told of the rows of a page of the list before they are drawn, for what is loaded for all of them at once."""

    def add_button(self, request: HttpRequest) -> Button | None:
        """The button that makes a new one, greyed with the reason when the right is missing."""
        if not self.add_label:
            return None
        decision = actor_of(request).decide(f"{self.right}.create")
        why_not = "" if decision.allowed else decision.reason or "You may not create one here."
        return Button(self.add_label, self.page_url("add"), icon="add", primary=True, why_not=why_not)

    def plural_title(self) -> str:
        title = str(self.opts.verbose_name_plural)
        return title[:1].upper() + title[1:]

    # -- the page of one row

    def tabs(self, request: HttpRequest, obj: Any) -> list[Tab]:
        """The tabs in order: overview first, then children; the common ones follow by themselves."""
        return [Tab("overview", "Overview", self.overview)]

    def overview(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        """The parts of the first tab."""
        return ()

    def common_tabs(self, obj: Any) -> list[Tab]:
        """Changes, tasks, what the cloud says, drift, tags."""
        tagged = [tagging.tags_tab(self)] if is_tagged(self.model) else []
        return [*tabs.common_tabs(self, obj), *tagged]

    def mirrors(self, obj: Any) -> Sequence[Mirror]:
        """Where the row stands at a cloud; rows with several objects there have several."""
        return [Mirror(obj, {})] if getattr(obj, "raw", None) else []

    def watched(self, obj: Any) -> Sequence[Mirror]:
        """What is compared with the cloud on the page of the row: its own side, and that of what is in it."""
        return self.mirrors(obj)

    def inside(self, obj: Any) -> Q:
        """Audit events of what is in the row, which belong to its own trail."""
        return Q()

    def known_names(self, obj: Any) -> Mapping[str, str]:
        """What rows around this one are called, by id, as far as they are loaded: changes that name them ask no more."""
        return {}

    def page_moves(self, obj: Any) -> bool:
        """True while the page of the row should look again by itself."""
        return self.moving(obj)

    def buttons(self, request: HttpRequest, obj: Any) -> list[Button]:
        """What can be done, and why the rest cannot be done now."""
        return [self._button(request, obj, offer) for offer in self.offers if offer.shown(obj)]

    def offer_button(self, request: HttpRequest, obj: Any, page: str) -> Button:
        """The button of one offer, for a card."""
        return self._button(request, obj, next(offer for offer in self.offers if offer.page == page))

    def _button(self, request: HttpRequest, obj: Any, offer: Offer) -> Button:
        return Button(
            offer.label,
            self.page_url(offer.page, obj.pk),
            icon=offer.icon,
            danger=offer.danger,
            primary=offer.primary,
            post=offer.post,
            why_not=offer.verb.why_not(obj, actor_of(request)),
        )

    def object_page(self, request: HttpRequest, object_id: UUID, tab: str = "overview") -> HttpResponse:
        """The row's page, with one tab open."""
        obj = self.get_row(request, object_id)
        all_tabs = [*self.tabs(request, obj), *self.common_tabs(obj)]
        chosen = next((t for t in all_tabs if t.slug == tab), None)
        if chosen is None:
            raise NotFoundError("There is no such tab.", hint="Go back to the overview.")
        context = {
            **self.admin_site.each_context(request),
            "title": self.object_title(obj),
            "object": obj,
            "admin": self,
            "kind": self.opts.verbose_name,
            "list_title": self.plural_title(),
            "list_url": reverse(f"console:{self.opts.app_label}_{self.opts.model_name}_changelist"),
            "states": self.states(obj),
            "subtitles": self.subtitle(obj, actor_of(request)),
            "buttons": self.buttons(request, obj),
            "notices": self.notices(request, obj),
            "tabs": [(t, self.tab_url(obj.pk, t.slug)) for t in all_tabs],
            "tab": chosen,
            "parts": chosen.parts(request, obj),
            "in_motion": self.page_moves(obj),
            "poll_seconds": self.poll_seconds,
        }
        if is_poll(request):
            return polled(request, "console/object_body.html", context, moving=context["in_motion"])
        return TemplateResponse(request, "console/object.html", context)

    # -- addresses

    def page_url(self, name: str, *args: object) -> str:
        """The address of one of this kind's pages."""
        return reverse(f"console:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    def tab_url(self, pk: object, slug: str) -> str:
        return self.page_url("change", pk) if slug == "overview" else self.page_url("tab", pk, slug)

    def get_urls(self) -> list[URLPattern]:
        """List, pages of its own, the row's page and its tabs; none of Django's add, change and delete forms."""
        prefix = f"{self.opts.app_label}_{self.opts.model_name}"
        wrap = self.admin_site.admin_view
        pages = list(self.pages)
        if is_tagged(self.model):
            pages.append(("<uuid:object_id>/tags/edit/", tagging.TagsPage, tagging.PAGE))
        return [
            path("", wrap(self.changelist_view), name=f"{prefix}_changelist"),
            *(path(route, wrap(view.as_view(admin=self)), name=f"{prefix}_{name}") for route, view, name in pages),
            path("<uuid:object_id>/", wrap(self.object_page), name=f"{prefix}_change"),
            path("<uuid:object_id>/<slug:tab>/", wrap(self.object_page), name=f"{prefix}_tab"),
        ]
