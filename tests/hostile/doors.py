"""Readers of untrusted input ("doors"), each with the largest size that reaches it, and hostile input for
them.

A function of the package that calls a parser is either run by one of these doors or listed in trusted.py with
the reason why no untrusted text reaches it. A test checks this.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import partial
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from headwater.assistants.mcp.coercion import tidy
from headwater.assistants.mcp.hosts import AllowedHosts
from headwater.assistants.mcp.protocol_messages import check_message
from headwater.assistants.mcp.tools import TOOLS
from headwater.assistants.oauth import client_metadata
from headwater.assistants.oauth.clients import check_client_name
from headwater.assistants.oauth.redirects import read_redirect
from headwater.assistants.oauth.requests import read_parameters
from headwater.assistants.oauth.routes import MAX_BODY as REGISTRATION
from headwater.assistants.oauth.routes import _read_json as read_registration_body
from headwater.base.egress import addresses as egress
from headwater.base.egress import answers
from headwater.base.egress.client import _split as split_url
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.log_lines import as_text
from headwater.base.logs import mask
from headwater.base.masking import Mask
from headwater.base.masking import _page as masked_page
from headwater.console.forms import _read as read_posted
from headwater.console.report_pages.breakdown import Breakdown
from headwater.console.report_pages.view import ReportView
from headwater.events import parameters as events
from headwater.events.browsing.agents import read_agent
from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.events.touchpoints.classification import read_touch
from headwater.events.updates import read_change as read_amount
from headwater.forwarding.deliveries.sent_values import _query_values as query_values
from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms.chatgpt_ads import _find_custom_name
from headwater.forwarding.platforms.identifiers import meta_name, openai_name, read_phone
from headwater.http.bodies import MAX_BATCH_BODY, read_json
from headwater.http.clients import address_subject, client_address
from headwater.http.errors import Invalid
from headwater.http.inputs.date_range import DAY
from headwater.http.inputs.emails import parse_written_email
from headwater.http.inputs.instants import parse_instant
from headwater.http.inputs.pagination import Cursors
from headwater.http.inputs.parameters import Input, JsonInput, Query
from headwater.http.inputs.period_words import read_dates
from headwater.http.inputs.suggestions import Names
from headwater.http.inputs.timerange import parse_day, parse_moment
from headwater.http.json_decoder import decode_json, decode_storable, refuse_bad_text
from headwater.intake.imports.formats.files import LONGEST_ROW
from headwater.intake.imports.formats.files import _parse_object as imported_object
from headwater.intake.imports.formats.zones import is_local
from headwater.intake.ingest.endpoints import EVENTS, MAX_TRACK_BODY, BatchEndpoint
from headwater.intake.ingest.forms import _ip as read_ip
from headwater.intake.ingest.payload import EVENT_FORM
from headwater.intake.ingest.touchpoints import TOUCHPOINT_FORM
from headwater.intake.tracker.browser_reports import Body, language_tag
from headwater.intake.tracker.endpoint import MAX_BODY as MAX_REPORT
from headwater.intake.tracker.reported_items import accept_item, describe_fault, is_page
from headwater.intake.watched.inputs import read_new as read_new_watched_file
from headwater.intake.webhooks.expressions import LONGEST as LONGEST_EXPRESSION
from headwater.intake.webhooks.expressions import parse as parse_expression
from headwater.intake.webhooks.functions import OWN_FUNCTIONS
from headwater.intake.webhooks.interpretation import draft_event
from headwater.intake.webhooks.models import MappingInput, ReadContext, WebhookRequest, WebhookSettings
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.people.companies.domains import business_domain
from headwater.people.companies.updates import read_change as read_company
from headwater.people.contacts import parameters as contacts
from headwater.people.contacts.inputs import read_changes, read_new_contact
from headwater.people.contacts.names import split_name
from headwater.sources.addresses import name_in_ascii, read_address
from headwater.sources.classify import classify
from headwater.sources.evidence import Landing
from headwater.sources.reasons import explain_rule, list_findings
from headwater.spaces.accounts.passwords import _normal as normal_password
from headwater.spaces.custom_fields import NUMBER_FIELD, parse_slot_date
from headwater.spaces.models import Space
from headwater.spaces.sites.origins import cookie_domain, parse_origin, sent_host
from headwater.spend.ads.inputs import read_names
from headwater.spend.connections.inputs import read_new as read_new_connection
from headwater.spend.inputs import read_spend
from tests.hostile.answer_doors import ANSWER_DOORS
from tests.hostile.cells import read_filter_number, read_imported_number, survey_cell
from tests.hostile.factor_doors import FACTOR_DOORS
from tests.hostile.form_doors import FORM_DOORS
from tests.hostile.ga4_doors import GA4_JSON_DOORS, GA4_TEXT_DOORS
from tests.hostile.growth import Door
from tests.hostile.import_doors import IMPORT_DOORS
from tests.hostile.link_doors import LINK_DOORS
from tests.hostile.segment_doors import SEGMENT_JSON_DOORS, SEGMENT_TEXT_DOORS
from tests.hostile.site_doors import SITE_DOORS
from tests.hostile.spend_doors import SPEND_JSON_DOORS, SPEND_TEXT_DOORS
from tests.hostile.sso_doors import SSO_JSON_DOORS, SSO_TEXT_DOORS
from tests.hostile.test_reports import SITE, browser
from tests.platforms.examples import BARE

KB, MB = 1024, 1024 * 1024
URL = 64 * KB
"""The longest URL of a request."""
HEADERS, FIELD = 32 * KB, 2048
"""The longest headers, and the longest text in a field of a payload."""
FORWARDER = 0.3
"""Seconds that an answer may take in the forwarder, where no sender waits."""
NOW = 1_790_000_000.0
SPACE = Space(
    id=1, name="Shop", timezone="Europe/Paris", currency="EUR", company_identity_mode="auto",
    subscription="active", phone_region=None, ignored_identifiers=[], own_domains=[],
    excluded_referrers=[], heeded_referrers=[], ad_consent="granted", half_life_days=7,
    cost_rate=None, page_view_days=None, inactive_contact_days=None, delivery_days=None,
    log_days=None, require_second_factor=False, event_labels={}, field_labels={}, source_names={},
    answer_phrases={}, networks=[],
)  # fmt: skip
MOMENT = datetime(2026, 11, 1, tzinfo=UTC)


def _report(body: bytes) -> object:
    """Read a tracker's body as far as possible."""
    page_body = Body(body)
    page_body.site()
    report = page_body.report(NOW)
    for item in page_body.items():
        is_page(item)
    return [_accept_item(item, report) for item in page_body.items()]


def _accept_item(item: Any, report: Any) -> object:
    try:
        return accept_item(item, browser(report), SITE, NOW)
    except Invalid as invalid:
        describe_fault(item, invalid)
        raise


def _post(body: bytes, handle: Callable[[Request], Any]) -> object:
    """Run a reader of request bodies."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [
        (b"content-type", b"application/x-www-form-urlencoded"), (b"host", b"x"),
        (b"origin", b"http://" + body[:HEADERS]),
    ]  # fmt: skip
    settings = SimpleNamespace(base_url=None)
    services = SimpleNamespace(settings=settings, base_url="http://x")
    app = SimpleNamespace(state=SimpleNamespace(services=services))
    scope = {"type": "http", "method": "POST", "headers": headers, "app": app}
    coroutine = handle(Request(scope, receive))
    try:
        coroutine.send(None)
    except StopIteration as finished:
        return finished.value
    raise AssertionError("it waited for something")


def _read_contacts(query: Input) -> object:
    cursors = contacts.cursors(query, b"k", 1)
    contacts.read_email(query)
    return contacts.read_list_contacts(query, SPACE, cursors, MOMENT)


def _read_events(query: Input) -> object:
    return events.read_list_events(query, SPACE, events.cursors(query, b"k", 1), MOMENT)


def _call_tool(tool: Any, arguments: Any) -> object:
    """Check an assistant's arguments that match no tool."""
    if not isinstance(arguments, dict):
        return None
    try:
        tool.check(tidy(arguments, tool.arguments))
        _read_contacts(JsonInput(arguments))
        refuse_bad_text(arguments)
    except Invalid as error:
        return tool.explain(error)
    return None


def _drafts(body: bytes) -> list[object]:
    settings = WebhookSettings(mapping={"email": "total(a[*].b)", "url": "url_host(not_blank(k, x))"})
    message = WebhookRequest({"x-wc-webhook-topic": "order.created"}, body, NOW)
    return [draft_event(ReadContext(kind, settings), message) for kind in PROVIDERS]


_CALLS = [
    parse_expression(f"{name}({arguments})")
    for name, function in OWN_FUNCTIONS.items()
    if not function.reads_headers
    for arguments in (", ".join(["a"] * len(function.takes)),)
    if name != "url_parameter"
] + [
    parse_expression(text)
    for text in ("url_parameter(a, 'b')", "to_number(a)", "sum([to_number(a), to_number(a)])")
]


def _functions(text: str) -> None:
    for call in _CALLS:
        for value in (text, [text]):
            with suppress(ValueError):
                call.find(MappingInput({"a": value}, {}))


def _log_line(text: str) -> str:
    return as_text({"timestamp": MOMENT.isoformat(), "level": "info", "event": text, "x": text})


def _read_answer(body: bytes) -> object:
    return answers.read_object(EgressResponse(status=200, body=body))


def _object(run: Callable[[dict[str, Any]], object]) -> Callable[[bytes], object]:
    """Return a reader of bodies that contain a JSON object."""

    def read(body: bytes) -> object:
        value = decode_json(body)
        return run(value) if isinstance(value, dict) else None

    return read


def arrival(text: str) -> Landing:
    return Landing(f"https://x.example/?utm_source={text}", text)


def touchpoint(text: str) -> AcceptedTouchpoint:
    return AcceptedTouchpoint(occurred_at=0, url=text, referrer=text)


def _addressed(text: str) -> object:
    scope = {"client": ("10.0.0.1", 1), "headers": [(b"x-forwarded-for", text.encode())]}
    address = client_address(scope, [ip_network("10.0.0.0/8"), ip_network("a::/16")])
    return address_subject(address)


def _hosted(body: bytes) -> object:
    return client_metadata._read_json(
        EgressResponse(status=200, headers={"content-type": "application/json"}, body=body)
    )


def _reasons(text: str) -> None:
    """Explain a touch's URL and referrer as pages do, with a source rule and without."""
    list_findings(text, text)
    explain_rule("utm_source", text, text)


TEXT_DOORS = [
    *FORM_DOORS,
    *FACTOR_DOORS,
    *ANSWER_DOORS,
    *IMPORT_DOORS,
    *LINK_DOORS,
    *SITE_DOORS,
    *SEGMENT_TEXT_DOORS,
    *GA4_TEXT_DOORS,
    *SPEND_TEXT_DOORS,
    *SSO_TEXT_DOORS,
    Door("logs.mask", mask, MB),
    Door("log_lines.as_text", _log_line, HEADERS),
    Door("emails.parse_written_email", parse_written_email, MB),
    Door("companies.business_domain", business_domain, 320),
    Door("agents.read_agent", read_agent, HEADERS),
    Door("clients.client_address", _addressed, HEADERS),
    Door("origins.sent_host", sent_host, HEADERS),
    Door("origins.parse_origin", parse_origin, KB),
    Door("origins.cookie_domain", lambda text: cookie_domain(text, text[1:]), 255),
    Door("reports.language_tag", language_tag, HEADERS),
    Door("addresses.read_address", read_address, FIELD),
    Door("addresses.name_in_ascii", name_in_ascii, FIELD),
    Door("classify", lambda text: classify(arrival(text)), FIELD),
    Door("touchpoints.read_touch", lambda text: read_touch(touchpoint(text), 0), FIELD),
    Door("Query", lambda text: Query(text.encode()), URL),
    Door("query.objects", lambda text: Query(b"a=" + quote(text).encode()).objects("a"), URL),
    Door("contacts.list", lambda text: _read_contacts(Query(b"email=" + text.encode())), URL),
    Door("contacts.split", lambda text: list(contacts.split_at_commas(text)), 32_000),
    Door("events.list", lambda text: _read_events(Query(b"sources=" + text.encode())), URL),
    Door("timerange.parse_moment", parse_moment, URL),
    Door("timerange.parse_day", parse_day, URL),
    Door("date_range.DAY", DAY.read, URL),
    Door("fields.parse_slot_date", parse_slot_date, 10 * KB),
    Door("fields.NUMBER_FIELD", NUMBER_FIELD.read, 10 * KB),
    Door("instants.parse_instant", parse_instant, MAX_TRACK_BODY),
    Door("forms.read_ip", read_ip, 64),
    Door("passwords", normal_password, 64 * KB),
    Door("identifiers.read_phone", lambda text: read_phone(text, "FR"), KB),
    Door("identifiers.names", lambda text: (meta_name(text), split_name(text)), KB),
    Door("identifiers.openai_name", openai_name, KB),
    Door("chatgpt_ads.custom_name", lambda text: _find_custom_name(text, BARE), KB),
    Door("clients.name", lambda text: check_client_name(text, "Headwater"), 120),
    Door("redirects", read_redirect, URL),
    Door("oauth.parameters", lambda text: read_parameters(text.encode()), URL),
    Door("dates.read_dates", lambda text: read_dates(text, date(2026, 11, 1)), MB),
    Door("hosts.takes_origin", AllowedHosts.of("https://x.y").takes_origin, HEADERS),
    Door("functions", _functions, 64 * KB),
    Door("expressions.parse", parse_expression, LONGEST_EXPRESSION),
    Door("imports.number", read_imported_number, LONGEST_ROW),
    Door("imports.cell", survey_cell, LONGEST_ROW),
    Door("imports.is_local", is_local, LONGEST_ROW),
    Door("suggestions", Names(["event_name", "email"]).refusal, MB),
    Door("egress.read_host", egress.read_host, FIELD),
    Door("egress.refusal", lambda text: egress.first_refusal([text]), 64),
    Door("cursors", Cursors(b"k", 1, "/contacts", []).read, URL),
    Door("filters.number", read_filter_number, URL),
    Door("egress.split", lambda text: (split_url(text), repr(EgressRequest(url=text, method="GET"))), FIELD),
    Door("platforms.words", answers.join_error_texts, 2 * answers.MOST_READ),
    Door("sent_values.query", query_values, FIELD),
    Door("masking.page", masked_page, FIELD),
    Door("masking.text", lambda text: Mask(["secret", "anna@x.org"]).text(text, 4096), 16 * KB),
    Door("companies.change", lambda text: read_company({"domain": text}), MB),
    Door("breakdown", lambda text: Breakdown(ReportView(), [text]).list_open_places(), URL),
    Door("reasons", lambda text: (list_findings(text, text), explain_rule("utm_source", text, text)), FIELD),
    Door("events.amount", lambda text: read_amount({"amount": text}), MB),
]
"""Readers of text. A size in megabytes means that the text may be an entire body. Where a reader uses only
the beginning, the size is slightly larger than that.
"""

JSON_DOORS = [
    *SPEND_JSON_DOORS,
    *SSO_JSON_DOORS,
    *SEGMENT_JSON_DOORS,
    *GA4_JSON_DOORS,
    Door("read_json", lambda body: _post(body, read_json), MB),
    Door("decode_storable", decode_storable, MB),
    Door("track", lambda body: EVENT_FORM.accept(body, NOW), MAX_TRACK_BODY),
    Door("touchpoint", lambda body: TOUCHPOINT_FORM.accept(body, NOW), MAX_TRACK_BODY),
    Door("batch", BatchEndpoint(None, EVENTS)._read, MAX_BATCH_BODY // 8),  # type: ignore[arg-type]
    Door("tracker", _report, MAX_REPORT),
    Door("mcp.message", check_message, MB),
    Door("mcp.arguments", _object(partial(_call_tool, TOOLS[7])), MB, slow=0.15, is_explanation=True),
    Door("oauth.registration", read_registration_body, REGISTRATION),
    Door("oauth.hosted", _hosted, client_metadata.MOST_BYTES),
    Door("webhooks", _drafts, MB, slow=0.2),  # five senders' rules in turn
    Door("imports.row", imported_object, LONGEST_ROW),
    Door("contacts.create", _object(read_new_contact), MB),
    Door("contacts.update", _object(read_changes), MB),
    Door("ads", _object(read_names), MB),
    Door("spend", _object(lambda body: read_spend(body, MOMENT, SPACE.sources)), MAX_BATCH_BODY // 8),
    Door("destinations", _object(read_new), MB),
    Door("spend.connections", _object(read_new_connection), MB),
    Door("watched_files", _object(partial(read_new_watched_file, allows_files=True)), MB),
    Door("platforms.answer", _read_answer, MB, slow=FORWARDER),
    Door("masking.answer", Mask(["secret"], frozenset({"message"})).answer, 64 * KB, FORWARDER),
    Door("forms", lambda body: _post(body, read_posted), 64 * KB),
    Door("forms.origin", lambda body: _post(body, read_posted), HEADERS),
]
"""Readers of bodies."""
