"""A fake Microsoft Advertising: reports prepared as archives, the account, and tokens that rotate."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date
from typing import Any
from urllib.parse import parse_qs

from tests.pulls.books import AdPlace, Books, Spent
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

SECRETS = {"developer_token": "a-developer-token", "client_id": "an-app", "refresh_token": "M.C5_refresh.0"}
CUSTOMER = "87654321"
SUBMIT = "/Reporting/v13/GenerateReport/Submit"
POLL = "/Reporting/v13/GenerateReport/Poll"


def error(status: int, code: int, name: str) -> Answer:
    item = {"Code": code, "ErrorCode": name, "Details": None, "Message": f"The message of {name}."}
    body = {"OperationErrors": [item], "BatchErrors": [], "TrackingId": "t", "Type": "ApiFaultDetail"}
    return Answer(status, body)


EXPIRED = Answer(
    401,
    {
        "Errors": [{"Code": 109, "ErrorCode": "AuthenticationTokenExpired", "Message": "Expired."}],
        "TrackingId": "t",
        "Type": "AdApiFaultDetail",
    },
)


def pack(text: bytes) -> bytes:
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("123456789.csv", text)
    return archive_bytes.getvalue()


class PretendMicrosoft:
    """Each refresh token works once, and is returned with the next. A report is ready at the second poll."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.issued = 0
        self._reports: list[tuple[dict[str, Any], str]] = []
        self._polls: dict[str, int] = {}

    @property
    def refresh_token(self) -> str:
        return f"M.C5_refresh.{self.issued}"

    def __call__(self, request: ReceivedRequest) -> Answer:
        if request.target == "/common/oauth2/v2.0/token":
            return self._issue(request)
        if request.target.startswith("/download/"):
            assert "authorization" not in request.headers
            return self._download(int(request.target.rpartition("/")[2]))
        if request.headers.get("authorization") != f"Bearer access-{self.issued}":
            return EXPIRED
        if request.headers.get("developertoken") != SECRETS["developer_token"]:
            return error(401, 105, "InvalidCredentials")
        return self._serve(request)

    def _serve(self, request: ReceivedRequest) -> Answer:
        body, headers = request.json(), request.headers
        assert (headers["customerid"], headers["customeraccountid"]) == (CUSTOMER, self.books.account)
        if request.target == "/CustomerManagement/v13/Account/Query":
            if body != {"AccountId": int(self.books.account)}:
                return error(400, 106, "UserIsNotAuthorized")
            return Answer(body={"Account": self._account()})
        if request.target == SUBMIT:
            self._reports.append((body["ReportRequest"], headers["host"]))
            return Answer(body={"ReportRequestId": str(len(self._reports) - 1)})
        assert request.target == POLL
        return Answer(body={"ReportRequestStatus": self._poll(body["ReportRequestId"])})

    def _issue(self, request: ReceivedRequest) -> Answer:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        assert form["scope"] == "https://ads.microsoft.com/msads.manage offline_access"
        if form["refresh_token"] != self.refresh_token:
            return Answer(400, {"error": "invalid_grant", "error_description": "AADSTS70000"})
        self.issued += 1
        token = {"access_token": f"access-{self.issued}", "expires_in": 3599, "token_type": "Bearer"}
        return Answer(body=token | {"refresh_token": self.refresh_token})

    def _account(self) -> dict[str, Any]:
        zones = {
            "Europe/Berlin": "AmsterdamBerlinBernRomeStockholmVienna",
            "America/Los_Angeles": "PacificTimeUSCanadaTijuana",
        }
        return {
            "Id": self.books.account,
            "Name": self.books.name,
            "CurrencyCode": self.books.currency,
            "TimeZone": zones[self.books.timezone],
        }

    def _poll(self, report_id: str) -> dict[str, Any]:
        polls = self._polls[report_id] = self._polls.get(report_id, 0) + 1
        if polls == 1:
            return {"ReportDownloadUrl": None, "Status": "Pending"}
        report, host = self._reports[int(report_id)]
        has_rows = bool(self._rows(report))
        url = f"http://{host}/download/{report_id}" if has_rows else None
        return {"ReportDownloadUrl": url, "Status": "Success"}

    def _rows(self, report: dict[str, Any]) -> list[dict[str, str]]:
        assert report["Scope"] == {"AccountIds": [int(self.books.account)]}
        names = ("CustomDateRangeStart", "CustomDateRangeEnd")
        days = [{k.lower(): v for k, v in report["Time"][name].items()} for name in names]
        first, last = (date(**day) for day in days)
        is_ad = report["Type"] == "AdPerformanceReportRequest"
        rows = self.books.ad_rows(first, last) if is_ad else self.books.campaign_rows(first, last)
        return [self._row(*row) for row in rows]

    def _row(self, day: date, ad_place: AdPlace, figures: Spent) -> dict[str, str]:
        return {
            "TimePeriod": str(day),
            "CampaignId": ad_place.campaign,
            "CampaignName": self.books.find_name(ad_place.campaign),
            "AdGroupId": ad_place.adset,
            "AdGroupName": self.books.find_name(ad_place.adset),
            "AdId": ad_place.ad,
            "AdTitle": self.books.find_name(ad_place.ad),
            "Impressions": str(figures.impressions),
            "Clicks": str(figures.clicks),
            "Spend": f"{figures.amount:.2f}",
            "Conversions": str(figures.conversions),
            "Revenue": f"{figures.revenue:.2f}",
        }

    def _download(self, number: int) -> Answer:
        report = self._reports[number][0]
        text = io.StringIO()
        writer = csv.DictWriter(text, report["Columns"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(self._rows(report))
        headers = {"Content-Type": "application/x-zip-compressed"}
        return Answer(200, pack(b"\xef\xbb\xbf" + text.getvalue().encode()), headers)
