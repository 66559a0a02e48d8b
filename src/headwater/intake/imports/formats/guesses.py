"""Guess the field of each column from its name and cells. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "events": {
        "email": (
            "emailaddress",
            "customeremail",
            "billingemail",
            "contactemail",
            "mail",
            "kundenemail",
            "emailadresse",
            "courriel",
            "correo",
        ),
        "amount": (
            "total",
            "ordertotal",
            "totalprice",
            "grandtotal",
            "revenue",
            "purchaserevenue",
            "transactionrevenue",
            "totalrevenue",
            "ordervalue",
            "totalamount",
            "gross",
            "value",
            "price",
            "betrag",
            "summe",
            "gesamt",
            "gesamtbetrag",
            "gesamtsumme",
            "umsatz",
            "montant",
            "importe",
        ),
        "order_id": (
            "ordernumber",
            "order",
            "orderno",
            "ordernr",
            "id",
            "bestellnummer",
            "bestellung",
            "auftragsnummer",
            "transactionid",
            "invoice",
            "number",
            "name",
            "commande",
            "pedido",
        ),
        "event_time": (
            "paidat",
            "datepaid",
            "processedat",
            "createdat",
            "orderdate",
            "datecreated",
            "purchasedate",
            "date",
            "datetime",
            "time",
            "timestamp",
            "created",
            "datum",
            "bestelldatum",
            "kaufdatum",
            "zeit",
            "fecha",
        ),
        "event_name": ("event",),
        "currency": ("currencycode", "währung", "devise", "moneda"),
        "first_name": ("billingfirstname", "customerfirstname", "givenname", "vorname", "prénom"),
        "last_name": ("billinglastname", "customerlastname", "surname", "nachname", "nom"),
        "full_name": ("customername", "billingname", "customer", "kunde"),
        "phone": ("phonenumber", "billingphone", "telephone", "telefon", "mobile"),
        "company_name": ("company", "billingcompany", "firma"),
        "url": ("landingpage", "landingsite", "pageurl"),
        "ip": ("ipaddress", "customeripaddress"),
        "trk_source": ("utmsource", "source"),
        "trk_type": ("utmmedium", "medium"),
        "trk_campaign": ("utmcampaign", "campaign"),
        "trk_keyword": ("utmterm", "keyword"),
        "heard_about_us": (
            "howdidyouhearaboutus",
            "hdyhau",
            "howdidyouhear",
            "heardaboutus",
            "wiehastduvonunserfahren",
            "wiehabensievonunserfahren",
            "commentnousavezvousconnu",
            "comonosconociste",
        ),
    },
    "contacts": {
        "email": ("emailaddress", "mail", "customeremail", "emailadresse", "courriel", "correo"),
        "phone": ("phonenumber", "telephone", "telefon", "mobile"),
        "name": ("fullname", "customername", "customer", "kunde"),
        "location": ("city", "address", "ort", "stadt", "ville"),
    },
    "touchpoints": {
        "email": ("emailaddress", "mail"),
        "occurred_at": ("date", "datetime", "time", "timestamp", "visitedat", "datum"),
        "url": ("landingpage", "page"),
        "referrer": ("referer",),
        "source": ("utmsource",),
        "campaign_name": ("utmcampaign", "campaign"),
        "keyword": ("utmterm",),
    },
    "orders": {},
    "ads": {},
    "spend": {},
}
"""By kind and field, the likeliest first."""

_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,200}\.[^@\s]{2,50}")


def guess_columns(
    kind: str, fields: Collection[str], columns: Sequence[str], rows: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """Return fields of recognized columns. If no name means email, take the first column of addresses."""
    simplified_columns = {column: _simplify(column) for column in columns}
    guesses: dict[str, str] = {}

    def take(name: str, simple_name: str) -> bool:
        match = next((c for c in columns if c not in guesses and simplified_columns[c] == simple_name), None)
        if match is not None:
            guesses[match] = name
        return match is not None

    for name in fields:
        take(name, _simplify(name))
    for name, synonyms in _NAMES[kind].items():
        if name in fields and name not in guesses.values():
            any(take(name, synonym) for synonym in synonyms)
    if "email" in fields and "email" not in guesses.values():
        addressed = next((c for c in columns if c not in guesses and _are_emails(rows, c)), None)
        if addressed is not None:
            guesses[addressed] = "email"
    return {column: guesses[column] for column in columns if column in guesses}


def _simplify(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _are_emails(rows: Sequence[Mapping[str, str]], column: str) -> bool:
    filled = [text for row in rows if (text := row.get(column, "").strip())]
    return bool(filled) and all(_EMAIL.fullmatch(text[:400]) for text in filled)
