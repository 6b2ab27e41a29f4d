"""Problems as answers (RFC 9457)."""
from rest_framework.views import exception_handler  # noqa: F401
