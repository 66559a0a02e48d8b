"""Currency signs and codes next to amounts. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_DOLLARS = frozenset(
    {"USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "TWD", "CLP", "COP", "ARS", "BRL", "UYU"}
)
_CROWNS = frozenset({"SEK", "NOK", "DKK", "ISK", "CZK"})
_SIGNS: Mapping[str, frozenset[str]] = {
    "$": _DOLLARS,
    "kr": _CROWNS,
    "kr.": _CROWNS,
    "¥": frozenset({"JPY", "CNY"}),
    "£": frozenset({"GBP"}),
    "€": frozenset({"EUR"}),
    "円": frozenset({"JPY"}),
    "元": frozenset({"CNY"}),
    "zł": frozenset({"PLN"}),
    "kč": frozenset({"CZK"}),
    "ft": frozenset({"HUF"}),
    "lei": frozenset({"RON"}),
    "₹": frozenset({"INR"}),
    "rs": frozenset({"INR", "PKR", "LKR", "NPR"}),
    "₺": frozenset({"TRY"}),
    "tl": frozenset({"TRY"}),
    "₽": frozenset({"RUB"}),
    "₴": frozenset({"UAH"}),
    "₩": frozenset({"KRW"}),
    "₫": frozenset({"VND"}),
    "₪": frozenset({"ILS"}),
    "฿": frozenset({"THB"}),
    "₱": frozenset({"PHP"}),
    "₦": frozenset({"NGN"}),
    "fr.": frozenset({"CHF"}),
    "sfr.": frozenset({"CHF"}),
    "r$": frozenset({"BRL"}),
    "us$": frozenset({"USD"}),
    "c$": frozenset({"CAD"}),
    "ca$": frozenset({"CAD"}),
    "a$": frozenset({"AUD"}),
    "au$": frozenset({"AUD"}),
    "nz$": frozenset({"NZD"}),
    "hk$": frozenset({"HKD"}),
    "s$": frozenset({"SGD"}),
    "mx$": frozenset({"MXN"}),
}
_CODES = frozenset[str]().union(*_SIGNS.values())


def find_currencies(mark: str) -> frozenset[str]:
    """Return possible currencies; empty for other words."""
    sign = _SIGNS.get(mark.lower())
    if sign is not None:
        return sign
    is_code = mark.upper() in _CODES or re.fullmatch("[A-Z]{3}", mark)
    return frozenset({mark.upper()}) if is_code else frozenset()
