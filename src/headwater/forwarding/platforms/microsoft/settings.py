from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from headwater.forwarding.platforms.settings import ConsentDenied, ConsentSettings
from headwater.http.inputs.account_settings import Version, digits


class MicrosoftSettings(ConsentSettings, frozen=True, kw_only=True):
    tag_id: Annotated[
        str,
        digits(1, 20, "187012345"),
        Meta(description="The UET tag's number: Conversion tracking, UET tags."),
    ]
    api_version: Annotated[Version, Meta(description="The version of the Conversions API.")] = "v1"
    email_form: Annotated[
        Literal["canonical", "plain"],
        Meta(
            description="What is hashed of an e-mail address: canonical is lower case without "
            "dots and +… before the @, plain is only lower case."
        ),
    ] = "canonical"
    phone_form: Annotated[
        Literal["e164", "digits"],
        Meta(description="What is hashed of a phone number: with its + (e164) or without it."),
    ] = "e164"
    consent_denied: Annotated[
        ConsentDenied,
        Meta(
            description="Events of people who refused the use of their data for ads: "
            "sent with adStorageConsent D, or not sent."
        ),
    ] = "limit"
    continue_on_validation_error: Annotated[
        bool, Meta(description="Whether Microsoft takes the valid events of a call with invalid ones.")
    ] = True
