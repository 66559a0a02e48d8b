"""The request for a passkey, and the check of the browser's answer. A request is answered once."""

from __future__ import annotations

import time

import structlog
from msgspec import Struct
from starlette.requests import Request

from headwater.console.forms import PostedForm
from headwater.endpoints.services import services
from headwater.http.clients import address_subject, client_address
from headwater.http.refusal_log import log_refusal
from headwater.spaces.accounts.attempts import give_back, take_attempt
from headwater.spaces.factors.factors import FactorReason, FactorRefused
from headwater.spaces.factors.passkeys import (
    Passkey,
    find_relying_party,
    list_passkeys,
    make_challenge,
    make_request_options,
    use_passkey,
)
from headwater.spaces.factors.sealed_state import PENDING_SECONDS, PasskeyRequest, open_state, seal_state

ATTEMPTS = 30
WINDOW_SECONDS = 15 * 60

log = structlog.get_logger()


class PasskeyOffer(Struct, frozen=True):
    """The request in a page: options for the browser, and the encrypted state of its form."""

    options: str
    state: str


async def offer_passkey(request: Request, form_key: bytes, user_id: int | None) -> PasskeyOffer | None:
    """Return None if the user has no passkey, or if this address supports no passkeys. Without a user, every
    passkey is offered.
    """
    shared, passkeys = services(request), list[Passkey]()
    party = find_relying_party(shared.base_url)
    if user_id is not None:
        async with shared.database.connection() as connection:
            passkeys = await list_passkeys(connection, user_id)
    if party is None or (user_id is not None and not passkeys):
        return None
    challenge = make_challenge()
    state = PasskeyRequest(challenge, user_id, int(time.time()))
    options = make_request_options(party, passkeys, challenge)
    return PasskeyOffer(options, seal_state(shared.sealing_key, state, form_key))


async def check_passkey(request: Request, form: PostedForm, form_key: bytes, user_id: int | None) -> int:
    """Return the id of the passkey's user, who must be `user_id` if given. Raise FactorRefused."""
    shared = services(request)
    state = open_state(shared.sealing_key, form.text("state"), PasskeyRequest, form_key)
    party = find_relying_party(shared.base_url)
    if state is None or party is None or state.user_id != user_id:
        raise FactorRefused(FactorReason.EXPIRED)
    address = address_subject(client_address(request.scope, shared.settings.trusted_proxies))
    async with shared.database.transaction() as connection:
        verdict = await take_attempt(connection, "passkey from", address, ATTEMPTS, WINDOW_SECONDS)
    if not verdict.admitted:
        log_refusal("login_limit", address)
        raise FactorRefused(FactorReason.TOO_MANY_ATTEMPTS, verdict.retry_after)
    await use_challenge(request, state.challenge)
    try:
        async with shared.database.transaction() as connection:
            answer = form.text("credential")
            passkey = await use_passkey(connection, party, state.challenge, answer, user_id)
            await give_back(connection, "passkey from", address)
    except FactorRefused as refusal:
        log.warning("second_factor_refused", user_id=user_id, reason=refusal.reason)
        raise
    return passkey.user_id


async def use_challenge(request: Request, challenge: bytes) -> None:
    """Raise FactorRefused if it was used before."""
    async with services(request).database.transaction() as connection:
        attempt = await take_attempt(connection, "passkey", challenge.hex(), 1, PENDING_SECONDS + 60)
    if not attempt.admitted:
        raise FactorRefused(FactorReason.EXPIRED)
