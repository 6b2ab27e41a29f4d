"""Settings of the test suite: a throw-away state folder, quick password hashes, the memory cloud, no broker."""

import os
import tempfile

os.environ.setdefault("SKYDECK_HOME", tempfile.mkdtemp(prefix="skydeck-test-"))
os.environ.setdefault("SKYDECK_INSTALLATION", "test")

from config.settings.base import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
ALLOWED_HOSTS = ["*"]
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, so that threads and processes of one test see one database, with the locks that users have.
    DATABASES["default"]["TEST"] = {"NAME": SKYDECK_HOME / "test.sqlite3"}
# Real lab clouds listen on loopback.
SKYDECK_OUTBOUND_ALLOW = ["127.0.0.0/8"]
