"""Every error as `application/problem+json` (RFC 9457): the one place that turns exceptions into answers.

Nothing leaves here that a caller may not see: no stack trace, no SQL, no secret. What is unexpected is logged with the
request's id and answered with that id alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import structlog
from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
)
from django.db.models import ProtectedError, RestrictedError
from django.db.utils import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import Resolver404, resolve
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import set_rollback

from core import errors
from core.api.renderers import JSONRenderer
from core.errors import Problem
from core.middleware import request_id_of

log = structlog.get_logger(__name__)

CONTENT_TYPE = "application/problem+json"
API_PREFIX = "/api/"


def exception_handler(exc: Exception, context: Mapping[str, Any]) -> Response:
    """DRF's hook: the answer to any exception that a view raises."""
    set_rollback()
    request = context.get("request")
    problem = problem_of(exc)
    headers: dict[str, str] = {}
    wait = getattr(exc, "wait", None)
    if isinstance(exc, exceptions.Throttled) and wait:
        headers["Retry-After"] = str(int(wait) + 1)
    if problem.status == 401:
        headers["WWW-Authenticate"] = getattr(exc, "auth_header", "") or "Token"
    return Response(
        body_of(problem, request_id_of(request) if request is not None else ""),
        status=problem.status,
        headers=headers,
        content_type=CONTENT_TYPE,
    )


def body_of(problem: Problem, request_id: str = "") -> dict[str, Any]:
    """The members of RFC 9457 around what the problem says of itself."""
    return {
        "type": f"urn:skydeck:problem:{problem.code}",
        "title": problem.title,
        "status": problem.status,
        **problem.as_dict(),
        "request_id": request_id,
    }


def problem_of(exc: Exception) -> Problem:
    """The problem that tells an exception to a person."""
    if isinstance(exc, Problem):
        return exc
    if isinstance(exc, exceptions.ValidationError):
        return problem_of_fields(exc.get_full_details())
    if isinstance(exc, exceptions.APIException):
        return _problem_of_api_exception(exc)
    if isinstance(exc, (Http404, ObjectDoesNotExist)):
        return errors.ResourceNotFoundError("There is nothing at this address that you can see.")
    if isinstance(exc, PermissionDenied):
        return errors.ForbiddenError(str(exc) or "This is not allowed.")
    if isinstance(exc, TooManyFieldsSent):
        return errors.InputParameterError(
            "The request has more parameters than are read.", hint="Ask in several requests, with fewer values each."
        )
    if isinstance(exc, RequestDataTooBig):
        return errors.InputParameterError("The body is too large.")
    if isinstance(exc, SuspiciousOperation):
        return errors.InputParameterError("The request is not well formed.")
    if isinstance(exc, (ProtectedError, RestrictedError)):
        return errors.NotEmptyError("Other objects still need this one.", hint="Delete or move them first.")
    if isinstance(exc, IntegrityError):
        log.warning("a database constraint refused a change", error=str(exc))
        return errors.ConflictError(
            "This clashes with something that is already there.", hint="Read it again and retry."
        )
    log.error("unexpected error", exc_info=exc)
    return errors.InternalError(
        "Skydeck made a mistake while it did this.",
        hint="Try again. If it happens again, tell an administrator the request id: the details are in the log.",
    )


def _problem_of_api_exception(exc: exceptions.APIException) -> Problem:
    detail = str(exc.detail)
    if isinstance(exc, exceptions.NotAuthenticated):
        return errors.UnauthorizedError(
            "Log in first.", hint="Send “Authorization: Token …”; get one at /api/auth/tokens/."
        )
    if isinstance(exc, exceptions.AuthenticationFailed):
        return errors.UnauthorizedError(detail)
    if isinstance(exc, exceptions.PermissionDenied):
        return errors.ForbiddenError(detail)
    if isinstance(exc, exceptions.NotFound):
        return errors.NotFoundError("There is nothing at this address that you can see.")
    if isinstance(exc, exceptions.MethodNotAllowed):
        return errors.MethodNotAllowedError(detail)
    if isinstance(exc, exceptions.UnsupportedMediaType):
        return errors.UnsupportedMediaTypeError(detail, hint="Send JSON with “Content-Type: application/json”.")
    if isinstance(exc, exceptions.Throttled):
        return errors.TooManyRequestsError(detail)
    return errors.InputParameterError(detail)


def problem_of_fields(details: Any) -> Problem:
    """One problem of DRF's nested messages: `MissingParameterError` if something only lacks, else `InputParameterError`."""
    found = [_problem_of_field(field, entry) for field, entry in _leaves(details)]
    found.sort(key=lambda p: isinstance(p, errors.MissingParameterError))
    return errors.several(found) if found else errors.InputParameterError("The body cannot be used.")


def _leaves(details: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(details, Mapping):
        if "message" in details and "code" in details and not isinstance(details["message"], (dict, list)):
            yield path, details
            return
        for key, value in details.items():
            plain = key == api_settings.NON_FIELD_ERRORS_KEY
            yield from _leaves(value, path if plain else f"{path}.{key}" if path else str(key))
    elif isinstance(details, list):
        leaves = all(isinstance(d, Mapping) and "message" in d and "code" in d for d in details)
        for position, value in enumerate(details):
            yield from _leaves(value, path if leaves else f"{path}.{position}" if path else str(position))


def _problem_of_field(field: str, entry: Mapping[str, Any]) -> Problem:
    code, message = str(entry["code"]), str(entry["message"])
    if code == "required":
        return errors.MissingParameterError(f"“{field}” is missing.", field=field)
    return errors.InputParameterError(f"“{field}”: {message}" if field else message, field=field)


# --- Django's own error pages ---------------------------------------------------------------------------------------------


def respond(request: HttpRequest, problem: Problem) -> HttpResponse:
    """A problem as a plain Django response, for everything that no DRF view has seen."""
    response = HttpResponse(
        JSONRenderer().render(body_of(problem, request_id_of(request))),
        status=problem.status,
        content_type=CONTENT_TYPE,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@csrf_exempt  # nothing is done here; a program without a cookie is told what is wrong like any other
def unknown_address(request: HttpRequest, path: str = "") -> HttpResponse:
    """Whatever no route of the API fits: told with what may be meant."""
    if not request.path.endswith("/"):
        return respond(request, errors.NotFoundError("There is nothing here.", hint="Addresses end with a slash."))
    above, _, last = request.path.rstrip("/").rpartition("/")
    if request.method == "POST" and _is_object(f"{above}/"):
        return respond(request, errors.ActionNotFoundError(f"No action is called “{last}” here."))
    return respond(
        request, errors.NotFoundError("There is nothing here.", hint="The addresses are listed at /api/docs/.")
    )


def _is_object(path: str) -> bool:
    try:
        return "pk" in resolve(path).kwargs
    except Resolver404:
        return False


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler400."""
    if request.path.startswith(API_PREFIX):
        return respond(request, problem_of(exception))
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler403."""
    if request.path.startswith(API_PREFIX):
        return respond(request, problem_of(exception))
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler404."""
    if request.path.startswith(API_PREFIX):
        return unknown_address(request)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Django's handler500; the error itself is logged by Django with its traceback."""
    if request.path.startswith(API_PREFIX):
        return respond(request, errors.InternalError("Skydeck made a mistake while it did this."))
    return defaults.server_error(request)
