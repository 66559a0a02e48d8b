"""The plain-Python model of reports, against figures worked out by hand.

day of May 2026    10        11         12        13         14         15
Ada    (DE, Acme)  google    email                buys 100              refund -30
Bob    (FR, Acme)            direct     buys 50
Cem    (no group)  tiktok, on 1 April   buys 20   signs up
Dee    (no group)                                 direct     buys 10
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.report_model.clock import Period, comparison_period
from tests.support.report_model.credit import share_credit, share_out
from tests.support.report_model.facts import Contact, Event, Facts, TagSet, Touchpoint
from tests.support.report_model.paths import make_paths
from tests.support.report_model.question import read_question
from tests.support.report_model.report import Report, make_report

ADA, BOB, CEM, DEE = 1, 2, 3, 4
ACME = 7
SPRING = TagSet(campaign_id="11", campaign_name="Spring", keyword="boots")
MAY = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}


def moment(day: int, hour: int = 12, month: int = 5) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=UTC)


def make_facts(zone: str = "UTC") -> Facts:
    return Facts(
        ZoneInfo(zone),
        events=[
            Event(101, ADA, ACME, moment(13), amount=Decimal(100)),
            Event(102, ADA, ACME, moment(15), amount=Decimal(-30)),
            Event(103, BOB, ACME, moment(12), amount=Decimal(50)),
            Event(104, CEM, None, moment(12, 6), amount=Decimal(20)),
            Event(105, CEM, None, moment(13), "sign_up"),
            Event(106, DEE, None, moment(14), amount=Decimal(10)),
        ],
        touchpoints=[
            Touchpoint(11, ADA, ACME, moment(10), "google_ads", SPRING, "https://a.example/x/?q#z"),
            Touchpoint(12, ADA, ACME, moment(11), "email", TagSet(campaign_name="News")),
            Touchpoint(13, BOB, ACME, moment(11, 18), "direct"),
            Touchpoint(14, CEM, None, moment(1, month=4), "tiktok_ads"),
            Touchpoint(15, DEE, None, moment(13), "direct"),
        ],
        contacts={ADA: Contact(ADA, "DE", {"profile_field_1": "gold"}), BOB: Contact(BOB, "FR"),
                  CEM: Contact(CEM), DEE: Contact(DEE)},
        companies={ACME: "Acme"},
        tag_sets=[SPRING, TagSet(campaign_name="News"), TagSet("11", "Early spring")],
    )  # fmt: skip


def report(*measures: str, facts: Facts | None = None, **options: Any) -> Report:
    return make_report(facts or make_facts(), read_question({"measures": measures, **MAY, **options}))


def rows(answer: Report) -> dict[Any, list[Fraction | None]]:
    keys = [row.keys[0] if len(row.keys) == 1 else row.keys for row in answer.rows]
    return {key: [*row.figures.values()] for key, row in zip(keys, answer.rows, strict=True)}


def test_it_works() -> None:
    result = report("credited_revenue", "credited_events", "revenue", "share", group_by=["source"],
                    attribution_model="linear")  # fmt: skip
    # 100 and -30 are split equally between google and email; Bob and Dee came directly; Cem's click is older
    # than 30 days. Ada's two events count in full for both of hers: 100 - 30 = 70.
    assert rows(result) == {
        "direct": [60, 2, 60, Fraction("0.4")],
        "email": [35, 1, 70, Fraction(7, 30)],
        "google_ads": [35, 1, 70, Fraction(7, 30)],
    }
    assert [*result.total.figures.values()] == [130, 4, 150, Fraction(13, 15)]
    assert result.unattributed is not None
    assert [*result.unattributed.row.figures.values()] == [20, 2, 20, Fraction(2, 15)]
    assert result.overall is not None
    assert [*result.overall.figures.values()] == [150, 6, 150, 1]
    assert result.event_names == {"purchase": 5, "sign_up": 1}
    assert (result.first_event, result.last_event) == (moment(12, 6), moment(15))


def test_money_and_people() -> None:
    result = report("events", "orders", "refund_count", "revenue", "gross_revenue", "refunds",
                    "average_order_value", "contacts", "new_customers",
                    group_by=["month"])  # fmt: skip
    assert rows(result) == {"2026-05": [6, 4, 1, 150, 180, 30, 45, 4, 4]}
    late = report("new_customers", "contacts", start_date="2026-05-14 00:00:00")
    # Ada's purchase was earlier; only her refund remains, which doesn't count her as a contact.
    assert [*late.total.figures.values()] == [1, 1]
    assert [*report("average_order_value", event_names=["sign_up"]).total.figures.values()] == [None]


def test_a_first_order_is_that_of_the_named_events() -> None:
    facts = make_facts()
    facts.events.append(Event(99, DEE, None, moment(2, month=1), "upsell_purchase", Decimal(5)))
    assert report("new_customers", facts=facts).total.figures == {"new_customers": 3}
    only = report("new_customers", facts=facts, event_names=["purchase"], amount_min=10)
    assert only.total.figures == {"new_customers": 4}


def test_why_events_are_credited_to_nobody() -> None:
    facts = make_facts()
    facts.events.append(Event(107, BOB, None, moment(1), amount=Decimal(7)))
    result = report("credited_revenue", "touched_events", facts=facts, group_by=["source"],
                    attribution_model="last_platform_touch")  # fmt: skip
    assert rows(result) == {
        "google_ads": [70, 2], "direct": [0, 2], "email": [0, 2],
    }  # fmt: skip
    assert result.unattributed is not None
    reasons = {reason: [*row.figures.values()] for reason, row in result.unattributed.reasons.items()}
    assert reasons == {"no_touch": [7, 0], "outside_window": [20, 0], "not_counted": [60, 2]}
    assert result.overall is not None
    assert [*result.overall.figures.values()] == [157, 4]


def test_the_ends_of_a_window_belong_to_it() -> None:
    facts = make_facts()
    facts.touchpoints.append(Touchpoint(16, CEM, None, moment(5, 6), "sms"))
    week = {"group_by": ["source"], "attribution_window": 7, "facts": facts}
    assert rows(report("touched_revenue", **week))["sms"] == [20]
    facts.touchpoints[-1] = Touchpoint(
        16, CEM, None, moment(5, 5).replace(minute=59, second=59, microsecond=999_000), "sms"
    )
    assert "sms" not in rows(report("touched_revenue", **week))
    facts.touchpoints[-1] = Touchpoint(16, CEM, None, moment(12, 6), "sms")
    assert rows(report("touched_revenue", **week))["sms"] == [20]


def test_a_company_has_one_path() -> None:
    result = report("credited_revenue", "touches_to_conversion", "days_to_conversion",
                    group_by=["source"], attribution_model="first_touch",
                    query_mode="company")  # fmt: skip
    # Bob's purchase on the 12th follows google (10th), email (11th, noon) and his own visit.
    assert rows(result) == {
        "google_ads": [120, 3, Fraction("2.5")], "direct": [10, 1, 1],
    }  # fmt: skip


def test_filters_of_touches_leave_credits_as_they_are() -> None:
    result = report("credited_revenue", "events", "touched_events", group_by=["event"],
                    attribution_model="linear", sources=["email"])  # fmt: skip
    assert rows(result) == {"purchase": [35, 2, 2]}
    assert result.unattributed is None
    assert result.overall is not None
    assert [*result.overall.figures.values()] == [150, 6, 4]
    spring = report("credited_revenue", group_by=["campaign"], attribution_model="linear",
                    campaign="PRIN")  # fmt: skip
    assert [(row.keys, row.labels) for row in spring.rows] == [(("11",), ("Early spring",))]


def test_groups() -> None:
    assert [*rows(report("revenue", group_by=["company"]))] == [str(ACME), None]
    assert rows(report("revenue", group_by=["country"])) == {"DE": [70], "FR": [50], None: [30]}
    linear = {"attribution_model": "linear"}
    pages = rows(report("credited_events", group_by=["landing_page"], **linear))
    assert pages == {None: [3], "https://a.example/x/": [1]}
    assert rows(report("events", group_by=["weekday", "hour"])) == {
        ("3", "12"): [2], ("2", "12"): [1], ("2", "06"): [1], ("4", "12"): [1], ("5", "12"): [1],
    }  # fmt: skip
    campaigns = report("credited_revenue", group_by=["channel", "campaign"], **linear)
    assert [row.keys for row in campaigns.rows] == [("direct", None), ("email", "News"), ("paid", "11")]


def test_order_and_limit() -> None:
    result = report("average_order_value", group_by=["event"], limit=1, order_by="event")
    assert ([row.keys for row in result.rows], result.left_out) == ([("purchase",)], 1)
    last = report("average_order_value", group_by=["event"])
    assert [row.keys for row in last.rows] == [("purchase",), ("sign_up",)]


def test_several_models() -> None:
    result = report("credited_revenue", "share", group_by=["source"],
                    attribution_models=["first_touch", "last_platform_touch"])  # fmt: skip
    assert result.columns == [
        "credited_revenue_first_touch", "credited_revenue_last_platform_touch",
        "share_first_touch", "share_last_platform_touch",
    ]  # fmt: skip
    assert rows(result) == {
        "google_ads": [70, 70, Fraction(7, 15), Fraction(7, 15)],
        "direct": [60, 0, Fraction("0.4"), 0],
    }
    assert result.unattributed is not None
    assert [*result.unattributed.row.figures.values()][:2] == [20, 80]
    with pytest.raises(AssertionError, match="measures"):
        report("events", group_by=["source"], attribution_models=["linear", "u_shaped"])


def test_by_the_date_of_the_touch() -> None:
    result = report("credited_revenue", "events", "share", group_by=["month"], date_basis="touch",
                    attribution_window=60, start_date="2026-04-01 00:00:00")  # fmt: skip
    # Last touches, whenever the events were: Ada's e-mail, Bob's and Dee's visits in May, Cem's click in
    # April.
    assert rows(result) == {
        "2026-05": [130, 4, Fraction(13, 15)], "2026-04": [20, 2, Fraction(2, 15)],
    }  # fmt: skip
    assert (result.unattributed, result.overall) == (None, None)
    april = report("credited_revenue", date_basis="touch", attribution_window=60,
                   start_date="2026-04-01 00:00:00", end_date="2026-04-30 23:59:59")  # fmt: skip
    assert [*april.total.figures.values()] == [20]


def test_comparisons() -> None:
    facts = make_facts()
    facts.events.append(Event(98, DEE, None, moment(1, 0, month=4), amount=Decimal(40)))
    result = report("revenue", "share", facts=facts, group_by=["day"], compare="previous_period")
    assert result.compared_period == Period(datetime(2026, 4, 1), datetime(2026, 4, 30, 23, 59, 59))  # noqa: DTZ001
    assert result.total.comparison == {"revenue": 40, "share": 1}
    assert result.total.change == {"revenue": Fraction("2.75"), "share": 0}
    facts.events.append(Event(97, DEE, None, moment(31), amount=Decimal(1)))
    result = report("revenue", facts=facts, group_by=["day"], compare="previous_period")
    assert result.rows[-2].keys == ("2026-05-31",)
    assert result.rows[-2].comparison is None
    assert result.rows[0].comparison == {"revenue": 0}
    assert result.rows[0].change == {"revenue": None}


@pytest.mark.parametrize(
    ("start", "end", "comparison"),
    [
        ("2026-03-01 00:00:00", "2026-03-31 23:59:59", "2026-02-01 00:00:00/2026-02-28 23:59:59"),
        ("2026-04-01 00:00:00", "2026-06-30 23:59:59", "2026-01-01 00:00:00/2026-03-31 23:59:59"),
        ("2024-01-01 00:00:00", "2024-12-31 23:59:59", "2023-01-01 00:00:00/2023-12-31 23:59:59"),
        ("2026-02-01 00:00:00", "2026-02-28 23:59:58", "2026-01-04 00:00:01/2026-01-31 23:59:59"),
        ("2026-05-02 00:00:00", "2026-05-03 23:59:59", "2026-04-30 00:00:00/2026-05-01 23:59:59"),
    ],
)
def test_what_a_period_is_compared_with(start: str, end: str, comparison: str) -> None:
    compared_period = comparison_period(
        Period(datetime.fromisoformat(start), datetime.fromisoformat(end)), "previous_period"
    )
    assert compared_period is not None
    assert f"{compared_period.start}/{compared_period.end}" == comparison


def test_clock_changes() -> None:
    """On 25 October 2026 Berlin's clocks show 02:30 twice, at 00:30 and at 01:30 UTC."""
    facts = Facts(
        ZoneInfo("Europe/Berlin"),
        events=[
            Event(number, ADA, None, datetime(2026, 10, 25, hour, 30, tzinfo=UTC))
            for number, hour in enumerate((0, 1, 2))
        ],
        contacts={ADA: Contact(ADA)},
    )
    night = {"start_date": "2026-10-25 02:30:00", "end_date": "2026-10-25 02:30:00"}
    assert rows(report("events", facts=facts, group_by=["hour"], **night)) == {"02": [2]}
    sunday = {"start_date": "2026-10-25 00:00:00", "end_date": "2026-10-25 23:59:59"}
    by_hour = report("events", facts=facts, group_by=["hour", "weekday"], **sunday)
    assert rows(by_hour) == {("02", "7"): [2], ("03", "7"): [1]}


def test_odd_cents_go_to_the_largest_remainders() -> None:
    assert share_out(100, [Fraction(1, 3)] * 3) == [34, 33, 33]
    # 0.07 split 40, 10, 10 and 40 percent: 2.8, 0.7, 0.7 and 2.8 units.
    ends, inner = Fraction(2, 5), Fraction(1, 10)
    assert share_out(7, [ends, inner, inner, ends]) == [3, 1, 0, 3]
    path = [Touchpoint(n, ADA, None, moment(1), "email") for n in range(3)]
    event = Event(1, ADA, None, moment(2), amount=Decimal("-0.001"))
    assert [credit.amount for credit in share_credit("linear", event, path, {})] == [
        Fraction(-1, 1000), 0, 0,
    ]  # fmt: skip


def test_paths() -> None:
    paths = make_paths(make_facts(), read_question({"measures": ["events"], **MAY}))
    assert [(way.steps, way.further_steps, tally.events, tally.revenue) for way, tally in paths.ways] == [
        (("direct",), 0, 2, 60), (("google_ads", "email"), 0, 2, 70),
    ]  # fmt: skip
    assert [tally.days for _, tally in paths.ways] == [Fraction("0.875"), 3]
    assert paths.first_and_last.keys() == {("direct", "direct"), ("google_ads", "email")}
    lengths = {name: tally.events for name, tally in paths.touches.items() if tally}
    assert lengths == {"1": 2, "2": 2}
    days = {name: tally.events for name, tally in paths.days.items() if tally}
    assert days == {"0": 1, "1": 1, "2-3": 1, "4-7": 1}
