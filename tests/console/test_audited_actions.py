"""Every action in a Space adds one entry to the audit log, without any secret or any contact's address. Each
form is sent with the values it changes. An action without a form here fails.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import psycopg
import pytest

from headwater.attribution.trained_models import nightly_runs, store
from headwater.base.settings import Settings
from headwater.console.forms import TOKEN, form_token, once_token
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.spend.platforms.registry import PLATFORMS as SPEND_PLATFORMS
from tests.conftest import NOWHERE, Running, run_application
from tests.console.conftest import Person
from tests.console.test_roles_and_spaces import ACTIONS, note
from tests.support.audited import CANARY, EMAIL, Desk, last_entry, list_entries
from tests.support.factories import NOON, Stage
from tests.support.sites import make_site
from tests.support.trained_models import plant_trained_model


@pytest.fixture(scope="module")
def console(database_url: str, tmp_path_factory: pytest.TempPathFactory, passwords: Any) -> Iterator[Running]:
    """The application with ad platforms at addresses that no test can reach by accident."""
    settings = Settings(
        rate_limit_factor=1000,
        data_dir=tmp_path_factory.mktemp("console"),
        trusted_proxies=(ip_network("127.0.0.1"),),
        platform_urls=dict.fromkeys([*PLATFORMS, *(f"{name}_spend" for name in SPEND_PLATFORMS)], NOWHERE),
    )
    application = run_application(settings, database_url, passwords)
    yield application
    application.stop()


Sent = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The values in the path and in the form."""
Form = Callable[[Desk], Sent]


def make_form(**values: Any) -> Form:
    """Return a form that needs no rows."""
    return lambda _: ({}, values)


NOTATION = {"timezone": "UTC", "decimals": "point", "dates": "iso"}
RULE = {"measure": "roas", "condition": "below", "threshold": "2", "days": "7"}
REPORT = {
    "name": "Weekly",
    "page": "/channels",
    "query": f"only={CANARY}",
    "cadence": "daily",
    "time": "08:00",
}
MODEL = {"name": "May", "event_name": "purchase", "attribution_window": "30"}
SITE = {"name": "Shop", "origins": "https://shop.example", "amounts": "accept", "identify": "any"}
SETTINGS = {"name": "Renamed", "ignored_identifiers": EMAIL, "event_label.custom_event_1": "Demo"}


def days() -> dict[str, str]:
    today = datetime.now(UTC).date()
    return {"start_date": f"{today - timedelta(days=7)}", "end_date": f"{today - timedelta(days=1)}"}


def destination_form(values: Mapping[str, Any], **columns: Any) -> Form:
    return lambda desk: ({"destination_id": desk.stage.destination(**columns)}, values)


def connection_form(values: Mapping[str, Any], **columns: Any) -> Form:
    return lambda desk: ({"connection_id": desk.stage.spend_connection(**columns)}, values)


def watched_file_form(values: Mapping[str, Any], **columns: Any) -> Form:
    return lambda desk: ({"watched_file_id": desk.stage.watched_file(**columns)}, values)


def webhook_form(values: Mapping[str, Any], **columns: Any) -> Form:
    return lambda desk: (desk.webhook(**columns), values)


def report_form(values: Mapping[str, Any]) -> Form:
    return lambda desk: ({}, {"report": desk.due_report(), **values})


def site_form(values: Mapping[str, Any]) -> Form:
    return lambda desk: ({"site_id": make_site(desk.stage, "").id}, values)


def note_form(values: Mapping[str, Any]) -> Form:
    return lambda desk: ({"note_id": note(desk.stage)}, values)


def job_form(status: str, values: Mapping[str, Any]) -> Form:
    return lambda desk: (desk.job(status), values)


def erase(desk: Desk) -> Sent:
    contact_id = desk.contact()
    return {"contact_id": contact_id}, {"confirm": EMAIL}


def unmerge(desk: Desk) -> Sent:
    contact_id, merged_id = desk.merge_contacts()
    return {"contact_id": contact_id}, {"merged": merged_id, "confirm": EMAIL}


def remove_member(desk: Desk) -> Sent:
    """Return the form for a member who has a key and a token."""
    member = desk.member()
    desk.insert(
        "api_keys", name="Theirs", key_hash=secrets.token_bytes(32), hint="abcd", scopes=[], made_by=member
    )
    desk.insert(
        "mcp_tokens", user_id=member, kind="personal", name="Theirs", token_hash=secrets.token_bytes(32),
        hint="abcd",
    )  # fmt: skip
    return {}, {"member": member, "revoke_keys": "yes"}


def replay_rejected(desk: Desk) -> Sent:
    desk.rejected()
    return {}, {}


def delete_spend(desk: Desk) -> Sent:
    desk.spend()
    return {}, {"start_date": "2026-05-01", "end_date": "2026-05-31", "confirm": "1"}


def train_automatically(desk: Desk) -> Sent:
    desk.orders()
    desk.stage._insert("automatic_training", {"event_name": "purchase", "next_at": NOON}, column="event_name")
    return {}, {}


def train(desk: Desk) -> Sent:
    desk.orders()
    return {}, {**MODEL, **days()}


def choose_model(desk: Desk) -> Sent:
    connection, space_id = desk.stage.connection, desk.stage.space_id
    plant_trained_model(connection, space_id, "April")
    return {"trained_model_id": plant_trained_model(connection, space_id, "May", current=False)}, {}


def drop_network(desk: Desk) -> Sent:
    desk.stage.network("taboola_ads")
    return {}, {"network": "taboola_ads"}


def replay_webhook(desk: Desk) -> Sent:
    ids = desk.webhook()
    return ids, {"delivery": ids["delivery_id"]}


def replay_destination(desk: Desk) -> Sent:
    destination_id = desk.stage.destination()
    event_id = desk.stage.event(desk.contact(), event_time=datetime.now(UTC), received_at=datetime.now(UTC))
    delivery_id = desk.stage.add_delivery(destination_id, event_id)
    return {"destination_id": destination_id}, {"status": "failed", "delivery": delivery_id}


def source_name_form(desk: Desk) -> Sent:
    desk.stage._insert("source_names", {"name": "fb-paid", "source": "facebook_ads"}, column="name")
    return {}, {"name": "fb-paid"}


def answer_phrase_form(desk: Desk) -> Sent:
    desk.stage._insert("answer_phrases", {"phrase": "omr podcast", "source": "event"}, column="phrase")
    return {}, {"phrase": "omr podcast"}


def held_destination_form(desk: Desk) -> Sent:
    return {}, {"destination": desk.stage.destination(status="held", status_reason="expired")}


def row_form(field: str, row: str, /, **values: Any) -> Form:
    """Return a form with a field that names a row made by the desk."""
    return lambda desk: ({}, {field: getattr(desk, row)(), **values})


FORMS: dict[str, Form] = {
    "/alerts/acknowledge": row_form("alert", "alert"),
    "/alerts/rules/built-in": make_form(rule="visits_fell", sensitivity="low", mute=""),
    "/alerts/rules/create": make_form(**RULE),
    "/alerts/rules/change": row_form("rule", "rule", **RULE),
    "/alerts/rules/mute": row_form("rule", "rule", mute="7"),
    "/alerts/rules/delete": row_form("rule", "rule"),
    "/alerts/channels/create": make_form(
        kind="webhook", name=CANARY, address=f"https://hooks.example/T1/{CANARY}", rules=["visits_fell"]
    ),
    "/alerts/channels/change": row_form("channel", "channel", name=f"{CANARY} 2"),
    "/alerts/reports/schedule": lambda desk: ({}, {**REPORT, "channels": [desk.channel(), "me"]}),
    "/alerts/reports/change": lambda desk: (
        {}, {**REPORT, "report": desk.due_report(), "channels": [desk.channel(), "me"]}
    ),
    "/alerts/reports/pause": report_form({}),
    "/alerts/reports/send": report_form({}),
    "/alerts/reports/remove": report_form({}),
    "/contacts/{contact_id}/erase": erase,
    "/contacts/{contact_id}/unmerge": unmerge,
    "/keys/create": make_form(name="Shop", scope=["events:write"], expires="30d", addresses="192.0.2.0/24"),
    "/keys/revoke": row_form("key", "key"),
    "/keys/restrict": row_form("key", "key", addresses="192.0.2.0/24"),
    "/keys/rotate": row_form("key", "key", overlap="24h"),
    "/mcp/create": make_form(name="Laptop"),
    "/mcp/revoke": row_form("token", "token"),
    "/members/invite": make_form(email=EMAIL, role="viewer"),
    "/members/role": row_form("member", "member", role="admin"),
    "/members/remove": remove_member,
    "/members/uninvite": row_form("invitation", "invitation"),
    "/sites/create": make_form(**SITE),
    "/sites/{site_id}/change": site_form({**SITE, "identify": "signed"}),
    "/sites/{site_id}/end": site_form({"confirm": "Shop"}),
    "/settings": make_form(**SETTINGS),
    "/share-links/create": make_form(name="Partner", report=f"/channels?only={CANARY}", days="30"),
    "/share-links/revoke": row_form("link", "share_link"),
    "/notes/add": make_form(day="2026-05-13", text=CANARY),
    "/notes/{note_id}/change": note_form({"day": "2026-05-13", "text": CANARY}),
    "/notes/{note_id}/remove": note_form({}),
    "/views/save": make_form(name="Mine", page="/channels", query=f"only={CANARY}"),
    "/views/remove": row_form("view", "view"),
    "/data-quality/resume": held_destination_form,
    "/data-quality/replay": replay_rejected,
    "/data-quality/name": make_form(name="fb-paid", source="facebook_ads"),
    "/data-quality/unname": source_name_form,
    "/data-quality/own": make_form(host="shop.example"),
    "/data-quality/exclude": make_form(host="issuer.example"),
    "/spend/delete": delete_spend,
    "/trained-models/automatic": make_form(switch="on"),
    "/trained-models/automatic/train": train_automatically,
    "/trained-models/make": train,
    "/trained-models/{trained_model_id}/choose": choose_model,
    "/rates/add": make_form(base="EUR", currency="USD", rate="1.1", first_day="2026-05-13"),
    "/self-reported/add": make_form(phrase="OMR Podcast", source="event"),
    "/self-reported/remove": answer_phrase_form,
    "/sources/hosts": make_form(own_domains="shop.example", excluded_referrers="", heeded_referrers=""),
    "/sources/name": make_form(name="fb-paid", source="facebook_ads"),
    "/sources/unname": source_name_form,
    "/sources/network": make_form(network="taboola_ads", spellings="tbl, tab"),
    "/sources/remove-network": drop_network,
    "/orders/imports/upload": make_form(kind="events"),
    "/orders/imports/{import_id}/start": job_form("checked", {}),
    "/orders/imports/{import_id}/cancel": job_form("checked", {}),
    "/orders/webhooks/create": make_form(
        type="generic", name="Shop", event="purchase", signing="typed", secret=f"{CANARY}-secret-of-a-shop"
    ),
    "/orders/webhooks/{webhook_id}/mapping": webhook_form(
        {"event": "purchase", "field": ["email"], "only": [""], "expression": ["customer.email"]}
    ),
    "/orders/webhooks/{webhook_id}/secret": webhook_form({"secret": f"{CANARY}-secret-of-a-shop"}),
    "/orders/webhooks/{webhook_id}/address": webhook_form({}),
    "/orders/webhooks/{webhook_id}/pause": webhook_form({}),
    "/orders/webhooks/{webhook_id}/resume": webhook_form({}, paused_at=NOON),
    "/orders/webhooks/{webhook_id}/delete": webhook_form({}),
    "/orders/webhooks/{webhook_id}/replay": replay_webhook,
    "/orders/webhooks/{webhook_id}/replay-failed": webhook_form({}),
    "/spend/connections/connect/{platform}": lambda _: (
        {"platform": "meta"},
        {"name": "Main", "settings.ad_account_id": "1234567", "anyway": "yes",
         "secrets.access_token": CANARY},
    ),
    "/spend/connections/{connection_id}/settings": connection_form(
        {"name": "Other", "settings.ad_account_id": "1234567", "secrets.access_token": CANARY}
    ),
    "/spend/connections/{connection_id}/pause": connection_form({}),
    "/spend/connections/{connection_id}/resume": connection_form({}, status="paused"),
    "/spend/connections/{connection_id}/remove": connection_form({}),
    "/spend/watch": make_form(
        name="Daily", kind="spend", scheme="https",
        address=f"https://reports.example/x.csv?key={CANARY}",
        **{"secrets.authorization": f"Bearer {CANARY}", "settings.currency": "EUR"},
    ),
    "/spend/watched/{watched_file_id}/settings": watched_file_form(
        {"name": "Other", "scheme": "https", "address": f"https://other.example/x.csv?key={CANARY}",
         "secrets.authorization": f"Bearer {CANARY}", "settings.currency": "EUR"}
    ),
    "/spend/watched/{watched_file_id}/pause": watched_file_form({}),
    "/spend/watched/{watched_file_id}/resume": watched_file_form({}, status="paused"),
    "/spend/watched/{watched_file_id}/remove": watched_file_form({}),
    "/spend/connections/script/{platform}": lambda _: ({"platform": "google"}, {}),
    "/platforms/connect/{platform}": lambda _: (
        {"platform": "tiktok"},
        {"name": "Shop", "settings.pixel_code": "PIXEL1", "secrets.access_token": CANARY},
    ),
    "/platforms/{destination_id}/settings": destination_form(
        {"name": "Other", "settings.pixel_code": "PIXEL2", "secrets.access_token": CANARY}
    ),
    "/platforms/{destination_id}/events": destination_form({"event_names.purchase": "Bought"}),
    "/platforms/{destination_id}/pause": destination_form({}),
    "/platforms/{destination_id}/resume": destination_form({}, status="paused"),
    "/platforms/{destination_id}/remove": destination_form({}),
    "/platforms/{destination_id}/replay": replay_destination,
}  # fmt: skip

NOT_RECORDED: dict[str, tuple[str, Form]] = {
    "/alerts/channels/test": ("sends a test message", row_form("channel", "channel")),
    "/sites/{site_id}/test/start": (
        "looks at a page of the shop",
        site_form({"url": "https://shop.example/"}),
    ),
    "/links/many": ("shows links", make_form(rows="https://shop.example/,email")),
    "/order-comparison": ("shows a comparison", make_form(first="2026-05-01", last="2026-05-31")),
    "/orders/imports/{import_id}/check": (
        "counts rows that are not imported yet",
        job_form("uploaded", {"column": ["email"], "field": ["email"], "event_name": "purchase", **NOTATION}),
    ),
    "/orders/webhooks/{webhook_id}/test": (
        "shows what would be made of a body",
        webhook_form({"body": "{}"}),
    ),
    "/platforms/{destination_id}/test": ("sends a made-up event", destination_form({})),
    "/spend/connections/{connection_id}/pull": ("pulls what is due later anyway", connection_form({})),
    "/spend/watched/{watched_file_id}/fetch": ("fetches what is due later anyway", watched_file_form({})),
}
"""Actions that change no setting, access or stored record, and why."""

FILES = {
    "/orders/imports/upload": f"email,time,amount\n{EMAIL},2026-05-13,10\n",
    "/order-comparison": "order_id,amount\nA-1,10\n",
}


@pytest.fixture
def desk(owner: Person, connection: psycopg.Connection, space_id: int) -> Desk:
    return Desk(Stage(connection, space_id, ""), owner.user.id)


def send(owner: Person, desk: Desk, end: str, form: Form) -> list[dict[str, Any]]:
    """Send a form, and return the entries it adds to the log."""
    path, values = form(desk)
    address = end.format(**path) if path else end
    name, once, _ = ACTIONS[end]
    make = once_token if once else form_token
    data = {TOKEN: make(owner.form_key, name), **values}
    files = {"file": (f"{CANARY}.csv", FILES[end].encode())} if end in FILES else None
    url = f"/console/spaces/{desk.stage.space_id}{address}"
    before = last_entry(desk.stage.connection)
    answer = owner.browser.client.post(url, data=data, files=files)
    assert answer.status_code in {200, 303}, answer.text
    return list_entries(desk.stage.connection, before)


def test_it_works() -> None:
    """Each action of the console is in exactly one table."""
    assert FORMS.keys() | NOT_RECORDED.keys() == ACTIONS.keys()
    assert not FORMS.keys() & NOT_RECORDED.keys()


@pytest.mark.parametrize("end", FORMS)
def test_an_action_adds_one_entry(
    owner: Person, desk: Desk, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    for module in (store, nightly_runs):
        monkeypatch.setattr(module, "FEWEST_CONVERSIONS", 2)
    (entry,) = send(owner, desk, end, FORMS[end])
    assert (entry["space_id"], entry["way"]) == (desk.stage.space_id, "console")
    assert (entry["action"], entry["user_id"]) == (end.removeprefix("/"), owner.user.id)
    assert entry["address"].removesuffix("/32") == owner.browser.address
    assert (entry["key_id"], entry["token_id"], entry["operator"]) == (None, None, None)
    assert entry["changes"]
    assert CANARY not in json.dumps(entry).lower()


COMPLETE = {
    "/members/remove": {"member", "api_key", "assistant_token"},
    "/alerts/reports/schedule": {"scheduled_report", "alert_channel"},
    "/alerts/reports/change": {"scheduled_report", "alert_channel"},
}


@pytest.mark.parametrize("end", COMPLETE)
def test_an_entry_has_everything_that_an_action_changed(owner: Person, desk: Desk, end: str) -> None:
    (entry,) = send(owner, desk, end, FORMS[end])
    assert {change["kind"] for change in entry["changes"]} == COMPLETE[end]


@pytest.mark.parametrize("end", NOT_RECORDED)
def test_other_actions_add_no_entry(owner: Person, desk: Desk, end: str) -> None:
    assert send(owner, desk, end, NOT_RECORDED[end][1]) == []
