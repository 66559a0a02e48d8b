"""Reasons for which a report is not made although its query is valid."""

from __future__ import annotations

from enum import StrEnum

from headwater.http.errors import Problem


class ReportProblem(StrEnum):
    """The typed reasons."""

    TOO_MUCH = "too_much"


class ReportTooLarge(Problem):
    """422: the sums take longer than a request may."""

    def __init__(self) -> None:
        super().__init__(
            "There is too much to add up: narrow the range.",
            422,
            {"reason": ReportProblem.TOO_MUCH},
        )
