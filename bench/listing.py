"""GET /events over HTTP, for a Space and for one ten times larger."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg

from bench.load import Result
from bench.stage import Stage
from headwater.attribution.paths.changes import NOTE_EVENTS
from headwater.attribution.paths.segments import queries as segment_queries
from headwater.attribution.paths.upkeep import rebuild_space
from headwater.sources.catalogue import SOURCE_IDS, SOURCES

REPEATS = 40
TOUCHES_PER_EVENT = 10
DAYS = 180
COMMON = ("google_ads", "facebook_ads", "google_organic", "direct")
EIGHT = (*COMMON, "email", "ai_chat_gpt", "linkedin_ads", "referral")
WITH_MANY_RARE = 100_000
"""Events of a Space with many rare sources."""
ONE_PERCENT, TENTH = "capterra", "yelp"
MANY_RARE = [name for name in SOURCES if name not in (*EIGHT, TENTH)][:30]
# The shares of touches: half, an eighth, one in a hundred, one in a thousand.
PAGES = (
    (COMMON, 200), (COMMON, 1000), (COMMON[:1], 200), (COMMON[:1], 1000),
    ((ONE_PERCENT,), 200), ((TENTH,), 200),
)  # fmt: skip
MODELS = ("last_touch", "linear", "u_shaped")

# Two events and twenty touches per contact. One touch in a hundred has a rare source (or one for each of
# several rare sources), one in a thousand has another, the rest have eight common ones. One event in fifty
# arrives up to six days late.
CONTACTS = """
INSERT INTO contacts (space_id, id, created_at)
SELECT %(space_id)s, %(base)s + n, now() - make_interval(days => %(days)s)
FROM generate_series(1, %(events)s / 2) n;

INSERT INTO tag_sets (space_id, id, digest, campaign_id)
SELECT %(space_id)s, n, decode(md5('campaign ' || n), 'hex'), n
FROM generate_series(1, 40) n;
"""
TOUCHES = """
INSERT INTO touchpoints (space_id, id, contact_id, occurred_at, source_id, source_rule, tag_set_id)
SELECT %(space_id)s, %(base)s + n, %(base)s + 1 + n %% (%(events)s / 2),
       now() - make_interval(days => %(days)s) * random(),
       CASE WHEN chance < 0.001 THEN %(tenth)s
            WHEN chance < 0.001 + 0.01 * cardinality(%(rare)s::smallint[])
            THEN (%(rare)s::smallint[])[1 + floor((chance - 0.001) * 100)::int]
            ELSE (%(common)s::smallint[])[1 + floor(random() * 8)::int] END, 'bench', 1 + n %% 40
FROM (SELECT n, random() AS chance
      FROM generate_series(%(first)s::bigint, %(last)s::bigint) n) drawn
"""
EVENTS = """
INSERT INTO events
    (space_id, id, contact_id, event_name, event_time, amount, received_at, sender, source_mask)
SELECT %(space_id)s, %(base)s + n, %(base)s + 1 + n %% (%(events)s / 2), 'purchase',
       drawn.event_time, (random() * 20000)::int / 100.0,
       drawn.event_time + interval '1 second' + interval '6 days' * random() * (n %% 50 = 0)::int,
       'api_key', masks.mask
FROM (SELECT n, now() - make_interval(days => %(days)s) * random() AS event_time
      FROM generate_series(1, %(events)s) n) drawn
JOIN (SELECT contact_id, bit_or(1::bigint << source_id) AS mask FROM touchpoints
      WHERE space_id = %(space_id)s GROUP BY contact_id) masks
  ON masks.contact_id = %(base)s + 1 + n %% (%(events)s / 2)
"""


OCTETS = """
SELECT sum(pg_column_size(s.*)), sum(pg_column_size(s.posted_sources)
       + pg_column_size(s.posting_ends) + pg_column_size(s.postings))
FROM path_segments s WHERE s.space_id = %(space_id)s
"""
PENDING = """
SELECT array_agg(newest.id)
FROM (SELECT e.id FROM events e WHERE e.space_id = %(space_id)s
      ORDER BY e.event_time DESC LIMIT %(pending)s) newest
"""
UNCHECKED = "-c session_replication_role=replica -c work_mem=512MB -c maintenance_work_mem=1GB"
"""Foreign keys of generated rows need no check, which would be millions of look-ups."""
HURRIED = {
    "autovacuum": "off", "full_page_writes": "off", "max_wal_size": "8GB", "wal_compression": "off",
}  # fmt: skip
INDEXES_LATER = 2_000_000
"""From this number of events, indexes are created after the rows, which takes a third of the time."""
INDEXES = """
SELECT 'DROP INDEX ' || x.indexname, x.indexdef FROM pg_indexes x
WHERE x.tablename = ANY(%(tables)s) AND x.indexname NOT LIKE '%%pkey'
UNION ALL
SELECT format('ALTER TABLE %%I DROP CONSTRAINT %%I', x.tablename, x.indexname),
       format('ALTER TABLE %%I ADD PRIMARY KEY (space_id, id)', x.tablename)
FROM pg_indexes x
WHERE x.tablename = ANY(%(tables)s) AND x.indexname LIKE '%%pkey'
"""
FILLERS = 2
"""The number of sessions that write touchpoints, most of the rows, at the same time."""
MOST_PENDING = 500
"""The number of newest events that are pending while the worker lets changes gather."""


def measure(stage: Stage, print_line: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the listing part of the table."""
    stage.pause_worker()
    for size in sizes:
        space_id, key, is_new = stage.space_named(f"bench of {size} events")
        print_line(f"GET /events over HTTP, {size:,} events and {size * TOUCHES_PER_EVENT:,} touchpoints")
        if is_new:
            fill(stage.url, space_id, size)
            _build_segments(stage.url, space_id, size, print_line)
        _note_newest(stage.url, space_id)
        _measure_pages(stage, key, print_line, PAGES)
    ((many_id, many_key),) = stage.spaces(1)
    fill(stage.url, many_id, WITH_MANY_RARE, MANY_RARE)
    print_line(f"The same of {WITH_MANY_RARE:,} events, with {len(MANY_RARE)} sources of 1 % each")
    _build_segments(stage.url, many_id, WITH_MANY_RARE, print_line)
    _note_newest(stage.url, many_id)
    _measure_pages(stage, many_key, print_line, ((MANY_RARE[:1], 200), (MANY_RARE[:15], 200)))
    stage.resume_worker()


def _measure_pages(
    stage: Stage, key: str, print_line: Callable[..., None], pages: Sequence[tuple[Sequence[str], int]]
) -> None:
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    print_line("model", "window", "source", "rows", "p50 ms", "p95 ms", "p99 ms")
    print_line("none", "-", "-", 1000, *_time_query(client, key, "&fields=amount&per_page=1000"))
    for model in MODELS:
        for window in (30, 0):
            for sources, rows in pages:
                query = "".join(f"&sources={source}" for source in sources) + (
                    f"&attribution_model={model}&attribution_window={window}"
                    f"&per_page={rows}&fields=amount&fields=event_name&fields=campaign_id"
                )
                print_line(model, window, "+".join(sources)[:14], rows, *_time_query(client, key, query))


def _build_segments(url: str, space_id: int, size: int, print_line: Callable[..., None]) -> None:
    """Build the segments of a Space as the worker does, and print the time it takes."""
    with psycopg.connect(url, autocommit=True) as connection:
        start = time.process_time()
        for _ in rebuild_space(connection, space_id):
            pass
        cpu_seconds = time.process_time() - start
        octets, list_postings = connection.execute(OCTETS, {"space_id": space_id}).fetchone()
        print_line("octets/event", "of postings", "worker µs", "(CPU per event)")
        print_line(*(f"{figure / size:.1f}" for figure in (octets, list_postings, 1e6 * cpu_seconds)))


def _note_newest(url: str, space_id: int) -> None:
    """Make only the newest events pending."""
    with psycopg.connect(url, autocommit=True) as connection:
        values = {"space_id": space_id, "pending": MOST_PENDING}
        connection.execute(segment_queries["delete_pending"], values)
        (event_ids,) = connection.execute(PENDING, values).fetchone()
        connection.execute(NOTE_EVENTS, {"space_id": space_id, "event_ids": event_ids})
        for table in ("path_segments", "path_days", "pending_paths"):
            connection.execute(f"VACUUM (ANALYZE) {table}")


def fill(
    url: str, space_id: int, events: int, rare_sources: Sequence[str] = (ONE_PERCENT,), *, days: int = DAYS
) -> None:
    """Fill a Space with `events` events over some days. SQL writes them, because only reading is measured."""
    common = [SOURCE_IDS[name] for name in EIGHT]
    with (
        psycopg.connect(url, autocommit=True, options=UNCHECKED) as connection,
        _reduce_durability(connection),
    ):
        parameters = {
            "space_id": space_id, "base": 10_000_000_000 * space_id, "events": events,
            "common": common, "days": days,
            "rare": [SOURCE_IDS[name] for name in rare_sources], "tenth": SOURCE_IDS[TENTH],
        }  # fmt: skip
        tables = ["touchpoints", "events"] if events >= INDEXES_LATER else []
        indexes = connection.execute(INDEXES, {"tables": tables}).fetchall()
        for drop, _ in indexes:
            connection.execute(drop)
        for statement in CONTACTS.split(";\n"):
            if statement.strip():
                connection.execute(statement, parameters)
        _fill_touchpoints(url, parameters, events * TOUCHES_PER_EVENT)
        connection.execute(EVENTS, parameters)
        for _, create in indexes:
            connection.execute(create)
        connection.execute("VACUUM (ANALYZE) events")
        connection.execute("VACUUM (ANALYZE) touchpoints")
        connection.execute("CHECKPOINT")


def _fill_touchpoints(url: str, parameters: dict[str, Any], count: int) -> None:
    bounds = [count * number // FILLERS for number in range(FILLERS + 1)]

    def fill_range(offset: int, last_event: int) -> None:
        with psycopg.connect(url, autocommit=True, options=UNCHECKED) as connection:
            connection.execute(TOUCHES, {**parameters, "first": offset + 1, "last": last_event})

    with ThreadPoolExecutor(FILLERS) as pool:
        list(pool.map(fill_range, bounds, bounds[1:]))


@contextmanager
def _reduce_durability(connection: psycopg.Connection) -> Iterator[None]:
    """Reduce the database's writes for crash safety during the block."""
    for name, value in HURRIED.items():
        connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    connection.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        for name in HURRIED:
            connection.execute(f"ALTER SYSTEM RESET {name}")
        connection.execute("SELECT pg_reload_conf()")


def _time_query(client: http.client.HTTPConnection, key: str, query: str) -> tuple[str, str, str]:
    path = "/public-api/v1/events?start_date=2000-01-01+00:00:00&end_date=2099-01-01+00:00:00" + query
    result = Result()
    for number in range(REPEATS + 3):
        start = time.perf_counter()
        client.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        response = client.getresponse()
        body = response.read()
        assert response.status == 200, body[:300]
        if number >= 3:  # the first ones warm caches
            result.latencies.append(time.perf_counter() - start)
    return tuple(f"{result.percentile(share):.1f}" for share in (0.5, 0.95, 0.99))
