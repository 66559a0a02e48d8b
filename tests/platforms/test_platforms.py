"""Rules for every platform: it has descriptions, accepts any conversion, and classifies any answer."""

from __future__ import annotations

import inspect
import json
import re
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.egress.models import EgressResponse
from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.platforms.models import (
    AdConsent,
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    Click,
    Conversion,
    ConvertedPerson,
    CredentialsRefused,
    Destination,
    PartlyAccepted,
    SkipReason,
)
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from tests.platforms.examples import answer

EVERY = pytest.mark.parametrize("platform", PLATFORMS.values(), ids=PLATFORMS)


def sample(platform: Platform) -> Destination:
    """Return a destination with the platform's required settings."""
    required = (setting for setting in msgspec.structs.fields(platform.settings) if setting.required)
    settings = dict.fromkeys((setting.name for setting in required), "1234567890")
    return Destination(
        space_id=1,
        id=1,
        platform=platform.name,
        url=platform.url,
        settings=msgspec.convert(settings, platform.settings),
        secrets=dict.fromkeys(platform.secrets, "secret"),
        event_names={} if platform.event_names else dict.fromkeys(EVENT_NAMES, "1234567890"),
        access_token="token",
    )


@EVERY
def test_it_works(platform: Platform) -> None:
    """A platform's definition is complete."""
    assert re.fullmatch(r"[a-z]+(_ads|_offline)?", platform.name)
    assert platform.url.startswith("https://")
    assert not platform.url.endswith("/")
    assert platform.sources
    assert platform.optional_secrets <= platform.secrets.keys()
    assert all(platform.secrets.values())
    assert platform.event_names.keys() <= set(EVENT_NAMES)


@EVERY
def test_its_readme_tells_of_all_settings_and_secrets(platform: Platform) -> None:
    readme = Path(inspect.getfile(platform.settings)).parent / "README.md"
    text = readme.read_text()
    names = [setting.name for setting in msgspec.structs.fields(platform.settings)]
    assert [name for name in (*names, *platform.secrets) if f"`{name}`" not in text] == []


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
MAYBE = st.none() | TEXT
IDS = st.dictionaries(
    st.sampled_from(
        ["fbclid", "gclid", "gbraid", "wbraid", "ttclid", "li_fat_id", "epik", "sccid", "rdt_cid",
         "msclkid", "oppref"]
    ),
    TEXT,
)  # fmt: skip
COOKIES = st.dictionaries(st.sampled_from(["fbp", "fbc", "ttp", "scid", "rdt_uuid", "oppref", "obref"]), TEXT)
MOMENTS = st.integers(0, 4_000_000_000_000)
AGREED = st.sampled_from([None, True, False])
CONVERSIONS = st.builds(
    Conversion,
    event_id=st.integers(1, 9),
    dedup_id=TEXT.filter(bool),
    event_name=st.sampled_from(EVENT_NAMES),
    configured_name=MAYBE,
    event_time=MOMENTS,
    person=st.builds(
        ConvertedPerson,
        email=MAYBE | TEXT.map("{}@example.com".format),
        phone=MAYBE,
        first_name=MAYBE,
        last_name=MAYBE,
        external_id=MAYBE,
        city=MAYBE,
        state=MAYBE,
        country=st.none() | st.just("DE"),
    ),
    amount=st.none() | st.decimals(Decimal("-1e11"), Decimal("1e11"), places=4),
    currency=st.sampled_from([None, "USD", "GEL"]),
    order_id=MAYBE,
    url=MAYBE,
    ip=st.sampled_from([None, "203.0.113.9", "2001:db8::1"]),
    user_agent=MAYBE,
    consent=st.builds(AdConsent, AGREED, AGREED),
    cookies=COOKIES,
    url_click_ids=IDS,
    click=st.none()
    | st.builds(
        Click,
        touchpoint_id=st.integers(1, 9),
        occurred_at=MOMENTS,
        source=st.just("google_ads"),
        ids=IDS,
        cookies=COOKIES,
    ),
)


@EVERY
@given(conversion=CONVERSIONS)
def test_any_conversion_can_be_sent(platform: Platform, conversion: Conversion) -> None:
    target = sample(platform)
    if platform.find_name(conversion, target) is None:
        return
    reason = platform.skip_reason(conversion, target)
    assert reason is None or isinstance(reason, SkipReason)
    payload = platform.build(conversion, target)
    assert payload == platform.build(conversion, target), "the same on every attempt"
    body = json.dumps(json.loads(platform.request([payload], target).body))
    assert "null" not in re.sub(r'"(?:[^"\\]|\\.)*"', "", body), "absent, never empty"
    assert json.loads(json.dumps(platform.redact(payload))).keys() == payload.keys()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 60_000) | TEXT,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["error", "code", "message", "details", "fieldViolations", "field", "elements",
             "events", "status", "data", "invalid_events", "index", "reason", "is_transient",
             "PartialErrors", "OperationErrors", "Index", "Code"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
ANSWERS = st.builds(
    EgressResponse,
    status=st.integers(200, 599),
    body=JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40),
    cut=st.booleans(),
)


@EVERY
@given(response=ANSWERS, count=st.integers(1, 5))
def test_any_answer_has_a_meaning(platform: Platform, response: EgressResponse, count: int) -> None:
    verdict = platform.classify(response, count)
    assert isinstance(
        verdict, CallAccepted | CallRefused | CallDeferred | CredentialsRefused | PartlyAccepted | Bisect
    )
    if isinstance(verdict, CallAccepted):
        assert 200 <= response.status < 300
    if isinstance(verdict, Bisect):
        assert count > 1
    if isinstance(verdict, PartlyAccepted):
        assert all(0 <= position < count for position in (*verdict.errors, *verdict.retryable))


@EVERY
def test_deep_nonsense(platform: Platform) -> None:
    """A body nested too deeply to parse is treated as unreadable, and no event is refused for it."""
    verdict = platform.classify(answer(200, b"[" * 60_000), 1)
    assert isinstance(verdict, CallDeferred | CallAccepted)


@EVERY
def test_trials_and_real_sendings_share_a_path(platform: Platform) -> None:
    target = sample(platform)
    trial = msgspec.structs.replace(target, test=True)
    assert platform.request([], trial).url.split("?")[0].startswith(platform.url)


@EVERY
def test_what_it_declares_it_builds(platform: Platform) -> None:
    """A platform that accepts corrections or credit can build them, and the reverse."""
    kind = type(platform)
    assert (kind.corrections is not None) == (kind.build_correction is not Platform.build_correction)
    assert (kind.credits is not None) == (kind.build_credit is not Platform.build_credit)
    assert (kind.credits is not None) == ("credit_model" in kind.settings.__struct_fields__)
