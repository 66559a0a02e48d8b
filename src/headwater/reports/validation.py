"""The rules of a query, all in one place, each naming the field that breaks it."""

from __future__ import annotations

from headwater.attribution.fits.choice import FIT, ONLY_FITTED
from headwater.attribution.models import MODELS, WINDOWS
from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import Errors, Invalid
from headwater.reports.change_models import SPLIT_GROUPS, SPLIT_MEASURES, ChangeQuery
from headwater.reports.cohort_models import GROUPS, MOST_MONTHS, ONLY, CohortQuery, months_of
from headwater.reports.credit_models import CreditFilter, CreditsQuery
from headwater.reports.measure_names import AVERAGES, JUDGED, TOUCHED
from headwater.reports.models import ALL_ROWS, CREDITED, DateBasis, Filters, Measure, ReportQuery
from headwater.reports.path_models import BY, PathsQuery

MOST_ROWS = 1_000
MOST_GROUPS = 2
LONGEST_CAMPAIGN = 512

Rule = tuple[str, bool, str]
"""A field, whether its rule holds, and the rule."""


def check(query: ReportQuery) -> None:
    """Raise Invalid with every rule that a query breaks."""
    fitted = query.fit is None or query.goes_by_fit
    judged = query.ripe_on is None or query.measures[0] in JUDGED
    rule = f"must begin with one of {', '.join(JUDGED)} for ripeness."
    _check(
        [
            *_common_rules(query),
            *_column_rules(query),
            ("measures", judged, rule),
            (FIT.name, fitted, ONLY_FITTED),
        ]
    )


def check_paths(query: PathsQuery) -> None:
    """The same for a query of paths."""
    _check(
        [
            *_common_rules(query),
            ("group_by", query.group in BY, f"must be one of {', '.join(BY)}."),
            ("filters", not query.filters.of_touches, "must be conditions on events only."),
        ]
    )


def check_cohorts(query: CohortQuery) -> None:
    """The same for a query of cohorts."""
    groups = {condition.group for condition in query.only}
    _check(
        [
            *_common_rules(query.report),
            ("attribution_model", query.model in MODELS, f"must be one of {', '.join(MODELS)}."),
            (FIT.name, query.fit is None or query.report.goes_by_fit, ONLY_FITTED),
            ("group_by", query.group in {None, *GROUPS}, f"must be one of {', '.join(GROUPS)}."),
            ("only", groups <= set(ONLY), f"must be of {', '.join(ONLY)}."),
            ("period", query.first <= query.today, "must not begin after this month."),
            (
                "period",
                query.first > query.today or len(months_of(query.first, query.today)) <= MOST_MONTHS,
                f"must begin in the latest {MOST_MONTHS} months.",
            ),
        ]
    )


def check_credits(query: CreditsQuery) -> None:
    """The same for a query of the events behind a figure."""
    credit, some = query.listed, query.report.of_some_touches
    _check(
        [
            *_common_rules(query.report),
            ("attribution_model", query.model in MODELS, f"must be one of {', '.join(MODELS)}."),
            (FIT.name, query.fit is None or query.report.goes_by_fit, ONLY_FITTED),
            (
                "credit",
                not (some and credit.reasons),
                "must be all, credited or touched where the credit of only some touchpoints counts.",
            ),
            (
                "credit",
                query.date_basis is not DateBasis.TOUCH or credit is not CreditFilter.ALL,
                "must be credited or touched where the period is of touchpoints.",
            ),
            ("per_page", 1 <= query.per_page <= MOST_ROWS, f"must be from 1 to {MOST_ROWS}."),
        ]
    )


def check_changes(query: ChangeQuery) -> None:
    """The same for a query of what has changed: of what cannot be split by cause, it says so."""
    report, filters = query.report, query.report.filters
    listed = ", ".join(SPLIT_MEASURES)
    kept = "must not depend on what contacts are like, or on companies: no former state is kept."
    _check(
        [
            *_common_rules(report),
            *_column_rules(report),
            (
                "measures",
                set(report.measures) <= set(SPLIT_MEASURES),
                f"must add up, so that differences can be split by cause: {listed}.",
            ),
            ("group_by", set(report.group_by) <= SPLIT_GROUPS, kept),
            ("only", {condition.group for condition in filters.only} <= SPLIT_GROUPS, kept),
            ("custom_field_filters", not filters.conditions, kept),
            (
                "campaign",
                filters.campaign is None,
                "must be left out: no former names of campaigns are kept. Use only=campaign:<key>.",
            ),
            ("query_mode", not report.by_company, "must be profile, as no former state is kept."),
        ]
    )


def _check(rules: list[Rule]) -> None:
    errors: Errors = {}
    for field, holds, rule in rules:
        if not holds:
            errors.setdefault(field, []).append(f"The {field} {rule}")
    if errors:
        raise Invalid(errors)


def _common_rules(query: ReportQuery | PathsQuery) -> list[Rule]:
    return [
        *_time_rules(query),
        *_filter_rules(query.filters),
        (
            "attribution_window",
            query.window_days in WINDOWS,
            f"must be one of {', '.join(map(str, WINDOWS))}.",
        ),
        (
            "limit",
            1 <= query.limit <= MOST_ROWS or query.limit == ALL_ROWS,
            f"must be from 1 to {MOST_ROWS}.",
        ),
    ]


def _time_rules(query: ReportQuery | PathsQuery) -> list[Rule]:
    naive = query.start.tzinfo is None and query.end.tzinfo is None
    return [
        ("start_date", naive, "must be on the clock of the Space, without an offset of its own."),
        ("end_date", not naive or query.end > query.start, "must be after start_date."),
    ]


def _column_rules(query: ReportQuery) -> list[Rule]:
    measures, groups, models = query.measures, query.group_by, query.models
    return [
        ("measures", bool(measures), "must name at least one measure."),
        ("measures", len(set(measures)) == len(measures), "must not name a measure twice."),
        (
            "measures",
            not measures or measures[0] not in _WITHOUT_SHARE or Measure.SHARE not in measures,
            "must begin with one that adds up, for share to be the share of it.",
        ),
        (
            "measures",
            len(models) <= 1
            or _OF_ANY_MODEL.issuperset(measures)
            or not (query.by_touch or query.of_some_touches),
            f"must be of {', '.join(sorted(_OF_ANY_MODEL))} where several models are compared.",
        ),
        ("group_by", len(groups) <= MOST_GROUPS, f"must not name more than {MOST_GROUPS} groups."),
        ("group_by", len(set(groups)) == len(groups), "must not name a group twice."),
        ("attribution_models", bool(models), "must name at least one model."),
        ("attribution_models", len(set(models)) == len(models), "must not name a model twice."),
        ("attribution_models", set(models) <= set(MODELS), f"must be one of {', '.join(MODELS)}."),
        (
            "order_by",
            query.order_by in {None, *measures, *groups},
            "must be one of the measures or groups that are asked for.",
        ),
    ]


def _filter_rules(filters: Filters) -> list[Rule]:
    campaign, low, high = filters.campaign, filters.amount_min, filters.amount_max
    return [
        ("event_names", set(filters.event_names) <= set(EVENT_NAMES), "must be names of events."),
        (
            "campaign",
            campaign is None or 0 < len(campaign.strip()) <= LONGEST_CAMPAIGN,
            f"must have 1 to {LONGEST_CAMPAIGN} characters.",
        ),
        ("campaign", "\0" not in (campaign or ""), "must not contain NUL."),
        ("amount_max", low is None or high is None or low <= high, "must not be less than amount_min."),
    ]


_WITHOUT_SHARE = AVERAGES | {Measure.SHARE}
_OF_ANY_MODEL = CREDITED | TOUCHED | {Measure.SHARE}
