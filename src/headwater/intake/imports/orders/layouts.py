"""Recognize the order exports of shops by their headers, and map their columns to fields. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import Columns, assign_columns, read_choices
from headwater.intake.imports.formats.dialects import UnreadableError

FIELDS = (
    "order_id",
    "order_name",
    "event_time",
    "paid_at",
    "cancelled_at",
    "status",
    "amount",
    "currency",
    "refunded",
    "refunds",
    "email",
    "phone",
    "full_name",
    "first_name",
    "last_name",
    "company_name",
    "url",
    "referrer",
    "trk_source",
    "trk_type",
    "trk_campaign",
    "trk_keyword",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "trk_token",
    "heard_about_us",
    "note_attributes",
    "channel",
    "tags",
    "payment_method",
    "is_test",
)
REQUIRED = ("order_id", "event_time", "amount")
Aliases = Mapping[str, tuple[str, ...]]


class OrderLayout(Struct, frozen=True):
    """An export: the columns of each field by their letters and digits, the likeliest first."""

    name: str
    title: str
    needs: tuple[tuple[str, ...], ...]
    """Required columns: one of each group."""
    aliases: Aliases
    refusal: str = ""
    """Why it can't be imported, and what to do."""


_SHOPIFY: Aliases = {
    "order_id": ("id",),
    "order_name": ("name",),
    "event_time": ("createdat",),
    "paid_at": ("paidat",),
    "cancelled_at": ("cancelledat",),
    "status": ("financialstatus",),
    "amount": ("total",),
    "currency": ("currency",),
    "refunded": ("refundedamount",),
    "email": ("email",),
    "phone": ("phone", "billingphone"),
    "full_name": ("billingname",),
    "company_name": ("billingcompany",),
    "url": ("landingsite", "landingpage"),
    "referrer": ("referringsite", "referrer"),
    "note_attributes": ("noteattributes",),
    "channel": ("source",),
    "tags": ("tags",),
    "payment_method": ("paymentmethod",),
}
_MATRIXIFY: Aliases = {
    **_SHOPIFY,
    "event_time": ("processedat", "createdat"),
    "status": ("paymentstatus",),
    "amount": ("pricetotal",),
    "email": ("email", "customeremail"),
    "phone": ("phone", "customerphone", "billingphone"),
    "first_name": ("customerfirstname", "billingfirstname"),
    "last_name": ("customerlastname", "billinglastname"),
    "url": ("browserlandingpage",),
    "referrer": ("browserreferrer",),
    "note_attributes": ("additionaldetails",),
}
_WOOCOMMERCE: Aliases = {
    "order_id": ("orderid", "ordernumber"),
    "order_name": ("ordernumber",),
    "event_time": ("orderdate", "date"),
    "paid_at": ("paiddate", "datepaid"),
    "status": ("status", "orderstatus"),
    "amount": ("ordertotal", "ordertotalamount"),
    "currency": ("ordercurrency", "currency"),
    "refunded": ("orderrefundamount", "refundedtotal"),
    "refunds": ("refunditems",),
    "email": (
        "billingemail",
        "emailbilling",
        "billingemailaddress",
        "customeremail",
        "customeraccountemailaddress",
    ),
    "phone": ("billingphone", "phonebilling"),
    "first_name": ("billingfirstname", "firstnamebilling"),
    "last_name": ("billinglastname", "lastnamebilling"),
    "company_name": ("billingcompany", "companybilling"),
    "url": ("wcorderattributionsessionentry",),
    "referrer": ("wcorderattributionreferrer",),
    "trk_source": ("trksource",),
    "utm_source": ("wcorderattributionutmsource",),
    "trk_type": ("trktype",),
    "utm_medium": ("wcorderattributionutmmedium",),
    "trk_campaign": ("trkcampaign",),
    "utm_campaign": ("wcorderattributionutmcampaign",),
    "trk_keyword": ("trkkeyword",),
    "utm_term": ("wcorderattributionutmterm",),
    "trk_token": ("trktoken", "headwatertoken"),
    "heard_about_us": ("heardaboutus",),
    "channel": ("createdvia", "wcorderattributionsourcetype"),
    "payment_method": ("paymentmethod",),
}
_WOOCOMMERCE_REPORT = (
    "The file is WooCommerce's report of orders, which has neither e-mail addresses nor the orders' totals. "
    "Export the orders themselves, with the columns order_id, order_date, status, order_total and "
    "billing_email."
)
LAYOUTS = (
    OrderLayout(
        "shopify",
        "Shopify's export of orders",
        (("id",), ("name",), ("financialstatus",), ("createdat",), ("total",)),
        _SHOPIFY,
    ),
    OrderLayout(
        "matrixify",
        "Matrixify's export of Shopify orders",
        (("id",), ("name",), ("paymentstatus",), ("pricetotal",)),
        _MATRIXIFY,
    ),
    OrderLayout(
        "woocommerce",
        "an export of WooCommerce orders",
        (
            ("orderid", "ordernumber"),
            ("orderdate", "date"),
            ("status", "orderstatus"),
            ("ordertotal", "ordertotalamount"),
        ),
        _WOOCOMMERCE,
    ),
    OrderLayout(
        "woocommerce_report",
        "WooCommerce's report of orders",
        (("order",), ("nrevenueformatted",), ("customertype",)),
        {},
        _WOOCOMMERCE_REPORT,
    ),
)
BY_NAME = {layout.name: layout for layout in LAYOUTS if not layout.refusal}


def recognize_layout(header: Sequence[str]) -> OrderLayout | None:
    """Return the first layout whose required columns are there. Raises UnreadableError for a refused one."""
    simplified_columns = {_simplify(column) for column in header}
    layout = next(
        (
            layout
            for layout in LAYOUTS
            if all(not simplified_columns.isdisjoint(group) for group in layout.needs)
        ),
        None,
    )
    if layout is not None and layout.refusal:
        raise UnreadableError(layout.refusal)
    return layout


def map_columns(header: Sequence[str], layout: OrderLayout | None) -> dict[str, str]:
    """Return the fields of columns; without a layout, those that any layout knows."""
    columns = {_simplify(column): column for column in reversed(header)}
    layouts = LAYOUTS if layout is None else (layout,)
    fields: dict[str, str] = {}
    for name in FIELDS:
        aliases = (
            *(alias for order_layout in layouts for alias in order_layout.aliases.get(name, ())),
            _simplify(name),
        )
        free_columns = (
            columns[alias] for alias in aliases if alias in columns and columns[alias] not in fields
        )
        column = next(free_columns, None)
        if column is not None:
            fields[column] = name
    return fields


def read_columns(header: Sequence[str], choices: FileChoices) -> Columns:
    """Map a file's columns as over the API. Raises UnreadableError for an unknown header."""
    layout = BY_NAME[choices.form] if choices.form else recognize_layout(header)
    if layout is None and not choices.mapped:
        names = ", ".join(layout.title for layout in BY_NAME.values())
        raise UnreadableError(
            f"the header matches no known export of orders ({names}); map its columns with --map COLUMN=FIELD"
        )
    Columns(FIELDS, choices.mapped).check(header)
    fields = assign_columns(map_columns(header, layout), choices.mapped)
    missing_fields = [name for name in REQUIRED if name not in fields.values()]
    if missing_fields:
        raise UnreadableError(f"no column has the {' and the '.join(missing_fields)}: use --map COLUMN=FIELD")
    return read_choices(FIELDS, {column: fields.get(column, "") for column in header}, {}, maps_all=True)


def _simplify(column: str) -> str:
    """Return letters and digits; exporters put `meta:` before the names of order notes."""
    return "".join(letter for letter in column.casefold().removeprefix("meta:") if letter.isalnum())
