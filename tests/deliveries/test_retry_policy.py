"""What follows from a verdict: waits, retries and resending. No I/O."""

from __future__ import annotations

import random
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.forwarding.deliveries.retry_policy import (
    JITTER,
    LADDER,
    LONGEST_WAIT,
    MOST_REQUESTED,
    CallContext,
    CallOutcome,
    DeliveryAttempt,
    DeliveryResult,
    DestinationBackoff,
    DestinationSuspension,
    judge,
    read_retry_after,
    step_after,
)
from headwater.forwarding.platforms.models import (
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    CredentialsRefused,
    PartlyAccepted,
)

NOW = 1_800_000_000.0
FAR = NOW + 1e9
FOUR = [DeliveryAttempt(number, 0, FAR) for number in range(4)]
AROUND = CallContext(NOW)


def test_it_works() -> None:
    assert judge(CallAccepted(), FOUR, AROUND) == CallOutcome(
        [DeliveryResult(number, "delivered") for number in range(4)]
    )


def test_refused() -> None:
    after = [DeliveryResult(number, "failed", "no") for number in range(4)]
    assert judge(CallRefused("no"), FOUR, AROUND) == CallOutcome(after)


def test_retry_makes_the_destination_wait() -> None:
    consequences = judge(CallDeferred("later"), FOUR[:1], AROUND)
    assert consequences == CallOutcome(
        [DeliveryResult(0, "retrying", "later", NOW + 10)], destination=DestinationBackoff(NOW + 10, 1)
    )


def test_held_leaves_deliveries_alone() -> None:
    assert judge(CredentialsRefused("no"), FOUR, AROUND) == CallOutcome(
        destination=DestinationSuspension("no")
    )


def test_some_refused_and_the_others_taken() -> None:
    consequences = judge(PartlyAccepted({1: "bad"}, others_taken=True, retryable={2: "wait"}), FOUR, AROUND)
    assert sorted(consequences.results) == [
        DeliveryResult(0, "delivered"), DeliveryResult(1, "failed", "bad"),
        DeliveryResult(2, "retrying", "wait", NOW + 10), DeliveryResult(3, "delivered"),
    ]  # fmt: skip
    assert (consequences.resend, consequences.destination) == ([], None)


def test_some_refused_and_the_others_not_taken() -> None:
    consequences = judge(PartlyAccepted({1: "bad"}, others_taken=False), FOUR, AROUND)
    assert consequences.results == [DeliveryResult(1, "failed", "bad")]
    assert consequences.resend == [[0, 2, 3]]


def test_all_refused_one_by_one() -> None:
    errors = dict.fromkeys(range(4), "bad")
    assert judge(PartlyAccepted(errors, others_taken=False), FOUR, AROUND).resend == []


@pytest.mark.parametrize("errors", [{}, {7: "bad"}, {-1: "bad"}])
def test_a_refusal_that_names_none_of_them_is_halved(errors: dict[int, str]) -> None:
    assert judge(PartlyAccepted(errors, others_taken=False), FOUR, AROUND).resend == [[0, 1], [2, 3]]
    (result,) = judge(PartlyAccepted(errors, others_taken=False), FOUR[:1], AROUND).results
    assert result.status == "failed"


def test_bisect() -> None:
    assert judge(Bisect("bad"), FOUR[:3], AROUND) == CallOutcome(resend=[[0], [1, 2]])
    assert judge(Bisect("bad"), FOUR[:1], AROUND).results == [DeliveryResult(0, "failed", "bad")]


@given(st.integers(1, 200), st.sets(st.integers(0, 199)), st.booleans())
def test_no_delivery_is_lost_or_told_twice(count: int, bad: set[int], is_rest_accepted: bool) -> None:
    attempts = [DeliveryAttempt(number, 0, FAR) for number in range(count)]
    for verdict in (
        CallAccepted(), CallRefused("x"), CallDeferred("x"), Bisect("x"),
        PartlyAccepted(dict.fromkeys(bad, "x"), is_rest_accepted, dict.fromkeys(list(bad)[:2], "y")),
    ):  # fmt: skip
        consequences = judge(verdict, attempts, AROUND)
        finished_ids = [result.id for result in consequences.results]
        resent_ids = [number for group in consequences.resend for number in group]
        assert sorted(finished_ids + resent_ids) == list(range(count))
        assert all(0 < len(group) < max(count, 2) for group in consequences.resend)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 10), ("", 10), ("120", 120), (" 120 ", 120), ("0", 10), ("-5", 10), ("abc", 10),
        ("1.5", 10), ("1e3", 10), ("\u0661\u0662\u0660", 10), ("99999999", 10 + MOST_REQUESTED),
        ("9" * 5000, 10 + MOST_REQUESTED), (formatdate(NOW + 300, usegmt=True), 300),
        (formatdate(NOW - 300, usegmt=True), 10), (formatdate(NOW + 1e7), 10 + MOST_REQUESTED),
        ("Wed, 99 Foo 2026 00:00:00 GMT", 10), ("Sun, 06 Nov 99999 08:49:37 GMT", 10), ("3", 10),
    ],
)  # fmt: skip
def test_retry_after(header: str | None, seconds: float) -> None:
    around = CallContext(NOW, retry_after=header)
    consequences = judge(CallDeferred("slowly"), FOUR, around)
    assert consequences.destination == DestinationBackoff(NOW + seconds, 1)
    assert {result.due_at for result in consequences.results} == {NOW + seconds}


def test_what_the_body_asks_counts_as_well() -> None:
    around = CallContext(NOW, retry_after="60")
    assert judge(CallDeferred("slowly", 300), FOUR, around).destination == DestinationBackoff(NOW + 300, 1)
    assert judge(CallDeferred("slowly", 30), FOUR, around).destination == DestinationBackoff(NOW + 60, 1)


def test_the_steps() -> None:
    for attempts, step in enumerate((*LADDER, LADDER[-1])):
        (result,) = judge(CallDeferred("x"), [DeliveryAttempt(0, attempts, FAR)], AROUND).results
        assert result.due_at == NOW + step
    for failures, step in enumerate((10, 60, 300, 1800, 1800, 1800)):
        around = CallContext(NOW, failures=failures)
        assert judge(CallDeferred("x"), FOUR, around).destination == DestinationBackoff(
            NOW + step, failures + 1
        )


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 10**9) | st.none(), st.floats(0, 1))
def test_never_before_the_step_or_what_was_asked(
    attempts: int, failures: int, retry_after: int | None, chance: float
) -> None:
    header = None if retry_after is None else str(retry_after)
    around = CallContext(NOW, failures, header, lambda: chance)
    consequences = judge(CallDeferred("x"), [DeliveryAttempt(0, attempts, FAR)], around)
    assert isinstance(consequences.destination, DestinationBackoff)
    (result,) = consequences.results
    assert result.due_at is not None
    for moment, step in (
        (result.due_at, step_after(attempts + 1)),
        (consequences.destination.until, min(step_after(failures + 1), LONGEST_WAIT)),
    ):
        least = max(step, min(retry_after or 0, step + MOST_REQUESTED))
        assert NOW + least <= moment <= NOW + max(step * (1 + JITTER), least) + 1e-3


@given(st.integers(1, 30))
def test_steps_never_become_shorter(attempts: int) -> None:
    assert step_after(attempts) <= step_after(attempts + 1)


def test_the_last_attempt_is_when_the_time_ends() -> None:
    ends = NOW + 30
    first = judge(CallDeferred("x"), [DeliveryAttempt(0, 4, ends)], AROUND).results
    assert first == [DeliveryResult(0, "retrying", "x", ends)]
    assert judge(CallDeferred("x"), [DeliveryAttempt(0, 5, ends)], CallContext(ends)).results == [
        DeliveryResult(0, "expired", "x")
    ]


def test_a_platform_that_asks_for_longer_than_is_left() -> None:
    around = CallContext(NOW, retry_after="600")
    assert judge(CallDeferred("x"), [DeliveryAttempt(0, 0, NOW + 300)], around).results == [
        DeliveryResult(0, "expired", "x")
    ]
    (result,) = judge(CallDeferred("x"), [DeliveryAttempt(0, 3, NOW + 900)], around).results
    assert result.due_at == NOW + 900


def test_three_days_of_retries() -> None:
    """Every attempt of a delivery to a platform that never recovers."""
    chance = random.Random(7)
    moment, ends, moments = NOW, NOW + 72 * 3600, [0.0]
    while True:
        around = CallContext(moment, random=chance.random)
        (result,) = judge(CallDeferred("x"), [DeliveryAttempt(0, len(moments) - 1, ends)], around).results
        if result.due_at is None:
            break
        moment = result.due_at
        moments.append(moment - NOW)
    assert result.status == "expired"
    assert 9 <= len(moments) <= 11
    assert moments[-1] == 72 * 3600


@given(st.text())
def test_any_header_is_read(text: str) -> None:
    seconds = read_retry_after(text, NOW)
    assert seconds is None or seconds > 0
