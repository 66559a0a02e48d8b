"""Events whose time has not come yet are sent when it has."""

from __future__ import annotations

import pytest

from headwater.forwarding.delivery_log import wait_until_sent
from tests.forwarding.fake_platform import FakePlatform
from tests.forwarding.staging import Stage, ids_sent


def test_it_works(stage: Stage, platform: FakePlatform) -> None:
    """It is queued and not tried, does not hold up the others, and is not what a wait is for."""
    destination = stage.destination()
    early = stage.delivery(destination, stage.event(event_time=stage.moment(7200)))
    now = stage.delivery(destination)
    stage.run()
    assert [len(ids) for ids in ids_sent(platform.bodies)] == [1]
    assert stage.of(now, "status") == "delivered"
    assert stage.of(early, "status", "attempts") == ("queued", 0)
    assert stage.of(early, "error", "finished_at") == (None, None)
    assert stage.of(early, "due_at").timestamp() == pytest.approx(stage.clock.at + 7200, abs=0.01)
    assert wait_until_sent(stage.connection, stage.space_id, timeout=0)
    stage.advance(7199)
    stage.run()
    assert len(platform.requests) == 1
    stage.advance(2)
    stage.run()
    assert stage.of(early, "status", "attempts") == ("delivered", 1)
