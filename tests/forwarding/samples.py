"""One purchase with everything known of it, as in `uploads.json`, which also holds the call that
each platform has to get for it; and helpers to vary it and to read calls.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from hypothesis import strategies as st

from headwater.forwarding.models import (
    Answer,
    Call,
    Click,
    Consent,
    Conversion,
    Destination,
    Person,
)
from headwater.forwarding.platforms.platform import Platform

UPLOADS = msgspec.json.decode((Path(__file__).parent / "uploads.json").read_bytes())
EVENT_TIME = 1_795_169_730_000
"""2026-11-20 10:15:30 UTC."""
GRANTED = Consent(ad_user_data=True, ad_personalization=True)
DENIED = Consent(ad_user_data=False, ad_personalization=False)


def full_purchase(**changes: Any) -> Conversion:
    """The purchase of `uploads.json`, with `changes`."""
    given, context = UPLOADS["_input"], UPLOADS["_context"]
    purchase = Conversion(
        event_id=1,
        dedup_id=given["idempotency_key"],
        event_name=given["event_name"],
        event_time=EVENT_TIME,
        person=Person(
            email=given["email"].strip().lower(),
            phone="+16505551212",
            first_name=given["first_name"],
            last_name=given["last_name"],
            external_id=given["tracking_id"],
        ),
        amount=Decimal(str(given["amount"])),
        currency=context["currency"],
        order_id=given["order_id"],
        url=given["url"],
        ip=given["ip"],
        user_agent=given["user_agent"],
        consent=GRANTED,
        cookies={name.removeprefix("_"): value for name, value in context["cookies"].items()},
        click=Click(
            touchpoint_id=1,
            occurred_at=context["click_time_ms"],
            source="facebook_ads",
            ids={name.lower(): value for name, value in context["click_ids"].items()},
        ),
    )
    return msgspec.structs.replace(purchase, **changes)


def bare(event_name: str = "lead_generated", **fields: Any) -> Conversion:
    """An event of which nothing else is known."""
    known: dict[str, Any] = {"event_id": 1, "dedup_id": "e1", "event_time": EVENT_TIME}
    return Conversion(event_name=event_name, **(known | fields))


def destination(platform: Platform, settings: dict[str, Any], **changes: Any) -> Destination:
    """A destination of the platform, whose token is `***` as in `uploads.json`."""
    known: dict[str, Any] = {"space_id": 1, "id": 1, "secrets": {"access_token": "***"}}
    return Destination(
        platform=platform.name,
        url=platform.url,
        settings=msgspec.convert(settings, platform.settings),
        **(known | changes),
    )


def expected(platform: str, **placeholders: str) -> dict[str, Any]:
    """The call of `uploads.json`, its placeholders filled in."""
    call = UPLOADS[platform]
    return {
        "url": call["url"].format(**placeholders),
        "query": call.get("query", {}),
        "headers": call.get("headers", {}),
        "body": call["body"],
    }


def read(call: Call) -> dict[str, Any]:
    """A call in the form of `expected`."""
    url = urlsplit(call.url)
    return {
        "url": f"{url.scheme}://{url.netloc}{url.path}",
        "query": dict(parse_qsl(url.query)),
        "headers": call.headers,
        "body": msgspec.json.decode(call.body),
    }


def answer(status: int, body: Any = b"", **headers: str) -> Answer:
    """An answer; a body that is not bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Answer(status=status, headers=headers, body=raw)


def texts_of(value: Any) -> set[str]:
    """Every text in a JSON document."""
    if isinstance(value, dict):
        return set().union(*(texts_of(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(texts_of(item) for item in value))
    return {value} if isinstance(value, str) else set()


def _marked(mark: str) -> st.SearchStrategy[str | None]:
    """A text that can be found again, as `mark` occurs in nothing else."""
    letters = st.text(st.characters(categories=("L", "Nd")), max_size=8)
    return st.none() | letters.map(lambda text: f"{mark}{text}")


def conversions() -> st.SearchStrategy[Conversion]:
    """Conversions of which anything may be known, personal values marked with QQ."""
    email = st.none() | st.from_regex(r"\Aqq[a-z]{1,5}(\.[a-z]{1,5})?(\+[a-z]{1,3})?@qq\.example\Z")
    person = st.builds(
        Person,
        email=email,
        phone=st.none() | st.from_regex(r"\A\+4477[0-9]{8}\Z"),
        first_name=_marked("QQfirst"),
        last_name=_marked("QQlast"),
        external_id=_marked("QQid") | email,
        city=_marked("QQcity"),
        state=_marked("QQstate"),
        country=st.sampled_from([None, "US", "DE"]),
    )
    ids = st.dictionaries(
        st.sampled_from(["rdt_cid", "epik", "sccid", "msclkid"]), st.just("QQclick")
    )
    cookies = st.dictionaries(st.sampled_from(["scid", "rdt_uuid"]), st.just("QQcookie"))
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
        order_id=_marked("QQorder"),
        url=st.none() | st.just("https://u:QQpassword@shop.example/thanks?email=QQ#QQ"),
        ip=st.sampled_from([None, "203.0.113.9", "2001:db8::9"]),
        user_agent=_marked("QQbrowser"),
        consent=st.builds(
            Consent,
            ad_user_data=st.none() | st.booleans(),
            ad_personalization=st.none() | st.booleans(),
        ),
        cookies=cookies,
        url_click_ids=ids,
    )


_HASHED = re.compile(r"[0-9a-f]{64}")


def assert_shows_nobody(part: dict[str, Any], conversion: Conversion) -> None:
    """No hash, name, address, browser, click or cookie is in a redacted part."""
    for text in texts_of(part):
        assert "QQ" not in text
        assert not _HASHED.search(text)
        assert "@" not in text
        assert conversion.ip is None or conversion.ip not in text
        assert conversion.person.phone is None or conversion.person.phone not in text


def assert_described(platform: Platform) -> None:
    """Every setting tells what it is."""
    described = msgspec.json.schema(platform.settings)["$defs"]
    for fields in described.values():
        assert fields["properties"]
        for name, setting in fields["properties"].items():
            assert setting.get("description"), name
