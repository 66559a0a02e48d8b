"""Secrets that must not leak through logs or response times."""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Iterator
from io import StringIO

import pytest

from tests.oauth.staging import TOKEN, Assistant, Installation, Person, make_query


@pytest.fixture
def log_text(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    """The application's logs. The test's HTTP client runs in the same process."""
    text, root = StringIO(), logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, logging.StreamHandler):
            monkeypatch.setattr(handler, "stream", text)
    before = {name: logging.getLogger(name).level for name in ("", "httpx", "httpcore")}
    for name in before:
        logging.getLogger(name).setLevel("WARNING" if name else "DEBUG")
    yield text
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def test_logs_hold_no_secret(
    log_text: StringIO, installation: Installation, person: Person, assistant: Assistant
) -> None:
    request = assistant.request(state="canary-state-1234")
    location = person.answer(request).headers["location"]
    code = make_query(location)["code"]
    token = installation.exchange(assistant, code).json()["access_token"]
    installation.exchange(assistant, code)
    installation.exchange(assistant, code, code_verifier="canary-verifier" * 4)
    person.open_authorization(assistant.request(state="canary-state-1234", scope="x"))
    person.open_authorization(assistant.request(state="canary-state-1234", redirect_uri="https://e.example/"))
    installation.knock(1, token)
    text = log_text.getvalue()
    assert "oauth_consent" in text
    assert "oauth_token_issued" in text
    assert "oauth_refused" in text
    session = person.browser.cookies["headwater_session"]
    for secret in (
        code, token, assistant.verifier, request["code_challenge"], session, "canary-state",
        "canary-verifier", person.user.email,
    ):  # fmt: skip
        assert secret not in text


def test_unknown_and_known_take_alike(installation: Installation, assistant: Assistant) -> None:
    """Secrets are looked up by hash, so they can't be guessed letter by letter. This test checks that no
    answer is slower because of a step that only known values need.
    """

    def median(client_id: str) -> float:
        form = assistant.form("trk_code_" + "x" * 43, client_id=client_id)
        times: list[float] = []
        for _ in range(40):
            start_time = time.perf_counter()
            installation.http.post(TOKEN, data=form)
            times.append(time.perf_counter() - start_time)
        return statistics.median(times)

    median(assistant.id)
    known_time, unknown_time = median(assistant.id), median("trk_client_" + "x" * 32)
    assert abs(known_time - unknown_time) < 0.05
