"""What a memory cloud says instead of success, in the words of the real services, and which `CloudError` that becomes.

The server half raises `Answer`; the wire turns it into an error of `compute.clouds.errors` by the table at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from compute.clouds.calls import Call
from compute.clouds.errors import Busy, CloudError, Gone, QuotaFull, Refused, Unauthorised, Unreachable, Unsupported

HTML = (
    "<html><head><title>503 Service Unavailable</title></head><body><h1>503</h1>No server is available.</body></html>"
)


@dataclass
class Answer(Exception):
    """An HTTP answer that is not a success. Status 0: no answer came. `kind`: Neutron's stable name for it."""

    status: int
    words: str
    kind: str = ""


def not_found(thing: str, id: str) -> Answer:
    return Answer(404, f"{thing} {id} not found.")


def absent_subresource(thing: str, id: str) -> Answer:
    """Octavia's answer when a thing that the body names is not there: 400, not 404."""
    return Answer(400, f"{thing} {id} not found.")


def invalid(detail: str) -> Answer:
    return Answer(400, f"Validation failure: {detail}")


def bad_value(name: str, value: object, why: str) -> Answer:
    return Answer(400, f"Invalid input for field/attribute {name}. Value: '{value}'. {why}")


def unknown_attribute(argument: str, name: str) -> Answer:
    return Answer(400, f"Unknown attribute for argument {argument}: {name}")


def unsupported_option(provider: str, words: str) -> Answer:
    return Answer(501, f"Provider '{provider}' does not support a requested option: {words}")


def immutable(balancer_id: str) -> Answer:
    """The answer to a write below a balancer that is being changed, or is in ERROR."""
    return Answer(409, f"Load Balancer {balancer_id} is immutable and cannot be updated.")


def wrong_state(state: str, balancer_id: str) -> Answer:
    """The answer to a write to a balancer itself that is being changed, or is in ERROR."""
    return Answer(409, f"Invalid state {state} of loadbalancer resource {balancer_id}")


def quota_met(thing: str) -> Answer:
    return Answer(403, f"Quota has been met for resources: {thing}")


def over_quota(thing: str) -> Answer:
    return Answer(409, f"Quota exceeded for resources: ['{thing}'].", "OverQuota")


def policy() -> Answer:
    return Answer(403, "Policy does not allow this request to be performed.")


def disallowed(action: str) -> Answer:
    return Answer(403, f"rule:{action} is disallowed by policy", "PolicyNotAuthorized")


def not_authenticated() -> Answer:
    return Answer(401, "The request you have made requires authentication.")


def lost() -> Answer:
    return Answer(0, "The connection was closed before the answer came.")


def as_error(answer: Answer, *, request_id: str = "", call: Call | None = None) -> CloudError:
    """The error that a driver raises for an answer to a call; keeps the cloud's words and its request id."""
    kind, sentence = _meaning(answer, call or Call("", "", ""))
    return kind(sentence, http_status=answer.status, cause=answer.words, cloud_request_id=request_id)


def _meaning(answer: Answer, call: Call) -> tuple[type[CloudError], str]:
    status, words = answer.status, answer.words
    if status == 0:
        return Unreachable, "The cloud did not answer."
    if status >= 500 and status != 501:
        return Unreachable, f"The cloud answered {status}."
    if status == 501:
        return Unsupported, f"The cloud does not offer this: {words}"
    if status == 401 or (status == 404 and call.path.endswith("/auth/tokens")):
        return Unauthorised, "The cloud did not accept the credential."
    if status == 404 and call.method == "PUT" and not any(id in words for id in _ids(call.path)):
        return Refused, f"Something that the change refers to is not there: {words}"
    if status == 404:
        return Gone, f"The object is gone at the cloud: {words}"
    if "Quota" in words and status in (403, 409, 413):
        return QuotaFull, f"The cloud's quota is used up: {words}"
    if status == 429 or (status == 409 and ("immutable" in words or words.startswith("Invalid state PENDING"))):
        return Busy, f"The cloud is busy with this object: {words}"
    return Refused, f"The cloud refused: {words}"


def _ids(path: str) -> list[str]:
    """The ids in a path; a 404 to a change that names none of them is about something else."""
    return [part for part in path.split("/")[-3:] if any(character.isdigit() for character in part)]
