"""Settings for work on Skydeck itself: tracebacks in the browser, everything else as in production."""

from config.settings.base import *

DEBUG = True
