"""Send notices by the operator's mail server or through egress."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime
from uuid import UUID, uuid4

import structlog
from msgspec import Struct

from headwater.alerts.notifications import channels, messages
from headwater.alerts.notifications.channels import EMAIL, WEBHOOK, ChannelTarget, mail_token
from headwater.alerts.notifications.messages import ClaimedMessage, Result
from headwater.alerts.notifications.models import Notice
from headwater.alerts.notifications.texts import Envelope, build_mail, webhook_body
from headwater.base.egress.client import Egress
from headwater.base.egress.mail import DEADLINE_SECONDS, MailError, send_mail
from headwater.base.egress.models import EgressError, EgressRequest, EgressResponse
from headwater.base.mail_server import read_mail_server
from headwater.base.settings import Settings
from headwater.base.telemetry.counters import make_counter
from headwater.database.pool import Database

WEBHOOK_SECONDS = 10.0
NO_MAIL = (
    "No mail server is configured, so nothing was sent. The operator must set HEADWATER_SMTP_URL and "
    "HEADWATER_MAIL_FROM."
)
STOP = "/mail"
_GONE_STATUSES = (404, 410)

log = structlog.get_logger()
attempts = make_counter(
    "headwater_messages",
    "Attempts to send alerts and reports",
    channel=(EMAIL, WEBHOOK),
    outcome=("sent", "failed"),
)


class Outlet(Struct, frozen=True):
    settings: Settings
    egress: Egress
    key: bytes
    base_url: str
    mail_tls: ssl.SSLContext | None = None
    mail_seconds: float = DEADLINE_SECONDS

    async def send(self, space_id: int, target: ChannelTarget, notice: Notice, message_id: str) -> Result:
        """Raises nothing."""
        if target.kind == EMAIL:
            return await self._mail(space_id, target, notice, message_id)
        return await self._post(space_id, target, notice)

    async def _mail(self, space_id: int, target: ChannelTarget, notice: Notice, message_id: str) -> Result:
        settings, current_time = self.settings, datetime.now(UTC)
        if settings.smtp_url is None or settings.mail_from is None:
            return Result(current_time, NO_MAIL)
        if target.address is None:
            return Result(current_time, "The channel was removed.", is_final=True)
        token = mail_token(self.key, space_id, target.id)
        envelope = Envelope(
            settings.mail_from,
            target.address,
            message_id,
            current_time,
            settings.brand,
            f"{self.base_url}{STOP}/{token}",
        )
        try:
            message = build_mail(notice, self.base_url, envelope)
            sender = message["From"].addresses[0].addr_spec
            await send_mail(
                read_mail_server(settings.smtp_url),
                sender,
                target.address,
                message,
                self.mail_seconds,
                self.mail_tls,
            )
        except MailError as error:
            return Result(datetime.now(UTC), str(error), error.is_final)
        return Result(datetime.now(UTC))

    async def _post(self, space_id: int, target: ChannelTarget, notice: Notice) -> Result:
        url = target.url(self.key, space_id)
        if url is None:
            error = "Its address can no longer be decrypted. Remove the channel and add it again."
            return Result(datetime.now(UTC), error, is_final=True)
        call = EgressRequest(url=url, body=webhook_body(notice, self.base_url))
        try:
            response = await self.egress.send(call, WEBHOOK_SECONDS)
        except EgressError as error:
            return Result(datetime.now(UTC), f"{error} Check the address of the webhook.")
        refusal = _refusal(response)
        is_final = response.status in _GONE_STATUSES
        return Result(datetime.now(UTC), refusal, is_final)


def _refusal(response: EgressResponse) -> str | None:
    status = response.status
    if 200 <= status < 300:
        return None
    if status in _GONE_STATUSES:
        return (
            f"The webhook's address does not exist (HTTP {status}): it was mistyped or removed. "
            "Create a new webhook in that service, and a channel with its address here."
        )
    if status in (401, 403):
        return (
            f"The webhook's server refuses the message (HTTP {status}): its token is wrong or "
            "revoked. Create a new webhook in that service, and a channel with its address here."
        )
    if 300 <= status < 400:
        return (
            f"The address redirects to another one (HTTP {status}), and redirects are not followed. "
            "Enter the final address."
        )
    if status == 429 or status >= 500:
        return (
            f"The webhook's server is temporarily unavailable (HTTP {status}). The message will be retried."
        )
    return (
        f"The webhook's server rejects the message (HTTP {status}). It must be an incoming "
        "webhook that accepts JSON in Slack's format."
    )


class MessageSender:
    def __init__(self, database: Database, outlet: Outlet) -> None:
        self._database, self._outlet = database, outlet

    async def send_due(self, space_id: int, current_time: datetime) -> int:
        lease = uuid4()
        async with self._database.transaction() as connection:
            claimed_messages = await messages.claim(connection, space_id, current_time, lease)
            targets = {
                channel_id: await channels.fetch_target(connection, space_id, channel_id)
                for channel_id in {message.channel_id for message in claimed_messages}
            }
        problems = await asyncio.gather(
            *(
                self._deliver(space_id, message, targets[message.channel_id], lease)
                for message in claimed_messages
            ),
            return_exceptions=True,
        )
        for problem in filter(None, problems):
            raise problem
        return len(claimed_messages)

    async def _deliver(
        self, space_id: int, message: ClaimedMessage, target: ChannelTarget | None, lease: UUID
    ) -> None:
        """Send a message and record the result at once: a crash while another waits for its server must not
        send this one again.
        """
        result = await self._send(space_id, message, target)
        async with self._database.transaction() as connection:
            await messages.finish(connection, space_id, message, result, lease)
            await channels.note_result(connection, space_id, message.channel_id, result.at, result.error)

    async def _send(self, space_id: int, message: ClaimedMessage, target: ChannelTarget | None) -> Result:
        if target is None:
            return Result(datetime.now(UTC), "The channel was removed.", is_final=True)
        result = await self._outlet.send(space_id, target, message.notice, message.message_id)
        attempts.labels(target.kind, "sent" if result.error is None else "failed").inc()
        if result.error is not None:
            log.warning(
                "message not sent", space_id=space_id, channel_id=target.id, attempts=message.attempts
            )
        return result
