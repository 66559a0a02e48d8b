"""Refresh tokens that the platform rotates: the new token is stored before its access token is used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs

import psycopg
import pytest

from headwater.forwarding.destinations.credentials import open_secrets, seal_secrets
from headwater.forwarding.platforms.registry import PLATFORMS
from tests.deliveries.staging import KEY, Sending
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest

OFFLINE = PLATFORMS["microsoft_offline"]
TOKEN, APPLY = "/common/oauth2/v2.0/token", "/CampaignManagement/v13/OfflineConversions/Apply"
FAULT = {"Code": 109, "ErrorCode": "AuthenticationTokenExpired", "Message": "Expired."}
EXPIRED = Answer(401, {"Errors": [FAULT], "Type": "AdApiFaultDetail"})


class PretendMicrosoft:
    """Each refresh token works once, and is returned with the next."""

    def __init__(self) -> None:
        self.issued = 0
        self.revoked = 0
        """Access tokens up to this number no longer work."""
        self.stored: Callable[[], str] = str
        self.stored_at_calls: list[str] = []
        self.meanwhile: Callable[[], Any] = str
        """Called while a token is issued."""
        self.partial_errors: list[dict[str, Any]] = []

    @property
    def refresh_token(self) -> str:
        return f"M.C5_refresh.{self.issued}"

    def __call__(self, request: ReceivedRequest) -> Answer:
        if request.target == TOKEN:
            return self._issue(request)
        assert request.target == APPLY
        self.stored_at_calls.append(self.stored())
        if request.headers["authorization"] != f"Bearer access-{self.issued}" or self.issued <= self.revoked:
            return EXPIRED
        return Answer(200, {"PartialErrors": self.partial_errors})

    def _issue(self, request: ReceivedRequest) -> Answer:
        (refresh_token,) = parse_qs(request.body.decode())["refresh_token"]
        if refresh_token != self.refresh_token:
            return Answer(400, {"error": "invalid_grant", "error_description": "AADSTS70000"})
        self.issued += 1
        self.meanwhile()
        token = {"access_token": f"access-{self.issued}", "expires_in": 3599}
        return Answer(200, token | {"refresh_token": self.refresh_token})


class Scene:
    """A destination with rotating tokens of a fake Microsoft."""

    def __init__(self, sending: Sending, microsoft: PretendMicrosoft, url: str) -> None:
        sending.platform, sending.urls = OFFLINE, {OFFLINE.name: url}
        self.sending, self.microsoft = sending, microsoft
        self.id = sending.destination(
            settings='{"customer_id": "12345678", "account_id": "123456789"}',
            event_names='{"purchase": "Sale"}',
        )
        self.enter(microsoft.refresh_token)
        self._update("tested_at = now(), test_ok = true")
        microsoft.stored = self.stored_token

    def enter(self, refresh_token: str) -> None:
        secrets = {"developer_token": "d", "client_id": "c", "refresh_token": refresh_token}
        self._update(
            "secrets = %s, secrets_version = secrets_version + 1",
            seal_secrets(KEY, self.sending.space_id, self.id, secrets),
        )

    def remove(self) -> None:
        self._update("status = 'removed', secrets = NULL")

    def stored_token(self) -> str:
        sealed_secrets = self.sending.state(self.id, "secrets")
        return open_secrets(KEY, self.sending.space_id, self.id, sealed_secrets).get("refresh_token", "")

    def deliver(self, number: int = 1, seconds: float = 0) -> None:
        for _ in range(number):
            event = self.sending.event(event_name="purchase", currency="USD")
            self.sending.delivery(self.id, event, due_at=self.sending.moment(seconds))

    def statuses(self) -> dict[str, int]:
        return self.sending.statuses(self.id)

    def _update(self, columns: str, *values: Any) -> None:
        sending = self.sending
        query = f"UPDATE destinations SET {columns} WHERE space_id = %s AND id = %s"
        with psycopg.connect(sending.database_url, autocommit=True) as connection:
            connection.execute(query, (*values, sending.space_id, self.id))  # type: ignore[arg-type]


@pytest.fixture
def scene(sending: Sending) -> Iterator[Scene]:
    microsoft = PretendMicrosoft()
    with FakePlatform(default=microsoft) as platform:
        yield Scene(sending, microsoft, platform.url)


def test_it_works(scene: Scene) -> None:
    scene.deliver(3)
    scene.sending.run()
    assert scene.statuses() == {"delivered": 3}
    assert scene.microsoft.stored_at_calls == ["M.C5_refresh.1"], "stored before its access token is used"
    assert scene.sending.state(scene.id, "test_ok"), "the test still counts"


def test_every_process_and_hour_begins_with_the_stored_one(scene: Scene) -> None:
    for _ in range(2):
        scene.deliver()
        scene.deliver(seconds=3700)
        scene.sending.run(2, 3700)
    assert scene.statuses() == {"delivered": 4}
    assert scene.microsoft.issued == 4
    assert scene.stored_token() == "M.C5_refresh.4"


def test_access_tokens_that_are_revoked_within_a_call(scene: Scene) -> None:
    """The destination as read before the call knows only the first refresh token."""
    scene.deliver(2)

    async def run() -> None:
        async with scene.sending.open_forwarder() as forwarder:
            await forwarder.drain()
            scene.microsoft.revoked = 1
            scene.deliver()
            await forwarder.drain()

    asyncio.run(run())
    assert scene.statuses() == {"delivered": 3}
    assert scene.stored_token() == "M.C5_refresh.2"


def test_a_refused_destination_is_held_although_its_refresh_token_was_renewed(scene: Scene) -> None:
    """Otherwise it would be called again at once, without end."""
    scene.microsoft.revoked = 1
    scene.deliver()
    scene.sending.run()
    assert scene.sending.state(scene.id, "status") == "held"
    assert scene.stored_token() == "M.C5_refresh.1"
    assert len(scene.microsoft.stored_at_calls) == 1


def test_a_refresh_token_that_a_user_enters_meanwhile_stays(scene: Scene) -> None:
    scene.microsoft.meanwhile = lambda: scene.enter("of-a-user")
    scene.deliver()
    scene.sending.run()
    assert scene.statuses() == {"delivered": 1}
    assert scene.stored_token() == "of-a-user"


def test_a_destination_that_is_removed_meanwhile_gets_no_secrets(scene: Scene) -> None:
    scene.microsoft.meanwhile = scene.remove
    scene.deliver()
    scene.sending.run()
    assert scene.sending.state(scene.id, "status", "secrets") == ("removed", None)


def test_a_refresh_token_that_was_lost_holds_the_destination(scene: Scene) -> None:
    """A crash between the token's issue and its storage loses the token."""
    scene.microsoft.issued = 1
    scene.deliver()
    scene.sending.run()
    assert scene.sending.state(scene.id, "status") == "held"
    assert scene.microsoft.stored_at_calls == []
    scene.enter("M.C5_refresh.1")
    scene.sending.connection.execute("UPDATE destinations SET status = 'active' WHERE id = %s", (scene.id,))
    scene.sending.run()
    assert scene.statuses() == {"delivered": 1}


def test_an_event_that_is_refused_alone(scene: Scene) -> None:
    error = {"Index": 0, "Code": 5602, "ErrorCode": "OfflineConversionNameInvalid", "Message": "Text."}
    scene.microsoft.partial_errors = [error]
    scene.deliver(2)
    scene.sending.run()
    assert scene.statuses() == {"failed": 1, "delivered": 1}
