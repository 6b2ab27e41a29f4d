"""The ASGI entry point (`uvicorn config.asgi:application`)."""

import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.prod")
application = get_asgi_application()

# What is loaded by now lives as long as the process: no collection needs to go through it again and again.
gc.collect()
gc.freeze()
