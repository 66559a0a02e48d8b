"""Assistants' tools over HTTP, compared with the same queries to the API."""

from __future__ import annotations

import hashlib
import http.client
import json
import secrets
import time
from collections.abc import Callable
from urllib.parse import urlencode

import psycopg

from bench.listing import fill
from bench.load import Result
from bench.stage import Stage

REPEATS = 300
EVENTS = 100_000
CREDITED = {"sources": ["google_ads"], "attribution_model": "linear", "attribution_window": 30}


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print the assistants' part of the table."""
    ((space_id, key),) = stage.spaces(1)
    fill(stage.url, space_id, EVENTS)
    token, (first, last, event_id) = _token(stage.url, space_id), _read_event(stage.url, space_id)
    dates = {"start_date": first, "end_date": last, "per_page": 50}
    pairs = {
        "get_event": (f"/events/{event_id}", {}, {"event_id": event_id}),
        "list_events": ("/events", dates, dates),
        "with credits": ("/events", {**dates, **CREDITED}, {**dates, **CREDITED}),
    }
    print_line(f"Tools of assistants and the API, one connection, {EVENTS:,} events, 50 rows")
    print_line("question", "API a second", "API p99 ms", "MCP a second", "MCP p99 ms", "ratio")
    for name, (path, query, arguments) in pairs.items():
        api = _time_requests(stage.port, _get(f"/public-api/v1{path}", query, key))
        tool = "get_event" if name == "get_event" else "list_events"
        mcp = _time_requests(stage.port, _call(space_id, tool, arguments, token))
        rates = [len(latencies) / sum(latencies) for latencies in (api, mcp)]
        p99 = [f"{Result(latencies=latencies).percentile(0.99):.1f}" for latencies in (api, mcp)]
        print_line(name, f"{rates[0]:.0f}", p99[0], f"{rates[1]:.0f}", p99[1],
                   f"{rates[1] / rates[0]:.2f}")  # fmt: skip


Request = tuple[str, str, bytes | None, dict[str, str]]


def _get(path: str, query: dict[str, object], key: str) -> Request:
    query_string = urlencode(query, doseq=True)
    return "GET", f"{path}?{query_string}" if query_string else path, None, {"Authorization": f"Bearer {key}"}


def _call(space_id: int, tool: str, arguments: dict[str, object], token: str) -> Request:
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {token}", "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25",
    }  # fmt: skip
    return "POST", f"/mcp/{space_id}/public-api", json.dumps(body).encode(), headers


def _time_requests(port: int, request: Request) -> list[float]:
    """Return the seconds of each of many sequential requests, without the first ones."""
    client = http.client.HTTPConnection("127.0.0.1", port)
    latencies: list[float] = []
    for _ in range(REPEATS + 20):
        start = time.perf_counter()
        client.request(*request)
        answer = client.getresponse()
        body = answer.read()
        latencies.append(time.perf_counter() - start)
        assert answer.status == 200, body
        assert b'"isError":true' not in body, body
    client.close()
    return latencies[20:]


def _token(url: str, space_id: int) -> str:
    token = "trk_mcp_" + secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).digest()
    with psycopg.connect(url) as connection:
        (user_id,) = connection.execute(
            "INSERT INTO users (email) VALUES ('bench@example.com') RETURNING id"
        ).fetchone()
        connection.execute(
            "INSERT INTO memberships (space_id, user_id, role) VALUES (%s, %s, 'owner')", (space_id, user_id)
        )
        connection.execute(
            "INSERT INTO mcp_tokens (space_id, user_id, kind, name, token_hash, hint)"
            " VALUES (%s, %s, 'personal', 'bench', %s, %s)",
            (space_id, user_id, digest, token[-4:]),
        )
    return token


def _read_event(url: str, space_id: int) -> tuple[str, str, int]:
    """Return the Space's last ninety days and an event."""
    form = "YYYY-MM-DD HH24:MI:SS"
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT to_char(now() - interval '90 days', %s), to_char(now(), %s),"
            " (SELECT max(id) FROM events WHERE space_id = %s)",
            (form, form, space_id),
        ).fetchone()
