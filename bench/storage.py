"""What a Space takes on disk: events and page views through the pipeline, and then every table's
rows, indexes and the rest of it, by event and by page view; and page views before and after they
are packed, with what packing and showing them takes.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import psutil
import psycopg

from bench.pipeline import accepted_events, accepted_hits, fill
from bench.reports import build_segments
from bench.stage import Stage
from headwater.browsing.accepted import AcceptedHit
from headwater.browsing.old_views import see_to
from headwater.contacts.models import GetContact
from headwater.contacts.queries import fetch_contact
from headwater.contacts.queries import queries as contact_queries
from headwater.jobs.connection import WorkerConnection, connect
from headwater.pipeline.batch_runner import process_space
from headwater.pipeline.read_ahead import ReadAhead
from headwater.spaces.spaces import fetch_space

EVENTS = 100_000
"""Of 50,000 people, so that half of them are of people who are known."""

SIZES = """
SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind = 'r'
"""
INDEXES = """
SELECT i.indexrelid::regclass::text, pg_relation_size(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = 'public'::regnamespace
"""
VISITS, PAGES = 15_000, 4
"""Of people who come once."""
READ = 300
"""Contacts whose page views are read, before and after."""
WORDS = (
    "summer", "winter", "dress", "shoes", "women", "men", "kids", "sale", "new", "blue", "red",
    "cotton", "linen", "jacket", "shirt", "classic", "slim", "wool",
)  # fmt: skip
BROWSERS = (
    ("DE", "mobile", "Safari", "iOS", "de-DE"), ("US", "desktop", "Chrome", "Windows", "en-US"),
    ("GB", "mobile", "Chrome", "Android", "en-GB"), ("FR", "desktop", "Firefox", "Linux", "fr-FR"),
)  # fmt: skip
OF_VIEWS = ("hits", "packed_hits")
LEAST = 5.0
"""Octets below which a table or an index is not listed."""


def measure(stage: Stage, say: Callable[..., None]) -> None:
    """Print the part of the table."""
    (events, _), (hits, _), (old, _) = stage.spaces(3)
    stage.stop()
    with stage.database() as url:
        _store(url, say, events, f"{EVENTS:,} events of 50,000 people", accepted_events(EVENTS))
        _store(url, say, hits, "60,000 page views in visits of four", accepted_hits())
        _pack(url, say, old)
    stage.start()


def _store(
    url: str, say: Callable[..., None], space_id: int, what: str, rows: Iterator[tuple[str, object]]
) -> None:
    with connect(url) as connection:
        tables, indexes = _sizes(connection)
        fill(connection, space_id, rows)
        (count,) = connection.execute("SELECT count(*) FROM inbox").fetchone()
        read_ahead = ReadAhead()
        with connection.confined(space_id):
            while process_space(connection, space_id, read_ahead=read_ahead).rows:
                pass
        with psycopg.connect(url, autocommit=True) as plain:
            build_segments(plain, space_id)
            plain.execute("VACUUM")  # the inbox and notes of changes are empty now
            after_tables, after_indexes = _sizes(plain)
    say(f"Storage of {what}, octets each, once nothing waits or is pending")
    say("table", "rows", "indexes")
    total = 0.0
    for table, sizes in sorted(after_tables.items()):
        grown = [(size - old) / count for size, old in zip(sizes, tables[table], strict=True)]
        total += sum(grown)
        if sum(grown) >= LEAST:
            say(table, *(f"{octets:.0f}" for octets in grown))
    for index, size in sorted(after_indexes.items()):
        if (octets := (size - indexes[index]) / count) >= LEAST:
            say("index", index, f"{octets:.0f}")
    say("all", f"{total:.0f}")


def _old_views(run: str) -> Iterator[tuple[str, object]]:
    """Yield visits of two months ago, a hundred under way at a time, on pages as a shop has."""
    chance, start = random.Random(1), int((time.time() - 60 * 86_400) * 1000)
    for number in range(VISITS * PAGES):
        group, page = number // (100 * PAGES), number // 100 % PAGES
        visit = group * 100 + number % 100
        country, device_type, browser, os, language = BROWSERS[visit % len(BROWSERS)]
        words = "-".join(chance.sample(WORDS, chance.randint(2, 5)))
        variant = f"?variant={chance.randint(10**10, 10**11)}" if chance.random() < 0.3 else ""
        landing = "?utm_source=newsletter&utm_medium=email" if page == 0 and visit % 3 == 0 else ""
        yield "hit", AcceptedHit(
            key=str(uuid4()), trk_token=f"{run}_{visit:08d}",
            occurred_at=start + group * 120_000 + page * 30_000 + chance.randint(0, 29_000),
            url=f"https://www.shop.example.com/products/{words}{landing or variant}",
            referrer="https://www.shop.example.com/" if page else "https://www.google.com/",
            country=country, device_type=device_type, browser=browser, os=os, language=language,
        )  # fmt: skip


def _pack(url: str, say: Callable[..., None], space_id: int) -> None:
    """Print what page views take before and after they are packed, and what it takes to do that."""
    with connect(url) as connection:
        before = _octets(connection)
        _browse(connection, space_id, "old")
        say(f"Packing of {VISITS * PAGES:,} page views in visits of four, octets each")
        loose = _say_octets(say, "loose", before, _octets(connection), VISITS * PAGES)
        reading = _read(url, space_id)
        backend = psutil.Process(connection.info.backend_pid)
        used = time.process_time(), sum(backend.cpu_times()[:2])
        _pack_all(connection, space_id)
        worker, server = time.process_time() - used[0], sum(backend.cpu_times()[:2]) - used[1]
        [(packed,)] = connection.execute("SELECT sum(get_byte(body, 1)) FROM packed_hits")
        say("packed", f"{packed:,}", f"{worker / packed * 1e6:.0f} µs of the worker",
            f"{server / packed * 1e6:.0f} µs of PostgreSQL, a page view")  # fmt: skip
        for when, (own, of_server) in (("loose", reading), ("packed", _read(url, space_id))):
            took = f"{own:.2f} ms", f"{of_server:.2f} ms of PostgreSQL"
            say("contact with page views", when, *took)
        files = [_file_of_hits(connection)]
        connection.execute("VACUUM")
        files.append(_file_of_hits(connection))
        _browse(connection, space_id, "new")
        files.append(_file_of_hits(connection))
        say("file of hits, MB: packed, after VACUUM, with as many new page views",
            *(f"{size / 1e6:.1f}" for size in files))  # fmt: skip
        _pack_all(connection, space_id)
        then = _say_octets(say, "packed", before, _octets(connection), 2 * VISITS * PAGES)
        say("all", f"{loose:.0f}", f"{then:.0f}")


def _browse(connection: WorkerConnection, space_id: int, run: str) -> None:
    fill(connection, space_id, _old_views(run))
    with connection.confined(space_id):
        while process_space(connection, space_id, read_ahead=ReadAhead()).rows:
            pass


def _pack_all(connection: WorkerConnection, space_id: int) -> None:
    with connection.confined(space_id):
        while see_to(connection, space_id, 30):
            pass


def _file_of_hits(connection: psycopg.Connection) -> int:
    (size,) = connection.execute("SELECT pg_table_size('hits')").fetchone()
    return size


def _say_octets(
    say: Callable[..., None], when: str, before: dict[str, int], now: dict[str, int], count: int
) -> float:
    """Print the octets of each of so many page views, and return their sum."""
    octets = {name: (size - before[name]) / count for name, size in now.items()}
    for name, each in octets.items():
        say(when, name, f"{each:.0f}")
    return sum(octets.values())


def _octets(connection: psycopg.Connection) -> dict[str, int]:
    """Return what page views take without the space that is free for others: their tables are
    written anew for it, which nobody has to do otherwise.
    """
    sizes: dict[str, int] = {}
    for table in OF_VIEWS:
        connection.execute(f"VACUUM FULL {table}")
        for kind in ("table", "indexes"):
            query = f"SELECT pg_{kind}_size('{table}')"
            (sizes[f"{table} {kind}"],) = connection.execute(query).fetchone()
    return sizes


def _read(url: str, space_id: int) -> tuple[float, float]:
    """Return the ms of CPU time for a contact with its page views, here and in PostgreSQL."""

    async def read() -> tuple[float, float]:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            space = await fetch_space(connection, space_id)
            found = await connection.execute(
                "SELECT id FROM contacts WHERE space_id = %s ORDER BY id LIMIT %s", (space_id, READ)
            )
            ids = [contact_id for (contact_id,) in await found.fetchall()]
            backend = psutil.Process(connection.info.backend_pid)
            for contact_id in ids[:10] * 2 + ids:
                if contact_id == ids[0]:
                    used = time.process_time(), sum(backend.cpu_times()[:2])
                await connection.commit()
                await connection.execute(contact_queries["snapshot"])
                await fetch_contact(connection, space, contact_id, GetContact(hits=True))
            after = time.process_time(), sum(backend.cpu_times()[:2])
        own, server = (late - early for early, late in zip(used, after, strict=True))
        return own / len(ids) * 1000, server / len(ids) * 1000

    return asyncio.run(read())


def _sizes(connection: psycopg.Connection) -> tuple[dict[str, list[int]], dict[str, int]]:
    tables = {name: [size, of_indexes] for name, size, of_indexes in connection.execute(SIZES)}
    return tables, dict(connection.execute(INDEXES).fetchall())
