"""Settings of an installation. `SKYDECK_HTTPS=true` once a proxy in front speaks TLS."""

from config.env import env
from config.settings.base import *

if env.bool("SKYDECK_HTTPS", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 31536000
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
