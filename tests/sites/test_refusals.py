"""The records of refused reports: enough to explain the refusal, and never more than a few rows."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from headwater.database.pool import Database
from headwater.intake.tracker.browser_reports import BrowserReport
from headwater.intake.tracker.reported_items import WrongClock, accept_item, describe_fault
from headwater.spaces.sites import refusals
from headwater.spaces.sites.refusals import MOST_NOTES, RefusalNotes, RefusalReason
from headwater.spaces.sites.signatures import sign
from tests.hostile.test_reports import NOW, SITE, browser
from tests.support.sites import ORIGIN, Site, event, identify, page
from tests.support.waiting import wait_until

UNKNOWN = "trk_pk_" + "x" * 24


def noted_refusals(site: Site) -> dict[str, str]:
    rows = site.connection.execute(
        "SELECT reason, detail FROM site_refusals WHERE space_id = %s AND site_id = %s",
        (site.space_id, site.id),
    ).fetchall()
    return dict(rows)


def wait_for(site: Site, reason: str, detail: str) -> None:
    wait_until(lambda: noted_refusals(site).get(reason) == detail, description=f"{reason}: {detail}")


def test_it_works(site: Site) -> None:
    assert site.report(page()).status_code == 202
    refusal = site.report(page(), headers={"origin": "https://www.shop.example"})
    assert refusal.status_code == 403
    old = {**identify(email="a@shop.example"), "ago": 8 * 86_400_000}
    assert site.report(old, event(amount="much")).status_code == 422
    wait_for(site, "origin", "https://www.shop.example")
    wait_for(site, "clock", "identify.ago")
    wait_for(site, "invalid", "event.amount")
    assert set(noted_refusals(site)) == {"origin", "clock", "invalid"}


def test_a_key_that_nobody_has(site: Site, refusal_lines: list[Any]) -> None:
    """The page's origin decides whose site it may be."""
    origin = f"https://a{site.id}.b.keys.example"
    site.connection.execute(
        "UPDATE sites SET origins = %s WHERE space_id = %s",
        (["https://*.keys.example", "https://other.example"], site.space_id),
    )
    body = {"site": UNKNOWN, "token": "t", "items": [page()]}
    assert site.post(body, origin=origin).status_code == 401
    assert [line["reason"] for line in refusal_lines] == ["site_key_unknown"]
    wait_for(site, "key", UNKNOWN)


def test_the_signer_s_clock(site: Site) -> None:
    signed_at = int(NOW) + 7200
    signature = sign(b"secret", str(signed_at), "a@shop.example", None)
    item = identify(email="a@shop.example", signed_at=signed_at, signature=signature)
    raw = msgspec.Raw(msgspec.json.encode(item))
    with pytest.raises(WrongClock) as error:
        accept_item(raw, browser(BrowserReport(token="t")), SITE, NOW)
    assert describe_fault(raw, error.value) == (RefusalReason.CLOCK, "identify.signature")
    # If the signature can't be checked, the refusal isn't about the clock.
    assert site.report(item).status_code == 422
    wait_for(site, "invalid", "identify.signature")


@pytest.mark.parametrize("key", ["a@b.example", "x" * 5000, "", "ключ", "a b"])
def test_nothing_of_a_stranger_s_is_kept(site: Site, key: str) -> None:
    origin = f"https://s{site.id}.example"
    site.connection.execute("UPDATE sites SET origins = %s WHERE space_id = %s", ([origin], site.space_id))
    body = {"site": key, "token": "t", "items": [page()]}
    assert site.post(body, origin=origin).status_code == 401
    wait_until(lambda: "key" in noted_refusals(site))
    assert noted_refusals(site)["key"] == "no key"


def run(database_url: str, work: Any) -> None:
    async def run_work() -> None:
        async with Database(database_url) as database:
            await work(RefusalNotes(database))

    asyncio.run(run_work())


def test_once_a_minute(site: Site, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This limit covers all processes together: another process may have recorded the refusal."""

    async def act(notes: RefusalNotes) -> None:
        for detail in ("https://a.example", "https://b.example"):
            notes.note(site.space_id, site.id, RefusalReason.ORIGIN, detail)
            await notes.write()
        assert noted_refusals(site) == {"origin": "https://a.example"}
        monkeypatch.setattr(refusals, "RENEWAL_SECONDS", 0.0)
        notes.note(site.space_id, site.id, RefusalReason.ORIGIN, "https://c.example")
        await notes.write()
        assert noted_refusals(site) == {"origin": "https://a.example"}, "another process has written"
        before = datetime.now(UTC) - timedelta(minutes=2)
        site.connection.execute("UPDATE site_refusals SET noted_at = %s", (before,))
        notes.note(site.space_id, site.id, RefusalReason.ORIGIN, "https://d.example")
        await notes.write()
        assert noted_refusals(site) == {"origin": "https://d.example"}

    run(database_url, act)


def test_strangers_fill_nothing(site: Site, database_url: str) -> None:
    async def act(notes: RefusalNotes) -> None:
        for number in range(10 * MOST_NOTES):
            notes.note_key(f"https://s{number}.example", UNKNOWN)
        notes.note_key("https://" + "a" * 5000, UNKNOWN)
        assert len(notes._unwritten) == MOST_NOTES
        await notes.write()
        notes.note_key("https://later.example", UNKNOWN)
        assert (len(notes._unwritten), len(notes._tried)) == (0, MOST_NOTES)

    run(database_url, act)
    assert noted_refusals(site) == {}


def test_a_database_that_is_away_is_no_matter() -> None:
    async def act() -> None:
        database = Database("postgresql://nobody@127.0.0.1:9/none")
        notes = RefusalNotes(database)
        notes.note(1, 1, RefusalReason.ORIGIN, ORIGIN)
        await notes.write()
        assert notes._unwritten == {}

    asyncio.run(act())
