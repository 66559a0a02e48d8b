"""The Python client's buffer: nothing is lost or duplicated, and it never exceeds its limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from headwater_client import BufferFileError, BufferFullError, Client, EventBuffer, Rejection
from headwater_client.api import TrackPayload

from tests.conftest import Running
from tests.sdks.scripted import refuse_then, scripted_service, status
from tests.sdks.wire import STRANGERS, FailingNetwork, failing_network
from tests.support.factories import Stage
from tests.support.pipeline import Stage as Queue
from tests.support.waiting import PATIENCE_SECONDS, wait_until


def event(number: int) -> TrackPayload:
    return {"event_name": "purchase", "email": "anna@example.com", "order_id": f"order-{number}"}


def stored_orders(stage: Stage) -> list[str]:
    """Process all waiting rows, and return the Space's orders."""
    Queue(stage.connection, stage.space_id).process()
    rows = stage.connection.execute(
        "SELECT order_id FROM events WHERE space_id = %s", (stage.space_id,)
    ).fetchall()
    return sorted(order for (order,) in rows)


@pytest.fixture
def network(server: Running) -> Iterator[FailingNetwork]:
    with failing_network(server.base_url) as network:
        yield network


@pytest.fixture
def connect(
    network: FailingNetwork, stage: Stage, make_key: Callable[..., str], open_client: Callable[..., Client]
) -> Callable[[], Client]:
    """A function that opens clients on the failing network without waiting times."""
    key = make_key(stage.space_id)
    return lambda: open_client(network.url, key, backoff=0)


def test_it_works(
    connect: Callable[[], Client], network: FailingNetwork, stage: Stage, tmp_path: Path
) -> None:
    """Every second connection is cut, and the process ends while the network is down."""
    file = tmp_path / "events.db"
    network.is_down = True
    first = EventBuffer(connect(), file=file, batch=20, seconds=0.01, retry_seconds=0.01)
    for number in range(100):
        first.add(event(number))
    assert not first.close(timeout=0.05)
    first._thread.join(PATIENCE_SECONDS)
    network.is_down = False
    with EventBuffer(connect(), file=file, batch=20, seconds=0.01, retry_seconds=0.01) as second:
        assert len(second) == 100
        for number in range(100, 150):
            second.add(event(number))
        assert second.flush(PATIENCE_SECONDS)
    assert {"before", "after", "none"} <= set(network.done)
    assert stored_orders(stage) == sorted(f"order-{number}" for number in range(150))


def test_it_is_bounded(connect: Callable[[], Client], network: FailingNetwork) -> None:
    network.is_down = True
    buffer = EventBuffer(connect(), most=3, seconds=0.01, retry_seconds=0.01)
    for number in range(3):
        buffer.add(event(number))
    with pytest.raises(BufferFullError):
        buffer.add(event(3))
    assert len(buffer) == 3
    wait_until(lambda: buffer.failure)
    assert not buffer.close(timeout=0.05)
    with pytest.raises(BufferFullError):
        buffer.add(event(4))
    assert len(buffer) == 3
    assert not buffer.flush()


def test_what_is_refused_is_told_and_does_not_stand_in_the_way(
    connect: Callable[[], Client], stage: Stage
) -> None:
    rejections: list[Rejection] = []
    wrong_event: Any = {**event(1), "amount": "x"}
    with EventBuffer(connect(), seconds=0.01, on_rejection=rejections.append) as buffer:
        for payload in (event(0), wrong_event, event(2)):
            buffer.add(payload)
        assert buffer.flush(PATIENCE_SECONDS)
    assert [list(rejection.errors) for rejection in rejections] == [["amount"]]
    assert stored_orders(stage) == ["order-0", "order-2"]


def test_a_wrong_key_loses_nothing(network: FailingNetwork, open_client: Callable[..., Client]) -> None:
    buffer = EventBuffer(
        open_client(network.url, "trk_sk_wrong", backoff=0), seconds=0.01, retry_seconds=0.01
    )
    buffer.add(event(0))
    wait_until(lambda: buffer.failure)
    assert len(buffer) == 1
    buffer.close(timeout=0.05)


@pytest.mark.parametrize("answer", STRANGERS.values(), ids=STRANGERS)
def test_a_stranger_s_answer_loses_nothing(
    answer: bytes,
    server: Running,
    stage: Stage,
    make_key: Callable[..., str],
    open_client: Callable[..., Client],
) -> None:
    rejections: list[Rejection] = []
    with failing_network(server.base_url, prefix=answer) as network:
        client = open_client(network.url, make_key(stage.space_id), backoff=0)
        options: dict[str, Any] = {"seconds": 0.01, "retry_seconds": 0.01}
        with EventBuffer(client, **options, on_rejection=rejections.append) as buffer:
            for number in range(3):
                buffer.add(event(number))
            assert buffer.flush(PATIENCE_SECONDS)
    assert rejections == []
    assert stored_orders(stage) == ["order-0", "order-1", "order-2"]


def test_a_file_is_shared(connect: Callable[[], Client], stage: Stage, tmp_path: Path) -> None:
    """One buffer at a time sends the events that both have added."""
    file = tmp_path / "events.db"
    with EventBuffer(connect(), file=file, seconds=60) as first, EventBuffer(connect(), file=file) as second:
        first.add(event(0))
        second.add(event(1))
        assert len(first) == len(second) == 2
        readable = [path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o077]
        assert readable == []
        assert first.flush(PATIENCE_SECONDS)
        assert len(second) == 0
    assert stored_orders(stage) == ["order-0", "order-1"]


def test_closing_tries_until_the_service_is_back(open_client: Callable[..., Client]) -> None:
    queued_reply = (202, {}, b'{"results": [{"index": 0, "status": "queued"}]}')
    unavailable = status(503)
    with scripted_service(refuse_then(unavailable, unavailable, unavailable, queued_reply)) as service:
        buffer = EventBuffer(open_client(service.url, "trk_sk_x", retries=0), retry_seconds=600)
        buffer.add(event(0))
        assert buffer.close(PATIENCE_SECONDS)
        assert len(service.requests) == 4


def test_an_unusable_file_is_refused(connect: Callable[[], Client], tmp_path: Path) -> None:
    file = tmp_path / "events.db"
    file.write_text("no database " * 100)
    with pytest.raises(BufferFileError, match=r"events\.db"):
        EventBuffer(connect(), file=file)
    with pytest.raises(BufferFileError):
        EventBuffer(connect(), file=tmp_path / "missing" / "events.db")


def test_a_callback_that_raises_stops_nothing(
    connect: Callable[[], Client], stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(rejection: Rejection) -> None:
        raise RuntimeError(rejection.event.get("email"))

    wrong_event: Any = {**event(1), "amount": "x"}
    with EventBuffer(connect(), seconds=0.01, on_rejection=refuse) as buffer:
        buffer.add(wrong_event)
        assert buffer.flush(PATIENCE_SECONDS)
        buffer.add(event(2))
        assert buffer.flush(PATIENCE_SECONDS)
    assert stored_orders(stage) == ["order-2"]
    assert "on_rejection raised RuntimeError" in caplog.text
    assert "anna@example.com" not in caplog.text


def test_an_event_without_a_json_form_is_refused_when_added(connect: Callable[[], Client]) -> None:
    circular: Any = event(0)
    circular["self"] = circular
    wrong_events: list[Any] = [circular, {**event(0), "url": object()}, {**event(0), "amount": float("nan")},
             {**event(0), "amount": Decimal("NaN")},
             {**event(0), "event_time": datetime(2026, 1, 1)}]  # fmt: skip  # noqa: DTZ001
    with EventBuffer(connect()) as buffer:
        for payload in wrong_events:
            with pytest.raises((ValueError, TypeError)):
                buffer.add(payload)
            with pytest.raises((ValueError, TypeError)):
                connect().track(payload)
        assert len(buffer) == 0
