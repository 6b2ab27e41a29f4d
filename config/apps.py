"""Django's entry to the installation: loading the Celery application makes it the one that rings go through."""

from django.apps import AppConfig

from config import celery


class InstallationConfig(AppConfig):
    name = "config"
    verbose_name = "Installation"
    celery_app = celery.app
