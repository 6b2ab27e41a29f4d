"""A refusal in full, for tests of pure rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core.errors import Problem


def said(call: Callable[[], Any]) -> tuple[str, str, str, str]:
    """Class, field, sentence and way out of a refusal."""
    with pytest.raises(Problem) as refused:
        call()
    problem = refused.value
    return problem.code, problem.field, problem.detail, problem.hint
