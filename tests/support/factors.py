"""Second factors for tests: the codes that a user's authenticator app shows."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psycopg

from headwater.spaces.factors.totp import STEP_SECONDS, make_code
from tests.console.browsing import Browser, Forms

PAGE = "/console/account/authenticator"
FACTOR = "/login/factor"
CONFIRM = "/console/account/confirm"


@dataclass
class App:
    """A user's app and recovery codes."""

    secret: str
    recovery_codes: list[str]

    def code(self, steps_ahead: int = 0) -> str:
        """Return the current code, or the code some steps ahead."""
        return make_code(self.secret, int(time.time()) // STEP_SECONDS + steps_ahead)

    def wrong_code(self) -> str:
        valid_codes = {self.code(ahead) for ahead in range(-3, 4)}
        return next(code for code in ("000000", "111111", "222222") if code not in valid_codes)


def read_secret(page: str) -> str:
    (text,) = re.findall(r'id="secret"[^>]*>([A-Z2-7 ]+)<', page)
    return text.replace(" ", "")


def read_recovery_codes(page: str) -> list[str]:
    return re.findall(r"\b(?:[a-z2-7]{5}-){4}[a-z2-7]{5}\b", page)


def enrol(browser: Browser) -> App:
    """Set up an app on the console's page."""
    page = browser.get(PAGE)
    (form,) = [form for form in Forms(page.text).forms if form.action == PAGE]
    app = App(read_secret(page.text), [])
    answer = browser.send(form, code=app.code())
    assert answer.status_code == 200, answer.text
    app.recovery_codes = read_recovery_codes(answer.text)
    return app


def forget_used_codes(connection: psycopg.Connection, user_id: int) -> None:
    """Make the current code valid again, as if time had passed."""
    connection.execute("UPDATE totp_factors SET last_step = 0 WHERE user_id = %s", [user_id])


def age_login(connection: psycopg.Connection, user_id: int, minutes: int = 11) -> None:
    """Set the age of the password in every session of the user."""
    values = {"then": datetime.now(UTC) - timedelta(minutes=minutes), "user": user_id}
    connection.execute(
        "UPDATE sessions SET created_at = %(then)s, password_at = %(then)s WHERE user_id = %(user)s", values
    )


def age_factor(connection: psycopg.Connection, user_id: int, minutes: int = 11) -> None:
    """Set the age of the second factor in every session of the user."""
    factor_time = datetime.now(UTC) - timedelta(minutes=minutes)
    connection.execute(
        "UPDATE sessions SET factor_at = %s WHERE user_id = %s AND factor_at IS NOT NULL",
        [factor_time, user_id],
    )
