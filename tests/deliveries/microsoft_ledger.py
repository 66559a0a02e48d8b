"""A fake Microsoft Advertising with its own ledger of offline conversions."""

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
from tests.support.destinations import change_platform
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest, Silence, Step

SETTINGS = '{"customer_id": "1", "account_id": "2"}'
Key = tuple[str, str, str | None]
"""What Microsoft identifies a conversion by: goal, time and click."""


@dataclass
class MicrosoftLedger(GoogleLedger):
    """Count each key once, with its first value, like Microsoft. An order sent under another goal, time or
    click counts twice. An adjustment must repeat the key. Each order has its own time.
    """

    names: dict[str, str] = field(default_factory=dict[str, str])
    """Orders by time."""
    counted_values: dict[str, dict[Key, Decimal]] = field(default_factory=dict[str, dict[Key, Decimal]])
    """Values by order and key."""
    repeated: int = 0
    """Conversions received again."""

    def __call__(self, request: ReceivedRequest) -> Step:
        reaction = self.react()
        if reaction == "down":
            return Answer(503)
        if reaction == "refuse token":
            return Answer(401, {"Errors": [{"Code": 105, "ErrorCode": "InvalidCredentials"}]})
        if reaction == "refuse":
            return Answer(400, {"OperationErrors": [{"Code": 5600, "ErrorCode": "Invalid"}]})
        content = request.json()
        conversions = content.get("OfflineConversions", [])
        errors = [
            {"Index": index, "Code": 5600, "ErrorCode": "Invalid"}
            for index, conversion in enumerate(conversions)
            if not self._record(conversion)
        ]
        for adjustment in content.get("OfflineConversionAdjustments", []):
            self._adjust(adjustment)
        return Silence() if reaction == "silent" else Answer(body={"PartialErrors": errors})

    def _record(self, conversion: dict[str, Any]) -> bool:
        name, key = self._read_key(conversion)
        if self.refuse({"transactionId": name}):
            self.refused_ids.add(name)
            return False
        values = self.counted_values.setdefault(name, {})
        if key in values:
            self.repeated += 1
        elif values:
            self.faults.append(f"{name}: doubled")
        values.setdefault(key, Decimal(str(conversion["ConversionValue"])))
        self._add_up(name)
        return True

    def _adjust(self, adjustment: dict[str, Any]) -> None:
        (name, key), moment = self._read_key(adjustment), adjustment["AdjustmentTime"]
        if key not in self.counted_values.get(name, {}):
            self.faults.append(f"{name}: corrected before it was accepted, or another conversion is meant")
            return
        if moment < self.last.get(name, ""):
            self.faults.append(f"{name}: out of order")
        self.last[name] = moment
        self.corrected[name] += 1
        is_gone = adjustment["AdjustmentType"] == "Retract"
        self.counted_values[name][key] = (
            Decimal(0) if is_gone else Decimal(str(adjustment["AdjustmentValue"]))
        )
        self._add_up(name)

    def _read_key(self, content: dict[str, Any]) -> tuple[str, Key]:
        goal, time = content["ConversionName"], content["ConversionTime"]
        return self.names[time], (goal, time, content.get("MicrosoftClickId"))

    def _add_up(self, name: str) -> None:
        self.amounts[name] = sum(self.counted_values[name].values(), Decimal(0))


@dataclass
class MicrosoftShop(Shop):
    """A shop whose orders come from ads. Each order is one second older than the order sold before it."""

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
    """Yield a shop whose conversions go to a fake Microsoft."""
    sending.platform = change_platform(MicrosoftOffline(), token_request=lambda *_: None)
    sending.seconds = 1.0
    ledger = MicrosoftLedger()
    with FakePlatform(default=ledger) as platform:
        sending.urls["microsoft_offline"] = platform.url
        destination = sending.destination(settings=SETTINGS, event_names='{"purchase": "Sale"}')
        yield MicrosoftShop(sending, destination, ledger), ledger
