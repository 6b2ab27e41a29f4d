"""What a name may be (V-6 of the specs): the one check that families of resources share."""

from __future__ import annotations

import re
from collections.abc import Collection

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


RUN = re.compile(r"#+")


def generated_name(pattern: str, *, taken: Collection[str], length: int = LENGTH) -> str:
    """Spec 4.2, rule 94: the first free name of a pattern. A run of `#` becomes a counter, with zeros in front; without one
    the pattern itself is the name, and with `-1`, `-2`, … behind it once that is taken.

    >>> generated_name("web-##", taken={"web-01"})
    'web-02'
    >>> generated_name("web", taken={"web", "web-1"})
    'web-2'
    """
    plain = check_name(pattern, field="generate_name", length=length)
    run = RUN.search(plain)
    if run is None and plain not in taken:
        return plain
    for number in range(1, len(taken) + 2):
        if run is None:
            name = f"{plain}-{number}"
        else:
            name = f"{plain[: run.start()]}{number:0{len(run[0])}}{plain[run.end() :]}"
        if name not in taken:
            return check_name(name, field="generate_name", length=length)
    raise AssertionError("more numbers than names were tried")
