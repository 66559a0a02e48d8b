"""Values of options that need more than the right type."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import pytest

from headwater.base.failure import Failure
from headwater.operations.terminal import values


def test_it_works() -> None:
    assert (values.port("0"), values.process_count("64")) == (0, 64)
    assert values.row_count("10000") == 10_000
    assert (values.row_id("7"), values.row_id("1" + "0" * 30)) == (7, 2**63 - 1)
    assert values.address("127.0.0.1:9464") == ("127.0.0.1", 9464)
    assert values.address("[::1]:9464") == ("::1", 9464)
    assert values.node_address("[::1]:9464") == values.address("[::1]:9464")
    assert values.node_address("[::1]") == ("::1", 5432)
    assert values.node_address("node-2") == ("node-2", 5432)
    assert values.seconds("0.5") == 0.5
    assert values.moment("2026-11-22T03:30:00Z") == datetime(2026, 11, 22, 3, 30, tzinfo=UTC)
    assert values.read_pairs(["a=1", "b=", "c==x"]) == {"a": "1", "b": "", "c": "=x"}


@pytest.mark.parametrize(
    ("read_value", "text"),
    [
        (values.port, "65536"),
        (values.port, "-1"),
        (values.process_count, "0"),
        (values.address, "9464"),
        (values.address, "127.0.0.1:0"),
        (values.node_address, "node-2:0"),
        (values.row_count, "10001"),
        (values.seconds, "-1"),
        (values.seconds, "inf"),
        (values.seconds, "nan"),
        (values.moment, "2026-11-22T03:30:00"),
    ],
)
def test_beyond_the_bounds(read_value: object, text: str) -> None:
    assert callable(read_value)
    with pytest.raises(argparse.ArgumentTypeError):
        read_value(text)


@pytest.mark.parametrize(("texts", "message"), [(["a"], "KEY=VALUE"), (["a=1", "a=2"], "given twice")])
def test_pairs_that_are_none(texts: list[str], message: str) -> None:
    with pytest.raises(Failure, match=f"^a: .*{message}"):
        values.read_pairs(texts)
