"""What a cloud can answer instead of success, in seven kinds. Drivers map their SDK's errors to these by a table.

Each keeps the cloud's own words (`cause`), its status and its request id; none ever holds a secret.
"""

from __future__ import annotations

import re
from typing import Any

from core.errors import Problem

LONGEST_TEXT = 1200  # characters of one text of an error: a cloud may name its regions as it likes
LONGEST_WORD = 300


def shown(text: str) -> str:
    """A text that repeats what a cloud said, as it may be stored and shown: without NUL and halves of characters, and not too
    long, neither a single word of it nor the whole.

    >>> shown("a region\\x00")
    'a region'
    """
    text = text.replace("\x00", "").encode("utf-8", "replace").decode()
    if len(text) > LONGEST_WORD:
        text = re.sub(rf"(\S{{{LONGEST_WORD - 1}}})\S{{2,}}", r"\1…", text)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


class CloudError(Problem):
    """Anything that went wrong at a cloud. `http_status` is the cloud's own, 0 when there was no answer. Its texts are `shown`.

    `doubtful`: the change may have been made all the same, so look before anything is sent again.
    """

    status = 502
    title = "The cloud failed"
    doubtful = False

    def __init__(
        self,
        detail: str,
        *,
        http_status: int = 0,
        hint: str = "",
        cause: str = "",
        cloud_request_id: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            shown(detail), hint=shown(hint), cause=shown(cause), cloud_request_id=shown(cloud_request_id), **kwargs
        )
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
