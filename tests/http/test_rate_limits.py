"""Rate limits: per Space and bucket, exact across processes, and shown in every answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import httpx
import psycopg
import pytest

from headwater.api.operations import RATE_LIMITS
from headwater.base.settings import Settings
from headwater.database.pool import connect
from headwater.http.rate_limits import QuotaRequest, give_back, take
from tests.conftest import Running, client_for, run_application

EVENT = {"event_name": "purchase", "email": "ada@example.com"}


@pytest.fixture(scope="module")
def two_servers(database_url: str) -> Iterator[list[Running]]:
    """Two servers with the default limits, like two processes of the application."""
    servers = [run_application(Settings(), database_url) for _ in range(2)]
    yield servers
    for server in servers:
        server.stop()


def set_limit(connection: psycopg.Connection, space_id: int, bucket: str, limit: int) -> None:
    connection.execute("INSERT INTO space_limits VALUES (%s, %s, %s)", (space_id, bucket, limit))


def test_it_works(two_servers: list[Running], space_id: int, make_key: Callable[..., str]) -> None:
    with client_for(two_servers[0], make_key(space_id)) as client:
        response = client.post("/events/track", json=EVENT)
        assert response.headers["x-ratelimit-limit"] == "1000"
        assert response.headers["x-ratelimit-remaining"] == "999"
        assert int(response.headers["x-ratelimit-reset"]) % 60 == 0


def test_the_limit_is_exact_over_two_processes(
    two_servers: list[Running], connection: psycopg.Connection, space_id: int,
    make_key: Callable[..., str],
) -> None:  # fmt: skip
    set_limit(connection, space_id, "track", 40)
    clients = [client_for(server, make_key(space_id)) for server in two_servers]
    with clients[0], clients[1]:
        answers = [clients[n % 2].post("/events/track", json=EVENT) for n in range(60)]
    minutes = {answer.headers["x-ratelimit-reset"] for answer in answers}
    statuses = [answer.status_code for answer in answers]
    if len(minutes) == 1:
        assert statuses == [202] * 40 + [429] * 20
        last = answers[-1]
        assert last.headers["x-ratelimit-remaining"] == "0"
        assert 1 <= int(last.headers["retry-after"]) <= 60
        assert last.json()["message"]
    else:  # a minute ended in between, so the count started again
        assert max(statuses.count(202), 40) <= 80


def test_spaces_and_buckets_have_their_own(
    two_servers: list[Running], connection: psycopg.Connection, make_space: Callable[..., int],
    make_key: Callable[..., str],
) -> None:  # fmt: skip
    limited_space, other_space = make_space(), make_space()
    set_limit(connection, limited_space, "track", 0)
    with client_for(two_servers[0], make_key(limited_space)) as client:
        assert client.post("/events/track", json=EVENT).status_code == 429
        assert client.get("/receipts/1").status_code == 404
    with client_for(two_servers[0], make_key(other_space)) as client:
        assert client.post("/events/track", json=EVENT).status_code == 202


def test_spaces_that_share_a_commit_have_their_own(
    two_servers: list[Running], connection: psycopg.Connection, make_space: Callable[..., int],
    make_key: Callable[..., str],
) -> None:  # fmt: skip
    """Requests that arrive at once are counted by one statement."""
    limited_space, other_space = make_space(), make_space()
    set_limit(connection, limited_space, "track", 5)

    async def send(space_id: int) -> list[httpx.Response]:
        headers = {"Authorization": f"Bearer {make_key(space_id)}"}
        async with httpx.AsyncClient(base_url=two_servers[0].base_url, headers=headers) as client:
            return await asyncio.gather(
                *(client.post("/public-api/v1/events/track", json=EVENT) for _ in range(10))
            )

    async def send_both() -> list[list[httpx.Response]]:
        return await asyncio.gather(send(limited_space), send(other_space))

    limited_answers, other_answers = asyncio.run(send_both())
    assert [answer.status_code for answer in other_answers] == [202] * 10
    minutes = {answer.headers["x-ratelimit-reset"] for answer in (*limited_answers, *other_answers)}
    if len(minutes) == 1:
        assert sorted(answer.status_code for answer in limited_answers) == [202] * 5 + [429] * 5
        assert {answer.headers["x-ratelimit-limit"] for answer in limited_answers} == {"5"}
        assert min(int(answer.headers["x-ratelimit-remaining"]) for answer in other_answers) == 990
    for space_id, answers in ((limited_space, limited_answers), (other_space, other_answers)):
        accepted = [answer.headers["x-receipt-id"] for answer in answers if answer.status_code == 202]
        rows = connection.execute("SELECT count(*) FROM inbox WHERE space_id = %s", (space_id,)).fetchone()
        assert rows == (len(set(accepted)),)


def test_a_batch_is_taken_whole_or_not_at_all(
    two_servers: list[Running], connection: psycopg.Connection, space_id: int,
    make_key: Callable[..., str],
) -> None:  # fmt: skip
    set_limit(connection, space_id, "track", 5)
    with client_for(two_servers[0], make_key(space_id)) as client:
        assert client.post("/events/batch", json={"events": [EVENT] * 6}).status_code == 429
        assert client.post("/events/batch", json={"events": [EVENT] * 5}).status_code == 202


def test_invalid_requests_count(
    two_servers: list[Running], space_id: int, make_key: Callable[..., str]
) -> None:
    with client_for(two_servers[0], make_key(space_id)) as client:
        response = client.post("/events/track", json={})
        assert response.status_code == 422
        assert response.headers["x-ratelimit-remaining"] == "999"


@pytest.mark.parametrize("path", ["/events/track", "/events/batch", "/receipts/1", "/events"])
def test_every_refusal_tells_the_quota(
    two_servers: list[Running], connection: psycopg.Connection, space_id: int,
    make_key: Callable[..., str], path: str,
) -> None:  # fmt: skip
    for bucket in RATE_LIMITS:
        set_limit(connection, space_id, bucket, 0)
    with client_for(two_servers[0], make_key(space_id)) as client:
        method = "POST" if path in ("/events/track", "/events/batch") else "GET"
        response = client.request(method, path, content="not json")
        assert response.status_code == 429
        assert response.headers["x-ratelimit-limit"] == "0"
        assert response.headers["x-ratelimit-remaining"] == "0"
        assert response.headers["retry-after"]


def test_every_bucket_has_its_documented_limit() -> None:
    per_minute = {bucket: limit.per_minute for bucket, limit in RATE_LIMITS.items()}
    assert per_minute["track"] == 1000
    assert per_minute["list_events"] == per_minute["get_event"] == 30
    assert per_minute["update_event"] == per_minute["delete_event"] == 60
    assert per_minute["receipts"] == 120


def test_taking_is_cut_to_what_is_left(database_url: str, space_id: int) -> None:
    async def scenario() -> list[int]:
        async with await connect(database_url) as connection:
            grants: list[int] = []
            for cost in (4, 4, 4):
                quotas = await take(connection, "track", [QuotaRequest(space_id, cost, 10)])
                grants.append(quotas[space_id].granted)
            await give_back(connection, "track", space_id, 1)
            quotas = await take(connection, "track", [QuotaRequest(space_id, 5, 10)])
            return [*grants, quotas[space_id].granted]

    results = asyncio.run(scenario())
    assert results in ([4, 4, 2, 1], [4, 4, 4, 5], [4, 4, 2, 5])  # the last two in a new minute


def test_an_old_minute_does_not_count(
    database_url: str, connection: psycopg.Connection, space_id: int
) -> None:
    async def spend() -> int:
        async with await connect(database_url) as lane:
            return (await take(lane, "track", [QuotaRequest(space_id, 10, 10)]))[space_id].granted

    assert asyncio.run(spend()) == 10
    connection.execute(
        "UPDATE rate_limits SET window_start = window_start - interval '1 minute' WHERE space_id = %s",
        (space_id,),
    )
    assert asyncio.run(spend()) == 10


@pytest.mark.parametrize(
    ("operation", "limit"), [(("GET", "/companies"), "15"), (("POST", "/events/track"), "1000")]
)
def test_who_may_not_is_told_the_quota_too(
    two_servers: list[Running], connection: psycopg.Connection, space_id: int,
    make_key: Callable[..., str], operation: tuple[str, str], limit: str,
) -> None:  # fmt: skip
    def check_refusal(key: str) -> None:
        with client_for(two_servers[0], key) as client:
            response = client.request(*operation)
        assert response.status_code == 403
        assert response.headers["x-ratelimit-limit"] == limit
        assert response.headers["x-ratelimit-remaining"] == limit  # it isn't counted
        assert int(response.headers["x-ratelimit-reset"]) % 60 == 0

    for _ in range(2):
        check_refusal(make_key(space_id, ["contacts:read"]))
    connection.execute("UPDATE spaces SET subscription = 'inactive' WHERE id = %s", (space_id,))
    check_refusal(make_key(space_id))


def test_a_body_that_is_too_large_is_told_the_quota(
    server: Running, space_id: int, make_key: Callable[..., str]
) -> None:
    with client_for(server, make_key(space_id)) as client:
        response = client.post("/events/track", content=b" " * 300_000)
    assert response.status_code == 413
    assert "x-ratelimit-remaining" in response.headers
