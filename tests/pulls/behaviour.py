"""What a pull of every platform does: the ledger and the catalogue of names become the account's books."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from tests.pulls.books import AdPlace, Books
from tests.pulls.staging import TODAY, Pulls

OLDEST = TODAY - timedelta(days=395)
"""The first day that a new connection fetches."""


def check_ledger(pulls: Pulls, books: Books) -> None:
    """Check every campaign and ad by day, to the cent."""
    campaigns = {
        (day, place.campaign): spent.amount for day, place, spent in books.by_campaign(OLDEST, TODAY)
    }
    ads = {(day, place.ad): spent.amount for day, place, spent in books.by_ad(OLDEST, TODAY)}
    assert pulls.ledger() == {key: amount for key, amount in campaigns.items() if amount}
    assert pulls.ledger("ad") == {key: amount for key, amount in ads.items() if amount}


def check_names(pulls: Pulls, books: Books) -> None:
    """Check that the name of each campaign, ad set and ad is in the ad catalogue."""
    rows = pulls.stage.connection.execute(
        "SELECT kind, id, name FROM ad_names WHERE space_id = %s", (pulls.stage.space_id,)
    )
    levels = {level for _, place in books.spent for level in place._asdict().items() if level[1]}
    assert set(rows) == {(kind, level_id, books.name_of(level_id)) for kind, level_id in levels}


def check_correction(pulls: Pulls, books: Books, connection: int) -> None:
    """Pull, let the platform take back spend and forget a campaign, and pull again."""
    pulls.pull()
    books.spend(TODAY - timedelta(days=3), AdPlace("12", "121", "1211"), "5.50")
    for day in range(4):
        del books.spent[TODAY - timedelta(days=day), AdPlace("13")]
    pulls.pull_later(connection, hours=6)
    check_ledger(pulls, books)
    assert len([row for row in pulls.rows() if row[3] == "13" and row[7] == 0]) == 4


BEFORE_MIDNIGHT = datetime(2026, 10, 25, 22, 30, tzinfo=UTC)
"""23:30 in Berlin, on the day that has 25 hours there."""


def check_clock_change(pulls: Pulls, books: Books, connection: int) -> None:
    """Pull at the end of the day of the clock change, when summer time would be the next day already."""
    long_day, next_day = date(2026, 10, 25), date(2026, 10, 26)
    books.spend(long_day, AdPlace("14", "141", "1411"), "25.00")
    books.spend(next_day, AdPlace("14", "141", "1411"), "1.00")
    pulls.now = BEFORE_MIDNIGHT
    pulls.pull_at(connection, pulls.now)
    pulls.pull()
    days = [row[0] for row in pulls.rows()]
    assert max(days) == long_day
    assert pulls.ledger("ad")[long_day, "1411"] == 25
    pulls.pull_later(connection, hours=1)
    assert pulls.ledger("ad")[next_day, "1411"] == 1
    assert [row[0] for row in pulls.rows() if row[3:6] == ("14", "141", "1411")] == [long_day, next_day]
