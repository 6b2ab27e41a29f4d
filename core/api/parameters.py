"""The query string, strictly read: what is unknown, empty, doubled or odd is refused by name, never ignored."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from rest_framework.request import Request

from core.access import Actor, Owner, Reach
from core.api.filters import ProblemInForm, ResourceFilterSet
from core.errors import ForbiddenError, InputParameterError, Problem, several

SHAPE = ("fields", "omit", "details")
PAGING = ("limit", "offset", "cursor")
SCOPES = {str(r): r for r in (Reach.SYSTEM, Reach.DOMAIN, Reach.PROJECT, Reach.OWN)}


def check_known(params: QueryDict, known: Iterable[str], *, many: Iterable[str] = ()) -> None:
    """Refuse parameters that are unknown, empty, or given twice where one value is meant."""
    names, repeatable = set(known), set(many)
    problems: list[Problem] = []
    for name in params:
        values = params.getlist(name)
        if name not in names:
            close = difflib.get_close_matches(_in_our_words(name), names, n=1)
            hint = f"Did you mean “{close[0]}”?" if close else f"Known here: {', '.join(sorted(names)) or 'none'}."
            problems.append(InputParameterError(f"There is no parameter “{name}” here.", field=name, hint=hint))
        elif len(values) > 1 and name not in repeatable:
            problems.append(InputParameterError(f"“{name}” is given more than once.", field=name))
        elif any(value == "" for value in values) and name != "cursor":  # an empty cursor begins a walk
            problems.append(InputParameterError(f"“{name}” is empty.", field=name))
    if problems:
        raise several(problems)


# How others say from when and until when.
BOUNDS = {
    "after": "gte",
    "since": "gte",
    "from": "gte",
    "gt": "gte",
    "before": "lte",
    "until": "lte",
    "to": "lte",
    "lt": "lte",
}


def _in_our_words(name: str) -> str:
    """An unknown parameter as we would call it: `created_after` is `created_at__gte`."""
    start, _, end = name.replace("__", "_").rpartition("_")
    return f"{start.removesuffix('_at')}_at__{BOUNDS[end]}" if end in BOUNDS else name


def boolean(params: Mapping[str, Any], name: str) -> bool | None:
    """`true`, `false`, or None where the parameter is not given."""
    text = params.get(name)
    if text is None:
        return None
    if text not in ("true", "false"):
        raise InputParameterError(f"“{name}” has to be true or false.", field=name)
    return bool(text == "true")


@dataclass(frozen=True)
class Shape:
    """Which fields of an object an answer shows."""

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    details: bool = True


def shape_of(params: QueryDict, names: Iterable[str]) -> Shape:
    """Read `fields=`, `omit=` and `details=` against the fields that the resource has."""
    known = set(names)
    only = _names(params, "fields", known)
    return Shape(
        only=None if only is None else only | {"id"},
        without=(_names(params, "omit", known) or frozenset()) - {"id"},
        details=boolean(params, "details") is not False,
    )


def _names(params: QueryDict, parameter: str, known: set[str]) -> frozenset[str] | None:
    if parameter not in params:
        return None
    asked = [name for value in params.getlist(parameter) for name in value.split(",")]
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise InputParameterError(
            f"“{parameter}”: there is no field “{unknown[0]}”.",
            field=parameter,
            hint=f"Known: {', '.join(sorted(known))}.",
        )
    return frozenset(asked)


def filtered(
    filterset_class: type[ResourceFilterSet], queryset: QuerySet[Any], request: Request, *, also: Iterable[str] = ()
) -> QuerySet[Any]:
    """The rows that fit the query string. Raises one problem that names every parameter that cannot be used.

    A reference that fits nothing visible keeps its own class and status (404, or 409 for an ambiguous name).
    """
    params = request.query_params
    filters = filterset_class.base_filters
    check_known(
        params, [*filters, *also], many=[*(n for n, f in filters.items() if getattr(f, "many", False)), *SHAPE[:2]]
    )
    filterset = filterset_class(params, queryset, request=request._request)
    if not filterset.is_valid():
        raise several(list(_problems(filterset)))
    rows: QuerySet[Any] = filterset.qs
    return rows


def _problems(filterset: ResourceFilterSet) -> Iterable[Problem]:
    for name, found in filterset.form.errors.as_data().items():
        for error in found:
            if isinstance(error, ProblemInForm):
                error.problem.field = name
                yield error.problem
            else:
                yield InputParameterError(f"“{name}”: {' '.join(error.messages)}", field=name)


def narrowed(queryset: QuerySet[Any], actor: Actor, right: str, params: QueryDict) -> QuerySet[Any]:
    """Apply `scope=`: only the rows of a narrower scope than the right reaches."""
    text = params.get("scope")
    if text is None:
        return queryset
    if text not in SCOPES:
        raise InputParameterError(f"“scope” has to be one of {', '.join(SCOPES)}.", field="scope")
    wanted, reach = SCOPES[text], actor.decide(right).reach
    if wanted.rank > reach.rank:
        raise ForbiddenError(
            f"The scope “{wanted}” is asked for, but {right} reaches “{reach}” only.",
            hint="Leave the parameter out, or switch to a wider scope.",
            extra=actor.refusal(right),
        )
    owner: Owner | None = getattr(queryset.model, "owner", None)
    q = owner.q(actor, wanted, reading=True) if owner is not None else None
    if q is None:
        raise InputParameterError(
            f"You are not working in a {wanted} now, so “scope={wanted}” means nothing.", field="scope"
        )
    return queryset.filter(q)
