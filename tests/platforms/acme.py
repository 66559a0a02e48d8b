"""The smallest possible platform, used as the module of a new platform's folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.forwarding.platforms.amounts import as_text
from headwater.forwarding.platforms.models import Conversion, Destination, Verdict
from headwater.forwarding.platforms.payload_parts import drop_empty, value_fields
from headwater.forwarding.platforms.platform import DAY, Limits, Platform
from headwater.forwarding.platforms.responses import by_status
from headwater.forwarding.platforms.settings import ConsentSettings
from headwater.http.inputs.account_settings import digits


class AcmeSettings(ConsentSettings, frozen=True, kw_only=True):
    """Settings of an account."""

    account: Annotated[str, digits(1, 9, "12345"), Meta(description="The account's number.")]


class Acme(Platform):
    """A platform that accepts purchases."""

    name = "acme"
    title = "Acme Ads"
    url = "https://api.acme.example"
    sources = frozenset({"quora_ads"})
    settings = AcmeSettings
    secrets = {"access_token": "Access token of the account."}
    limits = Limits(batch=50, age=7 * DAY)
    event_names = {"purchase": "sale"}
    kept_fields = frozenset({"name", "id", "value", "currency"})

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        return drop_empty(
            name=self.find_name(conversion, destination),
            id=conversion.dedup_id,
            email=conversion.person.email,
            **value_fields(conversion, as_text),
        )

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        url = f"{destination.url}/accounts/{destination.settings.account}/sales"
        return make_json_call(url, {"sales": parts}, bearer(destination.secrets["access_token"]))

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return by_status(answer, count, confirmed=answer.status == 201)
