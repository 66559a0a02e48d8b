"""PUT, GET and DELETE /spend: the rows that the ledger keeps of several reports.

`HEADWATER_LEDGERS=10000` tries this many orders of reports.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import AsyncConnection

from headwater.sources.source_names import SHIPPED_ALONE
from headwater.spend.inputs import SpendReport, read_spend
from headwater.spend.ledger import put_report
from tests.conftest import API, BASE_URL
from tests.support.campaigns import campaign_size
from tests.support.factories import make_stage
from tests.support.reading_fixtures import Api

AD = {
    "date": "2026-05-13", "platform": "Google Ads", "account_id": "123", "campaign_id": 4711,
    "adset_id": "8", "ad_id": "9", "country": "de", "amount": 12.345678, "currency": "eur",
    "impressions": 1000, "clicks": 31, "platform_conversions": 1.5, "platform_revenue": "99.90",
    "timezone": "Europe/Berlin",
}  # fmt: skip
DAY = {"start_date": "2026-05-13", "end_date": "2026-05-13"}
MARCH = "2026-03-01T00:00:00Z"
ORDERS = campaign_size("HEADWATER_LEDGERS", 25, 1000)


def put(api: Api, *rows: Any, **members: Any) -> httpx.Response:
    return api.send("PUT", "/spend", json={"spend": list(rows), **members})


def spend_row(amount: float | str, **columns: Any) -> dict[str, Any]:
    return {"date": "2026-05-13", "platform": "meta", "currency": "EUR", "amount": amount, **columns}


def list_spend(api: Api, **params: Any) -> list[dict[str, Any]]:
    response = api.get("/spend", params=params)
    assert response.status_code == 200, response.text
    return msgspec.json.decode(response.content)["data"]


def delete(api: Api, **params: Any) -> httpx.Response:
    return api.send("DELETE", "/spend", params=params)


def test_it_works(api: Api) -> None:
    response = put(api, AD, spend_row(5, campaign_name="Spring"), as_of=MARCH)
    assert (response.status_code, response.json()) == (200, {"message": "2 rows are stored."})
    ad, campaign_row = sorted(list_spend(api), key=lambda row: row["platform"])
    assert ad == {
        "date": "2026-05-13", "platform": "google", "account_id": "123", "campaign_id": "4711",
        "adset_id": "8", "ad_id": "9", "country": "DE", "currency": "EUR", "amount": 12.345678,
        "impressions": 1000, "clicks": 31, "platform_conversions": 1.5, "platform_revenue": 99.9,
        "timezone": "Europe/Berlin", "as_of": MARCH, "complete": False,
    }  # fmt: skip
    assert (campaign_row["campaign_id"], campaign_row["amount"], campaign_row["clicks"]) == (
        "Spring",
        5,
        None,
    )
    preview = delete(api, **DAY, preview="true")
    would = {"rows": 2, "deleted": False, "first_day": "2026-05-13", "last_day": "2026-05-13"}
    assert preview.json() == would
    assert delete(api, **DAY).json() == {**would, "deleted": True}
    assert list_spend(api) == []


def test_names_go_into_the_ad_catalogue(api: Api) -> None:
    put(api, spend_row(1, campaign_id="7", campaign_name="Spring", adset_id=8, adset_name="Women"))
    names = api.get("/ads").json()["data"]
    assert {(row["kind"], row["id"], row["name"], row["platform"]) for row in names} == {
        ("campaign", "7", "Spring", "meta"), ("adset", "8", "Women", "meta"),
    }  # fmt: skip


def test_the_last_report_counts(api: Api) -> None:
    put(api, spend_row(1), spend_row(2))
    assert [row["amount"] for row in list_spend(api)] == [2]
    put(api, spend_row(3, impressions=5))
    assert [(row["amount"], row["impressions"]) for row in list_spend(api)] == [(3, 5)]
    put(api, spend_row(4), as_of=MARCH)
    assert [(row["amount"], row["impressions"]) for row in list_spend(api)] == [(3, 5)]


def test_each_part_of_the_key_makes_another_row(api: Api) -> None:
    finest = {"account_id": "1", "campaign_id": "2", "adset_id": "3", "ad_id": "4"}
    coarser = [dict(itertools.islice(finest.items(), length)) for length in range(5)]
    other_columns = [{"country": "DE"}, {"currency": "USD"}, {"platform": "tiktok"}, {"date": "2026-05-14"}]
    put(api, *(spend_row(1) | columns for columns in [*coarser, *other_columns]))
    assert len(list_spend(api)) == 9


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        ({"date": "2026-02-30"}, "date", "must be a date that exists."),
        ({"date": "1999-12-31"}, "date", "must not be before 2000."),
        ({"platform": " "}, "platform", "must not be blank."),
        ({"amount": -1}, "amount", "must be from 0 to 1000000000000."),
        ({"amount": None}, "amount", "must be a number."),
        ({"currency": "EURO"}, "currency", "must be a currency code of three letters, such as EUR."),
        ({"country": "D1"}, "country", "must be a country code of two letters, such as DE."),
        ({"impressions": 1.5}, "impressions", "must be an integer of at most 15 digits."),
        ({"clicks": -1}, "clicks", "must not be below 0."),
        ({"timezone": "Berlin"}, "timezone", "must be an IANA time zone, such as Europe/Berlin."),
    ],
)
def test_what_breaks_a_rule_is_refused_whole(api: Api, change: dict[str, Any], field: str, rule: str) -> None:
    response = put(api, AD, {**AD, **change})
    assert response.status_code == 422
    name = f"spend.1.{field}"
    assert response.json()["errors"] == {name: [f"The {name} {rule}"]}
    assert list_spend(api) == []


def test_finer_ids_need_their_campaign(api: Api) -> None:
    response = put(api, spend_row(1, ad_id="3"))
    assert response.json()["errors"] == {
        "spend.0": ["The spend.0 must have a campaign_id, because it has an ad_id."]
    }
    assert put(api, spend_row(1, campaign_id="1", ad_id="3")).status_code == 200


def test_a_report_is_not_of_the_future(api: Api) -> None:
    response = put(api, spend_row(1), as_of="2199-01-01")
    assert response.json()["errors"] == {"as_of": ["The as_of must not be more than 24 hours ahead."]}


def test_five_thousand_rows_and_no_more(api: Api) -> None:
    rows = [spend_row(1, campaign_id=number) for number in range(5001)]
    assert put(api, *rows[:5000]).status_code == 200
    assert len(list_spend(api, per_page=1000)) == 1000
    errors = put(api, *rows).json()["errors"]
    assert errors == {"spend": ["The spend must hold 1 to 5000 rows."]}


def test_filters_and_pages(api: Api) -> None:
    put(api, *(spend_row(n, campaign_id=n % 2, date=f"2026-05-{1 + n:02}") for n in range(7)))
    assert [row["amount"] for row in list_spend(api)] == [6, 5, 4, 3, 2, 1, 0]
    assert [row["amount"] for row in list_spend(api, campaign_id="1")] == [5, 3, 1]
    assert list_spend(api, platform="Facebook", currency="usd") == []
    days = {"start_date": "2026-05-02", "end_date": "2026-05-06"}
    pages: list[list[int]] = []
    url = "/spend"
    params: dict[str, Any] | None = {**days, "per_page": 2}
    while True:
        answer = api.get(url, params=params).json()
        pages.append([row["amount"] for row in answer["data"]])
        if answer["next_page_url"] is None:
            break
        url, params = answer["next_page_url"].removeprefix(BASE_URL + API), None
    assert pages == [[5, 4], [3, 2], [1]]
    back = api.get(answer["prev_page_url"].removeprefix(BASE_URL + API)).json()
    assert [row["amount"] for row in back["data"]] == [3, 2]


def test_a_deletion_needs_its_days_and_takes_no_more(api: Api) -> None:
    assert sorted(delete(api).json()["errors"]) == ["end_date", "start_date"]
    put(api, spend_row(1), spend_row(2, platform="x"), spend_row(3, date="2026-05-14"))
    assert delete(api, **DAY, platform="x").json()["rows"] == 1
    assert delete(api, start_date="2026-05-14", end_date="2026-05-15").json()["rows"] == 1
    assert [row["amount"] for row in list_spend(api)] == [1]


REPORTS = st.lists(
    st.tuples(
        st.sampled_from([f"2026-05-{day:02}T00:00:00Z" for day in (1, 2)]),
        st.lists(
            st.tuples(
                st.sampled_from(["", "1", "2"]),
                st.integers(0, 3),
                st.sampled_from([None, 1, 2]),
                st.sampled_from([None, "UTC", "Asia/Tokyo"]),
            ),
            min_size=1,
            max_size=4,
        ),
    ),
    min_size=2,
    max_size=4,
)


@pytest.fixture
def ledger(database_url: str, space_id: int) -> Iterator[Ledger]:
    with asyncio.Runner() as runner:
        connection = runner.run(AsyncConnection.connect(database_url))
        yield Ledger(runner, connection, space_id)
        runner.run(connection.close())


@dataclass
class Ledger:
    """The ledger of a Space, used without a server."""

    runner: asyncio.Runner
    connection: AsyncConnection
    space_id: int

    def store_reports(self, reports: Sequence[SpendReport]) -> list[tuple[Any, ...]]:
        """Return the rows after storing some reports one after another."""

        async def run() -> list[tuple[Any, ...]]:
            async with self.connection.transaction(force_rollback=True):
                for report in reports:
                    await put_report(self.connection, self.space_id, report.rows, report.as_of)
                cursor = await self.connection.execute(
                    "SELECT campaign_id, amount, clicks, timezone, as_of, place FROM spend"
                    " WHERE space_id = %s ORDER BY campaign_id", (self.space_id,),
                )  # fmt: skip
                return await cursor.fetchall()

        return self.runner.run(run())


@settings(
    max_examples=ORDERS, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(reports=REPORTS, data=st.data())
def test_no_order_of_reports_makes_another_ledger(
    ledger: Ledger, reports: list[Any], data: st.DataObject
) -> None:
    """Any permutation, repetitions included, ends in the same rows."""
    batches = [
        read_spend({
            "as_of": as_of,
            "spend": [
                spend_row(amount, campaign_id=campaign_id, clicks=clicks, timezone=zone)
                for campaign_id, amount, clicks, zone in rows
            ],
        }, datetime.now(UTC), SHIPPED_ALONE)
        for as_of, rows in reports
    ]  # fmt: skip
    stored_rows = ledger.store_reports(batches)
    assert stored_rows == ledger.store_reports(data.draw(st.permutations([*batches, *batches[:1]])))
    newest: dict[str, tuple[Any, ...]] = {}
    for as_of, rows in reports:
        for index, (campaign_id, amount, clicks, zone) in enumerate(rows):
            value = (as_of, index, Decimal(amount), clicks or -1, zone or "")
            newest[campaign_id] = max(value, newest.get(campaign_id, value))
    assert [(row[0], row[1], row[2] or -1, row[3] or "") for row in stored_rows] == [
        (campaign_id, *newest[campaign_id][2:]) for campaign_id in sorted(newest)
    ]


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    stage = make_stage(connection, scopes=("events:read", "events:write"))
    api = Api(client, stage.key)
    for response in (put(api, AD), delete(api, **DAY)):
        assert (response.status_code, "spend:write" in response.text) == (403, True)
    assert list_spend(api, **DAY) == []


@pytest.mark.parametrize(
    ("timezone", "as_of", "is_complete"),
    [
        ("Europe/Berlin", "2026-05-13T21:59:59Z", False),
        ("Europe/Berlin", "2026-05-13T22:00:00Z", True),
        ("America/New_York", "2026-05-14T03:59:59Z", False),
        ("America/New_York", "2026-05-14T04:00:00Z", True),
        (None, "2026-05-13T23:59:59Z", False),
        (None, "2026-05-14T00:00:00Z", True),
    ],
)
def test_a_row_is_complete_after_its_day(
    api: Api, timezone: str | None, as_of: str, is_complete: bool
) -> None:
    put(api, spend_row(5, timezone=timezone), as_of=as_of)
    (row,) = list_spend(api)
    assert row["complete"] is is_complete
