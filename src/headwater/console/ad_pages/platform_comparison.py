"""An ad platform's own figures and ours, as a waterfall of the steps between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.attribution.models import WINDOWS
from headwater.console.report_pages.bar import ONLY_PLACES, ChoiceLinks, model_title, read_bar, window_title
from headwater.console.report_pages.basis import conversions_title
from headwater.console.report_pages.charts.waterfall import WaterfallRow, WaterfallSteps
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.report_page import REFUSALS, ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME
from headwater.http.inputs.fields import written
from headwater.http.inputs.parameters import Parameter
from headwater.reports.query import DateBasis, Group
from headwater.reports.questions.period_spend import load_period_spend
from headwater.reports.questions.platform_comparison import (
    WHOLE_EVENTS,
    ComparisonResult,
    StepReason,
    answer_comparison,
    compare_platform,
    comparison_csv,
    read_comparison_query,
)
from headwater.reports.questions.shared import read_span
from headwater.sources.ad_platforms import platform_title, usual_click_window

_NOT_HERE = frozenset({"compare", "query_mode", ONLY_PLACES})
_PLATFORM = Parameter(name="platform", kind=written({"type": "string"}, str), description="The platform.")
_CLICK_WINDOW = Parameter(
    name="click_window", kind=written({"type": "string"}, str), description="Days after a click."
)
_GROSS = ("kind:order", "kind:conversion", "kind:upsell")
"""Events of every kind but refunds."""


class ComparisonPage(Struct, frozen=True):
    platforms: tuple[str, ...]
    """With spend in the period, most first."""
    result: ComparisonResult | None
    """None without a platform."""
    rows: tuple[WaterfallRow, ...] = ()


@dataclass(frozen=True)
class ComparisonChoice:
    """The page's own choices, unvalidated; empty for the default."""

    platform: str
    click_window: str

    @property
    def pairs(self) -> dict[str, str]:
        return {name: value for name, value in vars(self).items() if value}


class PlatformComparisons:
    def __init__(self, page: ReportPage, choice: ComparisonChoice) -> None:
        self._page, self._view, self._choice = page, page.view, choice
        self._current_time = datetime.now(UTC)

    async def load(self) -> ComparisonPage:
        """Load the content. Raise Invalid and ReportRefused."""
        platforms = await self._page.load(self._list_platforms)
        platform = self._choice.platform or next(iter(platforms), "")
        if not platform:
            return ComparisonPage(platforms, None)
        result = await self.compare(platform)
        return ComparisonPage(platforms, result, self._draw(result))

    async def compare(self, platform: str) -> ComparisonResult:
        space = self._page.space
        values = self._view.input(platform=platform, click_window=self._choice.click_window)
        query = read_comparison_query(values, space, self._current_time)
        return await self._page.load(partial(compare_platform, space_id=space.id, query=query))

    async def _list_platforms(self, connection: AsyncConnection) -> tuple[str, ...]:
        """List platforms with spend in the period, most first."""
        space = self._page.space
        span = read_span(self._view.input(), space, self._current_time)
        days = (span.start.date(), span.end.date())
        spend = (await load_period_spend(connection, space.id, days, space.currency)).by_key(
            Group.PLATFORM, ()
        )
        return tuple(sorted((key for key in spend if key), key=lambda key: (-spend[key][0], key)))

    def _draw(self, result: ComparisonResult) -> tuple[WaterfallRow, ...]:
        title, step_titles = platform_title(result.query.platform), title_steps(result)
        steps = WaterfallSteps()
        if result.reported is not None:
            steps.add_total(f"{title} says", result.reported)
        for step, change in result.steps:
            if step is StepReason.ATTRIBUTION_WINDOW:
                steps.add_total(f"Counted as {title} does", result.as_platform)
            steps.add_change(step_titles[step], change)
        model = model_title(result.query.report.models[0]).lower()
        steps.add_total(f"Credited by {model}", result.credited)
        return steps.draw("revenue" if self._view.is_monetary else "conversions")


def title_steps(result: ComparisonResult) -> dict[StepReason, str]:
    report = result.query.report
    own_window, platform_window = (
        window_title(str(days)) for days in (report.window_days, result.query.click_window)
    )
    date_text = "date of the order" if report.date_basis is DateBasis.CONVERSION else "date of the click"
    return {
        StepReason.REMAINDER: "Views, modelled conversions, orders it was not sent",
        StepReason.ATTRIBUTION_WINDOW: (
            f"Same window, {own_window}"
            if own_window == platform_window
            else f"Window of {own_window} instead of {platform_window}"
        ),
        StepReason.DATE_BASIS: f"By {date_text}",
        StepReason.REFUNDS: "Refunds",
        StepReason.OTHER_SOURCES: "Credited to other sources by your model",
    }


def count_as_platform(view: ReportView, result: ComparisonResult) -> ReportView:
    """Return the report view that counts as the platform does."""
    filters = [text for text in view.only if not text.startswith(("platform:", "kind:"))]
    return view.change(
        attribution_model=WHOLE_EVENTS,
        attribution_window=str(result.query.click_window),
        date_basis=DateBasis.TOUCH,
        only=(f"platform:{result.query.platform}", *_GROSS, *filters),
    )


def _read_choice(page: ReportPage) -> ComparisonChoice:
    choice = ComparisonChoice(_PLATFORM.read(page.query) or "", _CLICK_WINDOW.read(page.query) or "")
    page.query.finish()
    return choice


async def show_comparison(request: Request) -> Response:
    page = await open_page(request)
    view, content, problem, choice = page.view, None, None, ComparisonChoice("", "")
    try:
        choice = _read_choice(page)
        content = await PlatformComparisons(page, choice).load()
    except REFUSALS as error:
        problem = error
    result = content and content.result
    platform = result.query.platform if result else choice.platform
    links = ChoiceLinks(view, page.path, choice.pairs)
    options = {
        name: platform_title(name) for name in (*(content.platforms if content else ()), platform) if name
    }
    usual_window = usual_click_window(platform)
    windows = {str(days): window_title(str(days)) for days in WINDOWS[1:]}
    return page.render(
        "platform_comparison.html",
        read_bar(page.space, view, page.path, absent_choices=_NOT_HERE, page_choices=choice.pairs),
        problem,
        page=content,
        result=result,
        title=platform_title(platform) if platform else "",
        menus=[
            links.own_menu("platform", "Platform", options, platform, ""),
            links.own_menu(
                "click_window",
                "Its window",
                windows,
                choice.click_window or f"{usual_window}",
                f"{usual_window}",
            ),
        ],
        as_platform=count_as_platform(view, result).link(f"{page.base}/channels") if result else "",
        conversions=conversions_title(page.space, view.conversion),
        csv=view.link(f"{page.path}.csv", **{**choice.pairs, "platform": platform}) if platform else "",
    )


async def send_csv(request: Request) -> Response:
    """Send `GET /reports/platform-comparison` as CSV."""
    page = await open_page(request)
    choice = _read_choice(page)
    result = await PlatformComparisons(page, choice).compare(choice.platform)
    return csv_response("platform-comparison", result.ours.span, comparison_csv(answer_comparison(result)))


_PATH = f"{HOME}/spaces/{{space_id}}/ads/comparison"
ROUTES = [Route(_PATH, show_comparison, methods=["GET"]), Route(f"{_PATH}.csv", send_csv, methods=["GET"])]
