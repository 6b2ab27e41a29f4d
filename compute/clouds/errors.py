"""What a cloud can answer instead of success, in seven kinds. Drivers map their SDK's errors to these by a table.

Each keeps the cloud's own words (`cause`), its status and its request id; none ever holds a secret.
"""

from __future__ import annotations

from typing import Any

from core.errors import Problem


class CloudError(Problem):
    """Anything that went wrong at a cloud. `http_status` is the cloud's own, 0 when there was no answer.

    `doubtful`: the change may have been made all the same, so look before anything is sent again.
    """

    status = 502
    title = "The cloud failed"
    doubtful = False

    def __init__(self, detail: str, *, http_status: int = 0, **kwargs: Any) -> None:
        super().__init__(detail, **kwargs)
        self.http_status = http_status

    @property
    def code(self) -> str:
        return "BadGatewayError"


class Refused(CloudError):
    """The cloud understood and said no (400, 403, 409 that is not about being busy)."""

    title = "The cloud refused"
    status = 409

    @property
    def code(self) -> str:
        return "NotAcceptableError"


class QuotaFull(Refused):
    """The cloud's quota is used up."""

    title = "The cloud's quota is used up"

    @property
    def code(self) -> str:
        return "OutOfQuotaError"


class Busy(CloudError):
    """The object is being changed at the cloud (409 "immutable"): come back when it is ACTIVE."""

    title = "The cloud is busy with this object"
    status = 409

    @property
    def code(self) -> str:
        return "ResourceBusyError"


class Gone(CloudError):
    """The object is not there (404)."""

    title = "The object is gone at the cloud"
    status = 404

    @property
    def code(self) -> str:
        return "ResourceNotFoundError"


class Unauthorised(CloudError):
    """The credential was not accepted (401; 404 for a deleted application credential)."""

    title = "The cloud did not accept the credential"
    status = 502

    @property
    def code(self) -> str:
        return "InvalidCredentialError"


class Unreachable(CloudError):
    """No useful answer: connection refused, TLS failure, time-out, 5xx, a body that is not the API's."""

    title = "The cloud could not be reached"
    doubtful = True


class Unsupported(CloudError):
    """The cloud or its provider does not offer this (501, service missing from the catalogue)."""

    title = "The cloud does not offer this"
    status = 400

    @property
    def code(self) -> str:
        return "NotSupportedError"
