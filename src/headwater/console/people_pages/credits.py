"""An event's path and credit under every model. Pure: all figures come from the explanation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from headwater.attribution.models import MODELS
from headwater.console.report_pages.basis import describe_no_credit
from headwater.events.accepted import SALES_EVENTS
from headwater.reports.explanation import NOT_TRAINED, EventExplanation
from headwater.sources.addresses import read_address
from headwater.sources.exclusions import Exclusions, make_exclusions
from headwater.sources.reasons import RuleReason, explain_rule, list_findings
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

_AD = (
    ("campaign", "campaign_name", "campaign_id"),
    ("ad set", "adset_name", "adset_id"),
    ("ad", "ad_name", "ad_id"),
    ("keyword", "keyword", "keyword"),
)


class PathTouch(Struct, frozen=True):
    id: int
    at: datetime
    contact_id: int
    source: str
    reason: RuleReason
    url: str | None
    sender: str | None
    ad: tuple[tuple[str, str], ...]
    findings: tuple[str, ...]
    """Sentences about the checks made for a direct touchpoint."""

    @property
    def title(self) -> str:
        return format_title(self.source)


class CreditCell(Struct, frozen=True):
    credited: bool
    amount: Decimal | None
    """None without credit or an event amount."""


class ModelColumn(Struct, frozen=True):
    """A model's column: cells in path order, and a total."""

    model: str
    cells: tuple[CreditCell, ...]
    left_out: int
    left_out_amount: Decimal | None
    reason: str | None
    """The reason for crediting nothing, in words; None with credit."""

    @property
    def total(self) -> Decimal:
        parts = (*(cell.amount for cell in self.cells), self.left_out_amount)
        return sum((credit for credit in parts if credit is not None), Decimal())


def exclusions_in(space: Space) -> Exclusions:
    hosts = tuple(host for host in space.own_domains if read_address(host) is not None)
    return make_exclusions(hosts, tuple(space.excluded_referrers), tuple(space.heeded_referrers))


def build_path(explanation: EventExplanation, exclusions: Exclusions) -> list[PathTouch]:
    """Return the earliest touchpoint first."""
    return [read_touch(touch, exclusions) for touch in explanation.path]


def read_touch(touch: Mapping[str, Any], exclusions: Exclusions) -> PathTouch:
    rule, url, referrer = touch["source_rule"], touch["event_url"], touch["referrer_host"]
    return PathTouch(
        touch["id"],
        datetime.fromisoformat(touch["event_time_utc"]),
        touch["contact_id"],
        touch["source"],
        explain_rule(rule, url, referrer),
        url,
        touch["sender"],
        ad_levels(touch),
        tuple(list_findings(url, referrer, exclusions)) if rule == "direct" else (),
    )


def ad_levels(touch: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return ad account levels, by name or else id."""
    levels = ((level, touch.get(name) or touch.get(number)) for level, name, number in _AD)
    return tuple((level, value) for level, value in levels if value)


def build_columns(explanation: EventExplanation, window: str) -> list[ModelColumn]:
    noun = "order" if explanation.event["event_name"] in SALES_EVENTS else "conversion"
    reasons: Mapping[str, str] = {**describe_no_credit(window, noun), NOT_TRAINED: "not trained yet"}
    return [_column(model, explanation, reasons) for model in MODELS]


def _column(model: str, explanation: EventExplanation, reasons: Mapping[str, str]) -> ModelColumn:
    model_credit = explanation.credits[model]
    reason = explanation.unattributed_reason(model)
    left_out = model_credit.left_out
    return ModelColumn(
        model,
        tuple(
            CreditCell(touch["id"] in model_credit.amounts, model_credit.amounts.get(touch["id"]))
            for touch in explanation.path
        ),
        left_out,
        model_credit.amount_left_out(explanation.event["amount"]) if left_out else None,
        None if reason is None else reasons[reason],
    )
