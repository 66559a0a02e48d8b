"""Passkeys of users (WebAuthn), for the service's own origin. Authenticators must verify their user, by a PIN
or a fingerprint.

The count of signatures is compared after the signature, so only an authenticator or its copy is reported.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Conflict
from headwater.spaces.accounts.users import User, read_label
from headwater.spaces.factors.factors import FactorReason, FactorRefused

# The library takes a third of a second to import, which a service without passkeys need not wait for.
if TYPE_CHECKING:
    from webauthn.registration.verify_registration_response import VerifiedRegistration

queries = Queries(__name__, "passkeys.sql")

MAX_PASSKEYS = 20
"""Per user."""
LONGEST_ANSWER = 16 * 1024
"""Characters of a browser's answer."""
TIMEOUT_MILLISECONDS = 300_000
_PORTS = {"https": 443, "http": 80}


class RelyingParty(Struct, frozen=True):
    """The service's name and origin, to which authenticators bind passkeys."""

    id: str
    origin: str


class Passkey(Struct, frozen=True):
    id: int
    user_id: int
    name: str
    credential_id: bytes
    public_key: bytes
    sign_count: int
    created_at: datetime
    last_used_at: datetime | None


class _AnswerBody(Struct, frozen=True, rename="camel"):
    user_handle: str | None = None


class _Answer(Struct, frozen=True, rename="camel"):
    raw_id: str
    response: _AnswerBody


def find_relying_party(base_url: str) -> RelyingParty | None:
    """Return None where browsers have no passkeys: at an IP address, and without TLS outside localhost."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if parts.scheme != "https" and host != "localhost":
        return None
    try:
        ip_address(host)
    except ValueError:
        port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
        return RelyingParty(host, f"{parts.scheme}://{host}{port}")
    return None


def make_challenge() -> bytes:
    return secrets.token_bytes(32)


def make_creation_options(
    party: RelyingParty, brand: str, user: User, existing: Sequence[Passkey], challenge: bytes
) -> str:
    """Return JSON for the browser."""
    import webauthn  # noqa: PLC0415
    from webauthn.helpers import structs  # noqa: PLC0415

    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name=brand,
        user_name=user.email,
        user_id=_handle(user.id),
        user_display_name=user.display_name,
        challenge=challenge,
        timeout=TIMEOUT_MILLISECONDS,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            structs.PublicKeyCredentialDescriptor(id=passkey.credential_id) for passkey in existing
        ],
    )
    return webauthn.options_to_json(options)


def make_request_options(party: RelyingParty, passkeys: Sequence[Passkey], challenge: bytes) -> str:
    """Return JSON for the browser; without `passkeys` it offers every passkey of this service."""
    import webauthn  # noqa: PLC0415
    from webauthn.helpers import structs  # noqa: PLC0415

    options = webauthn.generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=TIMEOUT_MILLISECONDS,
        allow_credentials=[
            structs.PublicKeyCredentialDescriptor(id=passkey.credential_id) for passkey in passkeys
        ],
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return webauthn.options_to_json(options)


async def add_passkey(
    connection: AsyncConnection, user_id: int, name: str, verified: VerifiedRegistration
) -> None:
    """Raise Invalid for the name, Conflict for too many or a known one."""
    values = {
        "user_id": user_id,
        "name": read_label("name", name),
        "credential_id": verified.credential_id,
        "public_key": verified.credential_public_key,
        "sign_count": verified.sign_count,
    }
    if len(await list_passkeys(connection, user_id)) >= MAX_PASSKEYS:
        raise Conflict(f"You have {MAX_PASSKEYS} passkeys, the maximum: remove one first.")
    if (await connection.execute(queries["add"], values)).rowcount == 0:
        raise Conflict("This passkey was added before.")


def check_creation(party: RelyingParty, challenge: bytes, answer: str) -> VerifiedRegistration:
    """Raise FactorRefused."""
    import webauthn  # noqa: PLC0415

    if len(answer) > LONGEST_ANSWER:
        raise FactorRefused(FactorReason.PASSKEY_REFUSED)
    try:
        return webauthn.verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except Exception as error:  # the library raises many kinds for malformed input
        raise FactorRefused(FactorReason.PASSKEY_REFUSED) from error


async def use_passkey(
    connection: AsyncConnection, party: RelyingParty, challenge: bytes, answer: str, user_id: int | None
) -> Passkey:
    """Check a browser's answer and record the use. The passkey must belong to `user_id`, if given. Raise
    FactorRefused.
    """
    import webauthn  # noqa: PLC0415

    credential = _read_answer(answer)
    passkey = await _find_passkey(connection, _decode(credential.raw_id))
    handle = credential.response.user_handle
    if passkey is None or user_id not in (None, passkey.user_id):
        raise FactorRefused(FactorReason.PASSKEY_REFUSED)
    if handle is not None and _decode(handle) != _handle(passkey.user_id):
        raise FactorRefused(FactorReason.PASSKEY_REFUSED)
    try:
        verification = webauthn.verify_authentication_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except Exception as error:  # the library raises many kinds for malformed input
        raise FactorRefused(FactorReason.PASSKEY_REFUSED) from error
    values = {"id": passkey.id, "sign_count": verification.new_sign_count}
    if (await connection.execute(queries["use"], values)).rowcount == 0:
        raise FactorRefused(FactorReason.PASSKEY_CLONED)
    return passkey


async def list_passkeys(connection: AsyncConnection, user_id: int) -> list[Passkey]:
    return await fetch_all(make_cursor(connection, Passkey), queries["list"], {"user_id": user_id})


async def any_passkey(connection: AsyncConnection) -> bool:
    return (await fetch_one(connection, queries["any"]))[0]


async def remove_passkey(connection: AsyncConnection, user_id: int, passkey_id: int) -> None:
    await connection.execute(queries["remove"], {"id": passkey_id, "user_id": user_id})


async def _find_passkey(connection: AsyncConnection, credential_id: bytes) -> Passkey | None:
    return await fetch_optional(
        make_cursor(connection, Passkey), queries["find"], {"credential_id": credential_id}
    )


def _read_answer(answer: str) -> _Answer:
    if len(answer) > LONGEST_ANSWER:
        raise FactorRefused(FactorReason.PASSKEY_REFUSED)
    try:
        return msgspec.json.decode(answer, type=_Answer)
    except (ValueError, RecursionError):
        raise FactorRefused(FactorReason.PASSKEY_REFUSED) from None


def _decode(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text.encode("ascii") + b"==")
    except ValueError:
        raise FactorRefused(FactorReason.PASSKEY_REFUSED) from None


def _handle(user_id: int) -> bytes:
    return str(user_id).encode()
