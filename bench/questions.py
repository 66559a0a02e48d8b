"""Thirty different report queries: models, windows, groups of touches and of events, comparison, filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.attribution.models import MODELS

CREDIT = ("credited_revenue", "credited_conversions")
WHOLE = ("events", "revenue")
BEFORE = {"compare": "previous_period"}


@dataclass(frozen=True)
class Question:
    """A query, about all time or the last 90 days."""

    model: str
    days: int
    """The window. 0 is the whole path."""
    groups: tuple[str, ...]
    measures: tuple[str, ...] = CREDIT
    options: tuple[tuple[str, Any], ...] = ()
    recent: bool = False

    @property
    def name(self) -> str:
        """Its short description."""
        extra_words = [name for name, _ in self.options] + (["of 90 days"] if self.recent else [])
        words = [self.model, str(self.days), "/".join(self.groups), "+".join(self.measures), *extra_words]
        return " ".join(text for text in words if text)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the request, without the dates."""
        extra_parameters = dict(self.options)
        model = {} if "attribution_models" in extra_parameters else {"attribution_model": self.model}
        return {
            "measures": self.measures, "group_by": self.groups or ("none",), **model,
            "attribution_window": self.days, **extra_parameters,
        }  # fmt: skip


def _ask(
    model: str, days: int, *groups: str, measures: tuple[str, ...] = CREDIT, is_recent: bool = False,
    **options: Any,
) -> Question:  # fmt: skip
    return Question(model, days, groups, measures, tuple(options.items()), is_recent)


COMPARABLE = tuple(
    _ask(model, days, "source") for days in (90, 0) for model in ("last_touch", "linear", "u_shaped")
)

ANOTHER = _ask("linear", 14, "source")
"""Different from all measured questions."""
TOTAL = _ask("last_touch", 30, measures=("events", "revenue", "orders"))
WITHOUT_TRAINING = tuple(name for name, model in MODELS.items() if not model.needs_training)
"""The models that follow a rule and need no training."""
QUESTIONS = (
    *COMPARABLE,
    _ask("time_decay", 90, "source"),
    _ask("linear_paid", 0, "channel"),
    _ask("last_non_direct_touch", 7, "channel"),
    _ask("first_touch", 30, "campaign"),
    _ask("u_shaped", 90, "campaign"),
    _ask("u_shaped", 90, "source", "month"),
    _ask("linear", 90, "campaign", "source"),
    _ask("linear", 90, "source", measures=(*WHOLE, *CREDIT)),
    _ask("u_shaped", 90, "campaign", measures=("orders", "average_order_value", "credited_revenue")),
    _ask("last_touch", 90, "source", measures=("touched_events", "touched_revenue")),
    _ask("linear", 90, "source", measures=("days_to_conversion", "touches_to_conversion")),
    _ask("linear", 30, "source", measures=("contacts", "credited_revenue")),
    _ask("last_touch", 30, "source", measures=("new_customers", "revenue")),
    _ask("last_touch", 30, "month", measures=("new_customers", "contacts")),
    TOTAL,
    _ask("last_touch", 30, "month", measures=WHOLE),
    _ask("last_touch", 30, "day", measures=WHOLE, is_recent=True),
    _ask("last_touch", 30, "weekday", "hour", measures=("revenue",)),
    _ask("last_touch", 30, "contact", measures=("revenue",)),
    _ask("all models", 90, "source", attribution_models=WITHOUT_TRAINING),
    _ask("three models", 30, "campaign", measures=("credited_revenue",), is_recent=True,
         attribution_models=("last_touch", "linear", "u_shaped")),
    _ask("u_shaped", 90, "source", is_recent=True, **BEFORE),
    _ask("last_touch", 30, "source", measures=(*WHOLE, "contacts", "credited_revenue"), is_recent=True,
         **BEFORE),
    _ask("u_shaped", 90, "campaign", measures=("events", *CREDIT), sources=("google_ads",)),
    _ask("linear", 60, "source", amount_min=100, event_names=("purchase",)),
)  # fmt: skip
