"""The console's frame: one admin site with log-in, sidebar, scope switch, search and pages for what goes wrong.

Families add to it (`register`, `add_page`, `home_parts`); it knows none of them. Nothing here writes rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

from django.contrib.auth.views import LogoutView
from django.core.exceptions import PermissionDenied
from django.db.models import Case, Model, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, URLPattern, path, reverse
from unfold.sites import UnfoldAdminSite

from core.access import Actor, reaches, visible_to
from core.admin.actors import actor_of
from core.admin.forms import LogInForm
from core.admin.polling import ended_session, is_poll, polled
from core.errors import ForbiddenError, NotFoundError, Problem

View = Callable[..., HttpResponseBase]
FOUND_PER_KIND = 6


class ConsoleSite(UnfoldAdminSite):
    """The site behind `/console/`. Its address names are `console:…`."""

    login_form = LogInForm
    login_template = "console/login.html"
    password_change_template = "console/password_change.html"  # noqa: S105
    password_change_done_template = "console/password_change_done.html"  # noqa: S105
    enable_nav_sidebar = True

    def __init__(self, name: str = "console") -> None:
        super().__init__(name)
        # What families add: pages, parts of the home page, the scope switch.
        self.pages: list[tuple[str, View, str]] = []
        self.home: View | None = None
        self.home_parts: list[Any] = []
        self.scope_switch: Callable[[HttpRequest], Mapping[str, Any]] | None = None
        self.account_links: list[tuple[str, str]] = []
        # Words for columns whose names are none, in what changes are told.
        self.field_words: dict[str, str] = {}
        self.value_words: dict[str, dict[str, str]] = {}  # by column: what its choices are called
        # Puts names that programs use into the words that people read, wherever a reason or a problem is told.
        self.tell: Callable[[str], str] = str
        # By kind: the column that ties a row to another one, which is told as binding it.
        self.link_fields: dict[str, str] = {}
        # Kinds without pages of their own: how their rows are called, by id, as far as an actor sees them.
        self.names_of: dict[str, Callable[[Iterable[str], Actor], dict[str, str]]] = {}
        # What a kind of task shows of its work where it has no steps: called with (request, task).
        self.task_parts: dict[str, Callable[[HttpRequest, Any], Sequence[Any]]] = {}

    # -- what families add

    def add_page(self, route: str, view: View, name: str) -> None:
        """Serve a page of its own at `/console/<route>` for people who are logged in, as `console:<name>`."""
        self.pages.append((route, view, name))

    # -- addresses

    def extra_urls(self) -> list[URLPattern]:
        return [path(route, self.admin_view(view), name=name) for route, view, name in self.pages]

    def admin_for(self, kind: str) -> Any:
        """The registered admin of a kind of row (a model's name in lower case), or None."""
        return next((a for model, a in self._registry.items() if model._meta.model_name == kind), None)

    def url_of(self, kind: str, pk: object) -> str:
        """The address of an object's page, "" when its kind has none."""
        admin = self.admin_for(kind)
        return self._reverse(admin.opts, "change", pk) if admin is not None else ""

    def rank_of(self, kind: str) -> int:
        """Where a kind stands among all: families register what holds something before what is in it."""
        return next(
            (n for n, model in enumerate(self._registry) if model._meta.model_name == kind), len(self._registry)
        )

    def field_word(self, name: str) -> str:
        """A column as people call it."""
        return self.field_words.get(name, name.replace("_", " "))

    def kind_word(self, kind: str) -> str:
        """A kind of row as people call it."""
        admin = self.admin_for(kind)
        return (
            str(admin.opts.verbose_name)
            if admin is not None
            else {"poolbinding": "use of backend group", "memberbinding": "use of backend"}.get(kind, kind)
        )

    def list_url(self, kind: str, query: str = "") -> str:
        """The address of a kind's list, "" when it has none."""
        admin = self.admin_for(kind)
        return self._reverse(admin.opts, "changelist") + query if admin is not None else ""

    def url_for(self, obj: Model, actor: Actor) -> str:
        """The address of a row's page if this actor may open it, else ""; no query. Its owner must be loaded."""
        admin = self.admin_for(obj._meta.model_name or "")
        if admin is None or not reaches(obj, actor, f"{admin.right}.get"):
            return ""
        return self._reverse(admin.opts, "change", obj.pk)

    def _reverse(self, opts: Any, page: str, *args: object) -> str:
        try:
            return reverse(f"{self.name}:{opts.app_label}_{opts.model_name}_{page}", args=args)
        except NoReverseMatch:
            return ""

    # -- the frame of every page

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """Log-in first; what goes wrong in a view is told on a page of the console, with its hint."""

        @wraps(view)
        def told(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                return view(request, *args, **kwargs)
            except Problem as problem:
                if is_poll(request):
                    gone = problem.extra.get("gone")
                    template = "console/gone.html" if gone else "console/problem_box.html"
                    return polled(request, template, {"problem": problem, "gone": gone}, moving=False)
                return self.problem_page(request, problem)
            except Http404:
                return self.problem_page(request, NotFoundError("There is no such page.", hint="Check the address."))
            except PermissionDenied as refusal:
                return self.problem_page(request, ForbiddenError(str(refusal) or "Your roles do not allow this."))

        wrapped: View = super().admin_view(told, cacheable)

        @wraps(wrapped)
        def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if is_poll(request) and not self.has_permission(request):
                return ended_session()
            return wrapped(request, *args, **kwargs)

        return asked

    def problem_page(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """One problem as a page."""
        context = {**self.each_context(request), "title": problem.title, "problem": problem}
        return TemplateResponse(request, "console/problem.html", context, status=problem.status)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context: dict[str, Any] = super().each_context(request)
        if self.has_permission(request):
            context["scope_switch"] = self.scope_switch(request) if self.scope_switch else None
            context["account_pages"] = [(label, reverse(f"{self.name}:{page}")) for label, page in self.account_links]
        return context

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Django's list of apps is not shown anywhere: the sidebar is."""
        return []

    def app_index(self, request: HttpRequest, app_label: str, extra_context: Any = None) -> HttpResponse:
        """There are no pages per app."""
        raise Http404

    def get_sidebar_list(self, request: HttpRequest) -> list[dict[str, Any]]:
        """The sidebar as `UNFOLD["SIDEBAR"]` orders it, with what this actor may see; an item names a model or a page."""
        groups = []
        for group in self._get_config("SIDEBAR", request)["navigation"]:
            items = [item for given in group["items"] if (item := self._item(request, given)) is not None]
            if items:
                groups.append({"title": group["title"], "items": items})
        return groups

    def _item(self, request: HttpRequest, given: Mapping[str, str]) -> dict[str, Any] | None:
        if "page" in given:
            link = reverse(f"{self.name}:{given['page']}")
            return {**given, "link": link, "active": request.path == link}
        admin = self.admin_for(given["model"])
        if admin is None or not admin.has_view_permission(request):
            return None
        link = self._reverse(admin.opts, "changelist")
        title = given.get("title") or str(admin.opts.verbose_name_plural)
        return {**given, "title": title[:1].upper() + title[1:], "link": link, "active": request.path.startswith(link)}

    # -- pages of the site itself

    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
        """Log out, and back to the log-in."""
        return LogoutView.as_view(next_page=reverse(f"{self.name}:login"))(request)

    def index(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
        if self.home is None:
            raise Http404
        return self.home(request)

    def search(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        """The command palette: what is called like that, among the kinds that take part, as far as the actor sees. What is
        called just so comes first."""
        term = request.GET.get("s", "").strip()
        found = []
        for admin in self._registry.values():
            if term and getattr(admin, "in_palette", False) and admin.has_view_permission(request):
                seen = visible_to(admin.base_rows(), actor_of(request), f"{admin.right}.list")
                rows, _ = admin.get_search_results(request, seen.order_by(), term)
                by_name = Case(When(**{f"{admin.name_path}__iexact": term}, then=0), default=1)
                found += [
                    {
                        "title": str(row),
                        "description": admin.palette_words(row),
                        "link": self._reverse(admin.opts, "change", row.pk),
                    }
                    for row in rows.order_by(by_name, admin.name_path, "pk")[:FOUND_PER_KIND]
                ]
        pages = [
            {"title": item["title"], "description": "list", "link": item["link"]}
            for group in self.get_sidebar_list(request)
            for item in group["items"]
            if term and term.lower() in item["title"].lower()
        ]
        return TemplateResponse(
            request,
            "console/search_results.html",
            {"results": sorted(pages + found, key=lambda one: one["title"].lower() != term.lower()), "term": term},
            headers={"HX-Trigger": "search"},
        )


site = ConsoleSite()
