"""Django's entry to the app: it imports the system checks so that they register."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "core"
    verbose_name = "Skydeck"

    def ready(self) -> None:
        from core import checks  # noqa: F401  (registers the system checks)
