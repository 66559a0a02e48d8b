"""A report page's choices as query parameters, so back, bookmarks and shared links lead to the same figures.

Parameters are the API's, except `conversion`, which replaces event names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from headwater.attribution.models import MODELS
from headwater.console.report_pages.filter_names import find_key
from headwater.events.accepted import EVENT_NAMES, SALES_EVENTS
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import JsonInput, Query
from headwater.reports.query import Comparison, DateBasis, Group, Measure, ReportQuery
from headwater.reports.questions.report import read_report_query
from headwater.reports.questions.shared import DEFAULT_MODEL, DEFAULT_PERIOD, NO_GROUPS
from headwater.reports.questions.spend import read_spend_query
from headwater.spaces.models import Space

SALES, ANY = "sales", "any"
CONVERSIONS = (SALES, *(name for name in EVENT_NAMES if name not in SALES_EVENTS), ANY)

_CONVERSION = one_of(CONVERSIONS)

NEW_FILTER, NEW_KEY = "filter", "key"
"""Fields of the form that adds a filter: group and key."""


@dataclass(frozen=True)
class ReportView:
    """A report page's choices. An empty text or list means the default."""

    conversion: str = SALES
    period: str = DEFAULT_PERIOD
    """In words; empty if dates are set."""
    start_date: str = ""
    end_date: str = ""
    compare: str = Comparison.PREVIOUS_PERIOD
    attribution_model: str = DEFAULT_MODEL
    attribution_window: str = "30"
    query_mode: str = "profile"
    date_basis: str = DateBasis.CONVERSION
    trained_model: str = ""
    """The trained model's name; empty for the current one."""
    only: tuple[str, ...] = ()
    """Groups that events and touchpoints must be in, as `group:key`."""
    leads: ClassVar[bool] = True
    """False if links are empty."""

    @classmethod
    def read(cls, query: Query) -> Self:
        """Read unvalidated choices. Values of the wrong type count as missing."""
        has_dates = any(query.single(name) for name in ("start_date", "end_date"))
        values: dict[str, Any] = {
            field.name: str(query.single(field.name) or "") or field.default
            for field in fields(cls)
            if field.name != "only"
        }
        if has_dates:
            values["period"] = ""
        group, typed = (str(query.single(name) or "") for name in (NEW_FILTER, NEW_KEY))
        filters = [*query.several("only"), *([f"{group}:{find_key(group, typed)}"] if group else [])]
        values["only"] = tuple(dict.fromkeys(filters))
        return cls(**values)

    @property
    def is_monetary(self) -> bool:
        return self.conversion == SALES

    @property
    def by_company(self) -> bool:
        """Return whether visits of the whole company count."""
        return self.query_mode == "company"

    @property
    def event_names(self) -> list[str]:
        if self.conversion == SALES:
            return [*SALES_EVENTS]
        return [self.conversion] if self.conversion in EVENT_NAMES else []

    @property
    def moments(self) -> tuple[str, str]:
        """Return the first and the last second, as they were typed."""
        return _moment(self.start_date, "00:00:00"), _moment(self.end_date, "23:59:59")

    @property
    def parameters(self) -> dict[str, str | list[str]]:
        """Return API report parameters."""
        values: dict[str, str | list[str]] = {
            "event_names": self.event_names,
            "period": self.period,
            "start_date": self.moments[0],
            "end_date": self.moments[1],
            "compare": self.compare,
            "attribution_model": self.attribution_model,
            "attribution_window": self.attribution_window,
            "query_mode": self.query_mode,
            "date_basis": self.date_basis,
            "only": [*self.only],
            "trained_model": self.choose_model_name((self.attribution_model,)),
        }
        return {name: value for name, value in values.items() if value}

    def choose_model_name(self, models: Sequence[str]) -> str:
        """Return the name if any of the models is trained."""
        return (
            self.trained_model
            if any(MODELS[name].needs_training for name in models if name in MODELS)
            else ""
        )

    def report(
        self,
        space: Space,
        current_time: datetime,
        measures: tuple[Measure, ...],
        group_by: tuple[Group, ...] = (),
        **changes: Any,
    ) -> ReportQuery:
        """Build a report; `changes` override the view's parameters. Raise Invalid with every error."""
        groups = [*group_by] or [NO_GROUPS]
        query = self.input(measures=[*measures], group_by=groups, **changes)
        return read_report_query(query, space, current_time)

    def spend(self, space: Space, current_time: datetime, group: Group, limit: int) -> ReportQuery:
        """Build a report of spend. Raise Invalid with every error."""
        query = self.input(query_mode="", group_by=str(group), limit=str(limit))
        return read_spend_query(query, space, current_time)

    def input(self, **changes: Any) -> JsonInput:
        """Return the choices as API input, overridden by `changes`."""
        values = {**self.parameters, **changes}
        query = JsonInput({name: value for name, value in values.items() if value})
        query.read("conversion", _CONVERSION, self.conversion)
        return query

    def change(self, **changes: Any) -> Self:
        return replace(self, **changes)

    def narrow(self, *filters: str) -> Self:
        """Add filters, and drop the previous ones on their groups."""
        replaced = tuple(f"{text.partition(':')[0]}:" for text in filters)
        other_filters = (text for text in self.only if not text.startswith(replaced))
        return self.change(only=(*other_filters, *filters))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Non-default choices as query parameters."""
        pairs: list[tuple[str, str]] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "only":
                pairs += [("only", text) for text in value]
            elif value and value != field.default:
                pairs.append((field.name, value))
        return pairs

    def link(self, path: str, **parameters: str | Sequence[str]) -> str:
        """Return a page's link with this view and the page's own parameters."""
        if not self.leads:
            return ""
        pairs = self.pairs
        for name, value in parameters.items():
            pairs += [(name, text) for text in ([value] if isinstance(value, str) else value)]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def csv_link(
        self, path: str, measures: Sequence[Measure], group_by: Sequence[Group], **changes: Any
    ) -> str:
        if not self.leads:
            return ""
        values = {**self.parameters, "measures": [*measures], "group_by": [*group_by], **changes}
        return f"{path}?{urlencode({k: v for k, v in values.items() if v}, doseq=True)}"

    def link_events(
        self,
        path: str,
        credit: str,
        made_of: Mapping[str, str | tuple[str, ...]],
        only: tuple[str, ...] | None = None,
    ) -> str:
        """Return the link to the events behind a figure: the list at `path` for a kind of credit, narrowed by
        the figure's parameters.
        """
        conditions = self.only if only is None else only
        link_values = dict(made_of)
        filters = link_values.pop("only", ())
        filters = (filters,) if isinstance(filters, str) else filters
        conditions = (*conditions, *(text for text in filters if text not in conditions))
        return self.change(only=conditions).link(path, credit=credit, **link_values)


class SharedView(ReportView):
    """A shared page's choices; it has no links."""

    leads = False


def _moment(text: str, clock: str) -> str:
    """Add a time of day; forms send only dates."""
    return f"{text} {clock}" if len(text) == len("2026-01-01") else text
