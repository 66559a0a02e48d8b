"""The example drawn in the comments of headwater.attribution.models, queried through the API."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

TOUCHES = (("10:00", "google_ads"), ("10:20", "facebook_ads"), ("11:30", "direct"))


def moment(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-05-13T{clock}:00+00:00")


@pytest.fixture
def purchase(stage: Stage) -> int:
    contact_id = stage.contact()
    for clock, source in TOUCHES:
        stage.touchpoint(contact_id, source, occurred_at=moment(clock))
    return stage.event(contact_id, event_time=moment("12:00"), amount=100)


def source_credits(api: Api, model: str, *sources: str) -> dict[str, float]:
    params = {"sources[]": sources, "attribution_model": model, "attribution_window": 30}
    rows = api.rows(**params, **{"fields[]": ["source", "amount"]})
    return {row["source"]: row["amount"] for row in rows}


@pytest.mark.usefixtures("purchase")
@pytest.mark.parametrize(
    ("model", "shares"),
    [
        ("first_touch", (100, None, None)),
        ("last_touch", (None, None, 100)),
        ("linear", (33.34, 33.33, 33.33)),
        ("u_shaped", (40, 20, 40)),
        ("time_decay", (33.25, 33.3, 33.45)),
        ("first_platform_touch", (100, None, None)),
        ("last_platform_touch", (None, 100, None)),
        ("linear_paid", (50, 50, None)),
        ("last_non_direct_touch", (None, 100, None)),
    ],
)
def test_it_works(api: Api, model: str, shares: tuple[float | None, ...]) -> None:
    sources = [source for _, source in TOUCHES]
    amounts = source_credits(api, model, *sources)
    assert tuple(amounts.get(source) for source in sources) == shares


@pytest.mark.usefixtures("purchase")
def test_sources_filter_rows_only(api: Api) -> None:
    assert source_credits(api, "linear", "facebook_ads") == {"facebook_ads": 33.33}
