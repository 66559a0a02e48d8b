"""Erasing a person: none of their data can be found anywhere, and all of their twin's data is kept."""

from __future__ import annotations

import io
import json
import logging
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.database.jobs.connection import connect
from headwater.privacy.columns import COLUMNS, PersonalData
from headwater.privacy.erasure_job import erase_next
from tests.privacy.shop import Shop, live, server_log
from tests.support.canaries import Person, places, sampled_places
from tests.support.factories import Stage
from tests.support.forks import die_at
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import add_sender, event
from tests.support.reading_fixtures import RANGE, Api

FAILPOINTS = [
    "erasure_after_processing", "erasure_half_done", "erasure_before_commit",
    "erasure_after_commit",
]  # fmt: skip
FILL_A_CONTACT = (
    """
    INSERT INTO events (space_id, id, contact_id, event_name, event_time, ip, received_at)
    SELECT %(space_id)s, nextval('receipt_ids'), %(contact_id)s, 'view_content', now(), '::', now()
    FROM generate_series(1, %(count)s)
    """,
    """
    INSERT INTO contact_identifiers (space_id, kind, value, contact_id, origin_id, first_seen_at,
                                     last_seen_at, since, recency)
    SELECT %(space_id)s, 'fingerprint', 'f|' || n, %(contact_id)s, %(contact_id)s, now(), now(),
           n, n
    FROM generate_series(1, %(count)s) n
    """,
    """
    INSERT INTO hits (space_id, id, key, contact_id, visit_id, occurred_at, event_name)
    SELECT %(space_id)s, nextval('receipt_ids'), gen_random_uuid(), %(contact_id)s, 1, now(),
           'page_view'
    FROM generate_series(1, %(count)s)
    """,
)
SENT = {"event_name": "purchase", "event_time": 1760000000000}
WIDE = {**RANGE, "end_date": "2027-12-31 23:59:59"}


@pytest.fixture
def log_text() -> Iterator[io.StringIO]:
    """Everything logged, including debug messages, as it would be written."""
    root, text = logging.getLogger(), io.StringIO()
    handler, level = logging.StreamHandler(text), root.level
    handler.setFormatter(root.handlers[0].formatter)
    handler.addFilter(lambda record: not record.name.startswith("http"))  # the test's own client
    root.addHandler(handler)
    root.setLevel("DEBUG")
    yield text
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def shop(api: Api, stage: Stage, database_url: str) -> Shop:
    return Shop(api, stage, database_url)


def list_columns(held_kind: PersonalData) -> set[tuple[str, str]]:
    return {column for column, data_kind in COLUMNS.items() if data_kind is held_kind}


def test_it_works(shop: Shop, log_text: io.StringIO) -> None:
    connection = shop.stage.connection
    ada, twin = Person(shop.stage), Person(shop.stage)
    live_places = live(shop, ada, twin)
    assert set(live_places) == {*ada.personal, *ada.kept_values, *twin.personal, *twin.kept_values}
    planted_places = places(shop.stage, ada.personal)
    assert {column for columns in planted_places.values() for column in columns} >= list_columns(
        PersonalData.PERSONAL
    )
    of_twin = places(shop.stage, twin.personal + twin.kept_values)
    connection.execute("ANALYZE")

    response = shop.api.send("DELETE", "/contacts/pii", params={"email": ada.emails[1]})
    assert (response.status_code, response.json()["contact_id"]) == (202, ada.contact_id)
    assert shop.erase()

    connection.execute("ANALYZE")
    remaining_places = places(shop.stage, ada.personal)
    assert {column for columns in remaining_places.values() for column in columns} <= list_columns(
        PersonalData.KEPT
    )
    assert remaining_places == {ada.emails[0]: {("events", "order_name")}}  # written by the sender, and kept
    assert sampled_places(connection, ada.personal) == {}
    texts = log_text.getvalue() + server_log(connection)
    assert "contact erased" in texts
    assert [value for value in ada.personal if value in texts] == []

    kept_places = places(shop.stage, ada.kept_values)
    assert {column for columns in kept_places.values() for column in columns} <= (
        list_columns(PersonalData.KEPT) | {("rejected", "payload")}
    )
    inbox_place = {("inbox", "payload")}
    of_twin_now = places(shop.stage, twin.personal + twin.kept_values)
    for value, columns in of_twin.items():
        assert of_twin_now[value] >= columns - inbox_place, value
        assert of_twin_now[value], value


def test_the_search_finds_samples(shop: Shop) -> None:
    """Otherwise the test above would prove nothing about samples."""
    connection = shop.stage.connection
    connection.execute("CREATE TABLE samples AS SELECT 'canary-' || n % 3 AS value"
                       " FROM generate_series(1, 30) n")  # fmt: skip
    connection.execute("ANALYZE samples")
    samples = sampled_places(connection, ["canary-1"])
    connection.execute("DROP TABLE samples")
    assert samples == {"canary-1": {("samples", "value")}}


def test_rows_without_personal_data_stay(shop: Shop) -> None:
    """What stays: the contact's row and age, events and path with their metadata, company and merges."""
    ada = Person(shop.stage)
    live(shop, ada)
    shop.process()
    company = shop.stage.company()
    shop.stage.connection.execute(
        "UPDATE contacts SET company_id = %s WHERE space_id = %s AND id = %s",
        (company, shop.stage.space_id, ada.contact_id),
    )
    query = {**WIDE, "fields": ["profile_id", "event_name", "order_id", "order_name", "event_url"]}
    credit_query = {**query, "sources": "google_ads", "attribution_model": "linear",
                    "attribution_window": 0}  # fmt: skip
    kept_columns = {
        "contacts": "id, created_at, merged_into, company_id, source_mask",
        "merges": "*",
        "touchpoints": "id, contact_id, origin_id, company_id, occurred_at, source_id,"
        " source_rule, tag_set_id, url, referrer_host, sent, by_hit",
        "tag_sets": "*",
        "duplicates": "*",
        "rejected": "id, kind, reason, detail",
    }

    def read_data() -> list[Any]:
        pages = [shop.api.get("/events", params=params).json()["data"]
                 for params in (query, credit_query)]  # fmt: skip
        assert all(pages)
        return pages + [
            shop.rows(f"SELECT {columns} FROM {table} WHERE space_id = %(space_id)s ORDER BY id")
            for table, columns in kept_columns.items()
        ]

    before = read_data()
    shop.ask_to_erase(ada.contact_id)
    assert shop.erase()
    assert read_data() == before
    assert shop.rows("SELECT count(*) FROM visits WHERE space_id = %(space_id)s") == [(0,)]


def test_what_is_left_of_rejected_rows(shop: Shop) -> None:
    """The person's rows are redacted and other people's are not. A replayed redacted row makes an event
    without a person.
    """
    ada, twin = Person(shop.stage), Person(shop.stage)
    live(shop, ada, twin)
    query = "SELECT payload FROM rejected WHERE space_id = %(space_id)s ORDER BY id"
    before = [payload for (payload,) in shop.rows(query)]
    shop.ask_to_erase(ada.contact_id)
    assert shop.erase()
    after = [payload for (payload,) in shop.rows(query)]
    assert after[3:] == before[3:]
    assert after[1:3] == ["{}", "{}"]
    page = next(value for value in ada.kept_values if value.startswith("bad-"))
    assert json.loads(after[0]) == {
        **SENT, "url": f"https://shop.example/{page}", "amount": "none",
    }  # fmt: skip


def test_a_person_known_by_phone_alone(shop: Shop) -> None:
    """As from a webhook of phone orders. Somebody else may have the same number, and is known otherwise."""
    queue = Queue(shop.stage.connection, shop.stage.space_id)

    def order(**columns: Any) -> Any:
        return add_sender("webhook", event(**{"phone": "+1 650 555 1212", "email": None, **columns}))

    (first,) = queue.run(order(order_id="1"))
    queue.put(order(amount="none"), order(amount="none", email="eve@acme.example"))
    shop.process()
    for phone in ("+16505551212", "+1 650 555 1212", "+16505551213"):
        shop.stage.delivery(body=json.dumps({"phone": phone}))
    shop.ask_to_erase(queue.find_contact(first))
    assert shop.erase()
    payloads = [json.loads(text) for (text,) in queue.rows("rejected", "payload")]
    assert {"email" in payload: "phone" in payload for payload in payloads} == {True: True, False: False}
    assert "650 555 1212" not in str(queue.rows("webhook_deliveries", "body"))
    assert "+16505551213" in str(queue.rows("webhook_deliveries", "body"))


def test_rows_accepted_since_are_redacted_where_they_wait(shop: Shop) -> None:
    """A backlog doesn't delay the erasure. Rows that were accepted after the request and still wait remain
    events, but without the person.
    """
    queue = Queue(shop.stage.connection, shop.stage.space_id)
    (first,) = queue.run(event(email="ada@acme.example", trk_token="t1"))
    contact_id = queue.find_contact(first)
    shop.ask_to_erase(contact_id)
    receipts = queue.put(
        event(email="bob@acme.example"),
        event(email="ada@acme.example", phone="1", order_id="7"),
        event(trk_token="t1", full_name="Ada"),
        event(email="cy@acme.example"),
    )
    assert shop.erase(limit=1)
    payloads = dict(queue.rows("inbox", "id", "payload"))
    assert list(payloads) == receipts[1:]
    assert json.loads(payloads[receipts[1]]) == {**SENT, "order_id": "7"}
    assert json.loads(payloads[receipts[2]]) == SENT
    assert "cy@acme.example" in payloads[receipts[3]]
    queue.process()
    owners = dict(queue.rows("events", "id", "contact_id"))
    assert len({owners[receipt] for receipt in (first, *receipts)}) == 5
    assert ("email", "ada@acme.example") not in queue.rows("contact_identifiers", "kind", "value")


def test_what_was_accepted_before_is_processed_first(shop: Shop) -> None:
    """All of it is processed first, however many batches this takes, and even if a row fails."""
    queue = Queue(shop.stage.connection, shop.stage.space_id)
    (first,) = queue.run(event(email="ada@acme.example"))
    contact_id = queue.find_contact(first)
    receipts = queue.put(
        event(email="ada@acme.example", ip="192.0.2.1", fingerprint="f1"),
        event(email="ada@acme.example", amount="none"),
        event(email="ada@acme.example", phone="12345678"),
    )
    shop.ask_to_erase(contact_id)
    for _ in range(3):
        assert queue.values("erasures", "erased_at") == [None]
        assert shop.erase(limit=1)
    assert not shop.erase()
    assert queue.values("erasures", "erased_at") != [None]
    assert queue.values("erasures", "attempts") == [0]
    assert list(map(json.loads, queue.values("rejected", "payload"))) == [{**SENT, "amount": "none"}]
    assert [queue.find_contact(receipt) for receipt in (receipts[0], receipts[2])] == [contact_id] * 2
    assert queue.values("events", "ip") == [None] * 3
    assert queue.values("contact_identifiers", "value") == []


def test_a_former_address_is_the_person_s_unless_somebody_has_it_now(shop: Shop) -> None:
    queue = Queue(shop.stage.connection, shop.stage.space_id)
    (first, second) = queue.run(event(email="ada@acme.example"), event(email="info@acme.example"))
    contact_id = queue.find_contact(first)
    for former in ("ada@old.example", "info@acme.example"):
        shop.stage.identifier(contact_id, "former_email", former)
    queue.put_row("other", '{"who": "ada@old.example"}')
    queue.put_row("other", '{"who": "info@acme.example"}')
    queue.process()
    shop.ask_to_erase(contact_id)
    assert shop.erase()
    assert sorted(queue.values("rejected", "payload")) == [
        '{"who": "info@acme.example"}', "{}"
    ]  # fmt: skip
    assert queue.rows("contact_identifiers", "contact_id", "kind", "value") == [
        (queue.find_contact(second), "email", "info@acme.example")
    ]


def test_a_second_scrub_changes_nothing(shop: Shop) -> None:
    ada = Person(shop.stage)
    live(shop, ada)
    shop.ask_to_erase(ada.contact_id)
    assert shop.erase()
    before = places(shop.stage, ada.kept_values + ada.personal)
    shop.ask_to_erase(ada.merged_id)
    assert shop.erase()
    assert places(shop.stage, ada.kept_values + ada.personal) == before
    assert not shop.erase()


@pytest.mark.parametrize("name", FAILPOINTS)
def test_dying_anywhere_does_all_or_nothing(shop: Shop, name: str) -> None:
    queue = Queue(shop.stage.connection, shop.stage.space_id)
    (first,) = queue.run(event(email="ada@acme.example", ip="192.0.2.1", fingerprint="f1"))
    contact_id = queue.find_contact(first)
    shop.stage.hit(contact_id, shop.stage.visit(contact_id))
    queue.put(event(email="ada@acme.example", phone="12345678"))
    shop.ask_to_erase(contact_id)

    def read_data() -> list[Any]:
        tables = ("contacts", "contact_identifiers", "events", "hits", "visits", "inbox")
        return [queue.rows(table, f"{table}::text") for table in tables]

    def erase() -> None:
        with connect(shop.url) as connection:
            erase_next(connection, shop.stage.space_id)

    before = read_data()
    assert die_at(name, erase) == -signal.SIGKILL
    # The dead worker's transaction ends when the server notices, so wait for the Space's lock.
    shop.rows("SELECT FROM space_locks WHERE space_id = %(space_id)s FOR UPDATE")
    is_erased = name == "erasure_after_commit"
    assert (read_data() == before) is not is_erased
    assert shop.erase() is not is_erased
    remaining_rows = read_data()
    assert [len(rows) for rows in remaining_rows] == [1, 0, 2, 0, 0, 0]
    assert not any(value in str(remaining_rows) for value in ("ada@", "192.0.2.1", "12345678"))


def test_a_large_contact(shop: Shop) -> None:
    contact_id = shop.stage.contact(email="busy@acme.example")
    values = {"space_id": shop.stage.space_id, "contact_id": contact_id, "count": 5000}
    for statement in FILL_A_CONTACT:
        shop.stage.connection.execute(statement, values)
    shop.ask_to_erase(contact_id)
    assert shop.erase()
    for selection in (
        "events WHERE space_id = %(space_id)s AND num_nonnulls(ip, user_agent) > 0",
        "hits WHERE space_id = %(space_id)s",
        "contact_identifiers WHERE space_id = %(space_id)s",
    ):
        assert shop.rows(f"SELECT count(*) FROM {selection}") == [(0,)]
