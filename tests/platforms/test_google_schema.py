"""Requests to Google checked against Google's published schema, which its client library includes."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.forwarding.platforms.google import Google
from headwater.forwarding.platforms.models import Conversion
from tests.platforms.variety import conversions, destination
from tests.support.campaigns import campaign_size

pytest.importorskip("googleapiclient", reason="needs the package google-api-python-client")
jsonschema = pytest.importorskip("jsonschema")

EVENTS = campaign_size("HEADWATER_GOOGLE_EVENTS", 200, 10_000)
GOOGLE = Google()
NAMES = {"purchase": "111", "contact": "222", "view_content": "333", "custom_event_4": "444"}
SETTINGS = {"customer_id": "1234567890", "login_customer_id": "2345678901"}
formats = jsonschema.FormatChecker(formats=())


@formats.checks("google-datetime")
def is_time(value: object) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", str(value)))


def read_schema() -> Any:
    """Return the published schema, changed to allow only the named fields."""
    schema_file = files("googleapiclient").joinpath("discovery_cache/documents/datamanager.v1.json")
    schemas = json.loads(schema_file.read_text(encoding="utf-8"))["schemas"]
    for schema in schemas.values():
        schema.pop("id")
        schema["additionalProperties"] = False
    text = re.sub(r'"\$ref": "(\w+)"', r'"$ref": "#/$defs/\1"', json.dumps(schemas))
    return jsonschema.Draft202012Validator(
        {"$ref": "#/$defs/IngestEventsRequest", "$defs": json.loads(text)}, format_checker=formats
    )


SCHEMA = read_schema()
CLICKS = st.dictionaries(st.sampled_from(["gclid", "gbraid", "wbraid"]), st.just("Cj0"))


@st.composite
def sent(draw: st.DrawFn) -> tuple[list[Conversion], list[bool], bool]:
    """Draw a call's conversions, whether each is a correction, and whether the call is a test."""
    drawn_conversions = [
        msgspec.structs.replace(
            draw(conversions()),
            url_click_ids=draw(
                st.dictionaries(st.sampled_from(["gclid", "gbraid", "wbraid"]), st.just("Cj0"))
            ),
            event_time=draw(st.integers(1_600_000_000_000, 2_000_000_000_000)),
        )
        for _ in range(8)
    ]
    return drawn_conversions, draw(st.lists(st.booleans(), min_size=8, max_size=8)), draw(st.booleans())


def body(conversions: list[Conversion], is_correction: list[bool], is_test: bool) -> Any:
    target = destination(GOOGLE, SETTINGS, event_names=NAMES, test=is_test, access_token="t")
    parts = [
        GOOGLE.build_correction(conversion, target, 1_800_000_000.5)
        if is_corrected
        else GOOGLE.build(conversion, target)
        for conversion, is_corrected in zip(conversions, is_correction, strict=False)
    ]
    return msgspec.json.decode(GOOGLE.request(parts, target).body or b"")


def test_it_works() -> None:
    """The schema refuses fields that it doesn't define."""
    wrong = {"destinations": [], "events": [{"transactionId": 7, "value": 3, "eventTimestamp": "today"}]}
    assert len(list(SCHEMA.iter_errors(wrong))) == 3


checked: list[int] = []


@settings(max_examples=EVENTS // 8 + 1, deadline=None, suppress_health_check=[*HealthCheck])
@given(sent())
def test_every_request_is_valid(call: tuple[list[Conversion], list[bool], bool]) -> None:
    SCHEMA.validate(body(*call))
    checked.append(len(call[0]))


def test_enough_was_checked() -> None:
    assert sum(checked) >= EVENTS
