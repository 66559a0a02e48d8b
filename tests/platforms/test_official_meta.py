"""Hashed personal data compared with Meta's own client. Needs the package facebook-business."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.forwarding.platforms.identifiers import hash_person
from headwater.forwarding.platforms.models import ConvertedPerson
from tests.support.campaigns import campaign_size

client: Any = pytest.importorskip(
    "facebook_business.adobjects.serverside.user_data", reason="needs the package facebook-business"
)

LETTERS = st.text(st.characters(categories=("Lu", "Ll", "Lo")), min_size=1, max_size=12)
PLACES = st.lists(LETTERS, min_size=1, max_size=3).map(" ".join)
EMAILS = st.emails(domains=st.sampled_from(["example.com", "Shop.Example.ORG"]))
PHONES = st.integers(1_000_000_000, 99_999_999_999).map(lambda number: f"+{number}")


@given(
    st.builds(
        ConvertedPerson,
        email=EMAILS.map(str.lower),
        phone=PHONES,
        first_name=LETTERS,
        last_name=LETTERS,
        city=PLACES,
        state=LETTERS,
        country=st.sampled_from(["DE", "US", "GB", "JP"]),
    )
)
@settings(max_examples=campaign_size("HEADWATER_META_PEOPLE", 100, 10_000))
def test_it_works(person: ConvertedPerson) -> None:
    """Names have only letters here: Meta's client keeps punctuation in names, although its documentation
    removes it.
    """
    client_values = client.UserData(
        email=person.email, phone=person.phone, first_name=person.first_name, last_name=person.last_name,
        city=person.city, state=person.state, country_code=person.country,
    ).normalize()  # fmt: skip
    assert hash_person(person) == {name: values for name, values in client_values.items() if values}
