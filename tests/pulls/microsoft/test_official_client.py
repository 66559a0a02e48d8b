"""The values in our report requests are those that Microsoft's own library declares."""

from __future__ import annotations

from headwater.spend.platforms.microsoft import _read_zones
from tests.pulls.books import Books, fill
from tests.pulls.checks import serve_platform
from tests.pulls.microsoft.pretend import SUBMIT, PretendMicrosoft
from tests.pulls.microsoft.test_microsoft import MICROSOFT
from tests.pulls.staging import TODAY, Pulls
from tests.support.microsoft_schema import declared


def test_reports_have_declared_members_and_columns(pulls: Pulls) -> None:
    pretend = PretendMicrosoft(fill(Books(), TODAY, days=3))
    with serve_platform(pulls, MICROSOFT, pretend) as platform:
        MICROSOFT.connect(pulls)
        pulls.pull()
    reports = [request.json()["ReportRequest"] for request in platform.requests if request.target == SUBMIT]
    for report in reports:
        kind = report["Type"]
        members = {*declared("reporting", "ReportRequest"), *declared("reporting", kind)}
        assert report.keys() - {"Type"} <= members
        assert set(report["Columns"]) <= set(
            declared("reporting", kind.replace("ReportRequest", "ReportColumn"))
        )
        assert set(report["Time"]) <= set(declared("reporting", "ReportTime"))


def test_every_time_zone_is_known() -> None:
    zones = _read_zones()
    assert {names[1] for names in zones} == set(declared("customermanagement", "TimeZoneType"))
    assert {names[-1] for names in zones} == set(declared("reporting", "ReportTimeZone"))
    assert len({names[0] for names in zones}) == len(zones)
