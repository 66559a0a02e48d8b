"""Another tool's list of orders compared with ours: every difference has a step, and the steps add up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.cli import main
from headwater.reports.questions.order_comparison import ListedOrder, OrderStep, Sale, compare_lists
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

MAY = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}
PERIOD = ("--first", "2026-05-01", "--last", "2026-05-31")
LIST = (
    "Transaction ID,Date,Purchase revenue\n"
    '1001,2026-05-02,50.00\n#A2,2026-05-03,"1,080.00"\n1003,2026-05-04,20\n1001,2026-05-02,50\n'
    "9999,2026-05-05,10\n1007,2026-05-30,7.5\nTotal,,1217.50\n"
)


@pytest.fixture
def space(stage: Stage) -> Stage:
    """A Space with an order for each kind of difference."""
    stage.connection.execute(
        "UPDATE spaces SET currency = 'EUR', timezone = 'Europe/Berlin' WHERE id = %s", (stage.space_id,)
    )
    contact_id = stage.contact()
    for order_id, name, day, amount, upsell in (
        ("1001", None, "05-02", 50, False), ("1002", "#A2", "05-03", 972, False),
        ("1003", None, "04-30", 20, False), ("1005", None, "05-06", 30, False),
        (None, None, "05-07", 5, False), (None, None, "05-08", 3, True), (None, None, "05-09", -50, False),
        ("1007", "1001", "05-31", Decimal("7.50"), False),
    ):  # fmt: skip
        stage.event(
            contact_id, order_id=order_id, order_name=name, amount=amount, is_upsell=upsell,
            event_time=datetime.fromisoformat(f"2026-{day} 12:00:00").replace(tzinfo=UTC),
        )  # fmt: skip
    return stage


@pytest.fixture
def compare(space: Stage, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
            monkeypatch: pytest.MonkeyPatch) -> Any:  # fmt: skip
    """A function that runs the command on a list."""
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)

    def run(content: str, *options: str, name: str = "list.csv", status: int = 0) -> Any:
        file = tmp_path / name
        file.write_text(content)
        where = ("order", "compare", "--space", str(space.space_id), str(file))
        assert main([*where, *options, "--json"]) == status
        output = capsys.readouterr()
        return json.loads(output.out, parse_float=Decimal) if status == 0 else output.err

    return run


def pairs(lines: list[dict[str, Any]]) -> dict[str, tuple[int, Decimal]]:
    return {line["step"]: (line["orders"], Decimal(line["revenue"])) for line in lines}


def test_it_works(compare: Any, api: Api) -> None:
    lines = pairs(compare(LIST, *PERIOD))
    assert lines == {
        "listed": (6, Decimal("1217.50")),
        OrderStep.REPEATED: (-1, -50), OrderStep.NOT_HERE: (-1, -10), OrderStep.OTHER_DAYS: (-1, -20),
        OrderStep.AMOUNTS: (0, -108), OrderStep.NOT_LISTED: (1, 30), OrderStep.WITHOUT_ID: (1, 5),
        OrderStep.UPSELLS: (0, 3), OrderStep.REFUNDS: (0, -50),
        "ours": (5, Decimal("1017.50")),
    }  # fmt: skip
    report = api.get("/reports", params={**MAY, "measures[]": ["conversions", "revenue"]}).json()
    assert report["totals"]["conversions"] == 5, report
    assert Decimal(str(report["totals"]["revenue"])) == Decimal("1017.50")


def test_the_orders_behind_the_steps(compare: Any) -> None:
    lines = compare(LIST, *PERIOD, "--orders")
    assert [(line["order_id"], line["step"]) for line in lines] == [
        ("1001", "repeated"), ("9999", "not_here"), ("1003", "other_days"), ("#A2", "amounts"),
        ("1005", "not_listed"),
    ]  # fmt: skip
    assert (Decimal(lines[3]["listed"]), Decimal(lines[3]["ours"])) == (1080, 972)


def test_the_days_are_the_lists_by_default(compare: Any) -> None:
    lines = pairs(compare("order_id,date\n1001,2026-05-02\n1005,2026-05-06\n"))
    assert lines["ours"] == (3, 1052)


def test_json_lines(compare: Any) -> None:
    rows = '{"order_id": "1001", "amount": 50}\n{"order_id": 1005, "amount": "29.5"}\n'
    assert pairs(compare(rows, *PERIOD, name="list.ndjson"))["amounts"] == (0, Decimal("0.5"))


def test_a_row_for_each_product_of_an_order(compare: Any) -> None:
    rows = "Name,Total,Lineitem name\n#1001,50.00,Cup\n#1001,,Plate\n1005,30,Cup\n"
    lines = pairs(compare(rows, *PERIOD))
    assert (lines["listed"], lines["repeated"]) == ((2, 80), (0, 0))


@pytest.mark.parametrize("time", [1e300, -1e18, {}, "soon", "9" * 12])
def test_a_row_with_a_wrong_time_is_left_out(compare: Any, time: Any) -> None:
    rows = [{"order_id": "1001", "amount": 50}, {"order_id": "1005", "amount": 30, "event_time": time}]
    lines = pairs(compare("\n".join(map(json.dumps, rows)), *PERIOD, name="list.ndjson"))
    assert lines["listed"] == (1, 50)


@pytest.mark.parametrize("amount", [{}, "much", "NaN", 1e300, True])
def test_a_row_with_a_wrong_amount_is_left_out(compare: Any, amount: Any) -> None:
    rows = [{"order_id": "1001", "amount": 50}, {"order_id": "1005", "amount": amount}]
    lines = pairs(compare("\n".join(map(json.dumps, rows)), *PERIOD, name="list.ndjson"))
    assert lines["listed"] == (1, 50)


@pytest.mark.parametrize("row", ["1005,much", "1005,30,a cell too many", "1005,30 USD"])
def test_a_row_that_cannot_be_read_is_left_out(compare: Any, row: str) -> None:
    lines = pairs(compare(f"order_id,total\n1001,50\n{row}\n", *PERIOD))
    assert lines["listed"] == (1, 50)


@pytest.mark.parametrize(
    ("content", "options", "problem"),
    [
        ("total,date\n5,2026-05-01\n", (), "order_id"),
        ("order_id,total\n1,5\n", (*PERIOD, "--map", "Number=order_id"), "Number"),
        ("order_id,total\n1,5\n", (*PERIOD, "--map", "total=price"), "price"),
        ("order_id\n1\n", (), "--first"),
        ("order_id\n1\n", ("--first", "2026-05-01"), "--last"),
        ("order_id,total\n1,5\n", ("--first", "2026-05-02", "--last", "2026-05-01"), "--last"),
        ("order_id,total\n1,5\n", ("--first", "May"), "--first"),
        ('order_id,total\n1,"1,234"\n', PERIOD, "--decimals"),
        ("order_id,currency,total\n1,USD,5\n", PERIOD, "USD"),
        ("order_id,total\n", PERIOD, "no orders"),
        ("order_id,total\n,5\n", PERIOD, "order id"),
    ],
)
def test_a_list_that_cannot_be_compared(
    compare: Any, content: str, options: tuple[str, ...], problem: str
) -> None:
    assert problem in compare(content, *options, status=2)


AMOUNTS = st.decimals(0, 50, places=2)
KEYS = st.sampled_from(["1", "2", "3", "#4", "4", "5"])
LISTS = st.lists(st.builds(ListedOrder, KEYS, AMOUNTS), max_size=8)
SALES = st.lists(
    st.tuples(st.sampled_from(["order", "refund", "upsell"]), AMOUNTS, st.booleans()), max_size=8
)


@given(LISTS, SALES, st.sets(KEYS))
def test_the_steps_of_any_list_add_up(
    listed: list[ListedOrder], sales_drawn: list[tuple[str, Decimal, bool]], other_ids: set[str]
) -> None:
    """Compared with sets and sums: at most one order for each number, some without an id."""
    sales = [
        Sale(
            str(number) if kind == "order" and has_id else None, None, kind == "refund", kind == "upsell",
            -amount if kind == "refund" else amount,
        )
        for number, (kind, amount, has_id) in enumerate(sales_drawn)
    ]  # fmt: skip
    steps, equal_count, differences = compare_lists(listed, sales, other_ids)
    orders = [sale for sale in sales if not (sale.is_refund or sale.is_upsell)]
    changes = dict(steps)
    assert len(listed) + sum(change.conversions for change in changes.values()) == len(orders)
    revenue = sum(order.amount for order in listed) + sum(change.revenue for change in changes.values())
    assert revenue == sum(sale.amount for sale in sales)

    own_amounts = {sale.order_id: sale.amount for sale in orders if sale.order_id}
    first = {order.order_id.removeprefix("#"): order for order in reversed(listed)}
    assert equal_count == sum(own_amounts.get(key) == order.amount for key, order in first.items())
    assert changes[OrderStep.REPEATED].conversions == len(first) - len(listed)
    assert changes[OrderStep.NOT_LISTED].conversions == len(own_amounts.keys() - first.keys())
    missing = first.keys() - own_amounts.keys()
    other_day_ids = {key.removeprefix("#") for key in other_ids}
    assert changes[OrderStep.OTHER_DAYS].conversions == -len(missing & other_day_ids)
    assert changes[OrderStep.NOT_HERE].conversions == -len(missing - other_day_ids)
    assert len(differences) == len(listed) - equal_count + len(own_amounts.keys() - first.keys())
