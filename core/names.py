"""What a name may be (V-6 of the specs): the one check that families of resources share."""

from __future__ import annotations

from core.errors import InputParameterError, MissingParameterError

LENGTH = 128


def check_name(name: str, *, field: str = "name", length: int = LENGTH) -> str:
    """V-6, rules 91 and 92: not empty, not too long, on one line, and as it looks: nothing that is not seen or that turns the
    direction of the text round. Returns the name without blanks around it."""
    text = name.strip(" ")
    if not text.strip():
        raise MissingParameterError("A name is needed.", field=field)
    if not text.isprintable():
        raise InputParameterError("A name is on one line and has no invisible characters.", field=field)
    if len(text) > length:
        raise InputParameterError(f"A name has at most {length} characters; this one has {len(text)}.", field=field)
    return text
