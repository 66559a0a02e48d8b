"""Why spend changed after a platform corrected a day."""

from __future__ import annotations

from datetime import date, timedelta

from tests.pulls.books import AdPlace, Books
from tests.pulls.meta.pretend import TOKEN, PretendMeta
from tests.pulls.staging import NOW, Pulls
from tests.support.fake_platform import FakePlatform
from tests.support.reading_fixtures import Api

DAY = date(2026, 11, 24)


def test_it_works(pulls: Pulls, api: Api) -> None:
    """The cause names the platform, the campaign, the day and the removed amount."""
    books = Books()
    books.spend(DAY, AdPlace("13"), "50.00")
    with FakePlatform(default=PretendMeta(books)) as platform:
        pulls.urls["meta"] = platform.url
        connection = pulls.connect("meta", {"ad_account_id": "1234567890"}, {"access_token": TOKEN})
        pulls.pull()
        params = {"start_date": f"{DAY} 00:00:00", "end_date": f"{DAY} 23:59:59", "currency": "EUR"}
        before = api.get("/reports/spend", params={**params, "group_by": "platform"}).json()
        books.spend(DAY, AdPlace("13"), "37.60")
        pulls.pull_later(connection, hours=6)
    assert pulls.time == NOW + timedelta(hours=6)
    query = {**params, "group_by": "platform", "since": before["snapshot"]}
    response = api.get("/reports/spend/changes", params=query)
    assert response.status_code == 200, response.text
    changes = response.json()
    assert changes["totals"]["difference"]["spend"] == -12.4
    (row,) = changes["causes"]["spend_replacements"]["largest_rows"]
    assert (row["date"], row["platform"], row["campaign_id"]) == (str(DAY), "meta", "13")
    assert (row["amount"], row["currency"], row["is_stored"]) == (-12.4, "EUR", True)
    assert all(words in row["restatement"] for words in ("Meta", "12.40 EUR", "Tuesday", "18:00"))


def test_what_a_correction_did(pulls: Pulls, api: Api) -> None:
    """A correction adds, takes back or changes only counts."""
    books = Books()
    books.spend(DAY, AdPlace("13"), "50.00")
    params = {"start_date": f"{DAY} 00:00:00", "end_date": f"{DAY} 23:59:59", "currency": "EUR"}
    with FakePlatform(default=PretendMeta(books)) as platform:
        pulls.urls["meta"] = platform.url
        connection = pulls.connect("meta", {"ad_account_id": "1234567890"}, {"access_token": TOKEN})
        pulls.pull()
        for figures, words in (
            (("53.25", 1000, 20), "added 3.25 EUR to Tuesday"),
            (("53.25", 1010, 20), "changed only the counts of Tuesday"),
        ):
            before = api.get("/reports/spend", params=params).json()
            amount, impressions, clicks = figures
            books.spend(DAY, AdPlace("13"), amount, impressions=impressions, clicks=clicks)
            pulls.pull_later(connection, hours=6)
            query = {**params, "since": before["snapshot"]}
            changes = api.get("/reports/spend/changes", params=query).json()
            (row,) = changes["causes"]["spend_replacements"]["largest_rows"]
            assert words in row["restatement"]
