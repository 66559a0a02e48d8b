"""Microsoft's offline conversions have no id, so a retry repeats what the first attempt sent, even after
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.deliveries.google_ledger import DAY, key
from tests.deliveries.microsoft_ledger import MicrosoftLedger, MicrosoftShop, open_microsoft
from tests.deliveries.staging import Sending
from tests.deliveries.test_taken_back import change

OTHER_CLICK = "f" * 32


@pytest.fixture
def shop(sending: Sending) -> Iterator[MicrosoftShop]:
    with open_microsoft(sending) as (shop, _):
        yield shop


def forgetful_ledger(shop: MicrosoftShop) -> MicrosoftLedger:
    """Return the shop's ledger, which loses its first answer."""
    reactions = iter(["silent"])
    shop.ledger.react = lambda: next(reactions, "accept")
    return shop.ledger


def execute(shop: MicrosoftShop, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    cursor = shop.sending.connection.execute(statement, {"space": shop.sending.space_id, **values})
    return cursor.fetchall() if cursor.description else []


def click(shop: MicrosoftShop, order: int, source: str = "bing_ads", parameter: str = "msclkid") -> None:
    """Add a later ad click of the same person, which gets the credit from now on."""
    ((contact, moment),) = execute(
        shop, "SELECT contact_id, event_time FROM events WHERE space_id = %(space)s AND id = %(id)s", id=order
    )
    url = f"https://shop.example/?{parameter}={OTHER_CLICK}"
    shop.sending.rows.touchpoint(contact, source, url=url, occurred_at=moment - timedelta(minutes=1))


def move(shop: MicrosoftShop, order: int) -> None:
    """Change the event's time and URL, as if the server's event had replaced the page's event."""
    ((moment,),) = execute(
        shop, "SELECT event_time FROM events WHERE space_id = %(space)s AND id = %(id)s", id=order
    )
    moment -= timedelta(seconds=7)
    execute(
        shop,
        "UPDATE events SET event_time = %(moment)s, event_url ="
        " 'https://shop.example/?msclkid=' || %(click)s WHERE space_id = %(space)s AND id = %(id)s",
        id=order,
        moment=moment,
        click=OTHER_CLICK,
    )
    moment = moment.astimezone(UTC)
    shop.ledger.names[f"{moment:%Y-%m-%dT%H:%M:%SZ}"] = key(order)


def rename(shop: MicrosoftShop, _: int = 0) -> None:
    execute(
        shop, """UPDATE destinations SET event_names = '{"purchase": "Other"}' WHERE space_id = %(space)s"""
    )


CHANGES: dict[str, Callable[[MicrosoftShop, int], object]] = {
    "nothing": lambda *_: None,
    "a later click": click,
    "a later click elsewhere": lambda shop, order: click(shop, order, "google_ads", "gclid"),
    "another time": move,
    "another goal": rename,
    "another amount": lambda shop, order: shop.edit(order, "70"),
    "a refund": lambda shop, order: shop.refund(order, "20"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_it_works(shop: MicrosoftShop, name: str) -> None:
    """Microsoft counts the order once, with its final amount."""
    execute(shop, "UPDATE destinations SET all_events = false WHERE space_id = %(space)s")
    ledger, order = forgetful_ledger(shop), shop.sell("100")
    shop.sending.run()
    CHANGES[name](shop, order)
    shop.sending.advance(60)
    shop.sending.run()
    shop.sending.run()
    assert (ledger.repeated, ledger.faults) == (1, [])
    assert ledger.amounts == {key(order): {"another amount": 70, "a refund": 80}.get(name, 100)}
    CHANGES[name](shop, order)
    shop.delete(order)
    shop.sending.run()
    assert (ledger.amounts, ledger.faults) == ({key(order): 0}, [])


@pytest.mark.parametrize("call_number", range(3))
def test_killed(shop: MicrosoftShop, call_number: int) -> None:
    order = shop.sell("100")
    shop.sending.run_until_killed(call_number)
    click(shop, order)
    shop.edit(order, "50")
    shop.sending.advance(60)
    shop.sending.run()
    shop.sending.run()
    assert (shop.ledger.amounts, shop.ledger.faults) == ({key(order): 50}, [])
    (counted_key,) = shop.ledger.counted_values[key(order)]
    assert counted_key[2] == f"{order:032x}"


def test_without_a_click(shop: MicrosoftShop) -> None:
    """A click that arrives later would make it another conversion."""
    ledger, order = forgetful_ledger(shop), shop.sell("100", has_click=False)
    shop.sending.run()
    click(shop, order)
    shop.sending.advance(60)
    shop.sending.run()
    shop.edit(order, "50")
    shop.sending.run()
    assert (ledger.amounts, ledger.faults) == ({key(order): 100}, [])
    assert shop.corrections(order) == [(1, "skipped", "no_identifier", None)]


def test_a_click_of_a_deleted_event(shop: MicrosoftShop) -> None:
    """The event's URL is deleted, but Microsoft's conversion is still found. If nothing was sent, the click
    isn't kept either.
    """
    url = f"https://shop.example/?msclkid={OTHER_CLICK}"
    sold_order, unsent_order = (shop.sell("100", has_click=False, event_url=url) for _ in range(2))
    shop.ledger.refuse = lambda event: event["transactionId"] == key(unsent_order)
    shop.sending.run()
    for order in (sold_order, unsent_order):
        shop.delete(order)
    shop.sending.run()
    assert shop.ledger.amounts == {key(sold_order): 0}
    statement = "SELECT first_attempt FROM deliveries WHERE space_id = %(space)s AND event_id = %(id)s"
    assert execute(shop, statement, id=unsent_order) == [(None,)]


@pytest.mark.parametrize("kind", ["erased", "do_not_capi", "deleted"])
def test_taken_back(shop: MicrosoftShop, kind: str) -> None:
    """Nothing more is sent."""
    ledger, order = forgetful_ledger(shop), shop.sell("100")
    shop.sending.run()
    change(shop.sending, kind, order)
    shop.sending.advance(60)
    shop.sending.run()
    assert ledger.repeated == 0
    assert execute(shop, "SELECT status, reason FROM deliveries WHERE space_id = %(space)s") == [
        ("skipped", kind)
    ]


def replay(shop: MicrosoftShop) -> None:
    execute(shop, "UPDATE deliveries SET status = 'queued', due_at = to_timestamp(%(now)s), queued_at ="
                  " to_timestamp(%(now)s), finished_at = NULL WHERE space_id = %(space)s",
            now=shop.sending.clock.time)  # fmt: skip


def test_consent_given_again(shop: MicrosoftShop) -> None:
    ledger, order = forgetful_ledger(shop), shop.sell("100", ad_user_data=True)
    shop.sending.run()
    for is_given in (False, True):
        execute(shop, "UPDATE events SET ad_user_data = %(given)s WHERE space_id = %(space)s", given=is_given)
        replay(shop)
        click(shop, order)
        shop.sending.advance(60)
        shop.sending.run()
        assert ledger.repeated == is_given
    assert (ledger.amounts, ledger.faults) == ({key(order): 100}, [])


def test_refused(shop: MicrosoftShop) -> None:
    """Microsoft doesn't have the conversion, so a replay may use another goal and click."""
    shop.ledger.refuse = lambda _: True
    order = shop.sell("100")
    shop.sending.run()
    shop.ledger.refuse = lambda _: False
    rename(shop)
    click(shop, order)
    replay(shop)
    shop.sending.run()
    (counted_key,) = shop.ledger.counted_values[key(order)]
    assert (counted_key[0], counted_key[2]) == ("Other", OTHER_CLICK)


@pytest.mark.parametrize("reactions", [["silent", "refuse token"], ["refuse token"]])
def test_held(shop: MicrosoftShop, reactions: list[str]) -> None:
    """Refused credentials don't show whether an earlier attempt was accepted."""
    ledger, order, was_lost = shop.ledger, shop.sell("100"), "silent" in reactions
    next_reactions = iter(reactions)
    ledger.react = lambda: next(next_reactions, "accept")
    for _ in reactions:
        shop.sending.run()
        shop.sending.advance(60)
    click(shop, order)
    execute(shop, "UPDATE destinations SET status = 'active' WHERE space_id = %(space)s")
    shop.sending.run()
    (counted_key,) = ledger.counted_values[key(order)]
    assert (counted_key[2] == OTHER_CLICK, ledger.faults) == (not was_lost, [])


def test_another_account(shop: MicrosoftShop) -> None:
    """The other account has received nothing, so it gets the current amount and click."""
    forgetful_ledger(shop)
    order = shop.sell("100")
    shop.sending.run()
    shop.edit(order, "70")
    click(shop, order)
    shop.ledger.counted_values.clear()  # another account's ledger
    execute(
        shop,
        """UPDATE destinations SET settings = '{"customer_id": "1", "account_id": "3"}'
        WHERE space_id = %(space)s""",
    )
    shop.sending.advance(DAY)
    shop.sending.run()
    assert shop.ledger.amounts == {key(order): Decimal(70)}
    assert execute(shop, "SELECT first_attempt ->> 'account' FROM deliveries WHERE space_id = %(space)s") == [
        ("1/3",)
    ]
