"""The European Central Bank's reference rates, from its own server: the latest ninety days, or all
of them where too many would be missing.
"""

from __future__ import annotations

from datetime import date, timedelta

from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressError, EgressRequest
from headwater.spend.rates.ecb import read_file
from headwater.spend.rates.store import ReferenceRate

LATEST = "/stats/eurofxref/eurofxref-hist-90d.xml"
ALL = "/stats/eurofxref/eurofxref-hist.zip"
_LATEST_DAYS = timedelta(days=80)
"""That file has working days of ninety days."""
_AHEAD = timedelta(days=1)
"""It may be tomorrow already where the bank is."""
_SECONDS = 60.0
_MOST_BYTES = 8 * 1024 * 1024
"""Of the file as it is sent; the one of all days has a tenth of that."""


class RatesUnavailableError(Exception):
    """There are no rates to be had. The text says why."""


async def fetch_reference_rates(
    egress: Egress, origin: str, known: date | None, today: date
) -> list[ReferenceRate]:
    """Return the rates that the server at an origin has, where the latest known ones are of a day.
    Raises RatesUnavailableError for anything but a whole file of rates.
    """
    is_recent = known is not None and today - known <= _LATEST_DAYS
    call = EgressRequest(url=f"{origin}{LATEST if is_recent else ALL}", method="GET")
    try:
        response = await egress.send(call, _SECONDS, most_bytes=_MOST_BYTES)
        if response.status != 200:
            raise RatesUnavailableError(f"the server answered with status {response.status}")
        if response.cut:
            raise RatesUnavailableError("the file is too large")
        rates = read_file(response.body)
    except EgressError as error:
        raise RatesUnavailableError(str(error)) from None
    except ValueError as error:
        raise RatesUnavailableError(f"the file is refused: {error}") from None
    if max(rate.date for rate in rates) > today + _AHEAD:
        raise RatesUnavailableError("the file is refused: it has rates of days to come")
    return rates
