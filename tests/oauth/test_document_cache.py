"""How long metadata documents are cached, and how often their hosts are requested."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.assistants.oauth.client_metadata import (
    AT_A_TIME,
    PER_HOST_A_MINUTE,
    HostedClients,
    fresh_seconds,
)
from headwater.assistants.oauth.errors import OAuthError
from tests.oauth.documents import document, fetch, new_url, run_with_clients, serve
from tests.oauth.internet import DOMAIN, Internet, page


def test_it_works(internet: Internet) -> None:
    url = new_url()
    serve(internet, url, page(document(url)))
    assert fetch(internet, url).id == url


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 900), ("public", 900), ("max-age=60", 60), ("max-age=0", 0), ("MAX-AGE=7", 7),
        ('max-age="60"', 60), ("public, max-age=86400", 86400), ("max-age=86401", 86400),
        ("max-age=9999999999", 86400), ("no-store", 0), ("no-cache", 0),
        ("max-age=60, no-store", 0),
        ("s-maxage=5", 900), ("max-age=-1", 900), ("max-age=x", 900), ("private,max-age = 5", 5),
        ('no-cache="x"', 0),
    ],
)  # fmt: skip
def test_how_long_a_document_is_remembered(header: str, seconds: float) -> None:
    assert fresh_seconds(header) == seconds


def test_a_document_is_asked_for_again_when_it_is_old(
    internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 1000.0
    clocks = SimpleNamespace(monotonic=lambda: clock)
    monkeypatch.setattr("headwater.assistants.oauth.client_metadata.time", clocks)

    async def act(clients: HostedClients) -> None:
        nonlocal clock
        url = new_url()
        address = url.removeprefix("https://")
        serve(internet, url, page(document(url), Cache_Control="max-age=100"))
        await clients.fetch(url)
        clock += 99
        await clients.fetch(url)
        assert internet.requested_urls.count(address) == 1
        clock += 2
        serve(internet, url, page(document(url, client_name="New"), Cache_Control="no-store"))
        assert (await clients.fetch(url)).name == "New"
        await clients.fetch(url)
        assert internet.requested_urls.count(address) == 3
        serve(internet, url, page({}, 500))
        for _ in range(3):  # a failure always discards the older document
            with pytest.raises(OAuthError) as error_info:
                await clients.fetch(url)
            assert "answered 500" in error_info.value.description
        assert internet.requested_urls.count(address) == 4
        serve(internet, url, page(document(url)))
        clock += 31
        assert (await clients.fetch(url)).name == "Hosted"

    run_with_clients(internet, act)


def test_everybody_who_waits_shares_one_request(internet: Internet) -> None:
    url = new_url()
    serve(internet, url, page(document(url)))

    async def act(clients: HostedClients) -> None:
        results = await asyncio.gather(*(clients.fetch(url) for _ in range(20)))
        assert {client.id for client in results} == {url}

    run_with_clients(internet, act)
    assert internet.requested_urls.count(url.removeprefix("https://")) == 1


def test_so_many_at_a_time(internet: Internet) -> None:
    urls = [new_url() for _ in range(3 * AT_A_TIME)]
    inside = peak = 0

    async def act(clients: HostedClients) -> None:
        send = clients._egress.send

        async def count_calls(*call: Any) -> Any:
            nonlocal inside, peak
            inside += 1
            peak = max(peak, inside)
            try:
                return await send(*call)
            finally:
                inside -= 1

        clients._egress.send = count_calls  # type: ignore[method-assign]
        await asyncio.gather(*map(clients.fetch, urls))

    for url in urls:
        serve(internet, url, page(document(url)))
    run_with_clients(internet, act)
    assert peak == AT_A_TIME


def test_a_host_is_not_asked_too_often(internet: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 1000.0
    clocks = SimpleNamespace(monotonic=lambda: clock)
    monkeypatch.setattr("headwater.assistants.oauth.client_metadata.time", clocks)
    host = f"often.{DOMAIN}"

    async def act(clients: HostedClients) -> None:
        nonlocal clock
        urls = [f"https://{host}/{number}" for number in range(PER_HOST_A_MINUTE + 5)]
        results = await asyncio.gather(*map(clients.fetch, urls), return_exceptions=True)
        errors = [result.error for result in results if isinstance(result, OAuthError)]
        assert errors.count("temporarily_unavailable") == 5
        assert sum(address.startswith(host) for address in internet.requested_urls) == PER_HOST_A_MINUTE
        clock += 61
        url = f"https://{host}/fresh"
        serve(internet, url, page(document(url)))
        await clients.fetch(url)

    run_with_clients(internet, act)


def test_only_so_many_are_remembered(internet: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.assistants.oauth.client_metadata.MOST_KNOWN", 3)

    async def act(clients: HostedClients) -> None:
        for _ in range(5):
            url = new_url()
            serve(internet, url, page(document(url)))
            await clients.fetch(url)
        assert len(clients._entries) == 3

    run_with_clients(internet, act)
