"""Download the European Central Bank's reference rates: of the last 90 days, or all."""

from __future__ import annotations

from datetime import date, timedelta

from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressError, EgressRequest
from headwater.spend.rates.ecb import read_file
from headwater.spend.rates.store import ReferenceRate

LATEST = "/stats/eurofxref/eurofxref-hist-90d.xml"
ALL = "/stats/eurofxref/eurofxref-hist.zip"
_LATEST_DAYS = timedelta(days=80)
"""That file has the working days of 90 days."""
_MAX_AHEAD = timedelta(days=1)
"""The bank may already be in tomorrow."""
_SECONDS = 60.0
_MAX_BYTES = 8 * 1024 * 1024
"""Of the downloaded file; the one with all days has a tenth of that."""


class RatesUnavailableError(Exception):
    """The rates can't be downloaded. The text gives the reason."""


async def fetch_reference_rates(
    egress: Egress, origin: str, latest_day: date | None, today: date
) -> list[ReferenceRate]:
    """Return the rates from the server at `origin`. `latest_day` is the last stored day. Raises
    RatesUnavailableError unless the file is complete.
    """
    is_recent = latest_day is not None and today - latest_day <= _LATEST_DAYS
    call = EgressRequest(url=f"{origin}{LATEST if is_recent else ALL}", method="GET")
    try:
        response = await egress.send(call, _SECONDS, most_bytes=_MAX_BYTES)
        if response.status != 200:
            raise RatesUnavailableError(f"the server answered with status {response.status}")
        if response.cut:
            raise RatesUnavailableError("the file is too large")
        rates = read_file(response.body)
    except EgressError as error:
        raise RatesUnavailableError(str(error)) from None
    except ValueError as error:
        raise RatesUnavailableError(f"the file is refused: {error}") from None
    if max(rate.date for rate in rates) > today + _MAX_AHEAD:
        raise RatesUnavailableError("the file is refused: it has rates of future days")
    return rates
