"""A paid touch of an unknown network: a paid referral in lists and journeys, its own row in reports, and paid
in every model that looks for paid touches.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.support.exports import Exports
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import Api

MAY = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}


@pytest.fixture(autouse=True)
def journey(stage: Stage) -> int:
    """A purchase after three touches: a paid touch of an unknown network, a partner's, an e-mail's."""
    contact = stage.contact()
    for days, source in ((3, "paid_other"), (2, "referral"), (1, "email")):
        stage.touchpoint(contact, source, occurred_at=NOON - timedelta(days=days))
    stage.event(contact, amount=Decimal(90))
    return contact


def list_credits(api: Api, model: str, *sources: str) -> list[tuple[str, float]]:
    rows = api.rows(
        **{"sources[]": sources, "fields[]": ["source", "amount"]},
        attribution_model=model, attribution_window=30,
    )  # fmt: skip
    return sorted((row["source"], row["amount"]) for row in rows)


def report_credits(api: Api, model: str, group: str = "source", **parameters: Any) -> list[list[Any]]:
    answer = api.get("/reports", params={
        **MAY, "attribution_model": model, "group_by": group, "measures": "credited_revenue",
        **parameters,
    })  # fmt: skip
    assert answer.status_code == 200, answer.text
    return sorted(answer.json()["rows"])


def test_it_works(api: Api, journey: int) -> None:
    items = api.get(f"/contacts/{journey}/journey").json()["data"]
    paid_by_source = {item["source"]: item["is_paid"] for item in items if item["type"] == "touchpoint"}
    paid = [item["is_paid"] for item in items if item.get("source") == "referral"]
    assert (paid_by_source.keys(), sorted(paid)) == ({"referral", "email"}, [False, True])
    assert list_credits(api, "linear", "referral") == [("referral", 30), ("referral", 30)]
    assert report_credits(api, "linear") == [["email", 30], ["paid_other", 30], ["referral", 30]]


@pytest.mark.parametrize("model", ["first_platform_touch", "last_platform_touch", "linear_paid"])
def test_models_of_paid_touches_credit_it_alone(api: Api, model: str) -> None:
    assert list_credits(api, model, "referral", "email") == [("referral", 90)]
    assert report_credits(api, model) == [["paid_other", 90]]


def test_it_is_of_the_channel_paid(api: Api) -> None:
    assert report_credits(api, "linear", "channel") == [["email", 30], ["paid", 30], ["referral", 30]]


def test_reports_filter_by_it_alone(api: Api) -> None:
    assert report_credits(api, "linear", **{"sources[]": "paid_other"}) == [["paid_other", 30]]
    assert report_credits(api, "linear", **{"sources[]": "referral"}) == [["referral", 30]]


def test_lists_do_not_know_its_name(api: Api) -> None:
    errors = api.errors(**{"sources[]": "paid_other"}, attribution_model="linear", attribution_window=30)
    assert set(errors) == {"sources"}


def test_an_export_has_what_the_list_has(exports: Exports) -> None:
    query = {"sources": ["referral"], "attribution_model": "linear", "attribution_window": 30}
    lines = exports.export(date="2026-05-13", fields=["source", "amount"], **query)
    assert [(line["source"], line["amount"]) for line in lines] == [("referral", 30)] * 2
