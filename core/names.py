"""What a name may be (V-6 of the specs): the one check that families of resources share."""

from __future__ import annotations

import re

from core.errors import InputParameterError, MissingParameterError

LENGTH = 128


def check_name(name: str, *, field: str = "name") -> str:
    """V-6: trimmed, one line, not empty, at most 128 characters. Returns the trimmed name."""
    if re.search(r"[\n\r\t\x00]", name):
        raise InputParameterError("A name cannot hold line breaks or tabs.", field=field)
    name = name.strip()
    if not name:
        raise MissingParameterError("A name is needed.", field=field)
    if len(name) > LENGTH:
        raise InputParameterError(f"A name has at most {LENGTH} characters.", field=field)
    return name
