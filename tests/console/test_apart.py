"""Pages outside the console: what is not there, not allowed or went wrong is told on a small page of the product's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.views.csrf import csrf_failure

from config import urls


def fits(answer: HttpResponse, status: int, words: str) -> None:
    page = answer.content.decode()
    assert answer.status_code == status and words in page
    assert 'href="/console/"' in page and "Skydeck</title>" in page and 'classList.add("dark")' in page
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page


@pytest.mark.parametrize("url", ["/nothing", "/nothing/", "/consolex/"])
def test_an_address_outside_leads_back(url: str, db: None) -> None:
    fits(Client().get(url), 404, "There is no such page")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("handler", "error", "status", "words"),
    [
        (urls.handler400, SuspiciousOperation("odd"), 400, "is not understood"),
        (urls.handler403, PermissionDenied("no"), 403, "This is not allowed"),
    ],
)
def test_what_is_refused_leads_back(
    handler: Callable[[HttpRequest, Exception], HttpResponse], error: Exception, status: int, words: str
) -> None:
    fits(handler(RequestFactory().get("/there/"), error), status, words)


def test_a_mistake_leads_back() -> None:
    fits(urls.handler500(RequestFactory().get("/there/")), 500, "Skydeck made a mistake")  # type: ignore[arg-type]


def test_a_form_that_is_too_old_leads_back() -> None:
    fits(csrf_failure(RequestFactory().post("/console/")), 403, "too old to be sent")


def test_programs_are_told_in_their_way(db: None) -> None:
    answer = Client().get("/api/nothing/")
    assert answer.status_code == 404 and answer["Content-Type"].startswith("application/problem+json")
