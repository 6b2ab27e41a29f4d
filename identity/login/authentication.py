from knox.auth import TokenAuthentication  # noqa: F401
from rest_framework.authentication import SessionAuthentication  # noqa: F401
