"""PUT and DELETE /contacts/{id}/company."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from headwater.intake.merging.membership import change_company
from headwater.intake.pipeline.batch_runner import process, process_space
from headwater.intake.pipeline.claim import claim
from tests.support.factories import Stage, make_stage
from tests.support.lock_waits import is_waited_for
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event
from tests.support.reading_fixtures import Api
from tests.support.waiting import wait_until

UNKNOWN = 999_999_999_999_999_999
STAMPED = ("events", "touchpoints", "visits")


def attach(api: Api, contact_id: int, company_id: int) -> dict[str, Any]:
    response = api.send("PUT", f"/contacts/{contact_id}/company", json={"company_id": company_id})
    assert response.status_code == 200, response.text
    return response.json()


def detach(api: Api, contact_id: int) -> dict[str, Any]:
    response = api.send("DELETE", f"/contacts/{contact_id}/company")
    assert response.status_code == 200, response.text
    return response.json()


def read_company(stage: Stage, contact_id: int) -> int | None:
    row = stage.connection.execute(
        "SELECT company_id FROM contacts WHERE space_id = %s AND id = %s", (stage.space_id, contact_id)
    ).fetchone()
    assert row is not None
    return row[0]


def stamps(stage: Stage, contact_id: int) -> list[int | None]:
    """Return the company of each of a contact's events, touchpoints and visits."""
    return [
        company_id
        for table in STAMPED
        for (company_id,) in stage.connection.execute(
            f"SELECT company_id FROM {table} WHERE space_id = %s AND contact_id = %s",
            (stage.space_id, contact_id),
        )
    ]


def contact_with_a_past(stage: Stage, **columns: Any) -> int:
    """Store a contact with two events, a touchpoint and a visit with a page view."""
    contact_id = stage.contact(**columns)
    stage.touchpoint(contact_id, "google_ads", **columns)
    for _ in range(2):
        stage.event(contact_id, **columns)
    stage.hit(contact_id, stage.visit(contact_id, **columns))
    return contact_id


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id, company_id = contact_with_a_past(stage), stage.company()
    assert attach(api, contact_id, company_id) == {"id": contact_id, "company_id": company_id}
    assert read_company(stage, contact_id) == company_id
    assert stamps(stage, contact_id) == [company_id] * 4
    assert detach(api, contact_id) == {"id": contact_id, "company_id": None}
    assert read_company(stage, contact_id) is None
    assert stamps(stage, contact_id) == [None] * 4


def test_another_company_takes_the_first_one_s_place(api: Api, stage: Stage) -> None:
    first, second = stage.company(), stage.company()
    contact_id = contact_with_a_past(stage, company_id=first)
    attach(api, contact_id, second)
    assert read_company(stage, contact_id) == second
    assert stamps(stage, contact_id) == [second] * 4


def test_nobody_else_is_touched(api: Api, stage: Stage) -> None:
    first, second = stage.company(), stage.company()
    contact_id, colleague = (contact_with_a_past(stage, company_id=first) for _ in range(2))
    attach(api, contact_id, second)
    detach(api, contact_id)
    assert read_company(stage, colleague) == first
    assert stamps(stage, colleague) == [first] * 4


def test_the_same_company_again_repairs_wrong_stamps(api: Api, stage: Stage) -> None:
    company_id, wrong = stage.company(), stage.company()
    contact_id = contact_with_a_past(stage, company_id=company_id)
    for table, stamp in zip(STAMPED, (wrong, None, wrong), strict=True):
        stage.connection.execute(
            f"UPDATE {table} SET company_id = %s WHERE space_id = %s", (stamp, stage.space_id)
        )
    attach(api, contact_id, company_id)
    assert stamps(stage, contact_id) == [company_id] * 4


def test_detaching_again_repairs_wrong_stamps(api: Api, stage: Stage) -> None:
    contact_id = contact_with_a_past(stage)
    wrong = stage.company()
    stage.connection.execute("UPDATE events SET company_id = %s WHERE space_id = %s", (wrong, stage.space_id))
    assert detach(api, contact_id) == {"id": contact_id, "company_id": None}
    assert stamps(stage, contact_id) == [None] * 4


def test_rows_that_are_right_are_not_written(api: Api, stage: Stage) -> None:
    company_id = stage.company()
    contact_id = contact_with_a_past(stage, company_id=company_id)
    versions = "SELECT xmin::text FROM events WHERE space_id = %s"
    before = stage.connection.execute(versions, (stage.space_id,)).fetchall()
    attach(api, contact_id, company_id)
    assert stage.connection.execute(versions, (stage.space_id,)).fetchall() == before


def test_a_merged_id_stands_for_the_canonical_contact(api: Api, stage: Stage) -> None:
    company_id, survivor = stage.company(), contact_with_a_past(stage)
    merged_id = stage.contact(merged_into=survivor)
    assert attach(api, merged_id, company_id) == {"id": survivor, "company_id": company_id}
    assert (read_company(stage, survivor), read_company(stage, merged_id)) == (company_id, None)
    assert stamps(stage, survivor) == [company_id] * 4
    assert detach(api, merged_id) == {"id": survivor, "company_id": None}
    assert stamps(stage, survivor) == [None] * 4


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("{}", "is required."),
        ('{"company": 5}', "is required. Is it misspelt as company?"),
    ]
    + [
        (f'{{"company_id": {text}}}', "must be an integer of at most 18 digits.")
        for text in ("null", "true", "false", "1.0", "1.5", "1e3", '"5"', '""', "[5]", "{}",
                     "1" + "0" * 18, "-1" + "0" * 18, "9" * 400)
    ],
)  # fmt: skip
def test_the_company_is_an_integer(api: Api, stage: Stage, body: str, rule: str) -> None:
    contact_id = stage.contact()
    response = api.send("PUT", f"/contacts/{contact_id}/company", content=body)
    assert response.status_code == 422, response.text
    message = f"The company_id {rule}"
    assert response.json() == {"message": message, "errors": {"company_id": [message]}}


def test_the_body_is_an_object(api: Api, stage: Stage) -> None:
    response = api.send("PUT", f"/contacts/{stage.contact()}/company", content=b"[5]")
    assert list(response.json()["errors"]) == ["body"]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("bad_id", ["x", "-1", "1.0", "9" * 19])
def test_the_id_is_a_number(api: Api, method: str, bad_id: str) -> None:
    response = api.send(method, f"/contacts/{bad_id}/company", json={"company_id": 1})
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["id"]


def test_the_body_is_judged_before_the_id_is_looked_up(api: Api) -> None:
    response = api.send("PUT", f"/contacts/{UNKNOWN}/company", json={"company_id": "5"})
    assert response.status_code == 422


def test_a_contact_of_another_space_is_unknown(
    api: Api, stage: Stage, connection: psycopg.Connection
) -> None:
    other_stage = make_stage(connection)
    other_company = other_stage.company()
    foreign = contact_with_a_past(other_stage, company_id=other_company)
    for method in ("PUT", "DELETE"):
        body = {"company_id": stage.company()}
        answers = [
            api.send(method, f"/contacts/{contact_id}/company", json=body)
            for contact_id in (foreign, UNKNOWN)
        ]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert {answer.content for answer in answers} == {b'{"message":"Contact not found."}'}
    assert read_company(other_stage, foreign) == other_company
    assert stamps(other_stage, foreign) == [other_company] * 4


def test_a_company_of_another_space_is_unknown(
    api: Api, stage: Stage, connection: psycopg.Connection
) -> None:
    own_company = stage.company()
    contact_id = contact_with_a_past(stage, company_id=own_company)
    for company_id in (make_stage(connection).company(), UNKNOWN, 0, -1):
        body = {"company_id": company_id}
        response = api.send("PUT", f"/contacts/{contact_id}/company", json=body)
        assert response.status_code == 404
        assert response.content == b'{"message":"Company not found."}'
    assert read_company(stage, contact_id) == own_company
    assert stamps(stage, contact_id) == [own_company] * 4


def test_they_count_as_updates_of_contacts(api: Api, stage: Stage) -> None:
    contact_id, company_id = stage.contact(), stage.company()
    path = f"/contacts/{contact_id}"
    answers = [
        api.send("PUT", path, json={"names": ["x"]}),
        api.send("PUT", f"{path}/company", json={"company_id": company_id}),
        api.send("DELETE", f"{path}/company"),
    ]
    remaining_calls = [int(answer.headers["x-ratelimit-remaining"]) for answer in answers]
    if answers[0].headers["x-ratelimit-reset"] == answers[2].headers["x-ratelimit-reset"]:
        assert remaining_calls == [remaining_calls[0], remaining_calls[0] - 1, remaining_calls[0] - 2]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_they_need_the_scope(client: httpx.Client, connection: psycopg.Connection, method: str) -> None:
    scopes = ("contacts:read", "contacts:delete", "companies:read", "companies:write")
    reader = make_stage(connection, scopes=scopes)
    body = {"company_id": reader.company()}
    path = f"/contacts/{reader.contact()}/company"
    response = Api(client, reader.key).send(method, path, json=body)
    assert response.status_code == 403
    assert "contacts:write" in response.json()["message"]


# --------------------------------------------------------------------- beside a running pipeline


@pytest.fixture
def worker(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as worker:
        yield worker


def test_an_attach_during_a_batch_waits_and_then_holds(
    api: Api, stage: Stage, worker: psycopg.Connection
) -> None:
    """The batch finds a company for the contact and writes its whole row. The attach comes after it."""
    pipeline = Pipeline(stage.connection, stage.space_id)
    [first] = pipeline.run(event(email="ann@mail.example", tracking_id="u1"))
    contact_id, chosen_company = pipeline.find_contact(first), stage.company()
    detach(api, contact_id)
    pipeline.put(event(tracking_id="u1", email="ann@acme.com", trk_source="email"))
    with ThreadPoolExecutor(1) as pool:
        with worker.transaction():
            batch = claim(worker, stage.space_id, 10)
            assert batch is not None
            process(worker, batch)
            attachment = pool.submit(attach, api, contact_id, chosen_company)
            wait_until(lambda: is_waited_for(stage.connection, worker))
            assert not attachment.done()
        assert attachment.result(20) == {"id": contact_id, "company_id": chosen_company}
    assert read_company(stage, contact_id) == chosen_company
    assert stamps(stage, contact_id) == [chosen_company] * 3
    pipeline.run(event(email="ann@acme.com"))
    assert stamps(stage, contact_id) == [chosen_company] * 4


def test_the_pipeline_leaves_a_space_alone_while_a_membership_changes(
    stage: Stage, worker: psycopg.Connection, database_url: str
) -> None:
    pipeline = Pipeline(stage.connection, stage.space_id)
    [first] = pipeline.run(event(email="ann@acme.com"))
    contact_id, chosen_company = pipeline.find_contact(first), stage.company()
    pipeline.put(event(email="ann@acme.com", trk_source="email"))

    async def attach_while_a_worker_tries() -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await change_company(connection, stage.space_id, contact_id, chosen_company)
            result = await asyncio.to_thread(process_space, worker, stage.space_id)
            assert result.skipped == 1

    asyncio.run(attach_while_a_worker_tries())
    assert pipeline.process().stored == 1
    assert read_company(stage, contact_id) == chosen_company
    assert stamps(stage, contact_id) == [chosen_company] * 3
