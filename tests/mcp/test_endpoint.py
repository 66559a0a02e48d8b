"""The MCP resource over HTTP: authentication, accepted requests, and JSON in every answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import psycopg.conninfo
import pytest

from headwater.base.settings import Settings
from headwater.http.bodies import MAX_BODY
from tests.conftest import API, BASE_URL, run_application
from tests.mcp.assistants import HEADERS, Assistant, connect
from tests.support.factories import Stage
from tests.support.lock_waits import is_waited_for
from tests.support.waiting import wait_until

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def test_it_works(assistant: Assistant) -> None:
    answer = assistant.post(LIST)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert "get_space" in [tool["name"] for tool in answer.json()["result"]["tools"]]
    assert assistant.call("get_space")["id"] == assistant.space_id


def metadata_header(space_id: int) -> str:
    return (
        f'resource_metadata="{BASE_URL}/.well-known/oauth-protected-resource'
        f'/mcp/{space_id}/public-api", scope="mcp:use"'
    )


def test_without_a_token_the_way_to_one_is_told(assistant: Assistant) -> None:
    answer = assistant.post(PING, Authorization=None)
    assert answer.status_code == 401
    assert answer.json()["message"] == "Missing or invalid access token."
    assert answer.headers["www-authenticate"] == f"Bearer {metadata_header(assistant.space_id)}"


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer", "Bearer trk_mcp_", "Bearer trk_mcp_wrong", "Basic dTpw", "{token}",
        "Token {token}", "Bearer {token}x", "Bearer {token}, Bearer {token}", "Bearer {token} x",
        "Bearer trk_mcp_" + "x" * 10_000, "Bearer \u00fc",
    ],
)  # fmt: skip
def test_what_is_no_valid_token_is_told_so(assistant: Assistant, authorization: str) -> None:
    header = authorization.format(token=assistant.token)
    answer = assistant.send(json=PING, headers={"Authorization": header.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == (
        f'Bearer {metadata_header(assistant.space_id)}, error="invalid_token"'
    )


def test_two_authorization_headers_are_none(assistant: Assistant) -> None:
    good = ("Authorization", f"Bearer {assistant.token}")
    answer = httpx.post(assistant.url, json=PING, headers=[*HEADERS.items(), good, good])
    assert answer.status_code == 401


def test_a_token_is_taken_from_the_header_only(assistant: Assistant) -> None:
    url = f"{assistant.url}?access_token={assistant.token}"
    body = {**PING, "access_token": assistant.token}
    assert assistant.send(url=url, json=body, headers={"Authorization": None}).status_code == 401


def test_the_scheme_may_be_in_any_case(assistant: Assistant) -> None:
    assert assistant.post(PING, Authorization=f"bEaReR {assistant.token}").status_code == 200


def test_another_space_and_no_space_are_refused_alike(
    assistant: Assistant, make_space: Callable[..., int]
) -> None:
    other_answer, none = (
        assistant.send(url=f"{assistant.base_url}/mcp/{number}/public-api", json=PING)
        for number in (make_space(), 999_999_999_999_999)
    )
    assert other_answer.status_code == none.status_code == 403
    assert other_answer.content == none.content
    assert "www-authenticate" not in other_answer.headers
    words = "This token is for another Space."
    assert other_answer.json() == {
        "message": words, "jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": words},
    }  # fmt: skip


@pytest.mark.parametrize("path", ["0", "01", "+1", "x", "1.0", "9" * 19, "9" * 5000, "\u0661"])
def test_what_is_no_space_id_is_no_path(assistant: Assistant, path: str) -> None:
    answer = assistant.send(url=f"{assistant.base_url}/mcp/{path}/public-api", json=PING)
    assert (answer.status_code, answer.json()["message"]) == (404, "Not Found.")


def test_a_trailing_slash_is_another_path(assistant: Assistant) -> None:
    answer = assistant.send(url=assistant.url + "/", json=PING)
    assert (answer.status_code, answer.json()) == (404, {"message": "Not Found."})


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_only_post_is_served(assistant: Assistant, method: str) -> None:
    refusal = assistant.send(method)
    assert (refusal.status_code, refusal.headers["allow"]) == (405, "POST")
    assert refusal.headers["content-type"] == "application/json"
    assert assistant.send(method, headers={"Authorization": None}).status_code == 401


def test_a_key_of_the_api_is_no_token_and_the_other_way_round(assistant: Assistant, stage: Stage) -> None:
    assert assistant.post(PING, Authorization=f"Bearer {stage.key}").status_code == 401
    answer = httpx.get(
        f"{assistant.base_url}{API}/companies", headers={"Authorization": f"Bearer {assistant.token}"}
    )
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("UPDATE mcp_tokens SET revoked_at = now() WHERE space_id = %(space)s", 401),
        ("UPDATE mcp_tokens SET expires_at = now() WHERE space_id = %(space)s", 401),
        ("DELETE FROM memberships WHERE space_id = %(space)s", 401),
        ("UPDATE spaces SET subscription = 'inactive' WHERE id = %(space)s", 403),
    ],
)
def test_access_ends_at_once(
    assistant: Assistant, connection: psycopg.Connection, statement: str, status: int
) -> None:
    assert assistant.post(PING).status_code == 200
    connection.execute(statement, {"space": assistant.space_id})
    assert assistant.post(PING).status_code == status


def test_a_role_is_asked_for_anew(assistant: Assistant, connection: psycopg.Connection) -> None:
    assert assistant.call("get_space")["may_write"] is True
    connection.execute("UPDATE memberships SET role = 'viewer' WHERE user_id = %s", (assistant.user_id,))
    assert assistant.call("get_space")["may_write"] is False
    assert "may only read" in assistant.refusal("create_contact", emails=["ada@example.com"])


@pytest.mark.parametrize("host", ["evil.example", "headwater.test.evil.example", "127.0.0.1:1"])
def test_another_host_is_not_us(assistant: Assistant, host: str) -> None:
    answer = assistant.post(PING, Host=host)
    assert answer.status_code == 421
    assert "message" in answer.json()


@pytest.mark.parametrize("host", ["headwater.test", "Headwater.TEST", "headwater.test:80"])
def test_our_host_however_it_is_written(assistant: Assistant, host: str) -> None:
    assert assistant.post(PING, Host=host).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://evil.example", 403), ("null", 403), ("http://headwater.test.evil.example", 403),
        ("http://localhost.evil.example", 403), ("http://localhost:x", 403),
        ("https://headwater.test", 403), ("http://headwater.test", 200),
        ("http://localhost:6274", 200), ("http://127.0.0.1", 200), ("http://[::1]:99", 200),
    ],
)  # fmt: skip
def test_pages_of_other_origins_may_not_ask(assistant: Assistant, origin: str, status: int) -> None:
    answer = assistant.post(PING, Origin=origin)
    assert answer.status_code == status, answer.text
    answer.json()


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200), ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200), ("text/plain", 415), ("application/jsonp", 415), (None, 415),
    ],
)  # fmt: skip
def test_bodies_are_json(assistant: Assistant, content_type: str | None, status: int) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    answer = assistant.send(content=body, headers={"Content-Type": content_type})
    assert answer.status_code == status
    answer.json()


def test_compressed_bodies_are_not_taken(assistant: Assistant) -> None:
    assert assistant.post(PING, Content_Encoding="gzip").status_code == 415


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/event-stream", "x/y"])
def test_answers_are_json_whatever_is_asked_for(assistant: Assistant, accept: str | None) -> None:
    answer = assistant.post(PING, Accept=accept)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700), (b"{", -32700), (b"\xff", -32700), (b'{"a":NaN}', -32700),
        (b"[" * 100_000, -32700), (b"[]", -32600), (b"1", -32600), (b'"x"', -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\\u0000"}}', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\\ud800"}}', -32700),
    ],
)  # fmt: skip
def test_what_is_no_message_is_told_so(assistant: Assistant, body: bytes, code: int) -> None:
    for version in ("2025-11-25", "2026-07-28", None):
        headers = {"MCP-Protocol-Version": version, "Content-Type": "application/json"}
        answer = assistant.send(content=body, headers=headers)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == code
        assert answer.json()["jsonrpc"] == "2.0"


def test_a_body_has_a_greatest_size(assistant: Assistant) -> None:
    for size, status in ((MAX_BODY, 200), (MAX_BODY + 1, 413)):
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'.ljust(size)
        answer = assistant.send(content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == status
        answer.json()


def test_every_answer_tells_of_the_minute(assistant: Assistant, viewer: Assistant) -> None:
    first, second = assistant.post(PING), viewer.post(PING)
    assert first.headers["x-ratelimit-limit"] == second.headers["x-ratelimit-limit"]
    remaining_calls = [int(answer.headers["x-ratelimit-remaining"]) for answer in (first, second)]
    resets = [answer.headers["x-ratelimit-reset"] for answer in (first, second)]
    assert remaining_calls[0] - remaining_calls[1] == 1 or resets[0] != resets[1]


def test_beyond_the_minute_of_the_space(
    database_url: str, tmp_path: Path, connection: psycopg.Connection, space_id: int
) -> None:
    settings = Settings(base_url=BASE_URL, data_dir=tmp_path, rate_limit_factor=0.01)
    application = run_application(settings, database_url)
    try:
        with connect(application, connection, space_id) as assistant:
            answer = assistant.post(PING)
    finally:
        application.stop()
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["x-ratelimit-limit"] == answer.headers["x-ratelimit-remaining"] == "0"
    assert "rate limit" in answer.json()["message"]


def test_without_a_database_it_says_so(database_url: str, tmp_path: Path) -> None:
    away = psycopg.conninfo.make_conninfo(database_url, host="/nowhere")
    settings = Settings(base_url=BASE_URL, data_dir=tmp_path, secret_key="x" * 32)
    application = run_application(settings, away)
    try:
        with Assistant(application.base_url, 1, 1, "trk_mcp_" + "x" * 43) as assistant:
            answer = assistant.post(PING)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "2"
        assert "unavailable" in answer.json()["message"]
    finally:
        application.stop()


def test_what_has_begun_is_finished_on_the_way_out(database_url: str, tmp_path: Path, stage: Stage) -> None:
    application = run_application(Settings(base_url=BASE_URL, data_dir=tmp_path), database_url)
    event_id = stage.event(stage.contact())
    with (
        psycopg.connect(database_url) as lock_connection,
        ThreadPoolExecutor() as pool,
        connect(application, stage.connection, stage.space_id) as assistant,
    ):
        lock_connection.execute("SELECT FROM events WHERE space_id = %s FOR UPDATE", (stage.space_id,))
        call = pool.submit(assistant.call, "update_event_amount", event_id=event_id, amount=7)
        wait_until(lambda: is_waited_for(stage.connection, lock_connection), description="the call to wait")
        stopped = pool.submit(application.stop)
        lock_connection.rollback()
        assert call.result()["message"] == "Event updated."
        stopped.result()
