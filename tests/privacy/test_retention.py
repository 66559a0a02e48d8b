"""Data that a Space keeps for a limited time is then deleted from every column, and nothing else is."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from headwater.attribution.paths.builder import Builder
from headwater.database.jobs.connection import connect
from headwater.events.browsing.old_views import expired_rows
from headwater.privacy import retention
from headwater.privacy.columns import COLUMNS, PersonalData
from headwater.privacy.retention import RetentionKind, delete_expired, make_retention_duty
from headwater.spaces.locks import try_lock
from tests.privacy.expiring import NOW, OLD, RECENT, Traces, leave_logs
from tests.support.canaries import places
from tests.support.factories import Stage, make_stage
from tests.support.forks import die_at
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import event, page
from tests.support.reading_fixtures import RANGE, Api

OF_OTHERS = {
    ("inbox", "payload"),  # is processed first
    ("refused_rows", "reason"), ("refused_rows", "cells"),  # kept for 14 days in every Space
    ("companies", "domain"), ("companies", "external_id"), ("companies", "name"), ("chart_notes", "text"),
    ("order_refunds", "order_id"), ("order_refunds", "main_id"), ("order_refunds", "order_ids"),
    ("tag_sets", "digest"), ("contact_identifiers", "phone_digits"),  # derived
}  # fmt: skip
"""Columns that retention ignores, or that contain no original text."""


@pytest.fixture
def worker(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(database_url) as connection:
        yield connection


def keep(stage: Stage, **days: int | None) -> None:
    for setting, number in {"inactive_contact_days": 100, **days}.items():
        query = f"UPDATE spaces SET {setting} = %s WHERE id = %s"  # type: ignore[arg-type]
        stage.connection.execute(query, (number, stage.space_id))


@pytest.fixture
def settle(worker: psycopg.Connection[Any], stage: Stage) -> Callable[..., int]:
    """Run due retention, and return the number of batches."""

    def run(time: datetime = NOW, limit: int = 2) -> int:
        batches = 0
        while delete_expired(worker, stage.space_id, limit, time):
            batches += 1
        return batches

    return run


def remaining_values(stage: Stage, values: list[str]) -> set[str]:
    return {value for value, columns in places(stage, values).items() if columns}


def test_it_works(stage: Stage, settle: Callable[..., int]) -> None:
    """Canaries in every column: none is left of expired rows, and all are left of other rows."""
    old_traces = Traces(stage, OLD)
    buyer = Traces(stage, OLD, "purchase", amount=5)
    payer = Traces(stage, OLD, "add_to_cart", amount=5)
    current = Traces(stage, RECENT)
    former_logs, current_logs = leave_logs(stage, OLD), leave_logs(stage, RECENT)
    planted_places = places(stage, old_traces.of_person + old_traces.of_delivery + former_logs)
    covered_columns = {column for columns in planted_places.values() for column in columns} | OF_OTHERS
    can_hold = {column for column, holds in COLUMNS.items() if holds is not PersonalData.NONE}
    assert can_hold - covered_columns == set()

    counts = {kind: expired_rows.labels(kind)._value.get() for kind in RetentionKind}
    keep(stage, delivery_days=100, log_days=100)
    assert settle() > 3
    assert remaining_values(stage, old_traces.of_person + old_traces.of_delivery + former_logs) == set()
    assert remaining_values(stage, buyer.of_delivery + payer.of_delivery) == set()
    remaining = buyer.of_person + payer.of_person + current.of_person + current.of_delivery + current_logs
    assert remaining_values(stage, remaining) == set(remaining)
    assert {kind: expired_rows.labels(kind)._value.get() - counts[kind] for kind in RetentionKind} == {
        "contacts": 1, "deliveries": 2, "logs": 5,
    }  # fmt: skip
    assert settle() == 0, "once a day"
    assert remaining_values(stage, remaining) == set(remaining)


def test_nothing_is_deleted_by_default(stage: Stage, settle: Callable[..., int]) -> None:
    traces, logs = Traces(stage, OLD), leave_logs(stage, OLD)
    keep(stage, inactive_contact_days=None)
    assert settle() == 0
    everything = traces.of_person + traces.of_delivery + logs
    assert remaining_values(stage, everything) == set(everything)


@pytest.mark.parametrize(
    "activity",
    [
        lambda stage, contact: stage.event(contact, event_name="view_content", event_time=RECENT),
        lambda stage, contact: stage.touchpoint(contact, "sms", occurred_at=RECENT),
        lambda stage, contact: stage.hit(contact, 1, occurred_at=RECENT),
        lambda stage, contact: stage.identifier(contact, "trk_token", "t", last_seen_at=RECENT),
        lambda stage, contact: stage.event(contact, event_name="sign_up", event_time=OLD),
        lambda stage, contact: stage.add_delivery(stage.destination(), stage.event(
            contact, event_name="view_content", event_time=OLD), status="retrying", finished_at=None),
        lambda stage, contact: stage._insert("erasures", {"contact_id": contact, "receipt_mark": 0}),
    ],
)  # fmt: skip
def test_customers_stay(
    stage: Stage, settle: Callable[..., int], activity: Callable[[Stage, int], object]
) -> None:
    contact = stage.contact(created_at=OLD)
    other_contact = stage.contact(created_at=OLD)
    activity(stage, contact)
    keep(stage)
    settle()
    assert stage.connection.execute(
        "SELECT id FROM contacts WHERE space_id = %s", (stage.space_id,)
    ).fetchall() == [(contact,)], other_contact


def test_colleagues_of_a_buyer_stay(stage: Stage, settle: Callable[..., int]) -> None:
    """Company-level credit is shared with their touchpoints."""
    company = stage.company()
    visitor, buyer = (stage.contact(created_at=OLD, company_id=company) for _ in range(2))
    stage.touchpoint(visitor, "sms", occurred_at=OLD, company_id=company)
    stage.event(buyer, event_time=OLD, company_id=company)
    keep(stage)
    settle()
    assert stage.connection.execute(
        "SELECT count(*) FROM touchpoints WHERE space_id = %s", (stage.space_id,)
    ).fetchone() == (1,)


def test_merged_contacts_go_with_the_survivor(stage: Stage, settle: Callable[..., int]) -> None:
    survivor = stage.contact(created_at=OLD)
    stage.contact(created_at=OLD, merged_into=survivor, email="merged@canary.example")
    keep(stage)
    settle(limit=1)
    assert remaining_values(stage, ["merged@canary.example"]) == set()


def test_an_erased_contact_keeps_its_row_for_the_journal(stage: Stage, settle: Callable[..., int]) -> None:
    survivor = stage.contact(created_at=OLD)
    merged_contact = stage.contact(created_at=OLD, merged_into=survivor)
    stage.event(survivor, event_name="view_content", event_time=OLD, event_url="https://canary.example/")
    stage._insert("erasures", {"contact_id": merged_contact, "receipt_mark": 0, "erased_at": OLD})
    keep(stage)

    def count_deleted() -> float:
        return expired_rows.labels("contacts")._value.get()

    before = count_deleted()
    settle(limit=10)
    assert remaining_values(stage, ["canary.example"]) == set()
    assert stage.connection.execute(
        "SELECT id FROM contacts WHERE space_id = %s ORDER BY id", (stage.space_id,)
    ).fetchall() == [(survivor,), (merged_contact,)]
    assert count_deleted() - before == 1
    settle(NOW + timedelta(days=2))
    assert count_deleted() - before == 1


def test_what_waits_is_processed_first(stage: Stage, settle: Callable[..., int]) -> None:
    traces = Traces(stage, OLD)
    Queue(stage.connection, stage.space_id).put_row("hit", "{}", received_at=str(NOW - timedelta(days=2)))
    keep(stage)
    settle()
    assert remaining_values(stage, traces.of_person) == set(traces.of_person)


class TestDuplicates:
    """Repeats of a deleted event are still duplicates."""

    @pytest.mark.parametrize("key", ["idempotency_key", "order_id"])
    @pytest.mark.parametrize("sender", [lambda item: item, page])
    def test_its_keys(
        self, stage: Stage, settle: Callable[..., int], key: str, sender: Callable[[Any], Any]
    ) -> None:
        queue = Queue(stage.connection, stage.space_id)
        moment = int(OLD.timestamp() * 1000)
        values = {"event_name": "view_content", "event_time": moment, key: "canary-1", "email": "a@b.example"}
        (first,) = queue.run(sender(event(**values)))
        stage.connection.execute(
            "UPDATE contacts SET created_at = %s WHERE space_id = %s", (OLD, stage.space_id)
        )
        keep(stage)
        settle()
        assert queue.values("events", "id") == []
        assert remaining_values(stage, ["canary-1"]) == set(), "only as a hash"
        (second,) = queue.run(sender(event(**values)))
        assert queue.values("events", "id") == []
        assert queue.rows("duplicates", "id", "reason", "event_id") == [(second, key, first)]
        (purchase_id,) = queue.run(sender(event(**{**values, "event_name": "purchase"})))
        assert queue.values("events", "id") == [purchase_id]

    def test_the_business_still_replaces_a_page(self, stage: Stage, settle: Callable[..., int]) -> None:
        queue = Queue(stage.connection, stage.space_id)
        values = {"event_name": "view_content", "event_time": int(OLD.timestamp() * 1000), "trk_token": "t",
                  "idempotency_key": "k"}  # fmt: skip
        queue.run(page(event(**values)))
        stage.connection.execute(
            "UPDATE contacts SET created_at = %s WHERE space_id = %s", (OLD, stage.space_id)
        )
        keep(stage)
        settle()
        (stored_event,) = queue.run(event(**values))
        assert queue.values("events", "id") == [stored_event]


@pytest.mark.parametrize("is_built", [False, True])
def test_figures_of_conversions_stay(
    api: Api, stage: Stage, settle: Callable[..., int], worker: psycopg.Connection[Any], is_built: bool
) -> None:
    """Reports of conversions keep their figures, with and without stored segments. Only events that aren't
    conversions disappear from reports.
    """
    people = [(OLD, "view_content", None), (OLD, "purchase", 80), (OLD, "sign_up", None),
              (OLD, "add_to_cart", 5), (RECENT, "view_content", None)]  # fmt: skip
    for moment, name, amount in people:
        contact = stage.contact(created_at=moment)
        visit = stage.visit(contact, started_at=moment, last_hit_at=moment, source_id=stage.source_id("sms"))
        stage.hit(contact, visit, occurred_at=moment)
        stage.touchpoint(contact, "sms", occurred_at=moment)
        stage.event(contact, event_name=name, event_time=moment, amount=amount)
    measures = ["credited_revenue", "credited_conversions", "orders", "revenue", "share"]

    def ask(**params: Any) -> dict[str, Any]:
        query = {"measures": measures, "group_by": "source", **RANGE, **params}
        answer = api.get("/reports", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    builder = Builder()

    def build() -> None:
        if is_built:
            while builder.build_next(worker, stage.space_id):
                pass
            assert stage.connection.execute(
                "SELECT count(*) > 0 FROM path_segments WHERE space_id = %s", (stage.space_id,)
            ).fetchone() == (True,)

    stage.connection.execute(
        "INSERT INTO pending_paths (space_id, day, event_id, changed_at)"
        " SELECT space_id, event_time::date, id, now() - interval '1 hour' FROM events WHERE space_id = %s",
        (stage.space_id,),
    )
    build()
    before, steps = ask(), ask(event_names="view_content", measures="events", group_by="none")
    visits = ask(measures="visits", group_by="none")
    keep(stage)
    settle()
    build()
    after = ask()
    assert (after["rows"], after["totals"]) == (before["rows"], before["totals"])
    assert after["rows"] != []
    assert steps["totals"] == {"events": 2}
    assert ask(event_names="view_content", measures="events", group_by="none")["totals"] == {"events": 1}
    totals_report = ask(measures="visits", group_by="none")
    assert (visits["totals"]["visits"], totals_report["totals"]["visits"]) == (5, 4)
    assert visits["visits"]["deleted_before"] is None
    assert totals_report["visits"]["deleted_before"] == "2026-01-21 03:00:00", "the reader is told so"
    later = ask(measures="visits", group_by="none", start_date="2026-02-01 00:00:00")
    assert later["visits"]["deleted_before"] is None


def test_killed_anywhere_it_goes_on(
    database_url: str, stage: Stage, settle: Callable[..., int], worker: psycopg.Connection[Any]
) -> None:
    people = [Traces(stage, OLD) for _ in range(5)]
    keep(stage)
    assert delete_expired(worker, stage.space_id, 2, NOW)
    progress = "SELECT after_id, ended_at FROM retention_passes WHERE space_id = %s"
    assert stage.connection.execute(progress, (stage.space_id,)).fetchone() == (people[1].id, None)

    def work() -> None:
        with connect(database_url) as other_connection:
            delete_expired(other_connection, stage.space_id, 2, NOW)

    assert die_at("retention_before_commit", work) == -signal.SIGKILL
    assert stage.connection.execute(progress, (stage.space_id,)).fetchone() == (people[1].id, None)
    assert remaining_values(stage, people[2].of_person) == set(people[2].of_person)
    settle()
    assert remaining_values(stage, [value for person in people for value in person.of_person]) == set()


def test_two_workers_take_turns(database_url: str, stage: Stage, settle: Callable[..., int]) -> None:
    Traces(stage, OLD)
    keep(stage)
    with connect(database_url) as other_connection, other_connection.transaction():
        assert try_lock(other_connection, stage.space_id)
        assert settle() == 0
    assert settle() > 0


def test_another_space_is_left_alone(
    connection: psycopg.Connection, stage: Stage, settle: Callable[..., int]
) -> None:
    other_stage = make_stage(connection)
    traces, logs = Traces(other_stage, OLD), leave_logs(other_stage, OLD)
    keep(stage, delivery_days=30, log_days=30)
    keep(other_stage, delivery_days=30, log_days=30)
    settle()
    everything = traces.of_person + traces.of_delivery + logs
    assert remaining_values(other_stage, everything) == set(everything)


def test_a_space_is_due_once_a_day(stage: Stage, worker: psycopg.Connection[Any]) -> None:
    duty = make_retention_duty(0)
    assert stage.space_id not in duty.waiting(worker)
    keep(stage, inactive_contact_days=3650)
    assert stage.space_id in duty.waiting(worker)
    while duty.attend(worker, stage.space_id):
        pass
    assert stage.space_id not in duty.waiting(worker)


def test_a_clock_that_is_set_back_does_not_suspend_it(
    stage: Stage, worker: psycopg.Connection[Any], settle: Callable[..., int]
) -> None:
    keep(stage)
    settle(datetime.now(UTC) + timedelta(days=400))
    traces = Traces(stage, OLD)
    assert stage.space_id in make_retention_duty(0).waiting(worker)
    settle()
    assert remaining_values(stage, traces.of_person) == set()


def test_what_is_stored_does_not_stop_the_worker(
    stage: Stage, worker: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    keep(stage)
    monkeypatch.setitem(retention._DELETIONS, RetentionKind.CONTACTS, fail)
    assert make_retention_duty().attend(worker, stage.space_id) is False
