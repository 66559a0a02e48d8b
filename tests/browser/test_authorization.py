"""Authorizing an assistant in a real browser: the browser's rules about form targets, which no HTTP client
has, must allow the answer, and no form of another site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET6
from threading import Thread
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from headwater.assistants.oauth.clients import LONGEST_NAME
from tests.oauth.staging import AUTHORIZE, Assistant, Installation, Person, make_query
from tests.support.accounts import PASSWORD
from tests.support.campaigns import pick_share
from tests.support.waiting import PATIENCE_SECONDS, wait_until

PAYLOADS = [
    line
    for line in (Path(__file__).parent.parent / "data" / "payloads.txt").read_text().splitlines()
    if not line.startswith("#")
]


class Application:
    """The user's own program, which waits for the answer on the loopback interface."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[str] = []
        self.page = b"You can close this window."


@contextmanager
def waiting(host: str = "127.0.0.1") -> Iterator[Application]:
    class Server(ThreadingHTTPServer):
        address_family = AF_INET6 if ":" in host else ThreadingHTTPServer.address_family

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/callback"):
                application.received.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(application.page)

        def log_message(self, *_: object) -> None:
            pass

    server = Server((host, 0), Handler)
    url_host = f"[{host}]" if ":" in host else host
    application = Application(f"http://{url_host}:{server.server_address[1]}")
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield application
    server.shutdown()
    server.server_close()


def open_request(page: Page, installation: Installation, assistant: Assistant, person: Person) -> None:
    """Follow the assistant's link, logging in on the way."""
    page.set_default_timeout(1000 * PATIENCE_SECONDS)
    page.goto(f"{installation.base_url}{AUTHORIZE}?{urlencode(assistant.request())}")
    page.get_by_label("E-mail address").fill(person.user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Connect Test?")).to_be_visible()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_it_works(
    make_page: Callable[..., Page], installation: Installation, space_id: int, host: str
) -> None:
    """The answer may go to any port of this machine, by name or number."""
    person = installation.person(space_id, logged_in=False)
    page = make_page()
    reports: list[str] = []
    page.on("console", lambda message: reports.append(message.text))
    with waiting(host) as application:
        assistant = installation.assistant(f"{application.url}/callback")
        open_request(page, installation, assistant, person)
        page.get_by_role("button", name="Connect", exact=True).click()
        page.wait_for_url(re.compile("/callback"))
        expect(page.get_by_text("You can close")).to_be_visible()
    (answer,) = application.received
    token = installation.exchange(assistant, make_query(answer)["code"]).json()["access_token"]
    assert installation.knock(space_id, token).status_code == 200
    assert reports == []


def test_the_user_can_decline(
    make_page: Callable[..., Page], installation: Installation, space_id: int
) -> None:
    person = installation.person(space_id, installation.make_space(), logged_in=False)
    page = make_page()
    with waiting() as application:
        uri = application.url.replace("127.0.0.1", "localhost") + "/callback"
        assistant = installation.assistant(uri)
        open_request(page, installation, assistant, person)
        page.get_by_role("button", name="Connect", exact=True).click()
        assert application.received == []  # no Space is selected
        page.get_by_role("button", name="Do not connect").click()
        page.wait_for_url(re.compile("/callback"))
    assert make_query(application.received[0])["error"] == "access_denied"


def test_another_user_can_log_in(
    make_page: Callable[..., Page], installation: Installation, space_id: int
) -> None:
    person, other_person = (installation.person(space_id, logged_in=False) for _ in range(2))
    page = make_page()
    with waiting() as application:
        assistant = installation.assistant(f"{application.url}/callback")
        open_request(page, installation, assistant, person)
        page.get_by_role("button", name="Log in as another user").click()
        page.get_by_label("E-mail address").fill(other_person.user.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("button", name=f"Not {other_person.user.email}?")).to_be_visible()
        page.get_by_role("button", name="Connect", exact=True).click()
        page.wait_for_url(re.compile("/callback"))


def test_an_application_with_a_scheme_of_its_own(
    make_page: Callable[..., Page], installation: Installation, space_id: int
) -> None:
    """The browser passes the answer on, and reports no blocked form."""
    person = installation.person(space_id, logged_in=False)
    page = make_page()
    reports: list[str] = []
    answers: list[str] = []
    page.on("console", lambda message: reports.append(message.text))
    page.on("response", lambda answer: answers.append(answer.headers.get("location", "")))
    assistant = installation.assistant("cursor://anysphere.cursor-mcp/oauth/callback")
    open_request(page, installation, assistant, person)
    page.get_by_role("button", name="Connect", exact=True).click()
    wait_until(lambda: _has_location(page, answers))
    assert not [text for text in reports if "Content Security Policy" in text]


def _has_location(page: Page, answers: list[str]) -> bool:
    page.evaluate("0")  # let pending events arrive
    return any(location.startswith("cursor://") for location in answers)


def test_a_form_of_another_site(
    make_page: Callable[..., Page], installation: Installation, space_id: int
) -> None:
    """The user is logged in; the other site knows everything except the contents of their page."""
    person = installation.person(space_id, logged_in=False)
    page = make_page()
    with waiting() as application, waiting() as evil:
        assistant = installation.assistant(f"{application.url}/callback")
        open_request(page, installation, assistant, person)
        target = f"{installation.base_url}{AUTHORIZE}?{urlencode(assistant.request())}"
        evil.page = (
            f'<form method="post" action="{target.replace("&", "&amp;")}">'
            f'<input name="decision" value="approve"><input name="space_id" value="{space_id}">'
            "<button>Win a prize</button></form>"
        ).encode()
        page.goto(evil.url.replace("127.0.0.1", "localhost"))
        page.get_by_role("button", name="Win").click()
        page.wait_for_url(re.compile(re.escape(AUTHORIZE)))
        expect(page.get_by_text(re.compile("log in", re.IGNORECASE)).first).to_be_visible()
        page.goto(evil.url)
        with page.expect_response(lambda answer: answer.request.method == "POST") as posted:
            page.get_by_role("button", name="Win").click()
        assert posted.value.status == 403
    assert application.received == []
    row = installation.connection.execute(
        "SELECT count(*) FROM oauth_codes WHERE space_id = %s", (space_id,)
    ).fetchone()
    assert row == (0,)


def test_an_assistant_that_opens_a_window(
    make_page: Callable[..., Page], installation: Installation, space_id: int
) -> None:
    """The assistant's own page waits for a message from the window, which has visited our pages in
    between.
    """
    person = installation.person(space_id, logged_in=False)
    page = make_page()
    with waiting() as application:
        own_url = application.url.replace("127.0.0.1", "localhost")
        assistant = installation.assistant(f"{own_url}/callback")
        application.page = b"""<script>
            if (opener) opener.postMessage(location.search, "*");
            addEventListener("message", (event) => { document.body.textContent = event.data; });
        </script><body></body>"""
        page.goto(own_url)
        target = f"{installation.base_url}{AUTHORIZE}?{urlencode(assistant.request())}"
        with page.expect_popup() as popup:
            page.evaluate("(url) => { window.open(url); }", target)
        window = popup.value
        window.get_by_label("E-mail address").fill(person.user.email)
        window.get_by_label("Password").fill(PASSWORD)
        window.get_by_role("button", name="Log in").click()
        window.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_text("code=trk_code_")).to_be_visible()


def test_names_that_are_markup(
    make_page: Callable[..., Page], installation: Installation, space_id: int
) -> None:
    """Any name of an assistant is shown as text, next to the address that gets the answer. An ordinary run
    tries some of the names.
    """
    person = installation.person(space_id, logged_in=False)
    page = make_page()
    reports: list[str] = []
    with waiting() as application:
        assistant = installation.assistant(f"{application.url}/callback")
        open_request(page, installation, assistant, person)
        page.on("console", lambda message: reports.append(message.text))
        page.on("dialog", lambda dialog: (reports.append("a dialog"), dialog.dismiss()))
        names = [line for line in PAYLOADS if len(line) <= LONGEST_NAME]
        assert len(names) > 20
        for name in pick_share(names, "assistants"):
            installation.connection.execute(
                "UPDATE oauth_clients SET name = %s WHERE id = %s", (name, assistant.id)
            )
            page.reload()
            assert page.evaluate("window.__x") is None, name
            text = " ".join(page.locator("main").inner_text().split())
            assert " ".join(name.split()) in text
            assert "Your answer goes to 127.0.0.1" in text
    assert reports == []


def test_the_page_is_not_framed(
    make_page: Callable[..., Page], installation: Installation, space_id: int
) -> None:
    person = installation.person(space_id, logged_in=False)
    page = make_page()
    with waiting() as evil:
        assistant = installation.assistant(f"{evil.url}/callback")
        open_request(page, installation, assistant, person)
        target = f"{installation.base_url}{AUTHORIZE}?{urlencode(assistant.request())}"
        evil.page = f'<iframe src="{target.replace("&", "&amp;")}"></iframe>'.encode()
        reports: list[str] = []
        page.on("console", lambda message: reports.append(message.text))
        page.goto(evil.url)
        wait_until(lambda: _has_report(page, reports))
        assert not any("Connect Test?" in frame.content() for frame in page.frames[1:])


def _has_report(page: Page, reports: list[str]) -> bool:
    page.evaluate("0")
    return any("frame-ancestors" in text for text in reports)
