"""Django's entry to the app: providers and jobs make themselves known when it starts."""

from django.apps import AppConfig


class ComputeConfig(AppConfig):
    name = "compute"
    verbose_name = "Clouds"

    def ready(self) -> None:
        from compute import startup

        startup.register_all()
