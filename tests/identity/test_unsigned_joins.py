"""The limits of an attacker who knows customers' addresses: a few contacts per hour for each browser and IP
address, and none if the site leaves joins to its own server.
"""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import psycopg
import pytest

from headwater.alerts.problems import list_problems
from headwater.alerts.rules import Rule
from headwater.intake.pipeline.batch_runner import process_space
from headwater.people.identity.directory import Contact, Directory
from headwater.people.identity.joins import JOIN_PERIOD, MAX_JOINED, Joins, address_key
from headwater.people.identity.resolution import ItemIdentity, identify
from headwater.people.identity.senders import Sender
from tests.support.reading_fixtures import Api
from tests.support.sites import Site, event, page
from tests.support.sites import identify as says

AFFILIATE = "https://shop.example/?utm_source=affiliate66&utm_medium=cpc"
ALL = {"start_date": "2020-01-01 00:00:00", "end_date": "2099-01-01 00:00:00"}
HOUR = JOIN_PERIOD


def process(site: Site) -> None:
    while process_space(site.connection, site.space_id).rows:
        pass


def order(api: Api, email: str, **values: Any) -> None:
    body = {"event_name": "purchase", "email": email, "amount": 10, **values}
    assert api.send("POST", "/events/track", json=body).status_code == 202


def customer(number: int) -> str:
    return f"customer{number}@shopper.example"


@pytest.fixture
def customers(site: Site, api: Api) -> list[str]:
    emails = [customer(number) for number in range(12)]
    for email in emails:
        order(api, email)
    process(site)
    return emails


def count_touched(site: Site) -> int:
    """Count the customers with the affiliate on their path."""
    row = site.connection.execute(
        "SELECT count(DISTINCT t.contact_id) FROM touchpoints t JOIN contact_identifiers i"
        " ON i.space_id = t.space_id AND i.contact_id = t.contact_id AND i.kind = 'email'"
        " WHERE t.space_id = %s AND i.value LIKE 'customer%%'",
        (site.space_id,),
    ).fetchone()
    assert row is not None
    return row[0]


def alerts(site: Site, database_url: str) -> list[tuple[Rule, int]]:
    async def read() -> list[tuple[Rule, int]]:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            alerts = await list_problems(connection, site.space_id)
            return [(alert.kind, alert.count) for alert in alerts]

    return asyncio.run(read())


def test_it_works(site: Site, customers: list[str], database_url: str) -> None:
    """All customers in one request: three are joined, the others are refused, and there is an alert."""
    items = [item for email in customers for item in (page(AFFILIATE), says(email=email))]
    assert site.report(*items).status_code == 202
    process(site)
    assert count_touched(site) == MAX_JOINED
    assert alerts(site, database_url) == [(Rule.JOINS_REFUSED, len(customers) - MAX_JOINED)]
    assert site.rows() == []


def test_one_request_after_another(site: Site, customers: list[str]) -> None:
    for email in customers:
        site.report(page(AFFILIATE), says(email=email))
        process(site)
    assert count_touched(site) == MAX_JOINED


def test_a_new_token_for_each(site: Site, customers: list[str]) -> None:
    """All have the same IP address."""
    for number, email in enumerate(customers):
        site.report(page(AFFILIATE), says(email=email), token=f"tok-{number}")
    process(site)
    assert count_touched(site) == MAX_JOINED


def test_events_that_say_who_buys(site: Site, customers: list[str]) -> None:
    for email in customers:
        site.report(event(email=email, trk_source="affiliate66", trk_type="paid"))
    process(site)
    assert count_touched(site) == MAX_JOINED
    row = site.connection.execute(
        "SELECT count(*) FROM events WHERE space_id = %s AND sender = 'browser'", (site.space_id,)
    ).fetchone()
    assert row == (len(customers),)  # all are stored


def test_nobody_gets_what_a_refused_browser_says(site: Site, customers: list[str], api: Api) -> None:
    for number, email in enumerate(customers):
        site.report(says(email=email, profile_field_1=f"from {number}"))
    process(site)
    values = [
        api.get(f"/contacts/by-email/{email}").json()["custom_fields"].get("profile_field_1")
        for email in customers
    ]
    assert values == ["from 0", "from 1", "from 2", *[None] * 9]


def test_who_joined_before_may_come_back(site: Site, customers: list[str]) -> None:
    for email in [*customers[:3], *customers[:3]]:
        site.report(says(email=email))
    site.report(page(AFFILIATE))  # of the third customer
    process(site)
    assert count_touched(site) == 1


def test_signed_identifies_and_the_server_have_no_limit(site: Site, customers: list[str], api: Api) -> None:
    for number, email in enumerate(customers):
        site.report(page(AFFILIATE), token=f"t-{number}")
        order(api, email, trk_token=f"t-{number}")
    process(site)
    assert count_touched(site) == len(customers)


def test_a_site_that_signs(site: Site, customers: list[str], database_url: str) -> None:
    """A page alone joins no contacts, and there is no alert because the site wants this."""
    site.connection.execute("UPDATE sites SET signed_only = true WHERE id = %s", (site.id,))
    site.report(page(AFFILIATE), says(email=customers[0]))
    site.report(page(AFFILIATE), says(email="new@shopper.example"), token="tok-2")
    process(site)
    assert count_touched(site) == 0
    assert alerts(site, database_url) == []
    row = site.connection.execute(
        "SELECT count(*) FROM contact_identifiers WHERE space_id = %s AND value = %s",
        (site.space_id, "new@shopper.example"),
    ).fetchone()
    assert row == (1,)  # a contact that was unknown


class TestDecisions:
    """The rule without the pipeline, for several kinds of browsers."""

    def contacts(self, count: int) -> tuple[Directory, list[Contact]]:
        directory = Directory(0, 0)
        contacts = [
            identify(directory, self.item(number, 0, email=customer(number), sender=Sender.API_KEY),
                     Joins())[0]
            for number in range(count)
        ]  # fmt: skip
        return directory, contacts

    def item(self, number: int, time: int, **fields: Any) -> ItemIdentity:
        values = {"sender": Sender.BROWSER, **fields}
        return ItemIdentity(number + 1, time, time, **values)

    @pytest.mark.parametrize(
        ("token_count", "address_count"), list(product(("one", "many", "none"), ("one", "many")))
    )
    def test_kinds_of_browsers(self, token_count: str, address_count: str) -> None:
        directory, contacts = self.contacts(8)
        joins = Joins()
        join_count = 0
        for number, contact in enumerate(contacts):
            token = {"one": "t", "many": f"t{number}", "none": None}[token_count]
            address = "1.1.1.1" if address_count == "one" else f"1.1.1.{number}"
            item = self.item(
                100 + number, 0, email=customer(number), trk_token=token,
                address_key=address_key(address),
            )  # fmt: skip
            match, kept_item = identify(directory, item, joins)
            join_count += match is contact
            assert (match is contact) == (kept_item.email is not None)
        is_one = token_count == "one" or address_count == "one"
        assert join_count == (MAX_JOINED if is_one else len(contacts))
        assert len(joins.refused_receipts) == len(contacts) - join_count

    @pytest.mark.parametrize("gap", [1, HOUR // 4, HOUR // 3 - 1, HOUR // 2, HOUR - 1])
    def test_within_the_hour(self, gap: int) -> None:
        """Exactly three joins are allowed in any hour."""
        directory, contacts = self.contacts(12)
        joins, times = Joins(), []
        for number, contact in enumerate(contacts):
            item = self.item(100 + number, number * gap, email=customer(number), trk_token="t")
            if identify(directory, item, joins)[0] is contact:
                times.append(number * gap)
        for start in times:
            assert sum(start <= moment < start + HOUR for moment in times) <= MAX_JOINED
        assert len(times) >= min(len(contacts), MAX_JOINED)
