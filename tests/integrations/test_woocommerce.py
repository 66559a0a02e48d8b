"""The WooCommerce plugin in PHP against the real application.

WordPress, WooCommerce and Action Scheduler are stand-ins in memory; in the long form WordPress is real.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.sources.catalogue import SOURCE_IDS
from headwater.spaces.sites.signatures import sign
from tests.conftest import NOWHERE, Running
from tests.support.campaigns import IS_LONG
from tests.support.factories import Stage, make_stage
from tests.support.pipeline import Stage as Queue
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

REQUIRED = os.environ.get("HEADWATER_TEST_PHP") == "required"
SHOP = Path(__file__).parent / "shop.php"
PLUGIN = ROOT / "integrations" / "woocommerce" / "headwater-for-woocommerce"
CLASSIC = "woocommerce_checkout_create_order"
BLOCKS = "woocommerce_store_api_checkout_update_order_meta"
SITE_KEY = "trk_pk_abcdefgh12345678"
SIGNING_SECRET = "0123456789abcdef" * 4
HOUR = 3600

ORDER = {
    "id": 727, "order_number": "W-727", "order_key": "wc_order_58d2", "total": "29.35",
    "currency": "EUR", "date_created": 1_778_669_940, "date_paid": 1_778_670_000,
    "billing_email": "ada@example.com", "billing_first_name": "Ada", "billing_last_name": "L",
    "billing_phone": "+15551234567", "billing_company": "Acme", "customer_id": 0,
    "customer_user_agent": "Browser/1",
}  # fmt: skip
REFUND = {"id": 728, "amount": "10.05", "date_created": 1_778_680_000}


@pytest.fixture(scope="module")
def php() -> str:
    """The path of PHP's command line. Without it, tests are skipped unless it is required."""
    path = shutil.which("php")
    if path is None and REQUIRED:
        pytest.fail("no php found: install it (Debian: apt-get install php-cli)")
    return path or pytest.skip("no php found")


class Shop:
    """A shop with the plugin, and the Space that it sends to."""

    def __init__(self, php: str, stage: Stage, base_url: str, wordpress: Path | None = None) -> None:
        self.php, self.stage, self.wordpress = php, stage, wordpress
        self.settings = {"url": base_url, "site_key": SITE_KEY, "api_key": stage.key}

    def run_steps(self, *steps: list[Any]) -> list[Any]:
        """Run the steps in one PHP process and return their results. The shop's state is lost at the end."""
        calls = json.dumps([["set", self.settings], *steps])
        process = subprocess.run(
            [self.php, SHOP, calls], capture_output=True, text=True, check=False,
            timeout=PATIENCE_SECONDS, env=environment(HEADWATER_TEST_WORDPRESS=str(self.wordpress or "")),
        )  # fmt: skip
        assert process.returncode == 0, process.stdout + process.stderr
        if self.wordpress is not None:
            log = self.wordpress / "debug.log"
            assert not log.exists(), log.read_text()
        return json.loads(process.stdout)[1:]

    def waiting(self) -> list[dict[str, Any]]:
        rows = self.stage.connection.execute(
            "SELECT payload FROM inbox WHERE space_id = %s ORDER BY id", (self.stage.space_id,)
        ).fetchall()
        return [json.loads(payload) for (payload,) in rows]

    def events(self) -> list[tuple[Any, ...]]:
        Queue(self.stage.connection, self.stage.space_id).process()
        return self.stage.connection.execute(
            "SELECT e.order_id, e.order_name, e.amount::text, e.idempotency_key, c.email,"
            " e.currency"
            " FROM events e JOIN contacts c ON c.space_id = e.space_id AND c.id = e.contact_id"
            " WHERE e.space_id = %s ORDER BY e.id", (self.stage.space_id,),
        ).fetchall()  # fmt: skip

    def amounts(self) -> list[str]:
        return [event[2] for event in self.events()]


@pytest.fixture
def shop(request: pytest.FixtureRequest, php: str, server: Running, stage: Stage) -> Shop:
    wordpress = request.getfixturevalue("wordpress") if IS_LONG else None
    return Shop(php, stage, server.base_url, wordpress)


def test_it_works(shop: Shop) -> None:
    results = shop.run_steps(
        ["checkout", CLASSIC, ORDER, "tok-5"],
        ["status", "processing", 727], ["status", "completed", 727], ["run"],
        ["refund", 727, REFUND], ["refund", 727, {**REFUND, "id": 729, "amount": "19.30"}], ["run"],
        ["problem"],
    )  # fmt: skip
    assert results == ["tok-5", 1, 1, [None], 1, 2, [0, None], ""]
    entries = shop.waiting()
    assert [entry["trk_token"] for entry in entries] == ["tok-5"] * 3
    key = "woocommerce:shop.example:"
    assert shop.events() == [
        ("727", "W-727", "29.3500", f"{key}purchase:727", "ada@example.com", "EUR"),
        (None, "W-727", "-10.0500", None, "ada@example.com", "EUR"),
        (None, "W-727", "-19.3000", None, "ada@example.com", "EUR"),
    ]


def test_a_cancelled_order_counts_again_when_it_is_paid_again(shop: Shop) -> None:
    """Each change is reported once, however many hooks report it."""
    results = shop.run_steps(
        ["checkout", CLASSIC, ORDER, "tok-5"], ["paid", 727], ["status", "packed", 727],
        ["status", "cancelled", 727], ["status", "failed", 727], ["run"],
    )  # fmt: skip
    assert results[1:5] == [1, 1, 2, 2]
    assert sorted(shop.amounts()) == ["-29.3500", "29.3500"]
    marked_order = {**ORDER, "status": "cancelled",
                    "meta": {"_headwater_purchase": "727", "_headwater_cancelled": "yes"}}  # fmt: skip
    results = shop.run_steps(["add", marked_order], ["status", "processing", 727], ["paid", 727], ["run"])
    assert results[1:3] == [1, 1]
    assert shop.amounts() == ["29.3500"]


def test_a_deleted_refund_no_longer_counts(shop: Shop) -> None:
    shop.run_steps(
        ["checkout", CLASSIC, ORDER, "tok-5"], ["status", "processing", 727], ["run"],
        ["refund", 727, REFUND], ["refund", 727, {**REFUND, "id": 729, "amount": "4"}], ["run"],
        ["unrefund", 727, 728], ["run"],
    )  # fmt: skip
    assert sum(map(float, shop.amounts())) == 25.35


def test_a_deleted_order_no_longer_counts(shop: Shop) -> None:
    """The refund is queued before the order is gone. A cancelled order isn't refunded again."""
    other_order = {**ORDER, "id": 8, "order_number": "W-8"}
    results = shop.run_steps(
        ["checkout", CLASSIC, ORDER, "tok-5"], ["status", "processing", 727],
        ["checkout", CLASSIC, other_order, "tok-6"], ["status", "processing", 8],
        ["status", "cancelled", 8], ["run"], ["delete", 727], ["delete", 8], ["run"], ["problem"],
    )  # fmt: skip
    assert results[-2:] == [[None], ""]
    assert sum(map(float, shop.amounts())) == 0


def test_test_orders_and_subscriptions_are_not_reported(shop: Shop) -> None:
    test = {**ORDER, "meta": {"_wcpay_mode": "test"}}
    live = {**ORDER, "id": 8, "meta": {"_wcpay_mode": "prod"}}
    subscription = {**ORDER, "id": 9, "type": "shop_subscription"}
    results = shop.run_steps(
        ["checkout", CLASSIC, test], ["status", "processing", 727], ["paid", 727],
        ["checkout", CLASSIC, subscription], ["status", "processing", 9],
        ["checkout", CLASSIC, live], ["status", "processing", 8],
    )  # fmt: skip
    assert [results[index] for index in (1, 2, 4, 6)] == [0, 0, 0, 1]


def test_past_orders_are_sent_in_batches_and_count_once(shop: Shop) -> None:
    orders = [{**ORDER, "id": number, "order_number": str(number), "status": "completed",
               "billing_email": f"buyer{number}@example.com"} for number in range(1, 121)]  # fmt: skip
    orders[0]["status"] = "pending"
    orders[1]["meta"] = {"_wcpay_mode": "test"}
    orders[2]["total"] = "1e300"
    additions = [["add", order] for order in orders]
    report_steps = [["status", "processing", 120], ["refund", 120, {**REFUND, "id": 500}], ["run"]]
    *_, first, _, last = shop.run_steps(*additions, *report_steps, ["backfill"], ["run"], ["progress"])
    assert (first["state"], first["total"]) == ("running", 119)
    assert last == {"state": "done", "last_id": 120, "orders": 119, "total": 119, "sent": 118,
                    "refused": 1, "problem": ""}  # fmt: skip
    amounts = shop.amounts()
    assert len(amounts) == 118
    assert amounts.count("-10.0500") == 1


def test_a_failed_batch_is_sent_again_and_a_paused_backfill_continues(shop: Shop) -> None:
    url = shop.settings["url"]
    additions = [["add", {**ORDER, "id": number, "status": "refunded"}] for number in range(1, 61)]
    results = shop.run_steps(
        *additions, ["set", {"url": NOWHERE}], ["backfill"], ["run", HOUR], ["progress"],
        ["backfill", "pause"], ["set", {"url": url}], ["run", 9 * HOUR], ["progress"],
        ["backfill"], ["run", 20 * HOUR], ["progress"], ["page"],
    )  # fmt: skip
    failed_progress, paused_progress, done_progress = (results[60 + index] for index in (3, 7, 10))
    assert (failed_progress["state"], failed_progress["last_id"]) == ("running", 0)
    assert "status 0" in failed_progress["problem"]
    assert (paused_progress["state"], paused_progress["sent"]) == ("paused", 0)
    assert (done_progress["state"], done_progress["sent"], done_progress["problem"]) == ("done", 60, "")
    assert "60 of 60 orders done" in results[-1]


def test_the_eraser_asks_headwater_to_erase_the_person(
    shop: Shop, php: str, server: Running, connection: psycopg.Connection
) -> None:
    purchase_steps = [["checkout", CLASSIC, ORDER, "tok-5"], ["status", "processing", 727], ["run"]]
    *_, first_export = shop.run_steps(*purchase_steps, ["export", "ada@example.com"])
    assert [item["data"][0]["value"] for item in first_export["data"]] == ["tok-5"]
    assert first_export["done"]
    shop.events()
    *_, erase_answer, export_answer, unknown_answer = shop.run_steps(
        ["checkout", CLASSIC, ORDER, "tok-5"], ["erase", "ada@example.com"],
        ["export", "ada@example.com"], ["erase", "nobody@example.com"],
    )  # fmt: skip
    assert erase_answer == {"items_removed": True, "items_retained": False, "messages": [], "done": True}
    assert export_answer["data"] == []
    assert unknown_answer == {**erase_answer, "items_removed": False}
    shop.settings["url"] = ""
    assert shop.run_steps(["erase", "nobody@example.com"]) == [unknown_answer]
    limited_shop = Shop(php, make_stage(connection, scopes=("events:write",)), server.base_url)
    (refusal,) = limited_shop.run_steps(["erase", "ada@example.com"])
    assert refusal["items_retained"]
    assert "contacts:delete" in refusal["messages"][0]


def test_it_is_valid_php(php: str) -> None:
    for path in sorted(PLUGIN.rglob("*.php")):
        subprocess.run([php, "-l", path], check=True, capture_output=True)


def test_nobody_opens_its_files() -> None:
    """A file does nothing if a browser requests it directly."""
    for path in sorted(PLUGIN.rglob("*.php")):
        assert re.search(r"^defined\( '(ABSPATH|WP_UNINSTALL_PLUGIN)' \) \|\| exit;$",
                         path.read_text(), re.MULTILINE), path  # fmt: skip


def test_both_checkouts_keep_the_token_and_only_a_token(shop: Shop) -> None:
    bad = ["", "a b", "<script>", "x" * 256, "tok\n", None]
    results = shop.run_steps(
        ["checkout", CLASSIC, ORDER, "tok-1"], ["checkout", BLOCKS, ORDER, "tok.2~-_"],
        *(["checkout", BLOCKS, ORDER, cookie] for cookie in bad), ["personal"],
    )  # fmt: skip
    assert results == ["tok-1", "tok.2~-_", *[""] * len(bad), {"a": "text", "_headwater_token": "numeric_id"}]


def test_what_is_not_taken_is_sent_again(shop: Shop) -> None:
    """Nothing is lost or doubled while Headwater is down or doesn't know the key."""
    url, key = shop.settings["url"], shop.settings["api_key"]
    results = shop.run_steps(
        ["checkout", CLASSIC, ORDER, "tok-5"], ["set", {"url": NOWHERE}],
        ["status", "processing", 727], ["run", 20 * HOUR], ["problem"],
        ["set", {"url": url, "api_key": "trk_sk_revoked"}], ["run", 25 * HOUR], ["problem"],
        ["set", {"api_key": key}], ["run", 48 * HOUR], ["problem"],
        ["run", 99 * HOUR], ["notes", 727],
    )  # fmt: skip
    pauses = results[3]
    assert pauses[:9] == [60 * 2**number for number in range(9)]
    assert pauses[9:] == [6 * HOUR] * len(pauses[9:])
    assert "status 0" in results[4]
    assert "status 401" in results[7]
    assert results[-3:] == ["", [], []]
    assert [event[0] for event in shop.events()] == ["727"]


def test_what_breaks_a_rule_is_told_once(shop: Shop) -> None:
    results = shop.run_steps(
        ["checkout", CLASSIC, {**ORDER, "total": "1e300"}, "tok-5"],
        ["status", "processing", 727], ["run", 99 * HOUR], ["notes", 727], ["problem"],
    )  # fmt: skip
    assert results[2] == [None]
    (note,) = results[3]
    assert "amount" in note
    assert "status 422" in results[4]


def test_what_is_not_reported(shop: Shop) -> None:
    """Not sent: an unpaid order and its refund, an order without a buyer, an order of an erased buyer, and a
    renewal that copied a mark.
    """
    anonymous_order = {**ORDER, "id": 1, "billing_email": ""}
    erased_order = {**ORDER, "id": 3, "billing_email": "deleted@site.invalid", "meta": {"_anonymized": "yes"}}
    renewal = {**ORDER, "id": 2, "meta": {"_headwater_purchase": "727", "_headwater_token": "tok-5"}}
    results = shop.run_steps(
        ["checkout", CLASSIC, ORDER], ["refund", 727, REFUND],
        ["checkout", CLASSIC, anonymous_order], ["status", "processing", 1], ["run"],
        ["checkout", CLASSIC, erased_order], ["status", "processing", 3], ["run"],
        ["checkout", CLASSIC, renewal], ["status", "completed", 2], ["run"], ["problem"],
    )  # fmt: skip
    assert results[1] == 0
    assert results[-1] == ""
    assert [event[0] for event in shop.events()] == ["2"]


def test_where_the_visit_began_if_the_tracker_has_not_seen_it(shop: Shop) -> None:
    visit = {"session_entry": "https://shop.example/?gclid=abc", "utm_source": "google",
             "utm_medium": "cpc", "utm_term": "x" * 513}  # fmt: skip
    entry = {f"_wc_order_attribution_{name}": text for name, text in visit.items()}
    other_order = {**ORDER, "id": 8, "billing_email": "bob@example.com", "meta": entry}
    shop.run_steps(
        ["checkout", CLASSIC, {**ORDER, "meta": entry}], ["status", "processing", 727],
        ["checkout", CLASSIC, other_order, "tok-5"], ["status", "processing", 8], ["run"],
    )  # fmt: skip
    shop.events()
    rows = shop.stage.connection.execute(
        "SELECT e.order_id, t.source_id FROM events e JOIN touchpoints t"
        " ON t.space_id = e.space_id AND t.contact_id = e.contact_id WHERE e.space_id = %s",
        (shop.stage.space_id,),
    ).fetchall()
    assert rows == [("727", SOURCE_IDS["google_ads"])]


@pytest.mark.parametrize(
    "order_data",
    [{"created_via": "admin"}, {"meta": {"_subscription_renewal": "700"}},
     {"meta": {"_wc_order_attribution_source_type": "pos"}}],
)  # fmt: skip
def test_an_order_without_a_visit_makes_no_touch(shop: Shop, order_data: dict[str, Any]) -> None:
    copied_meta = {"_wc_order_attribution_utm_source": "google", "_wc_order_attribution_utm_medium": "cpc"}
    order = {**ORDER, **order_data, "meta": {**copied_meta, **order_data.get("meta", {})}}
    shop.run_steps(["checkout", CLASSIC, order], ["status", "processing", 727], ["run"])
    (event,) = shop.waiting()
    assert "trk_source" not in event


def test_the_tag_and_who_is_logged_in(shop: Shop) -> None:
    shop.settings |= {"url": "https://hw.shop.example", "consent": "required", "script": "/a/s.js"}
    guest_head, known_head = shop.run_steps(["head"], ["head", 17, "</script><b>&@example.com"])
    tag = (
        '<script async src="https://hw.shop.example/a/s.js"'
        f' data-site="{SITE_KEY}" data-consent="required"></script>'
    )
    assert tag in guest_head
    assert "wp_listen_for_consent_change" in guest_head
    assert "identify(" not in guest_head
    assert known_head.endswith(
        'trk.identify({"email":"\\u003C\\/script\\u003E\\u003Cb\\u003E\\u0026@example.com",'
        '"tracking_id":"17"})\n</script>\n'
    )
    shop.settings["site_key"] = ""
    assert shop.run_steps(["head"]) == [""]


def test_an_order_without_current_consent_has_no_token(shop: Shop) -> None:
    shop.settings |= {"consent": "required"}
    first, second = ({**ORDER, "id": order_id} for order_id in (1, 2))
    results = shop.run_steps(
        ["consent", False], ["checkout", CLASSIC, first, "tok-5"],
        ["consent", True], ["checkout", CLASSIC, second, "tok-5"],
        ["set", {"consent": ""}], ["consent", False], ["checkout", BLOCKS, ORDER, "tok-5"],
    )  # fmt: skip
    assert results == [True, "", True, "tok-5", None, True, "tok-5"]


def test_with_the_secret_an_identity_is_signed(shop: Shop) -> None:
    shop.settings |= {"url": "https://hw.shop.example", "signing_secret": SIGNING_SECRET}
    head, page = shop.run_steps(["head", 17, " Ada@Example.com"], ["page"])
    person = json.loads(head.partition("trk.identify(")[2].partition(")\n</script>")[0])
    signed_at = person["signed_at"]
    assert abs(signed_at - time.time()) < PATIENCE_SECONDS
    assert person["signature"] == sign(SIGNING_SECRET.encode(), str(signed_at), "ada@example.com", "17")
    assert SIGNING_SECRET not in head + page


def test_settings_are_checked_and_secrets_are_not_shown(shop: Shop) -> None:
    stored_key = shop.settings["api_key"]
    typed_settings = {"url": " https://hw.shop.example/ ", "site_key": SITE_KEY, "api_key": " ",
                      "signing_secret": SIGNING_SECRET, "script": "/x.js", "consent": "required"}  # fmt: skip
    removal = {**typed_settings, "signing_secret": "", "remove_signing_secret": "yes"}
    kept_settings, page, kept_later = shop.run_steps(["save", typed_settings], ["page"], ["save", removal])
    assert kept_settings == {**typed_settings, "url": "https://hw.shop.example", "api_key": stored_key}
    assert kept_later == {**kept_settings, "signing_secret": ""}
    assert stored_key not in page
    assert SIGNING_SECRET not in page
    assert 'name="headwater[api_key]" value=""' in page


@pytest.mark.parametrize(
    "fields",
    [{"url": "http://hw.shop.example"}, {"url": "https://hw.shop.example/path"},
     {"url": "javascript:alert(1)"}, {"site_key": "trk_sk_abcdefgh1234"}, {"api_key": "<b>"},
         {"signing_secret": "short"}],
)  # fmt: skip
def test_a_setting_of_the_wrong_form_changes_nothing(shop: Shop, fields: dict[str, str]) -> None:
    current = {**shop.settings, "url": "https://hw.shop.example", "api_key": ""}
    shop.settings |= {"signing_secret": SIGNING_SECRET}
    shop.settings["url"] = current["url"]
    kept_settings, page = shop.run_steps(["save", {**current, **fields}], ["page"])
    (name,) = fields
    assert kept_settings[name] == shop.settings[name]
    assert "was not changed" in page


def test_what_is_stored_is_escaped_where_it_is_shown(shop: Shop) -> None:
    shop.settings |= {"url": '"><script>alert(1)</script>', "site_key": '"><b>'}
    head, page = shop.run_steps(["head"], ["page"])
    assert "<script>alert" not in head + page
    assert "<b>" not in head + page
