"""Export files that hold a person are withdrawn when the person is erased."""

from __future__ import annotations

import gzip
from datetime import timedelta

from headwater.exports import jobs
from headwater.privacy.erasure_job import erase_next
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
    asked = exports.api.send("DELETE", f"/contacts/{contact_id}/pii")
    assert asked.status_code == 202, asked.text
    while erase_next(stage.connection, stage.space_id):
        pass


def contents(exports: Exports) -> bytes:
    return b"".join(
        gzip.decompress(path.read_bytes()) for path in exports.storage.folder.glob("*.gz")
    )


def test_it_works(stage: Stage, exports: Exports) -> None:
    contact_id = person(stage)
    stage.contact(email="twin@acme.com", created_at=NOON + timedelta(days=1))
    holding, others, events = (
        exports.ask("contacts", **RANGE),
        exports.ask("contacts", **OTHER),
        exports.ask("events", date="2026-05-13"),
    )
    exports.work()
    assert CANARY.encode() in contents(exports)
    erase(stage, exports, contact_id)
    told = exports.status(holding, "contacts")
    assert (told["status"], told["message"]) == ("failed", WITHDRAWN)
    assert stage.space_id in jobs.spaces_to_tidy(exports.connection)
    jobs.tidy(exports.connection, exports.storage, stage.space_id)
    assert CANARY.encode() not in contents(exports)
    assert exports.lines(others, "contacts")[0]["email"] == "twin@acme.com"
    assert exports.lines(events) == []


def test_an_export_under_way_begins_anew(stage: Stage, exports: Exports) -> None:
    contact_id = person(stage)
    export_id = exports.ask("contacts", **RANGE)
    claimed = jobs.claim_next(exports.connection, exports.storage)
    assert claimed is not None
    erase(stage, exports, contact_id)
    assert exports.status(export_id, "contacts")["status"] == "queued"
    assert not jobs.complete(exports.connection, claimed, [1])
    exports.work()
    (row,) = exports.lines(export_id, "contacts")
    assert (row["id"], row["email"], row["emails"]) == (contact_id, None, [])


def test_the_profiles_merged_into_the_person_count(stage: Stage, exports: Exports) -> None:
    survivor = stage.contact(created_at=NOON - timedelta(days=1))
    stage.contact(email=CANARY, merged_into=survivor)
    export_id = exports.ask("contacts", **RANGE)
    exports.work()
    erase(stage, exports, survivor)
    assert exports.status(export_id, "contacts")["status"] == "failed"
