"""Any service that can post JSON, read by the webhook's settings."""

from __future__ import annotations

from dataclasses import replace

from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.models import MappingInput, WebhookRequest, WebhookSettings
from headwater.intake.webhooks.money_back import find
from headwater.intake.webhooks.providers.provider import Guide, Provider, SecretMaker
from headwater.intake.webhooks.signatures import (
    STANDARD_ID,
    STANDARD_SIGNATURE,
    check_any_form,
    check_standard,
)
from headwater.intake.webhooks.values import to_text

ANYTHING = "*"
"""The topic of all deliveries without a topic expression."""
DEFAULT_HEADER = "x-signature"
TOLERANCE_SECONDS = 300


def _check(secret: bytes, message: WebhookRequest, settings: WebhookSettings) -> None:
    if _is_standard(message, settings):
        check_standard(secret, message, TOLERANCE_SECONDS)
    else:
        check_any_form(secret, message, settings.signature_header or DEFAULT_HEADER)


def _is_standard(message: WebhookRequest, settings: WebhookSettings) -> bool:
    """Recognize Standard Webhooks, which sign the delivery id."""
    header = settings.signature_header or STANDARD_SIGNATURE
    # Others use the header for their own signatures.
    return header == STANDARD_SIGNATURE and "v1," in message.headers.get(STANDARD_SIGNATURE, "")


def _believed(message: WebhookRequest, settings: WebhookSettings) -> WebhookRequest:
    """Remove an unsigned delivery id: with new ids, a captured delivery would become many events."""
    if _is_standard(message, settings):
        return message
    headers = {name: text for name, text in message.headers.items() if name != STANDARD_ID}
    return replace(message, headers=headers)


def _topic(document: MappingInput, settings: WebhookSettings) -> str | None:
    if settings.topic is None:
        return ANYTHING
    try:
        value = parse(settings.topic).find(document)
        topic = None if value is None else to_text(value)
    except ValueError:
        topic = None
    return topic if topic in settings.events or ANYTHING not in settings.events else ANYTHING


def _identity(document: MappingInput, _: str) -> str | None:
    return document.headers.get(STANDARD_ID)


_TEST_MARKS = ("test", "is_test", "test_mode", "testmode", "sandbox")


def _is_test(document: MappingInput) -> bool:
    if find(document, "livemode") is False:
        return True
    return any(find(document, mark) is True for mark in _TEST_MARKS)


GENERIC = Provider(
    type="generic",
    guide=Guide(
        title="Anything else",
        brings="Any service that can post JSON: your own shop, a CRM, an automation tool.",
        steps=(
            "Have the sender post JSON to the address above whenever something happens.",
            (
                "Send a test delivery, which appears below. Then choose under Mapping its fields "
                "for the email address, the amount and the order."
            ),
        ),
        secret_maker=SecretMaker.OURS,
    ),
    needs_secret=False,
    check=_check,
    believed=_believed,
    topic=_topic,
    identity=_identity,
    events={},
    fields={},
    is_test=_is_test,
    headers=frozenset({STANDARD_ID}),
    refuses_unmappable=True,
)
