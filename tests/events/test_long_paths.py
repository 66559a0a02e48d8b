"""A contact with a long path and many events: lists stay fast even if the database's statistics don't include
it yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.database.embedded import Embedded
from headwater.sources.catalogue import SOURCE_IDS
from tests.conftest import UNSAFE, run_application
from tests.support.installations import install
from tests.support.reading_fixtures import RANGE
from tests.support.spaces import insert_space

TOUCHES, EVENTS, OTHERS = 8_000, 1_000, 50_000

TOUCHPOINTS = (
    "INSERT INTO touchpoints (space_id, id, contact_id, occurred_at, source_id, source_rule)"
    " SELECT %(space)s, nextval('receipt_ids'), coalesce(%(contact)s, g %% 1000 + 1),"
    " '2026-05-01 00:00Z'::timestamptz + g * interval '1 second', 1 + g %% 2, 'test'"
    " FROM generate_series(1, %(count)s) g"
)
CONVERSIONS = (
    "INSERT INTO events (space_id, id, contact_id, event_name, event_time, amount, source_mask,"
    " received_at) SELECT %(space)s, nextval('receipt_ids'), coalesce(%(contact)s, g %% 1000 + 1),"
    " 'purchase', '2026-06-01 00:00Z'::timestamptz + g * interval '1 second', 12.34, -1, now()"
    " FROM generate_series(1, %(count)s) g"
)


@dataclass
class UnanalysedSpace:
    """A Space that the database's statistics don't include, or only partly."""

    connection: psycopg.Connection
    client: httpx.Client

    def list(self, **params: Any) -> list[dict[str, Any]]:
        params = {
            **RANGE, "sources[]": ["google_ads", "facebook_ads"], "attribution_model": "linear",
            "attribution_window": 0, "fields[]": ["amount", "ad_name", "order_id"], **params,
        }  # fmt: skip
        answer = self.client.get("/events", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]


@pytest.fixture(scope="module")
def unanalysed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnanalysedSpace]:
    cluster = Embedded(install(tmp_path_factory.mktemp("unanalysed") / "data"))
    url = cluster.start({**UNSAFE, "autovacuum": "off"}, tied=True)
    running = run_application(Settings(rate_limit_factor=1000), url)
    with psycopg.connect(url, autocommit=True) as connection:
        for contact, touches, events in ((None, OTHERS, OTHERS), (1, TOUCHES, EVENTS)):
            space = insert_space(connection)
            values = {"space": space, "contact": contact}
            connection.execute(
                "INSERT INTO contacts (space_id, id, created_at, source_mask)"
                " VALUES (%s, 1, now(), -1)", (space,),
            )  # fmt: skip
            connection.execute(TOUCHPOINTS, values | {"count": touches})
            connection.execute(CONVERSIONS, values | {"count": events})
            if contact is None:
                connection.execute("ANALYZE")
        key = "trk_sk_unanalysed"
        connection.execute(
            "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes)"
            " VALUES (%s, 'test', sha256(%s), 'sed', '{events:read}')", (space, key.encode()),
        )  # fmt: skip
        headers = {"Authorization": f"Bearer {key}"}
        base = f"{running.base_url}/public-api/v1"
        with httpx.Client(base_url=base, headers=headers, timeout=60) as client:
            yield UnanalysedSpace(connection, client)
    running.stop()
    cluster.stop()


def test_lists_are_in_time_before_and_after_the_tables_are_analysed(unanalysed: UnanalysedSpace) -> None:
    for _ in range(2):
        assert len(unanalysed.list(per_page=1000)) == 1000
        assert len(unanalysed.list(per_page=100, attribution_model="last_touch")) == 100
        unanalysed.connection.execute("ANALYZE")


def test_a_page_goes_on_until_it_is_full(unanalysed: UnanalysedSpace) -> None:
    """The first candidate events turn out to have no row of the source, so more events are read."""
    unanalysed.connection.execute(
        "UPDATE touchpoints SET source_id = 3 WHERE space_id = 2 AND occurred_at ="
        " (SELECT min(occurred_at) FROM touchpoints WHERE space_id = 2)"
    )
    first = unanalysed.list(per_page=5, attribution_model="first_touch")
    assert first == []
    names = [name for name, number in SOURCE_IDS.items() if number == 3]
    rows = unanalysed.list(per_page=5, attribution_model="first_touch", **{"sources[]": names[0]})
    assert len(rows) == 5
