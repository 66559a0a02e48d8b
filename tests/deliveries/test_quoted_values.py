"""A platform that quotes the person's data in every possible way: none of it reaches the database, the API's
answers, command output or the logs.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from headwater.cli import main
from headwater.forwarding.destinations.credentials import seal_secrets
from headwater.forwarding.platforms.registry import PLATFORMS
from tests.deliveries.staging import KEY, Sending
from tests.support import factories
from tests.support.campaigns import pick_share
from tests.support.canaries import Canaries, places
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest
from tests.support.reading_fixtures import Api

SETTINGS = {
    "meta": {"pixel_id": "1234567890"},
    "google": {"customer_id": "1234567890"},
    "tiktok": {"pixel_code": "PIXEL1"},
    "linkedin": {},
    "reddit": {"pixel_id": "a2_abc"},
    "pinterest": {"ad_account_id": "1234567890"},
    "snapchat": {"pixel_id": "abc"},
    "microsoft": {"tag_id": "1234567890"},
    "microsoft_offline": {"customer_id": "12345678", "account_id": "123456789"},
    "chatgpt_ads": {"pixel_id": "abc"},
}
TABLES = {"deliveries", "delivery_attempts", "destinations"}


class Scene:
    """A Space with a person whose every field is filled in, and an event to send."""

    def __init__(self, stage: factories.Stage, database_url: str, url: str, name: str) -> None:
        platform = PLATFORMS[name]
        self.sending = Sending(stage, database_url, platform=platform, urls={name: url})
        self.secret = "geheim-" + "s" * 20
        secrets = {key: self.secret for key in platform.secrets if key != "service_account_json"}
        if name == "linkedin":
            secrets = {"access_token": self.secret}
        self.destination_id = self.sending.destination(
            settings=json.dumps(SETTINGS[name]),
            event_names=json.dumps({} if platform.event_names else {"purchase": "1234567890"}),
        )
        stage.connection.execute(
            "UPDATE destinations SET secrets = %s WHERE space_id = %s AND id = %s",
            (seal_secrets(KEY, stage.space_id, self.destination_id, secrets),
             stage.space_id, self.destination_id),
        )  # fmt: skip
        self.personal = Canaries()
        self.delivery_id = self.sending.delivery(self.destination_id, self._event(stage))

    def _event(self, stage: factories.Stage) -> int:
        personal = self.personal
        contact = stage.contact(
            email=personal.email(), phone="+49 170 1234567", city=personal.text("City"),
            name=f"{personal.text('First')} {personal.text('Last')}", country="DE",
        )  # fmt: skip
        stage.identifier(contact, "tracking_id", personal.text("tracking"))
        clicks = [f"{name}={personal.text(name)}" for name in ("fbclid", "gclid", "ttclid", "msclkid")]
        personal.append("491701234567")
        return stage.event(
            contact, event_time=self.sending.moment(-60), ip=personal.ip(), currency="USD", amount=5,
            user_agent=personal.text("agent"), order_id="1007",
            event_url=f"https://shop.example/thanks?{'&'.join(clicks)}",
        )  # fmt: skip

    def quote_request(self, request: ReceivedRequest) -> str:
        """Return all personal values and the whole request."""
        return " | ".join([*self.personal, "+49 170 1234567", self.secret, request.body.decode()])


def _answers(scene: Scene, status: int) -> Any:
    """Return a platform that quotes in the error fields of real platforms, and in fields of its own."""

    def answer(request: ReceivedRequest) -> Answer:
        if request.target.startswith(("/token", "/oauth", "/common/oauth2")):
            return Answer(200, {"access_token": "token-" + "t" * 30, "expires_in": 3600})
        message = scene.quote_request(request)
        detail = {"index": 0, "propertyName": "ph", "errorMessage": message, "attemptedValue": message}
        return Answer(status, {
            "error": {"message": message, "code": 100, "details": [detail, *scene.personal],
                      "fields": [{"field": "$.data.events[0].user", "message": message}]},
            "OperationErrors": [{"Code": 100, "ErrorCode": message, "Details": message, "Message": message}],
            "message": message, "reason": message, "status": "INVALID", "code": 40002,
            "invalid_events": [{"event": json.loads(request.body), "error_message": message}],
            "events": [{"status": "failed", "error_message": message}],
            "event": json.loads(request.body), message: 1, "number": 491701234567,
        })  # fmt: skip

    return answer


def _html(scene: Scene) -> Any:
    return lambda request: Answer(502, f"<html>{scene.quote_request(request)}</html>".encode())


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    with FakePlatform() as platform:
        yield platform


@dataclass
class Output:
    """Every place where a delivery is shown."""

    api: Api
    stage: factories.Stage
    capsys: pytest.CaptureFixture[str]
    caplog: pytest.LogCaptureFixture

    def texts(self, scene: Scene) -> dict[str, str]:
        destination = f"/destinations/{scene.destination_id}"
        paths = [f"/deliveries/{scene.delivery_id}", destination, f"{destination}/deliveries"]
        return {
            "API": "".join(self.api.get(path).text for path in paths),
            "commands": self._commands(scene),
            "logs": self.caplog.text,
        }

    def tables(self, scene: Scene, values: list[str]) -> set[str]:
        all_locations = places(scene.sending.rows, values, TABLES).values()
        return {table for locations in all_locations for table, _ in locations}

    def _commands(self, scene: Scene) -> str:
        space, number = ["--space", str(self.stage.space_id)], str(scene.delivery_id)
        assert main(["delivery", "show", *space, number]) == 0
        assert main(["destination", "list", *space]) == 0
        out, err = self.capsys.readouterr()
        assert number in out
        return out + err


@pytest.fixture
def output(
    api: Api, stage: factories.Stage, database_url: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> Output:  # fmt: skip
    # Don't send deliveries that other tests left waiting.
    stage.connection.execute("UPDATE destinations SET status = 'removed'")
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    caplog.set_level(logging.DEBUG)
    return Output(api, stage, capsys, caplog)


@pytest.mark.parametrize(("name", "kind"), [
    (name, kind) for name in PLATFORMS for kind in pick_share([400, 200, 401, 422, 500, "html"], name, 2)
])  # fmt: skip
def test_nothing_that_a_platform_quotes_is_kept(
    name: str, kind: int | str, platform: FakePlatform, output: Output, database_url: str
) -> None:
    scene = Scene(output.stage, database_url, platform.url, name)
    react = _answers(scene, kind) if isinstance(kind, int) else _html(scene)
    platform.append(*[react] * 4)
    scene.sending.run()
    status, answer = scene.sending.read_delivery(scene.delivery_id, "status", "answer")
    assert platform.requests, "it was sent"
    assert status != "delivered"
    assert answer or PLATFORMS[name].quoted_fields, "something of the answer is kept"
    personal_values = [*scene.personal, "170 1234567", scene.secret]
    assert output.tables(scene, personal_values) == set()
    texts = output.texts(scene)
    assert [(path, value) for path in texts for value in personal_values if value in texts[path]] == []
