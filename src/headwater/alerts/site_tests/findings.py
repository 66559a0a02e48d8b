"""Find a site's faults from the evidence of a test. Pure. Once the test's page view has arrived, the page's
HTML is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from headwater.alerts.site_tests.models import (
    ArrivedOrder,
    FaultKind,
    ScriptState,
    SiteEvidence,
    SiteFault,
    SiteVerdict,
    StepName,
    TagFacts,
)
from headwater.spaces.sites.origins import is_among
from headwater.spaces.sites.refusals import RefusalReason

CLOCK_SECONDS = 300
"""Accepted deviation of a shop server's clock."""
PATIENCE_SECONDS = 30
"""After this time, page views without the click id are taken for the test's."""
LATE_SECONDS = 15
LONGEST_QUOTE = 120


def judge(evidence: SiteEvidence) -> SiteVerdict:
    arrivals = evidence.arrivals
    done_steps: set[StepName] = set()
    if arrivals.page_views:
        done_steps.add(StepName.PAGE_VIEW)
    if arrivals.is_identified:
        done_steps.add(StepName.IDENTIFY)
    if any(order.is_of_test for order in arrivals.orders):
        done_steps.add(StepName.PURCHASE)
    faults = [
        *(() if arrivals.page_views else _check_page(evidence)),
        *_check_redirects(evidence),
        *_check_visitor(evidence),
        *_check_orders(evidence),
    ]
    return SiteVerdict(frozenset(done_steps), faults)


def _check_page(evidence: SiteEvidence) -> Iterator[SiteFault]:
    """Yield why no page view arrived."""
    probe = evidence.test.probe
    if probe is None:
        return
    if probe.failure:
        yield SiteFault(
            FaultKind.PAGE_UNREAD,
            "The page could not be read",
            probe.failure,
            "If it opens in your browser, continue the test there: received data counts.",
        )
        return
    own_tags = [tag for tag in probe.tags if tag.key == evidence.site.site_key]
    is_mentioned = evidence.site.site_key in probe.keys
    if probe.tags and not own_tags:
        yield _wrong_key(evidence, probe.tags[0].key)
    elif not own_tags and not is_mentioned:
        yield _wrong_key(evidence, probe.keys[0]) if probe.keys else _absent(evidence)
    elif RefusalReason.KEY in evidence.refusals and not own_tags:
        yield _wrong_key(evidence, evidence.refusals[RefusalReason.KEY].detail)
    for tag in own_tags[:1]:
        yield from _check_tag(tag, evidence)
    yield from _check_origin(evidence, probe.final_url)


def _check_tag(tag: TagFacts, evidence: SiteEvidence) -> Iterator[SiteFault]:
    if tag.script in _ADDRESSES:
        yield SiteFault(
            FaultKind.WRONG_ADDRESS,
            "The script's address is wrong",
            _ADDRESSES[tag.script].format(_quote(tag.source), tag.script_fault),
            f"The address of this installation's script is `{evidence.site.script_url}`: paste the"
            " snippet again"
            + (
                ", once `HEADWATER_BASE_URL` is the https address that your visitors reach."
                if tag.script in (ScriptState.LOCAL, ScriptState.INSECURE)
                else "."
            ),
        )
    elif tag.script_blocked_by or tag.reports_blocked_by:
        yield _blocked(tag)
    elif tag.needs_consent or evidence.declines_tracking:
        yield _no_consent(needs_consent=tag.needs_consent)


_ADDRESSES = {
    ScriptState.MISSING: "The page loads the tracker from `{}`, which {}.",
    ScriptState.INSECURE: (
        "The page is https and loads the tracker from `{}`, which browsers refuse as insecure."
    ),
    ScriptState.LOCAL: (
        "The page loads the tracker from `{}`, an address that leads every visitor to their own computer."
    ),
}


def _absent(evidence: SiteEvidence) -> SiteFault:
    probe = evidence.test.probe
    if probe is not None and probe.has_tag_manager:
        return SiteFault(
            FaultKind.TAG_ABSENT,
            "No page view, and no tag in the page itself",
            "The page has Google Tag Manager and no tag of the tracker: a tag that Tag Manager"
            " creates appears only in a browser, and none has reported yet.",
            "Open the page by the link, and make sure that the tag fires on all pages and that the"
            " container is published.",
        )
    return SiteFault(
        FaultKind.TAG_ABSENT,
        "The tag is not on the page",
        f"The page at `{_quote(probe.final_url if probe else '')}` has no tag of the tracker"
        f"{' in what was read of it' if probe is not None and probe.is_cut else ''}.",
        "Paste the snippet into its head, clear the shop's cache, and check the page again.",
    )


def _wrong_key(evidence: SiteEvidence, key: str) -> SiteFault:
    sentence = (
        f"The tag on the page has the key `{_quote(key)}`, and this site's is `{evidence.site.site_key}`."
        if key
        else "The tag on the page has no `data-site`, which holds the site's key."
    )
    return SiteFault(
        FaultKind.WRONG_KEY, "The tag has another key", sentence, "Replace it with this site's snippet."
    )


def _blocked(tag: TagFacts) -> SiteFault:
    directives = [directive for directive in (tag.script_blocked_by, tag.reports_blocked_by) if directive]
    words = " and ".join(f"`{directive}`" for directive in dict.fromkeys(directives))
    blocked_resource = "the script" if tag.script_blocked_by else "its reports"
    parts = urlsplit(tag.source)
    origin = f"{parts.scheme}://{parts.netloc}"
    return SiteFault(
        FaultKind.POLICY_BLOCKS,
        "The page's security policy blocks the tracker",
        f"The page's Content-Security-Policy does not allow {blocked_resource}: {words} does not name"
        f" `{_quote(origin)}`.",
        f"Add `{_quote(origin)}` to `script-src` and to `connect-src` of the policy.",
    )


def _no_consent(*, needs_consent: bool) -> SiteFault:
    sentence = (
        "The tag has `data-consent`, and no consent has been given: nothing is sent until then."
        if needs_consent
        else "Your browser asks not to be tracked (Do Not Track or Global Privacy Control), so"
        " nothing is sent before you consent."
    )
    return SiteFault(
        FaultKind.CONSENT_MISSING,
        "The page waits for consent",
        sentence,
        "Accept in the shop's banner; if nothing arrives then, have the banner call"
        " `trk.consent(true)` after an acceptance.",
    )


def _check_origin(evidence: SiteEvidence, final_url: str) -> Iterator[SiteFault]:
    parts = urlsplit(final_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    refusal = evidence.refusals.get(RefusalReason.ORIGIN)
    if not is_among(origin, evidence.site.origins):
        sentence = f"The page is at `{_quote(origin)}`, which is not an address of the site."
    elif refusal is not None:
        origin = refusal.detail
        sentence = f"Pages of `{_quote(origin)}` report visits, but it is not an address of the site."
    else:
        return
    yield SiteFault(
        FaultKind.ORIGIN_UNKNOWN,
        "Reports from this address are refused",
        sentence,
        f"Add `{_quote(origin)}` to the site's addresses, if it is yours.",
    )


def _check_redirects(evidence: SiteEvidence) -> Iterator[SiteFault]:
    probe, arrivals = evidence.test.probe, evidence.arrivals
    waited_seconds = (evidence.now - evidence.test.started_at).total_seconds()
    if probe is not None and probe.lost_between:
        before, after = probe.lost_between
        yield SiteFault(
            FaultKind.CLICK_ID_LOST,
            "A redirect drops the click id",
            f"`{_quote(before)}` redirects to `{_quote(after)}` without the `gclid`, so visits from"
            " ads look like direct visits.",
            "Make the redirect keep the query, or let ads link to the final address.",
        )
    elif not arrivals.page_views and arrivals.other_views and waited_seconds > PATIENCE_SECONDS:
        yield SiteFault(
            FaultKind.CLICK_ID_LOST,
            "Page views arrive without the test's click id",
            "Page views of the site have arrived since the start, but without the `gclid` of this test."
            " They belong to other visitors, or the page drops it.",
            "Open the page by the link and see whether `gclid=` is still in the address; a script"
            " of the shop that changes the address has to keep it.",
        )
    if arrivals.waiting_seconds > LATE_SECONDS:
        yield SiteFault(
            FaultKind.PROCESSING_LATE,
            "Received data is not processed yet",
            f"Something has waited for {arrivals.waiting_seconds:.0f} seconds to be processed.",
            "Wait a moment. If nothing changes, ask the operator of this installation whether its"
            " worker runs.",
        )


def _check_visitor(evidence: SiteEvidence) -> Iterator[SiteFault]:
    arrivals, refusals = evidence.arrivals, evidence.refusals
    if arrivals.page_views and not arrivals.has_token:
        yield SiteFault(
            FaultKind.COOKIE_BLOCKED,
            "The browser keeps no cookie",
            "The page view arrived without the visitor's token. The browser or the page allows"
            " neither cookies nor local storage.",
            "Open the shop in its own window, not in a frame. Allow cookies for it, and serve the"
            " tracker from the shop's domain.",
        )
    clock = refusals.get(RefusalReason.CLOCK)
    if clock is not None:
        yield SiteFault(
            FaultKind.CLOCK_WRONG,
            "A clock is wrong",
            f"An item of the page was refused because the time in `{_quote(clock.detail)}` cannot be right.",
            "Set the clocks of the server that signs logins and of the computer you test on.",
        )
    invalid = refusals.get(RefusalReason.INVALID)
    if invalid is not None:
        yield SiteFault(
            FaultKind.ITEM_INVALID,
            "An item sent by the page was refused",
            f"An item was refused for its `{_quote(invalid.detail)}`.",
            "Open the browser's developer tools, Network: the response to the report names the broken rule.",
        )


def _check_orders(evidence: SiteEvidence) -> Iterator[SiteFault]:
    arrivals = evidence.arrivals
    orders = arrivals.orders
    if not any(order.is_of_test for order in orders):
        stray = [order for order in orders if not order.has_visit]
        if stray:
            yield SiteFault(
                FaultKind.ORDER_WITHOUT_TOKEN,
                "An order arrived without a visit",
                f"The order {_name_order(stray[-1])} is not linked to a visit: it has no `trk_token`.",
                "Send the cookie `trk_token` of the buyer's request with the order. For a shop"
                " system, follow its steps on the page of the snippet.",
            )
    if arrivals.repeated:
        repeat = arrivals.repeated[-1]
        number = f"`{_quote(repeat.order_id)}`" if repeat.order_id else "one"
        yield SiteFault(
            FaultKind.ORDER_REPEATED,
            "An order number arrived twice",
            f"The order number {number} had arrived before. The order counts once: event {repeat.event_id}.",
            "Test with a new number. If the shop restarts its numbers, or two shops share numbers, add"
            " a prefix that distinguishes them.",
        )
    clock_errors = [seconds_ahead for order in orders if (seconds_ahead := _seconds_off(order))]
    if clock_errors and RefusalReason.CLOCK not in evidence.refusals:
        minutes = round(abs(clock_errors[-1]) / 60)
        yield SiteFault(
            FaultKind.CLOCK_WRONG,
            "A clock is wrong",
            f"An order arrived with a time that is {minutes:,} minutes"
            f" {'ahead' if clock_errors[-1] > 0 else 'behind'}.",
            "Set the clock of the server that sends orders, or send times with their zone, such as"
            " `2026-11-01T10:00:00+01:00`.",
        )


def _seconds_off(order: ArrivedOrder) -> float:
    """Return how far an order's time is ahead, negative if behind; 0 if it may be right: only the test's own
    order is certainly recent.
    """
    seconds_ahead = (order.event_time - order.received_at).total_seconds()
    if seconds_ahead > CLOCK_SECONDS or (order.is_of_test and seconds_ahead < -CLOCK_SECONDS):
        return seconds_ahead
    return 0.0


def _name_order(order: ArrivedOrder) -> str:
    return f"`{_quote(order.order_id)}`" if order.order_id else f"of event {order.event_id}"


def _quote(text: str) -> str:
    plain = text.replace("`", "")
    return plain if len(plain) <= LONGEST_QUOTE else f"{plain[:LONGEST_QUOTE]}…"
