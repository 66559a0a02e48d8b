"""Undoing merges of contacts that were merged in a chain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psycopg
import pytest

from headwater.intake.merging.unmerge import UnmergeResult, unmerge
from headwater.sources.catalogue import SOURCE_IDS
from tests.merging.test_unmerge import column, values
from tests.support.pipeline import Stage, event

Undo = Callable[[Stage, int], UnmergeResult]


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


@pytest.fixture
def undo(database_url: str) -> Undo:
    """Undo a merge, like the command."""

    async def run(stage: Stage, contact_id: int) -> UnmergeResult:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            return await unmerge(connection, stage.space_id, contact_id)

    return lambda stage, contact_id: asyncio.run(run(stage, contact_id))


def chain(stage: Stage) -> tuple[list[int], list[int]]:
    """Store events of three contacts, then merge the third into the second and the second into the first."""
    receipts = stage.run(
        event(tracking_id="u1"),
        event(email="b@b.org", profile_fields={1: "b"}),
        event(trk_token="t1", profile_fields={1: "c", 2: "c"}, trk_source="sms"),
    )
    contacts = [stage.find_contact(receipt) for receipt in receipts]
    receipts += stage.run(event(email="b@b.org", trk_token="t1"))
    receipts += stage.run(event(email="b@b.org", tracking_id="u1"))
    return contacts, receipts


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_chains_come_apart_in_any_order(stage: Stage, undo: Undo, order: tuple[int, int]) -> None:
    contacts, receipts = chain(stage)
    a, b, c = contacts
    assert column(stage, "merged_into") == {a: None, b: a, c: a}
    first = undo(stage, contacts[order[0]])
    assert first.contacts == (2 if order[0] == 1 else 1)
    survivor = {b: None, c: b} if order[0] == 1 else {b: a, c: None}
    assert column(stage, "merged_into") == {a: None, **survivor}
    undo(stage, contacts[order[1]])
    assert column(stage, "merged_into") == dict.fromkeys(contacts)
    assert [stage.find_contact(receipt) for receipt in receipts] == [a, b, c, b, a]
    assert set(stage.values("events", "origin_id")) == {None}
    assert stage.rows("contacts", "id", "profile_field_1", "profile_field_2") == [
        (a, None, None), (b, "b", None), (c, "c", "c"),
    ]  # fmt: skip
    assert values(stage, a) == {("tracking_id", "u1")}
    assert values(stage, b) == {("email", "b@b.org")}
    assert values(stage, c) == {("trk_token", "t1")}
    assert stage.rows("touchpoints", "contact_id", "source_id") == [(c, SOURCE_IDS["sms"])]


def test_columns_are_taken_back_through_a_chain(stage: Stage, undo: Undo) -> None:
    (a, b, c), _ = chain(stage)
    assert column(stage, "profile_field_2") == {a: "c", b: "c", c: "c"}
    undo(stage, c)
    assert column(stage, "profile_field_2") == {a: None, b: None, c: "c"}
    assert column(stage, "profile_field_1") == {a: "b", b: "b", c: "c"}


def test_a_company_is_taken_back_through_a_chain(stage: Stage, undo: Undo) -> None:
    stage.run(event(email="a@gmail.com"), event(tracking_id="u1"), event(email="c@c-inc.com"))
    a, b, c = sorted(stage.values("contacts", "id"))
    stage.run(event(tracking_id="u1", email="c@c-inc.com"))
    stage.run(event(tracking_id="u1", email="a@gmail.com"))
    [company] = stage.values("companies", "id")
    assert column(stage, "company_id") == {a: company, b: None, c: None}
    undo(stage, c)
    assert column(stage, "company_id") == {a: None, b: None, c: company}
    undo(stage, b)
    assert column(stage, "company_id") == {a: None, b: None, c: company}
    assert {row[1] for row in stage.rows("events", "contact_id", "company_id") if row[0] != c} == {None}
