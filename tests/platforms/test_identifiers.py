"""Values normalized as each platform compares them. The hashes are those that the platforms publish."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.forwarding.platforms.amounts import as_number, as_text
from headwater.forwarding.platforms.identifiers import (
    Form,
    google_email,
    google_name,
    hash_in_form,
    hash_text,
    meta_name,
    meta_place,
    phone_digits,
    phone_with_plus,
    plain_email,
    read_hash,
    read_phone,
    reddit_email,
)
from headwater.people.contacts.names import split_name
from tests.platforms.examples import EXAMPLES, INPUT

NORMAL = EXAMPLES["_normalised"]


def test_it_works() -> None:
    assert hash_in_form(INPUT["email"], plain_email) == NORMAL["sha_email_plain"]


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        # Meta
        (
            "john_smith@gmail.com", plain_email,
            "62a14e44f765419d10fea99367361a727c12365e2520f32218d505ed9aa0f62f",
        ),
        (
            "+16505551212", phone_digits,
            "e323ec626319ca94ee8bff2e4c87cf613be6ea19919ed1364124e16807ab3176",
        ),
        ("Mary", meta_name, "6915771be1c5aa0c886870b6951b03d7eafc121fea0e80a5ea83beb7c449f4ec"),
        ("Valéry", meta_name, "08e1996b5dd49e62a4b4c010d44e4345592a863bb9f8e3976219bac29417149c"),
        ("정", meta_name, "8fa8cd9c440be61d0151429310034083132b35975c4bea67fdd74158eb51db14"),
        # Snapchat
        (
            read_phone("+44 844 412 4653", None), phone_digits,
            "dc008fda46e2e64002cf2f82a4906236282d431c4f75e5b60bfe79fc48546383",
        ),
        (
            "Person@Example.com", plain_email,
            "542d240129883c019e106e3b1b2d3f3cb3537c43c425364de8e951d5a3083345",
        ),
        ("John", meta_name, "96d9632f363564cc3032521409cf22a852f2032eec099ed5967c0d000cec607a"),
        ("Raphaël", meta_name, "e74bb89e718fe1e19c422a48382870399f8bf7ca8dfa008739e75b0be76627b7"),
        # Reddit
        (
            "Al.ice$+Apple@Example.Com", reddit_email,
            "ff8d9819fc0e12bf0d24892e45987e249a28dce836a85cad60e28eaaa8c6d976",
        ),
        # The example purchase
        (INPUT["email"], google_email, NORMAL["sha_email_google"]),
        (INPUT["email"], reddit_email, NORMAL["sha_email_reddit"]),
        (NORMAL["phone_e164"], phone_with_plus, NORMAL["sha_phone_e164"]),
        (NORMAL["phone_e164"], phone_digits, NORMAL["sha_phone_digits"]),
        (INPUT["first_name"], google_name, NORMAL["sha_fn"]),
        (INPUT["last_name"], google_name, NORMAL["sha_ln"]),
    ],
)  # fmt: skip
def test_published_hashes(text: str, form: Form, expected: str) -> None:
    assert hash_in_form(text, form) == expected


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        ("+44 (0)20 7946 0958", None, "+442079460958"),
        ("0044 20 7946 0958", "GB", "+442079460958"),
        ("020 7946 0958", "GB", "+442079460958"),
        ("٠٢٠ ٧٩٤٦ ٠٩٥٨", "GB", "+442079460958"),
        ("011 44 20 7946 0958", "US", "+442079460958"),
        ("+49 (0)171 1234567", None, "+491711234567"),
        ("06 12 34 56 78", "FR", "+33612345678"),
        ("+39 06 1234 5678", None, "+390612345678"),
        ("650.555.1212 ext 5", "US", "+16505551212"),
        ("1-800-FLOWERS", "US", "+18003569377"),
        ("+1 555 123 4567", None, "+15551234567"),
        ("(650) 555-1212", "US", "+16505551212"),
        ("00442079460958", None, None),
        ("020 7946 0958", None, None),
        ("555-1212", "US", None),
        ("12", "US", None),
        ("call me", "US", None),
        ("", "US", None),
        ("+1 650 555 1212", "nowhere", "+16505551212"),
        ("6" * 65, "US", None),
    ],
)
def test_phones(text: str, region: str | None, expected: str | None) -> None:
    assert read_phone(text, region) == expected


@pytest.mark.parametrize(
    ("text", "normalized", "google", "reddit"),
    [
        (" A.b+c@Example.com ", "a.b+c@example.com", "a.b+c@example.com", "ab@example.com"),
        ("\u00a0a.b+c@gmail.com\u2003", "a.b+c@gmail.com", "ab@gmail.com", "ab@gmail.com"),
        ("A.B.C@GoogleMail.com", "a.b.c@googlemail.com", "abc@googlemail.com",
         "abc@googlemail.com"),
        ("a.b@notgmail.com", "a.b@notgmail.com", "a.b@notgmail.com", "ab@notgmail.com"),
        ("+all@gmail.com", "+all@gmail.com", None, None),
        ("$$@example.com", "$$@example.com", "$$@example.com", None),
        # An international domain keeps its original spelling.
        ("x@xn--mnchen-3ya.de", *["x@xn--mnchen-3ya.de"] * 3),
        ("X@münchen.de", *["x@münchen.de"] * 3),
        *[(text, None, None, None) for text in ("", "a", "@@", "a..b@example.com", "a@", "a@b c")],
    ],
)  # fmt: skip
def test_emails(text: str, normalized: str | None, google: str | None, reddit: str | None) -> None:
    assert [form(text) for form in (plain_email, google_email, reddit_email)] == [
        normalized, google, reddit,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "meta", "google", "place_name"),
    [
        ("  O\u2019Brien-Smith, Jr. ", "obriensmith jr", "o\u2019brien-smith, jr.", "obriensmithjr"),
        ("MARY  ANN", "mary ann", "mary  ann", "maryann"),
        ("Łukasz", "łukasz", "łukasz", "łukasz"),
        ("St. John's", "st johns", "st. john's", "stjohns"),
        ("!?", None, "!?", None),
        ("  ", None, None, None),
    ],
)
def test_names(text: str, meta: str | None, google: str | None, place_name: str | None) -> None:
    assert [meta_name(text), google_name(text), meta_place(text)] == [meta, google, place_name]


@pytest.mark.parametrize(
    ("full_name", "names"),
    [
        ("Mary Valéry", ("Mary", "Valéry")),
        (" Juan  Carlos de la Cruz ", ("Juan", "Carlos de la Cruz")),
        ("Cher", ("Cher", None)),
        ("", (None, None)),
    ],
)
def test_full_names_are_split_at_the_first_space(
    full_name: str, names: tuple[str | None, str | None]
) -> None:
    assert split_name(full_name) == names


@given(st.text(max_size=80), st.sampled_from([plain_email, google_email, meta_name, phone_digits]))
def test_a_hash_is_never_hashed_again(text: str, form: Form) -> None:
    digest = hash_text(text)
    assert len(digest) == 64
    assert hash_text(digest) == hash_text(f" {digest.upper()} ") == digest
    assert hash_in_form(digest.upper(), form) == digest
    assert read_hash(digest[:-1]) is None


def test_an_md5_is_hashed_as_any_text() -> None:
    md5 = "d41d8cd98f00b204e9800998ecf8427e"
    assert hash_text(md5) == hashlib.sha256(md5.encode()).hexdigest()


def test_nothing_has_no_hash() -> None:
    assert hash_in_form(None, plain_email) is None
    assert hash_in_form("nobody", plain_email) is None


@pytest.mark.parametrize(
    ("amount", "number", "text"),
    [
        ("149.9000", "149.9", "149.9"),
        ("20.00", "20", "20"),
        ("0.0000", "0", "0"),
        ("-0.00", "0", "0"),
        ("-12.5", "-12.5", "-12.5"),
        ("1E+3", "1000", "1000"),
        ("99999999999.9999", "99999999999.9999", "99999999999.9999"),
    ],
)
def test_amounts(amount: str, number: str, text: str) -> None:
    assert repr(as_number(Decimal(amount))) == number
    assert as_text(Decimal(amount)) == text
