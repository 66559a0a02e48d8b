"""Findings about a site, from the available evidence: a test for each fault."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from headwater.alerts.site_tests.findings import judge
from headwater.alerts.site_tests.models import (
    Arrivals,
    ArrivedOrder,
    FaultKind,
    PageProbe,
    RepeatedOrder,
    ScriptState,
    SiteEvidence,
    SiteFacts,
    SiteFault,
    SiteTest,
    StepName,
    TagFacts,
)
from headwater.spaces.sites.refusals import Refusal, RefusalReason

KEY, OTHER = "trk_pk_" + "a" * 24, "trk_pk_" + "b" * 24
START = datetime(2026, 11, 1, 10, tzinfo=UTC)
TAG = TagFacts(source="https://hw.shop.example/t.js", key=KEY)
FINE = PageProbe(final_url="https://shop.example/", tags=(TAG,), keys=(KEY,))
SEEN = Arrivals(page_views=1, is_identified=True, has_token=True)
ORDER = ArrivedOrder(
    event_id=7, order_id="1001", sender="api_key", has_visit=True, is_of_test=True,
    event_time=START, received_at=START,
)  # fmt: skip


def evidence(
    probe: PageProbe | None = FINE, arrivals: Arrivals | None = None, *refusals: RefusalReason,
    seconds: float = 5, declines: bool = False,
) -> SiteEvidence:  # fmt: skip
    details = {
        RefusalReason.ORIGIN: "https://other.example",
        RefusalReason.KEY: OTHER,
        RefusalReason.CLOCK: "identify.signature",
        RefusalReason.INVALID: "event.amount",
    }
    return SiteEvidence(
        site=SiteFacts(KEY, ["https://shop.example"], "https://hw.shop.example/t.js"),
        test=SiteTest("https://shop.example/", "hwtest-1", START, 1, probe),
        arrivals=arrivals or Arrivals(),
        now=START + timedelta(seconds=seconds),
        refusals={reason: Refusal(reason, details[reason], START) for reason in refusals},
        declines_tracking=declines,
    )


def faults(*args: Any, **options: Any) -> list[SiteFault]:
    return list(judge(evidence(*args, **options)).findings)


def find_fault(*args: Any, **options: Any) -> SiteFault:
    (fault,) = faults(*args, **options)
    assert fault.title
    assert fault.about.endswith(".")
    assert fault.remedy.endswith(".")
    return fault


def tagged(**changes: Any) -> PageProbe:
    tag = msgspec.structs.replace(TAG, **changes)
    return msgspec.structs.replace(FINE, tags=(tag,))


def test_it_works() -> None:
    """A site has no findings before any data could have arrived, nor once everything has arrived."""
    verdict = judge(evidence())
    assert (verdict.done, verdict.findings, verdict.is_complete) == (frozenset(), [], False)
    verdict = judge(evidence(FINE, replace(SEEN, orders=[ORDER])))
    assert (verdict.done, verdict.findings) == (frozenset(StepName), [])
    assert verdict.is_complete


def test_the_tag_is_absent() -> None:
    absent = msgspec.structs.replace(FINE, tags=(), keys=())
    fault = find_fault(absent)
    assert fault.kind is FaultKind.TAG_ABSENT
    assert "https://shop.example/" in fault.about
    by_script = find_fault(msgspec.structs.replace(absent, has_tag_manager=True))
    assert by_script.kind is FaultKind.TAG_ABSENT
    assert "published" in by_script.remedy
    assert faults(msgspec.structs.replace(FINE, tags=())) == [], "a script makes the tag"


@pytest.mark.parametrize(
    ("probe", "expected_text"),
    [
        (tagged(key=OTHER), OTHER),
        (tagged(key=""), "no `data-site`"),
        (msgspec.structs.replace(FINE, tags=(), keys=(OTHER,)), OTHER),
    ],
)
def test_another_key(probe: PageProbe, expected_text: str) -> None:
    fault = find_fault(probe)
    assert fault.kind is FaultKind.WRONG_KEY
    assert expected_text in fault.about


def test_another_key_that_a_script_puts_there() -> None:
    by_script = msgspec.structs.replace(FINE, tags=())
    assert find_fault(by_script, None, RefusalReason.KEY).kind is FaultKind.WRONG_KEY
    assert faults(FINE, None, RefusalReason.KEY) == [], "it is another page's"


def test_consent_is_never_given() -> None:
    assert find_fault(tagged(needs_consent=True)).kind is FaultKind.CONSENT_MISSING
    by_browser = find_fault(declines=True)
    assert by_browser.kind is FaultKind.CONSENT_MISSING
    assert "Global Privacy Control" in by_browser.about
    assert faults(tagged(needs_consent=True), SEEN) == [], "it was given"


def test_a_redirect_strips_the_click_id() -> None:
    urls = ("https://shop.example/", "https://shop.example/home")
    fault = find_fault(msgspec.structs.replace(FINE, lost_between=urls), SEEN)
    assert fault.kind is FaultKind.CLICK_ID_LOST
    assert "https://shop.example/home" in fault.about


def test_a_script_strips_the_click_id() -> None:
    """The fault shows only in received data, and not before the user could have opened the page."""
    other_arrivals = Arrivals(other_views=3)
    assert find_fault(FINE, other_arrivals, seconds=60).kind is FaultKind.CLICK_ID_LOST
    assert faults(FINE, other_arrivals, seconds=5) == []
    assert faults(FINE, replace(SEEN, other_views=3), seconds=60) == []


def test_the_shop_s_policy() -> None:
    fault = find_fault(tagged(script_blocked_by="script-src", reports_blocked_by="default-src"))
    assert fault.kind is FaultKind.POLICY_BLOCKS
    assert "`script-src` and `default-src`" in fault.about
    assert "`https://hw.shop.example`" in fault.remedy
    assert "its reports" in find_fault(tagged(reports_blocked_by="connect-src")).about
    assert faults(tagged(reports_blocked_by="connect-src"), SEEN) == []


@pytest.mark.parametrize(
    ("state", "message"),
    [(ScriptState.MISSING, "which answers HTTP 404"), (ScriptState.INSECURE, "insecure"),
     (ScriptState.LOCAL, "their own computer")],
)  # fmt: skip
def test_a_wrong_address(state: ScriptState, message: str) -> None:
    fault = find_fault(tagged(script=state, script_fault="answers HTTP 404"))
    assert fault.kind is FaultKind.WRONG_ADDRESS
    assert message in fault.about
    assert "https://hw.shop.example/t.js" in fault.remedy
    assert ("HEADWATER_BASE_URL" in fault.remedy) is (state is not ScriptState.MISSING)
    assert faults(tagged(script=ScriptState.PASSED_ON)) == []


def test_an_order_without_the_token() -> None:
    stray = replace(ORDER, has_visit=False, is_of_test=False)
    fault = find_fault(FINE, replace(SEEN, orders=[stray]))
    assert fault.kind is FaultKind.ORDER_WITHOUT_TOKEN
    assert "`1001`" in fault.about
    assert faults(FINE, replace(SEEN, orders=[stray, ORDER])) == [], "another's"
    other_order = replace(ORDER, is_of_test=False)
    assert faults(FINE, replace(SEEN, orders=[other_order])) == []


def test_a_number_that_comes_twice() -> None:
    repeated_orders = [RepeatedOrder("1001", 7)]
    fault = find_fault(FINE, replace(SEEN, repeated=repeated_orders))
    assert fault.kind is FaultKind.ORDER_REPEATED
    assert "`1001`" in fault.about


@pytest.mark.parametrize(("hours", "message"), [(2, "120 minutes ahead"), (-1, "60 minutes behind")])
def test_the_clock_of_the_server(hours: int, message: str) -> None:
    wrong = replace(ORDER, event_time=START + timedelta(hours=hours))
    fault = find_fault(FINE, replace(SEEN, orders=[wrong]))
    assert fault.kind is FaultKind.CLOCK_WRONG
    assert message in fault.about
    late = replace(ORDER, is_of_test=False, event_time=START - timedelta(hours=9))
    assert faults(FINE, replace(SEEN, orders=[late])) == [], "ordered long ago"


def test_the_clock_of_whoever_signs() -> None:
    fault = find_fault(FINE, SEEN, RefusalReason.CLOCK)
    assert fault.kind is FaultKind.CLOCK_WRONG
    assert "identify.signature" in fault.about


def test_a_blocked_cookie() -> None:
    fault = find_fault(FINE, replace(SEEN, has_token=False))
    assert fault.kind is FaultKind.COOKIE_BLOCKED


def test_an_address_that_is_none_of_the_site_s() -> None:
    other_origin = msgspec.structs.replace(FINE, final_url="https://www.shop.example/")
    fault = find_fault(other_origin)
    assert fault.kind is FaultKind.ORIGIN_UNKNOWN
    assert "`https://www.shop.example`" in fault.remedy
    origin_fault = find_fault(FINE, None, RefusalReason.ORIGIN)
    assert "https://other.example" in origin_fault.about


def test_other_causes_are_named() -> None:
    assert find_fault(PageProbe(failure="It is away.")).kind is FaultKind.PAGE_UNREAD
    assert find_fault(FINE, SEEN, RefusalReason.INVALID).kind is FaultKind.ITEM_INVALID
    late = find_fault(FINE, replace(SEEN, waiting_seconds=60))
    assert late.kind is FaultKind.PROCESSING_LATE
    assert faults(None) == []


def test_hostile_texts_stay_within_their_names() -> None:
    fault = find_fault(tagged(key="`evil` " + "x" * 500))
    assert fault.about.count("`") % 2 == 0
    assert len(fault.about) < 400
