"""Calendly: https://developer.calendly.com/api-docs, webhook subscriptions.

A rescheduled booking has its own topic, because it isn't new.
"""

from __future__ import annotations

from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.models import MappingInput, WebhookRequest, WebhookSettings
from headwater.intake.webhooks.providers.provider import Guide, Provider, SecretMaker, first
from headwater.intake.webhooks.signatures import check_timestamped

TOLERANCE_SECONDS = 180


def _check(secret: bytes, message: WebhookRequest, _: WebhookSettings) -> None:
    check_timestamped(secret, message, "calendly-webhook-signature", TOLERANCE_SECONDS)


def _topic(document: MappingInput, _: WebhookSettings) -> str | None:
    topic = parse("event").find(document)
    if not isinstance(topic, str):
        return None
    is_rescheduled = topic == "invitee.created" and parse("payload.old_invitee").find(document)
    return f"{topic}.rescheduled" if is_rescheduled else topic


def _identity(document: MappingInput, topic: str) -> str | None:
    uri = parse("payload.uri").find(document)
    return f"{topic}:{uri}" if isinstance(uri, str) else None


CALENDLY = Provider(
    type="calendly",
    guide=Guide(
        title="Calendly",
        brings="Booked meetings. Needs a paid Calendly plan.",
        steps=(
            "In Calendly, create a personal access token under Integrations, API and webhooks.",
            (
                "With it, send POST https://api.calendly.com/webhook_subscriptions with the "
                "address above as url, invitee.created in events, your organization and a "
                "scope, and the signing secret as signing_key."
            ),
            "Book a test meeting: it appears below.",
        ),
        secret_maker=SecretMaker.OURS,
    ),
    needs_secret=True,
    check=_check,
    topic=_topic,
    identity=_identity,
    events={"invitee.created": "schedule"},
    fields={
        "invitee": {
            "email": "payload.email",
            "full_name": "payload.name",
            "first_name": "payload.first_name",
            "last_name": "payload.last_name",
            "phone": "payload.text_reminder_number",
            "event_time": first("payload.created_at", "created_at"),
            # A failed payment has no amount.
            "amount": "[payload.payment][?successful != `false`] | [0].amount",
            "currency": "payload.payment.currency",
            "trk_source": "payload.tracking.utm_source",
            "trk_type": "payload.tracking.utm_medium",
            "trk_campaign": "payload.tracking.utm_campaign",
            "trk_keyword": "payload.tracking.utm_term",
        }
    },
)
