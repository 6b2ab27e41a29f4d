"""Keystone: log-ins, projects, roles. Objects without a region lie in the region ""."""

from __future__ import annotations

import hashlib

from compute.clouds.memory.knobs import Knobs
from compute.clouds.memory.refusals import Answer, not_authenticated
from compute.clouds.memory.server.desk import Desk, Who
from compute.clouds.memory.store import Doc, Row, Transaction
from compute.clouds.specs import Credentials


def sealed(secret: str) -> str:
    """A password as it is kept: even a pretended cloud shows none in its dump."""
    return hashlib.sha256(secret.encode()).hexdigest()


def log_in(tx: Transaction, knobs: Knobs, credentials: Credentials, project_id: str = "") -> Who:
    """The token for a credential; `project_id` asks for another project than the credential's own.

    Raises `Answer`: 401 for what is wrong, 404 for an application credential that is gone.
    """
    tx = tx.at("")
    if credentials.kind == "application_credential":
        return _by_application_credential(tx, knobs, credentials)
    user = next(
        (
            u
            for u in tx.find("user", name=credentials.username)
            if u.doc["domain_name"] == credentials.user_domain_name and u.doc["password"] == sealed(credentials.secret)
        ),
        None,
    )
    if user is None or not user.doc["enabled"]:
        raise not_authenticated()
    project = _project(tx, credentials, project_id)
    roles = tuple(sorted(g.name for g in tx.find("grant", parent=user.id, link=project.id))) if project else ()
    if project and not roles:
        raise not_authenticated()
    return Who(
        user_id=user.id,
        user_name=user.name,
        project_id=project.id if project else "",
        project_name=project.name if project else "",
        roles=roles,
        catalogue=knobs.catalogue if project else {},
        proof=("user", user.id, user.doc["password"]),
    )


def still_valid(tx: Transaction, who: Who) -> bool:
    """Whether what the token was given for is still there and unchanged."""
    kind, id, secret = who.proof
    row = tx.at("").get(kind, id)
    return row is not None and row.doc.get("enabled", True) and row.doc["password"] == secret


def projects(desk: Desk) -> list[Doc]:
    """An admin sees all projects, others those in which they have a role, an application credential its own."""
    tx = desk.tx.at("")
    if desk.who.is_admin:
        return [row.doc for row in tx.find("project")]
    if desk.who.is_bound:
        return [row.doc for row in tx.find("project", ids=[desk.who.project_id])]
    ids = sorted({grant.link for grant in tx.find("grant", parent=desk.who.user_id)})
    return [row.doc for row in tx.find("project", ids=ids)]


def tagged_projects(desk: Desk, tag: str) -> list[Doc]:
    """The projects that carry a tag. Raises `Answer` for those who may not list all."""
    _need_admin(desk, "identity:list_projects")
    return [row.doc for row in desk.tx.at("").find("project") if tag in row.doc["tags"]]


def create_project(desk: Desk, name: str, *, tag: str, description: str) -> Doc:
    """A new project in the domain of the token's own. Raises `Answer`: 403, or 409 where the name is taken."""
    _need_admin(desk, "identity:create_project")
    tx = desk.tx.at("")
    own = tx.get("project", desk.who.project_id)
    domain = {name: own.doc[name] for name in ("domain_id", "domain_name")} if own else {}
    if any(row.doc["domain_id"] == domain["domain_id"] for row in tx.find("project", name=name)):
        raise Answer(
            409,
            "Conflict occurred attempting to store project - it is not permitted to have two projects with the same name in "
            f"the same domain : {name}.",
        )
    id = desk.new_id().replace("-", "")
    doc: Doc = {
        "id": id, "name": name, "description": description, "enabled": True, **domain, "is_domain": False,
        "parent_id": domain["domain_id"], "tags": [tag],
    }  # fmt: skip
    tx.insert(Row("project", id, doc, name=name))
    return doc


def grant(desk: Desk, project_id: str, role: str) -> None:
    """Give the token's user a role in a project. Raises `Answer`: 403, or 404 for a project that is gone."""
    _need_admin(desk, "identity:create_grant")
    tx = desk.tx.at("")
    if tx.get("project", project_id) is None:
        raise Answer(404, f"Could not find project: {project_id}.")
    id = f"{desk.who.user_id}:{project_id}:{role}"
    if tx.get("grant", id) is None:
        tx.insert(Row("grant", id, {}, parent=desk.who.user_id, link=project_id, name=role))


def _need_admin(desk: Desk, action: str) -> None:
    if not desk.who.is_admin:
        raise Answer(403, f"You are not authorized to perform the requested action: {action}.")


def _by_application_credential(tx: Transaction, knobs: Knobs, credentials: Credentials) -> Who:
    credential = tx.get("application_credential", credentials.application_credential_id)
    if credential is None:
        raise Answer(404, f"Could not find Application Credential: {credentials.application_credential_id}.")
    user, project = tx.get("user", credential.parent), tx.get("project", credential.project)
    if credential.doc["password"] != sealed(credentials.secret) or user is None or not user.doc["enabled"]:
        raise not_authenticated()
    if project is None or not project.doc["enabled"]:
        raise not_authenticated()
    return Who(
        user_id=user.id,
        user_name=user.name,
        project_id=project.id,
        project_name=project.name,
        roles=tuple(credential.doc["roles"]),
        catalogue=knobs.catalogue,
        proof=("application_credential", credential.id, credential.doc["password"]),
    )


def _project(tx: Transaction, credentials: Credentials, project_id: str) -> Row | None:
    """The project that a token is wanted for; None asks for one without a project. Raises 401 when it is not there."""
    if not project_id and not credentials.project_name:
        return None
    if project_id:
        found = tx.get("project", project_id)
    else:
        named = tx.find("project", name=credentials.project_name)
        found = next((p for p in named if p.doc["domain_name"] == credentials.project_domain_name), None)
    if found is None or not found.doc["enabled"]:
        raise not_authenticated()
    return found
