"""/healthz, /readyz and /metrics, with and without a database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from psycopg.sql import SQL, Identifier

from headwater import app
from headwater.base.settings import Settings
from headwater.intake.inbox import probe
from tests.conftest import Running, run_application
from tests.support.processes import is_ready
from tests.support.spaces import insert_space
from tests.support.waiting import wait_until

EVENT = {"event_name": "purchase", "email": "ada@example.com"}
TOKEN_REQUEST = {
    "grant_type": "authorization_code", "client_id": "any", "code": "any", "redirect_uri": "https://any.example/",
    "code_verifier": "x" * 43,
}  # fmt: skip
AWAY = {"status": "database unavailable"}


@pytest.fixture(scope="module")
def cut_off_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The application without a reachable database."""
    nowhere = tmp_path_factory.mktemp("nowhere")
    url = f"postgresql://headwater@/headwater?host={nowhere}"
    running = run_application(Settings(secret_key="test" * 8), url)
    yield running
    running.stop()


def samples(running: Running) -> dict[str, float]:
    response = httpx.get(f"{running.base_url}/metrics", timeout=10)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
        if not sample.labels
    }


@pytest.mark.parametrize(("path", "status"), [("/healthz", "ok"), ("/readyz", "ready")])
def test_it_works(server: Running, path: str, status: str) -> None:
    response = httpx.get(server.base_url + path)
    assert (response.status_code, response.json()) == (200, {"status": status})


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_they_only_answer_get_and_head(server: Running, path: str) -> None:
    head = httpx.head(server.base_url + path)
    assert (head.status_code, head.content) == (200, b"")
    refusal = httpx.post(server.base_url + path)
    assert (refusal.status_code, refusal.headers["allow"]) == (405, "GET, HEAD")


def test_counters_move(server: Running, client: httpx.Client) -> None:
    before = samples(server)
    batch = {"events": [EVENT, EVENT]}
    assert client.post("/events/batch", json=batch).status_code == 202
    after = samples(server)
    assert after["headwater_accepted_rows_total"] == before["headwater_accepted_rows_total"] + 2
    assert after["headwater_flush_seconds_count"] > before["headwater_flush_seconds_count"]


def test_the_queue_is_measured(
    server: Running, client: httpx.Client, connection: psycopg.Connection, space_id: int
) -> None:
    assert client.post("/events/track", json=EVENT).status_code == 202
    connection.execute(
        "UPDATE inbox SET received_at = now() - interval '1 hour' WHERE space_id = %s", (space_id,)
    )
    connection.execute(
        "INSERT INTO rejected (space_id, id, kind, sender, received_at, payload, reason, detail)"
        " VALUES (%s, 1, 'event', 'api_key', now(), '{}', 'test', '')",
        (space_id,),
    )
    rows = connection.execute("SELECT count(*) FROM inbox").fetchone()
    metrics = samples(server)
    assert rows == (metrics["headwater_inbox_rows"],)
    assert metrics["headwater_inbox_oldest_seconds"] >= 3600
    assert metrics["headwater_rejected_rows"] >= 1


def test_waiting_erasures_are_measured(
    server: Running, connection: psycopg.Connection, space_id: int
) -> None:
    before = samples(server)
    connection.execute(
        "INSERT INTO erasures (space_id, contact_id, receipt_mark, requested_at, erased_at)"
        " VALUES (%(space)s, 1, 1, now() - interval '1 hour', NULL),"
        " (%(space)s, 1, 1, now() - interval '1 day', now())",
        {"space": space_id},
    )
    metrics = samples(server)
    connection.execute("DELETE FROM erasures WHERE space_id = %s", (space_id,))
    assert metrics["headwater_erasures"] == before["headwater_erasures"] + 1
    assert 3600 <= metrics["headwater_erasures_oldest_seconds"] < 86_400


def test_exports_under_way_are_measured(
    server: Running, connection: psycopg.Connection, space_id: int
) -> None:
    before = samples(server)
    connection.execute(
        "INSERT INTO exports (space_id, kind, request, range_start, range_end, created_at)"
        " VALUES (%s, 'events', '{}', now(), now(), now() - interval '2 hours')",
        (space_id,),
    )
    metrics = samples(server)
    connection.execute("DELETE FROM exports WHERE space_id = %s", (space_id,))
    assert metrics["headwater_exports"] == before["headwater_exports"] + 1
    assert metrics["headwater_exports_oldest_seconds"] >= 7200


def test_without_a_database_it_lives_but_is_not_ready(cut_off_server: Running) -> None:
    assert httpx.get(f"{cut_off_server.base_url}/healthz").status_code == 200
    response = httpx.get(f"{cut_off_server.base_url}/readyz", timeout=10)
    assert (response.status_code, response.json()) == (503, AWAY)
    assert response.headers["retry-after"]


def test_and_still_tells_its_counters(cut_off_server: Running) -> None:
    metrics = samples(cut_off_server)
    assert "headwater_accepted_rows_total" in metrics
    assert "headwater_inbox_rows" not in metrics


def test_and_refuses_for_now_within_five_seconds(cut_off_server: Running) -> None:
    """Programs, assistants and people learn in their own way that they can try again. A page that is missing
    anyway is shown without the member's name.
    """
    key, member = (
        {"Authorization": "Bearer trk_sk_any"},
        {"Accept": "text/html", "Cookie": "headwater_session=any"},
    )
    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/public-api/v1/events/track", {"headers": key, "content": b"{}"}),
        ("POST", "/public-api/v1/events/batch", {"headers": key, "content": b"{}"}),
        ("GET", "/public-api/v1/events/1", {"headers": key}),
        ("POST", "/mcp/oauth/register", {"json": {}}),
        ("POST", "/mcp/oauth/token", {"data": TOKEN_REQUEST}),
        ("GET", "/console", {"headers": member}),
        ("GET", "/console/nonsense", {"headers": member}),
    ]

    def send(request: tuple[str, str, dict[str, Any]]) -> httpx.Response:
        method, path, values = request
        return httpx.request(method, f"{cut_off_server.base_url}{path}", timeout=10, **values)

    started = time.monotonic()
    with ThreadPoolExecutor(len(requests)) as pool:
        *refusals, page, missing_page = pool.map(send, requests)
    assert time.monotonic() - started < 5
    for answer in (*refusals, page):
        assert (answer.status_code, bool(answer.headers["retry-after"])) == (503, True)
    assert [list(answer.json()) for answer in refusals[:3]] == [["message"]] * 3
    assert [answer.json()["error"] for answer in refusals[3:]] == ["temporarily_unavailable"] * 2
    assert "<h1>Back in a moment</h1>" in page.text
    assert missing_page.status_code == 404
    assert "<h1>There is nothing here</h1>" in missing_page.text


def test_many_who_ask_at_a_time_share_one_trial(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_urls: list[str] = []
    connect = probe.connect

    async def counting(url: str) -> psycopg.AsyncConnection:
        opened_urls.append(url)
        return await connect(url)

    monkeypatch.setattr(probe, "connect", counting)
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda _: is_ready(server.base_url), range(160)))
    assert all(answers)
    assert len(opened_urls) <= 40  # one per second, however slow this machine is


@pytest.fixture
def young_server(young_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """The application with a database of its own, which is checked for every request."""
    monkeypatch.setattr(app, "READY_SECONDS", 0.0)
    running = run_application(Settings(secret_key="test" * 8), young_url)
    wait_until(lambda: is_ready(running.base_url))
    yield running
    running.stop()


@contextmanager
def refuse_connections(database_url: str, young_url: str) -> Iterator[psycopg.Connection]:
    """Yield a connection to another database of the server."""
    allow = SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    name = Identifier(urlsplit(young_url).path[1:])
    with psycopg.connect(database_url, autocommit=True) as other_database:
        other_database.execute(allow.format(name, SQL("false")))
        try:
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(young_url)
            yield other_database
        finally:
            other_database.execute(allow.format(name, SQL("true")))


def test_it_is_ready_while_only_existing_connections_are_served(
    young_server: Running, database_url: str, young_url: str
) -> None:
    """At PostgreSQL's limit of connections, events are still stored."""
    with refuse_connections(database_url, young_url):
        assert is_ready(young_server.base_url)


def test_it_is_not_ready_while_events_have_no_connection(
    young_server: Running, database_url: str, young_url: str
) -> None:
    """The pool's connections, which still work, store no events."""
    key = "trk_sk_young"
    with psycopg.connect(young_url) as connection:
        connection.execute(
            "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes)"
            " VALUES (%s, 'Key', sha256(%s), 'oung', '{events:write}')",
            (insert_space(connection), key.encode()),
        )

    def track() -> int:
        path, headers = "/public-api/v1/events/track", {"Authorization": f"Bearer {key}"}
        return httpx.post(young_server.base_url + path, json=EVENT, headers=headers, timeout=10).status_code

    assert track() == 202
    with refuse_connections(database_url, young_url) as other_database:
        other_database.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = %s AND query LIKE 'NOTIFY %%'",
            (urlsplit(young_url).path[1:],),
        )
        assert (track(), is_ready(young_server.base_url)) == (503, False)
    wait_until(lambda: is_ready(young_server.base_url))
    wait_until(lambda: track() == 202)


def test_it_is_not_ready_while_no_event_could_be_stored(
    server: Running, connection: psycopg.Connection
) -> None:
    connection.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE SQLSTATE '53100' USING MESSAGE = 'no space left on device'; END$$"
    )
    connection.execute(
        "CREATE TRIGGER full_disk BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    try:
        wait_until(lambda: not is_ready(server.base_url))
    finally:
        connection.execute("DROP FUNCTION refuse CASCADE")
    wait_until(lambda: is_ready(server.base_url))
