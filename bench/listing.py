"""GET /events over HTTP, at one size of Space and at ten times that size."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable

import psycopg

from bench.load import Result
from bench.stage import Stage
from headwater.sources.catalogue import SOURCE_IDS

REPEATS = 40
TOUCHES_PER_EVENT = 10
COMMON = ("google_ads", "facebook_ads", "google_organic", "direct")
ONE_PERCENT, TENTH = "capterra", "yelp"
# Half of all touches, an eighth of them, one in a hundred, one in a thousand.
PAGES = (
    (COMMON, 200), (COMMON, 1000), (COMMON[:1], 200), (COMMON[:1], 1000),
    ((ONE_PERCENT,), 200), ((TENTH,), 200),
)  # fmt: skip
MODELS = ("last_touch", "linear", "u_shaped")

# Two events and twenty touches a contact over 180 days. One touch in a hundred is of one rare
# source, one in a thousand of another, the rest of eight common ones.
FILL = """
INSERT INTO contacts (space_id, id, created_at)
SELECT %(space_id)s, %(base)s + n, now() - interval '180 days'
FROM generate_series(1, %(events)s / 2) n;

INSERT INTO tag_sets (space_id, id, digest, campaign_id)
SELECT %(space_id)s, n, decode(md5('campaign ' || n), 'hex'), n
FROM generate_series(1, 40) n;

INSERT INTO touchpoints (space_id, id, contact_id, occurred_at, source_id, source_rule, tag_set_id)
SELECT %(space_id)s, %(base)s + n, %(base)s + 1 + n %% (%(events)s / 2),
       now() - interval '180 days' * random(),
       CASE WHEN chance < 0.001 THEN %(tenth)s WHEN chance < 0.011 THEN %(one_percent)s
            ELSE (%(common)s::smallint[])[1 + floor(random() * 8)::int] END, 'bench', 1 + n %% 40
FROM (SELECT n, random() AS chance FROM generate_series(1, %(events)s * %(touches)s) n) drawn;

INSERT INTO events
    (space_id, id, contact_id, event_name, event_time, amount, received_at, source_mask)
SELECT %(space_id)s, %(base)s + n, %(base)s + 1 + n %% (%(events)s / 2), 'purchase',
       now() - interval '180 days' * random(), (random() * 20000)::int / 100.0, now(), masks.mask
FROM generate_series(1, %(events)s) n
JOIN (SELECT contact_id, bit_or(1::bigint << source_id) AS mask FROM touchpoints
      WHERE space_id = %(space_id)s GROUP BY contact_id) masks
  ON masks.contact_id = %(base)s + 1 + n %% (%(events)s / 2);
"""


def measure(stage: Stage, say: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the listing part of the table."""
    for size, (space_id, key) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        fill(stage.url, space_id, size)
        say(f"GET /events over HTTP, {size:,} events and {size * TOUCHES_PER_EVENT:,} touchpoints")
        say("model", "window", "source", "rows", "p50 ms", "p95 ms", "p99 ms")
        client = http.client.HTTPConnection("127.0.0.1", stage.port)
        say("none", "-", "-", 1000, *_timed(client, key, "&fields=amount&per_page=1000"))
        for model in MODELS:
            for window in (30, 0):
                for sources, rows in PAGES:
                    query = "".join(f"&sources={source}" for source in sources) + (
                        f"&attribution_model={model}&attribution_window={window}"
                        f"&per_page={rows}&fields=amount&fields=event_name&fields=campaign_id"
                    )
                    say(model, window, "+".join(sources)[:14], rows, *_timed(client, key, query))


def fill(url: str, space_id: int, events: int) -> None:
    """A Space of `events` events, written by SQL: what is measured is reading."""
    common = [SOURCE_IDS[name] for name in (
        *COMMON, "email", "ai_chat_gpt", "linkedin_ads", "referral",
    )]  # fmt: skip
    with psycopg.connect(url, autocommit=True) as connection:
        parameters = {
            "space_id": space_id, "base": 10_000_000_000 * space_id, "events": events,
            "touches": TOUCHES_PER_EVENT, "common": common,
            "one_percent": SOURCE_IDS[ONE_PERCENT], "tenth": SOURCE_IDS[TENTH],
        }  # fmt: skip
        for statement in FILL.split(";\n"):
            if statement.strip():
                connection.execute(statement, parameters)
        connection.execute("VACUUM (ANALYZE) events")
        connection.execute("VACUUM (ANALYZE) touchpoints")
        connection.execute("CHECKPOINT")


def _timed(client: http.client.HTTPConnection, key: str, query: str) -> tuple[str, str, str]:
    path = (
        "/public-api/v1/events?start_date=2000-01-01+00:00:00&end_date=2099-01-01+00:00:00" + query
    )
    result = Result()
    for number in range(REPEATS + 3):
        started = time.perf_counter()
        client.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        response = client.getresponse()
        body = response.read()
        assert response.status == 200, body[:300]
        if number >= 3:  # the first ones warm caches
            result.latencies.append(time.perf_counter() - started)
    return tuple(f"{result.percentile(share):.1f}" for share in (0.5, 0.95, 0.99))
