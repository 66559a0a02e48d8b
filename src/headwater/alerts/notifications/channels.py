"""The channels of a Space: e-mail addresses and webhook addresses, which are secret."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.rules import Rule
from headwater.base.egress.client import LONGEST_URL
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Invalid, NotFound, require_found
from headwater.http.inputs.emails import MOST_DELIVERABLE, parse_written_email
from headwater.spaces.encryption import KEY_BYTES, SealedColumn, Unsealable, seal, unseal
from headwater.spaces.locks import lock_space

queries = Queries(__name__, "channels.sql")
_LIST, _FETCH = (queries[name].format(confirmed_at=queries["confirmed_at"]) for name in ("list", "fetch"))

MOST_CHANNELS = 20
LONGEST_NAME = 80
EMAIL, WEBHOOK = "email", "webhook"


class AlertChannel(Struct, frozen=True):
    id: int
    kind: str
    name: str
    address: str | None
    hint: str
    rules: list[str]
    made_by: int | None
    created_at: datetime
    confirmed_at: datetime | None
    sent_at: datetime | None
    went_well: bool | None
    error: str | None


class ChannelTarget(Struct, frozen=True):
    id: int
    kind: str
    name: str
    address: str | None
    secret: bytes | None
    hint: str
    confirmed_at: datetime | None
    made_by: int | None

    def url(self, key: bytes, space_id: int) -> str | None:
        """Return None if the key cannot decrypt it."""
        if self.secret is None:
            return None
        try:
            return unseal(key, self.secret, _row(space_id, self.id)).decode()
        except Unsealable:
            return None


class NewChannel(Struct, frozen=True):
    kind: str
    name: str
    address: str
    rules: Sequence[str]
    user_id: int


async def list_channels(connection: AsyncConnection, space_id: int) -> list[AlertChannel]:
    return await fetch_all(
        make_cursor(connection, AlertChannel), _LIST, {"space_id": space_id, "most": MOST_CHANNELS}
    )


async def create_channel(
    connection: AsyncConnection, space_id: int, new: NewChannel, key: bytes
) -> tuple[int, bool]:
    """Create a channel and return its id, and whether it needs confirmation. Members' addresses and webhooks,
    known only to their owners, need none. Raises Invalid.
    """
    name, rules = _read_name(new.name), read_rules(new.rules)
    address = read_url(new.address) if new.kind == WEBHOOK else _read_address(new.address)
    # Without the lock, concurrent requests could exceed the limit.
    await lock_space(connection, space_id)
    (number,) = await fetch_one(connection, queries["count"], {"space_id": space_id})
    if number >= MOST_CHANNELS:
        raise Invalid.of("name", f"cannot be created: there are {MOST_CHANNELS} channels, remove one first.")
    values: dict[str, Any] = {"space_id": space_id, "address": address}
    is_member = (await fetch_one(connection, queries["is_member"], values))[0]
    is_confirmed = new.kind == WEBHOOK or is_member
    values |= {
        "kind": new.kind,
        "name": name,
        "rules": rules,
        "user_id": new.user_id,
        "is_confirmed": is_confirmed,
        "address": address if new.kind == EMAIL else None,
        "hint": address if new.kind == EMAIL else _hint(address),
    }
    (channel_id,) = await fetch_one(connection, queries["create"], values)
    if new.kind == WEBHOOK:
        secret = seal(key, address, _row(space_id, channel_id))
        values = {"space_id": space_id, "id": channel_id, "secret": secret}
        await connection.execute(queries["set_secret"], values)
    return channel_id, not is_confirmed


async def change_channel(
    connection: AsyncConnection, space_id: int, channel_id: int, name: str, rules: Sequence[str]
) -> None:
    values = {"space_id": space_id, "id": channel_id, "name": _read_name(name), "rules": read_rules(rules)}
    require_found(await fetch_optional(connection, queries["change"], values), "Channel")


async def remove_channel(connection: AsyncConnection, space_id: int, channel_id: int) -> None:
    """Delete its address too. Raises NotFound."""
    values = {"space_id": space_id, "id": channel_id}
    require_found(await fetch_optional(connection, queries["remove"], values), "Channel")


async def confirm_channel(connection: AsyncConnection, space_id: int, channel_id: int) -> None:
    """Do nothing if the channel was removed."""
    await connection.execute(queries["confirm"], {"space_id": space_id, "id": channel_id})


async def fetch_target(connection: AsyncConnection, space_id: int, channel_id: int) -> ChannelTarget | None:
    """Return None if the channel was removed."""
    values = {"space_id": space_id, "id": channel_id}
    return await fetch_optional(make_cursor(connection, ChannelTarget), _FETCH, values)


async def channels_for(connection: AsyncConnection, space_id: int, rule: Rule) -> list[int]:
    """Return the confirmed channels that receive a rule's alerts."""
    channels = await list_channels(connection, space_id)
    return [channel.id for channel in channels if channel.confirmed_at is not None and rule in channel.rules]


async def note_result(
    connection: AsyncConnection, space_id: int, channel_id: int, moment: datetime, error: str | None
) -> None:
    values = {
        "space_id": space_id,
        "id": channel_id,
        "at": moment,
        "went_well": error is None,
        "error": error,
    }
    await connection.execute(queries["note_result"], values)


def mail_token(key: bytes, space_id: int, channel_id: int) -> str:
    """Sign the link that confirms or stops mail."""
    name = f"{space_id}.{channel_id}"
    signature = hmac.digest(key[:KEY_BYTES], b"mail channel " + name.encode(), "sha256")[:24]
    return f"{name}.{base64.urlsafe_b64encode(signature).decode()}"


def read_mail_token(key: bytes, token: str) -> tuple[int, int]:
    """Return Space id and channel id. Raises NotFound."""
    name, _, signature = token[:100].rpartition(".")
    space, _, channel = name.partition(".")
    if not (_is_id(space) and _is_id(channel)):
        raise NotFound("Page")
    expected_signature = mail_token(key, int(space), int(channel)).rpartition(".")[2]
    try:
        is_signature_valid = hmac.compare_digest(
            base64.urlsafe_b64decode(signature.encode()), base64.urlsafe_b64decode(expected_signature)
        )
    except (binascii.Error, ValueError):
        is_signature_valid = False
    if not is_signature_valid:
        raise NotFound("Page")
    return int(space), int(channel)


def read_url(text: str) -> str:
    """Raises Invalid."""
    url = text.strip()
    try:
        parts = urlsplit(url)
        is_sound = parts.scheme in ("https", "http") and bool(parts.hostname)
    except ValueError:
        is_sound = False
    if not is_sound or len(url) > LONGEST_URL or not url.isascii() or not url.isprintable():
        raise Invalid.of(
            "address", "must be the complete address from the service, such as https://hooks.slack.com/…"
        )
    return url


def read_rules(rules: Sequence[str]) -> list[str]:
    """Return rules in their fixed order. Raises Invalid."""
    if not set(rules) <= set(Rule):
        raise Invalid.of("rules", "must be existing alert rules.")
    return [rule for rule in Rule if rule in rules]


def _read_name(name: str) -> str:
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise Invalid.of("name", f"must have 1 to {LONGEST_NAME} characters.")
    return name


def _read_address(text: str) -> str:
    try:
        address = parse_written_email(text)
    except ValueError as error:
        raise Invalid.of("address", str(error)) from None
    if len(address) > MOST_DELIVERABLE or not address.isascii() or "=?" in address:
        raise Invalid.of("address", "must be a deliverable address in ASCII letters.")
    return address


def _hint(url: str) -> str:
    """Return a webhook's host and its last four characters."""
    return f"{urlsplit(url).hostname}/…{url[-4:]}"


def _row(space_id: int, channel_id: int) -> bytes:
    return b"channel %d of space %d" % (channel_id, space_id)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


SEALED = SealedColumn("channels", "secret", ("space_id", "id"), _row)
