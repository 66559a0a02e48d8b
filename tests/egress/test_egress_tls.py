"""TLS of the only way out: verified for the requested name, at any address."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressRequest, EgressResponse, Unreachable
from tests.support.certificates import certify


async def _resolve_locally(_: str, __: int) -> list[str]:
    return ["127.0.0.1"]


class TlsServer:
    """Answers one connection over TLS, and keeps the requested name."""

    def __init__(self, file: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(file)
        self._context.sni_callback = self._note
        self.requested_names: list[str | None] = []
        self.port = 0

    def _note(self, _: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        self.requested_names.append(name)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def call(self, tls: ssl.SSLContext | None, name: str) -> EgressResponse:
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0, ssl=self._context)
        port = server.sockets[0].getsockname()[1]
        try:
            async with Egress([name], resolver=_resolve_locally, seconds=5, tls=tls) as client:
                return await client.send(EgressRequest(url=f"https://{name}:{port}/", method="GET"))
        finally:
            server.close()


def test_it_works(tmp_path: Path) -> None:
    file = certify(tmp_path, "platform.test")
    server = TlsServer(file)
    trusting_context = ssl.create_default_context(cafile=file)
    assert asyncio.run(server.call(trusting_context, "platform.test")).status == 200
    assert server.requested_names == ["platform.test"]
    with pytest.raises(Unreachable, match="certificate is not valid"):
        asyncio.run(server.call(trusting_context, "other.test"))
    with pytest.raises(Unreachable, match="certificate is not valid"):
        asyncio.run(TlsServer(file).call(None, "platform.test"))
