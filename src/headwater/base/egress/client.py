"""Safe calls to untrusted servers, including their name servers: one deadline, a size limit, no redirects,
and connections only to checked addresses.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpcore2
import httpx2

from headwater import __version__
from headwater.base.egress.addresses import first_refusal, read_host
from headwater.base.egress.decompression import BoundedBody
from headwater.base.egress.models import (
    MOST_BYTES,
    AddressRefused,
    BadAnswer,
    BadUrl,
    EgressError,
    EgressRequest,
    EgressResponse,
    TimedOut,
    Unreachable,
)
from headwater.base.telemetry.spans import span

DEADLINE_SECONDS = 10.0
CONNECT_SECONDS = 3.0
"""Connection time-out for each address of a host except the last."""
LONGEST_URL = 2_000
MOST_ADDRESSES = 4
LOOKUPS = 32
"""Concurrent name lookups. A silent name server holds one for half a minute."""

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Resolves a host to its addresses. Raises OSError."""


@cache
def _public_trust() -> ssl.SSLContext:
    """Return the certificates of public servers, which are read once per process."""
    return httpx2.create_ssl_context(trust_env=False)


class Egress:
    """The HTTP client, a context manager that keeps connections for later calls.

    It calls only https on port 443 of a public address, except on hosts that the operator allowed.
    """

    def __init__(
        self,
        allowed_private_hosts: Collection[str] = (),
        *,
        seconds: float = DEADLINE_SECONDS,
        most_bytes: int = MOST_BYTES,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        allowed_hosts = frozenset(
            host for text in allowed_private_hosts if (host := read_host(bracketed(text)))
        )
        self._allowed_hosts = allowed_hosts
        self._seconds, self._most_bytes = seconds, most_bytes
        self._threads = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="names")
        self._backend = _Pinned(resolver or self._look_up, allowed_hosts)
        self._tls = tls

    @cached_property
    def _pool(self) -> httpcore2.AsyncConnectionPool:
        """Created by the first call, because reading the certificates takes 30 ms and 3 MB."""
        return httpcore2.AsyncConnectionPool(
            ssl_context=self._tls or _public_trust(),
            max_connections=None,
            max_keepalive_connections=100,
            keepalive_expiry=30.0,
            network_backend=self._backend,
        )

    async def send(
        self, call: EgressRequest, seconds: float | None = None, *, most_bytes: int | None = None
    ) -> EgressResponse:
        """Send a request and return the response with any status. `seconds` and `most_bytes` override the
        client's limits. Raise EgressError.
        """
        host, request = self._request(call)
        attributes = {"http.request.method": call.method, "server.address": host}
        try:
            with span(call.method, attributes, kind="client") as request_span:
                async with asyncio.timeout(self._seconds if seconds is None else seconds):
                    response = await self._exchange(request, most_bytes or self._most_bytes)
                request_span.note("http.response.status_code", response.status)
                return response
        except EgressError:
            raise
        except (TimeoutError, httpcore2.TimeoutException):
            raise TimedOut(f"{host} did not answer in time.") from None
        except httpcore2.ProtocolError:
            raise BadAnswer(f"{host} did not answer in HTTP.") from None
        except (httpcore2.NetworkError, OSError) as error:
            raise Unreachable(f"{host} cannot be reached ({_fault(error)}).") from None

    async def close(self) -> None:
        """Close every connection."""
        if "_pool" in vars(self):
            await self._pool.aclose()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    def _request(self, call: EgressRequest) -> tuple[str, httpcore2.Request]:
        """Raise BadUrl."""
        scheme, host, port, target = _split(call.url)
        if host not in self._allowed_hosts and (scheme, port) != ("https", 443):
            raise BadUrl(f"{host} is only called by https on port 443.")
        url_host = f"[{host}]" if ":" in host else host
        standard = port == (443 if scheme == "https" else 80)
        headers = {
            "Host": url_host if standard else f"{url_host}:{port}",
            "User-Agent": f"Headwater/{__version__}",
            "Accept-Encoding": "identity",
            "Accept": "application/json",
        }
        if call.method == "POST":
            headers |= {"Content-Type": call.content_type, "Content-Length": str(len(call.body))}
        headers |= call.headers
        url = httpcore2.URL(scheme=scheme, host=host, port=port, target=target)
        try:
            encoded = [(name.encode("ascii"), text.encode("ascii")) for name, text in headers.items()]
        except UnicodeEncodeError:
            raise BadUrl(f"A header for {host} is not plain text.") from None
        return host, httpcore2.Request(call.method, url, headers=encoded, content=call.body)

    async def _exchange(self, request: httpcore2.Request, most_bytes: int) -> EgressResponse:
        response = await self._pool.handle_async_request(request)
        try:
            fields = tuple(
                (name.decode("latin-1").lower(), text.decode("latin-1")) for name, text in response.headers
            )
            headers = dict(fields)
            body = BoundedBody(headers.get("content-encoding", ""), most_bytes)
            async for chunk in response.aiter_stream():
                if not body.feed(chunk):
                    break
            return EgressResponse(
                status=response.status, headers=headers, fields=fields, body=body.bytes, cut=body.cut
            )
        finally:
            await response.aclose()

    async def _look_up(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        entries: list[Any] = await loop.run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class _Pinned(httpcore2.AsyncNetworkBackend):
    """Checks all addresses of a name, and connects to one of them."""

    def __init__(self, resolver: Resolver, allowed_hosts: Collection[str]) -> None:
        self._resolver, self._allowed_hosts = resolver, allowed_hosts
        self._any_backend: Any = httpcore2.AnyIOBackend()  # type checkers see a stand-in

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 # the library's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._addresses(host, port)
        for address in addresses[:-1]:
            try:
                return await self._any_backend.connect_tcp(
                    address, port, CONNECT_SECONDS, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._any_backend.connect_tcp(
            addresses[-1], port, timeout, local_address, socket_options
        )

    async def _addresses(self, host: str, port: int) -> list[str]:
        addresses = [host] if _is_address(host) else await self._resolver(host, port)
        if not addresses:
            raise OSError("no address")
        if host not in self._allowed_hosts:
            refusal = first_refusal(addresses)
            if refusal is not None:
                raise AddressRefused(f"{host} has an address that is {refusal}.")
            if any(map(_is_ours, addresses)):
                raise AddressRefused(f"{host} has an address of this machine.")
        return addresses[:MOST_ADDRESSES]


def bracketed(host: str) -> str:
    """Return a host as in a URL, an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _split(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and target. Raise BadUrl."""
    if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise BadUrl("The URL is too long or has characters that no URL has.")
    if "\\" in url or "#" in url:
        raise BadUrl("The URL has a backslash or a fragment.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadUrl("The URL cannot be read.") from None
    if parts.scheme not in ("http", "https"):
        raise BadUrl("The URL is not of the web.")
    if "@" in parts.netloc:
        raise BadUrl("The URL names a user.")
    name = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc.rstrip(":")
    host = read_host(name)
    if host is None:
        raise BadUrl("The URL's host is not spelt plainly.")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return parts.scheme, host, port or (443 if parts.scheme == "https" else 80), target


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_ours(address: str) -> bool:
    """Return whether this machine has an address, even a public one: only then can it be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _fault(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not valid: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return "TLS failed"
        if isinstance(cause, socket.gaierror):
            return "its name is not known"
        if isinstance(cause, ConnectionRefusedError):
            return "it refuses connections"
        cause = cause.__cause__ or cause.__context__
    return "the connection failed"
