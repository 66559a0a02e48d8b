"""An identity provider that can lie in every way, and a browser that logs in through it."""

from __future__ import annotations

import base64
import hashlib
import itertools
import secrets
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import RSAKey

from headwater.spaces.encryption import derive_key
from headwater.spaces.sso.providers import ProviderSettings, SsoProvider, add_provider, seal_secret
from tests.conftest import Running
from tests.console.browsing import Browser
from tests.support.accounts import Accounts
from tests.support.fake_platform import Answer, FakePlatform, Reaction, Step
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.wire import ReceivedRequest

DOMAIN = "acme.example"
_ADDRESSES = itertools.count(1)
SECRET = "the client's: secret%"


@cache
def signing_key(name: str = "first") -> RSAKey:
    """Return a test key. It is generated once per name."""
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig", "alg": "RS256"})


def parameters(location: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(location).query))


@dataclass
class FakeProvider:
    """One issuer on a shared server."""

    origin: str
    name: str = field(default_factory=lambda: f"p{secrets.token_hex(6)}")
    key: RSAKey = field(default_factory=signing_key)
    published: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    is_public: bool = False
    """Its client has no secret."""
    account: dict[str, Any] = field(default_factory=dict[str, Any])
    """Claims of the person who logs in."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """Changed members of the discovery document."""
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    """Changed claims of the ID token; None leaves one out."""
    header: dict[str, Any] = field(default_factory=dict[str, Any])
    userinfo: dict[str, Any] | None = None
    steps: dict[str, Reaction] = field(default_factory=dict[str, Reaction])
    """Replaces the answer of a path."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """The authorization request of each code."""
    id_token: str | None = None
    """Sent instead of a generated token."""
    calls: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.published.append(self.key.as_dict(private=False))
        self.account |= {
            "sub": secrets.token_hex(8), "email": f"ada-{self.name}@{DOMAIN}", "email_verified": True,
            "name": "Ada",
        }  # fmt: skip

    @property
    def issuer(self) -> str:
        return f"{self.origin}/{self.name}"

    def react(self, request: ReceivedRequest, path: str) -> Step:
        self.calls.append(path)
        step = self.steps.get(path)
        if step is not None:
            return step(request) if callable(step) else step
        if path == "/.well-known/openid-configuration":
            return Answer(body=self.describe())
        if path == "/jwks":
            return Answer(body={"keys": self.published})
        if path == "/userinfo":
            return Answer(body=self.userinfo or {})
        return self._exchange(request)

    def describe(self) -> dict[str, Any]:
        ends = {"authorization_endpoint": "/auth", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        return {
            "issuer": self.issuer, **{name: self.issuer + end for name, end in ends.items()},
            "authorization_response_iss_parameter_supported": True, **self.metadata,
        }  # fmt: skip

    def _exchange(self, request: ReceivedRequest) -> Answer:
        """Check the request like an honest provider."""
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        login = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            login is None
            or challenge != login["code_challenge"]
            or form["redirect_uri"] != login["redirect_uri"]
            or not self._is_client(request, form)
        ):
            return Answer(400, {"error": "invalid_grant"})
        id_token = self.id_token or self.sign(self.make_claims(login["nonce"]))
        return Answer(body={"access_token": "at", "token_type": "Bearer", "id_token": id_token})

    def _is_client(self, request: ReceivedRequest, form: dict[str, str]) -> bool:
        if self.is_public:
            return form.get("client_id") == "client" and "authorization" not in request.headers
        if self.metadata.get("token_endpoint_auth_methods_supported") == ["client_secret_post"]:
            return (form.get("client_id"), form.get("client_secret")) == ("client", SECRET)
        credentials = base64.b64encode(f"client:{quote(SECRET, safe='')}".encode()).decode()
        return request.headers["authorization"] == f"Basic {credentials}"

    def make_claims(self, nonce: str) -> dict[str, Any]:
        current_time = int(time.time())
        claims = {
            "iss": self.issuer, "aud": "client", "exp": current_time + 300, "iat": current_time,
            "nonce": nonce, **self.account, **self.claims,
        }  # fmt: skip
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, claims: dict[str, Any], header: dict[str, Any] | None = None) -> str:
        full = {"alg": "RS256", "kid": self.key.kid, **self.header, **(header or {})}
        return jwt.encode(full, claims, self.key)


class FakeProviders:
    """The server of every fake issuer."""

    def __init__(self) -> None:
        self._providers: dict[str, FakeProvider] = {}
        self.platform = FakePlatform(default=self._react)

    def make(self, **settings: Any) -> FakeProvider:
        provider = FakeProvider(self.platform.url, **settings)
        self._providers[provider.name] = provider
        return provider

    def _react(self, request: ReceivedRequest) -> Step:
        _, name, path = request.target.partition("?")[0].split("/", 2)
        return self._providers[name].react(request, f"/{path}")


@dataclass
class Desk:
    """The application with providers, and browsers that log in."""

    running: Running
    accounts: Accounts
    installation_secret: str
    providers: FakeProviders
    browsers: list[httpx.Client] = field(default_factory=list[httpx.Client])

    def browser(self) -> httpx.Client:
        number = next(_ADDRESSES)
        headers = {"X-Forwarded-For": f"12.0.{number >> 8}.{number & 255}", "Accept": "text/html"}
        browser = httpx.Client(base_url=self.running.base_url, timeout=PATIENCE_SECONDS, headers=headers)
        self.browsers.append(browser)
        return browser

    def console(self) -> Browser:
        """Return a browser that submits the console's forms."""
        browser = Browser(self.running.base_url)
        self.browsers.append(browser.client)
        return browser

    def trust(self, fake: FakeProvider, **settings: Any) -> SsoProvider:
        """Add a provider to the installation."""
        provider_settings = ProviderSettings(**{"title": "Acme ID", "domains": (DOMAIN,), **settings})
        provider = SsoProvider(fake.name, fake.issuer, "client", None, provider_settings)
        if not fake.is_public:
            provider = seal_secret(provider, derive_key(self.installation_secret), SECRET)
        self.accounts.run(lambda connection: add_provider(connection, provider))
        return provider

    def make(self, fake: dict[str, Any] | None = None, **settings: Any) -> FakeProvider:
        """Make a trusted provider."""
        provider = self.providers.make(**(fake or {}))
        self.trust(provider, **settings)
        return provider

    def begin(self, browser: httpx.Client, fake: FakeProvider, next_path: str = "/console") -> dict[str, str]:
        """Go to the provider, and return the authorization request."""
        answer = browser.get(f"/login/sso/{fake.name}", params={"next": next_path})
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(f"{fake.issuer}/auth?")
        return parameters(answer.headers["location"])

    def answer(self, fake: FakeProvider, parameters: dict[str, str]) -> dict[str, str]:
        """Return the provider's answer to a request."""
        code = secrets.token_urlsafe(16)
        fake.codes[code] = parameters
        return {"code": code, "state": parameters["state"], "iss": fake.issuer}

    def return_answer(
        self, browser: httpx.Client, fake: FakeProvider, answer: dict[str, str]
    ) -> httpx.Response:
        return browser.get(f"/login/sso/{fake.name}/callback", params=answer)

    def sign_in(
        self, fake: FakeProvider, browser: httpx.Client | None = None, next_path: str = "/console"
    ) -> httpx.Response:
        browser = browser or self.browser()
        query = self.begin(browser, fake, next_path)
        return self.return_answer(browser, fake, self.answer(fake, query))
