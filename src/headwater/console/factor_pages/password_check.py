"""The check of the current password in a session, with the limits of a login."""

from __future__ import annotations

from starlette.requests import Request

from headwater.console.login import FAILURES, WINDOW_SECONDS, account_subject
from headwater.endpoints.services import services
from headwater.http.refusal_log import log_refusal
from headwater.spaces.accounts.attempts import give_back, take_attempt
from headwater.spaces.accounts.users import User
from headwater.spaces.factors.factors import FactorReason, FactorRefused


async def check_current_password(request: Request, user: User, password: str) -> None:
    """Count the attempt and compare the password. Raise FactorRefused."""
    shared, subject = services(request), account_subject(request, user.email)
    async with shared.database.transaction() as connection:
        attempt = await take_attempt(connection, *subject, FAILURES, WINDOW_SECONDS, slowing=True)
    if not attempt.admitted:
        log_refusal("login_limit", user_id=user.id)
        raise FactorRefused(FactorReason.TOO_MANY_ATTEMPTS, attempt.retry_after)
    verdict = await shared.passwords.verify(user.password_hash, password)
    if not verdict.matches:
        log_refusal("password_refused", user_id=user.id)
        raise FactorRefused(FactorReason.WRONG_PASSWORD)
    async with shared.database.connection() as connection:
        await give_back(connection, *subject)
