"""Requests of both Python clients: what they send, how long they try, and what they refuse to send."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from headwater_client import ApiError, AsyncClient, Client, ConnectionFailedError, __version__
from headwater_client.api import Api, TrackPayload
from headwater_client.async_api import AsyncApi

from tests.sdks.scripted import ACCEPTED, refuse_then, scripted_service, status
from tests.support.certificates import certify

EVENT: TrackPayload = {"event_name": "purchase", "email": "anna@example.com"}
Call = Callable[..., Any]
"""Opens a client with options, calls an operation, and closes it."""


def call_sync(name: str, *arguments: Any, url: str, key: str = "trk_sk_x", **options: Any) -> Any:
    with Client(url, key, **{"backoff": 0.0, **options}) as client:
        return getattr(client, name)(*arguments)


def call_async(name: str, *arguments: Any, url: str, key: str = "trk_sk_x", **options: Any) -> Any:
    async def run() -> Any:
        async with AsyncClient(url, key, **{"backoff": 0.0, **options}) as client:
            return await getattr(client, name)(*arguments)

    return asyncio.run(run())


@pytest.fixture(params=[call_sync, call_async], ids=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Call:
    return request.param


@pytest.fixture
def hanging_url() -> Iterator[str]:
    """The address of a service that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def unused_url() -> str:
    """An address without a service."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_batch_that_is_too_large_is_halved(call: Call) -> None:
    queued = (202, {}, b'{"results": [{"index": 0, "status": "queued"}]}')
    with scripted_service(refuse_then(status(413), queued)) as service:
        results = call("track_many", [EVENT, EVENT], url=service.url)
    assert [result["index"] for result in results] == [0, 1]
    keys = [[event["idempotency_key"] for event in json.loads(r.body)["events"]] for r in service.requests]
    assert keys[0] == keys[1] + keys[2]


def test_both_clients_have_the_same_operations() -> None:
    assert {name for name in vars(Api) if name[0] != "_"} == {
        name for name in vars(AsyncApi) if name[0] != "_"
    }


def test_a_request_names_the_client(call: Call) -> None:
    with scripted_service(refuse_then(ACCEPTED)) as service:
        call("track", EVENT, url=service.url + "/behind/")
    (request,) = service.requests
    assert request.target == "/behind/public-api/v1/events/track"
    assert request.headers["User-Agent"] == f"headwater-client-python/{__version__}"
    assert request.headers["Authorization"] == "Bearer trk_sk_x"


def test_python_values_are_sent(call: Call) -> None:
    event: TrackPayload = {
        **EVENT,
        "amount": Decimal(100) / 3,
        "event_time": datetime(2026, 11, 1, 12, tzinfo=UTC),
        "profile_field_16": Decimal("0.12345678901234567890"),
    }
    extra_fields: Any = {"date": date(2026, 11, 1), "id": UUID(int=1)}
    with scripted_service(refuse_then(ACCEPTED)) as service:
        call("track", {**event, **extra_fields}, url=service.url)
    body = json.loads(service.requests[0].body, parse_float=Decimal)
    assert body["amount"] == Decimal(100) / 3
    assert body["event_time"] == "2026-11-01T12:00:00+00:00"
    assert body["profile_field_16"] == Decimal("0.12345678901234567890")
    assert (body["date"], body["id"]) == ("2026-11-01", str(UUID(int=1)))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("trk_sk_x\n", "at its end: '\\\\n'"),
        ("trk sk", "at position 3"),
        ("trk_sk_…", "at its end"),
        ("", "empty"),
    ],
)
def test_a_key_that_cannot_be_sent_is_refused(key: str, message: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match=f"^key .*{message}") as error:
            kind("https://headwater.example.com", key)
        assert "trk" not in str(error.value)


@pytest.mark.parametrize(
    "address",
    [
        "headwater.example.com",
        "localhost:8080",
        "ftp://x",
        "https://",
        "https://u:p@x",
        "https://x?a",
        "https://x y",
        "https://x/public-api/v1",
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match=r"^base_url must"):
            kind(address, "trk_sk_x")


@pytest.mark.parametrize("options", [{"timeout": 0}, {"retries": -1}])
def test_limits_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        Client("https://x", "trk_sk_x", **options)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_an_empty_id_is_refused(call: Call, unused_url: str, name: str) -> None:
    with pytest.raises(ValueError, match="id or name"):
        call("delete_contact_pii", name, url=unused_url)


def test_two_retries_and_no_more(call: Call) -> None:
    with scripted_service(refuse_then(status(503))) as service:
        with pytest.raises(ApiError, match="503"):
            call("track", EVENT, url=service.url)
        assert len(service.requests) == 3
        with pytest.raises(ApiError):
            call("create_contact", {"emails": ["b@example.com"]}, url=service.url)
        assert len(service.requests) == 4
    with scripted_service(refuse_then(status(429), ACCEPTED)) as service:
        call("create_contact", {"emails": ["b@example.com"]}, url=service.url)
        assert len(service.requests) == 2


def test_a_requested_pause_is_kept_or_the_error_raised(call: Call) -> None:
    with scripted_service(refuse_then(status(429, retry_after="0.2"), ACCEPTED)) as service:
        start = time.monotonic()
        call("track", EVENT, url=service.url)
        assert time.monotonic() - start >= 0.2
    with scripted_service(refuse_then(status(429, retry_after="60"))) as service:
        with pytest.raises(ApiError) as error:
            call("track", EVENT, url=service.url)
        assert error.value.retry_after == 60
        assert len(service.requests) == 1


def test_a_hanging_service_fails_in_time(call: Call, hanging_url: str) -> None:
    start = time.monotonic()
    with pytest.raises(ConnectionFailedError, match="POST /events/track: "):
        call("track", EVENT, url=hanging_url, timeout=0.3)
    assert 0.25 < time.monotonic() - start < 3


def test_a_service_that_is_down_fails_after_two_retries(call: Call, unused_url: str) -> None:
    start = time.monotonic()
    with pytest.raises(ConnectionFailedError, match="ConnectError"):
        call("track", EVENT, url=unused_url, backoff=0.1)
    assert 0.1 < time.monotonic() - start < 3


def test_a_response_that_trickles_is_too_late(call: Call) -> None:
    """A byte arrives before each time limit, but the entire response doesn't."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle() -> None:
            peer, _ = listener.accept()
            with peer, suppress(OSError):
                peer.recv(65536)
                peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n")
                while not is_over.wait(0.05):
                    peer.sendall(b" ")

        is_over = threading.Event()
        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with pytest.raises(ConnectionFailedError):
                call("list_destinations", url=url, timeout=0.4, retries=0)
        finally:
            is_over.set()
            thread.join()


def test_one_call_may_have_other_limits(hanging_url: str) -> None:
    with Client(hanging_url, "trk_sk_x", timeout=60) as client:
        start = time.monotonic()
        with pytest.raises(ConnectionFailedError):
            client.with_options(timeout=0.2).list_destinations()
        assert time.monotonic() - start < 3


def test_a_redirect_is_not_followed(call: Call) -> None:
    with (
        scripted_service(refuse_then((301, {"Location": "https://elsewhere/"}, b"{}"))) as service,
        pytest.raises(ConnectionFailedError, match=r"redirected to https://elsewhere/: check"),
    ):
        call("track", EVENT, url=service.url)


def test_a_proxy_is_used(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """By argument and from the environment."""
    with scripted_service(refuse_then(ACCEPTED)) as proxy:
        call("track", EVENT, url="http://headwater.invalid", proxy=proxy.url)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        call("track", EVENT, url="http://headwater.invalid")
    targets = [request.target for request in proxy.requests]
    assert targets == ["http://headwater.invalid/public-api/v1/events/track"] * 2


def test_a_certificate_is_verified(call: Call, tmp_path: Path) -> None:
    """By the system's authorities, or by a context."""
    certificate = certify(tmp_path, "localhost")
    with scripted_service(refuse_then(ACCEPTED), certificate) as service:
        with pytest.raises(ConnectionFailedError, match=r"(?i)certificate"):
            call("track", EVENT, url=service.url)
        context = ssl.create_default_context(cafile=str(certificate))
        assert call("track", EVENT, url=service.url, ssl_context=context)["status"] == 202


def test_a_file_is_sent_whole_again(call: Call, tmp_path: Path) -> None:
    """It is sent from its current position, after every lost response. A text file is refused."""
    path = tmp_path / "contacts.csv"
    path.write_bytes(b"skipped" + b"a,b\n" * 50_000)
    queued_reply = (202, {}, b'{"import_id": 1}')
    with scripted_service(refuse_then(status(503), queued_reply)) as service, path.open("rb") as file:
        file.seek(7)
        assert call("create_contact_import", file, url=service.url) == {"import_id": 1}
        assert call("create_contact_import", io.BytesIO(b"a,b"), url=service.url) == {"import_id": 1}
        assert call("create_contact_import", b"a,b", url=service.url) == {"import_id": 1}
        with path.open() as text, pytest.raises(TypeError, match="binary mode"):
            call("create_contact_import", text, url=service.url)
    first, second, *small = [request.body for request in service.requests]
    assert first == second == b"a,b\n" * 50_000
    assert small == [b"a,b", b"a,b"]


def test_the_log_has_no_personal_data(call: Call, unused_url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with scripted_service(
        refuse_then(status(503), (200, {}, b'{"data": [], "next_cursor": null}'))
    ) as service:
        call("find_contact_by_email", "anna@example.com", url=service.url)
    with pytest.raises(ConnectionFailedError) as error:
        call("get_contact_by_email", "anna@example.com", url=unused_url)
    assert str(error.value).startswith("GET /contacts/by-email/…: ")
    records = [record for record in caplog.records if record.name == "headwater_client"]
    assert records[-1].getMessage() == "GET /contacts/by-email/… failed (ConnectError)"
    assert [record for record in records if record.levelno >= logging.WARNING] == []
    assert "status 503; next attempt" in records[0].getMessage()
    text = caplog.text
    assert "anna" not in text
    assert "trk_sk_x" not in text


def test_two_event_loops_may_share_an_async_client() -> None:
    with scripted_service(refuse_then(ACCEPTED)) as service:
        client = AsyncClient(service.url, "trk_sk_x")

        async def send() -> None:
            await asyncio.gather(*(client.track(EVENT) for _ in range(5)))
            await client.close()

        asyncio.run(send())
        asyncio.run(send())
        assert len(service.requests) == 10
