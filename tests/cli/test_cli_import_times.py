"""Imported times without an offset: reported, and read in the time zone that is given."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headwater.cli import main
from tests.support.importing import Importer

EVENT = {"event_name": "purchase", "email": "ada@example.com"}


def test_times_without_an_offset_are_told_and_read_on_the_clock_that_is_named(
    importer: Importer, capsys: pytest.CaptureFixture[str]
) -> None:
    """If they were silently read as UTC, orders around midnight would be on the wrong day."""
    importer.stage.connection.execute(
        "UPDATE spaces SET timezone = 'Europe/Paris' WHERE id = %s", (importer.stage.space_id,)
    )
    times = [
        "2025-11-01 10:00:00", "2025-07-01T10:00", "2025-11-02", "2025-10-26 02:30:00",
        "2025-03-30 02:30:00", "2025-11-01T10:00:00Z", "2025-11-01 10:00:00+05:00", "1762000000",
    ]  # fmt: skip
    rows = [{**EVENT, "event_time": at, "order_id": at} for at in times]
    file = importer.write("orders.csv", *rows)
    where = ["--space", str(importer.stage.space_id), str(file)]
    assert main(["import", "events", *where, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "5 times had no offset and were read as UTC." in told
    assert "--timezone Europe/Paris" in told
    report = importer.run("events", file, "--timezone", "Europe/Paris")
    assert (report["times_without_offset"], report["timezone"]) == (5, "Europe/Paris")
    read = {each["order_id"]: each["event_time"] / 1000 for each in importer.payloads()}
    assert [datetime.fromtimestamp(read[at], UTC).isoformat()[:16] for at in times] == [
        "2025-11-01T09:00", "2025-07-01T08:00", "2025-11-01T23:00", "2025-10-26T00:30",
        "2025-03-30T01:30", "2025-11-01T10:00", "2025-11-01T05:00", "2025-11-01T12:26",
    ]  # fmt: skip
    assert "must be an IANA time zone" in importer.refused("events", file, "--timezone", "Mars")
