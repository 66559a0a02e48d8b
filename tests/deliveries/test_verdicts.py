"""Google's verdicts on accepted events, over real HTTP to a fake Google."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import psycopg
import pytest

from headwater.database.jobs.lease import LeaseLostError
from headwater.forwarding.deliveries import delivery_log, verdicts
from headwater.forwarding.deliveries.delivery_log import ReplayRequest
from headwater.forwarding.platforms.google import Google
from tests.deliveries.staging import Sending
from tests.deliveries.test_taken_back import change
from tests.support.destinations import change_platform
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest, Step

GOOGLE = Google()
ORDERS, LEADS = "111", "222"
SETTINGS = '{"customer_id": "1234567890"}'
NAMES = f'{{"purchase": "{ORDERS}", "lead_generated": "{LEADS}"}}'
HALF_HOUR, HOUR, DAY = 1800, 3600, 86_400
PREFIX = "PROCESSING_ERROR_REASON_"


def group(status: str, *errors: dict[str, Any], action: str = ORDERS) -> dict[str, Any]:
    return {
        "destination": {"productDestinationId": action},
        "requestStatus": status,
        "errorInfo": {"errorCounts": list(errors)},
    }


def error(reason: str, *positions: int, prefix: str = PREFIX) -> dict[str, Any]:
    indices = {"recordIndices": list(positions)} if positions else {}
    return {"reason": prefix + reason, "recordCount": str(len(positions) or 1), **indices}


@dataclass
class Verdicts:
    """Accept every request under the next id (r1, r2, …) and return the scripted verdicts in turn. The last
    one repeats.
    """

    answers: list[Any] = field(default_factory=lambda: [[group("SUCCESS")]])
    accepted: int = 0
    requested_ids: list[str] = field(default_factory=list[str])
    meanwhile: Callable[[], object] = lambda: None

    def __call__(self, request: ReceivedRequest) -> Step:
        if request.method == "POST":
            self.accepted += 1
            return Answer(body={"requestId": f"r{self.accepted}"})
        target = urlsplit(request.target)
        assert target.path == "/v1/requestStatus:retrieve"
        self.requested_ids.append(parse_qs(target.query)["requestId"][0])
        self.meanwhile()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return Answer(body={"requestStatusPerDestination": answer}) if isinstance(answer, list) else answer


@pytest.fixture
def google(sending: Sending) -> Iterator[Verdicts]:
    sending.platform = change_platform(GOOGLE, token_request=lambda *_: None)
    google = Verdicts()
    with FakePlatform(default=google) as platform:
        sending.urls["google"] = platform.url
        yield google


def send(sending: Sending, *names: str, **columns: Any) -> list[int]:
    """Send one request and return its deliveries in order."""
    destination = sending.destination(settings=SETTINGS, event_names=NAMES)
    deliveries = [sending.delivery(destination, sending.event(event_name=name, **columns)) for name in names]
    sending.run()
    return deliveries


def later(sending: Sending, seconds: float = HALF_HOUR + 1) -> None:
    sending.advance(seconds)
    sending.run()


def open_requests(sending: Sending) -> list[tuple[Any, ...]]:
    return sending.connection.execute(
        "SELECT request_id, asked, extract(epoch FROM due_at)::float8 - %s FROM verdict_requests"
        " WHERE space_id = %s ORDER BY request_id",
        (sending.clock.time, sending.space_id),
    ).fetchall()


def results(sending: Sending, deliveries: list[int]) -> list[tuple[str, str | None]]:
    return [sending.read_delivery(delivery, "status", "reason") for delivery in deliveries]


def test_it_works(sending: Sending, google: Verdicts) -> None:
    """One event is refused and the others are counted. Verdicts are not requested early, or twice."""
    google.answers = [[group("PARTIAL_SUCCESS", error("CLICK_NOT_FOUND", 1))]]
    deliveries = send(sending, "purchase", "purchase", "purchase")
    accepted_at = sending.read_delivery(deliveries[0], "finished_at")
    assert results(sending, deliveries) == [("delivered", None)] * 3
    assert sending.read_delivery(deliveries[1], "platform_request_id") == "r1"
    ((request_id, poll_count, due),) = open_requests(sending)
    assert (request_id, poll_count, due) == ("r1", 0, pytest.approx(HALF_HOUR, abs=1))
    later(sending, HALF_HOUR - 1)
    assert google.requested_ids == []
    later(sending, 2)
    assert results(sending, deliveries) == [
        ("counted", None), ("refused", "click_not_found"), ("counted", None),
    ]  # fmt: skip
    assert sending.read_delivery(deliveries[0], "finished_at") == accepted_at
    assert sending.read_delivery(deliveries[1], "finished_at").timestamp() == pytest.approx(
        sending.clock.time
    )
    assert sending.attempts(deliveries[0]) == [("delivered", 200, None)]
    assert sending.attempts(deliveries[1]) == [
        ("delivered", 200, None), ("refused", None, "click_not_found"),
    ]  # fmt: skip
    later(sending, DAY)
    assert (google.requested_ids, open_requests(sending), google.accepted) == (["r1"], [], 1)


def test_processing_until_it_is_final(sending: Sending, google: Verdicts) -> None:
    google.answers = [[group("PROCESSING")], [], [group("REQUEST_STATUS_UNKNOWN")], [group("SUCCESS")]]
    (delivery,) = send(sending, "purchase")
    later(sending)
    for poll_count, pause in ((1, HOUR), (2, 2 * HOUR), (3, 4 * HOUR)):
        assert sending.read_delivery(delivery, "status") == "delivered"
        assert open_requests(sending) == [("r1", poll_count, pytest.approx(pause, abs=1))]
        later(sending, pause - 10)
        assert len(google.requested_ids) == poll_count
        later(sending, 11)
    assert (sending.read_delivery(delivery, "status"), open_requests(sending)) == ("counted", [])


def test_given_up_after_two_weeks(sending: Sending, google: Verdicts) -> None:
    google.answers = [[group("PROCESSING")]]
    (delivery,) = send(sending, "purchase")
    for _ in range(16):
        later(sending, DAY + 1)
    assert (sending.read_delivery(delivery, "status", "reason", "error"), open_requests(sending)) == (
        ("delivered", None, None), [],
    )  # fmt: skip
    assert 13 <= len(google.requested_ids) <= 15


def test_several_conversion_actions(sending: Sending, google: Verdicts) -> None:
    """One action fails as a whole, without positions."""
    google.answers = [[
        group("FAILED", error("EVENT_TOO_OLD"), action=LEADS),
        group("PARTIAL_SUCCESS", error("INVALID_GCLID", 2)),
    ]]  # fmt: skip
    deliveries = send(sending, "purchase", "lead_generated", "purchase", "lead_generated")
    later(sending)
    assert results(sending, deliveries) == [
        ("counted", None), ("refused", "event_too_old"),
        ("refused", "invalid_gclid"), ("refused", "event_too_old"),
    ]  # fmt: skip


def test_a_whole_failure_and_an_erased_event(sending: Sending, google: Verdicts) -> None:
    """With several actions, the action of an erased event is no longer known. With a single action, it is."""
    google.answers = [[group("FAILED", error("NO_CONSENT"), action=LEADS), group("SUCCESS")]]
    deliveries = send(sending, "purchase", "lead_generated")
    sending.connection.execute(
        "UPDATE deliveries SET request = NULL, answer = NULL WHERE id = %s", (deliveries[1],)
    )
    later(sending)
    assert results(sending, deliveries) == [("counted", None), ("delivered", None)]


@pytest.mark.parametrize("kind", ["deleted", "erased"])
def test_taken_back_meanwhile(sending: Sending, google: Verdicts, kind: str) -> None:
    """The verdict is stored, but not the platform's text."""
    google.answers = [[group("FAILED", error("SOMETHING_NEW", 0))]]
    (delivery,) = send(sending, "purchase")
    event = sending.read_delivery(delivery, "event_id")

    def take_back() -> None:
        change(sending, kind, event)
        sending.connection.execute(
            "UPDATE deliveries SET request = NULL, answer = NULL, error = NULL WHERE id = %s", (delivery,)
        )

    google.meanwhile = take_back
    later(sending)
    assert sending.read_delivery(delivery, "status", "reason", "error", "request") == (
        "refused",
        "other",
        None,
        None,
    )
    assert sending.attempts(delivery)[1:] == [("refused", None, "other")]


def test_a_reason_that_is_not_known(sending: Sending, google: Verdicts) -> None:
    google.answers = [[group("PARTIAL_SUCCESS", error("SOMETHING_NEW", 0), error("MISMATCH", 1, prefix=""))]]
    deliveries = send(sending, "purchase", "purchase")
    later(sending)
    assert sending.read_delivery(deliveries[0], "status", "reason", "error") == (
        "refused", "other", "PROCESSING_ERROR_REASON_SOMETHING_NEW",
    )  # fmt: skip
    assert sending.read_delivery(deliveries[1], "reason", "error") == ("other", "MISMATCH")


def test_positions_outside_the_request(sending: Sending, google: Verdicts) -> None:
    wrong = {"reason": f"{PREFIX}INVALID_EVENT", "recordIndices": [-1, 2, 10**12, True, "x", None, 1.5]}
    google.answers = [[group("PARTIAL_SUCCESS", wrong)]]
    deliveries = send(sending, "purchase", "purchase")
    later(sending)
    assert results(sending, deliveries) == [("counted", None)] * 2


def test_retried_later(sending: Sending, google: Verdicts) -> None:
    """It is sent again after at least six hours, even if the destination recovers before."""
    google.answers = [[group("FAILED", error("TOO_RECENT_CLICK", 0))], [group("SUCCESS")]]
    (delivery,) = send(sending, "purchase")
    later(sending, DAY * 3.5)  # after the retry period, which starts when it was queued
    status, reason, due_at, finished_at = sending.read_delivery(
        delivery, "status", "reason", "due_at", "finished_at"
    )
    assert (status, reason, finished_at) == ("retrying", "too_recent_click", None)
    assert due_at.timestamp() - sending.clock.time == pytest.approx(6 * HOUR, abs=1)
    later(sending, 6 * HOUR - 60)
    assert google.accepted == 1
    later(sending, 61)
    assert results(sending, [delivery]) == [("delivered", None)]
    assert sending.read_delivery(delivery, "platform_request_id", "attempts") == ("r2", 2)
    later(sending)
    assert results(sending, [delivery]) == [("counted", None)]


def test_too_late_to_retry(sending: Sending, google: Verdicts) -> None:
    google.answers = [[group("FAILED", error("INTERNAL_ERROR", 0))]]
    (delivery,) = send(sending, "purchase", event_time=sending.moment(-90 * DAY + 3 * HOUR))
    assert sending.read_delivery(delivery, "status") == "delivered"
    later(sending)
    assert results(sending, [delivery]) == [("expired", "internal_error")]


def test_a_deleted_event_is_not_retried(sending: Sending, google: Verdicts) -> None:
    google.answers = [[group("FAILED", error("INTERNAL_ERROR", 0))]]
    (delivery,) = send(sending, "purchase")
    change(sending, "deleted", sending.read_delivery(delivery, "event_id"))
    later(sending)
    assert results(sending, [delivery]) == [("refused", "internal_error")]


def test_duplicates_are_counted(sending: Sending, google: Verdicts) -> None:
    google.answers = [[
        group("FAILED", error("DUPLICATE_TRANSACTION_ID", 0), error("DUPLICATE_GCLID", 1))
    ]]  # fmt: skip
    deliveries = send(sending, "purchase", "purchase")
    later(sending)
    assert results(sending, deliveries) == [("counted", None)] * 2


def test_an_unknown_request(sending: Sending, google: Verdicts) -> None:
    google.answers = [Answer(404, {"error": {"status": "NOT_FOUND", "message": "No such request."}})]
    (delivery,) = send(sending, "purchase")
    later(sending)
    assert sending.read_delivery(delivery, "status", "error") == ("delivered", "NOT_FOUND: No such request.")
    assert open_requests(sending) == []


def test_a_replay_meanwhile_is_not_overwritten(sending: Sending, google: Verdicts) -> None:
    google.answers = [[group("FAILED", error("INVALID_EVENT"))]]
    deliveries = send(sending, "purchase", "purchase")
    google.meanwhile = lambda: sending.connection.execute(
        "UPDATE deliveries SET status = 'delivered', platform_request_id = 'r2' WHERE id = %s",
        (deliveries[0],),
    )
    later(sending)
    assert results(sending, deliveries) == [("delivered", None), ("refused", "invalid_event")]


def test_refused_ones_are_replayed(sending: Sending, google: Verdicts) -> None:
    google.answers = [[group("FAILED", error("INVALID_EVENT"))]]

    async def queue_again(request: ReplayRequest) -> int:
        async with await psycopg.AsyncConnection.connect(sending.database_url) as connection:
            return (await delivery_log.replay(connection, sending.space_id, destination, request)).queued

    def replay(**choice: Any) -> int:
        return asyncio.run(queue_again(ReplayRequest(**choice)))

    deliveries = send(sending, "purchase", "purchase")
    destination = sending.read_delivery(deliveries[0], "destination_id")
    later(sending)
    assert results(sending, deliveries) == [("refused", "invalid_event")] * 2
    assert replay(reasons=("click_not_found",)) == 0
    assert replay(ids=(deliveries[0],)) == 1
    assert sending.read_delivery(deliveries[0], "status", "reason", "platform_request_id") == (
        "queued",
        None,
        None,
    )
    assert replay(reasons=("invalid_event",)) == 1


def test_all_replayed(sending: Sending, google: Verdicts) -> None:
    """A request isn't checked once all its deliveries were sent again."""
    (delivery,) = send(sending, "purchase")
    sending.connection.execute(
        "UPDATE deliveries SET status = 'queued', platform_request_id = NULL WHERE id = %s", (delivery,)
    )
    sending.run()
    later(sending)
    assert (google.requested_ids, open_requests(sending)) == (["r2"], [])
    assert sending.read_delivery(delivery, "status") == "counted"


def test_ended_before_the_commit(sending: Sending, google: Verdicts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written partially, and the next process requests the verdicts again."""
    deaths = [LeaseLostError()]

    def die_once(_: str) -> None:
        if deaths:
            raise deaths.pop()

    monkeypatch.setattr(verdicts, "failpoint", die_once)
    (delivery,) = send(sending, "purchase")
    before: list[object] = []
    google.meanwhile = lambda: before.append(
        (sending.read_delivery(delivery, "status"), len(open_requests(sending)))
    )
    later(sending)
    assert before == [("delivered", 1)] * 2
    assert (sending.read_delivery(delivery, "status"), open_requests(sending)) == ("counted", [])
    assert sending.attempts(delivery) == [("delivered", 200, None)]


def test_a_lost_lease_writes_nothing(sending: Sending, google: Verdicts) -> None:
    (delivery,) = send(sending, "purchase")
    google.meanwhile = lambda: sending.connection.execute(
        "UPDATE destinations SET lease = %s, leased_until = now() + interval '30 seconds' WHERE id = %s",
        (uuid4(), sending.read_delivery(delivery, "destination_id")),
    )
    later(sending)
    assert (sending.read_delivery(delivery, "status"), len(open_requests(sending))) == ("delivered", 1)


def test_sending_goes_first(sending: Sending, google: Verdicts) -> None:
    (first,) = send(sending, "purchase")
    sending.advance(HALF_HOUR + 1)
    second = sending.delivery(sending.read_delivery(first, "destination_id"))
    google.meanwhile = lambda: results_seen.append(sending.read_delivery(second, "status"))
    results_seen: list[str] = []
    sending.run()
    assert results_seen == ["delivered"]


@pytest.mark.parametrize("status", ["paused", "held"])
def test_a_destination_that_does_not_send_does_not_ask(
    sending: Sending, google: Verdicts, status: str
) -> None:
    (delivery,) = send(sending, "purchase")
    statement = "UPDATE destinations SET status = %s WHERE space_id = %s"
    sending.connection.execute(statement, (status, sending.space_id))
    later(sending, 20 * DAY)
    assert google.requested_ids == []
    sending.connection.execute(statement, ("active", sending.space_id))
    sending.run()
    assert sending.read_delivery(delivery, "status") == "counted"


@pytest.mark.parametrize("is_asking", [False, True])
def test_a_removed_destination_is_forgotten(sending: Sending, google: Verdicts, is_asking: bool) -> None:
    """Also if it is removed while Google answers to send the event again."""
    (delivery,) = send(sending, "purchase")
    google.answers = [[group("FAILED", error("TOO_RECENT_CLICK", 0))]]
    google.meanwhile = lambda: sending.remove_destination(sending.read_delivery(delivery, "destination_id"))
    if not is_asking:
        google.meanwhile()
    later(sending)
    assert results(sending, [delivery]) + open_requests(sending) == [("delivered", None)]
