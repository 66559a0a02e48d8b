"""Conversions of every kind for the platform tests, from bare to complete, and checks of redacted parts."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from hypothesis import strategies as st

from headwater.forwarding.platforms.models import AdConsent, Conversion, ConvertedPerson, Destination
from headwater.forwarding.platforms.platform import Platform
from tests.platforms import examples
from tests.platforms.examples import BARE, EXAMPLES, make_conversion

GRANTED = AdConsent(ad_user_data=True, ad_personalization=True)
DENIED = AdConsent(ad_user_data=False, ad_personalization=False)


def bare(event_name: str = "lead_generated", **columns: Any) -> Conversion:
    """Return an event without other details."""
    return make_conversion(BARE, event_name=event_name, **columns)


def destination(platform: Platform, settings: dict[str, Any], **changes: Any) -> Destination:
    """Return a destination of the platform with the examples' token."""
    return examples.destination(platform, settings, **({"secrets": {"access_token": "***"}} | changes))


def expected_call(name: str, **placeholders: str) -> dict[str, Any]:
    """Return an example call with its placeholders filled in."""
    call = EXAMPLES[name]
    return call | {"url": call["url"].format(**placeholders)}


def list_texts(value: Any) -> set[str]:
    """Return every string in a JSON document."""
    if isinstance(value, dict):
        return set().union(*(list_texts(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(list_texts(item) for item in value))
    return {value} if isinstance(value, str) else set()


def _text_with_mark(mark: str) -> st.SearchStrategy[str | None]:
    """Draw a text that contains `mark`, which occurs nowhere else."""
    letters = st.text(st.characters(categories=("L", "Nd")), max_size=8)
    return st.none() | letters.map(lambda text: f"{mark}{text}")


def conversions() -> st.SearchStrategy[Conversion]:
    """Draw conversions with any details, and with personal values marked QQ."""
    email = st.none() | st.from_regex(r"\Aqq[a-z]{1,5}(\.[a-z]{1,5})?(\+[a-z]{1,3})?@qq\.example\Z")
    person = st.builds(
        ConvertedPerson,
        email=email,
        phone=st.none() | st.from_regex(r"\A\+4477[0-9]{8}\Z"),
        first_name=_text_with_mark("QQfirst"),
        last_name=_text_with_mark("QQlast"),
        external_id=_text_with_mark("QQid") | email,
        city=_text_with_mark("QQcity"),
        state=_text_with_mark("QQstate"),
        country=st.sampled_from([None, "US", "DE"]),
    )
    click_ids = st.sampled_from(["rdt_cid", "epik", "sccid", "msclkid", "oppref"])
    ids = st.dictionaries(click_ids, st.just("QQclick"))
    cookies = st.dictionaries(st.sampled_from(["scid", "rdt_uuid", "oppref", "obref"]), st.just("QQcookie"))
    return st.builds(
        Conversion,
        event_id=st.just(1),
        dedup_id=st.just("dedup-1"),
        event_name=st.sampled_from(["purchase", "contact", "view_content", "custom_event_4"]),
        configured_name=st.none() | st.just("Callback"),
        event_time=st.integers(0, 4_000_000_000_000),
        person=person,
        amount=st.none() | st.decimals(-(10**14), 10**14, places=4),
        currency=st.sampled_from([None, "USD", "JPY"]),
        order_id=_text_with_mark("QQorder"),
        url=st.none() | st.just("https://u:QQpassword@shop.example/thanks?email=QQ#QQ"),
        ip=st.sampled_from([None, "203.0.113.9", "2001:db8::9"]),
        user_agent=_text_with_mark("QQbrowser"),
        consent=st.builds(
            AdConsent, ad_user_data=st.none() | st.booleans(), ad_personalization=st.none() | st.booleans()
        ),
        cookies=cookies,
        url_click_ids=ids,
    )


_HASHED = re.compile(r"[0-9a-f]{64}")


def assert_shows_nobody(part: dict[str, Any], conversion: Conversion) -> None:
    """Check that a redacted part has no hash, name, address, browser, click or cookie."""
    for text in list_texts(part):
        assert "QQ" not in text
        assert not _HASHED.search(text)
        assert "@" not in text
        assert conversion.ip is None or conversion.ip not in text
        assert conversion.person.phone is None or conversion.person.phone not in text


def assert_hashed(part: dict[str, Any], conversion: Conversion) -> None:
    """Check that a part has no address, number or name in clear, except in its URL."""
    person = conversion.person
    private = {person.email, person.phone, person.phone and person.phone[1:]}
    for text in list_texts(part) - {conversion.url}:
        assert not any(value in text for value in private if value)
        assert not any(mark in text for mark in ("QQfirst", "QQlast", "QQcity", "QQstate"))


def assert_described(platform: Platform) -> None:
    """Check that every setting has a description."""
    definitions = msgspec.json.schema(platform.settings)["$defs"]
    for fields in definitions.values():
        assert fields["properties"]
        for name, setting in fields["properties"].items():
            assert setting.get("description"), name
