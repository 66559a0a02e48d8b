"""TLS of the one way out: verified, for the name that was asked for, whatever its address."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headwater.egress.client import Egress
from headwater.egress.models import EgressRequest, EgressResponse, Unreachable


def certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate for a name, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    file = folder / f"{name}.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return file


async def _here(_: str, __: int) -> list[str]:
    return ["127.0.0.1"]


class TlsServer:
    """Answers one connection over TLS, and keeps the name that was asked for."""

    def __init__(self, file: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(file)
        self._context.sni_callback = self._note
        self.asked: list[str | None] = []
        self.port = 0

    def _note(self, _: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        self.asked.append(name)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def call(self, tls: ssl.SSLContext | None, name: str) -> EgressResponse:
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0, ssl=self._context)
        port = server.sockets[0].getsockname()[1]
        try:
            async with Egress([name], resolver=_here, seconds=5, tls=tls) as client:
                return await client.send(EgressRequest(url=f"https://{name}:{port}/", method="GET"))
        finally:
            server.close()


def test_it_works(tmp_path: Path) -> None:
    file = certificate(tmp_path, "platform.test")
    server = TlsServer(file)
    trusting = ssl.create_default_context(cafile=file)
    assert asyncio.run(server.call(trusting, "platform.test")).status == 200
    assert server.asked == ["platform.test"]
    with pytest.raises(Unreachable, match="certificate is not valid"):
        asyncio.run(server.call(trusting, "other.test"))
    with pytest.raises(Unreachable, match="certificate is not valid"):
        asyncio.run(TlsServer(file).call(None, "platform.test"))
