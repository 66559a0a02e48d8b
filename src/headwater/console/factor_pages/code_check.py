"""The check of a typed code, with a limit on attempts, and the form that asks for one."""

from __future__ import annotations

from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import Response

from headwater.console.audited import make_action
from headwater.console.known_browsers import known_browser
from headwater.console.pages import render, wait_text
from headwater.endpoints.services import services
from headwater.http.refusal_log import log_refusal
from headwater.spaces.accounts.attempts import give_back, take_attempt
from headwater.spaces.accounts.users import User
from headwater.spaces.audit.entries import AuditChange, add_entry
from headwater.spaces.factors.factors import FactorReason, FactorRefused, use_code

FAILURES = 10
WINDOW_SECONDS = 60 * 60
MESSAGES = {
    FactorReason.WRONG: "The code is wrong or was used. If an app shows it, check the clock of your phone.",
    FactorReason.WRONG_PASSWORD: "Wrong password.",
    FactorReason.USED_BEFORE: "The code was used before. Wait for the next one.",
    FactorReason.SECRET_UNREADABLE: (
        "The installation's secret key has changed, so codes can't be checked. Use a recovery code."
    ),
    FactorReason.EXPIRED: "This took too long, or was sent before. Try again.",
    FactorReason.PASSKEY_REFUSED: "The passkey was refused. Try again, or use another one.",
    FactorReason.PASSKEY_CLONED: (
        "The passkey was refused, because a copy of it was used before. Remove it and add another one."
    ),
}

log = structlog.get_logger()


async def check_code(request: Request, user: User, text: str) -> None:
    """Count the attempt and use up the code. Raise FactorRefused.

    A browser that has used the factor before has its own count, so failures elsewhere don't lock it out.
    """
    shared, browser = services(request), known_browser(request, user.email, with_factor=True)
    subject = ("factor of", str(user.id)) if browser is None else ("factor by", browser)
    async with shared.database.transaction() as connection:
        verdict = await take_attempt(connection, *subject, FAILURES, WINDOW_SECONDS, slowing=True)
    if not verdict.admitted:
        log_refusal("login_limit", user_id=user.id)
        raise FactorRefused(FactorReason.TOO_MANY_ATTEMPTS, verdict.retry_after)
    try:
        async with shared.database.transaction() as connection:
            await use_code(connection, shared.sealing_key, user.id, text)
            await give_back(connection, *subject)
    except FactorRefused as refusal:
        log.warning("second_factor_refused", user_id=user.id, reason=refusal.reason)
        async with shared.database.transaction() as connection:
            change = AuditChange("session", after={"refused": refusal.reason})
            await add_entry(connection, make_action(request, user.id), [change])
        raise


def ask_factor(request: Request, template: str, refusal: FactorRefused | None, **values: Any) -> Response:
    """Show a form. `values` are its `action`, `proof` (the token), `next` and `passkey`, the offer."""
    if refusal is None:
        return render(request, template, **values)
    errors = {"code": [describe_refusal(refusal)]}
    return mark_refused(render(request, template, errors=errors, **values), refusal)


def describe_refusal(refusal: FactorRefused) -> str:
    if refusal.reason is FactorReason.TOO_MANY_ATTEMPTS:
        return f"Too many attempts. Try again in {wait_text(refusal.retry_after)}."
    return MESSAGES[refusal.reason]


def mark_refused(response: Response, refusal: FactorRefused) -> Response:
    """Give a page the status of a refusal."""
    response.status_code = 422
    if refusal.reason is FactorReason.TOO_MANY_ATTEMPTS:
        response.status_code = 429
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response
