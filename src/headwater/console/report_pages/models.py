"""Compare models: credit for the same conversions, and the largest disagreements."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.attribution.models import MODELS
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import ChoiceLinks, model_title, read_bar
from headwater.console.report_pages.basis import Basis, choose_basis
from headwater.console.report_pages.breakdown import title
from headwater.console.report_pages.report_page import REFUSALS, ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import ListParameter, Parameter, Query
from headwater.reports.engine.measures import Figure, rounded
from headwater.reports.engine.report import ReportResult, ReportRow, query_report
from headwater.reports.query import MOST_ROWS, FigureColumn, Group, ReportQuery
from headwater.spaces.models import Space

GROUPS = {
    Group.CHANNEL: "channel",
    Group.SOURCE: "source",
    Group.CAMPAIGN: "campaign",
    Group.ADSET: "ad set",
    Group.AD: "ad",
    Group.KEYWORD: "keyword",
    Group.LANDING_PAGE: "landing page",
}
ORDERS = {"disagreement": "disagreement", "amount": "amount"}
USUAL = ("last_touch", "first_touch", "linear", "u_shaped")
FEWEST = 2
MOST_LISTED = 200

_NOT_HERE = frozenset({"compare", "attribution_model"})

_MODELS = ListParameter(
    name="models",
    kind=one_of(tuple(MODELS)),
    max_values=len(MODELS),
    default=[*USUAL],
    description="The models to compare.",
)
_BASE = Parameter(
    name="base", kind=one_of(tuple(MODELS)), description="The baseline model; default the first."
)
_GROUP = Parameter(
    name="group",
    kind=one_of([str(group) for group in GROUPS]),
    default="channel",
    description="The rows' grouping.",
)
_ORDER = Parameter(
    name="sort",
    kind=one_of(tuple(ORDERS)),
    default="disagreement",
    description="The order: largest disagreement, or largest rows, first.",
)


class ModelChoices(Struct, frozen=True):
    models: tuple[str, ...] = USUAL
    base: str = USUAL[0]
    group: Group = Group.CHANNEL
    order: str = "disagreement"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.base, *(model for model in self.models if model != self.base))

    @property
    def pairs(self) -> dict[str, str | Sequence[str]]:
        """Non-default choices as query parameters."""
        values = {
            "models": self.models if self.models != USUAL else (),
            "base": self.base if self.base != self.models[0] else "",
            "group": str(self.group) if self.group is not Group.CHANNEL else "",
            "sort": self.order if self.order != "disagreement" else "",
        }
        return {name: value for name, value in values.items() if value}

    @classmethod
    def read(cls, query: Query) -> ModelChoices:
        """Raise Invalid with every error."""
        models = _MODELS.read(query)
        if len(models) < FEWEST and _MODELS.name not in query.errors:
            query.refuse(_MODELS.name, f"must be at least {FEWEST}, to be compared.")
        base, group, order = _BASE.read(query), _GROUP.read(query), _ORDER.read(query)
        query.finish()
        base = base if base in models else models[0]
        return cls(models, base, Group(group or "channel"), order or "disagreement")


class ComparedRow(Struct, frozen=True):
    title: str
    row: ReportRow
    only: tuple[str, ...]
    amounts: tuple[Fraction, ...]

    @property
    def disagreement(self) -> Fraction:
        return max(self.amounts) - min(self.amounts)

    @property
    def differences(self) -> tuple[Fraction, ...]:
        return tuple(amount - self.amounts[0] for amount in self.amounts)


class ModelComparison(Struct, frozen=True):
    basis: Basis
    choices: ModelChoices
    report: ReportResult
    rows: list[ComparedRow]
    left_out: int

    def figure(self, amount: Fraction) -> Figure:
        """Keep the report's precision."""
        return rounded(amount) if self.basis.credited in figures.MONEY else amount

    @property
    def widest(self) -> Fraction:
        """Return the scale of the bars."""
        return max(
            (abs(difference) for row in self.rows for difference in row.differences), default=Fraction()
        )

    @property
    def sentence(self) -> str:
        disagreements = [
            (abs(difference), row, index)
            for row in self.rows
            for index, difference in enumerate(row.differences)
            if difference and row.amounts[0]
        ]
        if not disagreements:
            return "These models agree on every row."
        _, row, index = max(disagreements, key=lambda item: item[0])
        ratio = row.differences[index] / abs(row.amounts[0])
        direction = "less" if ratio < 0 else "more"
        models = self.choices.columns
        return (
            f"{row.title} is credited with {figures.percent(abs(ratio))} {direction} under "
            f"{model_title(models[index])} than under {model_title(models[0])}."
        )


def compare(basis: Basis, view: ReportView, choices: ModelChoices, report: ReportResult) -> ModelComparison:
    credit = [
        tuple(Fraction(row.figures[FigureColumn(basis.credited, model)] or 0) for model in choices.columns)
        for row in report.rows
    ]
    order = list(range(len(credit)))
    if choices.order == "disagreement":
        order.sort(key=lambda index: max(credit[index]) - min(credit[index]), reverse=True)
    rows = [
        _compared_row(view, choices.group, report.rows[index], credit[index]) for index in order[:MOST_LISTED]
    ]
    left_out = report.left_out + len(order) - len(rows)
    return ModelComparison(basis, choices, report, rows, left_out)


def _compared_row(
    view: ReportView, group: Group, row: ReportRow, amounts: tuple[Fraction, ...]
) -> ComparedRow:
    (key,) = row.keys
    conditions = view.narrow(f"{group}:{key.value or ''}").only
    return ComparedRow(title(group, key), row, conditions, amounts)


async def show_models(request: Request) -> Response:
    return await render_models(await open_page(request))


async def render_models(page: ReportPage) -> Response:
    view, path = page.view, page.path
    basis = choose_basis(view)
    choices, content, problem = ModelChoices(), None, None
    try:
        choices = ModelChoices.read(page.query)
        query = _report(page.space, view, choices, basis, datetime.now(UTC))
        report = await page.load(partial(query_report, space_id=page.space.id, query=query))
        content = compare(basis, view, choices, report)
    except REFUSALS as error:
        problem = error
    links = ChoiceLinks(view, path, choices.pairs)
    return page.render(
        "models.html",
        read_bar(page.space, view, path, absent_choices=_NOT_HERE, page_choices=choices.pairs),
        problem,
        page=content,
        column=FigureColumn,
        choices=choices,
        models={name: model_title(name) for name in MODELS},
        menus=(
            links.own_menu(
                "base",
                "Against",
                {name: model_title(name) for name in choices.models},
                choices.base,
                choices.models[0],
            ),
            links.own_menu("group", "Rows", GROUPS, choices.group, Group.CHANNEL),
            links.own_menu("sort", "Sorted by", ORDERS, choices.order, "disagreement"),
        ),
        hidden=[pair for pair in links.pairs if pair[0] != "models"],
        csv=view.csv_link(
            f"{page.base}/report.csv",
            (basis.credited, basis.touched),
            (choices.group,),
            **_model_parameters(view, choices),
        ),
    )


def model_choices_report(
    space: Space, view: ReportView, parameters: Query, basis: Basis, current_time: datetime
) -> ReportQuery:
    """Raise Invalid for bad input."""
    return _report(space, view, ModelChoices.read(parameters), basis, current_time)


def _report(
    space: Space, view: ReportView, choices: ModelChoices, basis: Basis, current_time: datetime
) -> ReportQuery:
    measures = (basis.credited, basis.touched)
    return view.report(space, current_time, measures, (choices.group,), **_model_parameters(view, choices))


def _model_parameters(view: ReportView, choices: ModelChoices) -> dict[str, Any]:
    return {
        "attribution_model": "",
        "attribution_models": [*choices.models],
        "limit": str(MOST_ROWS),
        "compare": "none",
        "trained_model": view.choose_model_name(choices.models),
    }


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/models", show_models, methods=["GET"])]
