"""Events with a future time are sent when that time comes."""

from __future__ import annotations

import pytest

from headwater.forwarding.deliveries.delivery_log import wait_until_sent
from tests.deliveries.staging import Sending, ids_sent
from tests.support.fake_platform import FakePlatform


def test_it_works(sending: Sending, platform: FakePlatform) -> None:
    """The delivery stays queued without an attempt and doesn't delay others. `wait_until_sent` ignores it."""
    destination = sending.destination()
    early = sending.delivery(destination, sending.event(event_time=sending.moment(7200)))
    now = sending.delivery(destination)
    sending.run()
    assert [len(ids) for ids in ids_sent(platform.bodies)] == [1]
    assert sending.read_delivery(now, "status") == "delivered"
    assert sending.read_delivery(early, "status", "attempts") == ("queued", 0)
    assert sending.read_delivery(early, "error", "finished_at") == (None, None)
    assert sending.read_delivery(early, "due_at").timestamp() == pytest.approx(
        sending.clock.time + 7200, abs=0.01
    )
    assert wait_until_sent(sending.connection, sending.space_id, timeout=0)
    sending.advance(7199)
    sending.run()
    assert len(platform.requests) == 1
    sending.advance(2)
    sending.run()
    assert sending.read_delivery(early, "status", "attempts") == ("delivered", 1)
