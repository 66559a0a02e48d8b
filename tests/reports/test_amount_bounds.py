"""Amounts beyond a bound: no report adds them up, every answer lists them, and sums of many amounts at the
bound are exact.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.reports.test_currencies import MAY, put_rates, rate, report, sale
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

ANSWERS: dict[str, dict[str, Any]] = {
    "/reports": {"measures": ["revenue", "credited_revenue"], "group_by": "source"},
    "/reports/spend": {}, "/reports/paths": {}, "/reports/credits": {"credit": "all"},
    "/reports/cohorts": {},
    "/reports/changes": {"measures": "revenue", "since": "2026-01-01 00:00:00"},
    "/reports/spend/changes": {"since": "2026-01-01 00:00:00"},
}  # fmt: skip
"""The questions about May, one for every report."""
MANY = 10_000
LARGEST = Decimal("99999999999.9999")


@pytest.fixture
def space(stage: Stage, api: Api) -> Stage:
    """A Space in yen, with a rate for euros and none for francs."""
    stage.connection.execute(
        "UPDATE spaces SET currency = 'JPY', timezone = 'UTC' WHERE id = %s", (stage.space_id,)
    )
    put_rates(api, rate("2026-05-13", "EUR", "JPY", 160))
    return stage


def kinds(answer: dict[str, Any]) -> list[tuple[str, str, int]]:
    left_out = answer["left_out_money"]
    return [(entry["currency"], entry["reason"], entry["events"]) for entry in left_out]


@pytest.mark.parametrize("path", ANSWERS)
def test_it_works(api: Api, space: Stage, path: str) -> None:
    """One page event of 1e14 euros exceeds 64 bits when it is converted."""
    contact_id = space.contact()
    space.touchpoint(contact_id, "google_ads", occurred_at="2026-05-12 12:00:00+00")
    sale(space, "2026-05-13", 100, None, contact_id=contact_id)
    for sender in ("browser", "api_key"):
        sale(space, "2026-05-13", 10**14, "EUR", contact_id=contact_id, sender=sender)
    sale(space, "2026-05-13", 1, "XAF", contact_id=contact_id, sender="browser")
    answer = api.get(path, params={**MAY, **ANSWERS[path]})
    assert answer.status_code == 200, answer.text
    assert kinds(answer.json()) == [
        ("EUR", "page_amount_too_large", 1), ("EUR", "too_large", 1), ("XAF", "no_rate", 1),
    ]  # fmt: skip
    csv = api.get(path, params={**MAY, **ANSWERS[path]}, accept="text/csv")
    assert csv.status_code == 200


EURO_BOUND, YEN_BOUND = 10**11 // 160, 10**11
PAGE_EURO_BOUND, PAGE_YEN_BOUND = 10**7 // 160, 10**7


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("currency", "sender", "bound"),
    [
        ("EUR", "api_key", EURO_BOUND), ("EUR", "webhook", EURO_BOUND),
        ("EUR", "import", EURO_BOUND), ("EUR", None, EURO_BOUND), ("EUR", "assistant", EURO_BOUND),
        ("JPY", "api_key", YEN_BOUND), (None, "webhook", YEN_BOUND), (None, None, YEN_BOUND),
        ("EUR", "browser", PAGE_EURO_BOUND), ("EUR", "signed_browser", PAGE_EURO_BOUND),
        ("JPY", "browser", PAGE_YEN_BOUND), (None, "signed_browser", PAGE_YEN_BOUND),
    ],
)  # fmt: skip
def test_a_bound_belongs_to_what_counts(
    api: Api, space: Stage, sign: int, currency: str | None, sender: str | None, bound: int
) -> None:
    worth = 160 if currency == "EUR" else 1
    sale(space, "2026-05-13", sign * bound, currency, sender=sender)
    answer = report(api)
    assert (answer["totals"]["revenue"], kinds(answer)) == (sign * bound * worth, [])
    sale(space, "2026-05-13", sign * (bound + 1), currency, sender=sender)
    answer = report(api)
    assert answer["totals"] == {"events": 2, "revenue": sign * bound * worth}
    is_page = sender in ("browser", "signed_browser")
    reason = "page_amount_too_large" if is_page else "too_large"
    assert kinds(answer) == [(currency or "JPY", reason, 1)]
    counts = report(api, measures=["orders", "refund_count"])["totals"]
    assert sorted(counts.values()) == [0, 2]


def test_what_the_business_sets_is_no_pages_amount(api: Api, space: Stage) -> None:
    event_id = sale(space, "2026-05-13", 20_000_000, None, sender="browser")
    assert kinds(report(api)) == [("JPY", "page_amount_too_large", 1)]
    first = report(api)["snapshot"]
    assert api.send("PUT", f"/events/{event_id}", json={"amount": 20_000_000}).status_code == 200
    answer = report(api)
    assert (answer["totals"]["revenue"], kinds(answer)) == (20_000_000, [])
    changes = api.get("/reports/changes", params={
        **MAY, "measures": ["events", "revenue"], "group_by": "none", "since": first,
    }).json()  # fmt: skip
    assert changes["overall"]["causes"] == {"edits": {"events": 0, "revenue": 20_000_000}}
    assert [entry["events"] for entry in changes["left_out_money_before"]] == [1]
    assert changes["left_out_money"] == []


def test_another_currency_has_the_same_bounds_and_one_of_its_own(api: Api, space: Stage) -> None:
    """In a currency of tiny units, every amount still fits."""
    put_rates(api, rate("2026-05-13", "JPY", "ZZZ", 10**6))
    sale(space, "2026-05-13", 10**8, None)
    sale(space, "2026-05-13", 10**8 + 1, None)
    sale(space, "2026-05-13", 10**12, None)
    answer = report(api, currency="ZZZ")
    assert (answer["totals"]["revenue"], kinds(answer)) == (1e14, [("JPY", "too_large", 2)])
    assert report(api)["totals"]["revenue"] == 2 * 10**8 + 1


@pytest.mark.parametrize("model", ["last_touch", "linear", "u_shaped", "time_decay", "shapley_distinct"])
def test_ten_thousand_of_the_largest_add_up_exactly(api: Api, space: Stage, model: str) -> None:
    contact_id = space.contact()
    for hour, source in enumerate(("google_ads", "email", "direct")):
        space.touchpoint(contact_id, source, occurred_at=f"2026-05-13 0{hour}:00:00+00")
    space.connection.execute(
        "INSERT INTO events (space_id, id, contact_id, event_name, event_time, amount, received_at)"
        " SELECT %s, nextval('receipt_ids'), %s, 'purchase', '2026-05-13 12:00+00', %s, now()"
        " FROM generate_series(1, %s)",
        (space.space_id, contact_id, LARGEST, MANY),
    )
    parameters = {**MAY, "attribution_model": model}
    total = float(LARGEST * MANY)
    answer = report(api, measures=["revenue", "credited_revenue"], group_by="source", **parameters)
    assert answer["totals"] == {"revenue": total, "credited_revenue": total}
    for path, path_parameters in ANSWERS.items():
        if path != "/reports" and (model == "linear" or path == "/reports/credits"):
            single = {} if path == "/reports/paths" else {"attribution_model": model}
            response = api.get(path, params={**MAY, **path_parameters, **single})
            assert response.status_code == 200, response.text
            assert response.json()["left_out_money"] == []
