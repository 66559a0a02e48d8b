"""The only way out, against hostile servers and name servers."""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import httpcore2
import pytest

from headwater.base.egress.client import Egress
from headwater.base.egress.models import (
    AddressRefused,
    BadAnswer,
    BadUrl,
    EgressError,
    EgressRequest,
    EgressResponse,
    TimedOut,
    Unreachable,
)
from tests.support import fake_platform as fake
from tests.support.fake_platform import FakePlatform
from tests.support.waiting import PATIENCE_SECONDS

LOCAL = ("127.0.0.1",)


def send(
    call: EgressRequest, *calls: EgressRequest, egress: Callable[[], Egress] | None = None
) -> list[EgressResponse]:
    async def run() -> list[EgressResponse]:
        async with (egress or (lambda: Egress(LOCAL, seconds=5)))() as client:
            return [await client.send(request) for request in (call, *calls)]

    return asyncio.run(run())


def post(url: str, **options: Any) -> EgressResponse:
    return send(
        EgressRequest(url=url, body=b"{}"), egress=lambda: Egress(LOCAL, **{"seconds": 5, **options})
    )[0]


def test_it_works() -> None:
    with FakePlatform(fake.Answer(201, {"a": 1}, {"X-Kind": "test"})) as platform:
        call = EgressRequest(url=f"{platform.url}/v1/events?x=1", body=b"[1]", headers={"Token": "t"})
        (answer,) = send(call)
        (request,) = platform.requests
        origin = platform.url
    assert (answer.status, answer.body, answer.cut) == (201, b'{"a":1}', False)
    assert answer.headers["x-kind"] == "test"
    assert (request.method, request.target, request.body) == ("POST", "/v1/events?x=1", b"[1]")
    assert request.headers["host"] == origin.removeprefix("http://")
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["token"] == "t"


def test_get_sends_no_body() -> None:
    with FakePlatform(fake.Answer(200, {}, {"Cache-Control": "max-age=60"})) as platform:
        (answer,) = send(EgressRequest(url=f"{platform.url}/client", method="GET"))
        (request,) = platform.requests
    assert request.method == "GET"
    assert not {"content-type", "content-length"} & set(request.headers)
    assert answer.headers["cache-control"] == "max-age=60"


def test_a_connection_is_used_again() -> None:
    with FakePlatform() as platform:
        call = EgressRequest(url=f"{platform.url}/", body=b"{}")
        send(call, call, call)
        assert (len(platform.requests), platform.connections) == (3, 1)


@pytest.mark.parametrize("status", [204, 301, 302, 307, 308, 400, 401, 403, 404, 429, 500, 503])
def test_every_status_is_an_answer(status: int) -> None:
    with FakePlatform(fake.Answer(status, b"", {"Retry-After": "7"})) as platform:
        answer = post(f"{platform.url}/")
    assert (answer.status, answer.headers["retry-after"]) == (status, "7")


def test_redirects_are_not_followed() -> None:
    with (
        FakePlatform() as other_platform,
        FakePlatform(fake.Redirect(f"{other_platform.url}/stolen")) as platform,
    ):
        answer = post(f"{platform.url}/")
        assert (answer.status, answer.headers["location"]) == (307, f"{other_platform.url}/stolen")
        assert (len(platform.requests), other_platform.connections) == (1, 0)


@pytest.mark.parametrize(
    "step",
    [fake.Silence(), fake.Drip(interval=0.02), fake.Drip(fake.Answer(body=b"x" * 999), 0.02, first_bytes=99)],
)
def test_the_deadline_is_for_everything(step: fake.Step) -> None:
    with FakePlatform(step) as platform:
        start = time.monotonic()
        with pytest.raises(TimedOut, match=r"127\.0\.0\.1 did not answer in time\."):
            post(f"{platform.url}/", seconds=0.3)
        assert 0.3 <= time.monotonic() - start < 1.3


def test_the_deadline_is_for_the_name_server_too() -> None:
    async def silent(_: str, __: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(TimedOut):
        post("https://slow.example/", seconds=0.05, resolver=silent)


@pytest.mark.parametrize(
    "step",
    [fake.ResetUnread(), fake.ResetRead(), fake.CutShort(0), fake.CutShort(99, fake.Answer(body=b"x" * 999))],
)
def test_a_connection_that_is_cut_off(step: fake.Step) -> None:
    with FakePlatform(step) as platform, pytest.raises((Unreachable, BadAnswer)):
        post(f"{platform.url}/")


def test_nobody_listens() -> None:
    with FakePlatform() as platform:
        url = platform.url
    with pytest.raises(Unreachable, match="refuses connections"):
        post(f"{url}/")


@pytest.mark.parametrize("step", [fake.Huge(), fake.Huge(has_length=False), fake.GzipBomb()])
def test_a_huge_answer_is_cut(step: fake.Step) -> None:
    with FakePlatform(step) as platform:
        answer = post(f"{platform.url}/")
    assert (answer.status, len(answer.body), answer.cut) == (200, 64 * 1024, True)


@pytest.mark.parametrize("step", [fake.EndlessHeaders(), fake.Raw(b"220 mail ESMTP\r\n")])
def test_what_is_not_http(step: fake.Step) -> None:
    with FakePlatform(step) as platform, pytest.raises(BadAnswer, match="in HTTP"):
        post(f"{platform.url}/")


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_packed_answer_is_unpacked(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    step = fake.Answer(200, pack(b'{"a":1}'), {"Content-Encoding": encoding})
    with FakePlatform(step) as platform:
        answer = post(f"{platform.url}/")
    assert (answer.body, answer.cut) == (b'{"a":1}', False)


def test_an_answer_that_cannot_be_unpacked() -> None:
    with FakePlatform(fake.Answer(200, b"{}", {"Content-Encoding": "gzip"})) as platform:
        answer = post(f"{platform.url}/")
    assert (answer.status, answer.body, answer.cut) == (200, b"", True)


@pytest.mark.parametrize("size", [99, 100, 101])
def test_the_cap_is_exact(size: int) -> None:
    with FakePlatform(fake.Answer(200, b"x" * size)) as platform:
        answer = post(f"{platform.url}/", most_bytes=100)
    assert (len(answer.body), answer.cut) == (min(size, 100), size > 100)


@pytest.mark.parametrize(
    "url",
    [
        "http://graph.facebook.com/", "https://graph.facebook.com:8443/", "ftp://a.example/",
        "https://user@a.example/", "https://user:word@127.0.0.1/", "https:///path", "https://",
        "a.example", "https://a.example/#x", "https://a.example\\@b.example/", "https://2130706433/",
        "https://0x7f.1/", "https://127.1/", "https://[::1%25lo]/", "https://a.example:port/",
        "https://a.example:99999/", "https://b\u00fccher.example/", "https://a.example/ x",
        "https://a.example/\r\nX: y", "https://a%00.example/", "https://a.example/" + "x" * 2000,
        "file://localhost/etc/passwd", "javascript:alert(1)", "https://127.0.0.1.:443x/",
    ],
)  # fmt: skip
def test_urls_that_are_not_called(url: str) -> None:
    async def resolver(_: str, __: int) -> list[str]:
        raise AssertionError("nothing is looked up")

    with pytest.raises(BadUrl):
        post(url, resolver=resolver)


def test_a_header_cannot_carry_another() -> None:
    with FakePlatform() as platform, pytest.raises(EgressError):
        send(EgressRequest(url=f"{platform.url}/", headers={"Token": "a\r\nX: b"}))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1", "[fd00:ec2::254]", "localhost"]
)
def test_nothing_inside_is_called(host: str) -> None:
    with FakePlatform() as platform:
        with pytest.raises(AddressRefused):
            send(EgressRequest(url=f"https://{host}/"), egress=Egress)
        assert platform.connections == 0


def make_resolver(*answers: list[str]) -> Callable[[str, int], Any]:
    """Return a resolver that gives a different answer each time."""
    answers_left = list(answers)

    async def resolve(_: str, __: int) -> list[str]:
        return answers_left.pop(0)

    return resolve


def test_one_bad_address_is_enough() -> None:
    with pytest.raises(AddressRefused, match=r"evil\.example has an address that is loopback"):
        post("https://evil.example/", resolver=make_resolver(["8.8.8.8", "127.0.0.1"]))


def test_a_name_without_addresses() -> None:
    with pytest.raises(Unreachable):
        post("https://none.example/", resolver=make_resolver([]))


class DialRecorder(httpcore2.AsyncNetworkBackend):
    """Records the addresses it should connect to, and doesn't connect."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    async def connect_tcp(self, host: str, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        self.addresses.append(host)
        raise httpcore2.ConnectError("not connected")


def test_the_address_looked_at_is_the_one_connected_to() -> None:
    """A name server that first returns a good address and then an inner one achieves nothing: it isn't asked
    a second time, and the connection goes to an address, not to the name.
    """

    async def run() -> list[str]:
        resolver = make_resolver(["8.8.8.8", "1.1.1.1"], ["127.0.0.1"], ["127.0.0.1"])
        async with Egress(resolver=resolver, seconds=5) as client:
            backend = client._pool._network_backend
            dialler = DialRecorder()
            backend._any_backend = dialler  # type: ignore[union-attr]
            with pytest.raises(Unreachable):
                await client.send(EgressRequest(url="https://rebinding.example/"))
            first = list(dialler.addresses)
            with pytest.raises(AddressRefused):
                await client.send(EgressRequest(url="https://rebinding.example/"))
            assert dialler.addresses == first
        return first

    with FakePlatform() as platform:
        assert asyncio.run(run()) == ["8.8.8.8", "1.1.1.1"]
        assert platform.connections == 0


def test_an_address_of_this_machine_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.base.egress.client.first_refusal", lambda _: None)
    with pytest.raises(AddressRefused, match="of this machine"):
        send(EgressRequest(url="https://127.0.0.1/"), egress=Egress)


def test_a_named_host_may_be_inside_and_others_not() -> None:
    resolver = make_resolver(["127.0.0.1"], ["127.0.0.1"])
    with FakePlatform() as platform:
        port = platform.url.rpartition(":")[2]

        async def run() -> int:
            async with Egress(["platform.test"], resolver=resolver, seconds=5) as client:
                await client.send(EgressRequest(url=f"http://platform.test:{port}/"))
                with pytest.raises(AddressRefused):
                    await client.send(EgressRequest(url="https://other.test/"))
            return len(platform.requests)

        assert asyncio.run(run()) == 1
        assert platform.requests[0].headers["host"] == f"platform.test:{port}"


def test_the_next_address_is_tried() -> None:
    resolver = make_resolver(["127.0.0.2", "127.0.0.1"])
    with FakePlatform() as platform:
        port = platform.url.rpartition(":")[2]
        call = EgressRequest(url=f"http://platform.test:{port}/")
        (answer,) = send(call, egress=lambda: Egress(["platform.test"], resolver=resolver, seconds=5))
    assert answer.status == 200


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakePlatform() as proxy, FakePlatform() as platform:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        post(f"{platform.url}/")
        assert (proxy.connections, platform.connections) == (0, 1)


def test_what_is_shown_holds_no_secret() -> None:
    call = EgressRequest(url="https://graph.facebook.com/v1?access_token=geheim", headers={"T": "geheim"})
    assert "geheim" not in repr(call)
    with FakePlatform(fake.ResetUnread()) as platform:
        secret = EgressRequest(url=f"{platform.url}/?access_token=geheim", headers={"T": "geheim"})
        with pytest.raises(EgressError) as caught:
            send(secret)
    assert "geheim" not in str(caught.value)


def test_a_stuck_name_server_does_not_hold_up_others() -> None:
    waits = threading.Event()

    async def run(url: str) -> int:
        async def resolve(host: str, _: int) -> list[str]:
            if host == "stuck.test":
                await asyncio.to_thread(waits.wait, PATIENCE_SECONDS)
            return ["127.0.0.1"]

        async with Egress(["stuck.test", "platform.test"], resolver=resolve, seconds=5) as client:
            stuck = asyncio.create_task(
                client.send(EgressRequest(url=url.replace("127.0.0.1", "stuck.test")))
            )
            answer = await client.send(EgressRequest(url=url.replace("127.0.0.1", "platform.test")))
            assert not stuck.done()
            waits.set()
            return answer.status + (await stuck).status

    with FakePlatform() as platform:
        assert asyncio.run(run(f"{platform.url}/")) == 400
