"""Past orders from the APIs of WooCommerce, Shopify and Stripe: fetched page by page, continued after a
failure, and giving the same events as their webhooks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from headwater.base.egress.client import Egress
from headwater.cli import imports as command
from headwater.cli import main
from headwater.intake.imports.orders import shop_source
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.importing import Importer
from tests.support.webhook_samples.stripe import INTENT, stripe
from tests.support.webhook_samples.woocommerce import WOO
from tests.support.webhooks import map_event
from tests.support.wire import ReceivedRequest

ORDERS = 250
UTM = {"source": "newsletter", "medium": "email", "campaign": "may", "term": None}
VISIT = {"landingPage": "https://shop.example/?x=1", "referrerUrl": "", "utmParameters": UTM}
SHOPIFY: dict[str, Any] = {
    "legacyResourceId": "1", "name": "#1001", "email": "ada@example.com", "phone": None,
    "createdAt": "2026-05-13T11:00:00Z", "processedAt": "2026-05-13T11:00:00Z", "cancelledAt": None,
    "test": False, "sourceName": "web", "tags": ["vip"], "displayFinancialStatus": "PARTIALLY_REFUNDED",
    "paymentGatewayNames": ["shopify_payments"], "customAttributes": [{"key": "trk_token", "value": "tok"}],
    "totalPriceSet": {"shopMoney": {"amount": "12.50", "currencyCode": "EUR"}},
    "totalRefundedSet": {"shopMoney": {"amount": "2.50"}}, "customer": {"firstName": "Ada", "lastName": "L"},
    "billingAddress": None, "customerJourneySummary": {"firstVisit": None, "lastVisit": VISIT},
}  # fmt: skip
PAYMENT: dict[str, Any] = {**INTENT, "status": "succeeded", "livemode": True, "created": 1778680800}
ORDER: dict[str, Any] = {**WOO, "refunds": []}


def read_query(request: ReceivedRequest) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.target).query).items()}


def list_woocommerce(request: ReceivedRequest) -> Any:
    start = int(read_query(request)["offset"])
    return [{**ORDER, "id": number + 1} for number in range(start, min(start + 100, ORDERS))]


def list_shopify(request: ReceivedRequest) -> Any:
    condition = json.loads(request.body)["variables"]["query"]
    start = int(condition.removeprefix("id:>") or 0)
    numbers = range(start, min(start + 100, ORDERS))
    return {"data": {"orders": {"nodes": [{**SHOPIFY, "legacyResourceId": str(n + 1)} for n in numbers]}}}


def list_stripe(request: ReceivedRequest) -> Any:
    start = int(read_query(request).get("starting_after", "pi_0").removeprefix("pi_"))
    numbers = range(start, min(start + 100, ORDERS))
    return {"data": [{**PAYMENT, "id": f"pi_{n + 1}", "invoice": None} for n in numbers]}


SHOPS: dict[str, tuple[Callable[[ReceivedRequest], Any], tuple[str, ...]]] = {
    "woocommerce": (list_woocommerce, ("consumer_key=ck_1", "consumer_secret=cs_1")),
    "shopify": (list_shopify, ("access_token=shpat_1",)),
    "stripe": (list_stripe, ("secret_key=sk_1",)),
}


@pytest.fixture
def _quick_retries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Permit servers on loopback, don't wait before retries, and use a test folder for refused orders."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "Egress", partial(Egress, ["127.0.0.1"]))
    monkeypatch.setattr(command, "open_shop", partial(shop_source.open_shop, retry_seconds=(0.0,)))


def bring(importer: Importer, shop: str, url: str, *options: str, status: int = 0) -> dict[str, Any]:
    importer._capsys.readouterr()
    secrets = [text for secret in SHOPS[shop][1] for text in ("--secret", secret)]
    arguments = ("--space", str(importer.stage.space_id), "--shop", url, "--json")
    assert main(["import", "shop", shop, *arguments, *secrets, *options]) == status
    return json.loads(importer._capsys.readouterr().out or "{}")


@pytest.mark.usefixtures("_quick_retries")
@pytest.mark.parametrize("shop", SHOPS)
def test_it_works(importer: Importer, shop: str) -> None:
    """An import that fails after two pages continues with the third."""
    answers, requests = SHOPS[shop][0], list[ReceivedRequest]()

    def answer(request: ReceivedRequest) -> Answer:
        requests.append(request)
        if len(requests) == 1:
            return Answer(429, {}, {"Retry-After": "0"})
        return Answer(403) if len(requests) == 4 else Answer(body=answers(request))

    with FakePlatform(default=answer) as fake:
        bring(importer, shop, fake.url, status=2)
        report = bring(importer, shop, fake.url)
        assert (report["queued"], report["refused"], report["rows_done_before"]) == (ORDERS, 0, 200)
        assert len(requests) == 5
        assert bring(importer, shop, fake.url)["finished_before"]
    ids = [payload["order_id"] for kind, payload in importer.waiting() if kind == "event"]
    assert len(set(ids)) == len(ids) == ORDERS


@pytest.mark.usefixtures("_quick_retries")
@pytest.mark.parametrize(
    ("shop", "expected"),
    [
        ("woocommerce", {"after": "2026-01-01T00:00:00", "dates_are_gmt": "true"}),
        ("stripe", {"created[gte]": "1767225600"}),
    ],
)
def test_orders_since_a_time(importer: Importer, shop: str, expected: dict[str, str]) -> None:
    with FakePlatform(default=lambda request: Answer(body=SHOPS[shop][0](request))) as fake:
        bring(importer, shop, fake.url, "--since", "2026-01-01")
        queries = [read_query(request) for request in fake.requests]
    assert len(queries) > 1
    assert all(query.items() >= expected.items() for query in queries)


@pytest.mark.usefixtures("_quick_retries")
@pytest.mark.parametrize("since", ["yesterday", "2026-01-01T00:00:00+05:00", "2026-02-30"])
def test_a_first_day_that_is_no_day(importer: Importer, since: str) -> None:
    with FakePlatform() as fake:
        bring(importer, "stripe", fake.url, "--since", since, status=2)
        assert not fake.requests


def fields(event: dict[str, Any]) -> dict[str, Any]:
    names = ("email", "amount", "currency", "order_id", "order_name", "trk_source", "trk_token", "phone")
    return {name: event.get(name) for name in names}


@pytest.mark.usefixtures("_quick_retries")
def test_orders_are_those_of_webhooks(importer: Importer) -> None:
    with FakePlatform(default=lambda _: Answer(body=[ORDER])) as fake:
        bring(importer, "woocommerce", fake.url)
    with FakePlatform(default=lambda _: Answer(body={"data": [PAYMENT]})) as fake:
        bring(importer, "stripe", fake.url)
    events = [payload for kind, payload in importer.waiting() if kind == "event"]
    hook_events = (
        map_event("woocommerce", WOO),
        map_event("stripe", stripe("payment_intent.succeeded", INTENT)),
    )
    assert list(map(fields, events)) == list(map(fields, hook_events))
    assert all(event["do_not_capi"] for event in events)


@pytest.mark.usefixtures("_quick_retries")
def test_stripes_metadata_tells_the_source(importer: Importer) -> None:
    """In our own names or in UTM parameters. Ours win."""
    own_fields = {
        "trk_source": "google_ads",
        "trk_type": "paid",
        "trk_campaign": "may",
        "trk_keyword": "boots",
    }
    utm = {"utm_source": "newsletter", "utm_medium": "email", "utm_campaign": "june", "utm_term": "hats"}
    payments = [
        {**PAYMENT, "id": f"pi_{number}", "metadata": metadata}
        for number, metadata in enumerate((own_fields, utm, {**utm, **own_fields}))
    ]
    with FakePlatform(default=lambda _: Answer(body={"data": payments})) as fake:
        bring(importer, "stripe", fake.url)
    read_sources = [
        [payload.get(name) for name in own_fields] for kind, payload in importer.waiting() if kind == "event"
    ]
    assert read_sources == [[*own_fields.values()], [*utm.values()], [*own_fields.values()]]


@pytest.mark.usefixtures("_quick_retries")
def test_shopify_tells_refunds_and_the_last_visit(importer: Importer) -> None:
    cancelled_order = {**SHOPIFY, "legacyResourceId": "3", "cancelledAt": "2026-05-14T11:00:00Z"}
    nodes = [SHOPIFY, {**SHOPIFY, "legacyResourceId": "2", "test": True}, cancelled_order]
    throttling = {"errors": [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}]}
    answers = iter([throttling, {"data": {"orders": {"nodes": nodes}}}])
    with FakePlatform(default=lambda _: Answer(body=next(answers))) as fake:
        report = bring(importer, "shopify", fake.url, "--since", "2026-01-01", status=1)
    assert report["sources"] == {"email": 1}
    event, refund, void = (payload for _, payload in importer.waiting())
    assert (void["order_ids"], void["statements"]) == (["3"], [{"version": 1778756400000}])
    assert (event["order_id"], event["trk_token"], event["trk_campaign"]) == ("1", "tok", "may")
    assert refund["statements"][0]["amount"] == "2.5"


@pytest.mark.usefixtures("_quick_retries")
def test_shopify_has_a_telephone_number_in_two_places(importer: Importer) -> None:
    """The order's own wins over that of the billing address."""
    billing = {"billingAddress": {"phone": "+15550000001"}}
    phones = ({}, billing, {"phone": "+15550000002", **billing})
    nodes = [{**SHOPIFY, **phone, "legacyResourceId": str(n)} for n, phone in enumerate(phones, 1)]
    with FakePlatform(default=lambda _: Answer(body={"data": {"orders": {"nodes": nodes}}})) as fake:
        bring(importer, "shopify", fake.url)
    read_phones = [payload.get("phone") for kind, payload in importer.waiting() if kind == "event"]
    assert read_phones == [None, "+15550000001", "+15550000002"]


@pytest.mark.usefixtures("_quick_retries")
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [({"code": "x"}, 401, "refused the access_token"), ({}, 404, "answered 404"),
     ({}, 200, "unexpected answer"), (b"<html>", 200, "does not answer now"),
     ({}, 503, "does not answer now")],
)  # fmt: skip
def test_failures_are_explained(
    importer: Importer, capsys: pytest.CaptureFixture[str], body: Any, status: int, message: str
) -> None:
    arguments = ["import", "shop", "shopify", "--space", str(importer.stage.space_id)]
    with FakePlatform(default=lambda _: Answer(status, body)) as fake:
        assert main([*arguments, "--shop", fake.url, "--secret", "access_token=shpat_1"]) == 2
    output = capsys.readouterr().err
    assert message in output
    assert "shpat_1" not in output
    assert importer.waiting() == []


@pytest.mark.usefixtures("_quick_retries")
def test_a_shop_that_cannot_be_reached_does_not_answer(
    importer: Importer, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakePlatform() as fake:
        url = fake.url
    arguments = ["import", "shop", "shopify", "--space", str(importer.stage.space_id), "--shop", url]
    assert main([*arguments, "--secret", "access_token=shpat_1"]) == 2
    assert "does not answer now" in capsys.readouterr().err


@pytest.mark.usefixtures("_quick_retries")
def test_what_is_missing_is_named(importer: Importer, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["import", "shop", "woocommerce", "--space", str(importer.stage.space_id)]
    assert main([*arguments, "--shop", "https://shop.example"]) == 2
    assert "--secret consumer_key=@FILE and --secret consumer_secret=@FILE" in capsys.readouterr().err
    secrets = ["--secret", "consumer_key=a", "--secret", "consumer_secret=b"]
    assert main([*arguments, *secrets]) == 2
    assert "--shop" in capsys.readouterr().err
    assert main([*arguments, *secrets, "--shop", "http://shop.example"]) == 2
    assert "only called by https" in capsys.readouterr().err
