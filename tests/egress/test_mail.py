"""Mail through a real server: accepted, refused, with TLS and passwords, and never beyond the deadline. Each
failure explains what to do.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from headwater.base.egress.mail import MailError, send_mail
from headwater.base.mail_server import read_mail_server
from tests.support.certificates import certify
from tests.support.mail_server import PASSWORD, USER, Mailbox, serve_mail

TO = "ada@example.com"


def message() -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "alerts@example.com", TO, "Visits stopped"
    mail.set_content("The tag is gone.")
    return mail


def send(url: str, tls: ssl.SSLContext | None = None, seconds: float = 5.0) -> None:
    server = read_mail_server(url)
    asyncio.run(send_mail(server, "alerts@example.com", TO, message(), seconds, tls))


def refusal(url: str, tls: ssl.SSLContext | None = None, seconds: float = 5.0) -> MailError:
    with pytest.raises(MailError) as caught:
        send(url, tls, seconds)
    return caught.value


@pytest.fixture
def plain_mailbox() -> Iterator[Mailbox]:
    with serve_mail() as mailbox:
        yield mailbox


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context, and the context of a client that trusts it under the name localhost."""
    file = certify(tmp_path_factory.mktemp("mail"), "localhost")
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(file)
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.load_verify_locations(file)
    return server_context, client_context


def test_it_works(plain_mailbox: Mailbox) -> None:
    send(plain_mailbox.url())
    assert plain_mailbox.recipients == [TO]
    assert plain_mailbox.messages[0]["subject"] == "Visits stopped"


def test_tls_is_required_unless_chosen_otherwise(plain_mailbox: Mailbox) -> None:
    error = refusal(plain_mailbox.url(tls="required"))
    assert "does not offer TLS, so nothing was sent" in str(error)
    assert not error.is_final
    send(plain_mailbox.url(tls="optional"))
    assert len(plain_mailbox.messages) == 1


def test_tls_and_a_password(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    server_context, client_context = contexts
    secret = PASSWORD.replace(" ", "%20")
    with serve_mail(server_context, requires_login=True) as mailbox:
        host = f"localhost:{mailbox.port}"
        send(f"smtp://{USER}:{secret}@{host}", client_context)
        assert len(mailbox.messages) == 1
        error = refusal(f"smtp://{USER}:wrong@{host}", client_context)
        assert "refuses the user name or password in HEADWATER_SMTP_URL" in str(error)
        assert "wrong" not in str(error)
        error = refusal(f"smtp://{host}", client_context)
        assert "does not send for alerts@example.com" in str(error)
        error = refusal(f"smtp://{USER}:{secret}@{host}")
        assert "TLS with localhost" in str(error)
        error = refusal(f"smtp://{USER}:{secret}@127.0.0.1:{mailbox.port}", client_context)
        assert "TLS with 127.0.0.1" in str(error)
        assert len(mailbox.messages) == 1


def test_tls_from_the_beginning(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    server_context, client_context = contexts
    with serve_mail(server_context, is_tls_first=True) as mailbox:
        send(f"smtps://localhost:{mailbox.port}", client_context)
        assert len(mailbox.messages) == 1


def test_refused_addresses(plain_mailbox: Mailbox) -> None:
    plain_mailbox.refusal = "550 No such user here"
    error = refusal(plain_mailbox.url())
    assert error.is_final
    assert "does not accept mail for this address (No such user here). Check its" in str(error)
    plain_mailbox.refusal = "450 Try later"
    assert not refusal(plain_mailbox.url()).is_final
    plain_mailbox.refusal, plain_mailbox.sender_refusal = "", "553 Not yours\x07"
    error = refusal(plain_mailbox.url())
    assert "HEADWATER_MAIL_FROM" in str(error)
    assert str(error).isprintable()


@pytest.mark.parametrize("replies", [[b"554 No service"], [b"220 ready", b"550 Not you", b"550 Not you"]])
def test_a_server_that_refuses_the_client_is_tried_again(replies: list[bytes]) -> None:
    """Its answer is not about the message, and the operator can get it changed."""

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as commands:
            for reply in replies:
                connection.sendall(reply + b"\r\n")
                commands.readline()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        error = refusal(f"smtp://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert not error.is_final
    assert "did not accept the message" in str(error)


def test_an_unreachable_server_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert "it refuses connections" in str(refusal(f"smtp://127.0.0.1:{port}"))
    assert "its name is not known" in str(refusal("smtp://no-such-host.invalid"))


@pytest.mark.parametrize("drip", [b"", b"2"])
def test_a_slow_server_is_left(drip: bytes) -> None:
    """One server sends nothing, the other sends a byte now and then."""
    is_over = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"220 ready\r\n")
            while not is_over.wait(0.05):
                try:
                    connection.sendall(drip)
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        start = time.monotonic()
        error = refusal(f"smtp://127.0.0.1:{listener.getsockname()[1]}", seconds=0.5)
        is_over.set()
        thread.join()
    assert "did not answer in time" in str(error)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "url",
    ["http://mail.example", "smtp://", "smtp://mail.example/x", "smtp://mail.example?tls=maybe",
     "smtp://mail.example?x=1", "smtp://a:b@mail.example?tls=never", "smtp://mail.example:x"],
)  # fmt: skip
def test_what_is_no_server(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_mail_server(url)


def test_a_password_is_not_in_its_text() -> None:
    server = read_mail_server("smtps://u:p%40ss@mail.example")
    assert (server.port, server.password) == (465, "p@ss")
    assert "p@ss" not in repr(server)
