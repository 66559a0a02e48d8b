"""Rules that hold for every platform."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.egress.models import EgressResponse
from headwater.events.accepted import STANDARD_NAMES
from headwater.forwarding.platforms.models import (
    CallAccepted,
    CallDeferred,
    CredentialsRefused,
    PartlyAccepted,
)
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.sources.catalogue import SOURCES
from tests.platforms.variety import assert_described

EVERY = pytest.mark.parametrize("platform", PLATFORMS.values(), ids=list(PLATFORMS))

BODIES = st.binary(max_size=60) | st.sampled_from([
    b"", b"{}", b"[]", b"null", b"1", b'"text"', b"<html></html>", b"[" * 2000,
    b'{"error": "text"}', b'{"error": {"details": [{"index": 1e400}]}}', b'{"events": [{}, 1]}',
    b'{"status": 7}', b'{"code": "x", "message": [1]}', b'{"error": {"fields": "all"}}',
    b'{"accepted_events": "2"}', b'{"error": {"param": "events[0]"}}', b'{"error": {"errors": {}}}',
    b'{"PartialErrors": null}', b'{"PartialErrors": [{"Index": 1}, {}]}', b'{"Errors": [{"Code": []}]}',
    b'{"eventsReceived": "2"}', b'{"num_events_processed": true}', b'{"invalid_events": [1, 2]}',
])  # fmt: skip


def test_it_works() -> None:
    assert {"reddit", "pinterest", "snapchat", "microsoft"} <= PLATFORMS.keys()
    assert all(name == platform.name for name, platform in PLATFORMS.items())


@EVERY
def test_settings_are_described(platform: Platform) -> None:
    assert_described(platform)


@EVERY
def test_an_event_has_a_name_or_none_has(platform: Platform) -> None:
    assert not platform.event_names or platform.event_names.keys() >= set(STANDARD_NAMES)


def test_a_source_is_of_one_platform() -> None:
    sources = [source for platform in PLATFORMS.values() for source in platform.sources]
    assert {source for source in sources if sources.count(source) > 1} == {"bing_ads"}, (
        "two ways to Microsoft"
    )
    assert set(sources) <= set(SOURCES)


@EVERY
@given(status=st.integers(100, 599), body=BODIES, is_truncated=st.booleans(), count=st.integers(1, 3))
def test_any_answer_means_something(
    platform: Platform, status: int, body: bytes, is_truncated: bool, count: int
) -> None:
    verdict = platform.classify(EgressResponse(status=status, body=body, cut=is_truncated), count)
    if isinstance(verdict, CallAccepted):
        assert 200 <= status < 300
    else:
        assert isinstance(verdict, PartlyAccepted) or verdict.error
    if isinstance(verdict, PartlyAccepted):
        assert verdict.errors or verdict.retryable
        assert verdict.errors.keys() | verdict.retryable.keys() <= set(range(count))


@EVERY
@pytest.mark.parametrize(
    ("status", "kind"), [(401, CredentialsRefused), (429, CallDeferred), (503, CallDeferred)]
)
def test_what_concerns_the_whole_destination(
    platform: Platform, status: int, kind: type[CredentialsRefused | CallDeferred]
) -> None:
    assert isinstance(platform.classify(EgressResponse(status=status), 3), kind)
