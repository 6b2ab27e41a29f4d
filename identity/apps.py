"""Django's entry to the app: it imports what registers itself."""

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    name = "identity"
    verbose_name = "Identity"

    def ready(self) -> None:
        from identity.login import schema  # noqa: F401  (registers the authentication schemes)
