"""Why a report is not made although nothing is wrong with the question."""

from __future__ import annotations

from enum import StrEnum

from headwater.http.errors import Problem


class ReportProblem(StrEnum):
    """Typed reasons."""

    TOO_MUCH = "too_much"


class ReportTooLarge(Problem):
    """422: adding up takes longer than anybody should wait."""

    def __init__(self) -> None:
        super().__init__(
            "There is too much to add up: narrow the range.",
            422,
            {"reason": ReportProblem.TOO_MUCH},
        )
