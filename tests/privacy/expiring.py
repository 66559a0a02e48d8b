"""People and logs of a given time, with a distinct value in every column that can hold personal data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from tests.support.canaries import Canaries
from tests.support.factories import Stage

NOW = datetime(2026, 5, 1, 3, tzinfo=UTC)
OLD, RECENT = NOW - timedelta(days=101), NOW - timedelta(days=99)
PROFILE = ("email", "name", "phone", "location", "city", "state", "country", "device_type", "os", "browser",
           "language")  # fmt: skip
TAGS = ("account_id", "account_name", "campaign_id", "campaign_name", "adset_id", "adset_name", "ad_id",
        "ad_name", "keyword")  # fmt: skip
VIEWED = ("event_name", "url", "referrer_host", "country", "device_type", "browser", "os", "language",
          "campaign")  # fmt: skip
SAID = ("order_id", "order_name", "checkout_token", "upsell_common_id", "idempotency_key", "event_url",
        "company_external_id", "user_agent", "ip", "heard_about_us")  # fmt: skip


class Traces:
    """A person's rows, with a distinct value in every column that can hold personal data."""

    def __init__(
        self, stage: Stage, time: datetime, event_name: str = "view_content", **columns: Any
    ) -> None:
        self.of_person, self.of_delivery = Canaries(), Canaries()
        text, self._stage, self._time = self.of_person.text, stage, time
        fields = {f"profile_field_{slot}": value for slot, value in self.of_person.slots().items()}
        self.id = stage.contact(created_at=time, **{name: text(name) for name in PROFILE}, **fields)
        names = {"first_name": text("first"), "last_name": text("last")}
        stage.identifier(self.id, "name", text("name"), first_seen_at=time, last_seen_at=time, **names)
        touch_columns = {
            "occurred_at": time,
            "cookies": Jsonb({"fbp": text("cookie")}),
            "warnings": [text("warning")],
        }
        ad = {name: text(name) for name in TAGS}
        url = f"https://shop.example/{text('page')}"
        stage.touchpoint(self.id, "google_ads", url=url, referrer_host=text("host"), **touch_columns, **ad)
        event_columns = {name: text(name) for name in SAID}
        event_columns |= {"cookies": Jsonb({"fbp": text("cookie")}), "warnings": [text("warning")]}
        self.event_id = stage.event(
            self.id, event_name=event_name, event_time=time, **event_columns, **columns
        )
        device = self.of_person.uuid()
        visit = stage.visit(self.id, started_at=time, last_hit_at=time, device=device)
        touch = Jsonb({"rule": text("touch")})
        stage.hit(self.id, visit, occurred_at=time, touch=touch, **{name: text(name) for name in VIEWED})
        stage.click(self.of_person.uuid(), device)
        stage.connection.execute(
            "INSERT INTO unsigned_joins VALUES (%s, %s, %s, %s)",
            (stage.space_id, text("join"), self.id, time),
        )
        self._is_sent()

    def _is_sent(self) -> None:
        text, stage = self.of_delivery.text, self._stage
        answer_columns = {
            "request": Jsonb({"user": text("request")}),
            "answer": text("answer"),
            "error": text("error"),
        }
        dedup_id = self.of_person.text("dedup")
        answer_columns["first_attempt"] = Jsonb({"click_id": self.of_person.text("click")})
        delivery_id = stage.add_delivery(
            stage.destination(), self.event_id, dedup_id=dedup_id, finished_at=self._time, **answer_columns
        )
        stage.attempt(delivery_id, error=text("attempt"), attempted_at=self._time)


def leave_logs(stage: Stage, time: datetime) -> Canaries:
    canaries = Canaries()
    text = canaries.text
    headers = Jsonb({"x": text("header")})
    stage.delivery(received_at=time, headers=headers, body=text("body"), detail=text("detail"),
                   dedup_key=text("dedup"))  # fmt: skip
    stage._insert("rejected", {
        "id": stage._next_value("receipt_ids"), "kind": "event", "received_at": time, "rejected_at": time,
        "sender": "api_key", "payload": text("payload"), "reason": "processing_error", "detail": text("why"),
    })  # fmt: skip
    stage._insert("ignored_names", {"name": text("name"), "reason": "x", "times": 1, "last_day": time.date()},
                  "name")  # fmt: skip
    stage._insert("site_refusals", {"site_id": time.day, "reason": "key", "detail": text("key"),
                                    "noted_at": time}, "site_id")  # fmt: skip
    alert = stage._insert("alerts", {"rule": "custom", "subject": text("subject"), "title": text("title"),
                                     "cause": text("cause"), "began": time, "opened_at": time,
                                     "ended_at": time})  # fmt: skip
    stage._insert("alert_steps", {"alert_id": alert, "step": "opened", "at": time})
    return canaries
