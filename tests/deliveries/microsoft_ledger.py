"""A pretend Microsoft Advertising with its own ledger of offline conversions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from headwater.forwarding.platforms.microsoft_offline import MicrosoftOffline
from tests.deliveries.google_ledger import GoogleLedger, Shop, key
from tests.deliveries.staging import Sending
from tests.support.destinations import taking
from tests.support.fake_platform import Answer, FakePlatform, Received, Silence, Step

SETTINGS = '{"customer_id": "1", "account_id": "2"}'
_KEY = ("ConversionName", "ConversionTime", "MicrosoftClickId")


@dataclass
class MicrosoftLedger(GoogleLedger):
    """Keeps conversions by their times, which differ. An adjustment must repeat its conversion's click id."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    keys: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def __call__(self, request: Received) -> Step:
        reaction = self.react()
        if reaction == "down":
            return Answer(503)
        content = request.json()
        conversions = content.get("OfflineConversions", [])
        errors = [
            {"Index": place, "Code": 5600, "ErrorCode": "Invalid"}
            for place, conversion in enumerate(conversions)
            if not self._record(conversion)
        ]
        for adjustment in content.get("OfflineConversionAdjustments", []):
            self._adjust(adjustment)
        return Silence() if reaction == "silent" else Answer(body={"PartialErrors": errors})

    def _record(self, conversion: dict[str, Any]) -> bool:
        name = self.names[conversion["ConversionTime"]]
        if self.refuse({"transactionId": name}):
            self.refused.add(name)
            return False
        self.keys[name] = {part: conversion.get(part) for part in _KEY}
        self.amounts[name] = Decimal(str(conversion["ConversionValue"]))
        return True

    def _adjust(self, adjustment: dict[str, Any]) -> None:
        name, moment = self.names[adjustment["ConversionTime"]], adjustment["AdjustmentTime"]
        if name not in self.amounts:
            self.faults.append(f"{name}: corrected before it was accepted")
        elif {part: adjustment.get(part) for part in _KEY} != self.keys[name]:
            self.faults.append(f"{name}: another conversion is meant")
        if moment < self.last.get(name, ""):
            self.faults.append(f"{name}: out of order")
        self.last[name] = moment
        self.corrected[name] += 1
        is_gone = adjustment["AdjustmentType"] == "Retract"
        self.amounts[name] = Decimal(0) if is_gone else Decimal(str(adjustment["AdjustmentValue"]))


@dataclass
class MicrosoftShop(Shop):
    """Its orders come from ads, each a second before the one sold last."""

    ledger: MicrosoftLedger
    start: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.sending.moment().replace(microsecond=0) - timedelta(minutes=1)

    def sell(self, amount: str, *, has_click: bool = True, **columns: Any) -> int:
        moment = self.start - timedelta(seconds=len(self.ledger.names))
        event = super().sell(amount, event_time=moment, **columns)
        self.ledger.names[f"{moment:%Y-%m-%dT%H:%M:%SZ}"] = key(event)
        if has_click:
            self._click(event, moment - timedelta(hours=1))
        return event

    def _click(self, event: int, moment: datetime) -> None:
        contact = self.sending.connection.execute(
            "SELECT contact_id FROM events WHERE space_id = %s AND id = %s", (self.sending.space_id, event)
        ).fetchall()[0][0]
        url = f"https://shop.example/?msclkid={event:032x}"
        self.sending.rows.touchpoint(contact, "bing_ads", url=url, occurred_at=moment)


@contextmanager
def open_microsoft(sending: Sending) -> Iterator[tuple[MicrosoftShop, MicrosoftLedger]]:
    """A shop whose conversions Microsoft takes, while the block runs."""
    sending.platform = taking(MicrosoftOffline(), token_request=lambda *_: None)
    sending.seconds = 0.3
    ledger = MicrosoftLedger()
    with FakePlatform(otherwise=ledger) as platform:
        sending.urls["microsoft_offline"] = platform.url
        destination = sending.destination(settings=SETTINGS, event_names='{"purchase": "Sale"}')
        yield MicrosoftShop(sending, destination, ledger), ledger
