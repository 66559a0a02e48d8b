"""GET /reports/spend/changes: why spend, or its revenue, differs from what it was."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from headwater.attribution.history.revisions import forget
from headwater.spend import changes as ledger_changes
from tests.support.factories import Stage as SpaceStage
from tests.support.pipeline import DAY, T0, Stage, event, touch
from tests.support.reading_fixtures import Api

OCTOBER = {"start_date": "2025-10-01 00:00:00", "end_date": "2025-10-31 23:59:59"}
DECODE = msgspec.json.Decoder(float_hook=Decimal).decode
ADA = {"email": "ada@example.com"}


@pytest.fixture
def shop(stage: SpaceStage) -> Stage:
    """A Space in euros with Ada, who came through Google's campaign 4711 and bought for 100."""
    stage.connection.execute(
        "UPDATE spaces SET currency = 'EUR', timezone = 'UTC' WHERE id = %s", (stage.space_id,)
    )
    shop = Stage(stage.connection, stage.space_id)
    click = touch(**ADA, occurred_at=T0 - 2 * DAY, campaign_id="4711")
    shop.run(click, event(**ADA, amount="100"))
    return shop


def spend_row(day: int, amount: Any, platform: str = "google", **columns: Any) -> dict[str, Any]:
    row = {"date": f"2025-10-{day:02}", "platform": platform, "amount": amount, "currency": "EUR"}
    return {**row, **columns}


def put(api: Api, *rows: Any, as_of: str | None = None) -> None:
    also = {"as_of": as_of} if as_of else {}
    response = api.send("PUT", "/spend", json={"spend": rows, **also})
    assert response.status_code == 200, response.text


def delete(api: Api, day: int, **columns: str) -> None:
    days = {"start_date": f"2025-10-{day:02}", "end_date": f"2025-10-{day:02}", **columns}
    assert api.send("DELETE", "/spend", params=days).status_code == 200


def report(api: Api, **params: Any) -> dict[str, Any]:
    response = api.get("/reports/spend", params={**OCTOBER, **params})
    assert response.status_code == 200, response.text
    return DECODE(response.content)


def changes(api: Api, start: str, status: int = 200, **params: Any) -> dict[str, Any]:
    response = api.get("/reports/spend/changes", params={**OCTOBER, "since": start, **params})
    assert response.status_code == status, response.text
    return DECODE(response.content)


def moved(change: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return each cause's part in some figures."""
    return {cause: tuple(parts[name] for name in names) for cause, parts in change["causes"].items()}


@pytest.mark.usefixtures("shop")
def test_it_works(api: Api) -> None:
    put(api, spend_row(7, 25, clicks=10, campaign_id="4711", account_id="1"))
    first = report(api)
    assert first["totals"]["roas"] == 4
    put(api, spend_row(7, 40, clicks=12, campaign_id="4711", account_id="1"), spend_row(8, 10, "meta"))
    answer = changes(api, first["snapshot"])
    assert moved(answer["totals"], "spend", "clicks") == {
        "spend_replacements": (15, 2), "spend_imports": (10, 0),
    }  # fmt: skip
    assert answer["totals"]["difference"]["roas"] == 2 - 4
    assert [(row["platform"], row["difference"]["spend"]) for row in answer["rows"]] == [
        ("google", 15), ("meta", 10),
    ]  # fmt: skip
    assert set(answer["unexplained"].values()) == {0, None}
    (replacement,) = answer["causes"]["spend_replacements"]["largest_rows"]
    assert (replacement["date"], replacement["campaign_id"], replacement["amount"]) == (
        "2025-10-07", "4711", 15,
    )  # fmt: skip
    assert replacement["restatement"] is None  # no pull reported it
    assert answer["causes"]["spend_imports"]["rows"] == 1


@pytest.mark.usefixtures("shop")
def test_a_deletion_and_what_comes_in_anew(api: Api) -> None:
    put(api, spend_row(7, 25))
    first = report(api)["snapshot"]
    delete(api, 7)
    second = report(api)["snapshot"]
    put(api, spend_row(7, 30))
    assert moved(changes(api, first)["totals"], "spend") == {
        "spend_deletions": (-25,), "spend_imports": (30,),
    }  # fmt: skip
    deletion = changes(api, first, until=second)
    assert moved(deletion["totals"], "spend") == {"spend_deletions": (-25,)}
    assert not deletion["causes"]["spend_deletions"]["largest_rows"][0]["is_stored"]


@pytest.mark.usefixtures("shop")
def test_what_is_the_same_again_is_no_change(api: Api) -> None:
    """An export of the same figures changes nothing in a report, nor does an older export."""
    put(api, spend_row(7, 25), as_of="2025-10-10T00:00:00Z")
    first = report(api)["snapshot"]
    put(api, spend_row(7, 25), as_of="2025-10-12T00:00:00Z")
    put(api, spend_row(7, 99), as_of="2025-10-11T00:00:00Z")
    answer = changes(api, first)
    assert (answer["rows"], answer["causes"]) == ([], {})


@pytest.mark.usefixtures("shop")
def test_a_finer_row_takes_from_what_is_not_broken_down(api: Api) -> None:
    put(api, spend_row(7, 100, account_id="1"))
    first = report(api)["snapshot"]
    put(api, spend_row(7, 60, account_id="1", campaign_id="4711"))
    answer = changes(api, first, group_by="campaign")
    assert answer["totals"]["causes"] == {}
    assert moved(answer["unmatched"], "spend") == {"spend_imports": (-60,)}
    (row,) = answer["rows"]
    assert (row["campaign"], moved(row, "spend")) == ("4711", {"spend_imports": (60,)})
    assert (row["before"]["roas"], row["after"]["roas"]) == (None, Decimal("1.6667"))


@pytest.mark.usefixtures("shop")
def test_rates_move_spend_and_credit(api: Api) -> None:
    def rate(value: str) -> None:
        day = {"date": "2025-10-07", "base": "USD", "currency": "EUR", "rate": value}
        assert api.send("PUT", "/rates", json={"rates": [day]}).status_code == 200

    rate("0.5")
    put(api, spend_row(7, 10, currency="USD"))
    first = report(api)["snapshot"]
    rate("0.75")
    put(api, spend_row(7, 20, currency="USD"))
    assert moved(changes(api, first)["totals"], "spend") == {
        "rates": (Decimal("2.5"),), "spend_replacements": (Decimal("7.5"),),
    }  # fmt: skip


def test_new_customers_and_what_contribution_is_made_of(api: Api, shop: Stage) -> None:
    """An order before Ada's first one arrives late and becomes her first order."""
    shop.connection.execute("UPDATE spaces SET cost_rate = 40 WHERE id = %s", (shop.space_id,))
    put(api, spend_row(7, 25, campaign_id="4711", account_id="1"))
    first = report(api)
    assert (first["totals"]["cac"], first["totals"]["contribution"]) == (25, 35)
    shop.run(event(**ADA, amount="30", event_time=T0 - DAY), event(**ADA, amount="7"))
    shop.run(event(**ADA, amount="5", event_time=T0 - 400 * DAY))
    answer = changes(api, first["snapshot"])
    names = ("credited_revenue", "new_customers", "new_customer_revenue", "contribution")
    assert moved(answer["totals"], *names) == {"late_events": (37, -1, -100, Decimal("22.2"))}
    assert (answer["totals"]["after"]["cac"], answer["cost_rate"]) == (None, 40)
    (largest, *_) = answer["causes"]["late_events"]["largest_events"]
    assert largest["revenue"] == 30


@pytest.mark.parametrize("group", ["none", "month", "campaign"])
def test_customers_of_two_platforms_count_once(api: Api, shop: Stage, group: str) -> None:
    """Both snapshots equal the report at their time, when one and when two platforms had spend."""
    shop.run(touch(**ADA, occurred_at=T0 - DAY, source="facebook_ads", campaign_id="4711"))
    question = {"attribution_model": "linear", "group_by": group}
    put(api, spend_row(7, 25, campaign_id="4711", account_id="1"))
    before = report(api, **question)
    put(api, spend_row(7, 15, "meta", campaign_id="4711", account_id="1"))
    after = report(api, **question)
    answer = changes(api, before["snapshot"], **question)
    assert [answer["totals"][side]["cac"] for side in ("before", "after")] == [25, 40]
    assert [side["totals"]["cac"] for side in (before, after)] == [25, 40]
    cac = after["columns"].index("cac")
    assert [row["after"]["cac"] for row in answer["rows"]] == [row[cac] for row in after["rows"]]


@pytest.mark.usefixtures("shop")
def test_as_csv(api: Api) -> None:
    put(api, spend_row(7, 25))
    first = report(api)["snapshot"]
    put(api, spend_row(7, "40.123456"))
    text = api.get("/reports/spend/changes", params={**OCTOBER, "since": first}, accept="text/csv").text
    table = [
        (row["platform"], row["platform_name"], row["part"], row["spend"], row["roas"])
        for row in csv.DictReader(io.StringIO(text))
    ]
    assert table[:4] == [
        ("google", "google", "before", "25", "4"),
        ("google", "google", "after", "40.123456", "2.4923"),
        ("google", "google", "difference", "15.123456", "-1.5077"),
        ("google", "google", "spend_replacements", "15.123456", ""),
    ]
    assert [row[1] for row in table[4:]] == ["unmatched"] * 3 + ["total"] * 4
    total = {**OCTOBER, "since": report(api, group_by="none")["snapshot"], "group_by": "none"}
    text = api.get("/reports/spend/changes", params=total, accept="text/csv").text
    rows = [(row["part"], row["spend"]) for row in csv.DictReader(io.StringIO(text))]
    assert rows == [("before", "40.123456"), ("after", "40.123456"), ("difference", "0")]


@pytest.mark.usefixtures("shop")
def test_what_cannot_be_compared_is_refused(api: Api) -> None:
    first = report(api)["snapshot"]
    assert changes(api, first, 422, group_by="country")["errors"].keys() == {"group_by"}
    assert changes(api, first, 422, only="event:purchase")["errors"].keys() == {"only"}
    assert changes(api, first, 422, attribution_model="linear")["reason"] == "other_question"
    put(api, spend_row(7, 25))
    assert changes(api, report(api)["snapshot"], 422, until=first)["errors"].keys() == {"since"}


def test_what_is_known_is_forgotten_after_a_while(api: Api, shop: Stage) -> None:
    put(api, spend_row(7, 25))
    first = report(api)["snapshot"]
    put(api, spend_row(7, 40))
    (later,) = shop.connection.execute("SELECT now() + interval '1 s'").fetchone() or ()
    forget(shop.connection, shop.space_id, later)
    assert changes(api, first, 422)["reason"] == "too_old"
    assert shop.values("former_spend", "amount") == []


@pytest.mark.usefixtures("shop")
def test_too_much_to_compare_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    first = report(api)["snapshot"]
    put(api, spend_row(7, 25))
    monkeypatch.setattr(ledger_changes, "MOST_WORK", 0)
    assert changes(api, first, 422)["reason"] == "too_much"
