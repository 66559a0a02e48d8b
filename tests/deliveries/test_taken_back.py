"""Changes between an event and its delivery take effect when it is sent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.deliveries.staging import Sending
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.lock_waits import is_waited_for
from tests.support.waiting import wait_until

CHANGES = {
    "deleted": "DELETE FROM events WHERE space_id = %(space)s AND id = %(event)s",
    "do_not_capi": "UPDATE events SET do_not_capi = true"
                   " WHERE space_id = %(space)s AND id = %(event)s",
    "erased": "INSERT INTO erasures (space_id, contact_id, receipt_mark)"
              " SELECT space_id, contact_id, nextval('receipt_ids') FROM events"
              " WHERE space_id = %(space)s AND id = %(event)s",
    "no_identifier": "UPDATE contacts SET email = NULL WHERE space_id = %(space)s AND id ="
                     " (SELECT contact_id FROM events WHERE space_id = %(space)s"
                     " AND id = %(event)s)",
    "too_old": "UPDATE events SET event_time = now() - interval '8 days'"
               " WHERE space_id = %(space)s AND id = %(event)s",
    "no_mapping": "UPDATE events SET event_name = 'contact'"
                  " WHERE space_id = %(space)s AND id = %(event)s",
}  # fmt: skip


def change(sending: Sending, kind: str, event: int) -> None:
    sending.connection.execute(CHANGES[kind], {"space": sending.space_id, "event": event})


def test_it_works(sending: Sending, platform: FakePlatform) -> None:
    """Each changed event is skipped with its reason, and the others are sent."""
    destination = sending.destination()
    skipped_ids: dict[str, int] = {}
    for kind in CHANGES:
        event = sending.event()
        skipped_ids[kind] = sending.delivery(destination, event)
        change(sending, kind, event)
    delivered_id = sending.delivery(destination)
    sending.run()
    for kind, delivery in skipped_ids.items():
        assert sending.read_delivery(delivery, "status", "reason", "attempts") == ("skipped", kind, 0)
        assert sending.read_delivery(delivery, "request", "finished_at")[0] is None
        assert sending.attempts(delivery) == []
    assert sending.read_delivery(delivered_id, "status") == "delivered"
    assert len(platform.bodies[0]["data"]) == 1


@pytest.mark.parametrize("kind", ["deleted", "do_not_capi", "erased"])
def test_between_two_attempts(sending: Sending, platform: FakePlatform, kind: str) -> None:
    platform.append(Answer(500))
    destination = sending.destination()
    event = sending.event()
    delivery = sending.delivery(destination, event)
    sending.run()
    change(sending, kind, event)
    sending.advance(11)
    sending.run()
    assert len(platform.requests) == 1
    assert sending.read_delivery(delivery, "status", "reason", "attempts") == ("skipped", kind, 1)


def test_too_old_while_it_was_tried(sending: Sending, platform: FakePlatform) -> None:
    platform.append(Answer(500))
    destination = sending.destination()
    event = sending.event()
    delivery = sending.delivery(destination, event)
    sending.run()
    change(sending, "too_old", event)
    sending.advance(11)
    sending.run()
    assert len(platform.requests) == 1
    assert sending.read_delivery(delivery, "status", "error") == ("expired", "The event became too old.")


def test_between_halves_of_a_call(sending: Sending, platform: FakePlatform) -> None:
    """When events are sent in several calls, they are checked before each call."""
    destination = sending.destination()
    events = [sending.event() for _ in range(4)]
    deliveries = [sending.delivery(destination, event) for event in events]

    def change_and_refuse(_: object) -> Answer:
        change(sending, "do_not_capi", events[3])
        return Answer(400, {"some_bad": True, "error": "invalid"})

    platform.append(change_and_refuse)
    sending.run()
    assert sending.read_delivery(deliveries[3], "status", "reason") == ("skipped", "do_not_capi")
    assert [len(body["data"]) for body in platform.bodies] == [4, 2, 1]


def work_during_call(work: Callable[[], None]) -> Callable[[object], Answer]:
    def step(_: object) -> Answer:
        work()
        return Answer(200, {"bad": [0], "taken": True, "error": "unknown person"})

    return step


def test_erased_during_the_call(sending: Sending, platform: FakePlatform) -> None:
    """The call can't be undone, but none of its content is kept."""
    event = sending.event()
    delivery = sending.delivery(sending.destination(), event)
    platform.append(work_during_call(lambda: change(sending, "erased", event)))
    sending.run()
    assert sending.read_delivery(delivery, "status", "request", "answer", "error") == (
        "failed", None, None, None,
    )  # fmt: skip
    assert sending.attempts(delivery) == [("failed", 200, None)]


def test_deleted_during_the_call(sending: Sending, platform: FakePlatform) -> None:
    event = sending.event()
    delivery = sending.delivery(sending.destination(), event)
    platform.append(work_during_call(lambda: change(sending, "deleted", event)))
    sending.run()
    assert sending.read_delivery(delivery, "status") == "failed"


@pytest.mark.parametrize("is_accepted", [True, False])
def test_destination_removed_during_the_call(
    sending: Sending, platform: FakePlatform, is_accepted: bool
) -> None:
    """An event that the platform has isn't listed as unsent."""
    destination = sending.destination()
    sent_delivery, queued_delivery = sending.delivery(destination), sending.delivery(destination)
    sending.connection.execute(
        "UPDATE deliveries SET due_at = 'infinity' WHERE space_id = %s AND id = %s",
        (sending.space_id, queued_delivery),
    )

    def remove(_: object) -> Answer:
        sending.remove_destination(destination)
        return Answer(200 if is_accepted else 400)

    platform.append(remove)
    sending.run()
    columns = ("status", "reason")
    assert sending.read_delivery(sent_delivery, *columns) == (
        ("delivered", None) if is_accepted else ("skipped", "removed")
    )
    assert sending.read_delivery(queued_delivery, *columns) == ("skipped", "removed")


def test_corrected_during_the_call(sending: Sending, platform: FakePlatform) -> None:
    """A batch that locks deliveries in the order of ids waits for no call that waits for it."""
    destination = sending.destination()
    first, second = (sending.delivery(destination, sending.event()) for _ in range(2))
    lock = "SELECT FROM deliveries WHERE space_id = %s AND id = %s FOR NO KEY UPDATE"
    with psycopg.connect(sending.database_url) as worker, ThreadPoolExecutor() as pool:
        worker.execute(lock, (sending.space_id, first))
        platform.append(Answer(200, {"bad": [1], "taken": True, "error": "unknown person"}))
        call = pool.submit(sending.run)
        wait_until(lambda: is_waited_for(sending.connection, worker))
        worker.execute(lock, (sending.space_id, second))
        worker.commit()
        call.result()
    assert [sending.read_delivery(delivery, "status", "attempts") for delivery in (first, second)] == [
        ("delivered", 1),
        ("failed", 1),
    ]


def test_an_erasure_counts_for_what_came_before_it(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination()
    contact = sending.rows.contact(email="a@example.com")
    before = sending.rows.event(contact, event_time=sending.moment(-60))
    change(sending, "erased", before)
    after = sending.rows.event(contact, event_time=sending.moment(-60))
    first, second = sending.delivery(destination, before), sending.delivery(destination, after)
    sending.run()
    assert (sending.read_delivery(first, "reason"), sending.read_delivery(second, "status")) == (
        "erased",
        "delivered",
    )
    assert len(platform.requests) == 1


def test_an_erasure_counts_under_the_id_of_a_merged_contact(sending: Sending, platform: FakePlatform) -> None:
    survivor = sending.rows.contact(email="a@example.com")
    merged_contact = sending.rows.contact()
    event = sending.rows.event(merged_contact, event_time=sending.moment(-60))
    change(sending, "erased", event)
    for statement in (
        "UPDATE contacts SET merged_into = %s WHERE id = %s",
        "UPDATE events SET contact_id = %s WHERE contact_id = %s",
    ):
        sending.connection.execute(statement, (survivor, merged_contact))
    delivery = sending.delivery(sending.destination(), event)
    sending.run()
    assert sending.read_delivery(delivery, "reason") == "erased"
    assert not platform.requests
