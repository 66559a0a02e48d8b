"""A fake token endpoint: access tokens that replace each other, and refresh tokens that may rotate."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import parse_qs

from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

CLIENT = {"client_id": "headwater-app", "client_secret": "not-a-secret-of-anybody"}
SECRETS = {**CLIENT, "refresh_token": "refresh-0"}


class PretendTokens:
    """Issue access-1, access-2 and so on. With `rotates`, also issue refresh-1, refresh-2."""

    def __init__(self, *, basic: bool, rotates: bool = False) -> None:
        self._basic, self._rotates = basic, rotates
        self.issued = 0
        self._refresh_token = "refresh-0"

    def accepts(self, request: ReceivedRequest) -> bool:
        return request.headers.get("authorization") == f"Bearer access-{self.issued}" and self.issued > 0

    def answer(self, request: ReceivedRequest) -> Answer:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        assert form.pop("grant_type") == "refresh_token"
        if self._basic:
            pair = b64encode(":".join(CLIENT.values()).encode()).decode()
            assert request.headers.get("authorization") == f"Basic {pair}"
        else:
            assert {name: form.pop(name) for name in CLIENT} == CLIENT
        assert set(form) == {"refresh_token"}
        if form["refresh_token"] != self._refresh_token:
            return Answer(400, {"error": "invalid_grant", "error_description": "The token was revoked."})
        self.issued += 1
        body = {"access_token": f"access-{self.issued}", "token_type": "bearer", "expires_in": 1800}
        if self._rotates:
            self._refresh_token = f"refresh-{self.issued}"
            body["refresh_token"] = self._refresh_token
        return Answer(body=body)
