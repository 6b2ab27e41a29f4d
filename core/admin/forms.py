"""Forms of the console in the theme's look, and how a `Problem` of a service finds its field. Forms parse; they check no rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.admin.views.main import SEARCH_VAR

from core.errors import Problem


class LogInForm(AdminAuthenticationForm):
    """Log-in. Says why a right password does not help when the person has no role."""

    error_messages = {
        "invalid_login": "This name and password do not fit together. Names of other domains are written name@domain.",
        "inactive": "This user is disabled.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "User name"
        self.fields["username"].widget.attrs.update(
            {"class": "sd-input", "autofocus": True, "autocomplete": "username", "autocapitalize": "none"}
        )
        self.fields["password"].widget.attrs.update({"class": "sd-input", "autocomplete": "current-password"})

    def confirm_login_allowed(self, user: Any) -> None:
        if not user.is_staff:
            raise forms.ValidationError(
                "You have no role yet, so there is nothing to show. Ask an administrator for one."
            )


class SearchForm(forms.Form):
    """What a list is searched for, as it was typed: what cannot be in any name finds nothing, and is not left out."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[SEARCH_VAR] = forms.Field(required=False)


class TextInput(forms.TextInput):
    """A line of text."""

    def __init__(self, attrs: Mapping[str, Any] | None = None) -> None:
        super().__init__({"class": "sd-input", "autocomplete": "off", **(attrs or {})})


class NumberInput(forms.NumberInput):
    """A number."""

    def __init__(self, attrs: Mapping[str, Any] | None = None) -> None:
        super().__init__({"class": "sd-input sd-short", **(attrs or {})})


class TextArea(forms.Textarea):
    """Several lines of text."""

    def __init__(self, attrs: Mapping[str, Any] | None = None) -> None:
        super().__init__({"class": "sd-input", "rows": 4, "spellcheck": "false", **(attrs or {})})


class PasswordInput(forms.PasswordInput):
    """A secret; never sent back to the browser."""

    def __init__(self, attrs: Mapping[str, Any] | None = None) -> None:
        super().__init__({"class": "sd-input", "autocomplete": "new-password", **(attrs or {})})


class Select(forms.Select):
    """One of a list."""

    def __init__(self, attrs: Mapping[str, Any] | None = None, choices: Any = ()) -> None:
        super().__init__({"class": "sd-input sd-select", **(attrs or {})}, choices)


class Radios(forms.RadioSelect):
    """One of a few, all in sight."""

    def __init__(self, attrs: Mapping[str, Any] | None = None, choices: Any = ()) -> None:
        super().__init__({"class": "sd-radios", **(attrs or {})}, choices)


class Checks(forms.CheckboxSelectMultiple):
    """Some of a few, all in sight."""

    def __init__(self, attrs: Mapping[str, Any] | None = None, choices: Any = ()) -> None:
        super().__init__({"class": "sd-checks", **(attrs or {})}, choices)


class Switch(forms.CheckboxInput):
    """Yes or no."""

    def __init__(self, attrs: Mapping[str, Any] | None = None) -> None:
        super().__init__({"class": "sd-switch", "role": "switch", **(attrs or {})})


class ConsoleForm(forms.Form):
    """Base of all forms of change pages.

    `sections`: how the fields are grouped, as (title, names); fields that no section names come first. `field_of`: where a
    problem's field, as the API spells it, belongs when the form's field is called otherwise. `more`: names of fields that
    wait behind “More settings”.
    """

    required_css_class = "required"
    sections: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = ()
    more: ClassVar[tuple[str, ...]] = ()
    field_of: ClassVar[Mapping[str, str]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.problem: Problem | None = None

    def add_problem(self, problem: Problem) -> None:
        """Show a service's problem at its field, else above the form with its hint."""
        for one in problem.errors or [problem]:
            name = self._field_for(one.field)
            if name:
                self.add_error(name, f"{one.detail} {one.hint}".strip())
            else:
                self.problem = problem
        if self.problem is None and (problem.cause or problem.cloud_request_id):
            self.problem = problem

    def places_of(self, problem: Problem) -> list[tuple[forms.BoundField | None, Problem]]:
        """Each part of a problem with the field that it is about; None for one that the form does not have."""
        parts = problem.errors or [problem]
        return [(self[name] if (name := self._field_for(one.field)) else None, one) for one in parts]

    def _field_for(self, given: str) -> str:
        """The form's field for a problem's: by its whole name, or the outermost part of its path that the form has."""
        for part in (given, *given.split(".")):
            name = self.field_of.get(part, part)
            if name in self.fields:
                return name
        return ""

    def named(self, names: tuple[str, ...]) -> list[forms.BoundField]:
        return [self[name] for name in names if name in self.fields]

    def blocks(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The visible fields as the template draws them: (title, fields), without those behind “More settings”."""
        taken = {name for _, names in self.sections for name in names} | set(self.more)
        first = [bound for bound in self.visible_fields() if bound.name not in taken]
        blocks = [("", first)] if first else []
        return blocks + [(title, fields) for title, names in self.sections if (fields := self.named(names))]

    def more_fields(self) -> list[forms.BoundField]:
        return self.named(self.more)

    @property
    def more_open(self) -> bool:
        """True when something behind “More settings” has to be seen."""
        return any(name in self.errors for name in self.more) if self.is_bound else False
