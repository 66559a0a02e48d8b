"""A real SMTP server on loopback that can refuse messages or require a password."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "headwater", "correct horse"


@dataclass
class Mailbox:
    """The messages received, and the server's behaviour."""

    port: int = 0
    messages: list[EmailMessage] = field(default_factory=list[EmailMessage])
    recipients: list[str] = field(default_factory=list[str])
    refusal: str = ""
    """The response to a recipient when it is refused."""
    sender_refusal: str = ""

    async def handle_MAIL(  # noqa: N802 - the library's names
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        if self.sender_refusal:
            return self.sender_refusal
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        if self.refusal:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, _: SMTP, __: Session, envelope: Envelope
    ) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        self.messages.append(message_from_bytes(content, policy=policy.default))
        self.recipients += envelope.rcpt_tos
        return "250 OK"

    def url(self, scheme: str = "smtp", user: str = "", tls: str = "never") -> str:
        query = f"?tls={tls}" if scheme == "smtp" else ""
        return f"{scheme}://{user}127.0.0.1:{self.port}/{query}"


def _authenticate(_: SMTP, __: Session, ___: Envelope, mechanism: str, data: Any) -> AuthResult:
    expected = LoginPassword(USER.encode(), PASSWORD.encode())
    return AuthResult(success=mechanism in ("LOGIN", "PLAIN") and data == expected, handled=False)


@contextmanager
def serve_mail(
    tls: ssl.SSLContext | None = None, *, is_tls_first: bool = False, requires_login: bool = False
) -> Iterator[Mailbox]:
    """Run a server with STARTTLS, with TLS from the start, or without TLS."""
    mailbox = Mailbox()
    options: dict[str, Any] = {}
    if tls is not None and not is_tls_first:
        options["tls_context"] = tls
    if requires_login:
        options |= {"authenticator": _authenticate, "auth_required": True,
                    "auth_require_tls": not is_tls_first}  # fmt: skip
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def begin() -> asyncio.Server:
        context = tls if is_tls_first else None
        return await loop.create_server(
            lambda: SMTP(mailbox, hostname="localhost", loop=loop, **options), "127.0.0.1", 0,
            ssl=context,
        )  # fmt: skip

    async def end(server: asyncio.Server) -> None:
        server.close()
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            await asyncio.wait([task])

    server = asyncio.run_coroutine_threadsafe(begin(), loop).result()
    mailbox.port = server.sockets[0].getsockname()[1]
    try:
        yield mailbox
    finally:
        asyncio.run_coroutine_threadsafe(end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
