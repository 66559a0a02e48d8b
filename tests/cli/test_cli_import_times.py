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
    rows = [{**EVENT, "event_time": time_text, "order_id": time_text} for time_text in times]
    file = importer.write("orders.csv", *rows)
    arguments = ["--space", str(importer.stage.space_id), str(file)]
    assert main(["import", "events", *arguments, "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert "5 times had no offset and were read as UTC." in output
    assert "--timezone Europe/Paris" in output
    report = importer.run("events", file, "--timezone", "Europe/Paris")
    assert (report["times_without_offset"], report["timezone"]) == (5, "Europe/Paris")
    event_times = {payload["order_id"]: payload["event_time"] / 1000 for payload in importer.payloads()}
    assert [datetime.fromtimestamp(event_times[time_text], UTC).isoformat()[:16] for time_text in times] == [
        "2025-11-01T09:00", "2025-07-01T08:00", "2025-11-01T23:00", "2025-10-26T00:30",
        "2025-03-30T01:30", "2025-11-01T10:00", "2025-11-01T05:00", "2025-11-01T12:26",
    ]  # fmt: skip
    assert "must be an IANA time zone" in importer.refusal("events", file, "--timezone", "Mars")
