"""Random histories of a Space with two workers that read ahead: whatever changes between their batches, the
stored facts are the same as without reading ahead. `HEADWATER_READ_AHEAD_HISTORIES=10000` makes it a long
run.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, LiteralString

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.intake.pipeline import batch_runner
from headwater.intake.pipeline.batch_runner import process_space
from headwater.intake.pipeline.read_ahead import ReadAhead
from headwater.privacy.erasure_job import erase_next
from tests.pipeline.test_pipeline_properties import conversions, hits, optional_value, sayings, touches
from tests.support.campaigns import campaign_size
from tests.support.pipeline import Item, event, new_stage
from tests.support.reading_ahead import count_judgements, fail_before_commit

USUAL = 25
HISTORIES = campaign_size("HEADWATER_READ_AHEAD_HISTORIES", USUAL, 10000)
LIMIT = 2

POISON = event(email="poison@acme.com", amount="no number")
picks = st.integers(0, 100)
ours = st.builds(event, email=optional_value("a@acme.com", "b@acme.com"), trk_source=st.just("our-paper"))
items = st.lists(conversions | sayings | touches | hits | ours, min_size=3, max_size=8)
steps = st.one_of(
    st.tuples(st.just("put"), items),
    st.tuples(st.just("put"), st.just([POISON])),
    st.tuples(st.just("run"), st.integers(0, 1)),
    st.tuples(st.just("run"), st.integers(0, 1)),
    st.tuples(st.just("run_and_fail"), st.integers(0, 1)),
    st.tuples(st.just("ignore"), st.sampled_from(("a@acme.com", "u1", "t1"))),
    st.tuples(st.just("name_source"), st.sampled_from(("fb", "google_ads"))),
    st.tuples(st.just("group_companies"), st.sampled_from(("auto", "external_id"))),
    st.tuples(st.just("mend"), picks),
    st.tuples(st.just("drop"), picks),
    st.tuples(st.just("draw"), st.none()),
    st.tuples(st.just("arrive"), conversions),
    st.tuples(st.just("erase"), picks),
)


class Twin:
    """A Space that a history is applied to, by two workers that read ahead or don't."""

    def __init__(self, connection: psycopg.Connection, workers: list[ReadAhead] | None) -> None:
        self.stage = new_stage(connection)
        self.workers = workers
        self.drawn: list[int] = []
        """Receipts of rows that are not committed yet."""

    def change(self, statement: LiteralString, *values: object) -> None:
        self.stage.connection.execute(statement, (*values, self.stage.space_id))

    def run(self, worker: int) -> None:
        options = [self.workers[worker]] if self.workers else []
        process_space(self.stage.connection, self.stage.space_id, LIMIT, *options)

    def run_and_fail(self, worker: int) -> None:
        with pytest.MonkeyPatch.context() as patch, suppress(psycopg.errors.DiskFull):
            patch.setattr(batch_runner, "failpoint", fail_before_commit)
            self.run(worker)

    def put(self, items: list[Item]) -> None:
        self.stage.put(*items)

    def ignore(self, value: str) -> None:
        self.change("UPDATE spaces SET ignored_identifiers = ARRAY[%s] WHERE id = %s", value)

    def name_source(self, source: str) -> None:
        self.change(
            "INSERT INTO source_names (name, source, space_id) VALUES ('our-paper', %s, %s)"
            " ON CONFLICT (space_id, name) DO UPDATE SET source = excluded.source",
            source,
        )

    def group_companies(self, mode: str) -> None:
        self.change("UPDATE spaces SET company_identity_mode = %s WHERE id = %s", mode)

    def mend(self, number: int) -> None:
        inbox_ids = self.stage.values("inbox", "id")
        if inbox_ids:
            self.change(
                "UPDATE inbox SET payload = replace(payload, '@acme.com', '@corp.de')"
                " WHERE id = %s AND space_id = %s",
                inbox_ids[number % len(inbox_ids)],
            )

    def drop(self, number: int) -> None:
        inbox_ids = self.stage.values("inbox", "id")
        if inbox_ids:
            self.change(
                "DELETE FROM inbox WHERE id = %s AND space_id = %s", inbox_ids[number % len(inbox_ids)]
            )

    def draw(self, _: None) -> None:
        row = self.stage.connection.execute("SELECT nextval('receipt_ids')").fetchone()
        assert row is not None
        self.stage.receipts.append(row[0])
        self.drawn.append(row[0])

    def arrive(self, item: Item) -> None:
        """Commit a row whose receipt is older than rows committed before it."""
        if self.drawn:
            self.change(
                "INSERT INTO inbox (id, kind, sender, received_at, payload, space_id)"
                " VALUES (%s, 'event', 'api_key', '2026-01-01 00:00:00+00', %s, %s)",
                self.drawn.pop(0), msgspec.json.encode(item).decode(),
            )  # fmt: skip

    def erase(self, number: int) -> None:
        living_contacts = [
            contact for contact, home in self.stage.rows("contacts", "id", "merged_into")
            if home is None
        ]  # fmt: skip
        if living_contacts:
            self.change(
                "INSERT INTO erasures (contact_id, receipt_mark, space_id)"
                " VALUES (%s, nextval('receipt_ids'), %s)",
                living_contacts[number % len(living_contacts)],
            )
            while erase_next(self.stage.connection, self.stage.space_id, LIMIT):
                pass


def test_it_works(connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    judgement_counts = count_judgements(monkeypatch)

    @settings(
        max_examples=HISTORIES, deadline=None, derandomize=HISTORIES == USUAL,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(items=items, history=st.lists(steps, min_size=10, max_size=16))
    def judge(items: list[Item], history: list[tuple[str, Any]]) -> None:
        twins = Twin(connection, [ReadAhead(), ReadAhead()]), Twin(connection, None)
        for twin in twins:
            twin.put(items)
            for name, value in history:
                getattr(twin, name)(value)
            while twin.stage.values("inbox", "id"):
                twin.run(0)
        assert twins[0].stage.dump() == twins[1].stage.dump()

    judge()
    assert min(judgement_counts[True], judgement_counts[False]) >= HISTORIES / 4, judgement_counts
