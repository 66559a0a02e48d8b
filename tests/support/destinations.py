"""Helpers for tests of forwarding: a test platform registered in place of a real one, and its
destinations.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import psycopg
import pytest
from msgspec import Meta

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.settings import Settings
from headwater.forwarding.destinations import destinations
from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.models import (
    CallAccepted,
    CallRefused,
    Conversion,
    CredentialsRefused,
    Destination,
    SkipReason,
    Verdict,
)
from headwater.forwarding.platforms.platform import DAY, Limits, Platform
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import digits
from headwater.spaces.encryption import derive_key
from headwater.spaces.secret_key import find_secret_key
from tests.support.factories import Stage
from tests.support.pipeline import Stage as Queue

NAME = "meta"
"""The name of the replaced platform, whose origin can be configured."""
TOKEN = "EAAB-the-secret-token"
PIXEL = "1234567890"


class ProbeSettings(AccountSettings, frozen=True, kw_only=True):
    """Settings of the test platform."""

    pixel_id: Annotated[str, digits(1, 20, "1234567890"), Meta(description="The pixel's number.")]
    test_code: Annotated[str | None, Meta(description="Marks trials.")] = None
    strict: Annotated[bool, Meta(description="Whether events need an address.")] = False


class Probe(Platform):
    """The test platform."""

    name = NAME
    title = "Probe"
    url = "https://probe.example"
    sources = frozenset({"facebook_ads"})
    settings = ProbeSettings
    secrets = {"token": "The access token.", "backup": "Another one."}
    optional_secrets = frozenset({"backup"})
    limits = Limits(batch=10, age=7 * DAY)
    event_names = {
        "purchase": "Purchase",
        "upsell_purchase": "Purchase",
        "lead_generated": "Lead",
        "sign_up": "Registration",
        "complete_registration": "Registration",
    }

    def skip_reason(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        has_no_email = destination.settings.strict and conversion.person.email is None
        return SkipReason.NO_IDENTIFIER if has_no_email else None

    def build(self, conversion: Conversion, _: Destination) -> dict[str, Any]:
        return {"name": conversion.event_name, "id": conversion.dedup_id, "em": conversion.person.email}

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        token = destination.secrets["token"]
        body = {"data": list(parts), "test": destination.test, "token": token}
        return EgressRequest(
            url=f"{destination.url}/{destination.settings.pixel_id}", body=msgspec.json.encode(body)
        )

    def classify(self, answer: EgressResponse, _: int) -> Verdict:
        if answer.status == 200:
            return CallAccepted()
        if answer.status in (401, 403):
            return CredentialsRefused("The token is not valid.")
        return CallRefused(f"HTTP {answer.status}.")

    def redact(self, part: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in part.items() if name != "em"}


PROBE = Probe()
DESCRIBED = {"platform": NAME, "settings": {"pixel_id": PIXEL}, "secrets": {"token": TOKEN}}


def change_platform(platform: Platform, **changes: Any) -> Platform:
    """Return a copy of the platform with other attributes, or with functions in place of methods."""
    changed_platform = copy.copy(platform)
    vars(changed_platform).update(changes)
    return changed_platform


async def keep_no_token(_: Destination, refresh_token: str) -> None:
    """Reject new refresh tokens: the platform under test never replaces one."""
    raise AssertionError(refresh_token)


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Platform:
    """The test platform, registered in place of a real one."""
    monkeypatch.setitem(registry.PLATFORMS, NAME, PROBE)
    return PROBE


@dataclass
class Forwarder:
    """A Space whose events are forwarded."""

    stage: Stage
    url: str

    def make(self, **members: Any) -> int:
        """Create a destination of the test platform. Members are those of a request body, plus `status`."""
        status = members.pop("status", "active")
        new = read_new({**DESCRIBED, **members})

        async def create() -> int:
            async with await psycopg.AsyncConnection.connect(self.url) as connection:
                key = derive_key(find_secret_key(Settings(), self.url).text)
                destination = await destinations.create_destination(connection, self.stage.space_id, new, key)
                return destination.id

        destination_id = asyncio.run(create())
        self.execute("UPDATE destinations SET status = %(to)s WHERE space_id = %(space_id)s"
                     " AND id = %(id)s", to=status, id=destination_id)  # fmt: skip
        return destination_id

    def execute(self, query: str, **values: Any) -> None:
        self.stage.connection.execute(query, {"space_id": self.stage.space_id, **values})

    def deliveries(self, *columns: str) -> list[Any]:
        """Return the deliveries in the order they were written."""
        rows = self.stage.connection.execute(
            f"SELECT {', '.join(columns)} FROM deliveries WHERE space_id = %s ORDER BY id",
            (self.stage.space_id,),
        ).fetchall()
        return [row[0] for row in rows] if len(columns) == 1 else rows

    def delivery(self, destination_id: int, **columns: Any) -> int:
        """Insert a delivery of the given event, or of a new one."""
        event_id = columns.pop("event_id", None) or self.stage.event(
            self.stage.contact(), event_time=columns.pop("event_time", "now")
        )
        values: dict[str, Any] = {"status": "queued", **columns}
        if values["status"] in ("queued", "retrying"):
            values.setdefault("finished_at", None)
        return self.stage.add_delivery(destination_id, event_id, **values)

    def queue(self) -> Queue:
        return Queue(self.stage.connection, self.stage.space_id)


@pytest.fixture
def forwarder(stage: Stage, database_url: str, probe: Platform) -> Forwarder:  # noqa: ARG001
    return Forwarder(stage, database_url)


class FakeSender:
    """A stand-in for the platform's server, without a network."""

    def __init__(self, *answers: EgressResponse | Exception) -> None:
        self.answers: Iterator[EgressResponse | Exception] = iter(answers)
        self.calls: list[EgressRequest] = []

    async def send(self, call: EgressRequest) -> EgressResponse:
        self.calls.append(call)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def make_response(status: int = 200, body: bytes = b"{}", **headers: str) -> EgressResponse:
    return EgressResponse(status=status, body=body, headers=headers)


def make_destination(event_names: Mapping[str, str | None] | None = None, **settings: Any) -> Destination:
    """Return a destination that is ready to receive events."""
    return Destination(
        space_id=1, id=1, platform=NAME, url="https://probe.example",
        settings=ProbeSettings(pixel_id=PIXEL, **settings), secrets={"token": TOKEN},
        event_names=dict(event_names or {}),
    )  # fmt: skip
