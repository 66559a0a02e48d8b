"""The first calls of the reference: send a purchase, then find its source. Both work unchanged in any Space.
A test sends them.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from headwater.api.reference.commands import curl, pretty


class FirstCall(Struct, frozen=True):
    about: str
    method: str
    target: str
    body: Any
    answer: Any

    def command(self, base_url: str) -> str:
        return curl(base_url, self.method, self.target, pretty(self.body))

    @property
    def answer_text(self) -> str:
        return pretty(self.answer)


_SUM = {"credited_revenue": 89.5, "credited_conversions": 1.0}
_NOTHING = {"credited_revenue": 0.0, "credited_conversions": 0.0}

FIRST_CALLS = (
    FirstCall(
        about="Send a purchase",
        method="POST",
        target="/public-api/v1/events/track",
        body={
            "event_name": "purchase",
            "email": "anna@example.com",
            "amount": 89.5,
            "trk_source": "google_ads",
            "idempotency_key": "order-1001",
        },
        answer={"status": 202, "message": "The event is queued."},
    ),
    FirstCall(
        about="Ask what earned it",
        method="GET",
        target="/public-api/v1/reports?period=today&group_by=source",
        body=None,
        answer={
            "columns": ["source", "credited_revenue", "credited_conversions"],
            "rows": [["google_ads", 89.5, 1.0]],
            "left_out": 0,
            "totals": _SUM,
            "unattributed": {
                **_NOTHING,
                "reasons": {"no_touch": _NOTHING, "outside_window": _NOTHING, "not_counted": _NOTHING},
            },
            "overall": _SUM,
            "event_names": {"purchase": 1},
            "conversion_names": ["purchase"],
            "period": {"start_date": "2026-11-22 00:00:00", "end_date": "2026-11-22 23:59:59"},
            "compared_period": None,
            "not_compared": None,
            "left_out_money": [],
            "compared_left_out_money": None,
            "first_event": "2026-11-22 16:18:25",
            "last_event": "2026-11-22 16:18:25",
            "timezone": "UTC",
            "currency": "USD",
            "attribution_model": "last_non_direct_touch",
            "attribution_window": 30,
            "query_mode": "profile",
            "date_basis": "conversion",
            "completeness": None,
            "trained_model": None,
            "visits": None,
            "channel_changes": None,
            "snapshot": "AQAAAAAAAAAAAQAAAAAGYOfGXx1CAAAAAQAAAAAAAQAAAAF0R3mM5vK0x2ddit2k",
        },
    ),
)
