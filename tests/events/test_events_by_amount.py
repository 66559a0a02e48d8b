"""GET /events by amount: bounds, the largest first, and paging through them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import API
from tests.support.factories import Stage
from tests.support.reading_fixtures import RANGE, Api


def amounts(api: Api, **params: Any) -> list[float | None]:
    return [row["amount"] for row in api.rows(**{"fields[]": "amount", **params})]


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for amount in (5, None, 99.5, -20, 0, "0.0001"):
        stage.event(contact_id, amount=amount and Decimal(amount))
    assert amounts(api, order_by="amount") == [99.5, 5, 0.0001, 0, -20]
    assert amounts(api, order_by="event_time", amount_min="0.0001") == [0.0001, 99.5, 5]
    assert amounts(api, amount_max=-1) == [-20]
    assert amounts(api, amount_min=0, amount_max="5.0000", order_by="amount") == [5, 0.0001, 0]
    assert amounts(api, order_by="amount", **{"event_names[]": "sign_up"}) == []


@given(
    amounts=st.lists(st.sampled_from([-1, 0, 1, "99999999999999.9999", None]), max_size=9),
    per_page=st.integers(1, 4),
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_are_the_same_list_both_ways(api: Api, stage: Stage, amounts: list[Any], per_page: int) -> None:
    field = "profile_field_1"
    if not stage.connection.execute(
        "SELECT FROM field_labels WHERE space_id = %s", (stage.space_id,)
    ).rowcount:
        stage.label_field(field)
    contact_id = stage.contact()
    stage.connection.execute(
        "UPDATE contacts SET profile_field_1 = id::text WHERE space_id = %s AND id = %s",
        (stage.space_id, contact_id),
    )
    for amount in amounts:
        stage.event(contact_id, amount=None if amount is None else Decimal(amount))
    own_filter = {
        "custom_field_filters[0][field]": field,
        "custom_field_filters[0][operator]": "equal_to",
        "custom_field_filters[0][value]": str(contact_id),
    }
    all_rows = api.rows(order_by="amount", **own_filter)
    assert len(all_rows) == sum(amount is not None for amount in amounts)
    first = api.list(order_by="amount", per_page=per_page, **own_filter).json()
    forward = [first, *follow(api, first, "next_page_url")]
    assert [row for page in forward for row in page["data"]] == all_rows
    backward = [forward[-1], *follow(api, forward[-1], "prev_page_url")]
    assert [row for page in reversed(backward) for row in page["data"]] == all_rows


def follow(api: Api, page: dict[str, Any], link: str) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = []
    while url := page[link]:
        page = api.get(f"{urlsplit(url).path.removeprefix(API)}?{urlsplit(url).query}").json()
        pages.append(page)
    return pages


def test_a_cursor_belongs_to_its_order(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for amount in (1, 2):
        stage.event(contact_id, amount=amount)
    by_time = api.list(per_page=1).json()["next_cursor"]
    by_amount = api.list(per_page=1, order_by="amount").json()["next_cursor"]
    assert set(api.errors(cursor=by_time, order_by="amount")) == {"cursor"}
    assert set(api.errors(cursor=by_amount)) == {"cursor"}
    assert set(api.errors(cursor=by_time, amount_min=1)) == {"cursor"}


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        ({"order_by": "profile_id"}, "order_by"),
        ({"amount_min": "x"}, "amount_min"),
        ({"amount_max": "1e999"}, "amount_max"),
        ({"order_by": "amount", "sources[]": "email", "attribution_model": "linear",
          "attribution_window": 7}, "order_by"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_named(api: Api, params: dict[str, str], parameter: str) -> None:
    assert set(api.errors(**RANGE | params)) == {parameter}
