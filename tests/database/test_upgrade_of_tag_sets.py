"""An installation whose touchpoints have their ads in columns of their own is upgraded: tag sets
have them, as the pipeline would have stored them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.database import migrator as migrating
from headwater.jobs.connection import connect
from headwater.sources.outcomes import Ad
from headwater.touchpoints.tag_sets import digest_of, landing_page
from tests.support.factories import Stage, make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import touch

NEW = "0023_tag_sets"
PAGE = "https://shop.example/ä?gclid=1"
TOUCHES: tuple[dict[str, Any], ...] = (
    {},
    {"url": "?a=1"},
    {"url": PAGE, "campaign_id": "12", "campaign_name": "Späte Äpfel", "keyword": "apple"},
    {"url": PAGE.replace("?", "#"), "campaign_id": "12", "campaign_name": "Späte Äpfel",
     "keyword": "apple"},
    {"url": "https://shop.example/" + "ä" * 3000},
    {"campaign_id": "12"},
    {"adset_id": "12", "ad_name": "", "warnings": ["w"], "sent": True, "origin_id": 5},
    {name: name for name in Ad.__struct_fields__},
)  # fmt: skip
STAYS = ("id", "contact_id", "origin_id", "company_id", "occurred_at", "source_id", "source_rule",
         "url", "referrer_host", "sent", "by_hit", "cookies", "warnings", "sender")  # fmt: skip


@pytest.fixture
def old(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database of its own with the schema before."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE before_tag_sets")
        url = make_conninfo(database_url, dbname="before_tag_sets")
        known = migrating.migrations()
        with monkeypatch.context() as patch:
            patch.setattr(migrating, "migrations", lambda: [one for one in known if one[0] < NEW])
            migrating.migrate(url)
        yield url
        connection.execute("DROP DATABASE before_tag_sets WITH (FORCE)")


def fill(stage: Stage) -> None:
    for columns in TOUCHES:
        stage._insert("touchpoints", {
            "id": stage._next("receipt_ids"), "occurred_at": "2026-05-13T12:00:00Z",
            "contact_id": 1, "source_id": 1, "source_rule": "test", **columns,
        })  # fmt: skip


def kept(stage: Stage) -> list[tuple[Any, ...]]:
    columns = ", ".join(STAYS)
    query = f"SELECT {columns} FROM touchpoints WHERE space_id = %s ORDER BY id"
    return stage.connection.execute(query, (stage.space_id,)).fetchall()


def test_it_works(old: str) -> None:
    with psycopg.connect(old, autocommit=True) as connection:
        stages = [make_stage(connection), make_stage(connection)]
        for stage in stages:
            fill(stage)
        before = [kept(stage) for stage in stages]
        assert NEW in migrating.migrate(old)
        assert [kept(stage) for stage in stages] == before
        for stage in stages:
            names = ", ".join(f"g.{name}" for name in (*Ad.__struct_fields__, "landing_page"))
            rows = connection.execute(
                f"SELECT t.url, t.tag_set_id, g.digest, {names} FROM touchpoints t LEFT JOIN"
                " tag_sets g ON g.space_id = t.space_id AND g.id = t.tag_set_id"
                " WHERE t.space_id = %s ORDER BY t.id",
                (stage.space_id,),
            ).fetchall()
            assert [row[1] for row in rows] == [0, 0, 1, 1, 2, 3, 4, 5]
            for columns, (url, number, digest, *values) in zip(TOUCHES, rows, strict=True):
                ad = Ad(**{name: columns.get(name) for name in Ad.__struct_fields__})
                assert values == [*(columns.get(name) for name in Ad.__struct_fields__),
                                  landing_page(url)]  # fmt: skip
                assert number == 0 or digest.hex() == digest_of(ad, landing_page(url))


def test_the_pipeline_goes_on_from_there(old: str) -> None:
    with psycopg.connect(old, autocommit=True) as connection:
        stage = make_stage(connection)
        fill(stage)
    migrating.migrate(old)
    with connect(old) as connection:
        pipeline = Pipeline(connection, stage.space_id)
        known, new = pipeline.run(
            touch(email="ada@example.com", url=PAGE, campaign_id="12", keyword="apple",
                  campaign_name="Späte Äpfel"),
            touch(email="ben@example.com", campaign_id="13"),
        )  # fmt: skip
        numbers = dict(pipeline.rows("touchpoints", "id", "tag_set_id"))
    assert (numbers[known], numbers[new]) == (1, 6)


def test_the_table_is_as_it_would_be_otherwise(old: str) -> None:
    """Constraints and indexes have the names that they always had."""
    migrating.migrate(old)
    with psycopg.connect(old) as connection:
        names = connection.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename IN ('touchpoints', 'tag_sets')"
            " ORDER BY indexname"
        ).fetchall()
    assert [name for (name,) in names] == [
        "tag_sets_pkey", "tag_sets_space_id_digest_key", "touchpoints_company",
        "touchpoints_contact", "touchpoints_pkey", "touchpoints_source",
    ]  # fmt: skip
