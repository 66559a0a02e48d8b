"""The columns of ads: figures of spend and its return, and how each is written. Pure."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from markupsafe import Markup
from msgspec import Struct

from headwater.console.report_pages import figures
from headwater.console.report_pages.basis import CONVERTING, NEW, MadeOf
from headwater.reports.engine.measures import Figure
from headwater.reports.query import Measure
from headwater.reports.questions.cost_figures import CostFigures
from headwater.reports.questions.spend import CostReport


class CostColumn(Struct, frozen=True):
    figure: str
    """An attribute of CostFigures, or what `get_figure` computes."""
    title: str
    written_as: figures.FigureForm
    made_of: MadeOf | None = None
    """Parameters that select its events; None without events."""
    hint: str = ""
    missing: str = ""
    """Why a row may have no figure."""


COLUMNS = (
    CostColumn("spend", "Spend", Measure.REVENUE),
    CostColumn("impressions", "Impressions", Measure.EVENTS),
    CostColumn("clicks", "Clicks", Measure.EVENTS),
    CostColumn("credited_conversions", "Orders", Measure.CREDITED_CONVERSIONS, CONVERTING),
    CostColumn(
        "platform_conversions",
        "Platform's conversions",
        Measure.CREDITED_CONVERSIONS,
        hint="As the platform counts them, for comparison only.",
    ),
    CostColumn("credited_revenue", "Revenue", Measure.REVENUE, {}),
    CostColumn(
        "platform_revenue",
        "Platform's revenue",
        Measure.REVENUE,
        hint="As the platform counts it, for comparison only.",
    ),
    CostColumn("roas", "ROAS", figures.RATIO, hint="Revenue divided by spend.", missing="No spend"),
    CostColumn("cpa", "CPA", Measure.REVENUE, hint="Spend per order.", missing="No spend, or no orders"),
    CostColumn("new_customers", "New customers", Measure.EVENTS, NEW),
    CostColumn(
        "cac", "CAC", Measure.REVENUE, hint="Spend per new customer.", missing="No spend, or no new customers"
    ),
    CostColumn(
        "contribution",
        "Profit",
        Measure.REVENUE,
        hint="Revenue after product costs, minus spend.",
        missing="Needs a cost rate in the settings",
    ),
)
_EXTRA_COLUMNS = (
    CostColumn("ctr", "CTR", Measure.SHARE, hint="Clicks per impression.", missing="No impressions"),
    CostColumn("cpc", "CPC", Measure.REVENUE, hint="Spend per click.", missing="No clicks"),
    CostColumn(
        "platform_says",
        "Platform says",
        Measure.CREDITED_CONVERSIONS,
        hint="The platform's own conversions and revenue, for comparison only.",
    ),
)
BY_FIGURE = {column.figure: column for column in (*COLUMNS, *_EXTRA_COLUMNS)}
USUAL_COLUMNS = (
    "spend",
    "credited_revenue",
    "roas",
    "credited_conversions",
    "cpa",
    "new_customers",
    "cac",
    "contribution",
    "platform_says",
)
NOT_COMPARABLE = "Spend and revenue of this row don't belong together"
ONLY_SPEND = "Only spend is known on this level"
HEADLINES = ("spend", "credited_revenue", "roas", "cpa", "cac", "contribution")


def pick_totals(figure: str, report: CostReport) -> CostFigures:
    """Return all spend, or for other figures the platforms with spend: the same under every grouping."""
    return report.total if figure == "spend" else report.with_spend


def get_figure(column: CostColumn, costs: CostFigures) -> Figure:
    if column.figure == "platform_says":
        return Fraction(costs.platform_conversions)
    if column.figure == "ctr":
        return Fraction(costs.clicks, costs.impressions) if costs.impressions else None
    if column.figure == "cpc":
        return costs.spend / costs.clicks if costs.clicks else None
    value: Figure = getattr(costs, column.figure)
    is_part = isinstance(value, Decimal) and column.written_as is Measure.CREDITED_CONVERSIONS
    return Fraction(value) if is_part and value is not None else value


def write_figure(column: CostColumn, costs: CostFigures, currency: str) -> Markup:
    """Format a figure with its exact value."""
    reason = column.missing if costs.has_ratios else NOT_COMPARABLE
    text = figures.figure(column.written_as, get_figure(column, costs), currency, reason)
    if column.figure == "platform_says" and (costs.platform_conversions or costs.platform_revenue):
        revenue = figures.figure(Measure.REVENUE, costs.platform_revenue, currency)
        return Markup("{} · {}").format(text, revenue)
    return text


def break_even(cost_rate: Decimal | None) -> Fraction | None:
    """Return the ROAS that just covers spend and product costs; None without a cost rate."""
    if cost_rate is None or cost_rate >= 100:
        return None
    return 1 / (1 - Fraction(cost_rate) / 100)
