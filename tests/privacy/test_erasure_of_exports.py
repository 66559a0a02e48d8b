"""Export files that contain a person are withdrawn when the person is erased."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import timedelta

import pytest
from psycopg import Connection

from headwater.exports import jobs
from headwater.exports.models import ClaimedJob
from headwater.privacy.erasure_job import ERASURE_JOB, erase_all, erase_next
from headwater.privacy.scrub import WITHDRAWN
from tests.support.exports import Exports
from tests.support.factories import NOON, Stage

RANGE = {"start_date": "2026-05-13 00:00:00", "end_date": "2026-05-13 23:59:59"}
OTHER = {"start_date": "2026-05-14 00:00:00", "end_date": "2026-05-14 23:59:59"}
CANARY = "canary@acme.com"


def person(stage: Stage) -> int:
    contact_id = stage.contact(email=CANARY)
    stage.identifier(contact_id, "email", CANARY)
    return contact_id


def erase(stage: Stage, exports: Exports, contact_id: int) -> None:
    answer = exports.api.send("DELETE", f"/contacts/{contact_id}/pii")
    assert answer.status_code == 202, answer.text
    while erase_next(stage.connection, stage.space_id):
        pass


def is_erased(stage: Stage, contact_id: int) -> bool:
    row = stage.connection.execute(
        "SELECT email FROM contacts WHERE space_id = %s AND id = %s", (stage.space_id, contact_id)
    ).fetchone()
    return row == (None,)


def contents(exports: Exports) -> bytes:
    return b"".join(gzip.decompress(path.read_bytes()) for path in exports.storage.folder.glob("*.gz"))


def test_it_works(stage: Stage, exports: Exports) -> None:
    contact_id = person(stage)
    stage.contact(email="twin@acme.com", created_at=NOON + timedelta(days=1))
    export_id, other_contacts, events = (
        exports.ask("contacts", **RANGE),
        exports.ask("contacts", **OTHER),
        exports.ask("events", date="2026-05-13"),
    )
    exports.work()
    assert CANARY.encode() in contents(exports)
    erase(stage, exports, contact_id)
    status = exports.status(export_id, "contacts")
    assert (status["status"], status["message"]) == ("failed", WITHDRAWN)
    assert stage.space_id in jobs.spaces_to_tidy(exports.connection)
    jobs.tidy(exports.connection, exports.storage, stage.space_id)
    assert CANARY.encode() not in contents(exports)
    assert exports.lines(other_contacts, "contacts")[0]["email"] == "twin@acme.com"
    assert exports.lines(events) == []


def test_events_with_what_they_wrote(stage: Stage, exports: Exports) -> None:
    contact_id = person(stage)
    stage.event(contact_id, heard_about_us=CANARY)
    query = {"fields": ["heard_about_us"]}
    export_id = exports.ask("events", date="2026-05-13", **query)
    another_day = exports.ask("events", date="2026-05-14", **query)
    exports.work()
    assert exports.lines(export_id)[0]["heard_about_us"] == CANARY
    erase(stage, exports, contact_id)
    assert exports.status(export_id)["message"] == WITHDRAWN
    assert exports.status(another_day)["status"] == "completed"


def test_an_export_under_way_begins_anew(stage: Stage, exports: Exports) -> None:
    contact_id = person(stage)
    export_id = exports.ask("contacts", **RANGE)
    job = jobs.claim_next(exports.connection, exports.storage)
    assert job is not None
    erase(stage, exports, contact_id)
    assert exports.status(export_id, "contacts")["status"] == "queued"
    assert not jobs.complete(exports.connection, job, [1])
    exports.work()
    (row,) = exports.lines(export_id, "contacts")
    assert (row["id"], row["email"], row["emails"]) == (contact_id, None, [])


def withdraw_export(stage: Stage, exports: Exports) -> int:
    """An export that an erasure has taken away from its process."""
    export_id = exports.ask("contacts", **RANGE)
    assert jobs.claim_next(exports.connection, exports.storage) is not None
    erase(stage, exports, person(stage))
    assert exports.status(export_id, "contacts")["status"] == "queued"
    return export_id


def claim(exports: Exports) -> ClaimedJob:
    job = jobs.claim_next(exports.connection, exports.storage)
    assert job is not None
    return job


def test_it_is_not_taken_away_twice(stage: Stage, exports: Exports) -> None:
    export_id, contact_id = withdraw_export(stage, exports), person(stage)
    second = claim(exports)
    assert second.attempts == 1  # the withdrawn attempt doesn't count
    erase(stage, exports, contact_id)
    assert not is_erased(stage, contact_id)
    assert stage.space_id not in ERASURE_JOB.waiting(stage.connection)
    assert jobs.renew(exports.connection, second, 1, 2)
    assert jobs.complete(exports.connection, second, [2])
    assert stage.space_id in ERASURE_JOB.waiting(stage.connection)
    assert erase_next(stage.connection, stage.space_id)
    assert is_erased(stage, contact_id)
    assert exports.status(export_id, "contacts")["message"] == WITHDRAWN


@pytest.mark.parametrize("end_job", [
    lambda connection, job: jobs.put_back(connection, job, "No room."),
    jobs.release,
])  # fmt: skip
def test_it_holds_off_erasures_only_while_it_works(
    stage: Stage, exports: Exports, end_job: Callable[[Connection, ClaimedJob], None]
) -> None:
    withdraw_export(stage, exports)
    contact_id = person(stage)
    end_job(exports.connection, claim(exports))
    erase(stage, exports, contact_id)
    assert is_erased(stage, contact_id)


def test_one_whose_process_is_killed_holds_them_off_as_long_as_its_lease(
    stage: Stage, exports: Exports
) -> None:
    export_id, contact_id = withdraw_export(stage, exports), person(stage)
    killed_job = claim(exports)
    stage.connection.execute(
        "UPDATE exports SET leased_until = now() WHERE space_id = %s", (stage.space_id,)
    )  # fmt: skip
    erase(stage, exports, contact_id)
    assert is_erased(stage, contact_id)
    assert not jobs.complete(exports.connection, killed_job, [2])
    exports.work()
    assert {row["email"] for row in exports.lines(export_id, "contacts")} == {None}


def test_no_erasure_waits_for_two_exports(stage: Stage, exports: Exports) -> None:
    first, contact_id = withdraw_export(stage, exports), person(stage)
    second = exports.ask("contacts", **RANGE)
    held_job = claim(exports)
    erase(stage, exports, contact_id)
    other_job = claim(exports)
    stage.connection.execute(
        "UPDATE exports SET was_withdrawn = true, lease = NULL, leased_until = NULL,"
        " status = 'queued' WHERE space_id = %s AND id = %s", (stage.space_id, other_job.id),
    )  # fmt: skip
    assert (held_job.id, other_job.id) == (first, second)
    assert jobs.complete(exports.connection, held_job, [2])
    assert stage.space_id not in jobs.waiting_spaces(exports.connection)
    assert jobs.claim_next(exports.connection, exports.storage) is None
    assert erase_next(stage.connection, stage.space_id)
    exports.work()
    assert {row["email"] for row in exports.lines(second, "contacts")} == {None}


def test_a_restored_copy_waits_for_none(stage: Stage, exports: Exports) -> None:
    withdraw_export(stage, exports)
    contact_id = person(stage)
    claim(exports)
    erase(stage, exports, contact_id)
    erase_all(stage.connection)
    assert is_erased(stage, contact_id)


def test_a_contact_that_they_were_part_of_for_a_time(stage: Stage, exports: Exports) -> None:
    """The survivor's line in the old file has their address."""
    survivor = stage.contact()
    contact_id = stage.contact(merged_into=survivor, created_at=NOON - timedelta(days=9))
    stage.identifier(survivor, "email", CANARY, origin_id=contact_id)
    export_id = exports.ask("contacts", **RANGE)
    exports.work()
    (line,) = exports.lines(export_id, "contacts")
    assert line["emails"] == [CANARY]
    space = (stage.space_id,)
    for statement in (
        (
            "INSERT INTO merges (space_id, merged_id, survivor_id, cause, undone_at)"
            " SELECT space_id, id, merged_into, 'email', now() FROM contacts"
            " WHERE space_id = %s AND merged_into IS NOT NULL"
        ),
        "UPDATE contact_identifiers SET contact_id = origin_id WHERE space_id = %s",
        "UPDATE contacts SET merged_into = NULL WHERE space_id = %s",
    ):
        stage.connection.execute(statement, space)
    erase(stage, exports, contact_id)
    assert exports.status(export_id, "contacts")["message"] == WITHDRAWN


def test_the_profiles_merged_into_the_person_count(stage: Stage, exports: Exports) -> None:
    survivor = stage.contact(created_at=NOON - timedelta(days=1))
    stage.contact(email=CANARY, merged_into=survivor)
    export_id = exports.ask("contacts", **RANGE)
    exports.work()
    erase(stage, exports, survivor)
    assert exports.status(export_id, "contacts")["status"] == "failed"
