"""Explain why an event is direct or unattributed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from headwater.console.people_pages.credits import PathTouch
from headwater.console.report_pages.bar import window_title
from headwater.console.report_pages.view import ReportView
from headwater.people.identity.senders import Sender
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.explanation import EventExplanation
from headwater.sources.source_names import SourceNames
from headwater.sources.titles import format_title

SENDERS = {
    Sender.API_KEY: "an API key",
    Sender.WEBHOOK: "a webhook",
    Sender.IMPORT: "an import",
    Sender.ASSISTANT: "an assistant",
    Sender.BROWSER: "a page in a browser",
    Sender.SIGNED_BROWSER: "a page in a browser, signed by the business",
}


class Surroundings(Struct, frozen=True):
    """The touchpoints before and after an event, and whether its contact has a browser."""

    before_at: datetime | None
    before_source: int | None
    after_at: datetime | None
    after_source: int | None
    company_touched: bool
    has_browser: bool
    has_page_views: bool


class OriginAnswer(Struct, frozen=True):
    """The answer, and a setting that would give credit."""

    question: str
    sentences: tuple[str, ...]
    instead: ReportView | None = None
    instead_text: str = ""


def explain_origin(
    explanation: EventExplanation,
    path: Sequence[PathTouch],
    around: Surroundings,
    view: ReportView,
    sources: SourceNames,
) -> OriginAnswer | None:
    """Explain a direct or uncredited event; None for others."""
    reason = explanation.unattributed_reason("linear")
    event_time = datetime.fromisoformat(explanation.event["event_time_utc"])
    if reason is NoCredit.OUTSIDE_WINDOW:
        return _outside(around, event_time, view, sources)
    if reason is not None:
        return _untouched(explanation, around, event_time, view, sources)
    if path and all(touch.source == "direct" for touch in path):
        return _direct(path)
    return None


def _direct(path: Sequence[PathTouch]) -> OriginAnswer:
    has_several = len(path) > 1
    first = (
        f"All {len(path)} touchpoints of its path are direct visits. Of the last one:"
        if has_several
        else "The one touchpoint of its path is a direct visit:"
    )
    last = path[-1]
    reasons = last.findings or (f"The rule {last.reason.rule}: {last.reason.words}.",)
    return OriginAnswer("Why direct?", (first, *reasons))


def _outside(
    around: Surroundings, event_time: datetime, view: ReportView, sources: SourceNames
) -> OriginAnswer:
    sentences: list[str] = []
    if around.before_at is not None and around.before_source is not None:
        source = format_title(sources.get_name(around.before_source))
        sentences.append(
            f"The last touchpoint before it was {source}, {_span(event_time - around.before_at)} "
            f"earlier; only those within {window_title(view.attribution_window)} count."
        )
    return OriginAnswer(
        "Why unattributed?", tuple(sentences), view.change(attribution_window="0"), "Remove the time limit"
    )


def _untouched(
    explanation: EventExplanation,
    around: Surroundings,
    event_time: datetime,
    view: ReportView,
    sources: SourceNames,
) -> OriginAnswer:
    owner_text = "this contact or its company" if view.by_company else "this contact"
    sentences = [f"There is no touchpoint of {owner_text} before the event."]
    if around.after_at is not None and around.after_source is not None:
        source = format_title(sources.get_name(around.after_source))
        sentences.append(
            f"The first one after the event was {source}, {_span(around.after_at - event_time)} later; "
            "touchpoints after an event don't count."
        )
    sentences.append(_explain_browser(explanation, around))
    if around.company_touched and not view.by_company:
        sentences.append("Other contacts of its company have touchpoints.")
        other_view = view.change(query_mode="company")
        return OriginAnswer(
            "Why unattributed?", tuple(sentences), other_view, "Show the whole company's path"
        )
    return OriginAnswer("Why unattributed?", tuple(sentences))


def _explain_browser(explanation: EventExplanation, around: Surroundings) -> str:
    if around.has_page_views:
        return "This contact has page views before the event, but none of them created a touchpoint."
    if around.has_browser:
        return (
            "This contact has a browser with a trk_token, but it reported no page view or touchpoint before."
        )
    sender = explanation.event["sender"]
    by = f" The event was sent by {SENDERS[Sender(sender)]}." if sender else ""
    return (
        f"This contact has no known browser.{by} Send the visitor's trk_token, or let the page "
        "identify the visitor, to connect visits and events."
    )


def _span(time: timedelta) -> str:
    minutes = int(time.total_seconds() // 60)
    for size, unit in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            number = minutes // size
            return f"{number} {unit}{'s' * (number != 1)}"
    return "less than a minute"
