"""The order of the rows that explain a change: the largest difference first."""

from __future__ import annotations

from tests.reports.test_get_changes import changes, read, shop
from tests.support.pipeline import DAY, T0, Stage, event, touch
from tests.support.reading_fixtures import Api

__all__ = ["shop"]


def test_it_works(api: Api, shop: Stage) -> None:
    snapshot = read(api)
    for source, amount in (("email", "5"), ("google_ads", "20"), ("tiktok_ads", "7")):
        buyer = {"email": f"buyer-by-{source}@example.com"}
        shop.run(touch(**buyer, occurred_at=T0 - DAY, source=source), event(**buyer, amount=amount))
    rows = changes(api, snapshot)["rows"]
    assert [(row["source"], row["difference"]["credited_revenue"]) for row in rows] == [
        ("google_ads", 20), ("tiktok_ads", 7), ("email", 5),
    ]  # fmt: skip
