"""The log of merges, and `headwater contact merges` and `headwater contact unmerge`."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from headwater.cli import main
from headwater.intake.merging.merge_log import CAUSES
from tests.support.pipeline import Stage, event, new_stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


class Cli:
    """Run `headwater contact …` in this process, on the test's Space."""

    def __init__(self, capsys: pytest.CaptureFixture[str], space_id: int) -> None:
        self._capsys, self._space_id = capsys, space_id

    def __call__(self, *arguments: object, code: int = 0) -> str:
        words = ["contact", *map(str, arguments), "--space", str(self._space_id)]
        assert main(words) == code
        out, err = self._capsys.readouterr()
        assert bool(err) == (code == 2)
        return err if code == 2 else out

    def json(self, *arguments: object) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], space_id: int, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Cli:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    return Cli(capsys, space_id)


def merge_three(stage: Stage) -> tuple[list[int], list[int]]:
    """Three merged contacts, the second joined by its address and the third by its token, and the receipts of
    the two events that merged them.
    """
    stage.run(
        event(tracking_id="u1"),
        event(email="ben@ben-inc.com", full_name="Ben", profile_fields={1: "x"}),
        event(trk_token="t1"),
    )
    contacts = sorted(stage.values("contacts", "id"))
    receipts = stage.run(event(tracking_id="u1", email="ben@ben-inc.com"))
    receipts += stage.run(event(tracking_id="u1", trk_token="t1"))
    return contacts, receipts


def test_it_works(stage: Stage, cli: Cli) -> None:
    (ann, ben, cora), receipts = merge_three(stage)
    newest, first = cli.json("merges")
    assert first == {
        "merged_at": first["merged_at"], "contact_id": ben, "merged_into": ann, "cause": "email",
        "why": "one event had the email of one contact and the tracking_id of the other",
        "receipt_id": receipts[0], "sender": "api_key",
        "filled": ["email", "name", "profile_field_1", "company_id"], "undone_at": None,
    }  # fmt: skip
    assert (newest["contact_id"], newest["cause"]) == (cora, "trk_token")
    assert newest["why"] == "an event of a known contact had the trk_token of an anonymous one"
    assert (newest["receipt_id"], newest["filled"]) == (receipts[1], [])


def test_values_are_not_told(stage: Stage, cli: Cli) -> None:
    merge_three(stage)
    text = cli("merges") + cli("merges", "--json")
    assert not [value for value in ("ben-inc", "Ben", "u1", "t1") if value in text]


def test_only_a_contacts_own(stage: Stage, cli: Cli) -> None:
    (ann, ben, cora), _ = merge_three(stage)
    stage.run(event(tracking_id="u9"), event(email="z@z-inc.com"))
    stage.run(event(tracking_id="u9", email="z@z-inc.com"))
    assert len(cli.json("merges")) == 3
    assert [merge["contact_id"] for merge in cli.json("merges", ann)] == [cora, ben]
    assert [merge["contact_id"] for merge in cli.json("merges", ben)] == [ben]


def test_a_survivor_tells_how_its_parts_came_together(stage: Stage, cli: Cli) -> None:
    stage.run(event(tracking_id="u1"), event(email="b@b.org"), event(trk_token="t1"))
    a, b, c = sorted(stage.values("contacts", "id"))
    stage.run(event(email="b@b.org", trk_token="t1"), event(email="b@b.org", tracking_id="u1"))
    steps = [(merge["contact_id"], merge["merged_into"]) for merge in cli.json("merges", a)]
    assert steps == [(b, a), (c, b)]


def test_limit(stage: Stage, cli: Cli) -> None:
    (_, _, cora), _ = merge_three(stage)
    assert [merge["contact_id"] for merge in cli.json("merges", "--limit", 1)] == [cora]


@pytest.mark.parametrize("limit", ["0", "10001", "x"])
def test_bad_limit(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["contact", "merges", "--space", "1", "--limit", limit])
    assert "--limit" in capsys.readouterr().err


def test_nothing_merged(stage: Stage, cli: Cli) -> None:
    [receipt] = stage.run(event(tracking_id="u1"))
    assert cli.json("merges") == cli.json("merges", stage.find_contact(receipt)) == []
    assert cli("merges") == "none\n"


def test_unmerge(stage: Stage, cli: Cli) -> None:
    (ann, ben, cora), _ = merge_three(stage)
    assert cli.json("unmerge", ben) == {
        "contact_id": ben, "survivor_id": ann, "contacts": 1, "events": 1, "touchpoints": 0,
        "visits": 0, "hits": 0,
    }  # fmt: skip
    newest, first = cli.json("merges", ann)
    assert (newest["contact_id"], newest["undone_at"]) == (cora, None)
    assert first["contact_id"] == ben
    assert first["undone_at"] >= first["merged_at"]


def test_what_cannot_be_unmerged(connection: psycopg.Connection, stage: Stage, cli: Cli) -> None:
    (ann, _, _), _ = merge_three(stage)
    (_, other_contact, _), _ = merge_three(new_stage(connection))
    error = f"headwater: Contact {ann} is not merged into another.\n"
    assert cli("unmerge", ann, code=2) == error
    for unknown in (other_contact, 10**12, 10**30):
        assert cli("unmerge", unknown, code=2) == "headwater: Contact not found.\n"
        assert cli("merges", unknown, code=2) == "headwater: Contact not found.\n"
    assert len([survivor for survivor in stage.values("contacts", "merged_into") if survivor == ann]) == 2


@pytest.mark.parametrize("arguments", [["merges"], ["merges", 1], ["unmerge", 1]])
def test_an_unknown_space(cli: Cli, arguments: list[object]) -> None:
    cli._space_id = 10**12
    assert cli(*arguments, code=2) == "headwater: Space not found.\n"


def test_the_log_is_in_the_order_of_events(stage: Stage) -> None:
    """One event can merge twice, and one batch many times."""
    stage.run(
        event(tracking_id="u1"), event(email="a@b.org"), event(trk_token="t1"),
        event(tracking_id="u2"), event(email="b@b.org"),
    )  # fmt: skip
    first, second = stage.run(
        event(tracking_id="u1", email="a@b.org", trk_token="t1"), event(tracking_id="u2", email="b@b.org")
    )
    rows = stage.rows("merges", "id", "receipt_id", "cause")
    assert [row[1:] for row in rows] == [(first, "email"), (first, "trk_token"), (second, "email")]


def test_every_cause_has_its_words(stage: Stage) -> None:
    merge_three(stage)
    assert set(stage.values("merges", "cause")) == set(CAUSES)
