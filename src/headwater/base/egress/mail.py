"""Mail through the operator's server: one message, within a deadline; errors are sentences with advice."""

from __future__ import annotations

import asyncio
import smtplib
import socket
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import EmailMessage

from headwater.base.mail_server import MailServer

DEADLINE_SECONDS = 20.0
ANSWER_SECONDS = 10.0
"""Maximum seconds for each server reply."""
LONGEST_REPLY = 200


class MailError(Exception):
    """The message was refused. The text can be shown to users."""

    def __init__(self, text: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final
        """True if retrying can't help."""


async def send_mail(
    server: MailServer,
    sender: str,
    recipient: str,
    message: EmailMessage,
    seconds: float = DEADLINE_SECONDS,
    tls: ssl.SSLContext | None = None,
) -> None:
    """Hand a message to the server. Raise MailError."""
    dialogue = _Dialogue(server, sender, recipient, message, seconds, tls)
    await asyncio.to_thread(dialogue.run)


@dataclass
class _Dialogue:
    server: MailServer
    sender: str
    recipient: str
    message: EmailMessage
    seconds: float
    tls: ssl.SSLContext | None

    def run(self) -> None:
        server = self.server
        try:
            with self._connected() as client, self._bounded(client):
                self._secure(client)
                self._log_in(client)
                client.send_message(self.message, self.sender, [self.recipient])
        except MailError:
            raise
        except smtplib.SMTPRecipientsRefused as error:
            code, reply = next(iter(error.recipients.values()))
            raise MailError(
                f"{server.host} does not accept mail for this address ({_reply(reply)}). Check its spelling.",
                is_final=code >= 500,
            ) from None
        except smtplib.SMTPSenderRefused as error:
            raise MailError(
                f"{server.host} does not send for {self.sender} ({_reply(error.smtp_error)}). "
                "The operator must set HEADWATER_MAIL_FROM to an address that it "
                "may send for, or a user name and password in HEADWATER_SMTP_URL."
            ) from None
        except smtplib.SMTPNotSupportedError:
            raise MailError(
                f"{server.host} does not support such an address or password.", is_final=True
            ) from None
        except smtplib.SMTPResponseException as error:
            raise MailError(
                f"{server.host} did not accept the message ({_reply(error.smtp_error)}).",
                # A refused greeting is about the client, not about the message.
                is_final=isinstance(error, smtplib.SMTPDataError) and error.smtp_code >= 500,
            ) from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or "they have no protocol in common"
            raise MailError(
                f"TLS with {server.name} failed: {reason}. The operator must check "
                "the host in HEADWATER_SMTP_URL, which the certificate must name, and whether the "
                "port is for smtps:// or for smtp://."
            ) from None
        except TimeoutError:
            raise self._make_timeout() from None
        except (smtplib.SMTPServerDisconnected, OSError) as error:
            if isinstance(error.__context__, TimeoutError):
                raise self._make_timeout() from None
            raise self._make_connection_error(error) from None

    def _secure(self, client: smtplib.SMTP) -> None:
        server = self.server
        client.ehlo_or_helo_if_needed()
        if server.is_tls or server.starttls == "never":
            return
        if client.has_extn("starttls"):
            client.starttls(context=self.tls or ssl.create_default_context())
            client.ehlo()
        elif server.starttls == "required":
            raise MailError(
                f"{server.name} does not offer TLS, so nothing was sent. The operator can choose "
                "another port in HEADWATER_SMTP_URL, or add ?tls=optional to it if the connection "
                "stays within their own network."
            )

    def _log_in(self, client: smtplib.SMTP) -> None:
        if not self.server.user:
            return
        try:
            client.login(self.server.user, self.server.password)
        except (smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError) as error:
            reply = _reply(getattr(error, "smtp_error", b"")) or "it does not accept passwords"
            raise MailError(
                f"{self.server.host} refuses the user name or password in HEADWATER_SMTP_URL "
                f"({reply}). The operator must correct them."
            ) from None

    @contextmanager
    def _connected(self) -> Generator[smtplib.SMTP]:
        server, seconds = self.server, min(ANSWER_SECONDS, self.seconds)
        if server.is_tls:
            context = self.tls or ssl.create_default_context()
            client = smtplib.SMTP_SSL(server.host, server.port, timeout=seconds, context=context)
        else:
            client = smtplib.SMTP(server.host, server.port, timeout=seconds)
        try:
            yield client
            with suppress(smtplib.SMTPException, OSError):
                client.quit()
        finally:
            client.close()

    @contextmanager
    def _bounded(self, client: smtplib.SMTP) -> Generator[None]:
        """Enforce the deadline, because a server may answer octet by octet."""
        deadline_event = threading.Event()

        def end() -> None:
            deadline_event.set()
            if client.sock is not None:
                with suppress(OSError):
                    client.sock.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self.seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (MailError, smtplib.SMTPException, OSError):
            if deadline_event.is_set():
                raise self._make_timeout() from None
            raise
        finally:
            timer.cancel()

    def _make_timeout(self) -> MailError:
        return MailError(f"{self.server.name} did not answer in time. The message will be retried.")

    def _make_connection_error(self, error: Exception) -> MailError:
        if isinstance(error, socket.gaierror):
            reason = "its name is not known"
        elif isinstance(error, ConnectionRefusedError):
            reason = "it refuses connections"
        else:
            reason = "the connection was cut"
        return MailError(
            f"{self.server.name} cannot be reached ({reason}). The operator must "
            "check the host and port in HEADWATER_SMTP_URL."
        )


def _reply(text: bytes | str) -> str:
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    printable = "".join(word if word.isprintable() else " " for word in words)
    return " ".join(printable.split())[:LONGEST_REPLY]
