"""Authorization requests in the browser's address, to the letter of RFC 6749, RFC 7636, RFC 8707 and RFC
9207. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct

from headwater.assistants.oauth.clients import OAuthClient
from headwater.assistants.oauth.errors import Code, OAuthError, described
from headwater.assistants.oauth.metadata import READ_SCOPE, SCOPE, parse_resource_url
from headwater.assistants.oauth.redirects import Redirect

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
"""base64url of 32 bytes, without padding."""

MOST_PARAMETERS = 50
LONGEST_QUERY = 8 * 1024


class UntrustedRequest(Exception):
    """A request with an untrusted client or redirect address. The person is shown why, and nothing is sent
    on.
    """


class AuthorizationParameters(Struct, frozen=True):
    values: Mapping[str, Sequence[str]]

    def single(self, name: str) -> str | None:
        """Return None if it is empty or repeated."""
        values = self.values.get(name, ())
        return values[0] if len(values) == 1 and values[0] else None

    def repeated(self) -> str | None:
        """Return the first repeated name; RFC 6749 §3.1 forbids repetition."""
        return next((name for name, values in self.values.items() if len(values) > 1), None)


class ReplyTarget(Struct, frozen=True):
    """The redirect address and state for the answer to the client."""

    redirect_uri: str
    state: str | None
    issuer: str

    def success(self, code: str) -> str:
        return self._add_answer({"code": code})

    def failure(self, error: Code, description: str) -> str:
        return self._add_answer({"error": error, "error_description": described(description)})

    def _add_answer(self, answer: Mapping[str, str]) -> str:
        state = {} if self.state is None else {"state": self.state}
        answer_query = urlencode({**answer, **state, "iss": self.issuer})
        joint = "&" if "?" in self.redirect_uri else "?"
        return f"{self.redirect_uri}{joint}{answer_query}"


class AuthorizationRequest(Struct, frozen=True):
    """A valid request, ready for the user's decision."""

    client: OAuthClient
    redirect: Redirect
    code_challenge: str
    resource: str | None
    space_id: int | None
    """The Space in `resource`, then the only choice."""
    read_only: bool
    """Whether the client requests to read only; otherwise the person chooses."""


def read_parameters(query: bytes) -> AuthorizationParameters:
    """Parse a query or form. Raise Untrusted if it can't be read."""
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS
        )
    except ValueError:
        raise UntrustedRequest("The address cannot be read.") from None
    if any("\0" in text for pair in pairs for text in pair):
        raise UntrustedRequest("The address holds a NUL character.")
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return AuthorizationParameters(values)


def read_client_id(parameters: AuthorizationParameters) -> str:
    """Return the requesting client's id. Raise Untrusted."""
    client_id = parameters.single("client_id")
    if client_id is None:
        raise UntrustedRequest("The address must have exactly one client_id.")
    return client_id


def read_reply_target(
    parameters: AuthorizationParameters, client: OAuthClient, issuer: str
) -> tuple[Redirect, ReplyTarget]:
    """Raise Untrusted for an unregistered address; there is no default."""
    uri = parameters.single("redirect_uri")
    if uri is None:
        raise UntrustedRequest("The address must have exactly one redirect_uri.")
    redirect = client.find_redirect(uri)
    if redirect is None:
        raise UntrustedRequest("The client has not registered this redirect_uri.")
    return redirect, ReplyTarget(uri, parameters.single("state"), issuer)


def read_request(
    parameters: AuthorizationParameters, client: OAuthClient, redirect: Redirect, base_url: str
) -> AuthorizationRequest:
    """Return the request of a trusted client. Raise OAuthError."""
    repeated = parameters.repeated()
    if repeated == "resource":
        raise OAuthError("invalid_target", "Only one resource is allowed.")
    if repeated is not None:
        raise OAuthError("invalid_request", f"{repeated} must not be given twice.")
    _check_response(parameters)
    scope = granted_scope(parameters.single("scope"))
    resource = parameters.single("resource")
    space_id = None if resource is None else parse_resource_url(base_url, resource)
    if resource is not None and space_id is None:
        raise OAuthError("invalid_target", "The resource does not belong to this server.")
    challenge, read_only = _challenge(parameters), scope == READ_SCOPE
    return AuthorizationRequest(client, redirect, challenge, resource, space_id, read_only)


def granted_scope(requested: str | None) -> str:
    """Return the widest requested scope. Raise OAuthError if just unknown ones are requested."""
    scopes: Collection[str] = requested.split() if requested is not None else ()
    if not scopes or SCOPE in scopes:
        return SCOPE
    if READ_SCOPE not in scopes:
        raise OAuthError("invalid_scope", f"The scopes are {SCOPE} and {READ_SCOPE}.")
    return READ_SCOPE


def _check_response(parameters: AuthorizationParameters) -> None:
    kind = parameters.single("response_type")
    if kind is None:
        raise OAuthError("invalid_request", "response_type is required.")
    if kind != "code":
        raise OAuthError("unsupported_response_type", "The response_type must be code.")
    if parameters.single("response_mode") not in (None, "query"):
        raise OAuthError("invalid_request", "The response_mode must be query.")
    for name in ("request", "request_uri"):
        if name in parameters.values:
            raise OAuthError("invalid_request", f"{name} is not supported.")


def _challenge(parameters: AuthorizationParameters) -> str:
    challenge = parameters.single("code_challenge")
    if challenge is None:
        raise OAuthError("invalid_request", "code_challenge is required (PKCE).")
    if parameters.single("code_challenge_method") != "S256":
        raise OAuthError("invalid_request", "code_challenge_method must be S256.")
    if not CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "code_challenge must be 43 characters of base64url.")
    return challenge
