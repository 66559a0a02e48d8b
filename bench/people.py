"""Contacts and companies over HTTP, for a Space and for one ten times larger: pages of 5,000, and one contact
with the events and touchpoints of a busy shop's year.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import psycopg

from bench.load import Result
from bench.stage import Stage
from headwater.sources.catalogue import SOURCE_IDS
from headwater.spaces.custom_fields import SLOT_TYPES

API = "/public-api/v1"
PAGE = 5000
MANY = 100_000
CONTACTS_PER_COMPANY = 10
SPAN = timedelta(days=180)
BIG = "big@bench.example"

EVER = {"start_date": "2000-01-01 00:00:00", "end_date": "2099-01-01 00:00:00"}
ALL = {"include_trk_tokens": 1, "include_all_emails": 1, "include_custom_fields": 1}
JOURNEY = {"include_events": 1, "hide_direct_touchpoints": 0}

VALUES = {"text": "'value ' || n", "number": "n", "date": "date_trunc('day', %(now)s::timestamptz)"}
# Every slot is filled for three contacts in ten.
FIELDS = ", ".join(
    f"CASE WHEN (n + {slot}) %% 10 < 3 THEN {VALUES[kind]} END"
    for slot, kind in enumerate(SLOT_TYPES.values())
)

# Contacts of evenly spread ages, with two addresses and one token each. Then one with much activity.
FILL = f"""
INSERT INTO companies (space_id, id, domain, name, created_at)
SELECT %(space_id)s, %(base)s + n, n || '.example', 'Company ' || n,
       %(now)s - %(span)s * (1 - n::float8 / %(companies)s)
FROM generate_series(1, %(companies)s) n;

INSERT INTO contacts (space_id, id, created_at, company_id, email, name, {", ".join(SLOT_TYPES)})
SELECT %(space_id)s, %(base)s + n, %(now)s - %(span)s * (1 - n::float8 / %(size)s),
       %(base)s + 1 + n %% %(companies)s, 'first' || n || '@bench.example', 'Person ' || n, {FIELDS}
FROM generate_series(1, %(size)s) n;

INSERT INTO contacts (space_id, id, created_at, email)
VALUES (%(space_id)s, %(big)s, %(now)s, %(big_email)s);

INSERT INTO contact_identifiers (space_id, kind, value, contact_id, origin_id, first_seen_at,
                                 last_seen_at, since, recency)
SELECT %(space_id)s, kind, value, contact_id, contact_id, %(now)s, %(now)s, recency, recency
FROM (
    SELECT v.kind, v.value, %(base)s + n AS contact_id, %(base)s + 3 * n + v.place AS recency
    FROM generate_series(1, %(size)s) n
    CROSS JOIN LATERAL (VALUES
        ('email', 'first' || n || '@bench.example', 0),
        ('email', 'second' || n || '@bench.example', 1),
        ('trk_token', 'token' || n, 2)) v (kind, value, place)
    UNION ALL
    SELECT 'email', %(big_email)s, %(big)s, 1
) drawn;

INSERT INTO tag_sets (space_id, id, digest, campaign_id)
SELECT %(space_id)s, n, decode(md5('campaign ' || n), 'hex'), n
FROM generate_series(1, 40) n;

INSERT INTO touchpoints (space_id, id, contact_id, occurred_at, source_id, source_rule, tag_set_id)
SELECT %(space_id)s, %(base)s + n, %(big)s, %(now)s - %(span)s * random(),
       (%(sources)s::smallint[])[1 + n %% 4], 'bench', 1 + n %% 40
FROM generate_series(1, %(many)s) n;

INSERT INTO events
    (space_id, id, contact_id, event_name, event_time, amount, received_at, source_mask)
SELECT %(space_id)s, %(base)s + n, %(big)s, 'purchase', %(now)s - %(span)s * random(),
       (random() * 20000)::int / 100.0, %(now)s, -1
FROM generate_series(1, %(many)s) n;
"""

Request = tuple[str, str, dict[str, int] | None]


@dataclass
class People:
    """A filled Space, and a connection of its key's owner."""

    client: http.client.HTTPConnection
    key: str
    base: int
    """Every id in the Space is larger."""
    size: int
    time: datetime

    @property
    def big_contact(self) -> int:
        return self.base + self.size + 1

    @property
    def companies(self) -> int:
        return self.size // CONTACTS_PER_COMPANY

    def send(self, method: str, path: str, body: dict[str, int] | None = None) -> bytes:
        text = None if body is None else json.dumps(body)
        self.client.request(method, path, text, {"Authorization": f"Bearer {self.key}"})
        response = self.client.getresponse()
        answer = response.read()
        assert response.status == 200, (method, path, answer[:300])
        return answer


def measure(stage: Stage, print_line: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on contacts and companies."""
    results: dict[str, list[Result]] = {}
    for size, (space_id, key) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        client = http.client.HTTPConnection("127.0.0.1", stage.port)
        people = People(client, key, 10_000_000_000 * space_id, size, datetime.now(UTC))
        fill(stage.url, space_id, people)
        for name, repeats, requests in tasks(people):
            results.setdefault(name, []).append(_time_requests(people, repeats, requests))
    print_line(f"Contacts and companies over HTTP; the big contact has {MANY:,} events and touchpoints")
    heads = [f"{size:,} {share} ms" for size in sizes for share in ("p50", "p99")]
    print_line(f"{'':30}", *heads, "ratio of p50")
    for name, size_results in results.items():
        shares = [f"{result.percentile(share):.1f}" for result in size_results for share in (0.5, 0.99)]
        first, last = size_results[0].percentile(0.5), size_results[-1].percentile(0.5)
        print_line(f"{name:30}", *shares, f"{last / first:.1f}" if len(size_results) > 1 else "-")


def fill(url: str, space_id: int, people: People) -> None:
    """Fill a Space with `people.size` contacts and the big one, using SQL."""
    parameters = {
        "space_id": space_id, "base": people.base, "size": people.size, "big": people.big_contact,
        "companies": people.companies, "now": people.time, "span": SPAN, "big_email": BIG,
        "many": MANY, "sources": [SOURCE_IDS[name] for name in
                                  ("google_ads", "facebook_ads", "google_organic", "direct")],
    }  # fmt: skip
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in FILL.split(";\n"):
            if statement.strip():
                connection.execute(statement, parameters)
        for table in ("companies", "contacts", "contact_identifiers", "events", "touchpoints"):
            connection.execute(f"VACUUM (ANALYZE) {table}")
        connection.execute("CHECKPOINT")


def tasks(people: People) -> Iterator[tuple[str, int, Callable[[int], Request]]]:
    """Yield the measured tasks: the name, the number of repetitions, and the request of each repetition."""
    contacts = {**EVER, **ALL, "per_page": PAGE}
    deep = _deep_cursor(people)
    yield "contacts, first page of 5,000", 20, _get("/contacts", contacts)
    yield "contacts, page in the middle", 20, _get("/contacts", {**contacts, "cursor": deep})
    yield "contacts of a narrow range", 20, _get("/contacts", {**contacts, **_narrow(people)})
    yield "contacts of 100 addresses", 40, lambda number: _find_by_addresses(people, number)
    yield "big contact by e-mail", 40, _get("/contacts/by-email", {"email": BIG})
    yield "big contact with its journey", 10, _get("/contacts/by-email", {"email": BIG, **JOURNEY})
    yield "attach big contact", 6, lambda number: _attach(people, number)
    yield "companies, page of 5,000", 40, _get("/companies", {"per_page": PAGE})


def _get(path: str, params: dict[str, object]) -> Callable[[int], Request]:
    return lambda _: ("GET", f"{API}{path}?{urlencode(params)}", None)


def _deep_cursor(people: People) -> str:
    """Return the cursor of the page in the middle of the list."""
    cursor = {}
    for _ in range(people.size // PAGE // 2):
        query = urlencode({**EVER, "per_page": PAGE, **cursor})
        page = json.loads(people.send("GET", f"{API}/contacts?{query}"))
        cursor = {"cursor": page["next_cursor"]}
    return cursor["cursor"]


def _narrow(people: People) -> dict[str, str]:
    """Return a range in the middle of the Space's time with about one page of contacts."""
    start = people.time - SPAN / 2
    end = start + SPAN * PAGE / people.size
    return {"start_date": f"{start:%Y-%m-%d %H:%M:%S}", "end_date": f"{end:%Y-%m-%d %H:%M:%S}"}


def _find_by_addresses(people: People, number: int) -> Request:
    """Return a request for a hundred contacts across the Space, by their second addresses, different ones
    each time.
    """
    step = people.size // 100
    emails = [f"second{1 + index * step + number}@bench.example" for index in range(100)]
    query = urlencode({**ALL, "email[]": emails}, doseq=True)
    return "GET", f"{API}/contacts?{query}", None


def _attach(people: People, number: int) -> Request:
    """Return a request that assigns one of two companies in turn, so that every row changes each time."""
    company = {"company_id": people.base + 1 + number % 2}
    return "PUT", f"{API}/contacts/{people.big_contact}/company", company


def _time_requests(people: People, repetitions: int, requests: Callable[[int], Request]) -> Result:
    result = Result()
    for number in range(repetitions + 2):
        start = time.perf_counter()
        people.send(*requests(number))
        if number >= 2:  # the first ones warm caches
            result.latencies.append(time.perf_counter() - start)
    return result
