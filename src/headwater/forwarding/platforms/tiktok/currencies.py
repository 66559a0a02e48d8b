"""The currencies TikTok counts values in, as its own app events library lists them."""

from __future__ import annotations

CURRENCIES = frozenset({
    "AED", "ARS", "AUD", "BDT", "BGN", "BHD", "BIF", "BOB", "BRL", "CAD", "CHF", "CLP", "CNY",
    "COP", "CRC", "CZK", "DKK", "DZD", "EGP", "EUR", "GBP", "GTQ", "HKD", "HNL", "HUF", "IDR",
    "ILS", "INR", "IQD", "ISK", "JOD", "JPY", "KES", "KHR", "KRW", "KWD", "KZT", "LBP", "MAD",
    "MOP", "MXN", "MYR", "NGN", "NIO", "NOK", "NZD", "OMR", "PEN", "PHP", "PKR", "PLN", "PYG",
    "QAR", "RON", "RUB", "SAR", "SEK", "SGD", "THB", "TRY", "TWD", "TZS", "UAH", "USD", "VES",
    "VND", "ZAR",
})  # fmt: skip
