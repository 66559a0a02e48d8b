"""Incoming orders, and a webhook from its creation to replayed deliveries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from headwater.console.forms import form_token, once_token
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.spaces.accounts.roles import Role
from headwater.spaces.secret_hash import hash_secret
from tests.conftest import Running
from tests.console.browsing import Browser
from tests.console.conftest import Person
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.webhook_samples import SAMPLES
from tests.support.webhook_samples.shopify import REFUND

HOSTILE = "<script>alert(1)</script>&\"'"


def orders_path(space_id: int) -> str:
    return f"/console/spaces/{space_id}/orders"


def create(browser: Browser, space_id: int, kind: str, **values: str) -> httpx.Response:
    orders = orders_path(space_id)
    return browser.fill(
        f"{orders}/webhooks/new?type={kind}", f"{orders}/webhooks/create",
        **{"name": "My shop", **values},
    )  # fmt: skip


def address_on(page: httpx.Response) -> str:
    (address,) = re.findall(r'<code id="address"[^>]*>([^<]*)', page.text)
    return address


def assert_is_shown_once(page: httpx.Response, address: str) -> None:
    """Check that a later page shows only the end of an address."""
    assert 'id="address"' not in page.text
    assert urlsplit(address).path.rpartition("/")[2] not in page.text
    assert f"<code>…{address[-4:]}</code>" in page.text


def list_path(page: httpx.Response, space_id: int) -> str:
    (path,) = set(re.findall(rf'action="({orders_path(space_id)}/webhooks/\d+)/test"', page.text))
    return path


def deliver(console: Running, address: str, kind: str, secret: str | None, **changes: object) -> int:
    """Deliver a sample as its sender does, and return the status of the answer."""
    sample = SAMPLES[kind]
    body = json.dumps({**sample.body, **changes}).encode()
    signature_headers = {sample.signature: sample.sign(body, secret)} if secret else {}
    url = console.base_url + urlsplit(address).path
    headers = {**sample.headers, **signature_headers}
    return httpx.post(url, content=body, headers=headers, timeout=PATIENCE_SECONDS).status_code


def test_it_works(owner: Person, console: Running, space_id: int) -> None:
    orders, browser = orders_path(space_id), owner.browser
    assert "Where do your orders come from?" in browser.get(orders).text
    page = create(browser, space_id, "shopify")
    webhook_path, address = list_path(page, space_id), address_on(page)
    assert address.startswith(f"{console.base_url}/webhooks/")
    assert "cannot be shown again" in page.text
    assert "Settings, Notifications, Webhooks" in page.text
    assert f'action="{webhook_path}/secret"' in page.text
    assert "needs its secret" in browser.get(orders).text

    assert deliver(console, address, "shopify", "wrong") == 401
    page = browser.get(webhook_path)
    assert "no signing secret yet" in page.text
    assert "Paste the signing secret" in page.text
    assert_is_shown_once(page, address)
    assert 'href="#new-address"' in page.text

    save_page = browser.fill(webhook_path, f"{webhook_path}/secret", secret=" shp-1 ")
    assert "The signing secret is saved" in save_page.text
    assert deliver(console, address, "shopify", "other") == 401
    assert "Copy the signing secret from Shopify again" in browser.get(webhook_path).text
    assert deliver(console, address, "shopify", "shp-1") == 200
    page = browser.get(webhook_path)
    assert "orders/paid became purchase." in page.text
    list_text = browser.get(orders).text
    assert '<data value="1">1</data> accepted' in list_text
    assert '<data value="2">2</data> refused' in list_text
    assert_is_shown_once(browser.get(orders), address)
    assert f'href="{webhook_path}#new-address"' in list_text


def test_only_a_hash_of_the_token_is_stored(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    page = create(owner.browser, space_id, "stripe")
    renewal = owner.browser.fill(list_path(page, space_id), f"{list_path(page, space_id)}/address")
    (row,) = connection.execute(
        "SELECT w::text, token_hash FROM webhooks w WHERE space_id = %s", (space_id,)
    ).fetchall()
    token = urlsplit(address_on(renewal)).path.rpartition("/")[2]
    assert row[1] == hash_secret(token)
    assert token not in row[0]
    assert token.encode().hex() not in row[0]


def test_a_form_sent_twice_changes_one_address(owner: Person, console: Running, space_id: int) -> None:
    """Reloading the page with an address neither shows the address again nor replaces it."""
    orders, browser = orders_path(space_id), owner.browser
    form = browser.form(f"{orders}/webhooks/new?type=stripe", f"{orders}/webhooks/create")
    form_values = {"name": "Shop", "secret": "whsec_1"}
    page = browser.send(form, **form_values)
    assert browser.send(form, **form_values).status_code == 403
    webhook_path = list_path(page, space_id)
    assert browser.get(orders).text.count("#new-address") == 1
    form = browser.form(webhook_path, f"{webhook_path}/address")
    renewal = browser.send(form)
    assert browser.send(form).status_code == 403
    assert deliver(console, address_on(renewal), "stripe", "whsec_1") == 200


def test_a_form_sent_twice_changes_one_secret(owner: Person, console: Running, space_id: int) -> None:
    page = create(owner.browser, space_id, "woocommerce", name="Woo")
    webhook_path = list_path(page, space_id)
    form = owner.browser.form(webhook_path, f"{webhook_path}/secret")
    renewal = owner.browser.send(form, make="yes")
    (secret,) = re.findall(r'<code id="secret-made"[^>]*>([^<]*)', renewal.text)
    assert owner.browser.send(form, make="yes").status_code == 403
    assert deliver(console, address_on(page), "woocommerce", secret) == 200


@pytest.mark.parametrize("signing", ["made", "typed", None])
@pytest.mark.parametrize("kind", ["woocommerce", "generic", "calendly"])
def test_a_typed_secret_is_never_dropped(
    owner: Person, console: Running, space_id: int, kind: str, signing: str | None
) -> None:
    """The option selected above it doesn't matter."""
    choice = {} if signing is None else {"signing": signing}
    page = create(owner.browser, space_id, kind, secret=" whsec_mine ", **choice)
    assert 'id="secret-made"' not in page.text
    assert deliver(console, address_on(page), kind, "whsec_mine") in (200, 422)
    assert deliver(console, address_on(page), kind, "another") == 401


def test_a_secret_has_at_most_500_characters(owner: Person, console: Running, space_id: int) -> None:
    address = address_on(create(owner.browser, space_id, "woocommerce", secret="s" * 500))
    assert create(owner.browser, space_id, "woocommerce", secret="s" * 501).status_code == 422
    assert deliver(console, address, "woocommerce", "s" * 500) == 200


def test_a_secret_beside_no_signature_is_refused(owner: Person, space_id: int) -> None:
    page = create(owner.browser, space_id, "generic", secret="whsec_mine", signing="unsigned")
    assert page.status_code == 422
    assert "Clear this secret" in page.text


def test_a_secret_that_is_made_is_shown_once(owner: Person, console: Running, space_id: int) -> None:
    page = create(owner.browser, space_id, "woocommerce", name="Woo")
    (secret,) = re.findall(r'<code id="secret-made"[^>]*>([^<]*)', page.text)
    webhook_path = list_path(page, space_id)
    assert secret not in owner.browser.get(webhook_path).text
    assert deliver(console, address_on(page), "woocommerce", secret) == 200
    renewal = owner.browser.fill(webhook_path, f"{webhook_path}/secret", make="yes")
    (new_secret,) = re.findall(r'<code id="secret-made"[^>]*>([^<]*)', renewal.text)
    assert deliver(console, address_on(page), "woocommerce", secret) == 401
    assert deliver(console, address_on(page), "woocommerce", new_secret) == 200


@pytest.mark.parametrize("kind", PROVIDERS)
def test_every_sender_has_its_steps(owner: Person, space_id: int, kind: str) -> None:
    page = create(owner.browser, space_id, kind, secret="", name=HOSTILE)
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert page.text.count("<li>") >= len(PROVIDERS[kind].guide.steps) >= 2


def test_mistakes_are_told_beside_the_field(owner: Person, space_id: int) -> None:
    assert "Must not be empty." in create(owner.browser, space_id, "stripe", name=" ").text
    answer = create(owner.browser, space_id, "calendly", signing="typed", secret="")
    assert answer.status_code == 422
    assert "Paste the signing secret." in answer.text
    orders = orders_path(space_id)
    form = owner.browser.form(f"{orders}/webhooks/new?type=stripe", f"{orders}/webhooks/create")
    assert "What sends the orders?" in owner.browser.send(form, type="nobody").text


def test_a_test_says_what_a_body_becomes(owner: Person, space_id: int) -> None:
    webhook_path = list_path(create(owner.browser, space_id, "shopify"), space_id)
    body = json.dumps(SAMPLES["shopify"].body)
    good = owner.browser.fill(webhook_path, f"{webhook_path}/test", body=body, topic="orders/paid")
    assert "<dt>email</dt><dd><bdi>ada@example.com</bdi>" in good.text
    bad = owner.browser.fill(
        webhook_path, f"{webhook_path}/test", topic="orders/paid",
        body=json.dumps({**SAMPLES["shopify"].body, "total_price": "many"}),
    )  # fmt: skip
    assert "<code><bdi>amount</bdi></code>" in bad.text
    assert "must be a number" in bad.text
    for form_values, rule in (
        ({"body": " ", "topic": "orders/paid"}, "Paste a request body"),
        ({"body": body}, "Choose the delivery"),
    ):
        answer = owner.browser.fill(webhook_path, f"{webhook_path}/test", **form_values)
        assert answer.status_code == 422
        assert rule in answer.text
    malformed = owner.browser.fill(webhook_path, f"{webhook_path}/test", body="{", topic="orders/paid")
    assert "<code><bdi>body</bdi></code>" in malformed.text
    assert "No deliveries yet." in malformed.text


def test_a_test_says_what_a_refund_gives_back(owner: Person, space_id: int) -> None:
    webhook_path = list_path(create(owner.browser, space_id, "shopify"), space_id)

    def refund(transactions: list[dict[str, str]]) -> str:
        body = json.dumps({**REFUND, "transactions": transactions})
        return owner.browser.fill(
            webhook_path, f"{webhook_path}/test", body=body, topic="refunds/create"
        ).text

    assert re.findall(r"<dt>money back</dt><dd><bdi>(.*?)</bdi>", refund(REFUND["transactions"])) == [
        "10 + 5.5"
    ]
    empty = refund([])
    assert "no refund" in empty
    assert "is ignored" not in empty


def test_paused_deliveries_are_kept_and_replayed(owner: Person, console: Running, space_id: int) -> None:
    page = create(owner.browser, space_id, "stripe", secret="whsec_1")
    webhook_path, address = list_path(page, space_id), address_on(page)
    assert "The webhook is paused" in owner.browser.fill(webhook_path, f"{webhook_path}/pause").text
    assert deliver(console, address, "stripe", "whsec_1") == 200
    page = owner.browser.get(webhook_path)
    assert "Received while the webhook was paused." in page.text
    assert "is resumed" in owner.browser.fill(webhook_path, f"{webhook_path}/resume").text
    assert "accepted" in owner.browser.fill(webhook_path, f"{webhook_path}/replay-failed").text
    assert deliver(console, address, "stripe", "whsec_1") == 200


def test_a_new_address_ends_the_former(owner: Person, console: Running, space_id: int) -> None:
    page = create(owner.browser, space_id, "stripe", secret="whsec_1")
    webhook_path, address = list_path(page, space_id), address_on(page)
    renewal = owner.browser.fill(webhook_path, f"{webhook_path}/address")
    assert address_on(renewal) != address
    assert "cannot be shown again" in renewal.text
    assert_is_shown_once(owner.browser.get(webhook_path), address_on(renewal))
    assert deliver(console, address, "stripe", "whsec_1") == 404
    assert deliver(console, address_on(renewal), "stripe", "whsec_1") == 200
    assert "is deleted" in owner.browser.fill(webhook_path, f"{webhook_path}/delete").text
    assert deliver(console, address_on(renewal), "stripe", "whsec_1") == 404
    assert owner.browser.get(webhook_path).status_code == 404
    assert owner.browser.get(orders_path(space_id)).status_code == 200


def test_no_new_address_for_a_secret_that_does_not_open(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    page = create(owner.browser, space_id, "stripe", secret="whsec_1")
    webhook_path, address = list_path(page, space_id), address_on(page)
    connection.execute("UPDATE webhooks SET secret = sha512(secret)")
    refusal = owner.browser.fill(webhook_path, f"{webhook_path}/address")
    assert refusal.status_code == 409
    assert "secret key has changed" in refusal.text
    assert_is_shown_once(refusal, address)


@pytest.mark.parametrize("role", list(Role))
def test_who_may(person: Callable[..., Person], space_id: int, role: Role) -> None:
    owner, visitor = person(Role.OWNER), person(role)
    page = create(owner.browser, space_id, "stripe", secret="whsec_1")
    webhook_path, is_allowed = list_path(page, space_id), role is not Role.VIEWER
    visitor_page = visitor.browser.get(webhook_path)
    assert visitor_page.status_code == 200
    assert address_on(page) not in visitor_page.text
    assert (f"{webhook_path}/address" in visitor_page.text) == is_allowed
    list_page = visitor.browser.get(orders_path(space_id))
    assert_is_shown_once(list_page, address_on(page))
    assert (f"{webhook_path}#new-address" in list_page.text) == is_allowed
    assert (f"{webhook_path}/pause" in visitor_page.text) == is_allowed
    assert visitor.browser.get(f"{webhook_path}/mapping").status_code == (200 if is_allowed else 403)
    new = visitor.browser.get(f"{orders_path(space_id)}/webhooks/new")
    assert new.status_code == (200 if is_allowed else 403)
    form = owner.browser.form(webhook_path, f"{webhook_path}/pause")
    form.fields = [("form_token", form_token(visitor.form_key, "change webhook"))]
    answer = visitor.browser.send(form, follow=False)
    assert answer.status_code == (303 if is_allowed else 403)
    form = owner.browser.form(webhook_path, f"{webhook_path}/address")
    form.fields = [("form_token", once_token(visitor.form_key, "webhook address"))]
    assert visitor.browser.send(form).status_code == (200 if is_allowed else 403)


def test_another_spaces_webhook(
    owner: Person, person: Callable[..., Person], make_space: Callable[..., int], space_id: int
) -> None:
    other_space_id = make_space()
    stranger = person(Role.OWNER, other_space_id)
    webhook_path = list_path(create(owner.browser, space_id, "stripe"), space_id)
    number = webhook_path.rpartition("/")[2]
    for path in (webhook_path, f"{orders_path(other_space_id)}/webhooks/{number}", f"{webhook_path}/mapping"):
        assert stranger.browser.get(path).status_code == 404
    form = owner.browser.form(webhook_path, f"{webhook_path}/delete")
    form.fields = [("form_token", form_token(stranger.form_key, "change webhook"))]
    form.action = f"{orders_path(other_space_id)}/webhooks/{number}/delete"
    assert stranger.browser.send(form).status_code == 404
    form.fields = [("form_token", once_token(stranger.form_key, "webhook address"))]
    form.action = f"{orders_path(other_space_id)}/webhooks/{number}/address"
    assert stranger.browser.send(form).status_code == 404
    assert owner.browser.get(webhook_path).status_code == 200
