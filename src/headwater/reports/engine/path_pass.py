"""Passes over the paths of a Space: reports that are about the same days read them together, piece
by piece, each column once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from headwater.attribution.paths.reader import PathReader
from headwater.reports.engine.addition import PieceSums, add_up
from headwater.reports.engine.plan_loader import PeriodPlan
from headwater.reports.engine.remembered_sums import Addition
from headwater.reports.engine.report_reader import ReportReader
from headwater.reports.plan.plan import Plan

OF_PLANS = Addition[Plan, PieceSums | None](
    add_up,
    lasting=lambda plan: plan.lasting,
    section=lambda plan, block: plan.section(block),
    shifted=lambda sums, by: sums and sums.shifted(by),
    nothing=None,
)


async def add_up_plans(reader: ReportReader, plans: Sequence[PeriodPlan]) -> list[list[PieceSums]]:
    """Return what each plan adds up, piece by piece. Raises ReportTooLarge."""
    sums: list[list[PieceSums]] = [[] for _ in plans]
    for together in _passes(plans):
        of_pass = [plans[place] for place in together]
        paths = path_reader(reader, [planned.plan for planned in of_pass])
        survey = await reader.survey(paths, _days(of_pass))
        subjects = [planned.plan for planned in of_pass]
        async for piece in reader.sums(paths, survey, subjects, OF_PLANS):
            for place, of_plan in zip(together, piece, strict=True):
                sums[place] += [] if of_plan is None else [of_plan]
    return sums


def path_reader(reader: ReportReader, plans: Sequence[Plan]) -> PathReader:
    """Return the reader of the paths that some plans are about, which are of one kind."""
    columns = dict.fromkeys(column for plan in plans for column in plan.columns)
    return reader.path_reader(columns, by_company=plans[0].paths_of_companies)


# Reports of June, of each day of June, and of the same compared with May, in one pass; one of March
# alone would have its own:
#
#     plan        March ─── April ─── May ─── June ───
#     channels                               ████████
#       compared                    ████████
#     days                                   ████████
#     countries   ████████
#     passes      1═══════          2═════════════════
#
def _passes(plans: Sequence[PeriodPlan]) -> list[list[int]]:
    """Return the places of the plans that are read together: those whose days overlap or meet, and
    whose paths are of the same kind.
    """
    passes: list[list[int]] = []
    until = None
    for place in sorted(range(len(plans)), key=lambda place: _order(plans[place])):
        (first, last), kind = plans[place].days, plans[place].plan.paths_of_companies
        if until is not None and kind == until[0] and (first - until[1]).days <= 1:
            passes[-1].append(place)
            until = (kind, max(until[1], last))
        else:
            passes.append([place])
            until = (kind, last)
    return passes


def _days(plans: Sequence[PeriodPlan]) -> tuple[date, date]:
    return min(planned.days[0] for planned in plans), max(planned.days[1] for planned in plans)


def _order(planned: PeriodPlan) -> tuple[bool, int]:
    return planned.plan.paths_of_companies, planned.days[0].toordinal()
