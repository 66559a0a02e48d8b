"""Calendly's bodies."""

from __future__ import annotations

from tests.support.webhook_samples.sample import T0_ISO, Sample, sign_with_time

BOOKING = {
    "event": "invitee.created", "created_at": "2026-05-13T11:00:01.000000Z",
    "payload": {
        "uri": "https://api.calendly.com/scheduled_events/E/invitees/I", "email": "ada@example.com",
        "name": "Ada L", "first_name": None, "last_name": None, "created_at": T0_ISO,
        "old_invitee": None, "text_reminder_number": "+1 555-123-4567",
        "tracking": {"utm_source": "linkedin", "utm_medium": "paid", "utm_campaign": "demo",
                     "utm_content": None, "utm_term": None, "salesforce_uuid": None},
    },
}  # fmt: skip

SAMPLE = Sample(
    type="calendly",
    body=BOOKING,
    signature="Calendly-Webhook-Signature",
    sign=sign_with_time,
    key="calendly:invitee.created:https://api.calendly.com/scheduled_events/E/invitees/I",
)
