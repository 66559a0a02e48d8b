"""Hosts shared by strangers make no company, but names below the list's private suffixes do."""

from __future__ import annotations

import psycopg
import pytest

from headwater.people.companies.domains import business_domain, parse_company_domain
from tests.support.pipeline import event, new_stage

SHARED = [
    "privaterelay.appleid.com", "duck.com", "mozmail.com", "relay.firefox.com", "simplelogin.com",
    "aleeas.com", "slmails.com", "anonaddy.me", "addy.io", "ada.anonaddy.com", "passmail.net",
    "acme.onmicrosoft.com", "mail.acme.onmicrosoft.com", "acme.myshopify.com", "acme.zendesk.com",
    "acme.freshdesk.com", "marketplace.amazon.com", "marketplace.amazon.de",
    "marketplace.amazon.co.uk", "marketplace.amazon.com.au", "members.ebay.com",
    "members.ebay.co.uk", "guest.booking.com", "reply.airbnb.com", "guest.airbnb.com",
    "users.noreply.github.com", "googlegroups.com", "gmail.com", "mail.gmail.com", "uk.com",
    "co.uk", "verkopen.bol.com", "reply.craigslist.org", "acme.herokuapp.com",
    "gmail.co", "gmail.com.br", "googlemail.co", "hotmail.co", "yahoo.co", "outlook.co", "icloud.co",
    "gmial.com", "gmal.com", "gnail.com", "gamil.com", "hotmial.com", "hotmil.com", "outlok.com",
    "yaho.com", "iclod.com", "alum.mit.edu", "alumni.stanford.edu", "acme.sharepoint.com",
]  # fmt: skip
OWN = {
    "x.uk.com": "x.uk.com", "mail.x.uk.com": "x.uk.com", "shop.de.com": "shop.de.com",
    "acme.com": "acme.com", "eu.acme.co.uk": "acme.co.uk", "apple.com": "apple.com",
    "appleid.com": "appleid.com", "amazon.de": "amazon.de", "booking.com": "booking.com",
    "zendesk.com": "zendesk.com", "microsoft.com": "microsoft.com", "ebay.com": "ebay.com",
    "mit.edu": "mit.edu", "alumni.acme.com": "acme.com", "marketplace.acme.com": "acme.com",
    "members.acme.de": "acme.de",
}  # fmt: skip


def test_it_works(connection: psycopg.Connection) -> None:
    stage = new_stage(connection)
    stage.run(*(event(email=f"ada@{host}") for host in [*SHARED, *OWN]))
    assert set(stage.values("companies", "domain")) == {*OWN.values()}


@pytest.mark.parametrize("host", SHARED)
def test_a_host_that_strangers_share(host: str) -> None:
    assert business_domain(f"ada@{host}") is None
    with pytest.raises(ValueError, match="must be"):
        parse_company_domain(host)


@pytest.mark.parametrize("host", OWN)
def test_a_host_of_a_company(host: str) -> None:
    assert business_domain(f"ada@{host}") == OWN[host]
