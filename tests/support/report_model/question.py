"""The parameters of a report, under their API names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

CREDITED = ("credited_events", "credited_conversions", "credited_revenue")
TOUCHED = ("touched_events", "touched_revenue")
OF_PATHS = ("days_to_conversion", "touches_to_conversion")
WHOLE = (
    "events", "conversions", "orders", "upsells", "refund_count", "revenue",
    "gross_revenue", "refunds",
    "average_order_value", "contacts", "new_customers", *OF_PATHS,
)  # fmt: skip
OF_VISITS = ("visits", "conversion_rate")
MEASURES = (*WHOLE, *CREDITED, *TOUCHED, *OF_VISITS, "share")
NOT_ADDING_UP = ("average_order_value", *OF_PATHS, "conversion_rate", "share")
"""Measures without a share of the total."""

TOUCH_GROUPS = (
    "source", "platform", "channel", "campaign", "adset", "ad", "keyword", "landing_page",
)  # fmt: skip
TIME_GROUPS = ("day", "week", "month", "weekday", "hour")
EVENT_GROUPS = (
    "event", "kind", "country", "company", "contact", "customer", "self_reported_source",
)  # fmt: skip
PATH_GROUPS = (
    "path", "channel_path", "first_source", "last_source", "touch_range", "days_range",
)  # fmt: skip
"""Groups of events by the touches in the window before them."""
GROUPS = (*TOUCH_GROUPS, *TIME_GROUPS, *EVENT_GROUPS, *PATH_GROUPS)


@dataclass(frozen=True)
class Question:
    """A report's parameters."""

    measures: tuple[str, ...]
    start: datetime
    """The first second, in the Space's local time, without a zone."""
    end: datetime
    """The last second, which is included."""
    group_by: tuple[str, ...] = ()
    models: tuple[str, ...] = ("last_touch",)
    window: int = 30
    """In days. 0 means a lifetime."""
    by_company: bool = False
    event_names: tuple[str, ...] = ()
    conditions: tuple[tuple[str, str, str | None], ...] = ()
    """Conditions on custom fields: slot, operator, value."""
    amount_min: Decimal | None = None
    amount_max: Decimal | None = None
    sources: tuple[str, ...] = ()
    campaign: str | None = None
    only: tuple[tuple[str, str | None], ...] = ()
    """Groups and the keys that count. None means a missing key."""
    by_touch_date: bool = False
    compare: str = "none"
    limit: int = 50
    order_by: str | None = None
    trained_model: str | None = None
    """The trained model for markov. None selects a current one."""
    sells: bool | None = None
    """Whether the Space sells. None derives it from its events."""
    converts_all: bool = False
    """Whether events of every name count, like in lists."""
    now: datetime | None = None
    """The current time. A period that contains it is compared up to the same point."""

    @property
    def filters_touches(self) -> bool:
        """Return whether only some touches count, for instance those with certain keys or in the period."""
        has_touch_keys = any(group in TOUCH_GROUPS for group, _ in self.only)
        return bool(self.sources) or self.campaign is not None or has_touch_keys or self.by_touch_date

    def is_touch_group(self, group: str) -> bool:
        """Return whether a group belongs to touches rather than to events."""
        return group in TOUCH_GROUPS or (self.by_touch_date and group in TIME_GROUPS)

    @property
    def groups_touches(self) -> bool:
        """Return whether rows are grouped by touches rather than by events."""
        return any(self.is_touch_group(group) for group in self.group_by)

    @property
    def is_about_touches(self) -> bool:
        touch_measures = {*CREDITED, *TOUCHED, *OF_PATHS, "conversion_rate"} & set(self.measures)
        path_groups = {*PATH_GROUPS} & {*self.group_by, *(group for group, _ in self.only)}
        return self.groups_touches or self.filters_touches or bool(touch_measures or path_groups)

    @property
    def counts_visits(self) -> bool:
        return bool({*OF_VISITS} & set(self.measures))

    def refusal(self) -> str | None:
        """Return the parameter for which a server must refuse this question, or None if it is valid."""
        first = self.measures[0]
        if "share" in self.measures and first in NOT_ADDING_UP:
            return "measures"
        if self.counts_visits:
            visit_groups = {*TOUCH_GROUPS, *TIME_GROUPS}
            if set(self.group_by) - visit_groups:
                return "group_by"
            if {group for group, _ in self.only} - visit_groups:
                return "only"
            if self.conditions:
                return "custom_field_filters"
        model_measures = (*CREDITED, *TOUCHED, *OF_VISITS, "share")
        depends = self.groups_touches or self.filters_touches
        if len(self.models) > 1 and depends and set(self.measures) - set(model_measures):
            return "measures"
        return None


def read_question(values: dict[str, Any]) -> Question:
    """Read a question from the arguments of query_report, with a start and an end date."""
    model = values.get("attribution_model", "last_touch")
    minimum, maximum = (values.get(name) for name in ("amount_min", "amount_max"))
    return Question(
        measures=tuple(values["measures"]),
        start=datetime.fromisoformat(values["start_date"]),
        end=datetime.fromisoformat(values["end_date"]),
        group_by=tuple(values.get("group_by", ())),
        models=tuple(values.get("attribution_models") or (model,)),
        window=values.get("attribution_window", 30),
        by_company=values.get("query_mode") == "company",
        event_names=tuple(values.get("event_names", ())),
        conditions=tuple(
            (condition["field"], condition["operator"], condition.get("value"))
            for condition in values.get("custom_field_filters", ())
        ),
        amount_min=None if minimum is None else Decimal(str(minimum)),
        amount_max=None if maximum is None else Decimal(str(maximum)),
        sources=tuple(values.get("sources", ())),
        campaign=values.get("campaign"),
        only=tuple(_condition(text) for text in values.get("only", ())),
        by_touch_date=values.get("date_basis") == "touch",
        compare=values.get("compare", "none"),
        limit=values.get("limit", 50),
        order_by=values.get("order_by"),
        trained_model=values.get("trained_model"),
    )


def _condition(text: str) -> tuple[str, str | None]:
    group, _, key = text.partition(":")
    return group, key or None
