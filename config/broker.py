"""The embedded broker's one weak point, mended: a message appears in its folder whole or not at all.

kombu's filesystem transport opens the file under its final name before it writes, so that a reader may meet half a message and
its worker dies of it. Here the file is written beside and renamed.
"""

from __future__ import annotations

import os
import uuid
from time import monotonic
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):  # type: ignore[misc]
    """A channel whose messages are put in one step."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        draft = os.path.join(self.data_folder_out, f".{name}.draft")
        try:
            with open(draft, "w", encoding="utf-8") as file:
                file.write(dumps(payload))
            os.replace(draft, os.path.join(self.data_folder_out, name))
        except OSError as error:
            raise ChannelError(f"the message cannot be put into {self.data_folder_out}") from error


class Transport(filesystem.Transport):  # type: ignore[misc]
    """The filesystem transport with that channel."""

    Channel = Channel
