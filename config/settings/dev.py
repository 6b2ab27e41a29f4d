"""Settings for work on Skydeck itself: tracebacks in the browser, everything else as in production."""

from config.settings.base import *  # noqa: F403  (settings modules build on each other by design of Django)

DEBUG = True
