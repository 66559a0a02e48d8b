"""Implausible click ids and cookies are not sent to any platform. Plausible ones are sent unchanged."""

from __future__ import annotations

import pytest

from headwater.events.browsing.accepted import COOKIES
from headwater.forwarding.deliveries.id_forms import FORMS, can_be, click_ids, sendable
from headwater.sources.clicks import CLICK_IDS

REAL = {
    "gclid": ["EAIaIQobChMI7-rN4M_XhAMVz5CDBx0XgQ8zEAAYASAAEgKx5fD_BwE",
              "Cj0KCQjw2a6wBhCVARIsABPeH1tU7-AbC_dEf.example", "CjwKCAjw_LOwBhBFEiwAmSEQAX"],
    "gbraid": ["0AAAAADdPTp6Zq4k8CHc2gP0nN_X-1", "0AAAAAo4mICGVdmz"],
    "wbraid": ["CkAKCAjw_LOwBhBaEjAAxyz-AB", "Cj8KCQjwk7ugBhDhARIuAF"],
    "fbclid": ["IwAR0A_b-Cdefgh1234567890", "IwY2xjawFq3YJleHRuA2FlbQIxMAABHcZ_aem_Xyz-09",
               "PAZXh0bgNhZW0CMTEAAabCdEf_aem_AbC"],
    "fbc": ["fb.1.1795090000123.IwAR0A_b-Cdefgh", "fb.2.1795090000123.IwY2xjawFq_aem_X.AQ"],
    "fbp": ["fb.1.1795080000000.1098115397", "fb.0.1795080000000.1098115397",
            "fb.1.1795080000000.1098115397.AQ", "fb.1.1795080000000.109811539712345678"],
    "ttclid": ["E.C.P.CrkBMZzK9-pq_R7", "E.C.P.v3.abcDEF0123456789"],
    "ttp": ["2Qf3pTQtHnQKr3aN5vVjB8y7zXw", "01HV2N8Z6JQ5R4T3S2P1K0M9N8_.tt.1"],
    "msclkid": ["8d7a5f0e3c2b1a098f7e6d5c4b3a2910", "8D7A5F0E3C2B1A098F7E6D5C4B3A2910",
                "8d7a5f0e-3c2b-1a09-8f7e-6d5c4b3a2910"],
    "li_fat_id": ["c2a6d5f4-1b3e-4c7d-9f80-5a6b7c8d9e0f"],
    "sccid": ["7d0a3f9e-51c2-4f4e-8a77-0b9a3c1d2e4f", "a1B2c3D4-e5F6"],
    "scid": ["7d0a3f9e-51c2-4f4e-8a77-0b9a3c1d2e4f"],
    "epik": ["dj0yJnU9VkZ3bHpYdzN4aE9yWm5oZ0JtMQ", "dj0yJnU9abc-_DEF~1"],
    "rdt_cid": ["5044139785216890146", "5PmQbX7Z9aBcD"],
    "rdt_uuid": ["1795080000123.7d0a3f9e-51c2-4f4e-8a77-0b9a3c1d2e4f"],
    "twclid": ["2-4ixvr2yzabcDEF1234567890", "11qz9kdgmxAbC"],
    "oppref": ["op_AbC123-xyz"],
    "obref": ["123e4567-e89b-42d3-a456-426614174000"],
    "qclid": ["Qc1-abcDEF_123"],
}  # fmt: skip
NOT_ONE = ("", " ", "undefined", "null", "None", "NaN", "(not set)", "(none)", "[object Object]",
           "{gclid}", "{{click.id}}", "%CLICK_ID%", "__CLICKID__", "$gclid", "<id>", "a b c d e f",
           "abc\u00e9def", "abcdef\n", "abc;def", "abc/def?", "'abcdef'", '"abcdef"', "0", "0000",
           "00000000-0000-0000-0000-000000000000", "x" * 2000, "true;", "abc\u200bdef")  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_it_works(name: str) -> None:
    for value in REAL[name]:
        assert can_be(name, value), value
    for value in (*NOT_ONE, name, name.upper()):
        assert not can_be(name, value), value


@pytest.mark.parametrize("suffix", [*NOT_ONE, "undefined", "null"])
def test_cookies_of_meta(suffix: str) -> None:
    for name in ("fbc", "fbp"):
        assert not can_be(name, f"fb.1.1795090000123.{suffix}")
    assert not can_be("fbc", f"fc.1.1795090000123.{suffix}")


def test_every_id_and_cookie_that_is_sent_has_a_form() -> None:
    ids = "fbclid gclid gbraid wbraid ttclid li_fat_id epik sccid rdt_cid msclkid oppref"
    names = {*ids.split(), *COOKIES}
    assert names <= set(FORMS)
    assert set(FORMS) - set(COOKIES) <= set(CLICK_IDS)


def test_of_an_address_the_right_ones_stay() -> None:
    url = "https://a.example/?gclid=undefined&fbclid=IwAR0A_b-CdEf&msclkid=1&ttclid=__CLICKID__"
    assert sendable(click_ids(url)) == {"fbclid": "IwAR0A_b-CdEf"}
