"""Everything that can go wrong and concerns a person, as one family of exceptions.

A `Problem` has a class name that is the contract (`code`), a status, one sentence for people, and, where known, the field,
a way out (`hint`), the cloud's own words (`cause`) and its request id. It must not hold secrets. No Django, no HTTP here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class Problem(Exception):
    """One thing that went wrong, told to a person.

    `detail`: one plain sentence. `field`: the input that caused it, as the API spells it. `hint`: what to do next.
    `cause`: the cloud's own text. `extra`: values for programs (counts, ids, the new plan).
    """

    status = 400
    title = "The request could not be carried out"

    def __init__(
        self,
        detail: str,
        *,
        field: str = "",
        hint: str = "",
        cause: str = "",
        cloud_request_id: str = "",
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.hint = hint
        self.cause = cause
        self.cloud_request_id = cloud_request_id
        self.extra = extra or {}
        self.errors: list[Problem] = []

    @property
    def code(self) -> str:
        return type(self).__name__

    def as_dict(self) -> dict[str, Any]:
        """The problem as stored on tasks and rows and shown by the API (RFC 9457 members are added there)."""
        data: dict[str, Any] = {"code": self.code, "detail": self.detail}
        for key in ("field", "hint", "cause", "cloud_request_id"):
            if getattr(self, key):
                data[key] = getattr(self, key)
        members = self.errors or ([self] if self.field else [])
        if members:
            data["errors"] = [{"field": p.field, "code": p.code, "message": p.detail} for p in members]
        data.update(self.extra)
        return data

    def __str__(self) -> str:
        return self.detail


class Remembered(Problem):
    """A problem as it was stored (`as_dict`), to be told again."""

    def __init__(self, stored: dict[str, Any]) -> None:
        super().__init__(
            str(stored.get("detail", "")),
            field=str(stored.get("field", "")),
            hint=str(stored.get("hint", "")),
            cause=str(stored.get("cause", "")),
            cloud_request_id=str(stored.get("cloud_request_id", "")),
        )
        self._code = str(stored.get("code", "Problem"))

    @property
    def code(self) -> str:
        return self._code


def several(problems: Iterable[Problem]) -> Problem:
    """One problem out of many: the first one's class, every field listed in `errors`."""
    found = list(problems)
    if len(found) == 1:
        return found[0]
    first = found[0]
    joined = type(first)(" ".join(p.detail for p in found), hint=first.hint, extra=first.extra)
    joined.errors = found
    return joined


@contextmanager
def inside(path: str) -> Iterator[None]:
    """Problems that are raised in this block name their fields below `path`: `port` as `listeners.0.port`."""
    try:
        yield
    except Problem as problem:
        for one in problem.errors or [problem]:
            one.field = f"{path}.{one.field}" if one.field else path
        raise


class InputParameterError(Problem):
    title = "A value cannot be used"


class MissingParameterError(Problem):
    title = "A value is missing"


class WeakPasswordError(Problem):
    title = "The password is too weak"


class NotSupportedError(Problem):
    title = "The cloud does not offer this"


class UnsupportedOperationError(Problem):
    title = "This cannot be done here"


class OutOfRangeError(Problem):
    title = "A value is out of range"


class UnauthorizedError(Problem):
    status = 401
    title = "Log in first"


class InvalidCredentialError(Problem):
    status = 401
    title = "These credentials were not accepted"


class ForbiddenError(Problem):
    status = 403
    title = "This is not allowed"


class NotSufficientPrivilegeError(ForbiddenError):
    title = "Your rights do not reach that far"


class ProtectedResourceError(Problem):
    status = 403
    title = "This object is protected"


class NotFoundError(Problem):
    status = 404
    title = "Not found"


class ResourceNotFoundError(NotFoundError):
    title = "No such object"


class ActionNotFoundError(NotFoundError):
    title = "No such action"


class MethodNotAllowedError(Problem):
    status = 405
    title = "The method does not fit the address"


class ConflictError(Problem):
    status = 409
    title = "This clashes with what is there"


class DuplicateNameError(ConflictError):
    title = "The name is taken"


class DuplicateResourceError(ConflictError):
    title = "More than one object fits"


class ResourceBusyError(ConflictError):
    title = "The object is in use"


class InvalidStatusError(ConflictError):
    title = "The object's state does not allow this"


class NotEmptyError(ConflictError):
    title = "The object is not empty"


class NotAcceptableError(ConflictError):
    title = "This cannot be taken up"


class OutOfQuotaError(ConflictError):
    title = "The quota is used up"


class PreconditionFailedError(Problem):
    status = 412
    title = "The object has changed since you read it"


class UnsupportedMediaTypeError(Problem):
    status = 415
    title = "The body's format is not understood"


class IdempotencyError(Problem):
    status = 422
    title = "The Idempotency-Key was used for something else"


class TooManyRequestsError(Problem):
    status = 429
    title = "Too many requests"


class TooManyFailedAttemptsError(TooManyRequestsError):
    title = "Too many failed attempts"


class InternalError(Problem):
    status = 500
    title = "Skydeck made a mistake"


class BadGatewayError(Problem):
    status = 502
    title = "The cloud failed"


class TimeoutError(Problem):
    status = 504
    title = "It took too long"


class PlanChangedError(ConflictError):
    """The task met a step that was not in the plan that was confirmed; `extra["plan"]` is the new plan."""

    title = "The cloud changed since you looked"
