"""Index of the app's models; each lives in its family."""

from identity.access.models import Role, RoleAssignment
from identity.directory.models import Domain, Project, User
from identity.login.models import ApiToken

__all__ = ["ApiToken", "Domain", "Project", "Role", "RoleAssignment", "User"]
