"""First and last names sent to platforms: the parts that a contact gave win over splitting the full name."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from headwater.forwarding.platforms.models import Conversion, ConvertedPerson
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.people.contacts.names import DERIVED_PARTS, explicit_parts
from tests.deliveries.staging import Sending
from tests.deliveries.test_conversions import build_conversion
from tests.platforms.test_platforms import sample
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import event, person

HASHING = [PLATFORMS[name] for name in ("meta", "snapchat", "pinterest", "tiktok")]


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_person(sending: Sending, *names_by_event: dict[str, str]) -> ConvertedPerson:
    """Return the person read from the last of these events."""
    queue = Queue(sending.connection, sending.space_id)
    for number, names in enumerate(names_by_event):
        (receipt,) = queue.run(event(email="ann@example.com", order_id=str(number), **names))
    return build_conversion(sending, receipt).person


WHOLE = {"full_name": "Mary Ann Smith"}
PARTS = {"first_name": "Mary Ann", "last_name": "Smith"}


@pytest.mark.parametrize(
    ("names_by_event", "first_name", "last_name"),
    [
        ([WHOLE | PARTS], "Mary Ann", "Smith"),
        ([PARTS], "Mary Ann", "Smith"),
        ([WHOLE], "Mary", "Ann Smith"),
        ([WHOLE, PARTS], "Mary Ann", "Smith"),
        ([PARTS, WHOLE], "Mary Ann", "Smith"),
        ([PARTS, {"first_name": "Mary", "last_name": "Ann Smith"}], "Mary", "Ann Smith"),
        ([{"last_name": "Smith"}], None, "Smith"),
        ([{"first_name": "Mary Ann"}], "Mary Ann", None),
        ([WHOLE | {"last_name": "Smith"}], "Mary Ann", "Smith"),
        ([WHOLE | {"first_name": "Mary Ann"}], "Mary Ann", "Smith"),
        ([{"full_name": "Dr. Mary Smith", "first_name": "Mary"}], "Mary", None),
        ([{"first_name": " Mary ", "last_name": "Smith"}], "Mary", "Smith"),
        ([PARTS, {"full_name": "Somebody Else"}], "Mary Ann", "Smith"),
    ],
)
def test_it_works(
    sending: Sending, names_by_event: list[dict[str, str]], first_name: str | None, last_name: str | None
) -> None:
    person = read_person(sending, *names_by_event)
    assert (person.first_name, person.last_name) == (first_name, last_name)


@pytest.mark.parametrize("platform", HASHING, ids=lambda platform: platform.name)
@pytest.mark.parametrize(
    ("names", "first_name", "last_name"),
    [({"last_name": "Smith"}, None, "smith"), (WHOLE | PARTS, "mary ann", "smith")],
)
def test_the_fields_that_platforms_hash(
    sending: Sending, platform: Platform, names: dict[str, str], first_name: str | None, last_name: str
) -> None:
    conversion = build_conversion(sending, _purchase(sending, names))
    user: dict[str, Any] = platform.build(conversion, sample(platform))
    user = user.get("user_data") or user["user"]
    values = [user.get(short) or user.get(long) for short, long in
              (("fn", "first_name"), ("ln", "last_name"))]  # fmt: skip
    assert [value[0] if isinstance(value, list) else value for value in values] == [
        first_name and hashed(first_name), hashed(last_name),
    ]  # fmt: skip


def test_linkedin_is_told_both_or_neither(sending: Sending) -> None:
    platform = PLATFORMS["linkedin"]

    def sent_names(conversion: Conversion) -> Any:
        return platform.build(conversion, sample(platform))["user"].get("userInfo")

    assert sent_names(build_conversion(sending, _purchase(sending, WHOLE | PARTS))) == {
        "firstName": "Mary Ann", "lastName": "Smith",
    }  # fmt: skip
    other_purchase = _purchase(sending, {"last_name": "Smith"}, email="other@example.com")
    assert sent_names(build_conversion(sending, other_purchase)) is None


def test_a_person_that_the_tracker_reports(sending: Sending) -> None:
    queue = Queue(sending.connection, sending.space_id)
    queue.run(person(email="ann@example.com", trk_token="t", **WHOLE | PARTS))
    (receipt,) = queue.run(event(email="ann@example.com"))
    assert build_conversion(sending, receipt).person.first_name == "Mary Ann"


def test_a_merge_keeps_them(sending: Sending) -> None:
    """The surviving contact has no name, so it gets the other's name and the way it is split."""
    queue = Queue(sending.connection, sending.space_id)
    queue.run(event(email="ann@example.com", order_id="1"))
    queue.run(event(tracking_id="ann", order_id="2", **PARTS))
    (receipt,) = queue.run(event(email="ann@example.com", tracking_id="ann", order_id="3"))
    person = build_conversion(sending, receipt).person
    assert (person.first_name, person.last_name) == ("Mary Ann", "Smith")


def test_only_what_blanks_do_not_tell_is_stored() -> None:
    assert explicit_parts("Mary Smith", "Mary", "Smith") == DERIVED_PARTS
    assert explicit_parts("Mary Smith", None, None) is None
    assert explicit_parts(None, "Mary", None) == DERIVED_PARTS


def _purchase(sending: Sending, names: dict[str, str], email: str = "ann@example.com") -> int:
    queue = Queue(sending.connection, sending.space_id)
    (receipt,) = queue.run(event(email=email, currency="USD", amount="5", **names))
    return receipt
