"""How an installation is put together: settings, URLs, servers, Celery."""
