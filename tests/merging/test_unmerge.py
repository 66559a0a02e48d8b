"""`unmerge`: what a merged contact gets back, and what the survivor keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psycopg
import pytest

from headwater.http.errors import Conflict, NotFound
from headwater.intake.merging.unmerge import UnmergeResult, unmerge
from tests.support import factories
from tests.support.pipeline import Stage, add_sender, event, new_stage

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


ANN = {"tracking_id": "u1"}
BEN = {"email": "ben@ben-inc.com"}


def merge_two(stage: Stage) -> tuple[int, int]:
    """Make two contacts, Ann and Ben, and merge them by one event."""
    ann, ben = stage.run(event(**ANN), event(**BEN))
    ids = stage.find_contact(ann), stage.find_contact(ben)
    stage.run(event(**ANN, **BEN))
    return ids


def column(stage: Stage, name: str) -> dict[int, object]:
    return dict(stage.rows("contacts", "id", name))


def values(stage: Stage, contact: int) -> set[tuple[str, str]]:
    rows = stage.rows("contact_identifiers", "contact_id", "kind", "value")
    return {(kind, value) for owner, kind, value in rows if owner == contact}


def test_it_works(stage: Stage, undo: Undo) -> None:
    first, second = stage.run(event(**ANN), event(**BEN, trk_source="google_ads", full_name="Ben", phone="1"))
    ann, ben = stage.find_contact(first), stage.find_contact(second)
    [merging_receipt] = stage.run(event(**ANN, **BEN))
    assert stage.find_contact(second) == ann
    assert undo(stage, ben) == UnmergeResult(ben, ann, 1, events=1, touchpoints=1, visits=0, hits=0)
    assert stage.find_contact(first) == stage.find_contact(merging_receipt) == ann
    assert stage.find_contact(second) == ben
    assert stage.rows("touchpoints", "contact_id", "origin_id") == [(ben, None)]
    assert values(stage, ann) == {("tracking_id", "u1")}
    assert values(stage, ben) == {("email", BEN["email"]), ("name", "Ben"), ("phone", "1")}
    assert column(stage, "merged_into") == {ann: None, ben: None}
    assert column(stage, "name") == {ann: None, ben: "Ben"}
    [(undone_at, survivor)] = stage.rows("merges", "undone_at", "survivor_id")
    assert undone_at is not None
    assert survivor == ann


def test_an_unknown_contact(stage: Stage, undo: Undo) -> None:
    with pytest.raises(NotFound):
        undo(stage, 10**12)


def test_another_spaces_contact(connection: psycopg.Connection, stage: Stage, undo: Undo) -> None:
    _, ben = merge_two(stage)
    with pytest.raises(NotFound):
        undo(new_stage(connection), ben)
    assert None in column(stage, "merged_into").values()


def test_a_contact_that_is_not_merged(stage: Stage, undo: Undo) -> None:
    ann, ben = merge_two(stage)
    with pytest.raises(Conflict, match=f"Contact {ann} is not merged into another"):
        undo(stage, ann)
    undo(stage, ben)
    with pytest.raises(Conflict, match=f"Contact {ben} is not merged into another"):
        undo(stage, ben)


def test_its_identifiers_find_it_again(stage: Stage, undo: Undo) -> None:
    ann, ben = merge_two(stage)
    stage.run(event(**BEN), event(**ANN), event(**BEN, trk_token="t9"))
    undo(stage, ben)
    assert [stage.find_contact(receipt) for receipt in stage.run(event(**ANN), event(**BEN))] == [ann, ben]


def test_a_tracking_id_finds_it_again(stage: Stage, undo: Undo) -> None:
    first, second = stage.run(event(email="a@b.org"), event(tracking_id="u2"))
    older, younger = stage.find_contact(first), stage.find_contact(second)
    stage.run(event(email="a@b.org", tracking_id="u2"))
    stage.run(event(tracking_id="u2"))
    undo(stage, younger)
    [receipt] = stage.run(event(tracking_id="u2"))
    assert stage.find_contact(receipt) == younger != older


def test_a_token_seen_since_finds_it_again(stage: Stage, undo: Undo) -> None:
    known_receipt, anonymous = stage.run(event(email="a@b.org"), event(trk_token="t1"))
    ids = stage.find_contact(known_receipt), stage.find_contact(anonymous)
    stage.run(event(email="a@b.org", trk_token="t1"))
    stage.run(event(trk_token="t1"))
    undo(stage, ids[1])
    [receipt] = stage.run(event(trk_token="t1"))
    assert stage.find_contact(receipt) == ids[1]


def test_a_token_of_others_since_finds_it_again(stage: Stage, undo: Undo) -> None:
    """Another contact that had the token in the meantime doesn't get the first contact's token."""
    known_receipt, anonymous = stage.run(event(email="a@b.org"), event(trk_token="t1"))
    first = stage.find_contact(anonymous)
    stage.run(
        event(email="a@b.org", trk_token="t1"),
        event(email="w@b.org", trk_token="t1"),
        event(email="a@b.org", trk_token="t1"),
    )
    undo(stage, first)
    [receipt] = stage.run(event(trk_token="t1"))
    assert stage.find_contact(receipt) == first != stage.find_contact(known_receipt)


def test_what_came_after_the_merge_stays_with_the_survivor(stage: Stage, undo: Undo) -> None:
    ann, ben = merge_two(stage)
    [later] = stage.run(event(**BEN, trk_token="t9", full_name="Benjamin"))
    undo(stage, ben)
    assert stage.find_contact(later) == ann
    assert values(stage, ann) == {("tracking_id", "u1"), ("trk_token", "t9"), ("name", "Benjamin")}
    assert column(stage, "name") == {ann: "Benjamin", ben: None}


def test_a_refund_after_the_merge_goes_back_with_its_order(stage: Stage, undo: Undo) -> None:
    _, order = stage.run(event(**ANN), event(**BEN, order_id="o1", amount="50"))
    ben = stage.find_contact(order)
    stage.run(event(**ANN, **BEN))
    [refund] = stage.run(add_sender("webhook", event(**BEN, order_id="o1", amount="-20")))
    assert stage.find_contact(refund) != ben
    undo(stage, ben)
    assert stage.find_contact(refund) == stage.find_contact(order) == ben


def test_a_value_that_both_had_before_stays_with_both(stage: Stage, undo: Undo) -> None:
    ann, ben = merge_two(stage)
    undo(stage, ben)
    api = factories.Stage(stage.connection, stage.space_id, "")
    api.identifier(ann, "phone", "1")
    api.identifier(ben, "phone", "1")
    stage.run(event(**ANN, **BEN, phone="1"))
    undo(stage, ben)
    assert ("phone", "1") in values(stage, ann)
    assert ("phone", "1") in values(stage, ben)


def test_a_value_of_both_from_a_replayed_receipt_stays_with_both(stage: Stage, undo: Undo) -> None:
    """The receipt of the merging event may be older than values the survivor got before it was processed."""
    replayed_receipts = stage.put(event(**ANN, **BEN))
    stage.connection.execute("DELETE FROM inbox WHERE space_id = %s", (stage.space_id,))
    first, second = stage.run(event(**ANN, phone="1"), event(**BEN, phone="1"))
    ann, ben = stage.find_contact(first), stage.find_contact(second)
    late = stage.put(event(**ANN, **BEN))
    stage.connection.execute(
        "UPDATE inbox SET id = %s WHERE space_id = %s AND id = %s",
        (*replayed_receipts, stage.space_id, *late),
    )
    stage.process()
    assert stage.find_contact(second) == ann
    undo(stage, ben)
    assert ("phone", "1") in values(stage, ann)
    assert ("phone", "1") in values(stage, ben)


def test_columns_filled_by_it_are_emptied_unless_changed_since(stage: Stage, undo: Undo) -> None:
    stage.run(event(**ANN), event(**BEN, profile_fields={1: "a", 2: "b", 16: "1.50"}))
    ann, ben = sorted(stage.values("contacts", "id"))
    stage.run(event(**ANN, **BEN, profile_fields={2: "c"}))
    columns = ("profile_field_1", "profile_field_2", "profile_field_16", "email")
    assert stage.values("merges", "filled") == [[columns[3], *columns[:3], "company_id"]]
    undo(stage, ben)
    assert stage.rows("contacts", "id", *columns[:2]) == [(ann, None, "c"), (ben, "a", "b")]
    assert {str(number) for number in column(stage, columns[2]).values()} == {"None", "1.50"}
    assert column(stage, "email") == {ann: None, ben: BEN["email"]}


def test_emptied_columns_are_filled_by_who_is_left(stage: Stage, undo: Undo) -> None:
    stage.run(
        event(**ANN),
        event(**BEN, profile_fields={1: "ben"}, phone="2"),
        event(trk_token="t1", profile_fields={1: "cora"}, phone="3"),
    )
    ann, ben, cora = sorted(stage.values("contacts", "id"))
    stage.run(event(**ANN, **BEN), event(**ANN, trk_token="t1"))
    assert stage.rows("contacts", "id", "profile_field_1", "phone")[0] == (ann, "ben", "2")
    undo(stage, ben)
    assert stage.rows("contacts", "id", "profile_field_1", "phone")[0] == (ann, "cora", "3")
    undo(stage, cora)
    assert stage.rows("contacts", "id", "profile_field_1", "phone") == [
        (ann, None, None), (ben, "ben", "2"), (cora, "cora", "3"),
    ]  # fmt: skip


def test_the_company_it_gave_is_released_and_rows_are_stamped(stage: Stage, undo: Undo) -> None:
    ann, ben = merge_two(stage)
    [company] = stage.values("companies", "id")
    assert column(stage, "company_id") == {ann: company, ben: None}
    undo(stage, ben)
    assert column(stage, "company_id") == {ann: None, ben: company}
    assert stage.rows("events", "contact_id", "company_id") == [
        (ann, None), (ann, None), (ben, company),
    ]  # fmt: skip


def test_a_company_of_its_own_stays(stage: Stage, undo: Undo) -> None:
    first, second = stage.run(event(**ANN, email="ann@ann-inc.com"), event(**BEN))
    ann, ben = stage.find_contact(first), stage.find_contact(second)
    before = column(stage, "company_id")
    stage.run(event(**ANN, **BEN))
    assert column(stage, "company_id") == {ann: before[ann], ben: None}
    undo(stage, ben)
    assert column(stage, "company_id") == before


def test_visits_and_hits_follow(stage: Stage, undo: Undo) -> None:
    api = factories.Stage(stage.connection, stage.space_id, "")
    first, second = stage.run(event(**ANN), event(**BEN))
    ann, ben = stage.find_contact(first), stage.find_contact(second)
    visit = api.visit(ben)
    api.hit(ben, visit)
    stage.run(event(**ANN, **BEN))
    assert stage.rows("visits", "contact_id", "origin_id") == [(ann, ben)]
    later = api.visit(ann)
    api.hit(ann, later)
    unmerge = undo(stage, ben)
    assert (unmerge.visits, unmerge.hits) == (1, 1)
    for table in ("visits", "hits"):
        assert stage.rows(table, "contact_id", "origin_id") == [(ann, None), (ben, None)]


def test_contacts_made_and_merged_in_one_batch(stage: Stage, undo: Undo) -> None:
    receipts = stage.run(
        event(tracking_id="u1"),
        event(email="b@b-inc.com", full_name="Bo", trk_source="sms"),
        event(tracking_id="u1", email="b@b-inc.com"),
    )
    a, b = sorted(stage.values("contacts", "id"))
    assert stage.rows("events", "id", "contact_id", "origin_id") == [
        (receipts[0], a, None), (receipts[1], a, b), (receipts[2], a, None),
    ]  # fmt: skip
    assert stage.rows("touchpoints", "contact_id", "origin_id") == [(a, b)]
    [company] = stage.values("companies", "id")
    assert stage.rows("merges", "company_id", "filled") == [(company, ["email", "name", "company_id"])]
    undo(stage, b)
    assert [stage.find_contact(receipt) for receipt in receipts] == [a, b, a]
    assert column(stage, "company_id") == {a: None, b: company}
    assert column(stage, "email") == {a: None, b: "b@b-inc.com"}


def test_it_can_merge_and_be_undone_again(stage: Stage, undo: Undo) -> None:
    ann, ben = merge_two(stage)
    for _ in range(2):
        undo(stage, ben)
        stage.run(event(**ANN, **BEN))
        assert column(stage, "merged_into") == {ann: None, ben: ann}
    undo(stage, ben)
    assert column(stage, "merged_into") == {ann: None, ben: None}
    assert len([undone_at for undone_at in stage.values("merges", "undone_at") if undone_at]) == 3


def test_not_while_an_erasure_waits(stage: Stage, undo: Undo) -> None:
    """The erasure was requested when the two were one contact, so both must be erased."""
    ann, ben = merge_two(stage)
    stage.connection.execute(
        "INSERT INTO erasures (space_id, contact_id, receipt_mark) VALUES (%s, %s, 0)", (stage.space_id, ann)
    )
    with pytest.raises(Conflict, match=f"Contact {ben} is part of a contact that is being erased"):
        undo(stage, ben)
    stage.connection.execute("UPDATE erasures SET erased_at = now() WHERE space_id = %s", (stage.space_id,))
    assert undo(stage, ben).contact_id == ben


def test_a_value_erased_since_does_not_come_back(stage: Stage, undo: Undo) -> None:
    _, ben = merge_two(stage)
    stage.connection.execute(
        "DELETE FROM contact_identifiers WHERE space_id = %s AND kind = 'email'", (stage.space_id,)
    )
    undo(stage, ben)
    assert set(column(stage, "email").values()) == {None}


def test_former_addresses_go_back_to_whom_they_were_of(stage: Stage, undo: Undo) -> None:
    ann, ben = merge_two(stage)
    stage.run(event(**BEN))  # seen again, as the survivor's
    api = factories.Stage(stage.connection, stage.space_id, "")
    api.identifier(ann, "former_email", "ann@old.example")
    api.connection.execute(
        "UPDATE contact_identifiers SET kind = 'former_email'"
        " WHERE space_id = %s AND kind = 'email'", (stage.space_id,),
    )  # fmt: skip
    undo(stage, ben)
    assert values(stage, ben) == {("former_email", BEN["email"])}
    assert values(stage, ann) == {("tracking_id", "u1"), ("former_email", "ann@old.example")}
