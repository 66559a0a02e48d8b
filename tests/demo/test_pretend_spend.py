"""The fake reports of the sample ads: pulls return the samples' spend."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.demo.money import spend
from headwater.demo.pretend_spend import answer_google, answer_meta, find_account
from headwater.demo.shops import NORDLICHT
from headwater.spend.platforms.platform import Credentials, Days, Exchange, Fault, Level, ReportRequest
from headwater.spend.platforms.registry import PLATFORMS

LAST = datetime.now(UTC).date() - timedelta(days=2)
DAYS = Days(LAST - timedelta(days=6), LAST)
ACCOUNTS = {
    "meta": ({"ad_account_id": "2385"}, {"access_token": "pretend"}),
    "google": ({"customer_id": "1234567890"}, {"developer_token": "pretend", "refresh_token": "pretend"}),
}


def run(name: str, exchange: Exchange[Any], secrets: dict[str, str]) -> Any:
    """Return the result of an exchange with the fake platform."""
    platform = PLATFORMS[name]
    step = next(exchange)
    while True:
        assert isinstance(step, EgressRequest)
        call = platform.authorize(step, credentials(name, secrets))
        target = call.url.removeprefix("https://pretend.example")
        answer_pair = answer_meta(target, call.headers) or answer_google(target, call.headers, call.body)
        assert answer_pair is not None
        status, body = answer_pair
        answer = EgressResponse(status=status, body=msgspec.json.encode(body))
        try:
            step = exchange.send(platform.decode(answer))
        except StopIteration as end:
            return end.value


def credentials(name: str, secrets: dict[str, str]) -> Credentials:
    settings = msgspec.convert(ACCOUNTS[name][0], PLATFORMS[name].settings)
    return Credentials(
        space_id=1, id=1, url="https://pretend.example", settings=settings, secrets=secrets,
        access_token=secrets.get("access_token", "pretend"),
    )  # fmt: skip


@pytest.mark.parametrize("name", ACCOUNTS)
def test_it_works(name: str) -> None:
    platform, secrets = PLATFORMS[name], ACCOUNTS[name][1]
    platform_credentials = credentials(name, secrets)
    account = run(name, platform.read_account(platform_credentials), secrets)
    account_entry = find_account(name, account.id)
    assert account_entry is not None
    assert (account.currency, account.timezone) == (account_entry[1].currency, account_entry[1].timezone)
    request = ReportRequest(account, Level.CAMPAIGN, DAYS, 500)
    rows = run(name, platform.read_rows(platform_credentials, request), secrets)
    assert {(f"{row.date}", row.campaign_id): row.amount for row in rows} == {
        (row["date"], row["campaign_id"]): Decimal(row["amount"])
        for row in spend(NORDLICHT, datetime.now(UTC))
        if row["platform"] == name and "campaign_id" in row
        and f"{DAYS.first}" <= row["date"] <= f"{DAYS.last}"
    }  # fmt: skip


def test_another_token() -> None:
    wrong_secrets = {"access_token": "another"}
    with pytest.raises(Fault, match="Invalid OAuth access token"):
        run("meta", PLATFORMS["meta"].read_account(credentials("meta", wrong_secrets)), wrong_secrets)
