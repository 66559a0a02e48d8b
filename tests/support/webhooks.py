"""Helpers for tests of webhooks: create one, sign as its sender would, deliver."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec
import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.intake.webhooks.interpretation import draft_event, finish
from headwater.intake.webhooks.models import ReadContext, WebhookOutcome, WebhookRequest
from headwater.intake.webhooks.settings_input import read_settings
from headwater.intake.webhooks.webhooks import NewWebhook, create_webhook
from headwater.spaces.encryption import derive_key
from headwater.spaces.secret_key import find_secret_key
from tests.conftest import Running
from tests.support.factories import Stage
from tests.support.pipeline import Stage as Queue
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.webhook_samples import SAMPLES

SECRET = "whsec_test"
RECEIVED = 1_778_680_800.0
"""2026-05-13 14:00 UTC."""


def read(kind: str, body: Any, **options: Any) -> WebhookOutcome:
    """Return the outcome of an authenticated body, for a returning customer. Options: `headers`,
    `settings`.
    """
    headers = {**SAMPLES[kind].headers, **options.get("headers", {})}
    lower = {name.lower(): text for name, text in headers.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    reader = ReadContext(kind, read_settings(kind, options.get("settings", {})))
    draft = draft_event(reader, WebhookRequest(lower, raw, RECEIVED))
    if isinstance(draft, WebhookOutcome):
        return draft
    order = draft.mapped.buyer_order
    buyer = {"email": f"buyer-of-{order}@example.com"} if order else {}
    return finish(draft, buyer, RECEIVED)


def map_event(kind: str, body: Any, **options: Any) -> dict[str, Any]:
    """Return the event of a body, without members that have their defaults."""
    outcome = read(kind, body, **options)
    assert outcome.event is not None, outcome
    return json.loads(msgspec.json.encode(outcome.event))


def map_refund(kind: str, body: Any, **options: Any) -> dict[str, Any]:
    """Return the refund of a body, without members that have their defaults."""
    outcome = read(kind, body, **options)
    assert outcome.refund is not None, outcome
    return json.loads(msgspec.json.encode(outcome.refund))


@dataclass
class Hook:
    """A webhook of a Space, and its sender."""

    stage: Stage
    base_url: str
    type: str
    id: int
    token: str
    secret: str | None

    @property
    def url(self) -> str:
        return f"{self.base_url}/webhooks/{self.token}"

    def post(self, body: bytes, headers: dict[str, str]) -> httpx.Response:
        return httpx.post(self.url, content=body, headers=headers, timeout=PATIENCE_SECONDS)

    def deliver(self, body: Any, **headers: str) -> httpx.Response:
        """Deliver as the sender does: signed, with the headers of its type."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        sample = SAMPLES[self.type]
        signature_header = {sample.signature: sample.sign(raw, self.secret)} if self.secret else {}
        renamed_headers = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.post(raw, {**sample.headers, **signature_header, **renamed_headers})

    def deliveries(self, *columns: str) -> list[Any]:
        """Return the stored deliveries, oldest first: tuples of the columns, or values of a single column."""
        rows = self.stage.connection.execute(
            f"SELECT {', '.join(columns)} FROM webhook_deliveries"
            " WHERE space_id = %s AND webhook_id = %s ORDER BY id",
            (self.stage.space_id, self.id),
        ).fetchall()
        return [row[0] for row in rows] if len(columns) == 1 else rows

    def queue(self) -> Queue:
        return Queue(self.stage.connection, self.stage.space_id)


class Hooks:
    """Creates webhooks."""

    def __init__(self, stage: Stage, server: Running, url: str) -> None:
        self.stage, self.server, self.url = stage, server, url

    def make(
        self, kind: str, secret: str | None = SECRET, stage: Stage | None = None, **settings: str
    ) -> Hook:
        """Create a webhook in `stage`'s Space. Settings are given by key, with `__` for a dot."""
        owner = stage or self.stage
        pairs = {key.replace("__", "."): text for key, text in settings.items()}
        new = NewWebhook(kind, "Test", read_settings(kind, pairs), secret)

        async def create() -> tuple[str, int]:
            async with await psycopg.AsyncConnection.connect(self.url) as connection:
                key = derive_key(find_secret_key(Settings(), self.url).text)
                return await create_webhook(connection, owner.space_id, new, key)

        token, webhook_id = asyncio.run(create())
        return Hook(owner, self.server.base_url, kind, webhook_id, token, secret)

    def generic(self, **settings: str) -> Hook:
        """Create an unsigned webhook whose bodies are payloads of purchases."""
        return self.make(
            "generic", None, event="purchase", map__email="email", map__amount="amount", **settings
        )


@pytest.fixture
def webhooks(stage: Stage, server: Running, database_url: str) -> Hooks:
    return Hooks(stage, server, database_url)
