"""Reasons for which a report is not made although its query is valid."""

from __future__ import annotations

from enum import StrEnum

from headwater.http.errors import Problem


class ReportProblem(StrEnum):
    """The typed reasons."""

    TOO_MUCH = "too_much"
    OTHER_QUESTION = "other_question"
    SETTINGS_CHANGED = "settings_changed"
    OTHER_PAST = "other_past"
    FIT_DELETED = "fit_deleted"
    UNCOUNTED = "uncounted"
    TOO_OLD = "too_old"


class ReportRefused(Problem):
    """422: a report that is not made."""


class ReportTooLarge(ReportRefused):
    """422: the sums take longer than a request may."""

    def __init__(self) -> None:
        super().__init__(
            "There is too much to add up: narrow the range.", 422, {"reason": ReportProblem.TOO_MUCH}
        )


class ReadingRefused(ReportRefused):
    """422: two readings that cannot be compared; the field names the one that is at fault."""

    def __init__(self, field: str, reason: ReportProblem, words: str) -> None:
        super().__init__(words, 422, {"reason": reason, "field": field})


class OtherQuestion(ReadingRefused):
    """422: a reading of another period, model or filter than is asked for."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.OTHER_QUESTION,
            f"The reading `{field}` is of another question, or of another Space: give the dates, "
            "model, window, date basis and filters that its report had. A period in words is "
            "another one tomorrow: give start_date and end_date.",
        )


class SettingsChanged(ReadingRefused):
    """422: a reading of before a setting of the Space was changed."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.SETTINGS_CHANGED,
            f"The reading `{field}` was made in another time zone or currency than the Space has "
            "now, so all figures may differ. Take a new one.",
        )


class OtherPast(ReadingRefused):
    """422: a reading from before a backup was restored."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.OTHER_PAST,
            f"The reading `{field}` is from before the installation was restored from a backup.",
        )


class FitDeleted(ReadingRefused):
    """422: a reading of credit by a fit that is there no more."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.FIT_DELETED,
            f"The reading `{field}` has credit by a fit that is there no more. Take a new one.",
        )


class ReadingTooOld(ReadingRefused):
    """422: a reading of before changes were kept."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.TOO_OLD,
            f"The reading `{field}` is too old: changes are known of the last 400 days, and not of "
            "before they were first counted.",
        )


class Uncounted(ReadingRefused):
    """422: what is known of the past does not lead to what a reading has seen."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            ReportProblem.UNCOUNTED,
            f"The number of events at the reading `{field}` is not what is left when all known "
            "changes are undone: rows were changed outside of Headwater, or by an older version. "
            "Take a new one.",
        )
