"""What has changed between the event and its delivery counts when it is sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.forwarding.fake_platform import Answer, FakePlatform
from tests.forwarding.staging import Stage

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


def change(stage: Stage, kind: str, event: int) -> None:
    stage.connection.execute(CHANGES[kind], {"space": stage.space_id, "event": event})


def test_it_works(stage: Stage, platform: FakePlatform) -> None:
    """Each is skipped with its reason, and those beside it are sent."""
    destination = stage.destination()
    skipped: dict[str, int] = {}
    for kind in CHANGES:
        event = stage.event()
        skipped[kind] = stage.delivery(destination, event)
        change(stage, kind, event)
    sent = stage.delivery(destination)
    stage.run()
    for kind, delivery in skipped.items():
        assert stage.of(delivery, "status", "reason", "attempts") == ("skipped", kind, 0)
        assert stage.of(delivery, "request", "finished_at")[0] is None
        assert stage.attempts(delivery) == []
    assert stage.of(sent, "status") == "delivered"
    assert len(platform.bodies[0]["data"]) == 1


@pytest.mark.parametrize("kind", ["deleted", "do_not_capi", "erased"])
def test_between_two_attempts(stage: Stage, platform: FakePlatform, kind: str) -> None:
    platform.then(Answer(500))
    destination = stage.destination()
    event = stage.event()
    delivery = stage.delivery(destination, event)
    stage.run()
    change(stage, kind, event)
    stage.advance(11)
    stage.run()
    assert len(platform.requests) == 1
    assert stage.of(delivery, "status", "reason", "attempts") == ("skipped", kind, 1)


def test_too_old_while_it_was_tried(stage: Stage, platform: FakePlatform) -> None:
    platform.then(Answer(500))
    destination = stage.destination()
    event = stage.event()
    delivery = stage.delivery(destination, event)
    stage.run()
    change(stage, "too_old", event)
    stage.advance(11)
    stage.run()
    assert len(platform.requests) == 1
    assert stage.of(delivery, "status", "error") == ("expired", "It has become too old.")


def test_between_halves_of_a_call(stage: Stage, platform: FakePlatform) -> None:
    """What is sent in several calls is looked at before each."""
    destination = stage.destination()
    events = [stage.event() for _ in range(4)]
    deliveries = [stage.delivery(destination, event) for event in events]

    def then(_: object) -> Answer:
        change(stage, "do_not_capi", events[3])
        return Answer(400, {"some_bad": True, "error": "invalid"})

    platform.then(then)
    stage.run()
    assert stage.of(deliveries[3], "status", "reason") == ("skipped", "do_not_capi")
    assert [len(body["data"]) for body in platform.bodies] == [4, 2, 1]


def during(act: Callable[[], None]) -> Callable[[object], Answer]:
    def step(_: object) -> Answer:
        act()
        return Answer(200, {"bad": [0], "taken": True, "error": "unknown person"})

    return step


def test_erased_during_the_call(stage: Stage, platform: FakePlatform) -> None:
    """The call cannot be taken back, but nothing of it is kept."""
    event = stage.event()
    delivery = stage.delivery(stage.destination(), event)
    platform.then(during(lambda: change(stage, "erased", event)))
    stage.run()
    assert stage.of(delivery, "status", "request", "answer", "error") == (
        "failed", None, None, None,
    )  # fmt: skip
    assert stage.attempts(delivery) == [("failed", 200, None)]


def test_deleted_during_the_call(stage: Stage, platform: FakePlatform) -> None:
    event = stage.event()
    delivery = stage.delivery(stage.destination(), event)
    platform.then(during(lambda: change(stage, "deleted", event)))
    stage.run()
    assert stage.of(delivery, "status") == "failed"


def test_an_erasure_counts_for_what_came_before_it(stage: Stage, platform: FakePlatform) -> None:
    destination = stage.destination()
    contact = stage.rows.contact(email="a@example.com")
    before = stage.rows.event(contact, event_time=stage.moment(-60))
    change(stage, "erased", before)
    after = stage.rows.event(contact, event_time=stage.moment(-60))
    first, second = stage.delivery(destination, before), stage.delivery(destination, after)
    stage.run()
    assert (stage.of(first, "reason"), stage.of(second, "status")) == ("erased", "delivered")
    assert len(platform.requests) == 1


def test_an_erasure_counts_under_the_id_of_a_merged_contact(
    stage: Stage, platform: FakePlatform
) -> None:
    survivor = stage.rows.contact(email="a@example.com")
    merged = stage.rows.contact()
    event = stage.rows.event(merged, event_time=stage.moment(-60))
    change(stage, "erased", event)
    for statement in (
        "UPDATE contacts SET merged_into = %s WHERE id = %s",
        "UPDATE events SET contact_id = %s WHERE contact_id = %s",
    ):
        stage.connection.execute(statement, (survivor, merged))
    delivery = stage.delivery(stage.destination(), event)
    stage.run()
    assert stage.of(delivery, "reason") == "erased"
    assert not platform.requests
